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

/// What a transaction does to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Put(Bytes),
    Delete,
    /// Patches what is there when it commits, in this order.
    Patch(Vec<Bytes>),
}

impl Edit {
    /// The bytes it brings.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Put(row) => row.len(),
            Self::Delete => 0,
            Self::Patch(patches) => patches.iter().map(Bytes::len).sum(),
        }
    }
}

/// What a transaction does to rows, by table and key.
pub(crate) type Tables = BTreeMap<TableId, BTreeMap<Bytes, Edit>>;

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
    before: Option<Edit>,
}

impl Writes {
    pub(crate) fn set(&mut self, table: TableId, key: Bytes, edit: Edit) -> Result<()> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Error::KeyLength {
                limit: KEY_BYTES_MAX,
                size: key.len(),
            });
        }
        let size = cost(&key, &edit);
        check("written bytes", TRANSACTION_BYTES_MAX, self.bytes + size)?;
        check("written rows", TRANSACTION_WRITES_MAX, self.count + 1)?;
        let before = self.replace(table, key.clone(), Some(edit));
        if !self.savepoints.is_empty() {
            self.undo.push(Undo { table, key, before });
        }
        Ok(())
    }

    fn replace(&mut self, table: TableId, key: Bytes, edit: Option<Edit>) -> Option<Edit> {
        // Copied only while a reader of an earlier statement is still at work.
        let rows = Arc::make_mut(&mut self.tables).entry(table).or_default();
        let added = edit.as_ref().map_or(0, |edit| cost(&key, edit));
        let one = usize::from(edit.is_some());
        let before = match edit {
            Some(edit) => rows.insert(key.clone(), edit),
            None => rows.remove(&key),
        };
        self.count = self.count + one - usize::from(before.is_some());
        let removed = before.as_ref().map_or(0, |edit| cost(&key, edit));
        self.bytes = self.bytes + added - removed;
        before
    }

    /// What is to become of a row, if this transaction does anything to it.
    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Option<&Edit> {
        self.tables.get(&table)?.get(key)
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
    pub(crate) fn rows(&self) -> impl Iterator<Item = (TableId, Bytes, Edit)> {
        self.tables.iter().flat_map(|(table, keys)| {
            keys.iter()
                .map(|(key, row)| (*table, key.clone(), row.clone()))
        })
    }
}

/// The writes in a range of one table, in key order.
pub(crate) fn writes_in(tables: &Tables, table: TableId, range: &KeyRange) -> Vec<(Bytes, Edit)> {
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

fn cost(key: &Bytes, edit: &Edit) -> usize {
    key.len() + edit.bytes()
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
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        let show = |(key, edit): (Bytes, Edit)| match edit {
            Edit::Put(row) => format!("{}={}", text(&key), text(&row)),
            Edit::Delete => format!("{}=-", text(&key)),
            Edit::Patch(patches) => format!("{}+{}", text(&key), text(&patches.concat().into())),
        };
        writes_in(&writes.tables, TABLE, &KeyRange::all())
            .into_iter()
            .map(show)
            .collect()
    }

    #[test]
    fn rollback_restores_what_the_savepoint_saw() {
        let mut writes = Writes::default();
        writes
            .set(TABLE, "a".into(), Edit::Put("1".into()))
            .unwrap();
        let one = writes.savepoint();
        writes
            .set(TABLE, "a".into(), Edit::Put("2".into()))
            .unwrap();
        writes.set(TABLE, "b".into(), Edit::Delete).unwrap();
        let two = writes.savepoint();
        writes.set(TABLE, "a".into(), Edit::Delete).unwrap();
        writes.rollback_to(two).unwrap();
        assert_eq!(rows(&writes), ["a=2", "b=-"]);
        writes.rollback_to(one).unwrap();
        assert_eq!(rows(&writes), ["a=1"]);
        writes.set(TABLE, "c".into(), Edit::Delete).unwrap();
        writes.set(TABLE, "d".into(), Edit::Delete).unwrap();
        let gone = writes.rollback_to(two);
        assert!(matches!(gone, Err(Error::NoSuchSavepoint)));
        writes.rollback_to(one).unwrap();
        assert_eq!((writes.count, writes.bytes), (1, 2));
    }

    #[test]
    fn keys_past_the_limit_are_refused_before_an_engine_sees_them() {
        let mut writes = Writes::default();
        writes
            .set(TABLE, vec![1; KEY_BYTES_MAX].into(), Edit::Delete)
            .unwrap();
        for length in [0, KEY_BYTES_MAX + 1] {
            let error = writes
                .set(TABLE, vec![1; length].into(), Edit::Delete)
                .unwrap_err();
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
