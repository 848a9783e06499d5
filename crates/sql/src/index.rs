//! Secondary indexes: tables beside a table, sorted by other columns.
//!
//! ```text
//!   CREATE TABLE t (id, city, name, PRIMARY KEY (id), INDEX by_city GLOBAL ON (city) COVER (name))
//!
//!   t         /7      │ city Oslo │ name Ann │
//!   by_city   /Oslo/7 │ name Ann │            the index columns, then the rest of the key; what it covers
//! ```
//!
//! An index is a table like any other, with partitions of its own, and its entries are written in the
//! same transaction as the rows. A unique index has the same layout: whoever adds an entry reads the
//! range of its index columns, so two rows with the same values conflict or are refused. NULL is
//! unlike every other NULL there.
//!
//! A read by an index finds entries, and then the rows under their keys unless the index covers all
//! that is asked. Entries that were written while the index was built are younger than snapshots from
//! before that; such a snapshot does not use the index.

mod build;

use keys::{Value, append_key_value, format_key, prefix_upper_bound};
use txn::{Bytes, Direction, KeyRange, Reader, TableId, Timestamp, Transaction};

use crate::{Column, Error, Index, Result, Schema, Table};

pub use build::Progress;
pub(crate) use build::build;

/// An index as a table.
#[derive(Debug)]
pub(crate) struct IndexTable {
    pub(crate) id: TableId,
    pub(crate) name: String,
    pub(crate) unique: bool,
    /// Whether it holds an entry for every row.
    pub(crate) ready: bool,
    /// The oldest snapshot that sees all its entries.
    pub(crate) since: Timestamp,
    /// Where its key columns stand in the table, in the order of its key.
    pub(crate) key: Vec<usize>,
    /// Where all its columns stand in the table.
    columns: Vec<usize>,
    /// How many of them are the index's own, and not the rest of the table's key.
    own: usize,
    schema: Schema,
}

impl IndexTable {
    /// The index of a table with this schema.
    pub(crate) fn new(table: &Schema, index: &Index, since: Timestamp) -> Result<Self> {
        let mut key = index.columns.clone();
        let rest = table.key_positions().iter();
        key.extend(rest.filter(|position| !index.columns.contains(position)));
        let mut columns = key.clone();
        let cover = index.cover.iter();
        columns.extend(cover.filter(|position| !key.contains(position)));
        let plain = |position: &usize| {
            let column = table.columns().get(*position);
            column.map(|column| Column::new(column.name.clone(), column.kind))
        };
        let described: Vec<Column> = columns.iter().filter_map(plain).collect();
        let named: Vec<String> = described
            .iter()
            .take(key.len())
            .map(|column| column.name.clone())
            .collect();
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        Ok(Self {
            id: index.id,
            name: index.name.clone(),
            unique: index.unique,
            ready: index.ready,
            since,
            own: index.columns.len(),
            schema: Schema::new(index.name.clone(), described, &named)?,
            key,
            columns,
        })
    }

    /// Whether it holds all of these columns of the table.
    pub(crate) fn covers(&self, mut positions: impl Iterator<Item = usize>) -> bool {
        positions.all(|position| self.columns.contains(&position))
    }

    /// Where a column of the table stands in an entry.
    pub(crate) fn place(&self, position: usize) -> Option<usize> {
        self.columns.iter().position(|one| *one == position)
    }

    /// What entries look like.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The key and bytes of the row that an entry stands for.
    pub(crate) fn fetch(
        &self,
        table: &Table,
        reader: &Reader,
        key: &[u8],
        entry: &[u8],
    ) -> Result<(Bytes, Bytes)> {
        let schema = table.schema();
        let held = self.row(schema, key, entry)?;
        let key = schema.encode_key(&schema.key_of(&held))?;
        let missing = || format!("index `{}` has an entry for it", self.name);
        match reader.get(table.id(), &key)? {
            Some(bytes) => Ok((key, bytes)),
            None => Err(schema.damaged(&key, missing())),
        }
    }

    /// The key and bytes of a row's entry.
    fn entry(&self, row: &[Value]) -> Result<(Bytes, Bytes)> {
        let value = |position: &usize| row.get(*position).cloned().unwrap_or(Value::Null);
        let values: Vec<Value> = self.columns.iter().map(value).collect();
        self.schema.encode(&values)
    }

