//! Deciding for a whole table: what each partition needs, and which neighbours to merge.
//!
//! ```text
//!   partitions    │ 1 cool │ 2 cool │ 3 split │ 4 cool │ 5 cool │ 6 cool (young) │
//!   merges        └─ join ─┘                  └─ join ─┘   a run ends at whatever may not be merged
//! ```
//!
//! A merge must not make something that would be split, nor join what load still needs apart:
//!
//! ```text
//!   size     joined ≤ 50 % of the split size          half of what would split it
//!   load     summed peaks of an hour ≤ 70 % of the split load
//!   age      each watched for ten minutes
//!   count    the table keeps its minimum
//! ```
//!
//! That gap is the law against oscillation: what was merged is far from splitting on the same data
//! and load, and what was split is far from merging, because the halves still sum to what split them.

use super::settings::MERGE_PARTITIONS_MAX;
use super::{Settings, Stats, Verdict, decide_within};
use crate::samples::Samples;
use crate::{PartitionId, Share};

const SECOND_US: u64 = 1_000_000;

/// What is known of one partition.
#[derive(Clone, Copy, Debug)]
pub struct PartitionView<'a> {
    /// Its size and load.
    pub stats: &'a Stats,
    /// Its recent transactions; may be empty where [`super::needs_samples`] says no.
    pub samples: &'a Samples,
}

/// What should happen to some partitions of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// One partition; for a merge the neighbours to join, in key order.
    pub partitions: Vec<PartitionId>,
    /// What to do, and why.
    pub verdict: Verdict,
}

/// Decides for all partitions of a table, given in key order. Every partition is in exactly one
/// decision. Splits and merges of one answer do not touch each other and may be done in any order.
pub fn decide_table(
    partitions: &[PartitionView<'_>],
    settings: &Settings,
    now_us: u64,
) -> Vec<Decision> {
    let mut count = partitions.len();
    let mut verdicts = Vec::with_capacity(count);
    for view in partitions {
        let verdict = decide_within(view.stats, view.samples, settings, now_us, count);
        if matches!(verdict, Verdict::Split { .. }) {
            count += 1;
        }
        verdicts.push((view.stats, verdict));
    }
    // Splits may fail, so only what is there now is given away.
    let mut spare = partitions
        .len()
        .saturating_sub(settings.partitions_min.max(1));
    let mut decisions = Vec::with_capacity(verdicts.len());
    let mut run = Run::default();
    for (stats, verdict) in verdicts {
        let mergeable = may_merge(stats, &verdict, settings, now_us);
        if !mergeable || !run.has_room(stats, settings, spare) {
            run.close(&mut spare, settings, &mut decisions);
        }
        match mergeable {
            true => run.push(stats, verdict),
            false => decisions.push(Decision {
                partitions: vec![stats.id],
                verdict,
            }),
        }
    }
    run.close(&mut spare, settings, &mut decisions);
    decisions
}

fn may_merge(stats: &Stats, verdict: &Verdict, settings: &Settings, now_us: u64) -> bool {
    let since_us = stats.created_us.max(stats.load.watched_since_us);
    let uptime_us = now_us.saturating_sub(since_us);
    (settings.by_size || settings.by_load)
        && matches!(verdict, Verdict::Cool { .. })
        && uptime_us >= settings.merge_uptime_s_min.saturating_mul(SECOND_US)
}

/// Neighbours that may become one.
#[derive(Default)]
struct Run {
    members: Vec<Decision>,
    bytes: u64,
    peak: Share,
}

impl Run {
    fn has_room(&self, stats: &Stats, settings: &Settings, spare: usize) -> bool {
        self.members.len() < MERGE_PARTITIONS_MAX
            && self.members.len() <= spare
            && self.bytes.saturating_add(stats.bytes) <= settings.merge_bytes_max()
            && self.peak.plus(stats.load.peak) <= settings.merge_load_max()
    }

    fn push(&mut self, stats: &Stats, verdict: Verdict) {
        self.bytes = self.bytes.saturating_add(stats.bytes);
        self.peak = self.peak.plus(stats.load.peak);
        self.members.push(Decision {
            partitions: vec![stats.id],
            verdict,
        });
    }

    /// Turns the run into one merge if it has two members or more, and starts anew.
    fn close(&mut self, spare: &mut usize, settings: &Settings, decisions: &mut Vec<Decision>) {
        let run = std::mem::take(self);
        if run.members.len() < 2 {
            decisions.extend(run.members);
            return;
        }
        *spare = spare.saturating_sub(run.members.len() - 1);
        let partitions = run
            .members
            .into_iter()
            .flat_map(|one| one.partitions)
            .collect();
        let verdict = Verdict::Merge {
            bytes: run.bytes,
            bytes_max: settings.merge_bytes_max(),
            peak: run.peak,
            peak_max: settings.merge_load_max(),
        };
        decisions.push(Decision {
            partitions,
            verdict,
        });
    }
}
