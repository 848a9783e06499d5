//! A transaction's own writes, buffered until it commits, with savepoints.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use partitions::TableId;
use storage::{Bytes, ENGINE_KEY_BYTES_MAX, KeyRange};

use crate::{Error, Result};

/// How many rows one transaction may write.
pub const TRANSACTION_WRITES_MAX: usize = 1 << 20;

/// How many bytes of keys and rows one transaction may write.
pub const TRANSACTION_BYTES_MAX: usize = 256 << 20;

/// How long a key may be: what engines store, less the table number and timestamp that history and
/// intents put around it.
pub const KEY_BYTES_MAX: usize = ENGINE_KEY_BYTES_MAX - 16;

/// A mark in a transaction, to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(u64);

/// The rows a transaction has put (`Some`) or deleted (`None`), by table and key.
pub(crate) type Tables = BTreeMap<TableId, BTreeMap<Bytes, Option<Bytes>>>;

/// The writes of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    tables: Arc<Tables>,
    /// What each write replaced in `tables`, oldest first; filled only after a savepoint.
    undo: Vec<Undo>,
    /// The savepoints that exist, each with the length of `undo` then.
    savepoints: Vec<(Savepoint, usize)>,
    next_savepoint: u64,
    count: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Undo {
    table: TableId,
    key: Bytes,
    before: Option<Option<Bytes>>,
}

impl Writes {
    pub(crate) fn set(&mut self, table: TableId, key: Bytes, row: Option<Bytes>) -> Result<()> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Error::KeyLength {
                limit: KEY_BYTES_MAX,
                size: key.len(),
            });
        }
        let size = cost(&key, row.as_ref());
        check("written bytes", TRANSACTION_BYTES_MAX, self.bytes + size)?;
        check("written rows", TRANSACTION_WRITES_MAX, self.count + 1)?;
        let before = self.replace(table, key.clone(), Some(row));
        if !self.savepoints.is_empty() {
            self.undo.push(Undo { table, key, before });
        }
        Ok(())
    }

    fn replace(
        &mut self,
        table: TableId,
        key: Bytes,
        row: Option<Option<Bytes>>,
    ) -> Option<Option<Bytes>> {
        // Copied only while a reader of an earlier statement is still at work.
        let rows = Arc::make_mut(&mut self.tables).entry(table).or_default();
        let added = row.as_ref().map_or(0, |row| cost(&key, row.as_ref()));
        let one = usize::from(row.is_some());
        let before = match row {
            Some(row) => rows.insert(key.clone(), row),
            None => rows.remove(&key),
        };
        self.count = self.count + one - usize::from(before.is_some());
        let removed = before.as_ref().map_or(0, |row| cost(&key, row.as_ref()));
        self.bytes = self.bytes + added - removed;
        before
    }

    /// The writes so far; later ones do not show in it.
    pub(crate) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    pub(crate) fn savepoint(&mut self) -> Savepoint {
        let savepoint = Savepoint(self.next_savepoint);
        self.next_savepoint += 1;
        self.savepoints.push((savepoint, self.undo.len()));
        savepoint
    }

    /// Takes back every write since the savepoint, which stays usable; later ones are gone.
    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let index = self
            .savepoints
            .iter()
            .position(|(known, _)| *known == savepoint);
        let index = index.ok_or(Error::NoSuchSavepoint)?;
        self.savepoints.truncate(index + 1);
        let length = self.savepoints.last().map_or(0, |(_, length)| *length);
        while self.undo.len() > length {
            if let Some(Undo { table, key, before }) = self.undo.pop() {
                self.replace(table, key, before);
            }
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All writes, by table and key.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (TableId, Bytes, Option<Bytes>)> {
        self.tables.iter().flat_map(|(table, keys)| {
            keys.iter()
                .map(|(key, row)| (*table, key.clone(), row.clone()))
        })
    }
}

/// The writes in a range of one table, in key order.
pub(crate) fn writes_in(
    tables: &Tables,
    table: TableId,
    range: &KeyRange,
) -> Vec<(Bytes, Option<Bytes>)> {
    let Some(rows) = tables.get(&table) else {
        return Vec::new();
    };
    if range.is_empty() {
        return Vec::new();
    }
    let upper = range
        .upper
        .as_ref()
        .map_or(Bound::Unbounded, Bound::Excluded);
    rows.range::<Bytes, _>((Bound::Included(&range.lower), upper))
        .map(|(key, row)| (key.clone(), row.clone()))
        .collect()
}

fn cost(key: &Bytes, row: Option<&Bytes>) -> usize {
    key.len() + row.map_or(0, Bytes::len)
}

/// An error when `size` is past `limit`.
pub(crate) fn check(what: &'static str, limit: usize, size: usize) -> Result<()> {
    if size > limit {
        Err(Error::TooLarge { what, limit, size })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    fn rows(writes: &Writes) -> Vec<String> {
        let show = |(key, row): (Bytes, Option<Bytes>)| {
            let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
            format!("{}={}", text(&key), row.as_ref().map_or("-".into(), text))
        };
        writes_in(&writes.tables, TABLE, &KeyRange::all())
            .into_iter()
            .map(show)
            .collect()
    }

    #[test]
    fn rollback_restores_what_the_savepoint_saw() {
        let mut writes = Writes::default();
        writes.set(TABLE, "a".into(), Some("1".into())).unwrap();
        let one = writes.savepoint();
        writes.set(TABLE, "a".into(), Some("2".into())).unwrap();
        writes.set(TABLE, "b".into(), None).unwrap();
        let two = writes.savepoint();
        writes.set(TABLE, "a".into(), None).unwrap();
        writes.rollback_to(two).unwrap();
        assert_eq!(rows(&writes), ["a=2", "b=-"]);
        writes.rollback_to(one).unwrap();
        assert_eq!(rows(&writes), ["a=1"]);
        writes.set(TABLE, "c".into(), None).unwrap();
        writes.set(TABLE, "d".into(), None).unwrap();
        let gone = writes.rollback_to(two);
        assert!(matches!(gone, Err(Error::NoSuchSavepoint)));
        writes.rollback_to(one).unwrap();
        assert_eq!((writes.count, writes.bytes), (1, 2));
    }

    #[test]
    fn keys_past_the_limit_are_refused_before_an_engine_sees_them() {
        let mut writes = Writes::default();
        writes
            .set(TABLE, vec![1; KEY_BYTES_MAX].into(), None)
            .unwrap();
        for length in [0, KEY_BYTES_MAX + 1] {
            let error = writes.set(TABLE, vec![1; length].into(), None).unwrap_err();
            assert!(
                matches!(error, Error::KeyLength { size, .. } if size == length),
                "{error}"
            );
        }
    }

    #[test]
    fn limits_name_themselves() {
        let error = check("written rows", 10, 11).unwrap_err().to_string();
        assert_eq!(
            error,
            "a transaction may have 10 written rows, this one has 11: commit in smaller steps"
        );
    }
}
