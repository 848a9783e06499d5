//! What commits do to one engine, gathered into one batch: rows, history, counters.

use std::collections::BTreeMap;
use std::sync::Arc;

use partitions::spaces::{META_SPACE, table_space};
use partitions::{Delta, Partition, PartitionId, TableId, counters_key};
use storage::{Batch, Bytes, Durability, Error as StorageError};

use crate::collect::Grave;
use crate::engines::Slot;
use crate::history::History;
use crate::pages::Touched;
use crate::reads::Found;
use crate::version::{Replaced, Version};
use crate::view::bytes_of;
use crate::{Error, Timestamp};

/// With more rows than this nobody will soon ask for one of them.
const FRESH_ROWS_MAX: usize = 1024;

/// One row to be written, and the version that it replaces.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) table: TableId,
    pub(crate) key: Bytes,
    pub(crate) row: Option<Bytes>,
    pub(crate) replaced: Found,
}

/// The changes to one engine.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) slot: Arc<Slot>,
    pub(crate) batch: Batch,
    partitions: BTreeMap<PartitionId, (Arc<Partition>, Delta)>,
    touched: Touched,
    /// The new versions, unless they are too many.
    fresh: Vec<(TableId, Bytes, Version)>,
    graves: Vec<Grave>,
    first: Option<Timestamp>,
    last: Timestamp,
    /// Whether a row is written, and not only deleted.
    adds: bool,
}

/// The write did not go through.
#[derive(Clone, Debug)]
pub(crate) struct WriteFailed {
    slot: Arc<Slot>,
    first: Timestamp,
    cause: Arc<StorageError>,
    /// Whether the engine is down and may or may not hold it.
    open: bool,
}

impl WriteFailed {
    pub(crate) fn cause(&self) -> String {
        self.cause.to_string()
    }

    /// Whether it may be there all the same.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Takes the engine out of service if it is not: it lacks what others rely on, and gets it when it is
    /// opened again.
    pub(crate) fn fail_engine(&self) {
        if !self.slot.is_down() {
            self.slot.fail(self.first, &self.cause());
        }
    }

    /// What a commit at `at` that was part of it is told.
    pub(crate) fn outcome(&self, at: Timestamp) -> Error {
        if self.open {
            let cause = self.cause();
            return Error::Unknown { at, cause };
        }
        Error::NotWritten {
            cause: Arc::clone(&self.cause),
        }
    }
}

impl Plan {
    pub(crate) fn new(slot: Arc<Slot>) -> Self {
        Self::with_capacity(slot, 0)
    }

    /// A plan with room for so many rows, and for the counters of a partition.
    pub(crate) fn with_capacity(slot: Arc<Slot>, rows: usize) -> Self {
        Self {
            slot,
            batch: Batch::with_capacity(rows + 1),
            partitions: BTreeMap::new(),
            touched: Touched::default(),
            fresh: Vec::with_capacity(rows.min(FRESH_ROWS_MAX)),
            graves: Vec::new(),
            first: None,
            last: Timestamp::default(),
            adds: false,
        }
    }

    /// Adds a row committed at `at`. From here on the version it replaces is in the history, where
    /// readers look for it as soon as the new one is there.
    pub(crate) fn add(
        &mut self,
        history: &History,
        partition: &Arc<Partition>,
        change: Change,
        at: Timestamp,
    ) {
        let Change {
            table,
            key,
            row,
            replaced,
        } = change;
        let old_row = replaced.as_ref().and_then(|version| version.row.clone());
        self.first.get_or_insert(at);
        let delta = self.delta(partition);
        delta.commit = at.0;
        if row.is_none() && old_row.is_none() {
            return;
        }
        count(delta, &key, row.as_ref(), replaced.as_ref());
        if row.is_none() {
            self.graves.push(Grave {
                at,
                table,
                key: key.clone(),
            });
        }
        if let (Some(row), Some(version)) = (old_row, replaced) {
            history.keep(
                table,
                key.clone(),
                Replaced {
                    at: version.at,
                    until: at,
                    row,
                },
            );
        }
        self.touched.add(table, &key);
        self.adds |= row.is_some();
        let version = Version { at, row };
        let bytes = version.encode();
        if self.fresh.len() <= FRESH_ROWS_MAX {
            self.fresh.push((table, key.clone(), version));
        }
        self.last = at;
        self.batch.put(table_space(table), key, bytes);
    }

