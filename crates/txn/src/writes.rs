//! A transaction's own writes, buffered until it commits, with savepoints.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use partitions::TableId;
use storage::{Bytes, ENGINE_KEY_BYTES_MAX, KeyRange};

use crate::load::Rows;
use crate::{Error, Result};

/// How many rows one transaction may write.
pub const TRANSACTION_WRITES_MAX: usize = 1 << 20;

/// How many bytes of keys and rows one transaction may write.
pub const TRANSACTION_BYTES_MAX: usize = 256 << 20;

/// How many bytes of keys and rows a transaction may have besides, of tables that it fills in bulk.
pub const TRANSACTION_BULK_BYTES_MAX: usize = 512 << 20;

/// How many rows may be written besides those in bulk that go past the journal, and how many bytes:
/// they go through it twice.
const BESIDE_BULK_ROWS_MAX: usize = 1 << 16;
const BESIDE_BULK_BYTES_MAX: usize = 16 << 20;

/// How long a key may be: what engines store, less the table number and timestamp that history and
/// intents put around it.
pub const KEY_BYTES_MAX: usize = ENGINE_KEY_BYTES_MAX - 16;

/// A mark in a transaction, to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(u64);

/// What a transaction does to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Put(Bytes),
    Delete,
    /// Patches what is there when it commits, in this order.
    Patch(Vec<Bytes>),
}

impl Edit {
    /// The bytes it brings.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Put(row) => row.len(),
            Self::Delete => 0,
            Self::Patch(patches) => patches.iter().map(Bytes::len).sum(),
        }
    }
}

/// What a transaction does to rows, by table and key.
pub(crate) type Tables = BTreeMap<TableId, Own>;

/// What a transaction does to one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    edits: BTreeMap<Bytes, Edit>,
    /// New rows that came in one piece and stay so, under the edits.
    bulk: Option<Arc<Rows>>,
}

impl Own {
    /// What is to become of a row, if this transaction does anything to it.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Edit> {
        let edit = self.edits.get(key).cloned();
        edit.or_else(|| {
            let row = self.bulk.as_ref()?.find(key)?;
            Some(Edit::Put(Bytes::copy_from_slice(row)))
        })
    }

    fn edits_in(&self, range: &KeyRange) -> impl Iterator<Item = (&Bytes, &Edit)> {
        let upper = range
            .upper
            .as_ref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        self.edits
            .range::<Bytes, _>((Bound::Included(&range.lower), upper))
    }
}

/// The writes of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    tables: Arc<Tables>,
    /// The savepoints that exist, oldest first.
    savepoints: Vec<Undo>,
    next_savepoint: u64,
    count: usize,
    bytes: usize,
    bulk_bytes: usize,
    /// How many edits all savepoints keep, and their bytes.
    undo_count: usize,
    undo_bytes: usize,
}

/// The undo records of a savepoint: what was to become of each row that was written between it and the
/// next one, before the first of these writes.
#[derive(Debug)]
struct Undo {
    savepoint: Savepoint,
    before: BTreeMap<(TableId, Bytes), Option<Edit>>,
}

impl Writes {
    pub(crate) fn set(&mut self, table: TableId, key: Bytes, edit: Edit) -> Result<()> {
        check_key(&key)?;
        let size = cost(&key, &edit);
        check("written bytes", TRANSACTION_BYTES_MAX, self.bytes + size)?;
        check("written rows", TRANSACTION_WRITES_MAX, self.count + 1)?;
        self.keep_undo(table, &key)?;
        self.replace(table, key, Some(edit));
        Ok(())
    }

    /// Keeps what is to become of a row now for the newest savepoint, unless it has that of an earlier
    /// write.
    fn keep_undo(&mut self, table: TableId, key: &Bytes) -> Result<()> {
        let Some(undo) = self.savepoints.last_mut() else {
            return Ok(());
        };
        let Entry::Vacant(vacant) = undo.before.entry((table, key.clone())) else {
            return Ok(());
        };
        let own = self.tables.get(&table);
        let before = own.and_then(|own| own.edits.get(key)).cloned();
        let count = self.undo_count + 1;
        let bytes = self.undo_bytes + undo_cost(key, &before);
        check("rows kept for savepoints", TRANSACTION_WRITES_MAX, count)?;
        check("bytes kept for savepoints", TRANSACTION_BYTES_MAX, bytes)?;
        vacant.insert(before);
        (self.undo_count, self.undo_bytes) = (count, bytes);
        Ok(())
    }

