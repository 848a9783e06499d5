//! CREATE TABLE and CREATE INDEX, read loosely: what a key is made of, and the rest passed over.

use sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::misspelt;
use super::{Column, Counts, DefinitionKind, Dialect, Index, Key, Part, Setting, Table, Text};
use crate::error::Result;
use crate::span::Span;
use crate::tokens::is_token;

/// Words that end a type or an expression at a column.
const ATTRIBUTES: &[&str] = &[
    "not",
    "null",
    "default",
    "primary",
    "unique",
    "references",
    "check",
    "constraint",
    "generated",
    "as",
    "auto_increment",
    "auto_random",
    "collate",
    "comment",
    "family",
    "on",
    "options",
    "key",
    "stored",
    "virtual",
    "persisted",
    "visible",
    "invisible",
    "charset",
    "create",
    "hidden",
    "compression",
    "storage",
    "placement",
];

/// Words at a column that a name follows.
const NAMING: &[&str] = &[
    "constraint",
    "collate",
    "references",
    "create if not exists family",
    "create family",
    "family",
    "character set",
    "charset",
    "tablespace",
    "storage",
    "compression",
];

/// Reads a statement that begins with CREATE and makes a table or an index.
pub(crate) fn create(cursor: &mut Cursor<'_>) -> Result<DefinitionKind> {
    let start = cursor.start();
    let mut unique = false;
    while !cursor.is("table") && !cursor.is("index") && !cursor.is_done() {
        unique |= cursor.is("unique");
        cursor.next();
    }
    if cursor.accept("index") {
        return create_index(cursor, start, unique);
    }
    cursor.expect("table")?;
    cursor.accept("if not exists");
    let mut table = Table {
        name: cursor.name()?,
        ..Table::default()
    };
    // CREATE TABLE … AS, LIKE and PARTITION OF have no columns of their own.
    if !cursor.is_token(&Token::LParen) {
        return Ok(DefinitionKind::Other);
    }
    body(cursor, &mut table)?;
    tail(cursor, &mut table)?;
    inline_key(cursor.text, &mut table);
    Ok(DefinitionKind::Table(Box::new(table)))
}

