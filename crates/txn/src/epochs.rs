//! Epochs of tables: how a writer learns at its commit that a table is not what it took it for.
//!
//! ```text
//!   writer    reads the schema, epoch 3 ──── writes rows of that shape ──── commit: 3 expected
//!   ALTER                                 epoch 4, new schema                 │
//!                                                                             └─► refused: retry
//! ```
//!
//! The layer above numbers the schemas of a table; this one only compares. Epochs live in memory: a
//! writer does not outlive the store, and a store that was opened again begins at 0 for every table.
//! They change under the commit lock, so a commit is wholly before a change or refused after it.
//!
//! A table that is *retired* is not written to any more: dropped, emptied by putting another in its place,
//! or an index that writers have stopped to maintain. That nothing in it changed proves nothing about what
//! a transaction read there, so its readers cannot commit any more.

use hashbrown::HashMap;
use parking_lot::RwLock;
use partitions::TableId;

use crate::reads::Reads;
use crate::{Error, Result, Store, Timestamp};

/// The epochs that tables are in.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    /// Where it is not the first.
    current: RwLock<HashMap<TableId, u64>>,
    /// Tables that were retired, and when they were dropped, once they are.
    retired: RwLock<HashMap<TableId, Option<Timestamp>>>,
}

impl Epochs {
    /// For those who hold the commit lock.
    pub(crate) fn set(&self, table: TableId, epoch: u64) {
        self.current.write().insert(table, epoch);
    }

    /// For those who hold the commit lock. Tables that were dropped before the horizon are forgotten:
    /// no reader of them is left.
    pub(crate) fn retire(&self, table: TableId, dropped: Option<Timestamp>, horizon: Timestamp) {
        let mut retired = self.retired.write();
        retired.retain(|_, dropped| dropped.is_none_or(|dropped| dropped >= horizon));
        retired.insert(table, dropped);
    }

    /// An error if a table that was read is retired.
    pub(crate) fn check_reads(&self, reads: &Reads) -> Result<()> {
        let retired = self.retired.read();
        if retired.is_empty() {
            return Ok(());
        }
        match reads.tables().find(|table| retired.contains_key(table)) {
            None => Ok(()),
            Some(table) => Err(Error::Altered { table }),
        }
    }

    pub(crate) fn check(&self, expected: &Expected) -> Result<()> {
        if expected.0.is_empty() {
            return Ok(());
        }
        let epochs = self.current.read();
        for (table, epoch) in &expected.0 {
            if epochs.get(table).copied().unwrap_or(0) != *epoch {
                return Err(Error::Altered { table: *table });
            }
        }
        Ok(())
    }
}

impl Store {
    /// Begins an epoch of a table: a transaction that expects another one cannot commit any more. When
    /// this returns, every commit of the epoch before is in the next view.
    pub fn set_epoch(&self, table: TableId, epoch: u64) {
        let _sequencer = self.sequencer.lock();
        self.epochs.set(table, epoch);
    }

    /// Refuses the commits of those who read these tables, because nothing is written to them any more.
    pub fn retire_tables(&self, tables: impl IntoIterator<Item = TableId>) {
        let _sequencer = self.sequencer.lock();
        let horizon = self.active.horizon();
        for table in tables {
            self.epochs.retire(table, None, horizon);
        }
    }
}

/// The epochs that a transaction takes its tables to be in. They are few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected(Vec<(TableId, u64)>);

impl Expected {
    /// The first expectation stays: rows may have been written by it.
    pub(crate) fn add(&mut self, table: TableId, epoch: u64) {
        if !self.0.iter().any(|(known, _)| *known == table) {
            self.0.push((table, epoch));
        }
    }
}
