//! [`Watch`]: what whoever controls partitions remembers between two looks at them.
//!
//! ```text
//!   every second         observe ──► the heat added since the last look ──► HeatChart
//!   every few seconds    decide  ──► LoadHistory ticks, bytes are measured where it matters
//!                          │
//!                          └──► decide_table, which is pure
//!   after a change       split, merge: the new partitions inherit the old ones' load
//! ```
//!
//! Nothing here acts. Who measures bytes, and what is done about a decision, is the caller's.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::chart::{Cell, HeatChart, Place};
use crate::decide::{
    Decision, Histogram, Load, LoadHistory, PartitionView, Settings, Stats, decide_table,
    needs_histogram, needs_samples,
};
use crate::{HeatTotals, Map, Partition, PartitionId, Samples, Share, TableId};

const SECOND_US: u64 = 1_000_000;

/// Bytes are measured again when a partition has grown by this share since.
const GROWN: Share = Share::percent(12);

/// What is remembered of all partitions.
#[derive(Debug, Default)]
pub struct Watch {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    watched: BTreeMap<PartitionId, Watched>,
    chart: HeatChart,
    tables: BTreeMap<TableId, HeatTotals>,
    looked_us: Option<u64>,
}

#[derive(Debug)]
struct Watched {
    place: Arc<Place>,
    totals: HeatTotals,
    history: LoadHistory,
    measured: Option<Arc<Histogram>>,
}

impl Watched {
    fn new(partition: &Partition, now_us: u64) -> Self {
        Self {
            place: Arc::new(Place::of(partition)),
            totals: HeatTotals::default(),
            history: LoadHistory::new(now_us),
            measured: None,
        }
    }
}

impl Inner {
    fn watched(&mut self, partition: &Partition, now_us: u64) -> &mut Watched {
        self.watched
            .entry(partition.descriptor.id)
            .or_insert_with(|| Watched::new(partition, now_us))
    }
}

impl Watch {
    /// Looks at the heat of every partition of every table.
    pub fn observe(&self, maps: &[Arc<Map>], now_us: u64) {
        let inner = &mut *self.inner.lock();
        let looked_us = inner.looked_us.replace(now_us).unwrap_or(now_us);
        let elapsed_us = now_us.saturating_sub(looked_us).max(SECOND_US);
        let mut watched = std::mem::take(&mut inner.watched);
        for partition in maps.iter().flat_map(|map| map.partitions()) {
            let id = partition.descriptor.id;
            let mut one = watched
                .remove(&id)
                .unwrap_or_else(|| Watched::new(partition, now_us));
            let totals = partition.heat.totals();
            let since = totals.since(&one.totals);
            if since != HeatTotals::default() {
                one.totals = totals;
                let held = partition.counters.counts().totals();
                let busy_ns = u128::from(since.busy_ns) * u128::from(SECOND_US);
                let peak = busy_ns / u128::from(elapsed_us);
                let cell = Cell {
                    place: Arc::clone(&one.place),
                    totals: since,
                    peak_busy_ns: u64::try_from(peak).unwrap_or(u64::MAX),
                    peak_at_s: now_us / SECOND_US,
                    rows: held.rows,
                    bytes: held.bytes,
                };
                inner.chart.add(now_us, &cell);
                let table = inner.tables.entry(one.place.table).or_default();
                *table = table.plus(&since);
            }
            inner.watched.insert(id, one);
        }
        // What is left in `watched` was split, merged or dropped.
        let there = |table: &TableId| maps.iter().any(|map| map.table() == *table);
        inner.tables.retain(|table, _| there(table));
    }

    /// Decides for a table. `measure` counts the bytes of a partition, or cannot just now; it may take
    /// long, and nobody waits for it but the caller.
    pub fn decide(
        &self,
        map: &Map,
        settings: &Settings,
        now_us: u64,
        mut measure: impl FnMut(PartitionId) -> Option<Histogram>,
    ) -> Vec<Decision> {
        let mut known: Vec<(Stats, Samples)> = Vec::with_capacity(map.partitions().len());
        {
            let inner = &mut *self.inner.lock();
            for partition in map.partitions() {
                let watched = inner.watched(partition, now_us);
                let busy_ns = partition.heat.totals().busy_ns;
                watched.history.tick(now_us, busy_ns, settings);
                let load = watched.history.load();
                let mut stats = Stats::of(partition, load, map.partitions().len());
                stats.histogram = watched.measured.clone();
                known.push((stats, Samples::new()));
            }
        }
        for ((stats, samples), partition) in known.iter_mut().zip(map.partitions()) {
            if is_outgrown(stats) {
                stats.histogram = None;
            }
            if needs_histogram(stats, settings) {
                stats.histogram = measure(stats.id).map(Arc::new);
                let measured = stats.histogram.clone();
                self.inner.lock().watched(partition, now_us).measured = measured;
            }
            if needs_samples(stats, settings) {
                *samples = partition.heat.samples();
            }
        }
        let views: Vec<_> = known
            .iter()
            .map(|(stats, samples)| PartitionView { stats, samples })
            .collect();
        decide_table(&views, settings, now_us)
    }

    /// A partition became two, and this share of its load is thought to be the left one's.
    pub fn split(
        &self,
        old: PartitionId,
        new: &[Arc<Partition>; 2],
        left_load: Share,
        now_us: u64,
    ) {
        let inner = &mut *self.inner.lock();
        let Some(parent) = inner.watched.remove(&old) else {
            return;
        };
        let (left, right) = parent.history.split(left_load, now_us);
        for (partition, history) in new.iter().zip([left, right]) {
            inner.watched(partition, now_us).history = history;
        }
    }

    /// Neighbours became one.
    pub fn merge(&self, old: &[PartitionId], new: &Partition, now_us: u64) {
        let inner = &mut *self.inner.lock();
        let parents: Vec<_> = old
            .iter()
            .filter_map(|id| inner.watched.remove(id))
            .collect();
        let histories = parents.iter().map(|one| &one.history);
        inner.watched(new, now_us).history = LoadHistory::merge(histories, now_us);
    }

    /// How busy a partition is and was, if it is watched.
    pub fn load(&self, partition: PartitionId) -> Option<Load> {
        let inner = self.inner.lock();
        let watched = inner.watched.get(&partition)?;
        Some(watched.history.load())
    }

    /// What was done to a table since the program began, whatever its partitions became meanwhile.
    pub fn table(&self, table: TableId) -> HeatTotals {
        let inner = self.inner.lock();
        inner.tables.get(&table).copied().unwrap_or_default()
    }

    /// Heat over time.
    pub fn chart(&self) -> impl std::ops::Deref<Target = HeatChart> + '_ {
        MutexGuard::map(self.inner.lock(), |inner| &mut inner.chart)
    }
}

/// Whether so much was added since the bytes were measured that the middle may be elsewhere.
fn is_outgrown(stats: &Stats) -> bool {
    stats.histogram.as_ref().is_some_and(|histogram| {
        let bytes = histogram.bytes();
        stats.bytes > bytes.saturating_add(GROWN.times(bytes))
    })
}
