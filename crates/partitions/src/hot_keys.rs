//! Which keys make a table hot: rows, or everything below the first columns of a key.
//!
//! ```text
//!   samples     /7/10  /7/11  /7/12  /8/10  /7/13     of (userid, time)
//!   one column  /7  80 %   /8  20 %                   a hot user …
//!   two columns /7/10  20 %   /7/11  20 %   …         … and not a hot row
//! ```
//!
//! The samples are there already, for the decider: a priority sample of whole transactions, weighed by
//! what they cost and fading with a half-life of a minute. So nothing is counted on the way of a
//! request. Every kept transaction stands for as many as it must to be right on average, and the
//! sampling also tells how far off that may be: a kept one of weight w below the threshold t adds
//! t (t − w) to the variance.
//!
//! ```text
//!   lower   estimate − 2 √variance
//!   upper   estimate + 2 √(variance + u²) + 2 u      u: the largest t − w, what one more would add
//! ```
//!
//! Below, two standard errors are enough. Above they are not: a key that was sampled too seldom has
//! too small a variance as well, so the bound is the share at which so few samples would still be
//! within two standard errors. Of twenty keys that are told, the true shares of at least nineteen lie
//! between their bounds; a law in the tests says so for even and for skewed streams.
//!
//! A scan counts for a prefix if all of it lies below the prefix. Roads not taken: SpaceSaving over
//! all accesses bounds the error as well, at the price of a locked table on the way of each of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use keys::key::{columns, prefix_upper_bound};

use crate::Share;
use crate::samples::{Access, AccessKind, Sample, Samples};

/// How many keys of each length are told.
pub const HOT_KEYS_MAX: usize = 16;
/// A key with less of the load than this is not told.
pub const HOT_KEY_SHARE_MIN: Share = Share::percent(1);
/// A key seen in fewer sampled transactions than this is not told.
pub const HOT_KEY_SAMPLES_MIN: usize = 4;

/// A key, or the first columns of keys, and how much of a table's load goes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotKey {
    /// The key, or its first columns.
    pub prefix: Bytes,
    /// How many columns these are.
    pub columns: usize,
    /// The share of the load.
    pub share: Share,
    /// The least and the most it may be, for nineteen keys of twenty.
    pub bounds: (Share, Share),
    /// The share of it that is writing.
    pub writes: Share,
    /// How many sampled transactions it was seen in.
    pub samples: usize,
}

#[derive(Default)]
struct Sum {
    weight: f64,
    writes: f64,
    variance: f64,
    /// What one more sample could add.
    unit: f64,
    samples: usize,
}

impl Sum {
    fn bounds(&self) -> (f64, f64) {
        let lower = self.weight - 2.0 * self.variance.sqrt();
        let spread = (self.variance + self.unit * self.unit).sqrt();
        (lower.max(0.0), self.weight + 2.0 * (spread + self.unit))
    }
}

/// The hottest keys and prefixes of a table, given the samples of its partitions: by number of
/// columns, then the hottest first.
pub fn hot_keys<'a>(partitions: impl IntoIterator<Item = &'a Samples>, now_us: u64) -> Vec<HotKey> {
    let mut total = 0.0;
    let mut sums = BTreeMap::<(usize, Bytes), Sum>::new();
    for samples in partitions {
        for sample in samples.in_order(now_us) {
            total += sample.weight;
            for (place, part) in parts(&sample) {
                let sum = sums.entry(place).or_default();
                sum.weight += sample.weight * part.all;
                sum.writes += sample.weight * part.writes;
                sum.variance += sample.variance * part.all * part.all;
                let unit = sample.variance / sample.weight.max(f64::MIN_POSITIVE);
                sum.unit = sum.unit.max(unit * part.all);
                sum.samples += 1;
            }
        }
    }
    let told = sums.into_iter().map(|((columns, prefix), sum)| {
        let (lower, upper) = sum.bounds();
        let of_all = |weight: f64| Share::of_weight(weight.min(total), total);
        HotKey {
            prefix,
            columns,
            share: of_all(sum.weight),
            bounds: (of_all(lower), of_all(upper)),
            writes: Share::of_weight(sum.writes, sum.weight),
            samples: sum.samples,
        }
    });
    let mut told: Vec<_> = told
        .filter(|one| one.share >= HOT_KEY_SHARE_MIN && one.samples >= HOT_KEY_SAMPLES_MIN)
        .collect();
    told.sort_by(|one, two| {
        let order = one.columns.cmp(&two.columns);
        order.then(two.share.cmp(&one.share))
    });
    let mut standing = (0, 0);
    told.retain(|one| {
        standing = match standing {
            (columns, count) if columns == one.columns => (columns, count + 1),
            _ => (one.columns, 1),
        };
        standing.1 <= HOT_KEYS_MAX
    });
    told
}

/// What part of a transaction's cost went to a prefix.
#[derive(Default)]
struct Part {
    all: f64,
    writes: f64,
}

fn parts(sample: &Sample<'_>) -> BTreeMap<(usize, Bytes), Part> {
    let accesses = &sample.footprint.accesses;
    let cost = |access: &Access| f64::from(access.cost.max(1));
    let all: f64 = accesses.iter().map(cost).sum();
    let mut parts = BTreeMap::<(usize, Bytes), Part>::new();
    for access in accesses {
        let share = cost(access) / all;
        for place in prefixes(access) {
            let part = parts.entry(place).or_default();
            part.all += share;
            if access.kind == AccessKind::Write {
                part.writes += share;
            }
        }
    }
    parts
}

