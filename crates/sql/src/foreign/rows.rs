//! Finding the children of a parent: by the key of their table, by an index, or among all rows.

use keys::{Value, append_key_value, prefix_upper_bound};
use txn::{Direction, KeyRange, Scan, Transaction};

use super::Link;
use crate::index::IndexTable;
use crate::{Result, Schema, Table};

/// The rows of the child that refer to these values.
pub(super) fn children(
    transaction: &Transaction,
    link: &Link,
    values: &[Value],
) -> Result<Vec<Vec<Value>>> {
    let mut found = Found::new(transaction, link, values)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(row);
    }
    Ok(rows)
}

/// Whether there is any.
pub(super) fn has_children(
    transaction: &Transaction,
    link: &Link,
    values: &[Value],
) -> Result<bool> {
    Ok(Found::new(transaction, link, values)?.next()?.is_some())
}

struct Found<'f> {
    transaction: &'f Transaction,
    table: &'f Table,
    index: Option<&'f IndexTable>,
    columns: &'f [usize],
    values: Vec<Value>,
    scan: Scan,
}

impl<'f> Found<'f> {
    fn new(transaction: &'f Transaction, link: &'f Link, values: &[Value]) -> Result<Self> {
        let values = link.as_child(values);
        let table = &link.child;
        let columns = &link.key.columns;
        let mut row = vec![Value::Null; table.schema().columns().len()];
        for (value, position) in values.iter().zip(columns) {
            if let Some(place) = row.get_mut(*position) {
                place.clone_from(value);
            }
        }
        let own = prefix(
            table.schema(),
            table.schema().key_positions(),
            columns,
            &row,
        )?;
        let mut best = (own, None);
        for index in table.indexes() {
            if !index.ready || index.since > transaction.snapshot() {
                continue;
            }
            let prefix = prefix(table.schema(), &index.key, columns, &row)?;
            if prefix.0 > best.0.0 {
                best = (prefix, Some(index.as_ref()));
            }
        }
        let ((bound, prefix), index) = best;
        let range = match bound {
            0 => KeyRange::all(),
            _ => KeyRange::new(prefix.clone(), Some(prefix_upper_bound(&prefix).into())),
        };
        let id = index.map_or(table.id(), |index| index.id);
        Ok(Self {
            transaction,
            table,
            index,
            columns,
            values,
            scan: transaction.scan(id, &range, Direction::Ascending)?,
        })
    }

    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        for pair in self.scan.by_ref() {
            let (mut key, mut bytes) = pair?;
            if let Some(index) = self.index {
                let reader = self.transaction.reader();
                (key, bytes) = index.fetch(self.table, &reader, &key, &bytes)?;
            }
            let row = self.table.schema().decode(&key, &bytes)?;
            let mut pairs = self.columns.iter().zip(&self.values);
            if pairs.all(|(position, value)| row.get(*position) == Some(value)) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// How many of the first columns of a key are known from these columns of a row, and how keys begin
/// that have them.
fn prefix(
    schema: &Schema,
    key: &[usize],
    known: &[usize],
    row: &[Value],
) -> Result<(usize, Vec<u8>)> {
    let (mut bound, mut bytes) = (0, Vec::new());
    for position in key {
        let value = match schema.generated_at(*position) {
            _ if known.contains(position) => row.get(*position).cloned(),
            Some(one) if one.follows(known) && !one.moves() => Some(one.value(row)?),
            _ => None,
        };
        let Some(value) = value else { break };
        append_key_value(&mut bytes, &value)?;
        bound += 1;
    }
    Ok((bound, bytes))
}
