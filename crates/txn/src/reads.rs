//! What a transaction has read: the keys and ranges that must not have changed when it commits.

use std::collections::BTreeMap;

use partitions::TableId;
use storage::{Bytes, EngineId, KeyRange};

use crate::recent::Recent;
use crate::version::Version;
use crate::{Error, Result, Timestamp};

/// How many keys, and how many ranges, are tracked one by one. A transaction that reads more is
/// tracked by the range that covers them all: it may conflict with more than it read, never with
/// less.
pub(crate) const TRACKED_READS_MAX: usize = 10_000;

/// How many keys are looked at again to move a snapshot forward. With more, each of many claims would
/// read everything that was read before it.
const RENEWED_READS_MAX: usize = 1_000;

/// What a point read found: once the read is proven current, this is what a write replaces.
pub(crate) type Found = Option<Version>;

/// The keys and ranges a transaction has read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    points: BTreeMap<TableId, BTreeMap<Bytes, Found>>,
    point_count: usize,
    ranges: BTreeMap<RangeTicket, (TableId, KeyRange)>,
    next_ticket: u64,
    /// The engines that were read from, and how often each had been opened then.
    engines: Vec<(EngineId, u64)>,
}

/// Names a registered range, so that a scan that stops early can narrow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RangeTicket(u64);

impl Reads {
    /// Tracks a point read.
    pub(crate) fn point(&mut self, table: TableId, key: &[u8], found: Found) {
        let key = Bytes::copy_from_slice(key);
        if self
            .points
            .entry(table)
            .or_default()
            .insert(key, found)
            .is_none()
        {
            self.point_count += 1;
        }
        if self.point_count > TRACKED_READS_MAX {
            self.widen_points();
        }
    }

    /// Tracks a range before any of it is read.
    pub(crate) fn range(&mut self, table: TableId, range: KeyRange) -> RangeTicket {
        if self.ranges.len() >= TRACKED_READS_MAX {
            self.widen_ranges();
        }
        let ticket = RangeTicket(self.next_ticket);
        self.next_ticket += 1;
        self.ranges.insert(ticket, (table, range));
        ticket
    }

    /// A scan ended early and saw only `seen` of the range it had registered. Ranges that were
    /// widened meanwhile stay wide.
    pub(crate) fn narrow(&mut self, ticket: RangeTicket, seen: KeyRange) {
        if let Some((_, range)) = self.ranges.get_mut(&ticket) {
            *range = seen;
        }
    }

    /// Tracks that an engine was read from in its `opened`-th life.
    pub(crate) fn engine(&mut self, engine: EngineId, opened: u64) {
        if !self.engines.contains(&(engine, opened)) {
            self.engines.push((engine, opened));
        }
    }

    /// The engines that were read from, and the life of each.
    pub(crate) fn engines(&self) -> &[(EngineId, u64)] {
        &self.engines
    }

    /// The tables that were read, some of them several times.
    pub(crate) fn tables(&self) -> impl Iterator<Item = TableId> {
        let ranges = self.ranges.values().map(|(table, _)| *table);
        self.points.keys().copied().chain(ranges)
    }

    /// What a point read of `key` found, if there was one.
    pub(crate) fn found(&self, table: TableId, key: &[u8]) -> Option<&Found> {
        self.points.get(&table)?.get(key)
    }

    /// Whether so little was read, and no range, that it can be looked at again.
    pub(crate) fn is_renewable(&self) -> bool {
        self.ranges.is_empty() && self.point_count <= RENEWED_READS_MAX
    }

    /// Forgets that `key` was read by itself.
    pub(crate) fn forget(&mut self, table: TableId, key: &[u8]) {
        let points = self.points.get_mut(&table);
        if points.and_then(|points| points.remove(key)).is_some() {
            self.point_count -= 1;
        }
    }

