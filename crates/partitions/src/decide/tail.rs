//! Finding a tail: writes that each land beyond every key written before.
//!
//! ```text
//!   arrival      1    2    3    4    5    6    7     highest so far   beyond it
//!   /2026-01-01  ●                                   1
//!   /2026-01-02       ●                              2                yes
//!   /2026-01-04            ●                         4                yes
//!   /2026-01-03                 ●                    4                no
//!   /2026-01-05                      ●    …          5                yes
//! ```
//!
//! Of keys in random order only about ln(n) of n are beyond all before them: 6 in 256. The whole
//! encoded key is compared, so `(tenant, time)` with many tenants is no tail, and with one it is.

use bytes::Bytes;

use super::settings::{TAIL_WRITES_MIN, TAIL_WRITES_SHARE};
use crate::Share;
use crate::samples::{AccessKind, Sample};

/// Which way a tail grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// New keys are above all old ones.
    Up,
    /// New keys are below all old ones.
    Down,
}

/// A tail that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) direction: Direction,
    /// The share of the writes that were beyond all before them.
    pub(super) share: Share,
}

/// Looks for a tail in samples in arrival order.
pub(super) fn find(samples: &[Sample<'_>]) -> Option<Tail> {
    let accesses = samples.iter().flat_map(|sample| &sample.footprint.accesses);
    let mut writes = accesses
        .filter(|one| one.kind == AccessKind::Write)
        .map(|one| &one.key);
    let first = writes.next()?;
    let (mut lowest, mut highest) = (first, first);
    let (mut count, mut above, mut below) = (1, 0, 0);
    for key in writes {
        count += 1;
        if beyond(&mut highest, key, |key, highest| key > highest) {
            above += 1;
        } else if beyond(&mut lowest, key, |key, lowest| key < lowest) {
            below += 1;
        }
    }
    let (direction, hits) = match above >= below {
        true => (Direction::Up, above),
        false => (Direction::Down, below),
    };
    let share = Share::of(hits, count - 1);
    let enough = usize::try_from(count).is_ok_and(|count| count >= TAIL_WRITES_MIN);
    (enough && share > TAIL_WRITES_SHARE).then_some(Tail { direction, share })
}

/// Moves a bound if the key is beyond it; answers whether it was.
fn beyond<'a>(
    bound: &mut &'a Bytes,
    key: &'a Bytes,
    is_beyond: impl Fn(&Bytes, &Bytes) -> bool,
) -> bool {
    let moved = is_beyond(key, bound);
    if moved {
        *bound = key;
    }
    moved
}
