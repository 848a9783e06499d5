//! Memtables: which are sealed when, and when writers have to wait.
//!
//! fjall would seal a memtable that has grown past its size, one table at a time, by messages to its
//! own threads; many tables that are each a little below it together have no bound, a full channel of
//! messages stops those threads for good, and a writer that waits for them never looks up. So fjall is
//! told of no size, and the keeper ([`super::keeper`]) seals instead:
//!
//! ```text
//!   one space has grown past its size                      that one
//!   all spaces together hold more than their share         the largest
//!   one holds rows that many bytes of journal ago came     that one, so that the journal can go
//!   ...but none that has two sealed ones waiting, or too many runs on its first level
//!   ...and none that would be one more of very many spaces with runs there
//! ```
//!
//! Writers wait, here and where a failure wakes them, while all together hold too much, while one space
//! holds twice its size, or when the keeper has not looked for long. So they never come to the places
//! where fjall lets them wait: four sealed memtables, or twenty runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::SpaceId;

/// Sealed memtables of a space that wait for their flush.
const SEALED_MAX: usize = 2;

/// Runs on the first level of a space, from which on it is compacted before more come.
pub(super) const RUNS_MAX: usize = 16;

/// Spaces with runs on their first level, from which on some are flattened: their runs are merged into
/// the next level. When fjall opens, it asks its threads to compact each such space before it has
/// threads, and with more of them than requests have room (1,000) it would wait for ever.
const UNFLAT_MAX: usize = 600;

/// Spaces with runs on their first level, from which on no other gets its first.
const UNFLAT_LIMIT: usize = 900;

/// How often a writer that waits looks whether it still has to.
const WAIT: Duration = Duration::from_millis(50);

/// What a space has in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memtable {
    pub(super) space: SpaceId,
    /// Bytes that can be sealed.
    pub(super) active: u64,
    /// Bytes that are sealed, in how many memtables.
    pub(super) sealed: (u64, usize),
    /// Runs on its first level.
    pub(super) runs: usize,
    /// Bytes of journal since its oldest row that can be sealed.
    pub(super) age: u64,
}

/// How much memory writes may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) one: u64,
    pub(super) all: u64,
    pub(super) age: u64,
}

/// What is to be done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// The spaces to seal, the most urgent first.
    pub(super) seal: Vec<SpaceId>,
    /// Spaces whose first level is to be compacted.
    pub(super) compact: Vec<SpaceId>,
    /// How many spaces are to be flattened.
    pub(super) flatten: usize,
    /// Whether writers have to wait.
    pub(super) stall: bool,
}

/// Decides which memtables to seal.
pub(super) fn decide(memtables: &[Memtable], limits: Limits) -> Decision {
    let held: u64 = memtables.iter().map(|one| one.active + one.sealed.0).sum();
    let mut decision = Decision {
        stall: held >= limits.all || memtables.iter().any(|one| one.active >= 2 * limits.one),
        ..Decision::default()
    };
    let crowded = |one: &Memtable| one.runs >= RUNS_MAX;
    decision.compact = memtables
        .iter()
        .filter(|one| crowded(one))
        .map(|one| one.space)
        .collect();
    let mut ready: Vec<_> = memtables
        .iter()
        .filter(|one| one.active > 0 && one.sealed.1 < SEALED_MAX && !crowded(one))
        .collect();
    ready.sort_unstable_by_key(|one| std::cmp::Reverse((one.active, one.space)));
    let is_unflat = |one: &Memtable| one.runs > 0 || one.sealed.1 > 0;
    let mut unflat = memtables.iter().filter(|one| is_unflat(one)).count();
    decision.flatten = unflat.saturating_sub(UNFLAT_MAX);
    // What is sealed already will be gone soon.
    let mut active: u64 = memtables.iter().map(|one| one.active).sum();
    for one in ready {
        let wanted = one.active >= limits.one || one.age >= limits.age || active > limits.all / 2;
        if wanted && (is_unflat(one) || unflat < UNFLAT_LIMIT) {
            unflat += usize::from(!is_unflat(one));
            active -= one.active;
            decision.seal.push(one.space);
        }
    }
    decision
}

/// What writers and the keeper tell each other.
#[derive(Debug)]
pub(super) struct Pressure {
    /// Bytes that were written since the keeper looked.
    unseen: AtomicU64,
    /// Bytes in memtables when it looked.
    held: AtomicU64,
    stalled: AtomicBool,
    /// Whether all memtables are to be sealed.
    seal_all: AtomicBool,
    look_bytes: u64,
    /// Whether the keeper is asked to look, and whether it is asked to end.
    asked: Mutex<Asked>,
    wake: Condvar,
    eased: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    look: bool,
    end: bool,
}

impl Pressure {
    /// None yet; the keeper is asked to look each time so many bytes were written.
    pub(super) fn new(look_bytes: u64) -> Self {
        Self {
            unseen: AtomicU64::new(0),
            held: AtomicU64::new(0),
            stalled: AtomicBool::new(false),
            seal_all: AtomicBool::new(false),
            look_bytes,
            asked: Mutex::default(),
            wake: Condvar::new(),
            eased: Condvar::new(),
        }
    }

