//! Every table by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use txn::{Bytes, Store, TableId};

use crate::{Error, Result, Schema, record};

/// How many edits apart a name may be to be offered instead of one that does not exist.
const NEAREST_EDITS_MAX: usize = 2;

/// A table that exists.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    schema: Schema,
}

impl Table {
    /// Its number.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Its columns and key.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}

/// The tables of a store.
#[derive(Debug)]
pub struct Catalog {
    tables: RwLock<BTreeMap<String, Arc<Table>>>,
    generation: AtomicU64,
}

impl Catalog {
    /// Reads the records of all tables.
    pub fn load(store: &Store) -> Result<Self> {
        let mut tables = BTreeMap::new();
        for (id, bytes) in store.records()? {
            let schema = record::decode(id, &bytes)?;
            tables.insert(schema.name().to_owned(), Arc::new(Table { id, schema }));
        }
        Ok(Self {
            tables: RwLock::new(tables),
            generation: AtomicU64::new(0),
        })
    }

    /// The table called `name`.
    pub fn get(&self, name: &str) -> Result<Arc<Table>> {
        let tables = self.tables.read();
        let no_such = || Error::NoSuchTable {
            name: name.to_owned(),
            nearest: nearest(name, tables.keys()).cloned(),
        };
        tables.get(name).cloned().ok_or_else(no_such)
    }

    /// The table called `name`, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Table>> {
        self.tables.read().get(name).cloned()
    }

    /// Rises with every change of a table, so that whoever keeps what it worked out knows when to
    /// work it out again.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// All tables, by name.
    pub fn all(&self) -> Vec<Arc<Table>> {
        self.tables.read().values().cloned().collect()
    }

    /// Makes a table whose partitions begin at the given keys (besides the first, which has no
    /// bound).
    pub fn create(
        &self,
        store: &Store,
        schema: Schema,
        split_keys: &[Bytes],
    ) -> Result<Arc<Table>> {
        let mut tables = self.tables.write();
        if tables.contains_key(schema.name()) {
            return Err(Error::TableExists {
                name: schema.name().to_owned(),
            });
        }
        let id = TableId(store.fresh_id()?);
        store.create_table(id, split_keys, record::encode(&schema))?;
        let name = schema.name().to_owned();
        let table = Arc::new(Table { id, schema });
        tables.insert(name, Arc::clone(&table));
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(table)
    }

    /// Drops a table with all its rows.
    pub fn remove(&self, store: &Store, name: &str) -> Result<()> {
        let table = self.get(name)?;
        let mut tables = self.tables.write();
        store.drop_table(table.id)?;
        tables.remove(name);
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

/// The name most like `name`, if one is near enough to be meant.
pub(crate) fn nearest<'n>(
    name: &str,
    names: impl Iterator<Item = &'n String>,
) -> Option<&'n String> {
    names
        .map(|other| (edits(name, other), other))
        .filter(|(edits, _)| *edits <= NEAREST_EDITS_MAX)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, other)| other)
}

/// How many letters have to be put in, taken out or changed to get from one name to the other.
fn edits(one: &str, two: &str) -> usize {
    let two: Vec<_> = two.chars().collect();
    let mut costs: Vec<usize> = (0..=two.len()).collect();
    for (row, letter) in one.chars().enumerate() {
        let mut diagonal = row;
        let mut left = row + 1;
        let mut next = vec![left];
        for (other, above) in two.iter().zip(costs.iter().skip(1)) {
            let changed = diagonal + usize::from(letter != *other);
            left = changed.min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        costs = next;
    }
    costs.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (one, two, expected) in [
            ("", "", 0),
            ("orders", "orders", 0),
            ("oders", "orders", 1),
            ("abc", "", 3),
        ] {
            assert_eq!(edits(one, two), expected, "{one} {two}");
            assert_eq!(edits(two, one), expected, "{two} {one}");
        }
    }

    #[test]
    fn the_nearest_name_is_offered() {
        let names = ["orders".to_owned(), "events".to_owned()];
        assert_eq!(nearest("order", names.iter()), Some(&names[0]));
        assert_eq!(nearest("people", names.iter()), None);
    }
}