fn body(cursor: &mut Cursor<'_>, table: &mut Table) -> Result<()> {
    let start = cursor.start();
    cursor.expect_token(&Token::LParen)?;
    while !cursor.is_token(&Token::RParen) {
        let start = cursor.start();
        if !element(cursor, table)? {
            let column = column(cursor)?;
            table.columns.push(column);
        }
        while !cursor.is_end() {
            cursor.skip();
        }
        table.last = cursor.since(start);
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    cursor.expect_token(&Token::RParen)?;
    table.body = cursor.since(start);
    Ok(())
}

/// Reads a key, an index or a constraint into the table, or answers that a column is next.
pub(crate) fn element(cursor: &mut Cursor<'_>, table: &mut Table) -> Result<bool> {
    let start = cursor.start();
    if cursor.is("constraint") {
        cursor.next();
        if !cursor.is("primary") && !cursor.is("unique") && !cursor.is("check") {
            cursor.ident()?;
        }
        misspelt::check(cursor)?;
    }
    if cursor.accept("primary") {
        cursor.expect("key")?;
        // MySQL allows words between, such as USING BTREE and a name.
        while !cursor.is_end() && !cursor.is_token(&Token::LParen) {
            if cursor.is("using index") {
                return Ok(true);
            }
            cursor.next();
        }
        table.key = Some(key(cursor, start)?);
        return Ok(true);
    }
    if cursor.is("unique") && !is_column_named(cursor) {
        cursor.next();
        let _ = cursor.accept("key") || cursor.accept("index");
        let _ = cursor.accept("nulls not distinct") || cursor.accept("nulls distinct");
        if !cursor.is("using index") {
            table.indexes.push(index(cursor, start, true)?);
        }
        return Ok(true);
    }
    if is_index(cursor) {
        cursor.next();
        table.indexes.push(index(cursor, start, false)?);
        return Ok(true);
    }
    let passed = match cursor.dialect {
        Dialect::Mysql => &["fulltext", "spatial", "vector"][..],
        Dialect::Ydb | Dialect::Cockroach => &["family", "inverted", "vector"],
        Dialect::Postgres | Dialect::Spanner => &["exclude", "like", "synonym"],
    };
    let constraint = ["check", "foreign"].iter().any(|word| cursor.is(word));
    let passed = passed.iter().any(|word| cursor.is(word)) && !is_column_named(cursor);
    Ok(start != cursor.start() || constraint || passed)
}

/// Whether the next word is the name of a column, as a type and then no parenthesis follow it.
fn is_column_named(cursor: &Cursor<'_>) -> bool {
    cursor.word(1).is_some()
        && matches!(
            cursor.peek(2).map(|token| &token.token),
            Some(Token::Comma | Token::RParen)
        )
}

/// Whether INDEX or KEY is next and means one: both are good names of columns in most dialects.
fn is_index(cursor: &Cursor<'_>) -> bool {
    let list = is_token(cursor.peek(1), &Token::LParen)
        || is_token(cursor.peek(2), &Token::LParen) && cursor.peek(1).is_some();
    match cursor.dialect {
        Dialect::Mysql => cursor.is("index") || cursor.is("key"),
        Dialect::Cockroach => cursor.is("index") && list,
        Dialect::Ydb => {
            cursor.is("index")
                && matches!(cursor.word(2).as_deref(), Some("global" | "local" | "on"))
        }
        Dialect::Postgres | Dialect::Spanner => false,
    }
}

pub(crate) fn key(cursor: &mut Cursor<'_>, start: usize) -> Result<Key> {
    let list_start = cursor.start();
    let parts = parts(cursor)?;
    let list = cursor.since(list_start);
    let hash = hash(cursor);
    let mut apart = false;
    while !cursor.is_end() && cursor.word(0).is_some() && !cursor.is("with") {
        apart |= cursor.is("nonclustered");
        if !(cursor.is("nonclustered") || cursor.is("clustered")) {
            break;
        }
        cursor.next();
    }
    Ok(Key {
        parts,
        hash,
        apart,
        inline: false,
        list,
        span: cursor.since(start),
    })
}

/// Reads USING HASH and the number of buckets.
fn hash(cursor: &mut Cursor<'_>) -> Option<Span> {
    let start = cursor.start();
    if !cursor.accept("using hash") {
        return None;
    }
    if cursor.is("with") {
        cursor.next();
        cursor.skip();
        // The older form: WITH BUCKET_COUNT = 8.
        if cursor.accept_token(&Token::Eq) {
            cursor.skip();
        }
    }
    Some(cursor.since(start))
}

fn parts(cursor: &mut Cursor<'_>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    cursor.expect_token(&Token::LParen)?;
    while !cursor.is_token(&Token::RParen) {
        parts.push(part(cursor)?);
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    cursor.expect_token(&Token::RParen)?;
    Ok(parts)
}

fn part(cursor: &mut Cursor<'_>) -> Result<Part> {
    let is_name = matches!(
        cursor.peek(0).map(|token| &token.token),
        Some(Token::Word(_))
    );
    let prefix = match (cursor.peek(1), cursor.peek(2)) {
        (Some(open), Some(number)) if open.token == Token::LParen => match &number.token {
            Token::Number(digits, _) if is_token(cursor.peek(3), &Token::RParen) => {
                digits.parse().ok()
            }
            _ => None,
        },
        _ => None,
    };
    let alone = cursor
        .peek(1)
        .is_none_or(|next| matches!(next.token, Token::Comma | Token::RParen | Token::Word(_)));
    let column = if is_name && (alone || prefix.is_some()) {
        cursor.peek(0).and_then(|token| match &token.token {
            Token::Word(word) => Some(crate::statement::Ident {
                value: word.value.clone(),
                quote: word.quote_style,
                span: Span::from(token.span),
            }),
            _ => None,
        })
    } else {
        None
    };
    let text = cursor.expression(|_| false)?;
    Ok(Part {
        column,
        prefix,
        text,
    })
}

fn index(cursor: &mut Cursor<'_>, start: usize, unique: bool) -> Result<Index> {
    let named = !cursor.is_token(&Token::LParen) && !cursor.is("on");
    let name = named.then(|| cursor.ident()).transpose()?;
    let mut unique = unique;
    while !cursor.is_end() && !cursor.is_token(&Token::LParen) {
        unique |= cursor.is("unique");
        cursor.next();
    }
    let list_start = cursor.start();
    let parts = parts(cursor)?;
    let list = cursor.since(list_start);
    let hash = hash(cursor);
    while !cursor.is_end() {
        cursor.skip();
    }
    Ok(Index {
        name,
        unique,
        parts,
        hash,
        list,
        span: cursor.since(start),
    })
}

fn create_index(cursor: &mut Cursor<'_>, start: usize, unique: bool) -> Result<DefinitionKind> {
    cursor.accept("concurrently");
    cursor.accept("if not exists");
    let name = if cursor.is("on") {
        None
    } else {
        Some(cursor.name()?)
    };
    cursor.expect("on")?;
    cursor.accept("only");
    let table = cursor.name()?;
    if cursor.is("using") && !cursor.is("using btree") && !cursor.is("using hash") {
        return Ok(DefinitionKind::Other);
    }
    let mut hash_before = None;
    if cursor.is("using hash") {
        hash_before = hash(cursor);
    }
    while !cursor.is_done() && !cursor.is_token(&Token::LParen) {
        cursor.next();
    }
    let list_start = cursor.start();
    let parts = parts(cursor)?;
    let list = cursor.since(list_start);
    let index = Index {
        name: name.and_then(|name| name.parts.into_iter().last()),
        unique,
        parts,
        hash: hash(cursor).or(hash_before),
        list,
        span: Span::new(start, list.end),
    };
    Ok(DefinitionKind::Index {
        table,
        index: Box::new(index),
    })
}

/// Reads a column with its type and attributes.
pub(crate) fn column(cursor: &mut Cursor<'_>) -> Result<Column> {
    let start = cursor.start();
    let name = cursor.ident()?;
    let type_start = cursor.start();
    let (type_name, type_args) = column_type(cursor)?;
    let mut column = Column {
        name,
        type_name,
        type_args,
        type_span: cursor.since(type_start),
        ..Column::default()
    };
    if column.type_name.is_empty() && !matches!(cursor.dialect, Dialect::Cockroach) {
        return Err(cursor.unexpected("a type"));
    }
    while !cursor.is_end() {
        attribute(cursor, &mut column)?;
    }
    column.span = cursor.since(start);
    Ok(column)
}

/// The words of a type and what stands in its parentheses.
fn column_type(cursor: &mut Cursor<'_>) -> Result<(String, Vec<String>)> {
    let mut words: Vec<String> = Vec::new();
    let mut args = Vec::new();
    let mut angles = 0_usize;
    while let Some(token) = cursor.peek(0) {
        match &token.token {
            Token::Word(_) if angles == 0 && ends_type(cursor, &words) => break,
            Token::Word(word) => {
                if angles == 0 && !words.is_empty() {
                    misspelt::check(cursor)?;
                }
                words.push(word.value.to_ascii_lowercase());
            }
            Token::LParen if angles == 0 && args.is_empty() && !words.is_empty() => {
                args = arguments(cursor);
                continue;
            }
            Token::LParen if angles > 0 => {
                cursor.skip();
                continue;
            }
            Token::Lt => angles += 1,
            Token::Gt => angles = angles.saturating_sub(1),
            Token::ShiftRight => angles = angles.saturating_sub(2),
            Token::LBracket => {
                words.push("[]".to_owned());
                cursor.skip();
                continue;
            }
            Token::Period => {
                // A type of a schema: only its last word tells something.
                words.clear();
            }
            Token::Question if !words.is_empty() => {}
            Token::Comma if angles > 0 => {}
            _ => break,
        }
        cursor.next();
    }
    Ok((words.join(" "), args))
}

fn ends_type(cursor: &Cursor<'_>, words: &[String]) -> bool {
    if words.is_empty() {
        return false;
    }
    match cursor.word(0).as_deref() {
        Some("with" | "without") => cursor.word(1).as_deref() != Some("time"),
        Some("character") => cursor.word(1).as_deref() == Some("set"),
        Some(word) => ATTRIBUTES.contains(&word),
        None => true,
    }
}

/// What stands in the parentheses of a type: `(22, 9)`, `('a', 'b')`.
fn arguments(cursor: &mut Cursor<'_>) -> Vec<String> {
    let start = cursor.start();
    cursor.skip();
    let span = cursor.since(start);
    let inner = span.slice(cursor.text);
    let inner = inner.strip_prefix('(').unwrap_or(inner);
    let inner = inner.strip_suffix(')').unwrap_or(inner);
    inner.split(',').map(|arg| arg.trim().to_owned()).collect()
}

fn is_attribute(cursor: &Cursor<'_>) -> bool {
    cursor
        .word(0)
        .is_some_and(|word| ATTRIBUTES.contains(&word.as_str()))
}

fn attribute(cursor: &mut Cursor<'_>, column: &mut Column) -> Result<()> {
    let start = cursor.start();
    if cursor.accept("not null") {
        column.not_null = Some(true);
    } else if cursor.accept("null") {
        column.not_null = Some(false);
    } else if cursor.accept("default") {
        column.default = Some(cursor.expression(is_attribute)?);
    } else if cursor.is("primary") || cursor.dialect == Dialect::Mysql && cursor.is("key") {
        // MySQL's KEY alone at a column is its primary key.
        cursor.accept("primary");
        cursor.expect("key")?;
        column.primary_key = Some(cursor.since(start));
        column.hash = hash(cursor);
    } else if cursor.accept("unique") {
        cursor.accept("key");
        column.unique = true;
    } else if cursor.accept("auto_increment") {
        // Spanner's word for an identity, which it always spreads.
        let spread = cursor.dialect == Dialect::Spanner;
        column.counts = Some(Counts {
            spread,
            span: cursor.since(start),
        });
    } else if cursor.accept("auto_random") {
        if cursor.is_token(&Token::LParen) {
            cursor.skip();
        }
        column.counts = Some(Counts {
            spread: true,
            span: cursor.since(start),
        });
    } else if cursor.accept("generated") {
        match identity(cursor, start) {
            Some(counts) => column.counts = Some(counts),
            None => column.generated = Some(generated(cursor, start)?),
        }
    } else if cursor.is("as") && !cursor.is("as identity") {
        column.generated = Some(generated(cursor, start)?);
    } else if NAMING.iter().any(|words| cursor.accept(words)) {
        // What it names may be called anything.
        cursor.skip();
    } else {
        misspelt::check(cursor)?;
        cursor.skip();
    }
    Ok(())
}

/// Reads `ALWAYS AS IDENTITY (…)` or `BY DEFAULT AS IDENTITY (…)` if one is next.
pub(crate) fn identity(cursor: &mut Cursor<'_>, start: usize) -> Option<Counts> {
    let is_next = cursor.is("always as identity") || cursor.is("by default as identity");
    if !is_next {
        return None;
    }
    while !cursor.accept("identity") {
        cursor.next();
    }
    let options_start = cursor.start();
    if cursor.is_token(&Token::LParen) {
        cursor.skip();
    }
    let options = cursor.since(options_start).slice(cursor.text);
    let reversed = options.to_ascii_lowercase().contains("bit_reversed");
    Some(Counts {
        spread: reversed || cursor.dialect == Dialect::Spanner,
        span: cursor.since(start),
    })
}

/// Reads `[ALWAYS] AS (expression) STORED`; the place is that of all of it.
fn generated(cursor: &mut Cursor<'_>, start: usize) -> Result<Text> {
    cursor.accept("always");
    cursor.expect("as")?;
    let mut text = cursor.expression(is_attribute)?;
    let _ = cursor.accept("stored") || cursor.accept("virtual") || cursor.accept("persisted");
    text.span = cursor.since(start);
    Ok(text)
}

/// Reads what follows the columns.
fn tail(cursor: &mut Cursor<'_>, table: &mut Table) -> Result<()> {
    while !cursor.is_done() {
        let start = cursor.start();
        if cursor.accept("primary") {
            cursor.expect("key")?;
            table.key = Some(key(cursor, start)?);
        } else if cursor.accept("interleave in parent") || cursor.accept("interleave in") {
            table.parent = Some(cursor.name()?);
        } else if cursor.is("with") && is_token(cursor.peek(1), &Token::LParen) {
            cursor.next();
            let start = cursor.start();
            table.settings.extend(settings(cursor)?);
            table.with = Some(cursor.since(start));
        } else if cursor.dialect == Dialect::Mysql && is_token(cursor.peek(1), &Token::Eq) {
            table.settings.push(setting(cursor)?);
        } else {
            cursor.skip();
        }
    }
    Ok(())
}

/// Reads `(name = value, …)`.
pub(crate) fn settings(cursor: &mut Cursor<'_>) -> Result<Vec<Setting>> {
    let mut settings = Vec::new();
    cursor.expect_token(&Token::LParen)?;
    while !cursor.is_token(&Token::RParen) && !cursor.is_done() {
        settings.push(setting(cursor)?);
        while !cursor.is_end() {
            cursor.skip();
        }
        cursor.accept_token(&Token::Comma);
    }
    cursor.expect_token(&Token::RParen)?;
    Ok(settings)
}

fn setting(cursor: &mut Cursor<'_>) -> Result<Setting> {
    let name = cursor.ident()?.value.to_ascii_lowercase();
    let mut value_span = Span::new(cursor.end(), cursor.end());
    if cursor.accept_token(&Token::Eq) {
        let start = cursor.start();
        cursor.skip();
        value_span = cursor.since(start);
    }
    Ok(Setting {
        name,
        value: value_span.slice(cursor.text).to_owned(),
        value_span,
    })
}

/// Makes the key of PRIMARY KEY at a column, and indexes of UNIQUE at columns.
fn inline_key(text: &str, table: &mut Table) {
    for column in &table.columns {
        let part = Part {
            column: Some(column.name.clone()),
            prefix: None,
            text: Text {
                text: column.name.span.slice(text).to_owned(),
                words: vec![column.name.value.clone()],
                span: column.name.span,
            },
        };
        if let Some(list) = column.primary_key
            && table.key.is_none()
        {
            table.key = Some(Key {
                parts: vec![part],
                hash: column.hash,
                apart: false,
                inline: true,
                list,
                span: column.span,
            });
        } else if column.unique {
            table.indexes.push(Index {
                name: None,
                unique: true,
                parts: vec![part],
                hash: None,
                list: column.name.span,
                span: column.span,
            });
        }
    }
}
