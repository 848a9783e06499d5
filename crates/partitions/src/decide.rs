//! The decider: from what is known of a partition to what should be done, and why.
//!
//! ```text
//!                   ┌ size, rows ───────── counters.rs, Histogram
//!        Stats ─────┤
//!                   └ load now, peaks ──── Heat's busy time through LoadHistory
//!        Samples ──── whole transactions ─ samples.rs
//!        Settings ─── the table's options
//!        now ──────── passed in, never read
//!            │
//!         decide ──► Split │ HotKey │ Tail │ ScanBound │ TxnBound │ Cool        one partition
//!   decide_table ──► the same, and Merge                                        a table, per tick
//! ```
//!
//! Deciding is pure: no clock, no chance, no engine. So the database, the simulator and the advisor
//! run the same code, and any verdict can be replayed from what went in. Acting on a verdict is
//! someone else's work.
//!
//! # The order of questions
//! ```text
//!   1. size at or over the split size, room for one more?   cut near the middle of the bytes
//!   2. load at or over the split load, for long enough?     else Cool
//!   3. enough sampled transactions?                         else Cool
//!   4. a cut that balances the load and tears little?       Split at the best
//!   5. none: say why.   one key ≥ 25 % of the load          HotKey
//!                       writes land beyond all before       Tail
//!                       every balanced cut crosses scans    ScanBound
//!                       … or tears transactions             TxnBound
//! ```
//!
//! A database that cannot split says why, because each reason has another remedy: a hot key wants
//! another key or a cache, a tail wants a hash before the time, scans want an index, torn
//! transactions want the group's column first.
//!
//! # Roads not taken
//! A split at the median key balances load but tears groups: two cuts with equal balance can differ
//! by every transaction. Asking for "several tens of seconds" of load through a long sampling phase
//! hides a setting in a mechanism: here sampling never stops, and the time is a setting. One score
//! for all would hide the reason, so each part has its own limit and the sum only ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use storage::KeyRange;

use crate::samples::{AccessKind, Sample, Samples};
use crate::{Partition, PartitionId, Share};

mod cuts;
mod histogram;
mod load;
mod settings;
mod table;
mod tail;
mod verdict;

use cuts::Cut;
pub use histogram::{Histogram, POINTS_MAX, Point, SizeCut};
pub use load::{Load, LoadHistory};
pub use settings::{
    CUT_SCANS_MAX, CUT_TXNS_MAX, HOT_KEY_MIN, IMBALANCE_MAX, LOAD_PARTITIONS_MAX,
    MERGE_PARTITIONS_MAX, MIB, SAMPLES_MIN, SIDE_MIN, SIZE_PARTITIONS_MAX, Settings, TAIL_LOAD_MIN,
    TAIL_WRITES_MIN, TAIL_WRITES_SHARE,
};
pub use table::{Decision, PartitionView, decide_table};
pub use tail::Direction;
pub use verdict::{CoolReason, SplitReason, Verdict};

/// What is known of a partition's size and load.
#[derive(Clone, Debug)]
pub struct Stats {
    /// The partition.
    pub id: PartitionId,
    /// Its keys.
    pub range: KeyRange,
    /// When it was made.
    pub created_us: u64,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// How busy it is and was.
    pub load: Load,
    /// Where its bytes lie, if that was measured; see [`needs_histogram`].
    pub histogram: Option<Arc<Histogram>>,
    /// How many partitions its table has.
    pub table_partitions: usize,
}

impl Stats {
    /// Of a live partition.
    pub fn of(partition: &Partition, load: Load, table_partitions: usize) -> Self {
        let totals = partition.counters.counts().totals();
        Self {
            id: partition.descriptor.id,
            range: partition.descriptor.range.clone(),
            created_us: partition.descriptor.created_us,
            rows: totals.rows,
            bytes: totals.bytes,
            load,
            histogram: None,
            table_partitions,
        }
    }
}

/// Whether the bytes of a partition should be measured before the next decision.
pub fn needs_histogram(stats: &Stats, settings: &Settings) -> bool {
    stats.histogram.is_none() && size_split_due(stats, settings, stats.table_partitions)
}

/// Whether a decision looks at the samples of a partition; for the others they need not be copied.
pub fn needs_samples(stats: &Stats, settings: &Settings) -> bool {
    settings.by_load && stats.load.current >= settings.split_load()
}

/// Decides for one partition.
pub fn decide(stats: &Stats, samples: &Samples, settings: &Settings, now_us: u64) -> Verdict {
    decide_within(stats, samples, settings, now_us, stats.table_partitions)
}

/// Decides for one partition when its table has, or is about to have, so many.
fn decide_within(
    stats: &Stats,
    samples: &Samples,
    settings: &Settings,
    now_us: u64,
    partitions: usize,
) -> Verdict {
    let by_size = decide_by_size(stats, settings, partitions);
    if matches!(by_size, Verdict::Split { .. }) {
        return by_size;
    }
    let by_load = decide_by_load(stats, samples, settings, now_us, partitions);
    match by_load {
        Verdict::Cool {
            reason: CoolReason::Quiet,
        } => by_size,
        other => other,
    }
}

fn size_split_due(stats: &Stats, settings: &Settings, partitions: usize) -> bool {
    let has_room = partitions < settings.size_partitions_max();
    settings.by_size
        && stats.bytes >= settings.split_bytes()
        && (has_room || stats.bytes >= settings.force_split_bytes())
}

