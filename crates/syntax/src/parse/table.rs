//! CREATE TABLE: columns, key, indexes and options in one pair of parentheses and a WITH.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::options::options;
use super::other;
use crate::ast;
use crate::error::Result;
use crate::reader::{Reader, convert_ident, tree_ident};
use crate::span::Span;
use crate::statement::{Expression, Ident, Kind, Statement};
use crate::table::{
    Column, ColumnType, Constraint, CreateTable, Family, HashKey, Identity, Index, KeyPart,
    KeyPartKind, OptionValue, PrimaryKey, Serial,
};
use crate::tokens::{is_token, is_word};

/// Names of the collation that is the order of bytes, which is the only one keys have.
const BYTE_COLLATIONS: &[&str] = &["C", "POSIX", "default", "ucs_basic"];

pub(super) fn create(mut reader: Reader<'_>) -> Result<Statement> {
    let span = reader.span;
    reader.expect("create table")?;
    let if_not_exists = reader.accept("if not exists");
    let name = reader.name()?;
    if reader.is_done() {
        return Err(reader.unexpected("`(`"));
    }
    if !is_token(reader.peek(0), &Token::LParen) || is_word(reader.peek(1), "like") {
        return fall_back(reader, "`(`");
    }
    let mut table = CreateTable {
        name,
        if_not_exists,
        columns: Vec::new(),
        primary_key: None,
        indexes: Vec::new(),
        families: Vec::new(),
        constraints: Vec::new(),
        options: Vec::new(),
    };
    reader.expect_token(&Token::LParen)?;
    while !reader.accept_token(&Token::RParen) {
        element(&mut reader, &mut table)?;
        let closes = is_token(reader.peek(0), &Token::RParen);
        if !closes && !reader.accept_token(&Token::Comma) {
            return Err(reader.unexpected("`,` or `)`"));
        }
    }
    if reader.accept("with") {
        table.options = options(&mut reader)?;
    }
    if !reader.is_done() {
        return fall_back(reader, "WITH or the end of the statement");
    }
    let kind = Kind::CreateTable(Box::new(table));
    Ok(Statement::new(span, kind))
}

/// Lets sqlparser try; if it cannot either, the error is ours.
pub(super) fn fall_back(reader: Reader<'_>, expected: &str) -> Result<Statement> {
    let ours = reader.unexpected(expected);
    other(reader).map_err(|_| ours)
}

fn element(reader: &mut Reader<'_>, table: &mut CreateTable) -> Result<()> {
    if reader.is("family") && is_token(reader.peek(2), &Token::LParen) {
        reader.expect("family")?;
        let name = reader.ident()?;
        let options = options(reader)?;
        table.families.push(Family { name, options });
        return Ok(());
    }
    if begins_index(reader, 0) {
        table.indexes.push(index(reader)?);
        return Ok(());
    }
    if begins_constraint(reader, 0) {
        let start = reader.start();
        match constraint(reader)? {
            Clause::Key(key) => set_key(reader, table, key, start)?,
            Clause::Index(index) => table.indexes.push(index),
            Clause::Constraint(constraint) => table.constraints.push(constraint),
        }
        return Ok(());
    }
    let start = reader.start();
    let (column, clauses) = column(reader)?;
    table.columns.push(column);
    for clause in clauses {
        match clause {
            Clause::Key(key) => set_key(reader, table, key, start)?,
            Clause::Index(index) => table.indexes.push(index),
            Clause::Constraint(constraint) => table.constraints.push(constraint),
        }
    }
    Ok(())
}

fn set_key(
    reader: &Reader<'_>,
    table: &mut CreateTable,
    key: PrimaryKey,
    start: usize,
) -> Result<()> {
    if table.primary_key.is_some() {
        return Err(reader.invalid(
            start,
            "a table has one primary key, and this one has it already",
        ));
    }
    table.primary_key = Some(key);
    Ok(())
}

/// What a constraint means to a table.
pub(super) enum Clause {
    Key(PrimaryKey),
    Index(Index),
    Constraint(Constraint),
}

/// Whether `INDEX name GLOBAL …` is next, and not a column named index.
pub(super) fn begins_index(reader: &Reader<'_>, ahead: usize) -> bool {
    is_word(reader.peek(ahead), "index")
        && ["global", "local", "on"]
            .iter()
            .any(|word| is_word(reader.peek(ahead + 2), word))
}

pub(super) fn begins_constraint(reader: &Reader<'_>, ahead: usize) -> bool {
    let (first, second) = (reader.peek(ahead), reader.peek(ahead + 1));
    let parenthesis = is_token(second, &Token::LParen);
    is_word(first, "constraint")
        || is_word(first, "primary") && is_word(second, "key")
        || is_word(first, "foreign") && is_word(second, "key")
        || is_word(first, "unique") && (parenthesis || is_word(second, "nulls"))
        || (is_word(first, "check") || is_word(first, "exclude")) && parenthesis
}

