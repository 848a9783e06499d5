//! What is counted of the statements that were run, for `sys.statement_stats`.
//!
//! ```text
//!   text ─► fingerprint ─► Tally      found once, when a statement is prepared
//!                            ▲
//!   each run ────────────────┘        a handful of additions, and no lock
//! ```
//!
//! There are at most [`STATEMENTS_MAX`] tallies. When there would be more, those that were used least
//! recently go, several at once, so that texts which are all different do not look for the oldest each
//! time. A statement that is still prepared then keeps its tally, from zero, and brings it back when it
//! is run again.
//!
//! Counts are relaxed: a reader may see a run in one of them and not yet in another.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// Statements that are counted.
pub const STATEMENTS_MAX: usize = 1_000;
/// How many go at once.
const FORGOTTEN_AT_ONCE: usize = 50;
/// How much of a statement's text is kept.
const TEXT_BYTES_MAX: usize = 1_024;

/// The tallies of a database.
#[derive(Debug, Default)]
pub struct Statements {
    tallies: Mutex<HashMap<u64, Arc<Tally>>>,
}

/// What is counted of all runs of one statement.
#[derive(Debug)]
pub struct Tally {
    fingerprint: u64,
    text: Box<str>,
    used_ns: AtomicU64,
    gone: AtomicBool,
    counts: Counts,
    /// Transactions that began with it since one of them was recorded, and when the next may be.
    passed: AtomicU64,
    due_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct Counts {
    calls: AtomicU64,
    errors: AtomicU64,
    rows: AtomicU64,
    took_ns: AtomicU64,
    took_ns_max: AtomicU64,
    /// Calls that touched a partition, those that touched only one, and how many all of them touched.
    touching: AtomicU64,
    single: AtomicU64,
    partitions: AtomicU64,
    partitions_max: AtomicU64,
    rows_read: AtomicU64,
}

/// One run of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// When it ended, by the clock that never goes back.
    pub ended_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// Rows that it answered with or wrote.
    pub rows: u64,
    /// Partitions that it touched; none if it was not found out.
    pub partitions: u64,
    /// Rows that it went over; none if it was not found out.
    pub rows_read: u64,
    /// Whether it ended with an error.
    pub failed: bool,
}

/// How far the runs of a statement reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Runs that touched a partition.
    pub calls: u64,
    /// Partitions that they touched.
    pub partitions: u64,
    /// Rows that they went over.
    pub rows_read: u64,
}

/// What was counted of a statement until now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) fingerprint: u64,
    pub(crate) text: String,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) rows: u64,
    pub(crate) took_ns: u64,
    pub(crate) took_ns_max: u64,
    pub(crate) touching: u64,
    pub(crate) single: u64,
    pub(crate) partitions: u64,
    pub(crate) partitions_max: u64,
}

impl Statements {
    /// The tally of a statement by its fingerprint and the text of that.
    pub fn tally(&self, fingerprint: u64, text: &str, now_ns: u64) -> Arc<Tally> {
        let mut tallies = self.tallies.lock();
        if let Some(tally) = tallies.get(&fingerprint) {
            tally.used_ns.store(now_ns, Ordering::Relaxed);
            return Arc::clone(tally);
        }
        let tally = Arc::new(Tally::new(fingerprint, text, now_ns));
        keep(&mut tallies, &tally);
        tally
    }

    /// Where a run of a statement is counted whose tally may have gone since it was prepared.
    #[inline]
    pub fn current(&self, tally: &Arc<Tally>) -> Arc<Tally> {
        match tally.gone.load(Ordering::Relaxed) {
            true => self.bring_back(tally),
            false => Arc::clone(tally),
        }
    }

    #[cold]
    fn bring_back(&self, tally: &Arc<Tally>) -> Arc<Tally> {
        let mut tallies = self.tallies.lock();
        if let Some(other) = tallies.get(&tally.fingerprint) {
            return Arc::clone(other);
        }
        tally.gone.store(false, Ordering::Relaxed);
        keep(&mut tallies, tally);
        Arc::clone(tally)
    }

    /// Forgets what was counted.
    pub fn reset(&self) {
        self.tallies.lock().values().for_each(|tally| tally.zero());
    }

    /// How far the runs of a statement reached, if it is counted.
    pub fn reach(&self, fingerprint: u64) -> Option<Reach> {
        let tallies = self.tallies.lock();
        let counts = &tallies.get(&fingerprint)?.counts;
        Some(Reach {
            calls: counts.touching.load(Ordering::Relaxed),
            partitions: counts.partitions.load(Ordering::Relaxed),
            rows_read: counts.rows_read.load(Ordering::Relaxed),
        })
    }