fn decide_by_size(stats: &Stats, settings: &Settings, partitions: usize) -> Verdict {
    if !settings.by_size || stats.bytes < settings.split_bytes() {
        return cool(CoolReason::Quiet);
    }
    if !size_split_due(stats, settings, partitions) {
        return cool(CoolReason::AtMost {
            partitions: settings.size_partitions_max(),
        });
    }
    let Some(histogram) = &stats.histogram else {
        return cool(CoolReason::NoHistogram);
    };
    // The counters may be an estimate since the last split; what was measured is not.
    if histogram.bytes() < settings.split_bytes() {
        return cool(CoolReason::Quiet);
    }
    let Some(cut) = histogram.size_cut() else {
        return cool(CoolReason::NoSizeCut);
    };
    let reason = SplitReason::Size {
        bytes: histogram.bytes(),
        bytes_max: settings.split_bytes(),
    };
    Verdict::Split {
        key: cut.key,
        left_bytes: cut.left,
        left_load: Share::HALF,
        reason,
    }
}

fn decide_by_load(
    stats: &Stats,
    samples: &Samples,
    settings: &Settings,
    now_us: u64,
    partitions: usize,
) -> Verdict {
    let load = stats.load.current;
    if load < settings.split_load() {
        return cool(CoolReason::Quiet);
    }
    if !settings.by_load {
        return cool(CoolReason::LoadOff { load });
    }
    let lasting_us = now_us.saturating_sub(stats.load.high_since_us.unwrap_or(now_us));
    if lasting_us < settings.split_load_lasting_s.saturating_mul(1_000_000) {
        return cool(CoolReason::Brief { load, lasting_us });
    }
    if samples.len() < SAMPLES_MIN {
        return cool(CoolReason::FewSamples {
            samples: samples.len(),
        });
    }
    let cut = match best_cut(&samples.in_order(now_us), &stats.range) {
        Ok(cut) => cut,
        Err(verdict) => return verdict,
    };
    if partitions >= settings.load_partitions_max() {
        return cool(CoolReason::AtMost {
            partitions: settings.load_partitions_max(),
        });
    }
    let measured = stats
        .histogram
        .as_ref()
        .map(|histogram| histogram.share_below(&cut.key));
    let reason = SplitReason::Load {
        load,
        lasting_us,
        load_max: settings.split_load(),
        torn_txns: cut.torn_txns,
        cut_scans: cut.cut_scans,
    };
    Verdict::Split {
        key: cut.key,
        left_bytes: measured.unwrap_or(Share::HALF),
        left_load: cut.left,
        reason,
    }
}

/// The best cut by load, or the verdict that says why there is none.
fn best_cut(samples: &[Sample<'_>], range: &KeyRange) -> Result<Cut, Verdict> {
    let tail = tail::find(samples);
    let cuts = cuts::cuts(samples, range, tail.map(|tail| tail.direction));
    let accepted = cuts.iter().filter(|cut| cut.is_accepted());
    if let Some(best) = accepted.min_by_key(|cut| cut.rank()) {
        return Ok(best.clone());
    }
    let weights = Weights::of(samples, range);
    if let Some((key, share)) = weights.hottest.filter(|(_, share)| *share >= HOT_KEY_MIN) {
        return Err(Verdict::HotKey { key, share });
    }
    if let Some(tail) = tail.filter(|_| weights.writes >= TAIL_LOAD_MIN) {
        return Err(Verdict::Tail {
            direction: tail.direction,
            share: tail.share,
        });
    }
    let balanced = || cuts.iter().filter(|cut| cut.is_balanced());
    let scans = balanced().map(|cut| cut.cut_scans).min();
    if let Some(share) = scans.filter(|share| *share > CUT_SCANS_MAX) {
        return Err(Verdict::ScanBound { share });
    }
    match balanced().map(|cut| cut.torn_txns).min() {
        Some(share) => Err(Verdict::TxnBound { share }),
        None => Err(cool(CoolReason::NoLoadCut)),
    }
}

/// What the samples say about single keys and about writes.
struct Weights {
    hottest: Option<(Bytes, Share)>,
    writes: Share,
}

impl Weights {
    fn of(samples: &[Sample<'_>], range: &KeyRange) -> Self {
        let (mut total, mut writes) = (0.0, 0.0);
        let mut keys = BTreeMap::<&Bytes, f64>::new();
        for sample in samples {
            let accesses = &sample.footprint.accesses;
            let cost: f64 = accesses.iter().map(|one| f64::from(one.cost.max(1))).sum();
            for access in accesses.iter().filter(|one| cuts::touches(one, range)) {
                let weight = sample.weight * f64::from(access.cost.max(1)) / cost;
                total += weight;
                if access.kind == AccessKind::Write {
                    writes += weight;
                }
                if access.kind != AccessKind::Scan {
                    *keys.entry(&access.key).or_default() += weight;
                }
            }
        }
        let hottest = keys.into_iter().max_by(|one, two| one.1.total_cmp(&two.1));
        Self {
            hottest: hottest.map(|(key, weight)| (key.clone(), Share::of_weight(weight, total))),
            writes: Share::of_weight(writes, total),
        }
    }
}

fn cool(reason: CoolReason) -> Verdict {
    Verdict::Cool { reason }
}

/// How many columns a key has; bytes that are no key count as one.
fn column_count(key: &[u8]) -> usize {
    keys::key::columns(key)
        .take_while(Result::is_ok)
        .count()
        .max(1)
}
