//! [`Partitions`]: the simulated partitions of a table, in key order, and what the decider does to them.

use std::sync::Arc;

use bytes::Bytes;
use partitions::decide::{
    Decision, Histogram, Load, LoadHistory, PartitionView, Settings, Stats, Verdict,
};
use partitions::{KeyRange, PartitionId, Samples, Share};

use super::super::content::Content;
use super::super::number::whole;

/// Bytes are measured again when a partition has grown by this share since, as in a real one.
const GROWN: Share = Share::percent(12);
/// A partition that no split helps is looked at again after so long. Its samples fade in a minute, so
/// asking each time would find the same, and finding it is most of the work of a replay.
const REFUSED_US: u64 = 30_000_000;

/// All partitions.
#[derive(Debug)]
pub(super) struct Partitions {
    pub(super) list: Vec<Partition>,
    /// Where each begins, for finding one.
    lowers: Vec<Bytes>,
    /// What those were busy in this window that are no more.
    gone_us: Vec<f64>,
    next_id: u64,
    /// What is shown of a partition that was refused just now.
    none: Samples,
}

/// One partition.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) stats: Stats,
    pub(super) samples: Samples,
    /// Busy time since it was made.
    pub(super) busy_us: f64,
    /// Busy time of the window, at the pace of the recording.
    pub(super) window_us: f64,
    history: LoadHistory,
    /// When no split was found to help.
    refused_us: Option<u64>,
    /// Where its rows begin and end among the known ones.
    pub(super) places: (usize, usize),
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Split,
    Merge,
    Nothing,
}

impl Partitions {
    /// One partition for all keys.
    pub(super) fn new(now_us: u64) -> Self {
        let whole = Partition::new(PartitionId(1), KeyRange::all(), now_us);
        Self {
            list: vec![whole],
            lowers: vec![Bytes::new()],
            gone_us: Vec::new(),
            next_id: 2,
            none: Samples::new(),
        }
    }

    /// Busy times of the window that ends, each of a partition that is or was there.
    pub(super) fn end_window(&mut self) -> Vec<f64> {
        let mut busy_us = std::mem::take(&mut self.gone_us);
        let here = self.list.iter_mut();
        busy_us.extend(here.map(|one| std::mem::take(&mut one.window_us)));
        busy_us
    }

    /// The place of the partition that holds a key.
    pub(super) fn route(&self, key: &[u8]) -> usize {
        let above = self.lowers.partition_point(|lower| lower.as_ref() <= key);
        above.saturating_sub(1)
    }

    /// The place of the last partition that holds a key below `upper`; empty is above all.
    pub(super) fn route_below(&self, upper: &[u8]) -> usize {
        let above = match upper.is_empty() {
            true => self.lowers.len(),
            false => self.lowers.partition_point(|lower| lower.as_ref() < upper),
        };
        above.saturating_sub(1)
    }

    /// Looks at the load and the size of each.
    pub(super) fn look(
        &mut self,
        content: &Content<'_>,
        settings: &Settings,
        row_bytes: f64,
        now_us: u64,
    ) {
        let count = self.list.len();
        for partition in &mut self.list {
            let busy_ns = whole(partition.busy_us * 1000.0);
            partition.history.tick(now_us, busy_ns, settings);
            let (from, to) = places(content, &partition.stats.range);
            partition.places = (from, to);
            let rows = content.rows(from, to);
            let stats = &mut partition.stats;
            stats.load = partition.history.load();
            stats.rows = whole(rows);
            stats.bytes = whole(rows * row_bytes);
            stats.table_partitions = count;
            let outgrown = stats.histogram.as_ref().is_some_and(|histogram| {
                let bytes = histogram.bytes();
                stats.bytes > bytes.saturating_add(GROWN.times(bytes))
            });
            if outgrown {
                stats.histogram = None;
            }
        }
    }

