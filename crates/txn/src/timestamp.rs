//! Timestamps: one number line on which every snapshot and every commit has its place.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use storage::env::Clock;

use crate::{Error, Result};

/// A point on the line. Commits have distinct ones; a snapshot sees the commits at or below its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// The greatest timestamp that a record may hold: a clock reaches it in 292,000 years, and as many lie
/// above it.
const RECORDED_MAX: Timestamp = Timestamp(u64::MAX / 2);

impl Timestamp {
    /// A timestamp from a record, which is damaged if no commit can have had it: later timestamps would
    /// have no room above it.
    pub(crate) fn recorded(self, record: impl FnOnce() -> String) -> Result<Self> {
        match self <= RECORDED_MAX {
            true => Ok(self),
            false => Err(Error::DamagedRecord { what: record() }),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// Where timestamps come from. On one machine a counter beside the clock; in a cluster, an oracle.
pub trait Timestamps: Send + Sync + fmt::Debug {
    /// A timestamp above every one that was handed out or observed before.
    fn next(&self) -> Timestamp;

    /// Makes sure that later timestamps are above `seen`, found in storage or told by a peer.
    fn observe(&self, seen: Timestamp);
}

/// The clock's microseconds, or one more than the last timestamp when the clock has not moved (or
/// was set back): unique and rising, and close enough to the time of day to be readable.
#[derive(Debug)]
pub struct HybridTimestamps {
    clock: Arc<dyn Clock>,
    last: AtomicU64,
}

impl HybridTimestamps {
    /// Timestamps beside `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            last: AtomicU64::new(0),
        }
    }
}

impl Timestamps for HybridTimestamps {
    fn next(&self) -> Timestamp {
        let now = self.clock.now_us().min(RECORDED_MAX.0);
        // It does not come to the end: what is observed ends half-way there.
        let after = |last: u64| now.max(last.saturating_add(1));
        let previous = self
            .last
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
                Some(after(last))
            })
            .expect("the update always answers");
        Timestamp(after(previous))
    }

    fn observe(&self, seen: Timestamp) {
        self.last.fetch_max(seen.0, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use storage::env::SimulatedClock;

    use super::*;

    #[test]
    fn timestamps_never_wrap() {
        let timestamps = HybridTimestamps::new(Arc::new(SimulatedClock::new(1)));
        timestamps.observe(Timestamp(u64::MAX - 1));
        for _ in 0..3 {
            assert_eq!(timestamps.next(), Timestamp(u64::MAX));
        }
    }
}
