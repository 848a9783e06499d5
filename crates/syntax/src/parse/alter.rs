//! ALTER TABLE: one or more changes, separated by commas; and ALTER INDEX.

use sqlparser::tokenizer::Token;

use super::options::{options, split_keys};
use super::table::{
    Clause, begins_constraint, begins_index, column, column_type, constraint, fall_back,
    index as written_index,
};
use crate::error::Result;
use crate::reader::Reader;
use crate::statement::{Kind, RenameIndex, Statement};
use crate::table::{AlterTable, Alteration, AlterationKind, ColumnChange, Merge};
use crate::tokens::{is_token, is_word};

/// What an error says when no change of ours begins here.
const CHANGES: &str = "ADD, DROP, ALTER, RENAME, SET (…), RESET (…), SPLIT AT or MERGE PARTITIONS";

pub(super) fn alter(mut reader: Reader<'_>) -> Result<Statement> {
    let span = reader.span;
    reader.expect("alter table")?;
    let if_exists = reader.accept("if exists");
    reader.accept("only");
    let name = reader.name()?;
    let mut actions = Vec::new();
    loop {
        let start = reader.start();
        let Some(changes) = change(&mut reader)? else {
            return fall_back(reader, CHANGES);
        };
        let span = reader.since(start);
        let changes = changes.into_iter();
        actions.extend(changes.map(|kind| Alteration { kind, span }));
        if !reader.accept_token(&Token::Comma) {
            break;
        }
    }
    reader.finish()?;
    let kind = Kind::AlterTable(Box::new(AlterTable {
        name,
        if_exists,
        actions,
    }));
    Ok(Statement::new(span, kind))
}

/// ALTER INDEX, of which only a new name is ours.
pub(super) fn index(mut reader: Reader<'_>) -> Result<Statement> {
    let span = reader.span;
    reader.expect("alter index")?;
    let if_exists = reader.accept("if exists");
    let name = reader.name()?;
    if !reader.accept("rename to") {
        return fall_back(reader, "RENAME TO");
    }
    let to = reader.ident()?;
    reader.finish()?;
    let rename = RenameIndex {
        name,
        if_exists,
        to,
    };
    Ok(Statement::new(span, Kind::RenameIndex(Box::new(rename))))
}

/// Reads a change, which is several if a column brings more with it; nothing if none of ours begins here.
fn change(reader: &mut Reader<'_>) -> Result<Option<Vec<AlterationKind>>> {
    let parenthesis = is_token(reader.peek(1), &Token::LParen);
    if reader.accept("add") {
        return add(reader).map(Some);
    }
    let kind = if reader.accept("drop") {
        drop(reader)?
    } else if reader.is("rename") {
        rename(reader)?
    } else if reader.accept("alter index") {
        let name = reader.ident()?;
        reader.expect("set")?;
        let options = options(reader)?;
        AlterationKind::AlterIndex { name, options }
    } else if reader.accept("alter") {
        reader.accept("column");
        let name = reader.ident()?;
        let Some(change) = column_change(reader)? else {
            return Ok(None);
        };
        AlterationKind::AlterColumn { name, change }
    } else if reader.is("set") && parenthesis {
        reader.expect("set")?;
        AlterationKind::Set(options(reader)?)
    } else if reader.is("reset") && parenthesis {
        reader.expect("reset")?;
        AlterationKind::Reset(reader.list(Reader::ident)?)
    } else if reader.accept("split at") {
        reader.accept("values");
        AlterationKind::SplitAt(split_keys(reader)?)
    } else if reader.accept("merge partitions") {
        AlterationKind::MergePartitions(merge(reader)?)
    } else {
        return Ok(None);
    };
    Ok(Some(vec![kind]))
}

fn add(reader: &mut Reader<'_>) -> Result<Vec<AlterationKind>> {
    if begins_index(reader, 0) {
        let index = written_index(reader)?;
        return Ok(vec![AlterationKind::AddIndex(Box::new(index))]);
    }
    let start = reader.start();
    if begins_constraint(reader, 0) {
        let added = added(constraint(reader)?);
        if reader.are("not valid") {
            let reason = "a constraint holds for the rows that are there too: leave out NOT VALID";
            return Err(reader.invalid(reader.start(), reason));
        }
        return Ok(vec![added]);
    }
    reader.accept("column");
    let if_not_exists = reader.accept("if not exists");
    let (column, clauses) = column(reader)?;
    if clauses.iter().any(|one| matches!(one, Clause::Key(_))) {
        let reason = "a column that is added cannot be the primary key: that is chosen when the table \
                      is made";
        return Err(reader.invalid(start, reason));
    }
    if if_not_exists && !clauses.is_empty() {
        let reason =
            "with IF NOT EXISTS a column cannot bring an index or a constraint: add it apart";
        return Err(reader.invalid(start, reason));
    }
    let column = AlterationKind::AddColumn {
        column: Box::new(column),
        if_not_exists,
    };
    Ok([column]
        .into_iter()
        .chain(clauses.into_iter().map(added))
        .collect())
}