    /// What was counted, of the statements that were run.
    pub(crate) fn all(&self) -> Vec<Counted> {
        let tallies = self.tallies.lock();
        let counted = tallies.values().map(|tally| tally.counted());
        counted.filter(|counted| counted.calls > 0).collect()
    }
}

/// Adds a tally, and makes room for it if there is none.
fn keep(tallies: &mut HashMap<u64, Arc<Tally>>, tally: &Arc<Tally>) {
    if tallies.len() >= STATEMENTS_MAX {
        let used = |tally: &Arc<Tally>| tally.used_ns.load(Ordering::Relaxed);
        let mut oldest: Vec<_> = tallies
            .values()
            .map(|tally| (used(tally), tally.fingerprint))
            .collect();
        oldest.sort_unstable();
        for (_, fingerprint) in oldest.into_iter().take(FORGOTTEN_AT_ONCE) {
            if let Some(tally) = tallies.remove(&fingerprint) {
                tally.gone.store(true, Ordering::Relaxed);
                tally.zero();
            }
        }
    }
    tallies.insert(tally.fingerprint, Arc::clone(tally));
}

impl Tally {
    fn new(fingerprint: u64, text: &str, now_ns: u64) -> Self {
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        let text = text.split_at_checked(end).map_or(text, |(start, _)| start);
        Self {
            fingerprint,
            text: text.into(),
            used_ns: AtomicU64::new(now_ns),
            gone: AtomicBool::new(false),
            counts: Counts::default(),
            passed: AtomicU64::new(0),
            due_ns: AtomicU64::new(0),
        }
    }

    /// What all its runs share.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The text of that.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Counts a transaction that begins with this statement. If it is its turn to be recorded, which
    /// comes after `rest_ns` or so if `is_room`, tells how many it stands for.
    #[inline]
    pub fn turn(&self, now_ns: u64, rest_ns: u64, is_room: impl FnOnce() -> bool) -> Option<u64> {
        self.passed.fetch_add(1, Ordering::Relaxed);
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        if now_ns < due_ns || !is_room() {
            return None;
        }
        // What comes at fixed times must not always come between two turns.
        let scattered = now_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let next_ns = now_ns + rest_ns / 2 + scattered % rest_ns.max(1);
        let order = Ordering::Relaxed;
        let taken = self.due_ns.compare_exchange(due_ns, next_ns, order, order);
        taken.ok()?;
        Some(self.passed.swap(0, Ordering::Relaxed).max(1))
    }