    /// An undo record is not kept any more.
    fn forget_undo(&mut self, key: &Bytes, before: &Option<Edit>) {
        self.undo_count -= 1;
        self.undo_bytes -= undo_cost(key, before);
    }

    fn replace(&mut self, table: TableId, key: Bytes, edit: Option<Edit>) {
        // Copied only while a reader of an earlier statement is still at work.
        let tables = Arc::make_mut(&mut self.tables);
        let rows = &mut tables.entry(table).or_default().edits;
        let added = edit.as_ref().map_or(0, |edit| cost(&key, edit));
        let one = usize::from(edit.is_some());
        let before = match edit {
            Some(edit) => rows.insert(key.clone(), edit),
            None => rows.remove(&key),
        };
        self.count = self.count + one - usize::from(before.is_some());
        let removed = before.as_ref().map_or(0, |edit| cost(&key, edit));
        self.bytes = self.bytes + added - removed;
    }

    /// What is to become of a row, if this transaction does anything to it.
    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Option<Edit> {
        self.tables.get(&table)?.get(key)
    }

    /// Whether new rows can be added in bulk: nothing else was done to them, and nobody may want to
    /// take back only them.
    pub(crate) fn takes_bulk(&self, table: TableId, rows: &Rows) -> bool {
        let untouched = |own: &Own| own.edits.keys().all(|key| rows.find(key).is_none());
        self.savepoints.is_empty() && self.tables.get(&table).is_none_or(untouched)
    }

    /// Adds new rows in bulk.
    pub(crate) fn add_bulk(&mut self, table: TableId, rows: Rows) -> Result<()> {
        let size = self.bulk_bytes + rows.pair_bytes();
        check("bytes in bulk", TRANSACTION_BULK_BYTES_MAX, size)?;
        let own = Arc::make_mut(&mut self.tables).entry(table).or_default();
        if let Some(before) = &own.bulk {
            let mut keys = rows.iter(0..rows.len()).map(|(key, _)| key);
            if let Some(key) = keys.find(|key| before.find(key).is_some()) {
                let key = Bytes::copy_from_slice(key);
                return Err(Error::RowExists { table, key });
            }
        }
        let all = match own.bulk.take() {
            None => rows,
            Some(before) => {
                let mut pile = Arc::unwrap_or_clone(before).into_pile();
                pile.append(rows.into_pile());
                Rows::new(pile)
            }
        };
        own.bulk = Some(Arc::new(all));
        self.bulk_bytes = size;
        Ok(())
    }

    pub(crate) fn has_bulk(&self) -> bool {
        self.bulk_bytes > 0
    }

    /// Takes out the bulk of one table, if that is nearly all that was written and no edit touches
    /// it. All other writes are edits then.
    pub(crate) fn take_bulk(&mut self) -> Option<(TableId, Arc<Rows>)> {
        let small = self.count <= BESIDE_BULK_ROWS_MAX && self.bytes <= BESIDE_BULK_BYTES_MAX;
        let mut with_bulk = self.tables.iter().filter(|(_, own)| own.bulk.is_some());
        let (Some((table, own)), None) = (with_bulk.next(), with_bulk.next()) else {
            return None;
        };
        let bulk = own.bulk.as_ref()?;
        if !small || own.edits.keys().any(|key| bulk.find(key).is_some()) {
            return None;
        }
        let (table, bulk) = (*table, Arc::clone(bulk));
        if let Some(own) = Arc::make_mut(&mut self.tables).get_mut(&table) {
            own.bulk = None;
        }
        self.bulk_bytes = 0;
        Some((table, bulk))
    }

    /// Makes edits of all rows in bulk. `check` is asked about each of them first.
    pub(crate) fn dissolve(&mut self, check: impl Fn(TableId, &Bytes) -> Result<()>) -> Result<()> {
        let mut bulks = Vec::new();
        if self.bulk_bytes > 0 {
            for (table, own) in Arc::make_mut(&mut self.tables) {
                bulks.extend(own.bulk.take().map(|bulk| (*table, bulk)));
            }
        }
        self.bulk_bytes = 0;
        for (table, bulk) in bulks {
            for (key, row) in bulk.iter(0..bulk.len()) {
                let key = Bytes::copy_from_slice(key);
                check(table, &key)?;
                let own = self.tables.get(&table);
                if own.is_none_or(|own| !own.edits.contains_key(&key)) {
                    self.set(table, key, Edit::Put(Bytes::copy_from_slice(row)))?;
                }
            }
        }
        Ok(())
    }

