//! The law against oscillation: on constant data and load the partitions settle, and no merge is
//! ever undone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use partitions::decide::{
    Histogram, LoadHistory, MIB, PartitionView, Settings, Stats, Verdict, decide_table,
};
use partitions::{Access, AccessKind, Footprint, PartitionId, Samples, Share};
use proptest::prelude::*;
use storage::KeyRange;
use storage::env::SeededRandom;

const KEYS: usize = 40;
const TICK_S: u64 = 60;
const HOURS: u64 = 12;

/// What lies under one key, and what is done to it all the time.
#[derive(Clone, Copy, Debug)]
struct Cell {
    mib: u64,
    busy_ppm: u64,
}

struct Part {
    id: PartitionId,
    cells: Range<usize>,
    created_us: u64,
    busy_ns: u64,
    history: LoadHistory,
}

struct Model {
    cells: Vec<Cell>,
    parts: Vec<Part>,
    settings: Settings,
    random: SeededRandom,
    now_us: u64,
    next_id: u64,
}

impl Model {
    fn new(cells: Vec<Cell>, bounds: &BTreeSet<usize>, settings: Settings) -> Self {
        let lowers = std::iter::once(0).chain(bounds.iter().copied());
        let uppers = bounds.iter().copied().chain([cells.len()]);
        let ranges: Vec<Range<usize>> = lowers.zip(uppers).map(|(low, high)| low..high).collect();
        let mut model = Self {
            cells,
            parts: Vec::new(),
            settings,
            random: SeededRandom::new(11),
            now_us: 0,
            next_id: 1,
        };
        for cells in ranges {
            let part = model.part(cells, LoadHistory::new(0));
            model.parts.push(part);
        }
        model
    }

    fn part(&mut self, cells: Range<usize>, history: LoadHistory) -> Part {
        let id = PartitionId(self.next_id);
        self.next_id += 1;
        Part {
            id,
            cells,
            created_us: self.now_us,
            busy_ns: 0,
            history,
        }
    }

    /// One tick; answers the bounds that appeared and those that went away.
    fn tick(&mut self) -> (Vec<usize>, Vec<usize>) {
        self.now_us += TICK_S * 1_000_000;
        for part in &mut self.parts {
            let cells = self
                .cells
                .get(part.cells.clone())
                .expect("parts lie within the cells");
            part.busy_ns += cells
                .iter()
                .map(|cell| cell.busy_ppm * TICK_S * 1000)
                .sum::<u64>();
            part.history.tick(self.now_us, part.busy_ns, &self.settings);
        }
        let known: Vec<(Stats, Samples)> = self
            .parts
            .iter()
            .map(|part| (self.stats(part), self.samples(part)))
            .collect();
        let views: Vec<PartitionView<'_>> = known
            .iter()
            .map(|(stats, samples)| PartitionView { stats, samples })
            .collect();
        let decisions = decide_table(&views, &self.settings, self.now_us);
        let named: Vec<PartitionId> = decisions
            .iter()
            .flat_map(|one| one.partitions.clone())
            .collect();
        let all: Vec<PartitionId> = self.parts.iter().map(|part| part.id).collect();
        assert_eq!(
            named, all,
            "every partition is in one decision, in key order"
        );
        let (mut made, mut removed) = (Vec::new(), Vec::new());
        for decision in decisions {
            match decision.verdict {
                Verdict::Split { key, left_load, .. } => {
                    made.push(self.split(&decision.partitions, &key, left_load));
                }
                Verdict::Merge { .. } => removed.extend(self.merge(&decision.partitions)),
                _ => {}
            }
        }
        (made, removed)
    }

    fn split(&mut self, ids: &[PartitionId], at: &Bytes, left_load: Share) -> usize {
        let index = self.parts.iter().position(|part| ids.contains(&part.id));
        let index = index.expect("decisions name partitions of the model");
        let old = self.parts.remove(index);
        let bound = (0..self.cells.len()).find(|cell| key(*cell) >= *at);
        let bound = bound.expect("a split key is at most some key");
        let (left, right) = old.history.split(left_load, self.now_us);
        let left = self.part(old.cells.start..bound, left);
        let right = self.part(bound..old.cells.end, right);
        assert!(
            !left.cells.is_empty() && !right.cells.is_empty(),
            "both sides hold keys"
        );
        self.parts.splice(index..index, [left, right]);
        bound
    }

