//! Rows that were written lately, and what is known to have stayed as it is.
//!
//! A row that many change is read again and again right after it was written: by whoever changes it
//! next, and by those who look whether what they read is still so. Each time an engine would search
//! its memtable, in which such a row has thousands of versions. Here the newest of them are at hand,
//! one for each cell, the last that was written there:
//!
//! ```text
//!   cell = hash (table, key)        │ changed @9 │ pgbench_branches / 7, row @9 │
//!                                   │ changed @7 │ – (too long, or deleted)      │
//! ```
//!
//! **What it promises.** A row in a cell is the newest version of its key, also if snapshots cannot see
//! it yet. And no key of a cell changed after `changed`. Both hold because only commits write here, one
//! at a time, after the engine has the rows and before snapshots can see them. What comes in bulk
//! empties the cells and raises the `floor` of all of them.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use partitions::TableId;
use storage::Bytes;

use crate::Timestamp;
use crate::version::Version;

/// How many rows are at hand.
const CELLS: usize = 1 << 13;

/// How long a row may be to be kept.
const ROW_BYTES_MAX: usize = 1 << 10;

/// The rows of one engine that were written lately.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    cells: OnceLock<Box<[Cell]>>,
    hasher: DefaultHashBuilder,
    floor: AtomicU64,
}

#[derive(Debug, Default)]
struct Cell {
    changed: AtomicU64,
    row: Mutex<Option<Row>>,
}

#[derive(Debug)]
struct Row {
    table: TableId,
    key: Bytes,
    version: Version,
}

impl Fresh {
    /// The newest version of a key, if it is at hand.
    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Option<Version> {
        let row = self.cell(table, key)?.row.lock();
        let row = row.as_ref()?;
        (row.table == table && row.key == key).then(|| row.version.clone())
    }

    /// No version of this key is newer.
    pub(crate) fn changed(&self, table: TableId, key: &[u8]) -> Timestamp {
        let cell = self.cell(table, key);
        let changed = cell.map_or(0, |cell| cell.changed.load(Ordering::Acquire));
        Timestamp(changed.max(self.floor.load(Ordering::Acquire)))
    }

    /// An engine has a new version of a key, or may have.
    pub(crate) fn put(&self, table: TableId, key: &Bytes, version: &Version, certain: bool) {
        let cells = || std::iter::repeat_with(Cell::default).take(CELLS).collect();
        self.cells.get_or_init(cells);
        let Some(cell) = self.cell(table, key) else {
            return;
        };
        cell.changed.fetch_max(version.at.0, Ordering::AcqRel);
        let short = |row: &Bytes| row.len() <= ROW_BYTES_MAX;
        let keep = certain && version.row.as_ref().is_some_and(short);
        *cell.row.lock() = keep.then(|| Row {
            table,
            key: key.clone(),
            version: version.clone(),
        });
    }

    /// Any key may have changed at this time.
    pub(crate) fn all_changed(&self, at: Timestamp) {
        self.floor.fetch_max(at.0, Ordering::AcqRel);
        for cell in self.cells.get().into_iter().flatten() {
            *cell.row.lock() = None;
        }
    }

    fn cell(&self, table: TableId, key: &[u8]) -> Option<&Cell> {
        let cells = self.cells.get()?;
        let hash = self.hasher.hash_one((table.0, key));
        // A power of two, so that no division is needed.
        cells.get(usize::try_from(hash).unwrap_or_default() % CELLS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    fn version(at: u64, row: Option<&'static str>) -> Version {
        Version {
            at: Timestamp(at),
            row: row.map(|row| Bytes::from_static(row.as_bytes())),
        }
    }

    #[test]
    fn the_last_version_is_at_hand() {
        let fresh = Fresh::default();
        let key = Bytes::from_static(b"a");
        assert_eq!(fresh.get(TABLE, &key), None);
        assert_eq!(fresh.changed(TABLE, &key), Timestamp(0));
        fresh.put(TABLE, &key, &version(5, Some("one")), true);
        fresh.put(TABLE, &key, &version(7, Some("two")), true);
        assert_eq!(fresh.get(TABLE, &key), Some(version(7, Some("two"))));
        assert_eq!(fresh.get(TableId(2), &key), None);
        assert_eq!(fresh.changed(TABLE, &key), Timestamp(7));
    }

    #[test]
    fn what_is_deleted_doubtful_long_or_loaded_is_not() {
        let fresh = Fresh::default();
        let key = Bytes::from_static(b"a");
        let long = Version {
            at: Timestamp(8),
            row: Some(vec![0; ROW_BYTES_MAX + 1].into()),
        };
        let cases = [
            (version(6, None), true),
            (version(7, Some("x")), false),
            (long, true),
        ];
        for (case, certain) in cases {
            fresh.put(TABLE, &key, &version(5, Some("one")), true);
            fresh.put(TABLE, &key, &case, certain);
            assert_eq!(fresh.get(TABLE, &key), None);
            assert_eq!(fresh.changed(TABLE, &key), case.at);
        }
        fresh.put(TABLE, &key, &version(9, Some("one")), true);
        fresh.all_changed(Timestamp(10));
        assert_eq!(fresh.get(TABLE, &key), None);
        assert_eq!(fresh.changed(TABLE, b"another"), Timestamp(10));
    }
}