    /// The keys that were read one by one, with what was found there.
    pub(crate) fn points(&self) -> impl Iterator<Item = (TableId, Bytes, Found)> {
        self.points.iter().flat_map(|(table, keys)| {
            let keys = keys.iter();
            keys.map(|(key, found)| (*table, key.clone(), found.clone()))
        })
    }

    fn widen_points(&mut self) {
        self.point_count = 0;
        for (table, points) in std::mem::take(&mut self.points) {
            let lower = points.keys().next().cloned().unwrap_or_default();
            let upper = points
                .keys()
                .next_back()
                .and_then(|last| KeyRange::point(last).upper);
            self.range(table, KeyRange { lower, upper });
        }
    }

    fn widen_ranges(&mut self) {
        let mut covers: BTreeMap<TableId, KeyRange> = BTreeMap::new();
        for (table, range) in std::mem::take(&mut self.ranges).into_values() {
            covers
                .entry(table)
                .and_modify(|cover| *cover = cover_both(cover, &range))
                .or_insert(range);
        }
        for (table, cover) in covers {
            self.range(table, cover);
        }
    }

    /// An error naming the first read that changed after `snapshot`.
    pub(crate) fn check(&self, recent: &Recent, snapshot: Timestamp) -> Result<()> {
        let conflict = |table: TableId, key: Bytes, changed: Timestamp| {
            Err(Error::Conflict {
                table,
                key,
                changed,
                snapshot,
            })
        };
        if self.points.is_empty() && self.ranges.is_empty() {
            return Ok(());
        }
        if snapshot < recent.floor() {
            return Err(Error::TooOld {
                snapshot,
                floor: recent.floor(),
            });
        }
        for (table, points) in &self.points {
            for key in points.keys() {
                if let Some(changed) = recent.changed(*table, key, snapshot) {
                    return conflict(*table, key.clone(), changed);
                }
            }
        }
        for (table, range) in self.ranges.values() {
            if let Some((key, changed)) = recent.changed_in(*table, range, snapshot) {
                return conflict(*table, key, changed);
            }
        }
        Ok(())
    }
}

fn cover_both(one: &KeyRange, two: &KeyRange) -> KeyRange {
    let lower = one.lower.clone().min(two.lower.clone());
    let upper = match (&one.upper, &two.upper) {
        (Some(one), Some(two)) => Some(one.max(two).clone()),
        _ => None,
    };
    KeyRange { lower, upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    fn recent_with(key: &'static str) -> Recent {
        let mut recent = Recent::new(10);
        recent.record(TABLE, key.into(), Timestamp(5));
        recent
    }

    #[test]
    fn a_scan_that_stopped_early_conflicts_only_with_what_it_saw() {
        let mut reads = Reads::default();
        let ticket = reads.range(TABLE, KeyRange::new("a", Some("z".into())));
        assert!(reads.check(&recent_with("m"), Timestamp(4)).is_err());
        reads.narrow(ticket, KeyRange::new("a", Some("f".into())));
        assert!(reads.check(&recent_with("m"), Timestamp(4)).is_ok());
        assert!(reads.check(&recent_with("e"), Timestamp(4)).is_err());
    }

    #[test]
    fn too_many_reads_are_tracked_by_the_range_that_covers_them() {
        let mut reads = Reads::default();
        for number in 0..=TRACKED_READS_MAX {
            reads.point(TABLE, format!("k{number:06}").as_bytes(), None);
        }
        assert_eq!((reads.point_count, reads.ranges.len()), (0, 1));
        assert!(
            reads.check(&recent_with("k000003x"), Timestamp(4)).is_err(),
            "wider than read"
        );
        assert!(reads.check(&recent_with("l"), Timestamp(4)).is_ok());
        for number in 0..=TRACKED_READS_MAX {
            let lower = format!("m{number:06}");
            reads.range(
                TABLE,
                KeyRange::new(lower.clone(), Some(format!("{lower}x").into())),
            );
        }
        assert!(reads.ranges.len() <= TRACKED_READS_MAX);
        assert!(reads.check(&recent_with("m000001"), Timestamp(4)).is_err());
    }
}
