//! Statements that change tables themselves: CREATE, ALTER, DROP, TRUNCATE.
//!
//! They read a statement and make schemas of it; what is written, and in which order, is
//! [`crate::catalog::Change`]'s.

mod alter;
mod columns;
mod constraints;
mod index;
mod options;
mod partitions;
mod sequence;
mod show;
mod table;

use std::sync::Arc;

use keys::Value;
use syntax::statement::{Drop, Truncate};
use syntax::{Kind, Statement, ast};
use txn::{Store, TableId};

use crate::collection::guard;
use crate::interrupt::INTERRUPT_ROWS;
use crate::names::table_name;
use crate::scalar::constant;
use crate::{Catalog, Error, Interrupt, Result, Schema, Table};

pub(crate) use show::{create_statement, foreign_keys, quoted};

/// Who carries out a statement, and on what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'g> {
    pub(crate) store: &'g Arc<Store>,
    pub(crate) catalog: &'g Catalog,
    /// What may end the statement.
    pub(crate) interrupt: &'g Interrupt,
}

impl Ground<'_> {
    /// The time that constant expressions speak of.
    fn now_us(&self) -> i64 {
        i64::try_from(self.store.now_us()).unwrap_or(i64::MAX)
    }

    /// An error if the statement is to end; looked for after every so many rows.
    fn check_interrupt(&self, row: usize) -> Result<()> {
        match row.is_multiple_of(INTERRUPT_ROWS) {
            true => self.interrupt.check(self.store),
            false => Ok(()),
        }
    }
}

/// Whether a statement is one of these.
pub(crate) fn is_definition(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::CreateTable(_)
            | Kind::DropTable(_)
            | Kind::AlterTable(_)
            | Kind::CreateIndex(_)
            | Kind::RenameIndex(_)
            | Kind::DropIndex(_)
            | Kind::Truncate(_)
            | Kind::CreateSequence(_)
            | Kind::AlterSequence(_)
            | Kind::DropSequence(_)
    )
}

/// What a statement did, and what is left to do.
pub(crate) struct Defined {
    /// Its tag.
    pub(crate) command: &'static str,
    /// Indexes that are to be built.
    pub(crate) indexes: Vec<TableId>,
}

/// Runs a statement; `None` if it is not one of these.
pub(crate) fn define(ground: Ground<'_>, statement: &Statement) -> Result<Option<Defined>> {
    let mut indexes = Vec::new();
    let command = match &statement.kind {
        Kind::CreateTable(create) => {
            match table::create(ground, create) {
                Err(Error::TableExists { .. }) if create.if_not_exists => {}
                other => other?,
            }
            "CREATE TABLE"
        }
        Kind::DropTable(drop) => {
            drop_tables(ground, drop)?;
            "DROP TABLE"
        }
        Kind::AlterTable(alter) => {
            match alter::alter(ground, alter) {
                Err(Error::NoSuchTable { .. }) if alter.if_exists => {}
                other => indexes = other?,
            }
            "ALTER TABLE"
        }
        Kind::CreateIndex(create) => {
            indexes = index::create(ground, create)?;
            "CREATE INDEX"
        }
        Kind::RenameIndex(rename) => {
            match index::rename(ground, rename) {
                Err(Error::UnknownIndex { .. }) if rename.if_exists => {}
                other => other?,
            }
            "ALTER INDEX"
        }
        Kind::DropIndex(drop) => {
            index::drop(ground, drop)?;
            "DROP INDEX"
        }
        Kind::Truncate(names) => {
            truncate(ground, names)?;
            "TRUNCATE TABLE"
        }
        Kind::CreateSequence(create) => {
            match sequence::create(ground, create) {
                Err(Error::SequenceExists { .. }) if create.if_not_exists => {}
                other => other?,
            }
            "CREATE SEQUENCE"
        }
        Kind::AlterSequence(alter) => {
            match sequence::alter(ground, alter) {
                Err(Error::NoSuchSequence { .. }) if alter.if_exists => {}
                other => other?,
            }
            "ALTER SEQUENCE"
        }
        Kind::DropSequence(drop) => {
            sequence::drop(ground, drop)?;
            "DROP SEQUENCE"
        }
        _ => return Ok(None),
    };
    Ok(Some(Defined { command, indexes }))
}

