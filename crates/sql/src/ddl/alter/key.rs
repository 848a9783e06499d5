//! ADD PRIMARY KEY, which writes every row anew.

use std::sync::Arc;

use keys::Value;
use syntax::table::PrimaryKey;

use super::super::Ground;
use super::super::columns::part_names;
use crate::catalog::Change;
use crate::schema::Parts;
use crate::{Error, Result, Schema, Table};

/// Why a table gets no other key.
const KEYED: &str = "it has a primary key already; to sort its rows by another, create a new table \
                     and copy them by INSERT INTO … SELECT …";

/// Sorts a table that was made without a key by these columns.
pub(super) fn add(
    ground: Ground<'_>,
    change: &Change<'_>,
    table: &Arc<Table>,
    key: &PrimaryKey,
) -> Result<()> {
    let schema = table.schema();
    let fault = |reason: &str| Error::Schema {
        table: schema.name().to_owned(),
        reason: reason.to_owned(),
    };
    let [hidden] = schema.key_positions() else {
        return Err(fault(KEYED));
    };
    if !schema.columns().get(*hidden).is_some_and(|one| one.hidden) {
        return Err(fault(KEYED));
    }
    if key.hash.is_some() {
        return Err(Error::NeedsNewTable {
            table: schema.name().to_owned(),
            what: "ADD PRIMARY KEY … USING HASH".to_owned(),
            reason: "every row would get a bucket, and another place in the table",
        });
    }
    if !schema.indexes().is_empty() {
        return Err(fault(
            "it has indexes: drop them before it gets another key",
        ));
    }
    let mut parts = schema.parts().clone();
    parts.drop_column(*hidden);
    let mut positions = Vec::new();
    for name in part_names(&key.columns, "the primary key")? {
        let found = parts.columns.iter().position(|column| column.name == name);
        let no_such = || Error::NoSuchColumn {
            table: parts.name.clone(),
            column: name.clone(),
        };
        positions.push(found.ok_or_else(no_such)?);
    }
    for (position, column) in parts.columns.iter_mut().enumerate() {
        column.not_null |= positions.contains(&position);
    }
    let mut new = Parts::new(parts.name, parts.columns, positions);
    new.options = parts.options;
    new.sequences = parts.sequences;
    new.checks = parts.checks;
    new.foreign_keys = parts.foreign_keys;
    let without_hidden = |mut row: Vec<Value>| {
        if *hidden < row.len() {
            row.remove(*hidden);
        }
        row
    };
    let new = Schema::from_parts(new)?;
    change.rewrite(ground.store, table, new, without_hidden)
}
