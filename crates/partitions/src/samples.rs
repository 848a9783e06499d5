//! [`Samples`]: a fair picture of the recent load on one partition in 256 whole transactions.
//!
//! The unit is the transaction, not the key, because a split is good only if it does not tear
//! transactions apart, and only a whole footprint shows that.
//!
//! ```text
//!   weight     what a transaction cost here, fading with a half-life of a minute
//!   priority   weight / u,  u uniform in (0, 1]: one draw per transaction
//!   kept       the 256 highest priorities
//!   threshold  the highest priority that was ever let go
//!   estimate   a kept transaction stands for max(weight, threshold)
//! ```
//!
//! This is priority sampling: the estimates of any group of keys add up to its true weight on
//! average, whether three transactions came or three million, and a heavy transaction is never
//! overstated. Fading uses forward decay: instead of shrinking old weights, each new weight is
//! larger by e^(age of the clock), so nothing is ever rewritten. Everything is kept as logarithms,
//! which grow by 0.7 a minute and never overflow.
//!
//! Arrival order is kept, because a tail (each insert above all before it) shows only in order.

use bytes::Bytes;
use storage::env::Random;

/// How many transactions are kept.
pub const SAMPLES_MAX: usize = 256;
/// How many accesses of one transaction are kept.
pub const ACCESSES_MAX: usize = 64;
/// After this time a transaction weighs half.
pub const HALF_LIFE_US: u64 = 60_000_000;

/// What one transaction did in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The transaction's number.
    pub txn: u64,
    /// Whether it touched another partition as well: a cut cannot make that worse.
    pub multi_partition: bool,
    /// What it accessed here, in order.
    pub accesses: Vec<Access>,
}

/// One access of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// What was done.
    pub kind: AccessKind,
    /// The key, or the lower bound of a scan.
    pub key: Bytes,
    /// The upper bound of a scan, out of it; `None` for a scan without end and for anything else.
    pub upper: Option<Bytes>,
    /// What it cost, in microseconds or any other unit used for all accesses alike.
    pub cost: u32,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads one key.
    Read,
    /// Writes or deletes one key.
    Write,
    /// Reads a range of keys.
    Scan,
}

/// A transaction that was kept.
#[derive(Clone, Debug)]
struct Kept {
    footprint: Footprint,
    arrival: u64,
    weight_ln: f64,
    priority_ln: f64,
}

/// The reservoir.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: Vec<Kept>,
    /// The lowest priority of a full reservoir and where it stands, so that most offers cost one
    /// comparison.
    lowest: Option<(usize, f64)>,
    arrivals: u64,
    threshold_ln: Option<f64>,
    origin_us: Option<u64>,
}

/// A kept transaction and how much load it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// What it did.
    pub footprint: &'a Footprint,
    /// The load it stands for now, in the unit of the costs.
    pub weight: f64,
    /// What it adds to the variance of a sum of such loads.
    pub variance: f64,
}

impl Samples {
    /// An empty reservoir.
    pub fn new() -> Self {
        Self::default()
    }

    /// Offers a transaction.
    pub fn offer(&mut self, footprint: Footprint, now_us: u64, random: &dyn Random) {
        let cost = footprint
            .accesses
            .iter()
            .fold(0, |sum: u32, one| sum.saturating_add(one.cost));
        self.offer_with(cost, now_us, random, || footprint);
    }

    /// Offers a transaction whose footprint is built only if it is taken.
    pub fn offer_with(
        &mut self,
        cost: u32,
        now_us: u64,
        random: &dyn Random,
        footprint: impl FnOnce() -> Footprint,
    ) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let weight_ln = f64::from(cost.max(1)).ln() + self.clock_ln(now_us);
        let priority_ln = weight_ln - unit(random).ln();
        if let Some((at, lowest_ln)) = self.lowest {
            let loser_ln = lowest_ln.min(priority_ln);
            self.threshold_ln = Some(self.threshold_ln.map_or(loser_ln, |t| t.max(loser_ln)));
            if priority_ln <= lowest_ln {
                return;
            }
            self.kept.swap_remove(at);
        }
        let mut footprint = footprint();
        thin(&mut footprint.accesses);
        self.kept.push(Kept {
            footprint,
            arrival,
            weight_ln,
            priority_ln,
        });
        self.lowest = self.find_lowest();
    }

    /// The kept transactions in the order they came.
    pub fn in_order(&self, now_us: u64) -> Vec<Sample<'_>> {
        let clock_ln = self.age_ln(now_us);
        let mut kept: Vec<&Kept> = self.kept.iter().collect();
        kept.sort_by_key(|one| one.arrival);
        kept.into_iter()
            .map(|one| {
                let stands_for = self
                    .threshold_ln
                    .map_or(one.weight_ln, |t| t.max(one.weight_ln));
                let own = (one.weight_ln - clock_ln).exp();
                let weight = (stands_for - clock_ln).exp();
                Sample {
                    footprint: &one.footprint,
                    weight,
                    variance: weight * (weight - own),
                }
            })
            .collect()
    }

    /// How many transactions are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none are kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The first to go, once there is no room.
    fn find_lowest(&self) -> Option<(usize, f64)> {
        if self.kept.len() < SAMPLES_MAX {
            return None;
        }
        let priorities = self.kept.iter().map(|kept| kept.priority_ln).enumerate();
        priorities.min_by(|one, two| one.1.total_cmp(&two.1))
    }

    fn clock_ln(&mut self, now_us: u64) -> f64 {
        self.origin_us.get_or_insert(now_us);
        self.age_ln(now_us)
    }

    fn age_ln(&self, now_us: u64) -> f64 {
        let age_us = now_us.saturating_sub(self.origin_us.unwrap_or(now_us));
        as_float(age_us) / as_float(HALF_LIFE_US) * std::f64::consts::LN_2
    }
}

/// Uniform in (0, 1].
fn unit(random: &dyn Random) -> f64 {
    const STEPS: u64 = 1 << 53;
    as_float(random.below(STEPS) + 1) / as_float(STEPS)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times and draws keep the digits that matter"
)]
fn as_float(number: u64) -> f64 {
    number as f64
}

/// Keeps the lowest and the highest key, an even choice of the others, and the cost of all.
fn thin(accesses: &mut Vec<Access>) {
    if accesses.len() <= ACCESSES_MAX {
        return;
    }
    let numbered = || accesses.iter().enumerate();
    let lowest = numbered().min_by_key(|(_, one)| &one.key).map(|(at, _)| at);
    let highest = numbered().max_by_key(|(_, one)| &one.key).map(|(at, _)| at);
    // Two places are left for the extremes.
    let stride = accesses.len().div_ceil(ACCESSES_MAX - 2);
    let mut kept: Vec<Access> = Vec::with_capacity(ACCESSES_MAX);
    for (at, access) in accesses.drain(..).enumerate() {
        let chosen = at % stride == 0 || Some(at) == lowest || Some(at) == highest;
        match kept.last_mut() {
            Some(last) if !chosen => last.cost = last.cost.saturating_add(access.cost),
            _ => kept.push(access),
        }
    }
    *accesses = kept;
}
