//! ALTER TABLE, as far as a key is concerned.

use sqlparser::tokenizer::Token;

use super::create::{column, element, identity, key, settings};
use super::cursor::Cursor;
use super::misspelt;
use super::{Change, DefinitionKind, Setting, Table};
use crate::error::Result;

/// Reads what stands after ALTER TABLE.
pub(crate) fn alter(cursor: &mut Cursor<'_>) -> Result<DefinitionKind> {
    cursor.accept("if exists");
    cursor.accept("only");
    let table = cursor.name()?;
    misspelt::check_change(cursor)?;
    cursor.accept_token(&Token::Mul);
    let mut changes = Vec::new();
    loop {
        change(cursor, &mut changes)?;
        while !cursor.is_done() && !cursor.is_token(&Token::Comma) {
            cursor.skip();
        }
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    Ok(DefinitionKind::Alter { table, changes })
}

fn change(cursor: &mut Cursor<'_>, changes: &mut Vec<Change>) -> Result<()> {
    if cursor.accept("add") {
        if cursor.accept("column") {
            cursor.accept("if not exists");
            changes.push(Change::Column(Box::new(column(cursor)?)));
            return Ok(());
        }
        let mut table = Table::default();
        if element(cursor, &mut table)? {
            changes.extend(table.key.map(Change::Key));
            changes.extend(table.indexes.into_iter().map(Change::Index));
        } else if !["partition", "changefeed", "family"]
            .iter()
            .any(|word| cursor.is(word))
        {
            changes.push(Change::Column(Box::new(column(cursor)?)));
        }
    } else if cursor.accept("alter") {
        cursor.accept("column");
        alter_column(cursor, changes)?;
    } else if cursor.accept("modify") || cursor.is("change") {
        let renamed = cursor.accept("change");
        cursor.accept("column");
        cursor.accept("if exists");
        if renamed {
            cursor.ident()?;
        }
        changes.push(Change::Column(Box::new(column(cursor)?)));
    } else if cursor.is("split at") {
        let start = cursor.start();
        cursor.accept("split at");
        changes.push(Change::Settings(vec![Setting {
            name: "split at".to_owned(),
            value: String::new(),
            value_span: cursor.since(start),
        }]));
    } else if cursor.is("set") {
        cursor.next();
        if cursor.is_token(&Token::LParen) {
            changes.push(Change::Settings(settings(cursor)?));
        }
    }
    Ok(())
}

fn alter_column(cursor: &mut Cursor<'_>, changes: &mut Vec<Change>) -> Result<()> {
    let start = cursor.start();
    if cursor.accept("primary key using columns") {
        changes.push(Change::Key(key(cursor, start)?));
        return Ok(());
    }
    if ["index", "primary", "constraint", "family"]
        .iter()
        .any(|word| cursor.is(word))
    {
        return Ok(());
    }
    let name = cursor.ident()?;
    if cursor.accept("set default") {
        changes.push(Change::Default(name, cursor.expression(|_| false)?));
    } else if cursor.accept("set not null") {
        changes.push(Change::NotNull(name, true));
    } else if cursor.accept("drop not null") {
        changes.push(Change::NotNull(name, false));
    } else if cursor.accept("add generated") {
        let start = cursor.start();
        if let Some(counts) = identity(cursor, start) {
            changes.push(Change::Counts(name, counts));
        }
    }
    Ok(())
}
