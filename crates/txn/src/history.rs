//! Replaced versions, kept while a snapshot may need them.
//!
//! Snapshots do not survive the process, so a replaced version has no reason to reach the disk
//! unless memory runs short: it stays here, and most are forgotten a moment later when the horizon
//! passes them. Past a bound the oldest spill into the HISTORY space of the engine that holds the
//! row, as part of the next commit; [`crate::collect`] removes them there. On open the HISTORY
//! space is emptied.
//!
//! A version must be here before the version that replaces it can be read, and must be in the HISTORY
//! space before it leaves here. A reader looks here first and there second, and so never misses it.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::RwLock;
use partitions::TableId;
use storage::Bytes;

use crate::Timestamp;
use crate::version::Replaced;

/// How much replaced data stays in memory.
pub(crate) const HISTORY_BYTES_MAX: usize = 64 << 20;

/// What an entry costs beside its key and row.
const ENTRY_BYTES: usize = 128;

type Place = (TableId, Bytes);

/// The replaced versions in memory.
#[derive(Debug)]
pub(crate) struct History {
    state: RwLock<State>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    versions: BTreeMap<Place, VecDeque<Replaced>>,
    /// In the order of `until`.
    by_age: VecDeque<(Timestamp, Place)>,
    bytes: usize,
}

/// A version on its way to the HISTORY space.
#[derive(Clone, Debug)]
pub(crate) struct Spill {
    pub(crate) table: TableId,
    pub(crate) key: Bytes,
    pub(crate) replaced: Replaced,
}

impl History {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            state: RwLock::default(),
            bytes_max,
        }
    }

    /// Keeps a version. Calls come in the order of `until`.
    pub(crate) fn keep(&self, table: TableId, key: Bytes, replaced: Replaced) {
        let mut state = self.state.write();
        state.bytes += cost(&key, &replaced);
        let place = (table, key);
        state.by_age.push_back((replaced.until, place.clone()));
        state.versions.entry(place).or_default().push_back(replaced);
    }

    /// The row of `key` as of `snapshot`, if that version is in memory.
    pub(crate) fn find(&self, table: TableId, key: &[u8], snapshot: Timestamp) -> Option<Bytes> {
        let state = self.state.read();
        if state.versions.is_empty() {
            return None;
        }
        let versions = state.versions.get(&(table, Bytes::copy_from_slice(key)))?;
        let seen = versions
            .iter()
            .rev()
            .find(|v| v.at <= snapshot && snapshot < v.until)?;
        Some(seen.row.clone())
    }

    /// Forgets what no snapshot at or above the horizon can see.
    pub(crate) fn forget(&self, horizon: Timestamp) {
        let mut state = self.state.write();
        while state
            .by_age
            .front()
            .is_some_and(|(until, _)| *until <= horizon)
        {
            state.pop_oldest();
        }
    }

    /// The oldest versions in excess of the bound. They stay here until [`History::spilled`].
    pub(crate) fn excess(&self) -> Vec<Spill> {
        let state = self.state.read();
        let mut over = state.bytes.saturating_sub(self.bytes_max);
        let mut spills = Vec::new();
        // A key occurs in `by_age` once for each of its versions, oldest first.
        let mut taken: BTreeMap<&Place, usize> = BTreeMap::new();
        for (_, place) in &state.by_age {
            if over == 0 {
                break;
            }
            let index = taken.entry(place).or_insert(0);
            let version = state
                .versions
                .get(place)
                .and_then(|versions| versions.get(*index));
            let Some(replaced) = version else { continue };
            *index += 1;
            over = over.saturating_sub(cost(&place.1, replaced));
            let (table, key) = place.clone();
            spills.push(Spill {
                table,
                key,
                replaced: replaced.clone(),
            });
        }
        spills
    }

    /// Drops those of the oldest versions that are in the HISTORY space now. All versions of a key
    /// have the same answer. What could not be written stays: snapshots may still need it.
    pub(crate) fn spilled(&self, written: &[bool]) {
        let mut state = self.state.write();
        let mut kept = Vec::new();
        for written in written {
            if *written {
                state.pop_oldest();
            } else {
                kept.extend(state.by_age.pop_front());
            }
        }
        for entry in kept.into_iter().rev() {
            state.by_age.push_front(entry);
        }
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.state.read().bytes
    }
}

impl State {
    fn pop_oldest(&mut self) {
        let Some((_, place)) = self.by_age.pop_front() else {
            return;
        };
        let Some(versions) = self.versions.get_mut(&place) else {
            return;
        };
        if let Some(replaced) = versions.pop_front() {
            self.bytes -= cost(&place.1, &replaced);
        }
        if versions.is_empty() {
            self.versions.remove(&place);
        }
    }
}

fn cost(key: &Bytes, replaced: &Replaced) -> usize {
    ENTRY_BYTES + key.len() + replaced.row.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    fn keep(history: &History, key: &'static str, at: u64, until: u64) {
        let row = Bytes::from(format!("{key}@{at}"));
        let replaced = Replaced {
            at: Timestamp(at),
            until: Timestamp(until),
            row,
        };
        history.keep(TABLE, Bytes::from_static(key.as_bytes()), replaced);
    }

    fn find(history: &History, key: &str, snapshot: u64) -> Option<String> {
        let row = history.find(TABLE, key.as_bytes(), Timestamp(snapshot))?;
        Some(String::from_utf8(row.to_vec()).unwrap())
    }

    #[test]
    fn a_snapshot_finds_the_version_that_was_current() {
        let history = History::new(usize::MAX);
        keep(&history, "a", 1, 5);
        keep(&history, "a", 5, 9);
        // Deleted at 9, written again at 12, replaced at 14.
        keep(&history, "a", 12, 14);
        assert_eq!(find(&history, "a", 0), None);
        assert_eq!(find(&history, "a", 4).as_deref(), Some("a@1"));
        assert_eq!(find(&history, "a", 5).as_deref(), Some("a@5"));
        assert_eq!(find(&history, "a", 10), None, "the row was deleted then");
        assert_eq!(find(&history, "a", 13).as_deref(), Some("a@12"));
        history.forget(Timestamp(9));
        assert_eq!(find(&history, "a", 5), None);
        assert_eq!(find(&history, "a", 13).as_deref(), Some("a@12"));
        history.forget(Timestamp(14));
        assert_eq!(history.bytes(), 0);
    }

    #[test]
    fn the_oldest_spill_first_and_leave_only_when_told() {
        let history = History::new(ENTRY_BYTES + 10);
        keep(&history, "a", 1, 5);
        keep(&history, "b", 2, 6);
        keep(&history, "a", 5, 7);
        let spills = history.excess();
        let names: Vec<_> = spills.iter().map(|s| s.replaced.row.clone()).collect();
        assert_eq!(names, ["a@1", "b@2"]);
        assert_eq!(find(&history, "a", 1).as_deref(), Some("a@1"));
        history.spilled(&vec![true; spills.len()]);
        assert_eq!(find(&history, "a", 1), None);
        assert_eq!(find(&history, "a", 6).as_deref(), Some("a@5"));
        assert!(history.excess().is_empty());
    }
}