    /// The writes so far; later ones do not show in it.
    pub(crate) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    pub(crate) fn savepoint(&mut self) -> Savepoint {
        let savepoint = Savepoint(self.next_savepoint);
        self.next_savepoint += 1;
        self.savepoints.push(Undo {
            savepoint,
            before: BTreeMap::new(),
        });
        savepoint
    }

    /// Takes back every write since the savepoint, which stays usable; later ones are gone.
    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let index = self.find(savepoint)?;
        for undo in self.savepoints.split_off(index).into_iter().rev() {
            for ((table, key), before) in undo.before {
                self.forget_undo(&key, &before);
                self.replace(table, key, before);
            }
        }
        self.savepoints.push(Undo {
            savepoint,
            before: BTreeMap::new(),
        });
        Ok(())
    }

    /// Gives up a savepoint and those after it; the writes since then stay, and go back with the one
    /// before it.
    pub(crate) fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        let index = self.find(savepoint)?;
        for undo in self.savepoints.split_off(index) {
            for (place, before) in undo.before {
                let earlier = self.savepoints.last_mut();
                match earlier.map(|earlier| earlier.before.entry(place.clone())) {
                    Some(Entry::Vacant(vacant)) => {
                        vacant.insert(before);
                    }
                    _ => self.forget_undo(&place.1, &before),
                }
            }
        }
        Ok(())
    }

    fn find(&self, savepoint: Savepoint) -> Result<usize> {
        let mut savepoints = self.savepoints.iter();
        let index = savepoints.position(|undo| undo.savepoint == savepoint);
        index.ok_or(Error::NoSuchSavepoint)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many edits there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.bulk_bytes == 0
    }

    /// All edits, by table and key. What is in bulk is not among them.
    pub(crate) fn into_edits(self) -> impl Iterator<Item = (TableId, Bytes, Edit)> {
        let tables = Arc::unwrap_or_clone(self.tables);
        tables.into_iter().flat_map(|(table, own)| {
            let edits = own.edits.into_iter();
            edits.map(move |(key, edit)| (table, key, edit))
        })
    }
}

/// The writes in a range of one table, in key order.
pub(crate) fn writes_in(tables: &Tables, table: TableId, range: &KeyRange) -> Vec<(Bytes, Edit)> {
    let Some(own) = tables.get(&table).filter(|_| !range.is_empty()) else {
        return Vec::new();
    };
    let edits = own.edits_in(range);
    let Some(bulk) = &own.bulk else {
        return edits
            .map(|(key, edit)| (key.clone(), edit.clone()))
            .collect();
    };
    let mut edits = edits.peekable();
    let mut all = Vec::new();
    let mut push = |(key, edit): (&Bytes, &Edit)| all.push((key.clone(), edit.clone()));
    for (key, row) in bulk.within(range) {
        while let Some(edit) = edits.next_if(|(edited, _)| *edited < key) {
            push(edit);
        }
        match edits.next_if(|(edited, _)| *edited == key) {
            Some(edit) => push(edit),
            None => {
                let edit = Edit::Put(Bytes::copy_from_slice(row));
                push((&Bytes::copy_from_slice(key), &edit));
            }
        }
    }
    edits.for_each(push);
    all
}

fn cost(key: &Bytes, edit: &Edit) -> usize {
    key.len() + edit.bytes()
}

fn undo_cost(key: &Bytes, before: &Option<Edit>) -> usize {
    key.len() + before.as_ref().map_or(0, Edit::bytes)
}

/// An error unless engines store such a key.
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    let size = key.len();
    match size {
        1..=KEY_BYTES_MAX => Ok(()),
        _ => Err(Error::KeyLength {
            limit: KEY_BYTES_MAX,
            size,
        }),
    }
}

