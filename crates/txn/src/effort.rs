//! What committing a group costs, told to the heat of the partitions it writes to.
//!
//! ```text
//!   group     validate  look up  plan │ write and sync │ history, counters
//!   counted   ───────────────────────►│                │   shared by the rows of each partition
//! ```
//!
//! Waiting for the disk is nobody's work: a partition would look busy because the disk is slow, and no
//! split helps against that. So the write counts only if it is not synced. One group in as many as
//! transactions are timed is timed, and stands for all; the others do not look at the clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use partitions::{HeatTotals, Partition, PartitionId};
use storage::Durability;
use storage::env::Clock;

/// The work on one group so far.
#[derive(Debug)]
pub(crate) struct Effort {
    clock: Arc<dyn Clock>,
    started: Duration,
    waited: Duration,
    /// How many groups it stands for.
    one_in: u64,
    /// The partitions that are written to, and how many rows of each.
    rows: BTreeMap<PartitionId, (Arc<Partition>, u64)>,
}

impl Effort {
    /// It begins now.
    pub(crate) fn begin(clock: &Arc<dyn Clock>, one_in: u64) -> Self {
        Self {
            clock: Arc::clone(clock),
            started: clock.monotonic(),
            waited: Duration::ZERO,
            one_in,
            rows: BTreeMap::new(),
        }
    }

    /// One more row is written to a partition.
    pub(crate) fn add(&mut self, partition: &Arc<Partition>) {
        let entry = self.rows.entry(partition.descriptor.id);
        let (_, rows) = entry.or_insert_with(|| (Arc::clone(partition), 0));
        *rows += 1;
    }

    /// The time before something that waits for the disk, if it does.
    pub(crate) fn before(&self, durability: Durability) -> Option<Duration> {
        (durability == Durability::Synced).then(|| self.clock.monotonic())
    }

    /// It waited since then.
    pub(crate) fn after(&mut self, before: Duration) {
        self.waited += self.clock.monotonic().saturating_sub(before);
    }

    /// It is done: tells the partitions.
    pub(crate) fn end(self) {
        let took = self.clock.monotonic().saturating_sub(self.started);
        let took_ns = took.saturating_sub(self.waited).as_nanos() * u128::from(self.one_in);
        let all: u64 = self.rows.values().map(|(_, rows)| rows).sum();
        for (partition, rows) in self.rows.values() {
            let share_ns = took_ns * u128::from(*rows) / u128::from(all.max(1));
            let share_ns = u64::try_from(share_ns).unwrap_or(u64::MAX);
            partition.heat.add(&HeatTotals {
                busy_ns: share_ns,
                commit_ns: share_ns,
                ..HeatTotals::default()
            });
        }
    }
}