fn added(clause: Clause) -> AlterationKind {
    match clause {
        Clause::Key(key) => AlterationKind::AddPrimaryKey(key),
        Clause::Index(index) => AlterationKind::AddIndex(Box::new(index)),
        Clause::Constraint(constraint) => AlterationKind::AddConstraint(Box::new(constraint)),
    }
}

fn drop(reader: &mut Reader<'_>) -> Result<AlterationKind> {
    if reader.is("index") && !is_token(reader.peek(1), &Token::Comma) && reader.peek(1).is_some() {
        reader.expect("index")?;
        return Ok(AlterationKind::DropIndex(reader.ident()?));
    }
    if reader.accept("constraint") {
        let if_exists = reader.accept("if exists");
        let name = reader.ident()?;
        let cascade = drop_behaviour(reader);
        return Ok(AlterationKind::DropConstraint {
            name,
            if_exists,
            cascade,
        });
    }
    reader.accept("column");
    let if_exists = reader.accept("if exists");
    let name = reader.ident()?;
    let cascade = drop_behaviour(reader);
    Ok(AlterationKind::DropColumn {
        name,
        if_exists,
        cascade,
    })
}

fn drop_behaviour(reader: &mut Reader<'_>) -> bool {
    let cascade = reader.accept("cascade");
    if !cascade {
        reader.accept("restrict");
    }
    cascade
}

fn rename(reader: &mut Reader<'_>) -> Result<AlterationKind> {
    reader.expect("rename")?;
    if reader.accept("to") {
        return Ok(AlterationKind::RenameTo(reader.name()?));
    }
    let is = |word: &str| reader.is(word) && is_word(reader.peek(2), "to");
    let (is_index, is_constraint) = (is("index"), is("constraint"));
    if is_index {
        reader.expect("index")?;
    } else if is_constraint {
        reader.expect("constraint")?;
    } else {
        reader.accept("column");
    }
    let from = reader.ident()?;
    reader.expect("to")?;
    let to = reader.ident()?;
    Ok(if is_index {
        AlterationKind::RenameIndex { from, to }
    } else if is_constraint {
        AlterationKind::RenameConstraint { from, to }
    } else {
        AlterationKind::RenameColumn { from, to }
    })
}

fn column_change(reader: &mut Reader<'_>) -> Result<Option<ColumnChange>> {
    Ok(Some(if reader.accept("set not null") {
        ColumnChange::SetNotNull
    } else if reader.accept("drop not null") {
        ColumnChange::DropNotNull
    } else if reader.accept("set default") {
        ColumnChange::SetDefault(Box::new(reader.expression()?))
    } else if reader.accept("drop default") {
        ColumnChange::DropDefault
    } else if reader.accept("set data type") || reader.accept("type") {
        let (kind, span) = column_type(reader)?;
        let declared = keys::Declared::parse(span.slice(reader.text));
        ColumnChange::SetType {
            kind,
            declared,
            span,
        }
    } else {
        return Ok(None);
    }))
}

fn merge(reader: &mut Reader<'_>) -> Result<Merge> {
    if reader.accept("at") {
        return Ok(Merge::At(split_keys(reader)?));
    }
    let mut ids = Vec::new();
    while let Some(Token::Number(digits, _)) = reader.peek(0).map(|token| token.token.clone()) {
        let Ok(id) = digits.parse() else {
            return Err(reader.unexpected("the number of a partition"));
        };
        ids.push(id);
        reader.next();
        let more = is_token(reader.peek(0), &Token::Comma)
            && matches!(
                reader.peek(1).map(|token| &token.token),
                Some(Token::Number(..))
            );
        if !more {
            break;
        }
        reader.next();
    }
    Ok(if ids.is_empty() {
        Merge::All
    } else {
        Merge::Ids(ids)
    })
}
