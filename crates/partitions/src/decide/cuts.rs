//! Load cuts: where a partition could be split so that each half gets half the load, and what the
//! cut would tear apart.
//!
//! ```text
//!   sampled keys    /1/a  /1/b  /1/c  │  /2/a  /2/b        a cut between two neighbours, cut down
//!                                     /2                   to the fewest columns that tell them apart
//!   transactions    ├──t1───────────┤    ├──t2──┤          whole: the cut costs nothing
//!                         ├────t3─────────┤                torn: would commit in two partitions
//!   scans           ├───────s1────────────────┤            cut: half its cost falls on each side
//!
//!   score  =  imbalance  +  share of the load in torn transactions  +  share in cut scans
//! ```
//!
//! Every access is an interval of cuts: those above it leave it left, those below leave it right,
//! and for a scan or a whole transaction there are those in between. So one pass over the samples
//! adds to difference arrays, one pass over the cuts sums them up, and a thousand cuts cost no more
//! than sorting them.
//!
//! The writes of a tail, and the reads of the keys that they write, count on the side it grows towards
//! wherever the cut is: that is where the next ones will land.

use std::collections::BTreeSet;

use bytes::Bytes;
use storage::KeyRange;

use super::settings::{CUT_SCANS_MAX, CUT_TXNS_MAX, IMBALANCE_MAX};
use super::tail::Direction;
use crate::Share;
use crate::samples::{Access, AccessKind, Sample};

/// One place to split by load, with what it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) key: Bytes,
    /// The share of the load below, cut scans half.
    pub(super) left: Share,
    /// How far apart the sides are: (more − less) / both.
    pub(super) imbalance: Share,
    /// The share of the load in transactions that would become multi-partition.
    pub(super) torn_txns: Share,
    /// The share of the load in scans that would be cut.
    pub(super) cut_scans: Share,
}

impl Cut {
    pub(super) fn is_balanced(&self) -> bool {
        self.imbalance <= IMBALANCE_MAX
    }

    pub(super) fn is_accepted(&self) -> bool {
        self.is_balanced() && self.torn_txns <= CUT_TXNS_MAX && self.cut_scans <= CUT_SCANS_MAX
    }

    /// Lower is better. Scores within a percent are equal, and then fewer columns win.
    pub(super) fn rank(&self) -> (u64, usize, u64) {
        const PERCENT_PPM: u64 = 10_000;
        let score = self
            .imbalance
            .plus(self.torn_txns)
            .plus(self.cut_scans)
            .ppm();
        (score / PERCENT_PPM, super::column_count(&self.key), score)
    }
}