/// An error when `size` is past `limit`.
pub(crate) fn check(what: &'static str, limit: usize, size: usize) -> Result<()> {
    if size > limit {
        Err(Error::TooLarge { what, limit, size })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    fn rows(writes: &Writes) -> Vec<String> {
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        let show = |(key, edit): (Bytes, Edit)| match edit {
            Edit::Put(row) => format!("{}={}", text(&key), text(&row)),
            Edit::Delete => format!("{}=-", text(&key)),
            Edit::Patch(patches) => format!("{}+{}", text(&key), text(&patches.concat().into())),
        };
        writes_in(&writes.tables, TABLE, &KeyRange::all())
            .into_iter()
            .map(show)
            .collect()
    }

    #[test]
    fn rollback_restores_what_the_savepoint_saw() {
        let mut writes = Writes::default();
        writes
            .set(TABLE, "a".into(), Edit::Put("1".into()))
            .unwrap();
        let one = writes.savepoint();
        writes
            .set(TABLE, "a".into(), Edit::Put("2".into()))
            .unwrap();
        writes.set(TABLE, "b".into(), Edit::Delete).unwrap();
        let two = writes.savepoint();
        writes.set(TABLE, "a".into(), Edit::Delete).unwrap();
        writes.rollback_to(two).unwrap();
        assert_eq!(rows(&writes), ["a=2", "b=-"]);
        writes.rollback_to(one).unwrap();
        assert_eq!(rows(&writes), ["a=1"]);
        writes.set(TABLE, "c".into(), Edit::Delete).unwrap();
        writes.set(TABLE, "d".into(), Edit::Delete).unwrap();
        let gone = writes.rollback_to(two);
        assert!(matches!(gone, Err(Error::NoSuchSavepoint)));
        writes.rollback_to(one).unwrap();
        assert_eq!((writes.count, writes.bytes), (1, 2));
    }

    fn put(writes: &mut Writes, key: &'static str, number: usize) {
        let row = Edit::Put(number.to_string().into());
        writes.set(TABLE, key.into(), row).unwrap();
    }

    #[test]
    fn a_row_that_is_rewritten_is_kept_once_for_each_savepoint() {
        let mut writes = Writes::default();
        put(&mut writes, "a", 0);
        let outer = writes.savepoint();
        for number in 1..=1000 {
            put(&mut writes, "a", number);
        }
        let inner = writes.savepoint();
        for number in 1001..=2000 {
            put(&mut writes, "a", number);
        }
        assert_eq!((writes.undo_count, writes.undo_bytes), (2, 2 + 1 + 4));
        writes.rollback_to(inner).unwrap();
        assert_eq!(rows(&writes), ["a=1000"]);
        writes.rollback_to(outer).unwrap();
        assert_eq!(rows(&writes), ["a=0"]);
        assert_eq!((writes.undo_count, writes.undo_bytes), (0, 0));
    }

    #[test]
    fn what_was_written_after_a_released_savepoint_goes_back_with_the_one_before() {
        let mut writes = Writes::default();
        put(&mut writes, "a", 0);
        let outer = writes.savepoint();
        for number in 1..=100 {
            let inner = writes.savepoint();
            put(&mut writes, "a", number);
            put(&mut writes, "b", number);
            writes.release(inner).unwrap();
            assert_eq!((writes.savepoints.len(), writes.undo_count), (1, 2));
            let gone = writes.rollback_to(inner);
            assert!(matches!(gone, Err(Error::NoSuchSavepoint)));
        }
        writes.rollback_to(outer).unwrap();
        assert_eq!(rows(&writes), ["a=0"]);
        put(&mut writes, "b", 1);
        writes.release(outer).unwrap();
        assert_eq!((writes.undo_count, writes.undo_bytes), (0, 0));
        assert_eq!(rows(&writes), ["a=0", "b=1"]);
    }

    #[test]
    fn savepoints_have_a_limit() {
        let mut writes = Writes::default();
        let mut rewrite = || {
            writes.savepoint();
            writes.set(TABLE, "a".into(), Edit::Put(vec![0; 1 << 20].into()))
        };
        let most = TRANSACTION_BYTES_MAX >> 20;
        let refused = (0..=most).find_map(|_| rewrite().err()).unwrap();
        assert!(
            refused.to_string().contains("bytes kept for savepoints"),
            "{refused}"
        );
    }

    #[test]
    fn keys_past_the_limit_are_refused_before_an_engine_sees_them() {
        let mut writes = Writes::default();
        writes
            .set(TABLE, vec![1; KEY_BYTES_MAX].into(), Edit::Delete)
            .unwrap();
        for length in [0, KEY_BYTES_MAX + 1] {
            let error = writes
                .set(TABLE, vec![1; length].into(), Edit::Delete)
                .unwrap_err();
            assert!(
                matches!(error, Error::KeyLength { size, .. } if size == length),
                "{error}"
            );
        }
    }

    #[test]
    fn limits_name_themselves() {
        let error = check("written rows", 10, 11).unwrap_err().to_string();
        assert_eq!(
            error,
            "a transaction may have 10 written rows, this one has 11: commit in smaller steps"
        );
    }
}