/// Reads `INDEX name GLOBAL [UNIQUE] [SYNC | ASYNC] ON (…) [COVER (…)] [WITH (…)]`.
pub(super) fn index(reader: &mut Reader<'_>) -> Result<Index> {
    let start = reader.start();
    reader.expect("index")?;
    let name = reader.ident()?;
    if reader.is("local") {
        let reason = "an index is GLOBAL: there is none that is local to a partition";
        return Err(reader.invalid(reader.start(), reason));
    }
    reader.accept("global");
    let unique = reader.accept("unique");
    let lagging = reader.accept("async");
    if !lagging {
        reader.accept("sync");
    }
    reader.expect("on")?;
    let columns = reader.list(part)?;
    let cover = if reader.accept("cover") {
        reader.list(Reader::ident)?
    } else {
        Vec::new()
    };
    let options = if reader.accept("with") {
        options(reader)?
    } else {
        Vec::new()
    };
    Ok(Index {
        name: Some(name),
        unique,
        lagging,
        columns,
        cover,
        options,
        span: reader.since(start),
    })
}

pub(super) fn part(reader: &mut Reader<'_>) -> Result<KeyPart> {
    let start = reader.start();
    let column = reader.run(Parser::parse_create_index_expr)?;
    let mut part = key_part(&column);
    part.span = reader.since(start);
    Ok(part)
}

/// A column of an index as sqlparser read it.
fn key_part(column: &ast::IndexColumn) -> KeyPart {
    let expr = &column.column.expr;
    KeyPart {
        kind: match expr {
            ast::Expr::Identifier(ident) => KeyPartKind::Column(convert_ident(ident)),
            other => KeyPartKind::Expression(Box::new(other.clone())),
        },
        descending: column.column.options.asc == Some(false),
        span: Span::of(expr),
    }
}

/// Reads `PRIMARY KEY (…) [USING HASH …]` and every constraint that sqlparser knows.
pub(super) fn constraint(reader: &mut Reader<'_>) -> Result<Clause> {
    let start = reader.start();
    let named = is_word(reader.peek(0), "constraint");
    let is_key = |ahead| {
        is_word(reader.peek(ahead), "primary") && is_token(reader.peek(ahead + 2), &Token::LParen)
    };
    if is_key(0) || named && is_key(2) {
        if reader.accept("constraint") {
            reader.ident()?;
        }
        reader.expect("primary key")?;
        let columns = reader.list(part)?;
        let hash = hash_key(reader)?;
        return Ok(Clause::Key(PrimaryKey {
            columns,
            hash,
            span: reader.since(start),
        }));
    }
    let read = reader.run(Parser::parse_optional_table_constraint)?;
    let Some(read) = read else {
        return Err(reader.unexpected("a constraint"));
    };
    let span = reader.since(start);
    Ok(match read {
        ast::TableConstraint::Unique(unique) => Clause::Index(Index {
            name: unique.name.as_ref().map(convert_ident),
            unique: true,
            lagging: false,
            columns: unique.columns.iter().map(key_part).collect(),
            cover: Vec::new(),
            options: Vec::new(),
            span,
        }),
        constraint => Clause::Constraint(Constraint { constraint, span }),
    })
}

fn hash_key(reader: &mut Reader<'_>) -> Result<Option<HashKey>> {
    let start = reader.start();
    if !reader.accept("using hash") {
        return Ok(None);
    }
    let mut bucket_count = None;
    if reader.accept("with") {
        let at = reader.start();
        for option in options(reader)? {
            match option.value {
                OptionValue::Number(count)
                    if option.name.value.eq_ignore_ascii_case("bucket_count") =>
                {
                    bucket_count = Some(count);
                }
                _ => {
                    return Err(reader.invalid(at, "USING HASH takes one option: bucket_count = n"));
                }
            }
        }
    }
    Ok(Some(HashKey {
        bucket_count,
        span: reader.since(start),
    }))
}

/// Reads a type and says where it stands.
pub(super) fn column_type(reader: &mut Reader<'_>) -> Result<(ColumnType, Span)> {
    let start = reader.start();
    reader.run(Parser::parse_data_type)?;
    let span = reader.since(start);
    let written = span.slice(reader.text);
    let kind = match written.to_ascii_lowercase().as_str() {
        "smallserial" | "serial2" => ColumnType::Serial(Serial::Small),
        "serial" | "serial4" => ColumnType::Serial(Serial::Plain),
        "bigserial" | "serial8" => ColumnType::Serial(Serial::Big),
        _ => match keys::Type::parse(written) {
            Ok(kind) => ColumnType::Plain(kind),
            Err(keys::Error::TypeUnknown { .. }) => ColumnType::Other(written.to_owned()),
            Err(error) => return Err(reader.invalid(start, error.to_string())),
        },
    };
    Ok((kind, span))
}

