//! TTL: rows whose time is over are deleted in the background.
//!
//! ```text
//!   table ─┬─ its key, or a ready index, begins with the TTL column ─► from the oldest on, to the first that lives
//!          └─ otherwise ─────────────────────────────────────────────► all rows
//! ```
//!
//! A sweep goes on where the round before stopped, so that each round is short. A row is read again in
//! the transaction that deletes it: one that was given more time meanwhile stays. Until it is deleted
//! a row can be read, as in YDB. NULL never expires.

use std::collections::BTreeMap;
use std::sync::Arc;

use keys::{Value, append_key_value, prefix_upper_bound};
use parking_lot::Mutex;
use syntax::table::TtlUnit;
use txn::{Bytes, Direction, Durability, KeyRange, TableId};

use crate::index::IndexTable;
use crate::modify::delete_row;
use crate::{Executor, Result, Table, Ttl};

/// How long a table rests between two sweeps, in microseconds.
const REST_US: u64 = 60_000_000;

/// How many rows one transaction looks at.
const CHUNK_ROWS: usize = 512;

/// Where the sweeps of all tables stand.
#[derive(Debug, Default)]
pub(crate) struct Sweeps {
    tables: Mutex<BTreeMap<TableId, Sweep>>,
}

/// Where the sweep of one table stands.
#[derive(Clone, Debug, Default)]
struct Sweep {
    /// When the next one begins.
    due_us: u64,
    /// Where this one goes on, and in which table of keys.
    next: Option<(TableId, Bytes)>,
}

impl Executor {
    /// Deletes rows whose time is over, and looks at about `rows_max` rows for that. Answers how many
    /// it deleted. A table that fails does not keep the others from being swept.
    pub fn expire(&self, rows_max: usize) -> Result<usize> {
        let mut left = rows_max;
        let mut deleted = 0;
        let mut failed = Ok(());
        let tables = self.catalog().all();
        let known: Vec<TableId> = tables.iter().map(|table| table.id()).collect();
        let mut sweeps = self.sweeps().tables.lock();
        sweeps.retain(|id, _| known.contains(id));
        for table in &tables {
            let Some(ttl) = table.schema().options().ttl else {
                continue;
            };
            let sweep = sweeps.entry(table.id()).or_default();
            while sweep.due_us <= self.store().now_us() && left > 0 {
                match self.expire_chunk(table, ttl, sweep) {
                    Ok(looked) => {
                        deleted += looked.deleted;
                        left = left.saturating_sub(looked.rows.max(1));
                    }
                    Err(error) => {
                        sweep.next = None;
                        failed = Err(error);
                    }
                }
                if sweep.next.is_none() {
                    sweep.due_us = self.store().now_us().saturating_add(REST_US);
                }
            }
        }
        failed.map(|()| deleted)
    }

    /// The next rows of a sweep.
    fn expire_chunk(&self, table: &Arc<Table>, ttl: Ttl, sweep: &mut Sweep) -> Result<Looked> {
        let now_us = i128::from(self.store().now_us());
        let source = Source::new(table, ttl)?;
        let lower = match sweep.next.take() {
            Some((id, lower)) if id == source.id() => lower,
            _ => source.first.clone(),
        };
        let range = KeyRange::new(lower, None);
        let view = self.store().view();
        let mut looked = Looked::default();
        let mut over = Vec::new();
        for pair in view
            .scan(source.id(), &range, Direction::Ascending)?
            .take(CHUNK_ROWS)
        {
            let (key, bytes) = pair?;
            let row = source.row(&key, &bytes)?;
            let ends_us = end_us(&row, ttl);
            if ends_us.is_some_and(|at| at <= now_us) {
                over.push(row);
            } else if source.sorted {
                sweep.next = None;
                break;
            }
            looked.rows += 1;
            sweep.next = Some((source.id(), after(&key)));
        }
        if looked.rows < CHUNK_ROWS {
            sweep.next = None;
        }
        looked.deleted = self.delete(table, ttl, &over)?;
        Ok(looked)
    }