/// Drops tables, if all of them can be.
fn drop_tables(ground: Ground<'_>, drop: &Drop) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let mut tables = Vec::new();
    for name in &drop.names {
        match ground.catalog.get(&table_name(name)?) {
            Err(Error::NoSuchTable { .. }) if drop.if_exists => {}
            other => push_once(&mut tables, other?),
        }
    }
    for table in &tables {
        guard::refuse(table.schema(), "dropped")?;
    }
    if !drop.cascade {
        constraints::refuse_referenced(ground, &tables, "drop that too, or say CASCADE")?;
    }
    constraints::let_go(ground, &change, &tables)?;
    for table in tables {
        change.remove(&table)?;
    }
    Ok(())
}

fn push_once(tables: &mut Vec<Arc<Table>>, table: Arc<Table>) {
    if !tables.iter().any(|known| known.id() == table.id()) {
        tables.push(table);
    }
}

/// The tables that TRUNCATE empties: those that are named, and with CASCADE all that refer to them.
pub(crate) fn truncated(ground: Ground<'_>, truncate: &Truncate) -> Result<Vec<Arc<Table>>> {
    let mut tables = Vec::new();
    for name in &truncate.names {
        let table = ground.catalog.get(&table_name(name)?)?;
        guard::refuse(table.schema(), "emptied")?;
        push_once(&mut tables, table);
    }
    if truncate.cascade {
        return Ok(constraints::with_referring(ground, &tables));
    }
    constraints::refuse_referenced(ground, &tables, "TRUNCATE that too, or say CASCADE")?;
    Ok(tables)
}

/// Empties tables: all of them in one instant.
fn truncate(ground: Ground<'_>, truncate: &Truncate) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let tables = truncated(ground, truncate)?;
    change.empty(&tables)?;
    if truncate.restart_identity {
        let owned = tables
            .iter()
            .flat_map(|table| &table.schema().parts().sequences);
        let owned: Vec<_> = owned.map(|owned| owned.sequence).collect();
        for sequence in ground.catalog.sequences() {
            if owned.contains(&sequence.id()) {
                sequence.set(ground.store, sequence.definition().start, false)?;
            }
        }
    }
    Ok(())
}

/// TRUNCATE inside of a transaction, which may yet be rolled back: all rows are deleted.
pub(crate) fn deletions(ground: Ground<'_>, truncate: &Truncate) -> Result<Vec<ast::Delete>> {
    if truncate.restart_identity {
        let what = "RESTART IDENTITY inside of a transaction".to_owned();
        return Err(Error::Unsupported { what });
    }
    let delete = |table: &Arc<Table>| {
        let quoted = table.schema().name().replace('"', "\"\"");
        let mut parsed = syntax::parse(&format!("DELETE FROM \"{quoted}\""))?;
        match parsed.pop().map(|one| one.kind) {
            Some(Kind::Delete(delete)) => Ok(*delete),
            _ => Err(Error::Internal {
                what: "our own statement does not parse".to_owned(),
            }),
        }
    };
    truncated(ground, truncate)?.iter().map(delete).collect()
}

/// The values of a key, or of its first columns.
pub(crate) fn key_values(schema: &Schema, exprs: &[ast::Expr]) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(exprs.len());
    for (expr, column) in exprs.iter().zip(schema.key_columns()) {
        let value = constant(expr, column.kind, 0)?;
        let unclear = || Error::Unsupported {
            what: format!("{expr} as part of a key"),
        };
        values.push(value.ok_or_else(unclear)?);
    }
    if exprs.len() > values.len() {
        let (expected, given) = (schema.key_positions().len(), exprs.len());
        let table = schema.name().to_owned();
        return Err(Error::ValueCount {
            table,
            what: "key columns",
            expected,
            given,
        });
    }
    Ok(values)
}
