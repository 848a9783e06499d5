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

#[derive(Debug)]
struct Keys {
    hull: KeyRange,
    /// None if they are too many.
    each: Option<Vec<Bytes>>,
}

impl Touched {
    /// Everything in a range of a table.
    pub(crate) fn range(table: TableId, hull: KeyRange) -> Self {
        let each = None;
        Self {
            tables: vec![(table, Keys { hull, each })],
        }
    }

    pub(crate) fn add(&mut self, table: TableId, key: &Bytes) {
        // A batch touches few tables, and mostly the same one again.
        let known = self.tables.iter_mut().rev().find(|(of, _)| *of == table);
        match known {
            Some((_, keys)) => keys.add(key),
            None => {
                let hull = KeyRange::point(key);
                let each = Some(vec![key.clone()]);
                self.tables.push((table, Keys { hull, each }));
            }
        }
    }

    /// Each table, the hull of its keys, and the keys unless they are too many.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (TableId, &KeyRange, Option<&[Bytes]>)> {
        let tables = self.tables.iter();
        tables.map(|(table, keys)| (*table, &keys.hull, keys.each.as_deref()))
    }
}

impl Keys {
    fn add(&mut self, key: &Bytes) {
        if *key < self.hull.lower {
            self.hull.lower = key.clone();
        } else if !self.hull.contains(key) {
            self.hull.upper = KeyRange::point(key).upper;
        }
        self.each = self.each.take().filter(|each| each.len() < KEYS_MAX);
        if let Some(each) = &mut self.each {
            each.push(key.clone());
        }
    }
}
