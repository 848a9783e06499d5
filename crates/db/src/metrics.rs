//! [`Metrics`]: the numbers of a running database, for whoever watches it.

use std::collections::BTreeMap;

use partitions::HeatTotals;
use storage::EngineCounters;
use txn::{PartitionId, Share, TableId};

use crate::jobs::JobStatus;
use crate::latency::Latency;
use crate::{Database, Result};

/// Over how many seconds the shares of a table are told.
pub const SHARES_SECONDS: u64 = 60;

/// The numbers of a database at one instant.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Of each table and index.
    pub tables: Vec<TableMetrics>,
    /// What happened to partitions since the program began: `Split`, `Merge` or `Refused`, the reason,
    /// and how often.
    pub events: Vec<(&'static str, String, u64)>,
    /// How long statements took, by kind.
    pub statements: Vec<Latency>,
    /// Engines that failed and are not open again yet.
    pub engines_down: usize,
    /// What the engines did on their own since they were opened.
    pub engines: EngineCounters,
    /// What the background jobs did since the database was opened.
    pub jobs: Vec<JobStatus>,
}

/// The numbers of one table or index.
#[derive(Clone, Debug)]
pub struct TableMetrics {
    /// Its name; of an index `table/index`.
    pub name: String,
    /// How many partitions it has.
    pub partitions: usize,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What was done to it since the program began.
    pub totals: HeatTotals,
    /// The share of its busiest partition in the last minute; `None` if nothing was done to it.
    pub peak_share: Option<Share>,
    /// The share of transactions that touched one partition only, in the last minute.
    pub single_partition_share: Option<Share>,
}

impl Database {
    /// The numbers of the database now.
    pub fn metrics(&self) -> Result<Metrics> {
        let mut tables = Vec::new();
        for table in self.catalog.all() {
            let name = table.schema().name();
            tables.extend(self.table_metrics(name.to_owned(), table.id()));
            for index in table.schema().indexes() {
                let name = format!("{name}/{}", index.name);
                tables.extend(self.table_metrics(name, index.id));
            }
        }
        let events = self.store.events();
        let counts = events.counts();
        let counts = counts.map(|(kind, reason, count)| (kind.name(), reason.to_owned(), count));
        Ok(Metrics {
            tables,
            events: counts.collect(),
            statements: self.latencies.all(),
            engines_down: self.store.engines_down().len(),
            engines: self.store.engine_counters(),
            jobs: self.jobs.all(),
        })
    }

    /// `None` if it was dropped meanwhile.
    fn table_metrics(&self, name: String, table: TableId) -> Option<TableMetrics> {
        let map = self.store.map(table).ok()?;
        let (mut rows, mut bytes) = (0, 0);
        for one in map.partitions() {
            let totals = one.counters.counts().totals();
            rows += totals.rows;
            bytes += totals.bytes;
        }
        let recent = self.recent(table);
        let sum = recent
            .values()
            .fold(HeatTotals::default(), |sum, one| sum.plus(one));
        let busiest = recent.values().map(|one| one.busy_ns).max();
        let transactions = sum.single_partition_txns + sum.multi_partition_txns;
        Some(TableMetrics {
            name,
            partitions: map.partitions().len(),
            rows,
            bytes,
            totals: self.store.watch().table(table),
            peak_share: busiest
                .filter(|_| sum.busy_ns > 0)
                .map(|busiest| Share::of(busiest, sum.busy_ns)),
            single_partition_share: (transactions > 0)
                .then(|| Share::of(sum.single_partition_txns, transactions)),
        })
    }

    /// What was done to each partition of a table in the last minute.
    fn recent(&self, table: TableId) -> BTreeMap<PartitionId, HeatTotals> {
        let oldest_s = (self.store.now_us() / 1_000_000).saturating_sub(SHARES_SECONDS);
        let mut recent = BTreeMap::<PartitionId, HeatTotals>::new();
        let chart = self.store.watch().chart();
        let slices = chart.seconds().rev();
        for slice in slices.take_while(|slice| slice.start_s >= oldest_s) {
            for (id, cell) in &slice.cells {
                if cell.place.table == table {
                    let sum = recent.entry(*id).or_default();
                    *sum = sum.plus(&cell.totals);
                }
            }
        }
        recent
    }
}
