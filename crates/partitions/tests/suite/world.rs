//! One table on simulated media, under simulated load, on a simulated clock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keys::Type;
use partitions::decide::{
    Decision, Histogram, LoadHistory, PartitionView, Settings, Stats, Verdict, decide_table,
    needs_histogram, needs_samples,
};
use partitions::spaces::{META_SPACE, table_space};
use partitions::{
    Access, AccessKind, Delta, Directory, Footprint, HeatTotals, Map, Partition, PartitionId,
    Samples, TableId, Totals, counters_key,
};
use storage::env::{Clock, SeededRandom, SimulatedClock};
use storage::{Batch, Durability, KeyRange};

use crate::media::Media;
use crate::workload::{Sequences, Workload};

pub(crate) const TABLE: TableId = TableId(1);
pub(crate) const TICK_S: u64 = 10;
const START_US: u64 = 1_800_000_000_000_000;

pub(crate) struct World {
    pub(crate) media: Arc<Media>,
    pub(crate) directory: Directory,
    pub(crate) settings: Settings,
    pub(crate) types: Vec<Type>,
    pub(crate) workload: Option<Workload>,
    clock: Arc<SimulatedClock>,
    random: SeededRandom,
    sequences: Sequences,
    rows: BTreeMap<Bytes, u64>,
    histories: BTreeMap<PartitionId, LoadHistory>,
    commits: u64,
}

impl World {
    pub(crate) fn new(separate: bool) -> Self {
        let media = Media::new(separate);
        let clock = Arc::new(SimulatedClock::new(START_US));
        let directory = Directory::load(media.placement(), clock.clone())
            .expect("empty media load as an empty directory");
        // Table numbers come from the directory; the first one is 1.
        directory.fresh_id().expect("nothing fails yet");
        Self {
            media,
            directory,
            settings: Settings::default(),
            types: vec![Type::Int64, Type::Int64],
            workload: None,
            clock,
            random: SeededRandom::new(7),
            sequences: Sequences::default(),
            rows: BTreeMap::new(),
            histories: BTreeMap::new(),
            commits: 0,
        }
    }

