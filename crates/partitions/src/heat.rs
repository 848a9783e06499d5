//! [`Heat`]: what is done to a partition, counted all the time because counting is cheap.
//!
//! ```text
//!   every access      ──► eleven relaxed atomics, only ever growing
//!   some transactions ──► a reservoir of whole footprints (samples.rs), behind a lock that nobody
//!                         waits for: if it is taken, that transaction goes unsampled
//!   every tick        ──► totals() minus the totals of the tick before = what happened since
//! ```
//!
//! The counters never reset, so any number of observers can each take their own differences. They
//! start at zero when the partition is made or the process starts.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use storage::env::Random;

use crate::samples::{Footprint, Samples};

/// The always-on counters of one partition.
#[derive(Debug, Default)]
pub struct Heat {
    reads: AtomicU64,
    writes: AtomicU64,
    scans: AtomicU64,
    scanned_rows: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    busy_ns: AtomicU64,
    commit_ns: AtomicU64,
    scan_ns: AtomicU64,
    single_partition_txns: AtomicU64,
    multi_partition_txns: AtomicU64,
    samples: Mutex<Samples>,
}

/// The counters of [`Heat`] at one instant, or what was added between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeatTotals {
    /// Rows read by key, found or not.
    pub reads: u64,
    /// Rows written or deleted.
    pub writes: u64,
    /// Ranges scanned.
    pub scans: u64,
    /// Rows that scans went over.
    pub scanned_rows: u64,
    /// Bytes of keys and values read.
    pub read_bytes: u64,
    /// Bytes of keys and values written.
    pub written_bytes: u64,
    /// Nanoseconds spent on the partition, over all threads: reading, and committing without the
    /// wait for the disk.
    pub busy_ns: u64,
    /// How much of that was committing.
    pub commit_ns: u64,
    /// And how much scanning.
    pub scan_ns: u64,
    /// Transactions that touched this partition and no other.
    pub single_partition_txns: u64,
    /// Transactions that touched others as well.
    pub multi_partition_txns: u64,
}

impl Heat {
    /// Adds what a statement or a commit did.
    pub fn add(&self, more: &HeatTotals) {
        for (counter, amount) in [
            (&self.reads, more.reads),
            (&self.writes, more.writes),
            (&self.scans, more.scans),
            (&self.scanned_rows, more.scanned_rows),
            (&self.read_bytes, more.read_bytes),
            (&self.written_bytes, more.written_bytes),
            (&self.busy_ns, more.busy_ns),
            (&self.commit_ns, more.commit_ns),
            (&self.scan_ns, more.scan_ns),
            (&self.single_partition_txns, more.single_partition_txns),
            (&self.multi_partition_txns, more.multi_partition_txns),
        ] {
            if amount != 0 {
                counter.fetch_add(amount, Ordering::Relaxed);
            }
        }
    }

    /// What was counted so far. The numbers are read one by one: an access that goes on meanwhile
    /// may be in some and not yet in others.
    pub fn totals(&self) -> HeatTotals {
        HeatTotals {
            reads: self.reads.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            scans: self.scans.load(Ordering::Relaxed),
            scanned_rows: self.scanned_rows.load(Ordering::Relaxed),
            read_bytes: self.read_bytes.load(Ordering::Relaxed),
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
            busy_ns: self.busy_ns.load(Ordering::Relaxed),
            commit_ns: self.commit_ns.load(Ordering::Relaxed),
            scan_ns: self.scan_ns.load(Ordering::Relaxed),
            single_partition_txns: self.single_partition_txns.load(Ordering::Relaxed),
            multi_partition_txns: self.multi_partition_txns.load(Ordering::Relaxed),
        }
    }

    /// Offers a finished transaction of this cost to the reservoir. `footprint` is called only if
    /// it is taken. Never waits.
    pub fn offer(
        &self,
        cost: u32,
        now_us: u64,
        random: &dyn Random,
        footprint: impl FnOnce() -> Footprint,
    ) {
        if let Some(mut samples) = self.samples.try_lock() {
            samples.offer_with(cost, now_us, random, footprint);
        }
    }

    /// A copy of the reservoir, for a decision.
    pub fn samples(&self) -> Samples {
        self.samples.lock().clone()
    }
}

impl HeatTotals {
    /// Both together.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        Self {
            reads: self.reads.saturating_add(more.reads),
            writes: self.writes.saturating_add(more.writes),
            scans: self.scans.saturating_add(more.scans),
            scanned_rows: self.scanned_rows.saturating_add(more.scanned_rows),
            read_bytes: self.read_bytes.saturating_add(more.read_bytes),
            written_bytes: self.written_bytes.saturating_add(more.written_bytes),
            busy_ns: self.busy_ns.saturating_add(more.busy_ns),
            commit_ns: self.commit_ns.saturating_add(more.commit_ns),
            scan_ns: self.scan_ns.saturating_add(more.scan_ns),
            single_partition_txns: self
                .single_partition_txns
                .saturating_add(more.single_partition_txns),
            multi_partition_txns: self
                .multi_partition_txns
                .saturating_add(more.multi_partition_txns),
        }
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
            scans: self.scans.saturating_sub(earlier.scans),
            scanned_rows: self.scanned_rows.saturating_sub(earlier.scanned_rows),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            commit_ns: self.commit_ns.saturating_sub(earlier.commit_ns),
            scan_ns: self.scan_ns.saturating_sub(earlier.scan_ns),
            single_partition_txns: self
                .single_partition_txns
                .saturating_sub(earlier.single_partition_txns),
            multi_partition_txns: self
                .multi_partition_txns
                .saturating_sub(earlier.multi_partition_txns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observers_take_their_own_differences() {
        let heat = Heat::default();
        heat.add(&HeatTotals {
            reads: 3,
            busy_ns: 50,
            ..HeatTotals::default()
        });
        let first = heat.totals();
        heat.add(&HeatTotals {
            reads: 2,
            single_partition_txns: 1,
            ..HeatTotals::default()
        });
        let more = heat.totals().since(&first);
        assert_eq!(
            (more.reads, more.busy_ns, more.single_partition_txns),
            (2, 0, 1)
        );
        assert_eq!(heat.totals().since(&HeatTotals::default()).reads, 5);
    }
}