/// Every cut between neighbouring sampled keys inside `range`, scored.
pub(super) fn cuts(samples: &[Sample<'_>], range: &KeyRange, tail: Option<Direction>) -> Vec<Cut> {
    let keys = candidates(samples, range);
    let mut tally = Tally::new(keys.len());
    for sample in samples {
        tally.add(sample, &keys, range, tail);
    }
    tally.into_cuts(keys)
}

/// The keys to cut at, in order. Where scans end is no candidate: with nothing beginning there the
/// right side would be empty.
fn candidates(samples: &[Sample<'_>], range: &KeyRange) -> Vec<Bytes> {
    let accesses = samples.iter().flat_map(|sample| &sample.footprint.accesses);
    let keys = accesses.map(|one| &one.key);
    let seen: BTreeSet<&Bytes> = keys.filter(|key| range.contains(key)).collect();
    let pairs = seen.iter().zip(seen.iter().skip(1));
    pairs
        .filter_map(|(below, above)| keys::separator(below, above).map(Bytes::from))
        .collect()
}

/// What lies below and across each cut, as differences from one cut to the next.
struct Tally {
    below: Vec<f64>,
    scans_across: Vec<f64>,
    txns_across: Vec<f64>,
    total: f64,
}

impl Tally {
    fn new(cuts: usize) -> Self {
        let zeros = vec![0.0; cuts + 1];
        Self {
            below: zeros.clone(),
            scans_across: zeros.clone(),
            txns_across: zeros,
            total: 0.0,
        }
    }

    fn add(
        &mut self,
        sample: &Sample<'_>,
        cuts: &[Bytes],
        range: &KeyRange,
        tail: Option<Direction>,
    ) {
        let accesses = &sample.footprint.accesses;
        let cost: f64 = accesses.iter().map(|one| f64::from(one.cost.max(1))).sum();
        let mut span: Option<(usize, usize)> = None;
        let mut inside = true;
        for access in accesses {
            if !touches(access, range) {
                inside = false;
                continue;
            }
            let weight = sample.weight * f64::from(access.cost.max(1)) / cost;
            let (first, end) = cuts_across(access, cuts);
            self.total += weight;
            match tail.filter(|_| writes(access, accesses)) {
                Some(Direction::Up) => {}
                Some(Direction::Down) => add_at(&mut self.below, 0, weight),
                None => {
                    add_at(&mut self.scans_across, first, weight);
                    add_at(&mut self.scans_across, end, -weight);
                    add_at(&mut self.below, end, weight);
                }
            }
            let (low, high) = span.unwrap_or((first, end));
            span = Some((low.min(first), high.max(end)));
        }
        // A lone scan that is cut is counted as a scan; a transaction that leaves the partition
        // anyway is multi-partition with or without the cut.
        let torn = accesses.len() > 1 && inside && !sample.footprint.multi_partition;
        if let Some((first, end)) = span.filter(|_| torn) {
            add_at(&mut self.txns_across, first, sample.weight);
            add_at(&mut self.txns_across, end, -sample.weight);
        }
    }

    fn into_cuts(self, keys: Vec<Bytes>) -> Vec<Cut> {
        let (mut below, mut scans, mut txns) = (0.0, 0.0, 0.0);
        let steps = self
            .below
            .iter()
            .zip(&self.scans_across)
            .zip(&self.txns_across);
        keys.into_iter()
            .zip(steps)
            .map(|(key, ((below_step, scans_step), txns_step))| {
                below += below_step;
                scans += scans_step;
                txns += txns_step;
                let left = below + scans / 2.0;
                Cut {
                    key,
                    left: Share::of_weight(left, self.total),
                    imbalance: Share::of_weight((self.total - 2.0 * left).abs(), self.total),
                    torn_txns: Share::of_weight(txns, self.total),
                    cut_scans: Share::of_weight(scans, self.total),
                }
            })
            .collect()
    }
}

/// Whether an access is in the partition, at least in part.
pub(super) fn touches(access: &Access, range: &KeyRange) -> bool {
    match access.kind {
        AccessKind::Scan => {
            let upper = access.upper.as_ref();
            range.upper.as_ref().is_none_or(|end| access.key < *end)
                && upper.is_none_or(|upper| *upper > range.lower)
        }
        _ => range.contains(&access.key),
    }
}

/// Whether an access is part of a write: an INSERT first reads the key that it writes.
fn writes(access: &Access, accesses: &[Access]) -> bool {
    let written = |one: &Access| one.kind == AccessKind::Write && one.key == access.key;
    match access.kind {
        AccessKind::Write => true,
        AccessKind::Read => accesses.iter().any(written),
        AccessKind::Scan => false,
    }
}

/// The cuts that fall inside an access; for a point the empty run where it goes from right to left.
fn cuts_across(access: &Access, cuts: &[Bytes]) -> (usize, usize) {
    let first = cuts.partition_point(|cut| *cut <= access.key);
    let end = match (&access.kind, &access.upper) {
        (AccessKind::Scan, None) => cuts.len(),
        (AccessKind::Scan, Some(upper)) => cuts.partition_point(|cut| cut < upper).max(first),
        _ => first,
    };
    (first, end)
}

fn add_at(steps: &mut [f64], at: usize, weight: f64) {
    if let Some(step) = steps.get_mut(at) {
        *step += weight;
    }
}
