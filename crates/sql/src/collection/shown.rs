//! The names that clients are shown, which in a table with even distribution carry the bucket.
//!
//! ```text
//!   johnd.20180602    shown as johnd_36.20180602, as Iguazio shows it,
//!                     and by its own name if there is an item whose own name is johnd_36.20180602
//! ```
//!
//! So every name that is shown means the item that it was shown for. Objects are files, and files have
//! the names that they were given.

use std::collections::HashMap;
use std::sync::Arc;

use keys::bucket::even_bucket;
use keys::{EvenSharding, ItemName, check_item_name};
use txn::Reader;

use super::layout::Layout;
use super::record::{Key, Record};
use super::stored::Stored;
use crate::{Result, Table};

/// How many sharding keys are remembered.
const REMEMBERED_MAX: usize = 10_000;

/// What items are shown as, for a reader that sees many of them.
#[derive(Debug)]
pub struct Names {
    stored: Stored,
    /// The directory that the rest is about.
    path: String,
    layout: Arc<Layout>,
    /// Whether there are items of a sharding key, as it is stored.
    there: HashMap<String, bool>,
}

impl Names {
    /// The names of items of a container, beginning with those of one directory.
    pub fn new(table: &Arc<Table>, reader: Reader, path: &str, layout: Arc<Layout>) -> Self {
        Self {
            stored: Stored::new(table, reader),
            path: path.to_owned(),
            layout,
            there: HashMap::new(),
        }
    }

    /// The record under the name that is shown.
    pub fn show(&mut self, mut record: Record) -> Result<Record> {
        if let Some(shown) = self.shown(&record)? {
            record.name = shown;
        }
        Ok(record)
    }

    /// The name that is shown, if it is another than the item's own.
    pub(super) fn shown(&mut self, record: &Record) -> Result<Option<String>> {
        if self.path != record.key.path {
            self.layout = self.stored.layout(&record.key.path)?.layout;
            self.path.clone_from(&record.key.path);
            self.there.clear();
        }
        let own = ItemName::split(&record.name);
        let sorting = own.sorting.filter(|_| !own.sharding.is_empty());
        let spread = self.layout.buckets.zip(sorting);
        let Some((buckets, sorting)) = spread.filter(|_| record.data.is_none()) else {
            return Ok(None);
        };
        let stem = own.sharding;
        let bucket = even_bucket(sorting, buckets);
        let sharding = EvenSharding { stem, bucket }.join();
        let shown = format!("{sharding}.{sorting}");
        if check_item_name(&shown).is_err() {
            return Ok(None);
        }
        for key in self.layout.keys(&record.key.path, &shown) {
            if self.has_any(&key)? && self.stored.get(&key)?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(shown))
    }

    fn has_any(&mut self, key: &Key) -> Result<bool> {
        if let Some(there) = self.there.get(&key.sharding) {
            return Ok(*there);
        }
        let range = self.stored.sharding(&key.path, &key.sharding)?;
        let there = self.stored.first(&range)?.is_some();
        if self.there.len() >= REMEMBERED_MAX {
            self.there.clear();
        }
        self.there.insert(key.sharding.clone(), there);
        Ok(there)
    }
}
