//! Which keys nothing beats, and the order in which all are told.

use std::cmp::Ordering;

use super::judge::Judged;

/// What keys are compared by; less is better in all of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// Busy time of the busiest partition.
    pub(super) load: f64,
    /// The share of transactions that touch several partitions.
    pub(super) torn: f64,
    /// Partitions of a read.
    pub(super) partitions: f64,
    /// Rows of a read.
    pub(super) rows: f64,
    /// How far from a plain key it is.
    pub(super) oddity: u32,
    /// Bytes of the key.
    pub(super) key_bytes: f64,
}

/// Figures that are closer than this are equal: a replay does not tell them apart.
const EQUAL: f64 = 0.10;
/// The same for loads, which depend on where splits happen to fall.
const LOAD_EQUAL: f64 = 0.20;
/// Keys whose load is within this of one another are of one level.
const LEVEL: f64 = 1.25;
/// The most keys that are told as the best.
const BEST_MAX: usize = 3;
/// A key that carries less than this share of the best is not among the best, whatever else it does.
const CEILING_MIN: f64 = 0.34;

impl Standing {
    /// Figure by figure, near ones equal; each with what is too little to matter.
    fn compare(&self, other: &Self) -> [Ordering; 4] {
        let near = |one: f64, two: f64, (share, least): (f64, f64)| {
            let apart = (one - two).abs();
            if apart <= least || apart <= share * one.max(two) {
                Ordering::Equal
            } else {
                one.total_cmp(&two)
            }
        };
        [
            near(self.load, other.load, (LOAD_EQUAL, 0.0)),
            near(self.torn, other.torn, (EQUAL, 0.02)),
            near(self.partitions, other.partitions, (EQUAL, 0.1)),
            near(self.rows, other.rows, (EQUAL, 1.0)),
        ]
    }

    /// Whether it is better in something and worse in nothing.
    fn beats(&self, other: &Self) -> bool {
        let all = self.compare(other);
        if all.contains(&Ordering::Greater) {
            return false;
        }
        let plainer = self.oddity.cmp(&other.oddity);
        let plainer = plainer.then(self.key_bytes.total_cmp(&other.key_bytes));
        all.contains(&Ordering::Less) || plainer == Ordering::Less
    }

    /// The order of telling: what the busiest partition does first, in steps.
    fn rank(&self, least_load: f64) -> Rank {
        let level = match self.load > 0.0 && least_load > 0.0 {
            true => ((self.load / least_load).ln() / LEVEL.ln()).floor(),
            false => 0.0,
        };
        Rank {
            level,
            spread: (self.torn * 20.0).round() + (self.partitions * 2.0).round(),
            rows: self.rows.max(1.0).log2().round(),
            oddity: self.oddity,
            key_bytes: self.key_bytes,
        }
    }
}

/// A place in the order of telling: field by field, less is better.
#[derive(Clone, Copy, Debug)]
struct Rank {
    level: f64,
    spread: f64,
    rows: f64,
    oddity: u32,
    key_bytes: f64,
}

impl Rank {
    fn compare(&self, other: &Self) -> Ordering {
        self.level
            .total_cmp(&other.level)
            .then(self.spread.total_cmp(&other.spread))
            .then(self.rows.total_cmp(&other.rows))
            .then(self.oddity.cmp(&other.oddity))
            .then(self.key_bytes.total_cmp(&other.key_bytes))
    }
}

/// The places of all keys, each with whether it is beaten: those that are not first, and then those
/// first whose busiest partition has least to do.
pub(super) fn ranking(standings: &[Standing]) -> Vec<(usize, bool)> {
    let loads = standings.iter().map(|one| one.load);
    let least = loads.fold(f64::INFINITY, f64::min);
    let mut all: Vec<(usize, bool, Rank)> = standings
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let is_beaten = standings.iter().any(|other| other.beats(one));
            (place, is_beaten, one.rank(least))
        })
        .collect();
    all.sort_by(|(_, one_beaten, one), (_, two_beaten, two)| {
        one_beaten.cmp(two_beaten).then(one.compare(two))
    });
    all.into_iter()
        .map(|(place, is_beaten, _)| (place, is_beaten))
        .collect()
}

/// The two or three to choose from, given the keys in their order: unbeaten ones that carry about as
/// much as the first.
pub(super) fn best(keys: &[Judged]) -> Vec<usize> {
    let most = keys
        .iter()
        .map(|judged| judged.figures.ceiling)
        .fold(0.0, f64::max);
    let mut best: Vec<usize> = keys
        .iter()
        .enumerate()
        .filter(|(_, judged)| !judged.is_beaten)
        .filter(|(_, judged)| judged.figures.ceiling >= CEILING_MIN * most)
        .map(|(place, _)| place)
        .take(BEST_MAX)
        .collect();
    // Keys that are equal within what is told apart may beat one another in a circle.
    if best.is_empty() && !keys.is_empty() {
        best.push(0);
    }
    best
}
