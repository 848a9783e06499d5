//! CREATE INDEX, ALTER INDEX and DROP INDEX.
//!
//! The name of an index is unique in its table, as in YDB. ALTER INDEX and DROP INDEX name no table, as
//! in PostgreSQL, so there the name must be unique among all tables.

use std::sync::Arc;

use syntax::Name;
use syntax::statement::{CreateIndex, Drop, RenameIndex};
use syntax::table::Index as Written;
use txn::TableId;

use super::{Ground, alter, constraints};
use crate::names::{column_name, table_name};
use crate::{Error, Result, Schema, Table};

/// Options of PostgreSQL that say how it stores an index, and mean nothing here.
const OVERLOOKED: [&str; 2] = ["FILLFACTOR", "DEDUPLICATE_ITEMS"];

/// Lists an index in the schema of its table; answers with those that are to be built.
pub(super) fn create(ground: Ground<'_>, create: &CreateIndex) -> Result<Vec<TableId>> {
    let unsupported = |what: &str| {
        Err(Error::Unsupported {
            what: what.to_owned(),
        })
    };
    if create.predicate.is_some() {
        return unsupported("an index over a part of the rows");
    }
    if let Some(method) = &create.method
        && method != "btree"
    {
        return unsupported(&format!("an index by {method}"));
    }
    let mut written: Written = create.index.clone();
    let options = &mut written.options;
    options.retain(|option| !OVERLOOKED.contains(&option.name.value.to_uppercase().as_str()));
    match alter::add_index(ground, &create.table, &written) {
        Err(Error::IndexExists { .. }) if create.if_not_exists => Ok(Vec::new()),
        other => other,
    }
}

/// Drops indexes, if all of them can be.
pub(super) fn drop(ground: Ground<'_>, drop: &Drop) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let mut found: Vec<(String, String)> = Vec::new();
    for name in &drop.names {
        match owner(ground, name) {
            Err(Error::UnknownIndex { .. }) if drop.if_exists => {}
            other => {
                let (table, index) = other?;
                constraints::refuse_index(ground, &table, &index)?;
                found.push((table.schema().name().to_owned(), index));
            }
        }
    }
    for (table, index) in found {
        let table = ground.catalog.get(&table)?;
        let mut parts = table.schema().parts().clone();
        let ids: Vec<TableId> = parts
            .indexes
            .extract_if(.., |one| one.name == index)
            .map(|one| one.id)
            .collect();
        change.alter(&table, Schema::from_parts(parts)?)?;
        change.discard(ids);
    }
    Ok(())
}

/// Gives an index another name.
pub(super) fn rename(ground: Ground<'_>, rename: &RenameIndex) -> Result<()> {
    let (table, index) = owner(ground, &rename.name)?;
    alter::rename_index(
        ground,
        table.schema().name(),
        &index,
        &column_name(&rename.to),
    )
}

/// The one table that has an index of that name.
fn owner(ground: Ground<'_>, name: &Name) -> Result<(Arc<Table>, String)> {
    let name = table_name(name)?;
    let has = |table: &Arc<Table>| {
        let mut indexes = table.indexes().iter();
        indexes.any(|index| index.name == name)
    };
    let mut owners: Vec<Arc<Table>> = ground.catalog.all();
    owners.retain(has);
    match owners.as_slice() {
        [] => Err(Error::UnknownIndex { name }),
        [table] => Ok((Arc::clone(table), name)),
        several => {
            let names = several.iter().map(|table| table.schema().name().to_owned());
            let tables = names.collect::<Vec<_>>().join("`, `");
            Err(Error::AmbiguousIndex { name, tables })
        }
    }
}
