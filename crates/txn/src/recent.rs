//! Which keys changed lately: what a commit's reads are checked against.
//!
//! For every key written since the horizon, the timestamp of its newest write. A transaction that
//! read a key or a range conflicts if something in it changed after its snapshot, which also catches
//! phantoms: a row that was not there when the range was read. Entries leave when the horizon passes
//! them. When there are too many (one very old transaction beside a heavy load), the oldest leave
//! early and the *floor* rises: snapshots below it can no longer commit what they read.
//!
//! Of a load only the range of its keys is remembered, not each of a million keys: it changed all of
//! that range. A transaction that read other keys there before the load and commits after it is
//! refused once for nothing.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use hashbrown::HashMap;
use partitions::TableId;
use storage::{Bytes, KeyRange};

use crate::Timestamp;

/// How many changed keys are remembered.
pub(crate) const RECENT_KEYS_MAX: usize = 1 << 19;

/// How many loads are remembered.
const RECENT_LOADS_MAX: usize = 1024;

/// The keys that changed since the horizon.
#[derive(Debug)]
pub(crate) struct Recent {
    tables: HashMap<TableId, BTreeMap<Bytes, Timestamp>>,
    by_age: VecDeque<(Timestamp, TableId, Bytes)>,
    /// What was loaded, oldest first.
    loads: VecDeque<(Timestamp, TableId, KeyRange)>,
    floor: Timestamp,
    keys_max: usize,
}

impl Recent {
    pub(crate) fn new(keys_max: usize) -> Self {
        Self {
            tables: HashMap::new(),
            by_age: VecDeque::new(),
            loads: VecDeque::new(),
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

    /// Takes over all of a group's changes, which are in the order of their timestamps.
    pub(crate) fn take(&mut self, changed: &mut Vec<(TableId, Bytes, Timestamp)>) {
        for (table, key, at) in changed.drain(..) {
            self.record(table, key, at);
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.tables.clear();
        self.by_age.clear();
        self.loads.clear();
        self.floor = Timestamp::default();
    }

    /// Remembers that rows were loaded into `range`. Timestamps must not go back.
    pub(crate) fn record_load(&mut self, table: TableId, range: KeyRange, at: Timestamp) {
        self.loads.push_back((at, table, range));
        if self.loads.len() > RECENT_LOADS_MAX
            && let Some((at, ..)) = self.loads.pop_front()
        {
            self.floor = self.floor.max(at);
        }
    }

    /// Forgets what every snapshot in use already sees.
    pub(crate) fn forget(&mut self, horizon: Timestamp) {
        while self.by_age.front().is_some_and(|(at, ..)| *at <= horizon) {
            self.forget_oldest();
        }
        while self.loads.front().is_some_and(|(at, ..)| *at <= horizon) {
            self.loads.pop_front();
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
        let keys = self.tables.get(&table);
        let changed = keys.and_then(|keys| keys.get(key)).copied();
        changed.filter(|at| *at > snapshot).or_else(|| {
            let mut loads = self.loads_after(table, snapshot);
            let load = loads.find(|(_, range)| range.contains(key));
            load.map(|(at, _)| at)
        })
    }

    /// The loads into a table after `snapshot`.
    fn loads_after(
        &self,
        table: TableId,
        snapshot: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, &KeyRange)> {
        let newest_first = self.loads.iter().rev();
        newest_first
            .take_while(move |(at, ..)| *at > snapshot)
            .filter(move |(_, of, _)| *of == table)
            .map(|(at, _, range)| (*at, range))
    }

    /// Whether something was loaded into `range` after `snapshot`.
    pub(crate) fn loaded_in(&self, table: TableId, range: &KeyRange, snapshot: Timestamp) -> bool {
        let mut loads = self.loads_after(table, snapshot);
        loads.any(|(_, loaded)| loaded.overlaps(range))
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
        self.keys_changed_in(table, range, snapshot)
            .next()
            .map(|(key, at)| (key.clone(), at))
            .or_else(|| {
                let mut loads = self.loads_after(table, snapshot);
                let (at, loaded) = loads.find(|(_, loaded)| loaded.overlaps(range))?;
                Some((loaded.intersect(range).lower, at))
            })
    }

    /// The keys of `range` that changed after `snapshot`, and when; those of loads are not among
    /// them.
    pub(crate) fn keys_changed_in(
        &self,
        table: TableId,
        range: &KeyRange,
        snapshot: Timestamp,
    ) -> impl Iterator<Item = (&Bytes, Timestamp)> {
        let upper = range
            .upper
            .as_ref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        let bounds = (Bound::Included(&range.lower), upper);
        let keys = self.tables.get(&table).filter(|_| !range.is_empty());
        keys.into_iter()
            .flat_map(move |keys| keys.range::<Bytes, _>(bounds))
            .map(|(key, at)| (key, *at))
            .filter(move |(_, at)| *at > snapshot)
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
    fn a_load_changes_its_whole_range() {
        let mut recent = Recent::new(10);
        recent.record_load(TABLE, KeyRange::new("c", Some(key("f"))), Timestamp(5));
        let changed = |name: &str, snapshot| recent.changed(TABLE, name.as_bytes(), snapshot);
        assert_eq!(changed("d", Timestamp(4)), Some(Timestamp(5)));
        assert_eq!(changed("d", Timestamp(5)), None);
        assert_eq!(changed("f", Timestamp(4)), None);
        let changed_in = |lower, upper| {
            let range = KeyRange::new(lower, Some(key(upper)));
            recent.changed_in(TABLE, &range, Timestamp(4))
        };
        assert_eq!(changed_in("a", "d"), Some((key("c"), Timestamp(5))));
        assert_eq!(changed_in("d", "z"), Some((key("d"), Timestamp(5))));
        assert_eq!(changed_in("f", "z"), None);
        recent.forget(Timestamp(5));
        assert_eq!(recent.changed(TABLE, b"d", Timestamp(4)), None);
    }

    #[test]
    fn too_many_loads_raise_the_floor() {
        let mut recent = Recent::new(10);
        for at in (1..).take(RECENT_LOADS_MAX + 1) {
            recent.record_load(TABLE, KeyRange::all(), Timestamp(at));
        }
        assert_eq!(recent.floor(), Timestamp(1));
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
