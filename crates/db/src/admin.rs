//! Looking at partitions, and changing them by hand.

use keys::{Value, format_key};
use partitions::HeatTotals;
use sql::Table;
use storage::EngineId;
use txn::{Collected, PartitionId, Share, TableId};

use crate::background::{EXPIRE_ROWS_MAX, MOVE_ROWS_MAX};
use crate::{Database, Error, Result};

/// One partition of a table, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Its number; a split or merge gives new ones.
    pub id: PartitionId,
    /// How often its keys were split and merged.
    pub generation: u64,
    /// The engine that holds it.
    pub engine: EngineId,
    /// Its first key, as a path.
    pub lower: String,
    /// The first key past it, as a path; `None` at the end of the table.
    pub upper: Option<String>,
    /// Rows in it.
    pub rows: u64,
    /// Bytes of keys and rows.
    pub bytes: u64,
    /// Deleted rows that are not collected yet.
    pub tombstones: u64,
    /// Whether the numbers are counted; after a split they are estimates until housekeeping has
    /// counted them.
    pub exact: bool,
    /// What was done to it since the database was opened.
    pub heat: HeatTotals,
}

impl Database {
    /// The partitions of a table, in key order.
    pub fn describe(&self, table: &Table) -> Result<Vec<PartitionInfo>> {
        self.describe_all(table.id())
    }

    /// The partitions of a table's index, in key order, or none if it has no such index.
    pub fn describe_index(&self, table: &Table, index: &str) -> Result<Vec<PartitionInfo>> {
        let mut indexes = table.schema().indexes().iter();
        match indexes.find(|one| one.name == index) {
            Some(index) => self.describe_all(index.id),
            None => Ok(Vec::new()),
        }
    }

    fn describe_all(&self, table: TableId) -> Result<Vec<PartitionInfo>> {
        let map = self.store.map(table)?;
        let describe = |one: &std::sync::Arc<partitions::Partition>| {
            let counts = one.counters.counts();
            let totals = counts.totals();
            PartitionInfo {
                id: one.descriptor.id,
                generation: one.descriptor.generation,
                engine: one.descriptor.engine,
                lower: format_key(&one.descriptor.range.lower),
                upper: one.descriptor.range.upper.as_deref().map(format_key),
                rows: totals.rows,
                bytes: totals.bytes,
                tombstones: totals.tombstones,
                exact: counts.exact(),
                heat: one.heat.totals(),
            }
        };
        Ok(map.partitions().iter().map(describe).collect())
    }

    /// The partition that holds the row with this key, or would.
    pub fn partition_of(&self, table: &Table, key: &[Value]) -> Result<PartitionId> {
        let key = table.schema().encode_key(key)?;
        Ok(self.store.map(table.id())?.route(&key).descriptor.id)
    }

    /// Splits the partition that holds a key there: the key begins the right half. It may name the
    /// first key columns only. Moves no rows on a shared engine, and no request fails.
    pub fn split(&self, table: &Table, at: &[Value]) -> Result<[PartitionId; 2]> {
        let at = table.schema().encode_key_prefix(at)?;
        let partition = self.store.map(table.id())?.route(&at).descriptor.id;
        Ok(self.store.split(table.id(), partition, &at, Share::HALF)?)
    }

    /// Merges neighbouring partitions, named in key order.
    pub fn merge(&self, table: &Table, partitions: &[PartitionId]) -> Result<PartitionId> {
        Ok(self.store.merge(table.id(), partitions)?)
    }

    /// Splits a partition near the middle of its bytes, at the shortest key that serves. `None` if no
    /// key leaves enough on both sides.
    pub fn split_in_half(
        &self,
        table: &Table,
        partition: PartitionId,
    ) -> Result<Option<[PartitionId; 2]>> {
        let measured = self.store.measure(table.id(), partition)?;
        match measured.histogram.size_cut() {
            Some(cut) => Ok(Some(self.store.split(
                table.id(),
                partition,
                &cut.key,
                cut.left,
            )?)),
            None => Ok(None),
        }
    }

    /// Counts the partitions whose numbers are estimates. Reads all of their rows.
    pub fn count_partitions(&self, table: &Table) -> Result<()> {
        for one in self.store.map(table.id())?.partitions() {
            if !one.counters.counts().exact() {
                match self
                    .store
                    .measure(table.id(), one.descriptor.id)
                    .map_err(Error::from)
                {
                    // Split or merged meanwhile.
                    Err(error) if error.kind() == crate::Kind::NotFound => {}
                    other => {
                        other?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One short round of collecting what no snapshot can see any more.
    pub fn housekeep(&self) -> Result<Collected> {
        Ok(self.store.collect()?)
    }

    /// One short round of deleting rows whose time is over (TTL); answers how many it deleted. A table
    /// is swept once a minute at most.
    pub fn expire(&self) -> Result<usize> {
        Ok(self.executor().expire(EXPIRE_ROWS_MAX)?)
    }

    /// One short round of moving rows of tables whose bucket_count changed; answers how many it moved.
    pub fn move_rows(&self) -> Result<usize> {
        Ok(self.executor().move_rows(MOVE_ROWS_MAX)?)
    }

    /// The engines that failed and have to be opened again.
    pub fn engines_down(&self) -> Vec<EngineId> {
        self.store.engines_down()
    }

    /// Opens the engine of a partition again after it failed.
    pub fn reopen_engine(&self, engine: EngineId) -> Result<()> {
        Ok(self.store.reopen(engine)?)
    }
}