    /// Bytes in memtables, at most.
    pub(super) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed) + self.unseen.load(Ordering::Relaxed)
    }

    /// Tells that so many bytes were written.
    pub(super) fn wrote(&self, bytes: u64) {
        let unseen = self.unseen.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if unseen >= self.look_bytes {
            self.ask_to_look();
        }
    }

    /// Asks for all memtables to be sealed: a journal goes when all that it holds is in tables, and until
    /// then it keeps the files of dropped spaces.
    pub(super) fn ask_to_seal_all(&self) {
        self.seal_all.store(true, Ordering::Release);
        self.ask_to_look();
    }

    /// Whether all memtables are to be sealed, asked once.
    pub(super) fn seals_all(&self) -> bool {
        self.seal_all.swap(false, Ordering::AcqRel)
    }

    pub(super) fn ask_to_look(&self) {
        self.asked.lock().look = true;
        self.wake.notify_one();
    }

    pub(super) fn ask_to_end(&self) {
        self.asked.lock().end = true;
        self.wake.notify_one();
    }

    /// Waits until the keeper has something to do, at most so long. Answers false when it shall end.
    pub(super) fn rest(&self, most: Duration) -> bool {
        let mut asked = self.asked.lock();
        if !asked.look && !asked.end {
            self.wake.wait_for(&mut asked, most);
        }
        asked.look = false;
        !asked.end
    }

    /// Whether a writer may go on.
    pub(super) fn is_low(&self) -> bool {
        !self.stalled.load(Ordering::Acquire)
            && self.unseen.load(Ordering::Relaxed) < self.look_bytes.saturating_mul(8)
    }

    /// Waits for the keeper to look once more, or a little.
    pub(super) fn rest_a_little(&self) {
        let mut asked = self.asked.lock();
        asked.look = true;
        self.wake.notify_one();
        self.eased.wait_for(&mut asked, WAIT);
    }

    /// Bytes written that the next look takes account of.
    pub(super) fn begin_look(&self) -> u64 {
        self.unseen.swap(0, Ordering::Relaxed)
    }

    /// Tells writers what the look found.
    pub(super) fn end_look(&self, held: u64, stalled: bool) {
        self.held.store(held, Ordering::Relaxed);
        self.stalled.store(stalled, Ordering::Release);
        self.ease();
    }

    /// Wakes those that wait, to look again.
    pub(super) fn ease(&self) {
        let _asked = self.asked.lock();
        self.eased.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        one: 100,
        all: 1_000,
        age: 5_000,
    };

    fn memtable(space: u64, active: u64) -> Memtable {
        Memtable {
            space: SpaceId(space),
            active,
            sealed: (0, 0),
            runs: 0,
            age: 0,
        }
    }

    #[test]
    fn a_full_memtable_is_sealed() {
        let decision = decide(&[memtable(1, 99), memtable(2, 100)], LIMITS);
        assert_eq!(decision.seal, [SpaceId(2)]);
        assert!(!decision.stall);
    }

    #[test]
    fn many_small_ones_are_sealed_from_the_largest_on() {
        let many: Vec<_> = (0..20).map(|space| memtable(space, 20 + space)).collect();
        let decision = decide(&many, LIMITS);
        assert_eq!(decision.seal.first(), Some(&SpaceId(19)));
        let sealed: u64 = decision.seal.iter().map(|space| 20 + space.0).sum();
        let all: u64 = many.iter().map(|one| one.active).sum();
        assert!(all - sealed <= LIMITS.all / 2, "{sealed} of {all}");
        assert!(decision.seal.len() < many.len());
    }

    #[test]
    fn an_old_one_is_sealed_however_small() {
        let old = Memtable {
            age: 5_000,
            ..memtable(1, 1)
        };
        assert_eq!(decide(&[old, memtable(2, 1)], LIMITS).seal, [SpaceId(1)]);
    }

    #[test]
    fn one_that_cannot_be_flushed_stalls_writers_at_twice_its_size() {
        let waiting = Memtable {
            sealed: (200, 2),
            ..memtable(1, 199)
        };
        let decision = decide(&[waiting], LIMITS);
        assert_eq!((decision.seal.len(), decision.stall), (0, false));
        let crowded = Memtable {
            runs: RUNS_MAX,
            ..memtable(1, 200)
        };
        let decision = decide(&[crowded], LIMITS);
        assert_eq!((decision.seal.len(), decision.stall), (0, true));
        assert_eq!(decision.compact, [SpaceId(1)]);
    }

    proptest! {
        /// Wherever writers have to wait, something is under way that ends it.
        #[test]
        fn nothing_stalls_for_nothing(
            memtables in prop::collection::vec((0_u64..400, 0_u64..300, 0_usize..3, 0_usize..20), 0..30),
        ) {
            let memtables: Vec<_> = (0..)
                .zip(memtables)
                .map(|(space, (active, sealed, count, runs))| Memtable {
                    sealed: (sealed * u64::try_from(count).unwrap(), count),
                    runs,
                    ..memtable(space, active)
                })
                .collect();
            let decision = decide(&memtables, LIMITS);
            let flushing = memtables.iter().any(|one| one.sealed.1 > 0);
            prop_assert!(
                !decision.stall
                    || flushing
                    || !decision.seal.is_empty()
                    || !decision.compact.is_empty()
            );
        }

        /// What stays after the sealing is within bounds, unless flushes are waited for.
        #[test]
        fn what_is_left_is_bounded(sizes in prop::collection::vec(0_u64..100, 0..200)) {
            let memtables: Vec<_> = (0..).zip(sizes).map(|(space, size)| memtable(space, size)).collect();
            let seal = decide(&memtables, LIMITS).seal;
            let left: u64 = memtables
                .iter()
                .filter(|one| !seal.contains(&one.space))
                .map(|one| one.active)
                .sum();
            prop_assert!(left <= LIMITS.all / 2);
        }
    }
}
