//! Which keys changed lately: what a commit's reads are checked against.
//!
//! For every key written since the horizon, the timestamp of its newest write. A transaction that
//! read a key or a range conflicts if something in it changed after its snapshot, which also catches
//! phantoms: a row that was not there when the range was read. Entries leave when the horizon passes
//! them. When there are too many (one very old transaction beside a heavy load), the oldest leave
//! early and the *floor* rises: snapshots below it can no longer commit what they read.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use hashbrown::HashMap;
use partitions::TableId;
use storage::{Bytes, KeyRange};

use crate::Timestamp;

/// How many changed keys are remembered.
pub(crate) const RECENT_KEYS_MAX: usize = 1 << 19;

/// The keys that changed since the horizon.
#[derive(Debug)]
pub(crate) struct Recent {
    tables: HashMap<TableId, BTreeMap<Bytes, Timestamp>>,
    by_age: VecDeque<(Timestamp, TableId, Bytes)>,
    floor: Timestamp,
    keys_max: usize,
}

impl Recent {
    pub(crate) fn new(keys_max: usize) -> Self {
        Self {
            tables: HashMap::new(),
            by_age: VecDeque::new(),
            floor: Timestamp::default(),
            keys_max,
        }
    }

    /// Snapshots below this one are too old to be checked.
    pub(crate) fn floor(&self) -> Timestamp {
        self.floor
    }

    /// Remembers that `key` changed. Timestamps must not go back.
    pub(crate) fn record(&mut self, table: TableId, key: Bytes, at: Timestamp) {
        self.tables
            .entry(table)
            .or_default()
            .insert(key.clone(), at);
        self.by_age.push_back((at, table, key));
        while self.by_age.len() > self.keys_max {
            if let Some(at) = self.forget_oldest() {
                self.floor = self.floor.max(at);
            }
        }
    }

    /// Remembers all of a group's changes, in the order of their timestamps.
    pub(crate) fn record_all(&mut self, changed: Option<Vec<(TableId, Bytes, Timestamp)>>) {
        for (table, key, at) in changed.into_iter().flatten() {
            self.record(table, key, at);
        }
    }

    /// Forgets what every snapshot in use already sees.
    pub(crate) fn forget(&mut self, horizon: Timestamp) {
        while self.by_age.front().is_some_and(|(at, ..)| *at <= horizon) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) -> Option<Timestamp> {
        let (at, table, key) = self.by_age.pop_front()?;
        if let Some(keys) = self.tables.get_mut(&table) {
            if keys.get(&key) == Some(&at) {
                keys.remove(&key);
            }
            if keys.is_empty() {
                self.tables.remove(&table);
            }
        }
        Some(at)
    }

    /// When `key` last changed, if that was after `snapshot`.
    pub(crate) fn changed(
        &self,
        table: TableId,
        key: &[u8],
        snapshot: Timestamp,
    ) -> Option<Timestamp> {
        self.tables
            .get(&table)?
            .get(key)
            .copied()
            .filter(|at| *at > snapshot)
    }

    /// A key of `range` that changed after `snapshot`, and when.
    pub(crate) fn changed_in(
        &self,
        table: TableId,
        range: &KeyRange,
        snapshot: Timestamp,
    ) -> Option<(Bytes, Timestamp)> {
        if range.is_empty() {
            return None;
        }
        let keys = self.tables.get(&table)?;
        let upper = range
            .upper
            .as_ref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        keys.range::<Bytes, _>((Bound::Included(&range.lower), upper))
            .find(|(_, at)| **at > snapshot)
            .map(|(key, at)| (key.clone(), *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(7);

    fn key(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn a_range_sees_a_key_that_appeared_in_it() {
        let mut recent = Recent::new(10);
        recent.record(TABLE, key("m"), Timestamp(5));
        let range = KeyRange::new("a", Some(key("z")));
        assert_eq!(
            recent.changed_in(TABLE, &range, Timestamp(4)),
            Some((key("m"), Timestamp(5)))
        );
        assert_eq!(recent.changed_in(TABLE, &range, Timestamp(5)), None);
        assert_eq!(
            recent.changed_in(TABLE, &KeyRange::new("n", None), Timestamp(4)),
            None
        );
        assert_eq!(recent.changed_in(TableId(8), &range, Timestamp(4)), None);
    }

    #[test]
    fn the_horizon_forgets_and_a_rewritten_key_stays() {
        let mut recent = Recent::new(10);
        recent.record(TABLE, key("a"), Timestamp(1));
        recent.record(TABLE, key("b"), Timestamp(2));
        recent.record(TABLE, key("a"), Timestamp(3));
        recent.forget(Timestamp(2));
        assert_eq!(
            recent.changed(TABLE, b"a", Timestamp(0)),
            Some(Timestamp(3))
        );
        assert_eq!(recent.changed(TABLE, b"b", Timestamp(0)), None);
        assert_eq!(recent.floor(), Timestamp(0));
    }

    #[test]
    fn past_the_limit_the_floor_rises() {
        let mut recent = Recent::new(2);
        for (at, name) in [(1, "a"), (2, "b"), (3, "c")] {
            recent.record(TABLE, key(name), Timestamp(at));
        }
        assert_eq!(recent.floor(), Timestamp(1));
        assert_eq!(
            recent.changed(TABLE, b"c", Timestamp(2)),
            Some(Timestamp(3))
        );
    }
}
