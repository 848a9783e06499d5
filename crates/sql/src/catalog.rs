//! Every table and sequence by name.

mod change;
mod constrain;
mod replace;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, RwLock};
use txn::{Bytes, Store, TableId, Timestamp, blocking};

use crate::collection::{self, Collection, Gate, Gates};
use crate::index::{IndexTable, Progress};
use crate::rebucket::Moves;
use crate::record::{self, Record};
use crate::sequence::Sequence;
use crate::{Error, ForeignKey, Result, Schema};

pub(crate) use change::{Change, NewTable};
pub(crate) use constrain::Validation;

/// How many edits apart a name may be to be offered instead of one that does not exist.
const NEAREST_EDITS_MAX: usize = 2;

/// A table that exists.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    schema: Schema,
    epoch: u64,
    indexes: Vec<Arc<IndexTable>>,
    /// What it is a view of, if its rows are items of a collection.
    collection: Option<Arc<Collection>>,
}

impl Table {
    /// A table; its indexes that were not ready in `before` are seen by snapshots from `since`.
    fn new(
        id: TableId,
        schema: Schema,
        epoch: u64,
        before: Option<&Self>,
        since: Timestamp,
    ) -> Result<Self> {
        let mut indexes = Vec::with_capacity(schema.indexes().len());
        for index in schema.indexes() {
            let known = before.and_then(|table| {
                let mut ready = table.indexes.iter().filter(|one| one.ready);
                ready.find(|one| one.id == index.id)
            });
            let since = known.map_or(since, |known| known.since);
            indexes.push(Arc::new(IndexTable::new(&schema, index, since)?));
        }
        Ok(Self {
            id,
            schema,
            epoch,
            indexes,
            collection: None,
        })
    }

    /// A collection with these columns. Its rows are read and written as those of the container.
    pub(crate) fn of_collection(schema: Schema, collection: Collection) -> Result<Self> {
        let base = &collection.base;
        let (id, epoch) = (base.id, base.epoch);
        let mut table = Self::new(id, schema, epoch, None, Timestamp::default())?;
        table.collection = Some(Arc::new(collection));
        Ok(table)
    }

    /// The collection whose items its rows are.
    pub(crate) fn collection(&self) -> Option<&Arc<Collection>> {
        self.collection.as_ref()
    }

    /// Its indexes, as tables.
    pub(crate) fn indexes(&self) -> &[Arc<IndexTable>] {
        &self.indexes
    }

    /// Its number.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Its columns and key.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How often its schema changed since the store was opened. Who writes rows of this schema tells
    /// [`txn::Transaction::expect_epoch`], so that they are refused if it changed meanwhile.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// The tables and sequences of a store.
#[derive(Debug)]
pub struct Catalog {
    /// Whoever changes the catalog holds it, so that changes take turns; readers do not wait for it.
    changes: Mutex<()>,
    named: RwLock<Named>,
    generation: AtomicU64,
    /// Whether a table or collection has hidden columns, which concerns the reading of all.
    hidden: AtomicBool,
    /// Whether a table has foreign keys, which concerns the tables that they refer to as well.
    foreign: AtomicBool,
    /// The indexes that are being built.
    building: Mutex<BTreeMap<TableId, Progress>>,
    /// Rows that are on their way to other buckets.
    pub(crate) moves: Moves,
    /// Who is in which container.
    gates: Gates,
    /// Where collections are looked up.
    store: OnceLock<Weak<Store>>,
}

/// What names stand for. A name is a table's or a sequence's, never both.
#[derive(Debug, Default)]
struct Named {
    tables: BTreeMap<String, Arc<Table>>,
    sequences: BTreeMap<String, Arc<Sequence>>,
}

impl Catalog {
    /// Reads all records, and drops what a crash left half made.
    pub fn load(store: &Store) -> Result<Self> {
        let mut named = Named::default();
        let mut owned = Vec::new();
        let mut kept = BTreeSet::new();
        for (id, bytes) in store.records()? {
            match record::decode(id, &bytes)? {
                Record::Table(schema) => {
                    let schema = without_unfinished(store, id, *schema)?;
                    kept.insert(id);
                    let parts = schema.parts();
                    kept.extend(parts.indexes.iter().map(|index| index.id));
                    kept.extend(parts.sequences.iter().map(|owned| owned.sequence));
                    let name = schema.name().to_owned();
                    let epoch = 0;
                    let table = Table::new(id, schema, epoch, None, Timestamp::default())?;
                    named.tables.insert(name, Arc::new(table));
                }
                Record::Sequence(definition) => owned.push((id, definition)),
                Record::Index { .. } | Record::Building => {}
            }
        }
        for (id, definition) in owned {
            if !definition.owned || kept.contains(&id) {
                kept.insert(id);
                let name = definition.name.clone();
                let sequence = Arc::new(Sequence::new(id, definition));
                named.sequences.insert(name, sequence);
            }
        }
        for id in store.tables() {
            if !kept.contains(&id) {
                store.drop_table(id)?;
            }
        }
        let catalog = Self {
            changes: Mutex::default(),
            named: RwLock::new(named),
            generation: AtomicU64::new(0),
            hidden: AtomicBool::new(false),
            foreign: AtomicBool::new(false),
            building: Mutex::default(),
            moves: Moves::default(),
            gates: Gates::default(),
            store: OnceLock::new(),
        };
        catalog.show(|_| ());
        Ok(catalog)
    }

