//! [`Spending`]: what the partitions of tables were busy with since this was asked last.
//!
//! The trace keeps it in parts, because heat is forgotten with the partition that is split and with the
//! program that ends. What a partition did between the last look and its split is lost; that is a second
//! at most.

use std::collections::HashMap;
use std::sync::Arc;

use advisor::trace::Spent;
use partitions::{HeatTotals, Partition, PartitionId};

/// What was told so far, by table.
#[derive(Debug, Default)]
pub(super) struct Spending {
    told: HashMap<u32, HashMap<PartitionId, HeatTotals>>,
}

impl Spending {
    /// What the partitions of a table were busy with since the last time.
    pub(super) fn since_last(&mut self, table: u32, partitions: &[Arc<Partition>]) -> Spent {
        let told = self.told.remove(&table).unwrap_or_default();
        let mut sum = HeatTotals::default();
        let now = partitions.iter().map(|partition| {
            let id = partition.descriptor.id;
            let totals = partition.heat.totals();
            let before = told.get(&id).copied().unwrap_or_default();
            sum = sum.plus(&totals.since(&before));
            (id, totals)
        });
        let now = now.collect();
        self.told.insert(table, now);
        Spent {
            gets: sum.reads,
            scans: sum.scans,
            rows: sum.scanned_rows,
            writes: sum.writes,
            get_us: sum.busy_ns.saturating_sub(sum.commit_ns + sum.scan_ns) / 1_000,
            scan_us: sum.scan_ns / 1_000,
            commit_us: sum.commit_ns / 1_000,
        }
    }
}
