//! Which keys a batch touches: one by one while they are few, by their hull when they are many.

use partitions::TableId;
use storage::{Bytes, KeyRange};

/// How many keys of a table are told one by one.
const KEYS_MAX: usize = 1024;

/// The keys that a batch touches.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    tables: Vec<(TableId, Keys)>,
}

/// Keys of a table.
#[derive(Debug)]
pub(crate) enum Keys {
    /// These.
    Each(Vec<Bytes>),
    /// All of these, as far as anybody knows.
    Hull(KeyRange),
}

impl Touched {
    /// Everything in a range of a table.
    pub(crate) fn range(table: TableId, range: KeyRange) -> Self {
        Self {
            tables: vec![(table, Keys::Hull(range))],
        }
    }

    pub(crate) fn add(&mut self, table: TableId, key: &Bytes) {
        // A batch touches few tables, and mostly the same one again.
        let known = self.tables.iter_mut().rev().find(|(of, _)| *of == table);
        match known {
            Some((_, keys)) => keys.add(key),
            None => self.tables.push((table, Keys::Each(vec![key.clone()]))),
        }
    }

    /// Each table with its keys.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (TableId, &Keys)> {
        self.tables.iter().map(|(table, keys)| (*table, keys))
    }
}

impl Keys {
    fn add(&mut self, key: &Bytes) {
        match self {
            Self::Each(each) if each.len() < KEYS_MAX => each.push(key.clone()),
            Self::Each(each) => *self = Self::Hull(hull_of(each, key)),
            Self::Hull(hull) if *key < hull.lower => hull.lower = key.clone(),
            Self::Hull(hull) if hull.contains(key) => {}
            Self::Hull(hull) => hull.upper = KeyRange::point(key).upper,
        }
    }
}

fn hull_of(keys: &[Bytes], another: &Bytes) -> KeyRange {
    let all = || keys.iter().chain([another]);
    let lowest = all().min().unwrap_or(another);
    let highest = all().max().unwrap_or(another);
    KeyRange::new(lowest.clone(), KeyRange::point(highest).upper)
}