    /// Counts a run.
    pub fn add(&self, call: Call) {
        let counts = &self.counts;
        self.used_ns.store(call.ended_ns, Ordering::Relaxed);
        counts.calls.fetch_add(1, Ordering::Relaxed);
        counts.took_ns.fetch_add(call.took_ns, Ordering::Relaxed);
        raise(&counts.took_ns_max, call.took_ns);
        if call.rows > 0 {
            counts.rows.fetch_add(call.rows, Ordering::Relaxed);
        }
        if call.failed {
            counts.errors.fetch_add(1, Ordering::Relaxed);
        }
        if call.partitions > 0 {
            counts.touching.fetch_add(1, Ordering::Relaxed);
            let partitions = &counts.partitions;
            partitions.fetch_add(call.partitions, Ordering::Relaxed);
            raise(&counts.partitions_max, call.partitions);
        }
        if call.rows_read > 0 {
            counts
                .rows_read
                .fetch_add(call.rows_read, Ordering::Relaxed);
        }
        if call.partitions == 1 {
            counts.single.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn zero(&self) {
        for count in self.counts.each() {
            count.store(0, Ordering::Relaxed);
        }
    }

    fn counted(&self) -> Counted {
        let [
            calls,
            errors,
            rows,
            took_ns,
            took_ns_max,
            touching,
            single,
            partitions,
            partitions_max,
            _,
        ] = self.counts.each().map(|one| one.load(Ordering::Relaxed));
        Counted {
            fingerprint: self.fingerprint,
            text: self.text.to_string(),
            calls,
            errors,
            rows,
            took_ns,
            took_ns_max,
            touching,
            single,
            partitions,
            partitions_max,
        }
    }
}

impl Counts {
    fn each(&self) -> [&AtomicU64; 10] {
        [
            &self.calls,
            &self.errors,
            &self.rows,
            &self.took_ns,
            &self.took_ns_max,
            &self.touching,
            &self.single,
            &self.partitions,
            &self.partitions_max,
            &self.rows_read,
        ]
    }
}

/// Raises a maximum, which is seldom higher than before: looking is cheaper than writing.
fn raise(most: &AtomicU64, value: u64) {
    if most.load(Ordering::Relaxed) < value {
        most.fetch_max(value, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(ended_ns: u64) -> Call {
        Call {
            ended_ns,
            took_ns: 10,
            rows: 2,
            partitions: 1,
            rows_read: 5,
            failed: false,
        }
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let statements = Statements::default();
        let most = u64::try_from(STATEMENTS_MAX).unwrap();
        let first = statements.tally(0, "SELECT ?", 0);
        for number in 1..most {
            let tally = statements.tally(number, "SELECT ?", number);
            tally.add(call(number));
        }
        // The oldest by its preparation, and the newest by its use.
        first.add(call(most));
        assert_eq!(statements.all().len(), STATEMENTS_MAX);

        for number in most..3 * most {
            let tally = statements.tally(number, "SELECT ?", number + 1);
            tally.add(call(number + 1));
            assert!(statements.all().len() <= STATEMENTS_MAX);
            first.add(call(number + 1));
        }
        let left = statements.all();
        assert!(left.len() > STATEMENTS_MAX - FORGOTTEN_AT_ONCE);
        assert!(left.iter().any(|one| one.fingerprint == 0));
        assert!(left.iter().any(|one| one.fingerprint == 3 * most - 1));
        assert!(left.iter().all(|one| !(1..most).contains(&one.fingerprint)));
    }

    #[test]
    fn a_statement_that_is_still_prepared_comes_back_from_zero() {
        let statements = Statements::default();
        let old = statements.tally(7, "SELECT ?", 0);
        old.add(call(1));
        for number in 1_000..=1_000 + u64::try_from(STATEMENTS_MAX).unwrap() {
            statements.tally(number, "SELECT ?", number);
        }
        assert!(statements.all().is_empty());

        statements.current(&old).add(call(5_000));
        let all = statements.all();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].calls, 1);
        assert!(Arc::ptr_eq(&old, &statements.tally(7, "SELECT ?", 5_001)));
    }

    #[test]
    fn one_fingerprint_has_one_tally_after_it_went() {
        let statements = Statements::default();
        let old = statements.tally(7, "SELECT ?", 0);
        for number in 1_000..=1_000 + u64::try_from(STATEMENTS_MAX).unwrap() {
            statements.tally(number, "SELECT ?", number);
        }
        let new = statements.tally(7, "SELECT ?", 5_000);
        assert!(Arc::ptr_eq(&new, &statements.current(&old)));
    }

    #[test]
    fn turns_stand_for_all_that_passed_and_keep_their_distance() {
        let statements = Statements::default();
        let tally = statements.tally(7, "SELECT ?", 0);
        let mut turns = Vec::new();
        for now_ns in 0..100_000_u64 {
            turns.extend(
                tally
                    .turn(now_ns, 1_000, || true)
                    .map(|stands| (now_ns, stands)),
            );
        }
        assert_eq!(turns[0], (0, 1));
        let stood: u64 = turns.iter().map(|(_, stands)| stands).sum();
        assert_eq!(stood, turns.last().unwrap().0 + 1);
        let gaps = turns.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let gaps: Vec<u64> = gaps.collect();
        assert!(
            gaps.iter().all(|gap| (500..1_500).contains(gap)),
            "{gaps:?}"
        );
        assert!(gaps.iter().any(|gap| *gap != gaps[0]));

        let last = tally.turn(200_000, 1_000, || false);
        assert_eq!(last, None);
        let left = 100_000 - stood + 2;
        assert_eq!(tally.turn(200_001, 1_000, || true), Some(left));
    }

    #[test]
    fn calls_add_up_and_a_reset_forgets_them() {
        let statements = Statements::default();
        let tally = statements.tally(7, &"é".repeat(TEXT_BYTES_MAX), 0);
        tally.add(call(1));
        tally.add(Call {
            took_ns: 30,
            partitions: 3,
            failed: true,
            ..call(2)
        });
        tally.add(Call {
            partitions: 0,
            ..call(3)
        });
        let expected = Counted {
            fingerprint: 7,
            text: "é".repeat(TEXT_BYTES_MAX / 2),
            calls: 3,
            errors: 1,
            rows: 6,
            took_ns: 50,
            took_ns_max: 30,
            touching: 2,
            single: 1,
            partitions: 4,
            partitions_max: 3,
        };
        assert_eq!(statements.all(), [expected]);
        let reach = Reach {
            calls: 2,
            partitions: 4,
            rows_read: 15,
        };
        assert_eq!(statements.reach(7), Some(reach));
        statements.reset();
        assert_eq!(statements.all(), []);
    }
}