    /// What a decision sees.
    pub(super) fn views(&self, now_us: u64) -> Vec<PartitionView<'_>> {
        let is_refused = |partition: &Partition| {
            let refused_us = partition.refused_us;
            refused_us.is_some_and(|then_us| now_us.saturating_sub(then_us) < REFUSED_US)
        };
        self.list
            .iter()
            .map(|partition| PartitionView {
                stats: &partition.stats,
                samples: match is_refused(partition) {
                    true => &self.none,
                    false => &partition.samples,
                },
            })
            .collect()
    }

    /// Does what was decided.
    pub(super) fn act(&mut self, decision: &Decision, content: &Content<'_>, now_us: u64) -> Act {
        let first = decision.partitions.first();
        let Some(index) = first.and_then(|id| self.list.iter().position(|one| one.stats.id == *id))
        else {
            return Act::Nothing;
        };
        if let Some(partition) = self.list.get_mut(index)
            && decision.verdict.is_refusal()
        {
            partition.refused_us = Some(now_us);
        }
        let done = match &decision.verdict {
            Verdict::Split { key, left_load, .. } => self.split(index, key, *left_load, now_us),
            Verdict::Merge { .. } => self.merge(index, decision.partitions.len(), now_us),
            _ => Act::Nothing,
        };
        if done != Act::Nothing {
            self.lowers = self
                .list
                .iter()
                .map(|one| one.stats.range.lower.clone())
                .collect();
            for partition in &mut self.list {
                partition.places = places(content, &partition.stats.range);
            }
        }
        done
    }

    fn split(&mut self, index: usize, key: &Bytes, left_load: Share, now_us: u64) -> Act {
        let Some(old) = self.list.get(index) else {
            return Act::Nothing;
        };
        let range = old.stats.range.clone();
        if !range.contains(key) || *key == range.lower {
            return Act::Nothing;
        }
        self.gone_us.push(old.window_us);
        let (left, right) = old.history.split(left_load, now_us);
        let below = KeyRange::new(range.lower.clone(), Some(key.clone()));
        let above = KeyRange::new(key.clone(), range.upper);
        let halves = [(below, left), (above, right)].map(|(range, history)| Partition {
            history,
            ..Partition::new(self.id(), range, now_us)
        });
        self.list.splice(index..=index, halves);
        Act::Split
    }

    fn merge(&mut self, index: usize, count: usize, now_us: u64) -> Act {
        let id = self.id();
        let Some(old) = self.list.get(index..index.saturating_add(count)) else {
            return Act::Nothing;
        };
        let (Some(first), Some(last)) = (old.first(), old.last()) else {
            return Act::Nothing;
        };
        let range = KeyRange::new(
            first.stats.range.lower.clone(),
            last.stats.range.upper.clone(),
        );
        let merged = Partition {
            history: LoadHistory::merge(old.iter().map(|one| &one.history), now_us),
            ..Partition::new(id, range, now_us)
        };
        self.gone_us.extend(old.iter().map(|one| one.window_us));
        self.list.splice(index..index + count, [merged]);
        Act::Merge
    }

    fn id(&mut self) -> PartitionId {
        let id = PartitionId(self.next_id);
        self.next_id += 1;
        id
    }
}

fn places(content: &Content<'_>, range: &KeyRange) -> (usize, usize) {
    let upper = range.upper.as_deref().unwrap_or_default();
    (content.place(&range.lower), content.upper_place(upper))
}

impl Partition {
    fn new(id: PartitionId, range: KeyRange, now_us: u64) -> Self {
        Self {
            stats: Stats {
                id,
                range,
                created_us: now_us,
                rows: 0,
                bytes: 0,
                load: Load::default(),
                histogram: None,
                table_partitions: 1,
            },
            samples: Samples::new(),
            busy_us: 0.0,
            window_us: 0.0,
            history: LoadHistory::new(now_us),
            refused_us: None,
            places: (0, 0),
        }
    }

    /// Where its bytes lie.
    pub(super) fn measure(&self, content: &Content<'_>, row_bytes: f64) -> Arc<Histogram> {
        let mut histogram = Histogram::new();
        let (from, to) = self.places;
        for place in from..to {
            let rows = content.present(place);
            if rows > 0.0 {
                let key = Bytes::copy_from_slice(content.key(place));
                histogram.add(&key, whole(rows * row_bytes));
            }
        }
        Arc::new(histogram)
    }
}
