//! The [`Map`]: the partitions of one table, side by side, from the first key to the last.
//!
//! ```text
//!   every key     ├──────────┼──────────────┼─────┼──────────────────────────►
//!   partitions    │  1       │  5           │  6  │  3
//!   lower bounds  (empty)    /m             /p    /s               no upper bound
//!
//!   route(/n)  =  the last partition whose lower bound is at most /n  =  5
//! ```
//!
//! The partitions *tile* the keys: the first begins before every key, each ends where the next
//! begins, the last has no end. So a key is in exactly one partition, and routing is one binary
//! search over the lower bounds with no second look at the upper ones.
//!
//! A map never changes. A split or a merge makes a new one and swaps it in; a reader that holds the
//! old one goes on with it and sees the same rows, because a local split moves none of them. Every
//! new map is checked to tile: a map of our own making that does not is a bug and stops the process
//! before it can be written; one read from disk that does not is an error.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use storage::KeyRange;

use crate::{Error, Partition, PartitionId, Result, TableId};

/// The partitions of one table at one instant.
#[derive(Debug)]
pub struct Map {
    table: TableId,
    /// The lower bounds by themselves, so that a search touches nothing else.
    lowers: Vec<Bytes>,
    partitions: Vec<Arc<Partition>>,
    by_id: Vec<(PartitionId, usize)>,
}

impl Map {
    /// A map of partitions in key order.
    ///
    /// # Panics
    /// If they do not tile: whoever made them is wrong about the key space.
    pub fn new(table: TableId, partitions: Vec<Arc<Partition>>) -> Self {
        if let Err(gap) = check_tiling(table, &partitions) {
            panic_on_gap(&gap);
        }
        Self::of_tiles(table, partitions)
    }

    /// A map of partitions in any order, as they were read from disk.
    pub fn from_disk(table: TableId, mut partitions: Vec<Arc<Partition>>) -> Result<Self> {
        partitions.sort_by(|one, two| one.descriptor.range.lower.cmp(&two.descriptor.range.lower));
        check_tiling(table, &partitions)
            .map_err(|gap| Error::corrupt(format!("the partition map of {table}"), gap))?;
        Ok(Self::of_tiles(table, partitions))
    }

    /// The partition that holds `key`.
    pub fn route(&self, key: &[u8]) -> &Arc<Partition> {
        self.partitions
            .get(self.position(key))
            .expect("a tiled map has a partition for every key")
    }

    /// The partitions that hold keys of `range`, in key order.
    pub fn overlapping(&self, range: &KeyRange) -> &[Arc<Partition>] {
        if range.is_empty() {
            return &[];
        }
        let first = self.position(&range.lower);
        let end = match range.upper.as_deref() {
            None => self.partitions.len(),
            Some(upper) => self.lowers.partition_point(|lower| lower.as_ref() < upper),
        };
        self.partitions
            .get(first..end)
            .expect("a range that is not empty ends after it begins")
    }

    /// All partitions, in key order.
    pub fn partitions(&self) -> &[Arc<Partition>] {
        &self.partitions
    }

    /// The partition of that number.
    pub fn get(&self, id: PartitionId) -> Option<&Arc<Partition>> {
        self.partitions.get(self.index(id)?)
    }

    /// The table.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Where a partition stands in key order.
    pub fn index(&self, id: PartitionId) -> Option<usize> {
        let at = self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.by_id.get(at).map(|(_, index)| *index)
    }

    /// A map in which the partitions `range` of this one are replaced by others.
    pub(crate) fn replace(&self, range: std::ops::Range<usize>, new: &[Arc<Partition>]) -> Self {
        let mut partitions = self.partitions.clone();
        partitions.splice(range, new.iter().cloned());
        Self::new(self.table, partitions)
    }

    fn of_tiles(table: TableId, partitions: Vec<Arc<Partition>>) -> Self {
        let lowers = partitions
            .iter()
            .map(|one| one.descriptor.range.lower.clone())
            .collect();
        let ids = partitions.iter().map(|one| one.descriptor.id);
        let mut by_id: Vec<_> = ids.zip(0..).collect();
        by_id.sort_unstable();
        Self {
            table,
            lowers,
            partitions,
            by_id,
        }
    }

    fn position(&self, key: &[u8]) -> usize {
        let after = self.lowers.partition_point(|lower| lower.as_ref() <= key);
        after
            .checked_sub(1)
            .expect("the first partition begins before every key")
    }
}

/// Whether partitions in key order tile the key space; if not, the first place where they do not.
fn check_tiling(table: TableId, partitions: &[Arc<Partition>]) -> std::result::Result<(), String> {
    // `None` once a partition without upper bound was met: nothing may follow it.
    let mut expected = Some(Bytes::new());
    for one in partitions {
        let descriptor = &one.descriptor;
        if descriptor.table != table {
            return Err(format!("{} is of {}", descriptor.id, descriptor.table));
        }
        if descriptor.range.is_empty() {
            return Err(format!("{} holds no key", descriptor.id));
        }
        if expected.as_ref() != Some(&descriptor.range.lower) {
            let mut gap = format!("{} begins at ", descriptor.id);
            gap.push_str(&keys::format_key(&descriptor.range.lower));
            let before = expected
                .as_deref()
                .map_or("the end".to_owned(), keys::format_key);
            write!(gap, " where the one before it ends at {before}")
                .expect("writing to a string does not fail");
            return Err(gap);
        }
        expected = descriptor.range.upper.clone();
    }
    match expected {
        None => Ok(()),
        Some(end) => Err(format!("no partition begins at {}", keys::format_key(&end))),
    }
}

#[expect(
    clippy::panic,
    reason = "an untiled map of our own making would lose rows"
)]
fn panic_on_gap(gap: &str) -> ! {
    panic!("the partition map does not tile: {gap}");
}
