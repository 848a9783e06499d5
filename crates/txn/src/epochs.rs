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

use hashbrown::HashMap;
use parking_lot::RwLock;
use partitions::TableId;

use crate::{Error, Result};

/// The epochs that tables are in, where they are not in their first.
#[derive(Debug, Default)]
pub(crate) struct Epochs(RwLock<HashMap<TableId, u64>>);

impl Epochs {
    /// For those who hold the commit lock.
    pub(crate) fn set(&self, table: TableId, epoch: u64) {
        self.0.write().insert(table, epoch);
    }

    pub(crate) fn check(&self, expected: &Expected) -> Result<()> {
        if expected.0.is_empty() {
            return Ok(());
        }
        let epochs = self.0.read();
        for (table, epoch) in &expected.0 {
            if epochs.get(table).copied().unwrap_or(0) != *epoch {
                return Err(Error::Altered { table: *table });
            }
        }
        Ok(())
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