/// The prefixes of an access, with how many columns they have.
fn prefixes(access: &Access) -> impl Iterator<Item = (usize, Bytes)> {
    let ends = columns(&access.key).map_while(|column| Some(column.ok()?.end));
    let within = |prefix: &[u8]| match (access.kind, &access.upper) {
        (AccessKind::Scan, Some(upper)) => upper.as_ref() <= prefix_upper_bound(prefix).as_slice(),
        (AccessKind::Scan, None) => false,
        _ => true,
    };
    (1..)
        .zip(ends)
        .map(|(count, end)| (count, access.key.slice(..end.min(access.key.len()))))
        .take_while(move |(_, prefix)| within(prefix))
}

#[cfg(test)]
mod tests {
    use keys::Value;
    use keys::key::encode_key;
    use storage::env::{Random, SeededRandom};

    use super::*;
    use crate::Footprint;

    fn key(user: u64, time: u64) -> Bytes {
        let values = [Value::Uint64(user), Value::Uint64(time)];
        encode_key(&values).unwrap().into()
    }

    fn offer(samples: &mut Samples, random: &SeededRandom, access: Access) {
        let footprint = Footprint {
            txn: 1,
            multi_partition: false,
            accesses: vec![access],
        };
        samples.offer(footprint, 0, random);
    }

    #[test]
    fn a_hot_user_is_told_from_a_hot_row_and_within_the_error() {
        let random = SeededRandom::new(3);
        let mut samples = Samples::new();
        for time in 0..20_000 {
            let user = if random.below(10) < 3 { 7 } else { 100 + time };
            let access = Access {
                kind: AccessKind::Write,
                key: key(user, time),
                upper: None,
                cost: 1 + u32::try_from(random.below(20)).unwrap(),
            };
            offer(&mut samples, &random, access);
        }
        let hot = hot_keys([&samples], 0);
        let [user] = hot.as_slice() else {
            panic!("only the user is hot: {hot:?}");
        };
        assert_eq!(
            (user.columns, keys::format_key(&user.prefix).as_str()),
            (1, "/7")
        );
        let (lower, upper) = user.bounds;
        let (few, some, many) = (Share::percent(20), Share::percent(30), Share::percent(40));
        assert!(few < lower && lower <= some, "{user:?}");
        assert!(some <= upper && upper < many, "{user:?}");
        assert_eq!(user.writes, Share::WHOLE);
    }

    #[test]
    fn a_scan_counts_for_what_holds_all_of_it() {
        let random = SeededRandom::new(3);
        let mut samples = Samples::new();
        for _ in 0..20 {
            let access = Access {
                kind: AccessKind::Scan,
                key: key(7, 5),
                upper: Some(key(7, 9)),
                cost: 5,
            };
            offer(&mut samples, &random, access);
        }
        let hot = hot_keys([&samples], 0);
        assert_eq!(hot.len(), 1, "{hot:?}");
        assert_eq!(keys::format_key(&hot[0].prefix), "/7");
        assert_eq!(hot[0].share, Share::WHOLE);
        assert_eq!(hot[0].bounds, (Share::WHOLE, Share::WHOLE));
    }

    /// A stream of keys: so many, of which the n-th comes 1 / n^skew as often as the first.
    struct Stream {
        below: Vec<f64>,
    }

    impl Stream {
        fn new(keys: u32, skew: f64) -> Self {
            let mut sum = 0.0;
            let often = (1..=keys).map(|n| f64::from(n).powf(-skew));
            let below = often.map(|often| {
                sum += often;
                sum
            });
            Self {
                below: below.collect(),
            }
        }

        fn draw(&self, random: &SeededRandom) -> u64 {
            let all = self.below.last().unwrap();
            let part = u32::try_from(random.below(1 << 31)).unwrap();
            let at = f64::from(part) / f64::from(1_u32 << 31) * all;
            u64::try_from(self.below.partition_point(|below| *below <= at)).unwrap()
        }
    }

    /// How many keys were told after one run of a stream, and of how many the true share lay outside
    /// of the bounds.
    fn told_and_wrong(stream: &Stream, seed: u64) -> (usize, usize) {
        let random = SeededRandom::new(seed);
        let mut samples = Samples::new();
        let mut truth = BTreeMap::<Bytes, f64>::new();
        for _ in 0..4_000 {
            let user = stream.draw(&random);
            let access = Access {
                kind: AccessKind::Read,
                key: encode_key(&[Value::Uint64(user)]).unwrap().into(),
                upper: None,
                cost: 1 + u32::try_from(random.below(20)).unwrap(),
            };
            *truth.entry(access.key.clone()).or_default() += f64::from(access.cost);
            offer(&mut samples, &random, access);
        }
        let all: f64 = truth.values().sum();
        let hot = hot_keys([&samples], 0);
        let wrong = hot.iter().filter(|one| {
            let share = truth[&one.prefix] / all;
            let (lower, upper) = one.bounds;
            share < lower.ratio() || upper.ratio() < share
        });
        (hot.len(), wrong.count())
    }

    #[test]
    fn true_shares_lie_within_the_bounds_of_nineteen_keys_of_twenty() {
        for (keys, skew) in [
            (20, 0.0),
            (50, 0.0),
            (1_000, 0.8),
            (1_000, 1.1),
            (1_000, 2.0),
        ] {
            let stream = Stream::new(keys, skew);
            let runs = (0..60).map(|seed| told_and_wrong(&stream, seed));
            let (told, wrong) = runs.fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
            assert!(told > 200, "{told} of {keys} keys, skew {skew}");
            assert!(
                wrong * 20 <= told,
                "{wrong} of {told}: {keys} keys, skew {skew}"
            );
        }
        // Where no key is hot hardly any is told.
        let even = Stream::new(1_000, 0.0);
        let told: usize = (0..60).map(|seed| told_and_wrong(&even, seed).0).sum();
        assert!(told < 60, "{told} keys told of an even stream");
    }
}
