//! What the HISTORY space of an engine holds: how many replaced versions, and how many of them no snapshot
//! needs any more.
//!
//! ```text
//!   replaced until   @12   @40   @71        the horizon is at @45: 300 of 500 are garbage
//!   versions         100   200   200
//! ```
//!
//! They lie in the order of their keys, so removing some takes a scan of all. A scan is worth it when
//! enough of them are garbage, as a compaction is: however the horizon moves, scans look at no more than
//! [`SCANNED_PER_REMOVED`] versions for each that they remove. While an old snapshot holds the horizon
//! there is none.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::Timestamp;

/// How many versions a scan may look at for each that it removes.
const SCANNED_PER_REMOVED: usize = 4;

/// How many runs are told apart; with more, neighbours are joined.
const RUNS_MAX: usize = 1024;

/// The replaced versions in the HISTORY space of one engine. Never fewer than left memory for it, so that a
/// reader need not look when there are none.
#[derive(Debug, Default)]
pub(crate) struct Spilled {
    count: AtomicUsize,
    /// In the order of `until`, which is that in which versions spill.
    runs: Mutex<VecDeque<Run>>,
    scan: Mutex<()>,
}

/// Versions of which none was replaced after `until`.
#[derive(Clone, Copy, Debug)]
struct Run {
    until: Timestamp,
    count: usize,
}

impl Spilled {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// The right to scan the space and remove what is garbage: for one at a time.
    pub(crate) fn scan(&self) -> MutexGuard<'_, ()> {
        self.scan.lock()
    }

    /// So many were written, the last of which was replaced at `until`.
    pub(crate) fn add(&self, until: Timestamp, count: usize) {
        let mut runs = self.runs.lock();
        let newest = runs.back().map_or(until, |newest| newest.until.max(until));
        runs.push_back(Run {
            until: newest,
            count,
        });
        if runs.len() > RUNS_MAX {
            join_neighbours(&mut runs);
        }
        self.count.fetch_add(count, Ordering::AcqRel);
    }

    /// All that another engine holds may be here too.
    pub(crate) fn add_all(&self, other: &Self) {
        let runs = other.runs.lock().clone();
        for run in runs {
            self.add(run.until, run.count);
        }
    }

    /// So many of the oldest are gone.
    pub(crate) fn remove_oldest(&self, mut count: usize) {
        let mut runs = self.runs.lock();
        while let Some(oldest) = runs.front_mut().filter(|_| count > 0) {
            let gone = oldest.count.min(count);
            oldest.count -= gone;
            count -= gone;
            self.count.fetch_sub(gone, Ordering::AcqRel);
            if oldest.count == 0 {
                runs.pop_front();
            }
        }
    }

    /// Whether a scan would remove enough.
    pub(crate) fn is_worth_a_scan(&self, horizon: Timestamp) -> bool {
        if self.count() == 0 {
            return false;
        }
        let runs = self.runs.lock();
        let passed = runs.iter().take_while(|run| run.until <= horizon);
        let garbage: usize = passed.map(|run| run.count).sum();
        garbage > 0 && garbage.saturating_mul(SCANNED_PER_REMOVED) >= self.count()
    }
}

/// Makes one run of every two.
fn join_neighbours(runs: &mut VecDeque<Run>) {
    let mut apart = std::mem::take(runs);
    while let Some(older) = apart.pop_front() {
        runs.push_back(match apart.pop_front() {
            Some(newer) => Run {
                until: newer.until,
                count: older.count + newer.count,
            },
            None => older,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_worth_it_when_a_quarter_is_garbage() {
        let spilled = Spilled::default();
        assert!(!spilled.is_worth_a_scan(Timestamp(100)));
        for until in 1..=8 {
            spilled.add(Timestamp(until), 10);
        }
        assert!(!spilled.is_worth_a_scan(Timestamp(1)));
        assert!(spilled.is_worth_a_scan(Timestamp(2)));
        spilled.remove_oldest(20);
        assert!(!spilled.is_worth_a_scan(Timestamp(2)), "not twice");
        assert!(!spilled.is_worth_a_scan(Timestamp(3)));
        assert!(spilled.is_worth_a_scan(Timestamp(4)));
        spilled.remove_oldest(1000);
        assert_eq!(spilled.count(), 0);
    }

    #[test]
    fn many_small_runs_take_little_memory_and_lose_no_version() {
        let spilled = Spilled::default();
        let many = 10 * RUNS_MAX;
        for until in 0..many {
            spilled.add(Timestamp(u64::try_from(until).unwrap()), 1);
        }
        assert!(spilled.runs.lock().len() <= RUNS_MAX);
        let counted: usize = spilled.runs.lock().iter().map(|run| run.count).sum();
        assert_eq!((counted, spilled.count()), (many, many));
        let half = Timestamp(u64::try_from(many / 2).unwrap());
        assert!(spilled.is_worth_a_scan(half));
    }
}