    /// Rises with every change. Who remembers what follows from the catalog asks before looking it up,
    /// and looks again when the number is another.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Lets everybody look again at what is remembered of it, because a schema of items changed.
    pub(crate) fn touch(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The table called `name`.
    pub fn get(&self, name: &str) -> Result<Arc<Table>> {
        let named = self.named.read();
        let no_such = || Error::NoSuchTable {
            name: name.to_owned(),
            nearest: nearest(name, named.tables.keys()).cloned(),
        };
        named.tables.get(name).cloned().ok_or_else(no_such)
    }

    /// Says where collections are looked up.
    pub(crate) fn attach(&self, store: &Arc<Store>) {
        // It is always the same one.
        let _ = self.store.set(Arc::downgrade(store));
    }

    /// The table or collection called `name`, whose rows can be read and written.
    pub(crate) fn relation(&self, name: &str) -> Result<Arc<Table>> {
        let missing = match self.get(name) {
            Err(missing @ Error::NoSuchTable { .. }) => missing,
            found => return found,
        };
        let found = match self.store.get().and_then(Weak::upgrade) {
            Some(store) => collection::find(self, &store, name)?,
            None => None,
        };
        found.map(Arc::new).ok_or(missing)
    }

    /// The table called `name`, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Table>> {
        self.named.read().tables.get(name).cloned()
    }

    /// The table with this number, if there is one.
    pub(crate) fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        let named = self.named.read();
        let mut tables = named.tables.values();
        tables.find(|table| table.id == id).cloned()
    }

    /// Whether any table has foreign keys.
    pub(crate) fn has_foreign_keys(&self) -> bool {
        self.foreign.load(Ordering::Acquire)
    }

    /// The foreign keys that refer to a table, its own included, with the tables that have them.
    pub(crate) fn referring(&self, parent: TableId) -> Vec<(Arc<Table>, ForeignKey)> {
        let named = self.named.read();
        let mut found = Vec::new();
        for table in named.tables.values() {
            let keys = table.schema.foreign_keys().iter();
            let keys = keys.filter(|key| key.parent.unwrap_or(table.id) == parent);
            found.extend(keys.map(|key| (Arc::clone(table), key.clone())));
        }
        found
    }

    /// The table that an index belongs to, and the index.
    pub(crate) fn with_index(&self, id: TableId) -> Option<(Arc<Table>, Arc<IndexTable>)> {
        let named = self.named.read();
        let mut tables = named.tables.values();
        tables.find_map(|table| {
            let index = table.indexes.iter().find(|index| index.id == id)?;
            Some((Arc::clone(table), Arc::clone(index)))
        })
    }

    /// The indexes that are being built now.
    pub fn progress(&self) -> Vec<Progress> {
        self.building.lock().values().cloned().collect()
    }