    /// Deletes rows of which these are the keys, if their time is still over. If another changes one
    /// of them at the same time they are left to the next sweep.
    fn delete(&self, table: &Table, ttl: Ttl, over: &[Vec<Value>]) -> Result<usize> {
        let schema = table.schema();
        let mut transaction = self.store().begin();
        transaction.expect_epoch(table.id(), table.epoch());
        let now_us = i128::from(self.store().now_us());
        let mut deleted = 0;
        for row in over {
            let key = schema.encode_key(&schema.key_of(row))?;
            let Some(bytes) = transaction.get(table.id(), &key)? else {
                continue;
            };
            let row = schema.decode(&key, &bytes)?;
            if end_us(&row, ttl).is_some_and(|at| at <= now_us) {
                delete_row(&mut transaction, table, &row)?;
                deleted += 1;
            }
        }
        match transaction.commit(Durability::Buffered) {
            Ok(_) => Ok(deleted),
            Err(txn::Error::Conflict { .. } | txn::Error::Altered { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

/// What a chunk came to.
#[derive(Debug, Default)]
struct Looked {
    rows: usize,
    deleted: usize,
}

/// Where rows are looked for.
struct Source<'s> {
    table: &'s Table,
    index: Option<&'s IndexTable>,
    /// Whether the oldest come first.
    sorted: bool,
    /// The least key that can expire.
    first: Bytes,
}

impl<'s> Source<'s> {
    fn new(table: &'s Table, ttl: Ttl) -> Result<Self> {
        let by_time = |key: &[usize]| key.first() == Some(&ttl.column);
        let in_key = by_time(table.schema().key_positions());
        let mut indexes = table.indexes().iter().map(Arc::as_ref);
        let index = indexes.find(|index| !in_key && index.ready && by_time(&index.key));
        let sorted = in_key || index.is_some();
        let mut null = Vec::new();
        append_key_value(&mut null, &Value::Null)?;
        let first = match sorted {
            true => prefix_upper_bound(&null),
            false => Vec::new(),
        };
        Ok(Self {
            table,
            index,
            sorted,
            first: first.into(),
        })
    }

    fn id(&self) -> TableId {
        self.index.map_or(self.table.id(), |index| index.id)
    }

    /// The row, or as much of it as an entry holds.
    fn row(&self, key: &[u8], bytes: &[u8]) -> Result<Vec<Value>> {
        let schema = self.table.schema();
        match self.index {
            Some(index) => index.row(schema, key, bytes),
            None => schema.decode(key, bytes),
        }
    }
}

/// When a row expires, in microseconds since 1970.
fn end_us(row: &[Value], ttl: Ttl) -> Option<i128> {
    let number = match row.get(ttl.column)? {
        Value::Date(days) => i128::from(*days) * 86_400_000_000,
        Value::Datetime(seconds) => i128::from(*seconds) * 1_000_000,
        Value::Timestamp(us) => i128::from(*us),
        Value::Int32(number) => in_us(i128::from(*number), ttl.unit?),
        Value::Uint32(number) => in_us(i128::from(*number), ttl.unit?),
        Value::Int64(number) => in_us(i128::from(*number), ttl.unit?),
        Value::Uint64(number) => in_us(i128::from(*number), ttl.unit?),
        _ => return None,
    };
    Some(number + i128::from(ttl.after_us))
}

fn in_us(number: i128, unit: TtlUnit) -> i128 {
    match unit {
        TtlUnit::Seconds => number * 1_000_000,
        TtlUnit::Milliseconds => number * 1_000,
        TtlUnit::Microseconds => number,
        TtlUnit::Nanoseconds => number / 1_000,
    }
}

/// The least key above this one.
fn after(key: &[u8]) -> Bytes {
    let mut next = key.to_vec();
    next.push(0);
    next.into()
}