    pub(crate) fn map(&self) -> Result<Arc<Map>, String> {
        self.directory.map(TABLE).map_err(text)
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    pub(crate) fn elapsed_s(&self) -> u64 {
        (self.now_us() - START_US) / 1_000_000
    }

    /// Starts a new process on the same media, after a crash or a clean stop.
    pub(crate) fn restart(&mut self, crash: bool) -> Result<(), String> {
        if crash {
            self.media.crash();
        }
        self.histories.clear();
        self.directory =
            Directory::load(self.media.placement(), self.clock.clone()).map_err(text)?;
        Ok(())
    }

    /// Commits one row, as the transaction layer does: row and counters in one batch.
    pub(crate) fn commit(&mut self, key: Bytes, bytes: u64) -> Result<(), String> {
        let map = self.map()?;
        let partition = map.route(&key);
        let before = self.rows.get(&key).copied();
        self.commits += 1;
        let delta = Delta {
            rows: i64::from(before.is_none()),
            bytes: bytes
                .checked_signed_diff(before.unwrap_or(0))
                .ok_or("too many bytes")?,
            tombstones: 0,
            commit: self.commits,
        };
        let record = partition.counters.counts().plus(&delta).encode();
        let mut batch = Batch::new();
        batch.put(
            table_space(TABLE),
            key.clone(),
            bytes.to_be_bytes().to_vec(),
        );
        batch.put(META_SPACE, counters_key(partition.descriptor.id), record);
        let engine = self
            .directory
            .placement()
            .open(partition.descriptor.engine)
            .map_err(text)?;
        engine.write(batch, Durability::Synced).map_err(text)?;
        partition.counters.apply(&delta);
        self.rows.insert(key, bytes);
        Ok(())
    }

    /// Whether each committed row is found in the engine of the partition it routes to.
    pub(crate) fn missing_rows(&self) -> Result<usize, String> {
        let map = self.map()?;
        let mut missing = 0;
        for (key, bytes) in &self.rows {
            let engine = map.route(key).descriptor.engine;
            let engine = self.directory.placement().open(engine).map_err(text)?;
            let found = engine.get(table_space(TABLE), key).map_err(text)?;
            missing += usize::from(found.as_deref() != Some(&bytes.to_be_bytes()[..]));
        }
        Ok(missing)
    }

    /// What a scan of the partition counts.
    pub(crate) fn count(&self, range: &KeyRange) -> Totals {
        let rows = self.rows.iter().filter(|(key, _)| range.contains(key));
        rows.fold(Totals::default(), |mut sum, (_, bytes)| {
            sum.rows += 1;
            sum.bytes += bytes;
            sum
        })
    }

    /// Counts every partition whose counters are estimates; answers how many there were.
    pub(crate) fn recount(&self) -> Result<usize, String> {
        let map = self.map()?;
        let inexact = map
            .partitions()
            .iter()
            .filter(|one| !one.counters.counts().exact());
        let mut counted = 0;
        for partition in inexact {
            let since = partition.counters.begin_recount();
            let base = self.count(&partition.descriptor.range);
            counted += usize::from(partition.counters.set_exact(since, base));
        }
        Ok(counted)
    }

    /// Lets one tick pass under the workload.
    pub(crate) fn tick(&mut self) -> Result<(), String> {
        self.watch()?;
        self.clock.advance(Duration::from_secs(TICK_S));
        if let Some(workload) = self.workload.clone() {
            self.work(&workload)?;
        }
        let now_us = self.now_us();
        for partition in self.map()?.partitions() {
            let busy_ns = partition.heat.totals().busy_ns;
            if let Some(history) = self.histories.get_mut(&partition.descriptor.id) {
                history.tick(now_us, busy_ns, &self.settings);
            }
        }
        Ok(())
    }

    pub(crate) fn decide(&mut self) -> Result<Vec<Decision>, String> {
        self.watch()?;
        let map = self.map()?;
        let known: Vec<(Stats, Samples)> = map
            .partitions()
            .iter()
            .map(|one| self.known(one, map.partitions().len()))
            .collect();
        let views: Vec<PartitionView<'_>> = known
            .iter()
            .map(|(stats, samples)| PartitionView { stats, samples })
            .collect();
        Ok(decide_table(&views, &self.settings, self.now_us()))
    }

    /// Does what a decision says; answers whether that changed the map.
    pub(crate) fn act(&mut self, decision: &Decision) -> Result<bool, String> {
        let now_us = self.now_us();
        let histories: Vec<LoadHistory> = decision
            .partitions
            .iter()
            .filter_map(|id| self.histories.remove(id))
            .collect();
        match (&decision.verdict, decision.partitions.as_slice()) {
            (
                Verdict::Split {
                    key,
                    left_bytes,
                    left_load,
                    ..
                },
                [id],
            ) => {
                let halves = self
                    .directory
                    .split(TABLE, *id, key, *left_bytes)
                    .map_err(text)?;
                let history = histories.first().ok_or("a partition that was watched")?;
                let (left, right) = history.split(*left_load, now_us);
                for (half, history) in halves.iter().zip([left, right]) {
                    self.histories.insert(half.descriptor.id, history);
                }
            }
            (Verdict::Merge { .. }, ids) => {
                let merged = self.directory.merge(TABLE, ids).map_err(text)?;
                let history = LoadHistory::merge(&histories, now_us);
                self.histories.insert(merged.descriptor.id, history);
            }
            _ => {
                self.histories
                    .extend(decision.partitions.iter().copied().zip(histories));
                return Ok(false);
            }
        }
        self.recount()?;
        Ok(true)
    }

    fn watch(&mut self) -> Result<(), String> {
        let now_us = self.now_us();
        for partition in self.map()?.partitions() {
            let new = || LoadHistory::new(now_us);
            self.histories
                .entry(partition.descriptor.id)
                .or_insert_with(new);
        }
        Ok(())
    }

    fn known(&self, partition: &Partition, partitions: usize) -> (Stats, Samples) {
        let stats = self.stats(partition, partitions);
        let busy = needs_samples(&stats, &self.settings);
        let samples = if busy {
            partition.heat.samples()
        } else {
            Samples::new()
        };
        (stats, samples)
    }

    fn stats(&self, partition: &Partition, partitions: usize) -> Stats {
        let history = self.histories.get(&partition.descriptor.id);
        let load = history.map(LoadHistory::load).unwrap_or_default();
        let mut stats = Stats::of(partition, load, partitions);
        if needs_histogram(&stats, &self.settings) {
            let mut histogram = Histogram::new();
            for (key, bytes) in self
                .rows
                .iter()
                .filter(|(key, _)| stats.range.contains(key))
            {
                histogram.add(key, *bytes);
            }
            stats.histogram = Some(Arc::new(histogram));
        }
        stats
    }

    /// The transactions of one tick; the busy time goes where the costs go.
    fn work(&mut self, workload: &Workload) -> Result<(), String> {
        let map = self.map()?;
        let now_us = self.now_us();
        let mut costs = BTreeMap::<PartitionId, u64>::new();
        for txn in 0..workload.txns_per_s * TICK_S {
            let accesses = workload.draw(&self.types, &self.random, &mut self.sequences)?;
            let touched: BTreeSet<PartitionId> =
                accesses.iter().flat_map(|one| touched(&map, one)).collect();
            for id in &touched {
                let here = accesses
                    .iter()
                    .filter(|one| self::touched(&map, one).contains(id));
                let accesses: Vec<Access> = here.cloned().collect();
                let cost = accesses.iter().map(|one| one.cost).sum();
                *costs.entry(*id).or_default() += u64::from(cost);
                let partition = map.get(*id).ok_or("a partition of the map")?;
                let multi_partition = touched.len() > 1;
                partition
                    .heat
                    .offer(cost, now_us, &self.random, || Footprint {
                        txn,
                        multi_partition,
                        accesses,
                    });
            }
        }
        let all: u64 = costs.values().sum();
        let busy_ns = TICK_S * workload.busy_percent * 10_000_000;
        for (id, cost) in costs {
            let busy_ns = busy_ns * cost / all.max(1);
            let partition = map.get(id).ok_or("a partition of the map")?;
            partition.heat.add(&HeatTotals {
                busy_ns,
                ..HeatTotals::default()
            });
        }
        Ok(())
    }
}

fn touched(map: &Map, access: &Access) -> Vec<PartitionId> {
    let range = match access.kind {
        AccessKind::Scan => KeyRange {
            lower: access.key.clone(),
            upper: access.upper.clone(),
        },
        _ => KeyRange::point(&access.key),
    };
    map.overlapping(&range)
        .iter()
        .map(|one| one.descriptor.id)
        .collect()
}

pub(crate) fn text(error: impl Display) -> String {
    error.to_string()
}
