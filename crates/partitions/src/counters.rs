//! [`Counters`]: how many rows, bytes and tombstones a partition holds, exact across crashes.
//!
//! Every commit carries the new counters of the partitions it touches in the same batch as its
//! rows, so the record and the rows never disagree:
//!
//! ```text
//!   key, in the metadata space of the engine that holds the partition
//!   ┌──────┬───────────────┐
//!   │ 0x03 │ partition: 8  │
//!   └──────┴───────────────┘
//!   value
//!   ┌─────────┬───────┬─────────────┬─────────────┬─────────────────────┬─────────────────────┐
//!   │ version │ exact │ last commit │ count since │ base: rows, bytes,  │ delta: rows, bytes, │
//!   │ 1       │ 0 / 1 │ 8           │ 8           │ tombstones, 8 each  │ tombstones, 8 each  │
//!   └─────────┴───────┴─────────────┴─────────────┴─────────────────────┴─────────────────────┘
//!
//!   what the partition holds  =  base  +  delta
//!                                │        └ what commits after `count since` changed: always exact
//!                                └ what was there at `count since`: counted, or estimated
//! ```
//!
//! A split knows what the parent held but not how it divides, and counting would take a scan. So
//! each child starts with an estimated base, marked inexact, and an empty delta. Because no commit
//! is in flight during a split, the parent's last commit is an instant that separates base from
//! delta, and a snapshot there sees the base exactly:
//!
//! ```text
//!   commits   ──●──●──●──┃──●────●──────●──►
//!                        ┃  └────┴──────┴── delta, counted as they happen
//!        count since ────┛
//!   background           └─ scan at `count since` ─► set_exact: the base is replaced, not the delta
//! ```
//!
//! A crash before [`Counters::set_exact`] reached the disk leaves a record that says inexact. By
//! then the snapshot at `count since` may be collected, so whoever counts again calls
//! [`Counters::begin_recount`], which folds the delta into the estimate and moves `count since` to
//! the last commit. Counting again is always safe, and a count that began before another
//! `begin_recount` is refused.
//!
//! A bulk load writes its rows past the batches, so record and rows cannot be one write. It first
//! leaves a record marked inexact ([`Counts::estimated`]), and the exact one when its rows are there:
//! a crash in between is one more reason to count again.
//!
//! A mutex, not atomics, guards the numbers: they must be read together to be written as a record,
//! and it is taken once per commit and partition.

use bytes::Bytes;
use parking_lot::Mutex;

use crate::record::Fields;
use crate::spaces::COUNTERS_PREFIX;
use crate::{PartitionId, Result, Share};

const VERSION: u8 = 1;

/// The live counters of one partition.
#[derive(Debug)]
pub struct Counters {
    counts: Mutex<Counts>,
}

impl Counters {
    /// Starts from what a record, a split or a merge says.
    pub fn new(counts: Counts) -> Self {
        Self {
            counts: Mutex::new(counts),
        }
    }

    /// All numbers at one instant.
    pub fn counts(&self) -> Counts {
        *self.counts.lock()
    }

    /// Adds a commit that is now in the engine. The batch that put it there carried
    /// `counts().plus(&delta).encode()`.
    pub fn apply(&self, delta: &Delta) {
        let mut counts = self.counts.lock();
        *counts = counts.plus(delta);
    }

    /// Replaces all numbers by what the record says, when the engine that holds it was reopened.
    pub fn reload(&self, counts: Counts) {
        *self.counts.lock() = counts;
    }

    /// Starts counting anew and says at which timestamp to scan. No commit may be in flight.
    pub fn begin_recount(&self) -> u64 {
        let mut counts = self.counts.lock();
        counts.fold();
        counts.count_since
    }

    /// Replaces the estimate by what a scan at the timestamp `since` found. Answers whether it was
    /// still asked for.
    pub fn set_exact(&self, since: u64, base: Totals) -> bool {
        let mut counts = self.counts.lock();
        if counts.exact || counts.count_since != since {
            return false;
        }
        counts.base = base;
        counts.exact = true;
        true
    }
}

/// Rows, bytes and tombstones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows that a reader at the newest timestamp sees.
    pub rows: u64,
    /// Bytes of keys and newest values, tombstones included.
    pub bytes: u64,
    /// Keys whose newest version is a deletion.
    pub tombstones: u64,
}

/// What one commit changes in one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Rows more, or fewer.
    pub rows: i64,
    /// Bytes more, or fewer.
    pub bytes: i64,
    /// Tombstones more, or fewer.
    pub tombstones: i64,
    /// The commit's timestamp; 0 for work that is no commit, such as collecting tombstones.
    pub commit: u64,
}

/// A partition's counters at one instant, as they are written to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    exact: bool,
    last_commit: u64,
    count_since: u64,
    base: Totals,
    delta: Delta,
}

impl Counts {
    /// Of a partition that is empty for certain.
    pub fn empty() -> Self {
        Self {
            exact: true,
            ..Self::default()
        }
    }

