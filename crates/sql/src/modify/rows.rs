//! One row of a table, and whatever goes with it, into a transaction.

use keys::{Value, format_key};
use txn::{Bytes, Transaction};

use crate::{Error, Result, Table, index};

/// Puts a row where none may be; an error if there is one.
pub fn insert_row(transaction: &mut Transaction, table: &Table, row: &[Value]) -> Result<()> {
    if let Some(items) = table.collection() {
        return items.insert(table.schema(), transaction, row);
    }
    let (key, bytes) = table.schema().encode(row)?;
    check_free(transaction, table, &key, row)?;
    index::maintain(transaction, table, None, Some(row))?;
    transaction.put(table.id(), key, bytes)?;
    Ok(())
}

/// The same for a row whose key was drawn at random for it, so that there is none.
pub(crate) fn insert_drawn(
    transaction: &mut Transaction,
    table: &Table,
    row: &[Value],
) -> Result<()> {
    let (key, bytes) = table.schema().encode(row)?;
    transaction.assume_absent(table.id(), &key)?;
    index::maintain(transaction, table, None, Some(row))?;
    transaction.put(table.id(), key, bytes)?;
    Ok(())
}

/// The same for a row that is encoded already.
pub(crate) fn insert_encoded(
    transaction: &mut Transaction,
    table: &Table,
    key: Bytes,
    bytes: Bytes,
) -> Result<()> {
    let more = !table.indexes().is_empty() || table.collection().is_some();
    if more || table.schema().moves() {
        return insert_row(transaction, table, &table.schema().decode(&key, &bytes)?);
    }
    if transaction.get(table.id(), &key)?.is_some() {
        return Err(exists(table, &key));
    }
    transaction.put(table.id(), key, bytes)?;
    Ok(())
}

/// Puts a row in the place of another, or of none. What was there must be given if the table has
/// indexes.
pub fn replace_row(
    transaction: &mut Transaction,
    table: &Table,
    old: Option<&[Value]>,
    new: &[Value],
) -> Result<()> {
    if let Some(items) = table.collection() {
        return items.replace(table.schema(), transaction, old, new);
    }
    let schema = table.schema();
    let (key, bytes) = schema.encode(new)?;
    if let Some(old) = old
        && !schema.same_key(old, new)
    {
        let before = schema.encode_key(&schema.key_of(old))?;
        transaction.delete(table.id(), before)?;
        check_free(transaction, table, &key, new)?;
    }
    index::maintain(transaction, table, old, Some(new))?;
    transaction.put(table.id(), key, bytes)?;
    Ok(())
}

/// Deletes a row.
pub fn delete_row(transaction: &mut Transaction, table: &Table, old: &[Value]) -> Result<()> {
    if let Some(items) = table.collection() {
        return items.delete(transaction, old);
    }
    let schema = table.schema();
    index::maintain(transaction, table, Some(old), None)?;
    transaction.delete(table.id(), schema.encode_key(&schema.key_of(old))?)?;
    Ok(())
}

/// The row with the key of this one, wherever it lies.
pub fn find_row(
    transaction: &Transaction,
    table: &Table,
    row: &[Value],
) -> Result<Option<Vec<Value>>> {
    if let Some(items) = table.collection() {
        return items.find(table.schema(), transaction, row);
    }
    let schema = table.schema();
    let key = schema.encode_key(&schema.key_of(row))?;
    if let Some(bytes) = transaction.get(table.id(), &key)? {
        return schema.decode(&key, &bytes).map(Some);
    }
    let Some(key) = schema.former_key(row)? else {
        return Ok(None);
    };
    let bytes = transaction.get(table.id(), &key)?;
    bytes.map(|bytes| schema.decode(&key, &bytes)).transpose()
}

/// Whether there is a row with the key of this one, and still will be at the commit, however changed.
pub(crate) fn find_key(
    transaction: &mut Transaction,
    table: &Table,
    row: &[Value],
) -> Result<bool> {
    let schema = table.schema();
    let key = schema.encode_key(&schema.key_of(row))?;
    let keys = [Some(key), schema.former_key(row)?];
    for key in keys.into_iter().flatten() {
        if transaction.holds(table.id(), &key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An error if there is a row with the key of this one.
fn check_free(transaction: &Transaction, table: &Table, key: &Bytes, row: &[Value]) -> Result<()> {
    let former = table.schema().former_key(row)?;
    for key in [Some(key.clone()), former].into_iter().flatten() {
        if transaction.get(table.id(), &key)?.is_some() {
            return Err(exists(table, &key));
        }
    }
    Ok(())
}

/// The error of a row that is there already.
pub(crate) fn exists(table: &Table, key: &Bytes) -> Error {
    Error::RowExists {
        table: table.schema().name().to_owned(),
        key: format_key(key),
        detail: table.schema().taken(key),
    }
}