    /// The keys that writing the entry of a row touches; `None` if the row is not known well enough.
    /// A unique index looks beside the entry for others with its values.
    pub(crate) fn touches(&self, row: &[Option<Value>]) -> Result<Option<KeyRange>> {
        let mut key = Vec::new();
        let mut own = None;
        let mut nulls = false;
        for (place, position) in self.key.iter().enumerate() {
            if place == self.own {
                own = Some(key.clone());
            }
            let Some(Some(value)) = row.get(*position) else {
                return Ok(None);
            };
            nulls |= value.is_null() && place < self.own;
            append_key_value(&mut key, value)?;
        }
        if self.unique && !nulls {
            let own = own.unwrap_or(key);
            let upper = prefix_upper_bound(&own).into();
            return Ok(Some(KeyRange::new(own, Some(upper))));
        }
        Ok(Some(KeyRange::point(&key)))
    }

    /// Whether an entry holds this column of the table.
    pub(crate) fn holds(&self, position: usize) -> bool {
        self.columns.contains(&position)
    }

    /// The columns of the table that an entry holds, NULL in the place of the others.
    pub(crate) fn row(&self, table: &Schema, key: &[u8], entry: &[u8]) -> Result<Vec<Value>> {
        let mut row = vec![Value::Null; table.columns().len()];
        let values = self.schema.decode(key, entry)?;
        for (value, position) in values.into_iter().zip(&self.columns) {
            if let Some(place) = row.get_mut(*position) {
                *place = value;
            }
        }
        Ok(row)
    }

    /// Brings the entry of one row up to date.
    fn maintain(
        &self,
        transaction: &mut Transaction,
        table: &Table,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<()> {
        let old = old.map(|row| self.entry(row)).transpose()?;
        let Some(row) = new else {
            if let Some((key, _)) = old {
                transaction.delete(self.id, key)?;
            }
            return Ok(());
        };
        let new = self.entry(row)?;
        if old.as_ref() == Some(&new) {
            return Ok(());
        }
        if let Some((key, _)) = old
            && key != new.0
        {
            transaction.delete(self.id, key)?;
        }
        if self.unique {
            self.check_unique(transaction, table, row, &new.0)?;
        }
        transaction.put(self.id, new.0, new.1)?;
        Ok(())
    }

    /// How the entries of all rows begin that have this row's values in the index's own columns. `None`
    /// if one of those is NULL, which equals nothing.
    pub(crate) fn own_values(&self, row: &[Value]) -> Result<Option<Vec<u8>>> {
        let mut prefix = Vec::new();
        for position in self.key.iter().take(self.own) {
            match row.get(*position) {
                None | Some(Value::Null) => return Ok(None),
                Some(value) => append_key_value(&mut prefix, value)?,
            }
        }
        Ok(Some(prefix))
    }

    /// Refuses an entry beside another with the same values.
    fn check_unique(
        &self,
        transaction: &Transaction,
        table: &Table,
        row: &[Value],
        key: &Bytes,
    ) -> Result<()> {
        let Some(prefix) = self.own_values(row)? else {
            return Ok(());
        };
        let range = KeyRange::new(prefix.clone(), Some(prefix_upper_bound(&prefix).into()));
        for pair in transaction.scan(self.id, &range, Direction::Ascending)? {
            let (other, _) = pair?;
            if other != *key {
                return Err(Error::NotUnique {
                    table: table.schema().name().to_owned(),
                    index: self.name.clone(),
                    key: format_key(&prefix),
                    detail: self.schema.taken(&prefix),
                });
            }
        }
        Ok(())
    }

    /// The row that has these values in the index's own columns, if it is unique and there is one.
    pub(crate) fn find(
        &self,
        transaction: &Transaction,
        table: &Table,
        row: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        let Some(prefix) = self.own_values(row)? else {
            return Ok(None);
        };
        let range = KeyRange::new(prefix.clone(), Some(prefix_upper_bound(&prefix).into()));
        let mut entries = transaction.scan(self.id, &range, Direction::Ascending)?;
        let Some(pair) = entries.next() else {
            return Ok(None);
        };
        let (key, entry) = pair?;
        let found = self.row(table.schema(), &key, &entry)?;
        let schema = table.schema();
        let key = schema.encode_key(&schema.key_of(&found))?;
        let bytes = transaction.get(table.id(), &key)?;
        bytes.map(|bytes| schema.decode(&key, &bytes)).transpose()
    }

    /// Whether these are the index's own columns, in any order.
    pub(crate) fn is_over(&self, positions: &[usize]) -> bool {
        let own: Vec<&usize> = self.key.iter().take(self.own).collect();
        own.len() == positions.len() && own.iter().all(|one| positions.contains(one))
    }
}

/// Brings all indexes of a table up to date with the change of one row.
pub(crate) fn maintain(
    transaction: &mut Transaction,
    table: &Table,
    old: Option<&[Value]>,
    new: Option<&[Value]>,
) -> Result<()> {
    for index in table.indexes() {
        index.maintain(transaction, table, old, new)?;
    }
    Ok(())
}