    /// What the partition holds; an estimate unless [`Counts::exact`].
    pub fn totals(&self) -> Totals {
        Totals {
            rows: self.base.rows.saturating_add_signed(self.delta.rows),
            bytes: self.base.bytes.saturating_add_signed(self.delta.bytes),
            tombstones: self
                .base
                .tombstones
                .saturating_add_signed(self.delta.tombstones),
        }
    }

    /// Whether the totals are counted, not estimated.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// The timestamp of the newest commit that touched the partition, or its ancestors; 0 for none.
    pub fn last_commit(&self) -> u64 {
        self.last_commit
    }

    /// The timestamp at which a scan sees the base.
    pub fn count_since(&self) -> u64 {
        self.count_since
    }

    /// After one more commit.
    #[must_use]
    pub fn plus(&self, delta: &Delta) -> Self {
        let mut next = *self;
        next.delta.rows = next.delta.rows.saturating_add(delta.rows);
        next.delta.bytes = next.delta.bytes.saturating_add(delta.bytes);
        next.delta.tombstones = next.delta.tombstones.saturating_add(delta.tombstones);
        next.last_commit = next.last_commit.max(delta.commit);
        next
    }

    /// The same, as an estimate: to be counted again.
    #[must_use]
    pub fn estimated(&self) -> Self {
        let mut estimate = *self;
        estimate.fold();
        estimate.exact = false;
        estimate
    }

    /// The counters of the two halves of a split, when the left one is thought to hold `left`.
    pub fn split(&self, left: Share) -> (Self, Self) {
        let whole = self.totals();
        let left = Totals {
            rows: left.times(whole.rows).min(whole.rows),
            bytes: left.times(whole.bytes).min(whole.bytes),
            tombstones: left.times(whole.tombstones).min(whole.tombstones),
        };
        let right = Totals {
            rows: whole.rows - left.rows,
            bytes: whole.bytes - left.bytes,
            tombstones: whole.tombstones - left.tombstones,
        };
        // Only nothing divides without counting.
        let exact = self.exact && whole == Totals::default();
        let child = |base| Self {
            exact,
            last_commit: self.last_commit,
            count_since: self.last_commit,
            base,
            delta: Delta::default(),
        };
        (child(left), child(right))
    }

    /// The counters of a partition made of these: exact if all of them are.
    pub fn merge(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut merged = Self::empty();
        for part in parts {
            let totals = part.totals();
            merged.exact &= part.exact;
            merged.last_commit = merged.last_commit.max(part.last_commit);
            merged.base.rows = merged.base.rows.saturating_add(totals.rows);
            merged.base.bytes = merged.base.bytes.saturating_add(totals.bytes);
            merged.base.tombstones = merged.base.tombstones.saturating_add(totals.tombstones);
        }
        merged.count_since = merged.last_commit;
        merged
    }

    /// The value of the record.
    pub fn encode(&self) -> Bytes {
        let mut record = vec![VERSION, u8::from(self.exact)];
        for number in [
            self.last_commit,
            self.count_since,
            self.base.rows,
            self.base.bytes,
            self.base.tombstones,
        ] {
            record.extend_from_slice(&number.to_be_bytes());
        }
        for number in [self.delta.rows, self.delta.bytes, self.delta.tombstones] {
            record.extend_from_slice(&number.to_be_bytes());
        }
        record.into()
    }

    /// Reads the record of partition `id` back.
    pub fn decode(id: PartitionId, value: &[u8]) -> Result<Self> {
        let name = || format!("the counters of {id}");
        let mut fields = Fields::new(value, &name);
        let version = fields.byte("the version")?;
        if version != VERSION {
            return Err(fields.damaged(&format!("version {version}, this program reads {VERSION}")));
        }
        let exact = match fields.byte("the exact mark")? {
            0 => false,
            1 => true,
            other => return Err(fields.damaged(&format!("marked {other} where exact is 0 or 1"))),
        };
        let last_commit = fields.number("the last commit")?;
        let count_since = fields.number("the timestamp of the base")?;
        let base = Totals {
            rows: fields.number("the base's rows")?,
            bytes: fields.number("the base's bytes")?,
            tombstones: fields.number("the base's tombstones")?,
        };
        let delta = Delta {
            rows: fields.signed("the delta's rows")?,
            bytes: fields.signed("the delta's bytes")?,
            tombstones: fields.signed("the delta's tombstones")?,
            commit: 0,
        };
        fields.finish()?;
        Ok(Self {
            exact,
            last_commit,
            count_since,
            base,
            delta,
        })
    }

    fn fold(&mut self) {
        self.base = self.totals();
        self.delta = Delta::default();
        self.count_since = self.last_commit;
    }
}

/// The key of a partition's counters, in the metadata space of the engine that holds it.
pub fn counters_key(id: PartitionId) -> Bytes {
    let mut key = vec![COUNTERS_PREFIX];
    key.extend_from_slice(&id.0.to_be_bytes());
    key.into()
}
