//! The table of a container as rows that are records, and which schema holds where.

use std::sync::Arc;

use keys::{Order, Value, prefix_upper_bound};
use txn::{Bytes, Direction, KeyRange, Reader, Scan, Store, Transaction};

use super::layout::{Layout, SCHEMA_NAME};
use super::moving::later;
use super::path;
use super::record::{CHANGED_NS, Key, Record, sharding_prefix};
use super::spread::{LAYOUT_NAME, Spread};
use crate::modify::{ensure_row, find_row, raise_row, replace_row};
use crate::{Result, Table, delete_row};

/// Says that rows of the directory are being moved.
pub(crate) const MOVING_NAME: &str = ".#moving";

/// What holds in a directory.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its layout.
    pub layout: Arc<Layout>,
    /// The directory whose schema it is; nothing if there is none.
    pub root: Option<String>,
    /// When that schema was changed last.
    pub changed_ns: i64,
    /// The directory whose rows must be moved before anybody can use them, if there is one.
    pub moving: Option<String>,
    /// The directory whose rows are on their way from the former buckets of the layout.
    pub spreading: Option<String>,
    /// Whether names carry buckets, as before the distribution of rows was recorded.
    pub(crate) carries_buckets: bool,
    /// How rows are distributed, as far as it is on record.
    pub(crate) spread: Spread,
}

/// The rows of a container, as a reader sees them.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) table: Arc<Table>,
    pub(crate) reader: Reader,
}

impl Stored {
    pub(crate) fn new(table: &Arc<Table>, reader: Reader) -> Self {
        let table = Arc::clone(table);
        Self { table, reader }
    }

    /// The record with this key.
    pub(crate) fn get(&self, key: &Key) -> Result<Option<Record>> {
        let schema = self.table.schema();
        let key = schema.encode_key(&key.values())?;
        match self.reader.get(self.table.id(), &key)? {
            Some(row) => Ok(Some(Record::from_row(schema.decode(&key, &row)?)?)),
            None => Ok(None),
        }
    }

    pub(crate) fn scan(&self, range: &KeyRange) -> Result<Scan> {
        let id = self.table.id();
        Ok(self.reader.scan(id, range, Direction::Ascending)?)
    }

    /// The first record of a range.
    pub(crate) fn first(&self, range: &KeyRange) -> Result<Option<Record>> {
        let mut scan = self.scan(range)?;
        match scan.next().transpose()? {
            Some((key, row)) => self.record(&key, &row).map(Some),
            None => Ok(None),
        }
    }

    /// The record that stored bytes are.
    pub(crate) fn record(&self, key: &[u8], row: &[u8]) -> Result<Record> {
        Ok(Record::from_row(self.table.schema().decode(key, row)?)?)
    }

    /// The beginning of keys with these values.
    pub(crate) fn prefix(&self, values: &[Value]) -> Result<Bytes> {
        self.table.schema().encode_key_prefix(values)
    }

    /// All records of one directory.
    pub(crate) fn directory(&self, path: &str) -> Result<KeyRange> {
        let lower = self.prefix(&[Value::Utf8(path.into())])?;
        let upper = Some(prefix_upper_bound(&lower).into());
        Ok(KeyRange { lower, upper })
    }

    /// All records of a directory and of those below it.
    pub(crate) fn below(&self, path: &str) -> Result<KeyRange> {
        let Some(above) = path::above(path) else {
            return Ok(KeyRange::all());
        };
        let lower = self.prefix(&[Value::Utf8(path.into())])?;
        let upper = Some(self.prefix(&[Value::Utf8(above.into())])?);
        Ok(KeyRange { lower, upper })
    }

