//! Statements that write rows: INSERT, UPSERT, REPLACE, UPDATE, DELETE.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::assignments;
use crate::ast;
use crate::error::Result;
use crate::reader::{Reader, convert_ident, convert_name};
use crate::statement::{Ident, Insert, Kind, Mode};
use crate::tokens::{is_token, is_word};

/// The words that rows to write begin with.
const ROWS_BEGIN: &[&str] = &["values", "select", "with", "default", "table"];

/// INSERT, UPSERT and REPLACE have one grammar; sqlparser does not look at the verb.
pub(super) fn insert(reader: &mut Reader<'_>) -> Result<Kind> {
    let start = reader.start();
    let mode = if reader.is("upsert") {
        Mode::Upsert
    } else if reader.is("replace") {
        Mode::Replace
    } else {
        Mode::Insert
    };
    let overriding = reader.take_out("overriding system value", ROWS_BEGIN);
    let Some(verb) = reader.next() else {
        return Err(reader.unexpected("INSERT"));
    };
    if !reader.is("into") {
        return Err(reader.unexpected("INTO"));
    }
    let ast::Statement::Insert(insert) = reader.run(|parser| parser.parse_insert(verb))? else {
        return Err(reader.invalid(start, "rows can only be written to a table"));
    };
    let ast::TableObject::TableName(table) = &insert.table else {
        return Err(reader.invalid(start, "rows can only be written to a table"));
    };
    let on_conflict = match insert.on {
        None => None,
        Some(ast::OnInsert::OnConflict(mut on)) if mode == Mode::Insert => {
            if let ast::OnConflictAction::DoUpdate(update) = &mut on.action {
                assignments::apart(reader, start, &mut update.assignments)?;
            }
            Some(on)
        }
        Some(_) => {
            let reason =
                "ON CONFLICT belongs to INSERT: UPSERT and REPLACE overwrite by themselves";
            return Err(reader.invalid(start, reason));
        }
    };
    Ok(Kind::Insert(Box::new(Insert {
        mode,
        table: convert_name(table),
        alias: insert.table_alias.map(|alias| convert_ident(&alias.alias)),
        columns: columns(reader, &insert.columns, start)?,
        overriding,
        source: insert.source,
        on_conflict,
        returning: insert.returning,
    })))
}

fn columns(reader: &Reader<'_>, names: &[ast::ObjectName], start: usize) -> Result<Vec<Ident>> {
    let single = |name: &ast::ObjectName| match convert_name(name).parts.as_slice() {
        [column] => Ok(column.clone()),
        _ => Err(reader.invalid(start, "columns to write are named without their table")),
    };
    names.iter().map(single).collect()
}

pub(super) fn update(reader: &mut Reader<'_>) -> Result<Kind> {
    if let Some(words) = on_follows(reader, 1) {
        reader.expect("update")?;
        return rows_on(reader, Mode::UpdateOn, words);
    }
    let start = reader.start();
    match reader.run(Parser::parse_statement)? {
        ast::Statement::Update(mut update) => {
            assignments::apart(reader, start, &mut update.assignments)?;
            Ok(Kind::Update(Box::new(update)))
        }
        other => Ok(Kind::Other(Box::new(other))),
    }
}

pub(super) fn delete(reader: &mut Reader<'_>) -> Result<Kind> {
    if reader.are("delete from")
        && let Some(words) = on_follows(reader, 2)
    {
        reader.expect("delete from")?;
        return rows_on(reader, Mode::DeleteOn, words);
    }
    match reader.run(Parser::parse_statement)? {
        ast::Statement::Delete(delete) => Ok(Kind::Delete(Box::new(delete))),
        other => Ok(Kind::Other(Box::new(other))),
    }
}

/// How many tokens the table's name takes if ON stands after it.
fn on_follows(reader: &Reader<'_>, ahead: usize) -> Option<usize> {
    let mut count = 1;
    while is_token(reader.peek(ahead + count), &Token::Period) {
        count += 2;
    }
    is_word(reader.peek(ahead + count), "on").then_some(count)
}

/// `table ON [(columns)] query [RETURNING …]`.
fn rows_on(reader: &mut Reader<'_>, mode: Mode, words: usize) -> Result<Kind> {
    let table = reader.name()?;
    debug_assert_eq!(
        table.parts.len(),
        words / 2 + 1,
        "a name alternates words and dots"
    );
    reader.expect("on")?;
    let nested = ["select", "values", "with"]
        .iter()
        .any(|word| is_word(reader.peek(1), word));
    let columns = if is_token(reader.peek(0), &Token::LParen) && !nested {
        reader.list(Reader::ident)?
    } else {
        Vec::new()
    };
    let source = reader.run(Parser::parse_query)?;
    let returning = if reader.accept("returning") {
        Some(reader.run(|parser| parser.parse_comma_separated(Parser::parse_select_item))?)
    } else {
        None
    };
    Ok(Kind::Insert(Box::new(Insert {
        mode,
        table,
        alias: None,
        columns,
        overriding: false,
        source: Some(source),
        on_conflict: None,
        returning,
    })))
}