    pub(crate) fn begin_progress(&self, index: TableId, progress: Progress) {
        self.building.lock().insert(index, progress);
    }

    pub(crate) fn add_progress(&self, index: TableId, rows: u64) {
        if let Some(progress) = self.building.lock().get_mut(&index) {
            progress.rows_done += rows;
        }
    }

    pub(crate) fn forget_progress(&self, indexes: &[TableId]) {
        let mut building = self.building.lock();
        building.retain(|index, _| !indexes.contains(index));
    }

    /// All tables, by name.
    pub fn all(&self) -> Vec<Arc<Table>> {
        self.named.read().tables.values().cloned().collect()
    }

    /// Whether any table has hidden columns.
    pub(crate) fn has_hidden_columns(&self) -> bool {
        self.hidden.load(Ordering::Acquire)
    }

    /// The sequence called `name`.
    pub fn sequence(&self, name: &str) -> Result<Arc<Sequence>> {
        let named = self.named.read();
        let no_such = || Error::NoSuchSequence {
            name: name.to_owned(),
            nearest: nearest(name, named.sequences.keys()).cloned(),
        };
        named.sequences.get(name).cloned().ok_or_else(no_such)
    }

    /// All sequences, by name.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.named.read().sequences.values().cloned().collect()
    }

    /// The gate of a container.
    pub fn gate(&self, container: &str) -> Arc<Gate> {
        self.gates.get(container)
    }

    /// Makes a table whose partitions begin at the given keys (besides the first, which has no
    /// bound).
    pub fn create(
        &self,
        store: &Store,
        schema: Schema,
        split_keys: &[Bytes],
    ) -> Result<Arc<Table>> {
        self.change(store).create(NewTable {
            schema,
            split_keys,
            sequences: Vec::new(),
            parents: &[],
        })
    }

    /// Drops a table with all its rows, its indexes, and the sequences of its columns.
    pub fn remove(&self, store: &Store, name: &str) -> Result<()> {
        let change = self.change(store);
        let table = self.get(name)?;
        change.remove(&table)
    }

    /// Begins to change the catalog; others wait until it is dropped.
    pub(crate) fn change<'c>(&'c self, store: &'c Store) -> Change<'c> {
        let turn = self.changes.try_lock();
        let turn = turn.unwrap_or_else(|| blocking(|| self.changes.lock()));
        Change::new(self, store, turn)
    }

    /// Shows a change to everyone.
    fn show(&self, change: impl FnOnce(&mut Named)) {
        let mut named = self.named.write();
        change(&mut named);
        let mut tables = named.tables.values();
        let hidden = tables.any(|table| {
            let container = table.schema.name().starts_with(collection::TABLE_PREFIX);
            table.schema.has_hidden_columns() || container
        });
        self.hidden.store(hidden, Ordering::Release);
        let mut tables = named.tables.values();
        let foreign = tables.any(|table| !table.schema.foreign_keys().is_empty());
        self.foreign.store(foreign, Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// The schema without indexes whose building a crash cut short, and so on record.
fn without_unfinished(store: &Store, id: TableId, schema: Schema) -> Result<Schema> {
    if schema.indexes().iter().all(|index| index.ready) {
        return Ok(schema);
    }
    let mut parts = schema.parts().clone();
    parts.indexes.retain(|index| index.ready);
    let schema = Schema::from_parts(parts)?;
    store.set_record(id, record::encode(&Record::Table(Box::new(schema.clone()))))?;
    Ok(schema)
}

/// The name most like `name`, if one is near enough to be meant.
pub fn nearest<'n, S: AsRef<str> + ?Sized>(
    name: &str,
    names: impl Iterator<Item = &'n S>,
) -> Option<&'n S> {
    names
        .map(|other| match name.eq_ignore_ascii_case(other.as_ref()) {
            true => (0, other),
            false => (edits(name, other.as_ref()), other),
        })
        // Of two short names either can be made of the other.
        .filter(|(edits, _)| *edits <= NEAREST_EDITS_MAX && edits * 2 < name.chars().count())
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
        let short = ["t2".to_owned()];
        assert_eq!(nearest("ck", short.iter()), None);
    }
}