    fn merge(&mut self, ids: &[PartitionId]) -> Vec<usize> {
        let first = self.parts.iter().position(|part| ids.contains(&part.id));
        let first = first.expect("decisions name partitions of the model");
        let old: Vec<Part> = self.parts.drain(first..first + ids.len()).collect();
        let history = LoadHistory::merge(old.iter().map(|part| &part.history), self.now_us);
        let removed: Vec<usize> = old.iter().skip(1).map(|part| part.cells.start).collect();
        let low = old.first().map_or(0, |part| part.cells.start);
        let high = old.last().map_or(0, |part| part.cells.end);
        let merged = self.part(low..high, history);
        self.parts.insert(first, merged);
        removed
    }

    fn stats(&self, part: &Part) -> Stats {
        let cells = self
            .cells
            .iter()
            .enumerate()
            .skip(part.cells.start)
            .take(part.cells.len());
        let mut histogram = Histogram::new();
        for (number, cell) in cells {
            histogram.add(&key(number), cell.mib * MIB);
        }
        Stats {
            id: part.id,
            range: KeyRange {
                lower: key(part.cells.start),
                upper: Some(key(part.cells.end)),
            },
            created_us: part.created_us,
            rows: histogram.rows(),
            bytes: histogram.bytes(),
            load: part.history.load(),
            histogram: Some(Arc::new(histogram)),
            table_partitions: self.parts.len(),
        }
    }

    fn samples(&self, part: &Part) -> Samples {
        let mut samples = Samples::new();
        if part.history.load().current < self.settings.split_load() {
            return samples;
        }
        let cells = self
            .cells
            .iter()
            .enumerate()
            .skip(part.cells.start)
            .take(part.cells.len());
        for (number, cell) in cells.filter(|(_, cell)| cell.busy_ppm > 0) {
            let cost = u32::try_from(cell.busy_ppm / 10).unwrap_or(u32::MAX).max(1);
            for txn in 0..10 {
                let kind = AccessKind::Read;
                let access = Access {
                    kind,
                    key: key(number),
                    upper: None,
                    cost,
                };
                let footprint = Footprint {
                    txn,
                    multi_partition: false,
                    accesses: vec![access],
                };
                samples.offer(footprint, self.now_us, &self.random);
            }
        }
        samples
    }
}

fn key(cell: usize) -> Bytes {
    let value = i64::try_from(cell).expect("a few dozen cells");
    keys::encode_key(&[keys::Value::Int64(value)])
        .expect("a number is a key")
        .into()
}

fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let cell = (
        0..120_u64,
        prop_oneof![Just(0), 0..20_000_u64, 0..300_000_u64],
    );
    let cell = cell.prop_map(|(mib, busy_ppm)| Cell { mib, busy_ppm });
    proptest::collection::vec(cell, KEYS)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn constant_load_settles_and_no_merge_is_undone(
        cells in cells(),
        bounds in proptest::collection::btree_set(1..KEYS, 0..12),
        partition_size_mib in 200..2000_u64,
        partitions_min in 1..4_usize,
    ) {
        let settings = Settings { partition_size_mib, partitions_min, ..Settings::default() };
        let mut model = Model::new(cells, &bounds, settings);
        let mut ever_removed = BTreeMap::new();
        let mut last_change_us = 0;
        for _ in 0..HOURS * 3600 / TICK_S {
            let before = model.parts.len();
            let (made, removed) = model.tick();
            for bound in &made {
                prop_assert!(!ever_removed.contains_key(bound),
                    "the bound at {} was merged away and is back", bound);
            }
            if !made.is_empty() || !removed.is_empty() {
                last_change_us = model.now_us;
            }
            if !removed.is_empty() {
                prop_assert!(model.parts.len() - made.len() >= partitions_min.min(before));
            }
            ever_removed.extend(removed.into_iter().map(|bound| (bound, model.now_us)));
        }
        let settled_after_h = last_change_us / 3_600_000_000;
        prop_assert!(settled_after_h < HOURS - 4, "still changing after {} h", settled_after_h);
        let tiles = model.parts.windows(2).all(|pair| pair[0].cells.end == pair[1].cells.start);
        prop_assert!(tiles);
    }
}