    /// Adds what rows that come another way change in the counters of a partition.
    pub(crate) fn count(&mut self, partition: &Arc<Partition>, more: &Delta) {
        self.first.get_or_insert(Timestamp(more.commit));
        let delta = self.delta(partition);
        delta.rows += more.rows;
        delta.bytes += more.bytes;
        delta.tombstones += more.tombstones;
        delta.commit = more.commit;
    }

    /// The counters that the changes lead to, to be counted again unless those are written.
    pub(crate) fn estimates(&self) -> Batch {
        let mut batch = Batch::new();
        for (id, (partition, delta)) in &self.partitions {
            let counts = partition.counters.counts().plus(delta).estimated();
            batch.put(META_SPACE, counters_key(*id), counts.encode());
        }
        batch
    }

    /// Adds the removal of a tombstone that nobody can see any more.
    pub(crate) fn bury(&mut self, partition: &Arc<Partition>, grave: &Grave) {
        let delta = self.delta(partition);
        delta.tombstones -= 1;
        delta.bytes -= signed(bytes_of(&grave.key, &[]));
        self.touched.add(grave.table, &grave.key);
        self.batch
            .remove(table_space(grave.table), grave.key.clone());
    }

    fn delta(&mut self, partition: &Arc<Partition>) -> &mut Delta {
        let entry = self.partitions.entry(partition.descriptor.id);
        &mut entry
            .or_insert_with(|| (Arc::clone(partition), Delta::default()))
            .1
    }

    /// Writes everything as one atomic batch. Answers with the new tombstones.
    pub(crate) fn write(mut self, durability: Durability) -> Result<Vec<Grave>, WriteFailed> {
        for (id, (partition, delta)) in &self.partitions {
            let counts = partition.counters.counts().plus(delta);
            self.batch
                .put(META_SPACE, counters_key(*id), counts.encode());
        }
        if !self.adds {
            self.batch.free_space();
        }
        let written = self.slot.engine.write(self.batch, durability);
        self.slot.pages.changed(&self.touched);
        let fresh = &self.slot.pages.fresh;
        if self.fresh.len() > FRESH_ROWS_MAX {
            fresh.all_changed(self.last);
        } else {
            for (table, key, version) in &self.fresh {
                fresh.put(*table, key, version, written.is_ok());
            }
        }
        if let Err(error) = written {
            let first = self.first.unwrap_or_default();
            let down = self.slot.write_failed(first, &error);
            return Err(WriteFailed {
                open: down && !self.slot.engine.comes_back(),
                slot: self.slot,
                first,
                cause: Arc::new(error),
            });
        }
        for (partition, delta) in self.partitions.values() {
            partition.counters.apply(delta);
        }
        Ok(self.graves)
    }
}

fn count(delta: &mut Delta, key: &[u8], row: Option<&Bytes>, replaced: Option<&Version>) {
    let row_bytes = |row: Option<&Bytes>| signed(row.map_or(0, |row| bytes_of(&[], row)));
    if replaced.is_none() {
        delta.bytes += signed(bytes_of(key, &[]));
    }
    let old = replaced.and_then(|version| version.row.as_ref());
    delta.bytes += row_bytes(row) - row_bytes(old);
    delta.rows += i64::from(row.is_some()) - i64::from(old.is_some());
    let was_tombstone = replaced.is_some() && old.is_none();
    delta.tombstones += i64::from(row.is_none()) - i64::from(was_tombstone);
}

pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
