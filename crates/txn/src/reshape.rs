//! Splitting and merging under the commit lock, with what is remembered of it.

use std::sync::Arc;

use parking_lot::MutexGuard;
use partitions::decide::{Decision, Settings, Verdict};
use partitions::{Cause, Events, HotKey, Map, PartitionId, Share, TableId, Watch};

use crate::{Result, Store};

/// Where a partition is split, and how much is thought to lie left of it.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'k> {
    /// The partition.
    pub partition: PartitionId,
    /// The first key of the right side.
    pub at: &'k [u8],
    /// The share of its rows thought to lie below.
    pub left_rows: Share,
    /// The share of its load thought to fall below.
    pub left_load: Share,
}

impl Store {
    /// Splits a partition at a key because somebody asked. `left` is the share of its rows thought to
    /// lie below.
    pub fn split(
        &self,
        table: TableId,
        partition: PartitionId,
        at: &[u8],
        left: Share,
    ) -> Result<[PartitionId; 2]> {
        let cut = Cut {
            partition,
            at,
            left_rows: left,
            left_load: left,
        };
        self.split_because(table, cut, Cause::by_hand())
    }

    /// Splits a partition for a reason that is remembered.
    pub fn split_because(
        &self,
        table: TableId,
        cut: Cut<'_>,
        cause: Cause,
    ) -> Result<[PartitionId; 2]> {
        let mut sequencer = self.sequencer.lock();
        self.check_quiet(&sequencer, "a split")?;
        let Cut { partition, at, .. } = cut;
        let old = self.directory.map(table)?.get(partition).cloned();
        let directory = &self.directory;
        let new = directory.split_because(table, (partition, at), cut.left_rows, cause)?;
        self.replace(&mut sequencer, old.as_slice(), &new)?;
        self.watch
            .split(partition, &new, cut.left_load, self.clock.now_us());
        Ok(new.map(|partition| partition.descriptor.id))
    }

    /// Merges neighbouring partitions, named in key order, because somebody asked.
    pub fn merge(&self, table: TableId, partitions: &[PartitionId]) -> Result<PartitionId> {
        self.merge_because(table, partitions, Cause::by_hand())
    }

    /// Merges neighbouring partitions, named in key order, for a reason that is remembered.
    pub fn merge_because(
        &self,
        table: TableId,
        partitions: &[PartitionId],
        cause: Cause,
    ) -> Result<PartitionId> {
        let mut sequencer = self.sequencer.lock();
        self.check_quiet(&sequencer, "a merge")?;
        let map = self.directory.map(table)?;
        let old: Vec<_> = partitions
            .iter()
            .filter_map(|id| map.get(*id).cloned())
            .collect();
        let new = self.directory.merge_because(table, partitions, cause)?;
        self.watch.merge(partitions, &new, self.clock.now_us());
        let id = new.descriptor.id;
        self.replace(&mut sequencer, &old, &[new])?;
        Ok(id)
    }

    /// Remembers that a partition was left as it is, and why.
    pub fn refuse(&self, table: TableId, partition: PartitionId, verdict: &Verdict) -> Result<()> {
        Ok(self.directory.refuse(table, partition, verdict)?)
    }

    /// What happened to partitions, and what could not be done about them.
    pub fn events(&self) -> MutexGuard<'_, Events> {
        self.directory.events()
    }

    /// What is known of the heat of partitions over time.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Looks at the heat of every partition; somebody should do so once a second.
    pub fn observe(&self) {
        let tables = self.directory.tables();
        let maps = tables
            .iter()
            .filter_map(|table| self.directory.map(*table).ok());
        let maps: Vec<Arc<Map>> = maps.collect();
        self.watch.observe(&maps, self.clock.now_us());
    }

    /// The keys and first columns of keys that most of a table's load goes to.
    pub fn hot_keys(&self, table: TableId) -> Result<Vec<HotKey>> {
        let map = self.directory.map(table)?;
        let samples = map.partitions().iter().map(|one| one.heat.samples());
        let samples: Vec<_> = samples.filter(|samples| !samples.is_empty()).collect();
        Ok(partitions::hot_keys(&samples, self.clock.now_us()))
    }

    /// What should happen to the partitions of a table. Large ones are read from end to end to find
    /// their middle, while commits go on.
    pub fn decide(&self, table: TableId, settings: &Settings) -> Result<Vec<Decision>> {
        let map = self.directory.map(table)?;
        let measure = |id| self.measure(table, id).ok().map(|found| found.histogram);
        let now_us = self.clock.now_us();
        Ok(self.watch.decide(&map, settings, now_us, measure))
    }
}