/// Reads a column, and the constraints that it puts on the table.
pub(super) fn column(reader: &mut Reader<'_>) -> Result<(Column, Vec<Clause>)> {
    let start = reader.start();
    let name = reader.ident()?;
    let (kind, type_span) = column_type(reader)?;
    let mut column = Column {
        name,
        kind,
        declared: keys::Declared::parse(type_span.slice(reader.text)),
        type_span,
        not_null: None,
        default: None,
        generated: None,
        identity: None,
        family: None,
        span: Span::default(),
    };
    let mut clauses = Vec::new();
    loop {
        if reader.accept("family") {
            column.family = Some(reader.ident()?);
            continue;
        }
        let constraint = if reader.accept("constraint") {
            Some(reader.ident()?)
        } else {
            None
        };
        let at = reader.start();
        let value_at = reader
            .peek(1)
            .map_or(at, |token| Span::from(token.span).start);
        let Some(option) = reader.run(Parser::parse_optional_column_option)? else {
            break;
        };
        if let ast::ColumnOption::PrimaryKey(_) = &option {
            clauses.push(inline_key(reader, &column.name, at)?);
            column.not_null.get_or_insert(reader.since(at));
            continue;
        }
        if let ast::ColumnOption::Default(expr) = option {
            let span = reader.since(value_at);
            column.default = Some(Expression { expr, span });
            continue;
        }
        clauses.extend(apply(reader, &mut column, (option, constraint), at)?);
    }
    column.span = reader.since(start);
    Ok((column, clauses))
}

fn inline_key(reader: &mut Reader<'_>, column: &Ident, at: usize) -> Result<Clause> {
    let hash = hash_key(reader)?;
    Ok(Clause::Key(PrimaryKey {
        columns: vec![whole_column(column)],
        hash,
        span: reader.since(at),
    }))
}

fn whole_column(column: &Ident) -> KeyPart {
    KeyPart {
        kind: KeyPartKind::Column(column.clone()),
        descending: false,
        span: column.span,
    }
}

/// Puts one option of a column, read from `at` on, where it belongs.
fn apply(
    reader: &Reader<'_>,
    column: &mut Column,
    (option, constraint): (ast::ColumnOption, Option<Ident>),
    at: usize,
) -> Result<Option<Clause>> {
    let span = reader.since(at);
    match option {
        ast::ColumnOption::NotNull => column.not_null = Some(span),
        ast::ColumnOption::Null | ast::ColumnOption::Comment(_) => {}
        ast::ColumnOption::Generated {
            generation_expr_mode: Some(ast::GeneratedExpressionMode::Virtual),
            ..
        } => {
            let reason = "a generated column is STORED: there is none that is worked out when read";
            return Err(reader.invalid(at, reason));
        }
        ast::ColumnOption::Generated {
            generation_expr: Some(expr),
            ..
        } => column.generated = Some(Expression { expr, span }),
        ast::ColumnOption::Generated { generated_as, .. } => {
            let always = generated_as == ast::GeneratedAs::Always;
            column.identity = Some(Identity { always });
        }
        ast::ColumnOption::Unique(_) => {
            return Ok(Some(Clause::Index(Index {
                name: constraint,
                unique: true,
                lagging: false,
                columns: vec![whole_column(&column.name)],
                cover: Vec::new(),
                options: Vec::new(),
                span,
            })));
        }
        ast::ColumnOption::Check(mut check) => {
            check.name = constraint.map(|name| tree_ident(&name));
            let constraint = check.into();
            return Ok(Some(Clause::Constraint(Constraint { constraint, span })));
        }
        ast::ColumnOption::ForeignKey(mut foreign) => {
            foreign.name = constraint.map(|name| tree_ident(&name));
            foreign.columns = vec![tree_ident(&column.name)];
            let constraint = foreign.into();
            return Ok(Some(Clause::Constraint(Constraint { constraint, span })));
        }
        ast::ColumnOption::Collation(name) => {
            let last = name.0.last().map(ToString::to_string).unwrap_or_default();
            let last = last.trim_matches('"');
            if !BYTE_COLLATIONS
                .iter()
                .any(|known| last.eq_ignore_ascii_case(known))
            {
                return Err(
                    reader.invalid(at, "text sorts by its bytes: only COLLATE \"C\" is known")
                );
            }
        }
        other => {
            let reason = format!("a column cannot have `{other}` here");
            return Err(reader.invalid(at, reason));
        }
    }
    Ok(None)
}