    /// A directory and the partitions below it that something is in, in the order of their paths. What
    /// each stands for, beginning at the table `root`, is shown to `keeps`, and nothing below one that
    /// it refuses is looked at.
    pub(crate) fn partitions(
        &self,
        root: &str,
        within: &str,
        mut keeps: impl FnMut(&[(&str, &str)]) -> bool,
    ) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut range = self.below(within)?;
        while let Some(record) = self.first(&range)? {
            let path = record.key.path;
            let mut end = within.len();
            let mut refused = None;
            for segment in path.get(end..).unwrap_or_default().split_terminator('/') {
                end += segment.len() + 1;
                let at = path.get(..end).unwrap_or_default();
                if !path::partition(root, at).is_some_and(|parts| keeps(&parts)) {
                    refused = Some(at);
                    break;
                }
            }
            let next = match refused {
                Some(refused) => path::above(refused).unwrap_or_default(),
                // The least path after it.
                None => format!("{path}\0"),
            };
            range.lower = self.prefix(&[Value::Utf8(next.into())])?;
            if refused.is_none() {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// The directories that have a schema of their own, in the order of their paths, as far as they are
    /// found in so many looks. Partitions of a table are passed over together.
    pub(crate) fn with_schemas(&self, looks_max: usize) -> Result<Vec<String>> {
        let mut found: Vec<String> = Vec::new();
        let mut range = KeyRange::all();
        for _ in 0..looks_max {
            let Some(record) = self.first(&range)? else {
                break;
            };
            let path = record.key.path;
            let of_table = found.iter().rev().find_map(|root| {
                let (segment, _) = path.strip_prefix(root.as_str())?.split_once('/')?;
                let (attribute, _) = path::attribute(segment)?;
                Some(format!("{root}{attribute}>"))
            });
            let next = match of_table {
                Some(next) => next,
                None => {
                    let schema = Key::of_name(&path, SCHEMA_NAME, Order::Text);
                    let next = format!("{path}\0");
                    if self.get(&schema)?.is_some() {
                        found.push(path);
                    }
                    next
                }
            };
            range.lower = self.prefix(&[Value::Utf8(next.into())])?;
        }
        Ok(found)
    }

    /// All records of one sharding key, as it is stored.
    pub(crate) fn sharding(&self, path: &str, sharding: &str) -> Result<KeyRange> {
        let lower = self.prefix(&sharding_prefix(path, sharding))?;
        let upper = Some(prefix_upper_bound(&lower).into());
        Ok(KeyRange { lower, upper })
    }

    /// What holds in a directory.
    pub(crate) fn layout(&self, path: &str) -> Result<Found> {
        let mut at = path;
        loop {
            let get = |name: &str| self.get(&Key::of_name(at, name, Order::Text));
            let moving = get(MOVING_NAME)?.map(|_| at.to_owned());
            let spread = get(LAYOUT_NAME)?.and_then(|record| record.data);
            let spread = spread.and_then(|data| Spread::parse(&data));
            let schema = get(SCHEMA_NAME)?;
            let changed_ns = schema.as_ref().map_or(0, |record| record.changed_ns);
            let found = match schema.and_then(|record| record.data) {
                Some(schema) => Found {
                    // What is there was checked when it came, or was written by other means.
                    layout: Arc::new(Layout::parse(&schema).unwrap_or_default()),
                    root: Some(at.to_owned()),
                    changed_ns,
                    ..Found::nothing()
                },
                None if moving.is_some() || spread.is_some() => self.inherited(at)?,
                None => match path::parent(at) {
                    Some((parent, segment)) if segment.contains('=') => {
                        at = parent;
                        continue;
                    }
                    _ => return Ok(Found::nothing()),
                },
            };
            let is_own = found.root.as_deref() == Some(at);
            let found = match spread {
                None if is_own => found.with_carried(at),
                None => found,
                Some(spread) => found.with_spread(at, spread),
            };
            return Ok(Found {
                moving: moving.or(found.moving),
                ..found
            });
        }
    }

    /// What a directory has from those above it.
    pub(crate) fn inherited(&self, path: &str) -> Result<Found> {
        match path::parent(path) {
            Some((parent, segment)) if segment.contains('=') => self.layout(parent),
            _ => Ok(Found::nothing()),
        }
    }
}

impl Found {
    fn nothing() -> Self {
        Self {
            layout: Arc::default(),
            root: None,
            changed_ns: 0,
            moving: None,
            spreading: None,
            carries_buckets: false,
            spread: Spread::default(),
        }
    }

    /// The same in a directory whose schema alone tells of its buckets: the rows have them in their
    /// names, and are moved to where they belong.
    fn with_carried(mut self, at: &str) -> Self {
        if self.layout.buckets.is_some() {
            self.carries_buckets = true;
            self.moving = Some(at.to_owned());
        }
        self
    }

    /// The same in a directory whose rows are distributed so.
    fn with_spread(mut self, at: &str, spread: Spread) -> Self {
        let agrees = spread.buckets == self.layout.buckets;
        let mut layout = self.layout.as_ref().clone();
        layout.past = spread.past.as_slice().into();
        layout.former = spread.former.filter(|_| agrees);
        self.moving = (!agrees).then(|| at.to_owned()).or(self.moving);
        self.spreading = layout.former.map(|_| at.to_owned());
        self.layout = Arc::new(layout);
        self.carries_buckets = false;
        self.spread = spread;
        self
    }
}

/// Puts a record, in the place of another or of none.
pub(crate) fn put(transaction: &mut Transaction, table: &Table, record: Record) -> Result<()> {
    let row = record.into_row(table.schema());
    let row = table.schema().complete(&row)?;
    transaction.expect_epoch(table.id(), table.epoch());
    let old = match table.schema().writes_unseen() {
        true => None,
        false => find_row(transaction, table, &row)?,
    };
    replace_row(transaction, table, old.as_deref(), &row)
}

/// Deletes a record that is there.
pub(crate) fn delete(transaction: &mut Transaction, table: &Table, record: Record) -> Result<()> {
    transaction.expect_epoch(table.id(), table.epoch());
    let row = record.into_row(table.schema());
    delete_row(transaction, table, &row)
}

/// Says of a directory that something in it went, of which nothing else tells. Nobody waits for anybody
/// because of that, and what others change of the directory stays: it is not read in the transaction.
pub(crate) fn touch(
    transaction: &mut Transaction,
    (table, store): (&Arc<Table>, &Arc<Store>),
    path: &str,
) -> Result<()> {
    let key = Key::of_directory(path).values();
    raise_row(transaction, table, &key, (CHANGED_NS, later(store, None)))
}

/// Creates a directory and its ancestors, where they are missing. The lookup is not tracked as a read:
/// concurrent transactions may create and change the same directories.
pub fn announce(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    path: &str,
    now_ns: i64,
) -> Result<()> {
    let mut next = Some(path);
    while let Some(path) = next.filter(|path| !path.is_empty()) {
        let key = Key::of_directory(path).values();
        let bytes = table.schema().encode_key(&key)?;
        if transaction.glance().get(table.id(), &bytes)?.is_some() {
            break;
        }
        let row = Record::of_directory(path, (now_ns, now_ns))?.into_row(table.schema());
        ensure_row(transaction, table, &row)?;
        next = path::parent(path).map(|(above, _)| above);
    }
    Ok(())
}
