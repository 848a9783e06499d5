//! The stamps of loads: when rows that were laid down early were really committed.
//!
//! A load writes its rows to the disk before it is its turn to commit, and a row carries its
//! timestamp. So the rows get a *stamp*, a timestamp that belongs to no commit, and the commit comes
//! later:
//!
//! ```text
//!              stamp @5               commit @9
//!   ────────────┼──────────┬─────────────┼──────────▶ timestamps
//!   rows laid down, @5     │             they appear: [`Stamps`] says that @5 means @9
//!                     snapshot @7
//!                     must not see them, though 5 < 7
//! ```
//!
//! Whoever reads a version from storage asks here what its timestamp means. An entry is needed only
//! while a snapshot below the commit is read, so they are few, almost always none, and they need not
//! survive the process: snapshots do not either.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::Timestamp;

/// What the stamps of loads mean.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    commits: RwLock<BTreeMap<Timestamp, Timestamp>>,
    /// Lets readers pass without the lock while there is nothing to know.
    count: AtomicUsize,
}

impl Stamps {
    /// Rows stamped so were committed at `at`. To be told before they can be read.
    pub(crate) fn add(&self, stamp: Timestamp, at: Timestamp) {
        let mut commits = self.commits.write();
        commits.insert(stamp, at);
        self.count.store(commits.len(), Ordering::Release);
    }

    /// When what storage has under this timestamp was committed.
    #[inline]
    pub(crate) fn commit_of(&self, at: Timestamp) -> Timestamp {
        match self.count.load(Ordering::Acquire) {
            0 => at,
            _ => self.commits.read().get(&at).copied().unwrap_or(at),
        }
    }

    /// Forgets commits that every snapshot at or above the horizon sees.
    pub(crate) fn forget(&self, horizon: Timestamp) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut commits = self.commits.write();
        commits.retain(|_, at| *at > horizon);
        self.count.store(commits.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_means_its_commit_until_nobody_can_be_below_it() {
        let stamps = Stamps::default();
        let read = |at: u64| stamps.commit_of(Timestamp(at)).0;
        assert_eq!(read(5), 5);
        stamps.add(Timestamp(5), Timestamp(9));
        stamps.add(Timestamp(6), Timestamp(12));
        assert_eq!([read(4), read(5), read(6)], [4, 9, 12]);
        stamps.forget(Timestamp(8));
        assert_eq!(read(5), 9);
        stamps.forget(Timestamp(9));
        assert_eq!([read(5), read(6)], [5, 12]);
    }
}
