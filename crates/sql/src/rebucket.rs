//! Moving rows to other buckets while the table is read and written.
//!
//! ```text
//!   1  ALTER TABLE t SET (bucket_count = n)     the schema has both expressions, in a new epoch
//!                                               new rows lie by the new one, old rows by either;
//!                                               reads and writes look in both places
//!   2  the rows, a chunk at a time              each that lies by the old expression is moved
//!   3  no snapshot is older than the last move  the schema forgets the old expression
//! ```
//!
//! A row is moved in a transaction that reads it, so whoever changes it meanwhile wins, and the chunk is
//! done again. Everybody writes by the new expression since the first step, so one pass over the table
//! is enough. After a crash the schema still has both, and the pass begins anew: rows that were moved
//! before are passed over.

use std::collections::BTreeMap;

use keys::Value;
use parking_lot::Mutex;
use txn::{Bytes, Direction, Durability, KeyRange, Store, TableId, Timestamp};

use crate::modify::replace_row;
use crate::{Catalog, Executor, Result, Schema, Table};

/// How many rows one transaction goes through.
const CHUNK_ROWS: usize = 512;

/// Where the moves of all tables stand.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    tables: Mutex<BTreeMap<TableId, Pass>>,
}

/// Where the pass over one table stands.
#[derive(Clone, Debug, Default)]
struct Pass {
    /// Where it goes on.
    next: Bytes,
    rows_done: u64,
    /// When its last row was in its place, if that is so.
    over: Option<Timestamp>,
    /// How many rows are moved less at a time, because others write them: halved so often.
    halved: u32,
}

/// How far the rows of a table are on their way to other buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The table.
    pub table: String,
    /// How many buckets there will be.
    pub buckets: u64,
    /// How many rows were looked at.
    pub rows_done: u64,
    /// About how many rows there are.
    pub rows_total: u64,
}

impl Executor {
    /// Moves rows of tables whose buckets changed, and looks at about `rows_max` rows for that. Answers
    /// how many it moved.
    pub fn move_rows(&self, rows_max: usize) -> Result<usize> {
        let mut tables = self.catalog().all();
        tables.retain(|table| table.schema().moves());
        let mut passes = self.catalog().moves.tables.lock();
        passes.retain(|id, _| tables.iter().any(|table| table.id() == *id));
        let (mut moved, mut left) = (0, rows_max);
        let mut failed = Ok(());
        for table in &tables {
            let pass = passes.entry(table.id()).or_default();
            while pass.over.is_none() && left > 0 {
                left = left.saturating_sub(CHUNK_ROWS);
                match self.move_chunk(table, pass) {
                    Ok(rows) => {
                        moved += rows;
                        pass.halved = pass.halved.saturating_sub(1);
                    }
                    Err(error) => {
                        pass.halved = (pass.halved + 1).min(CHUNK_ROWS.ilog2());
                        failed = Err(error);
                    }
                }
            }
            if pass.over.is_some_and(|at| self.store().horizon() >= at) {
                self.end_move(table)?;
            }
        }
        failed.map(|()| moved)
    }

    /// The next rows of a pass.
    fn move_chunk(&self, table: &Table, pass: &mut Pass) -> Result<usize> {
        let schema = table.schema();
        let mut transaction = self.store().begin();
        transaction.expect_epoch(table.id(), table.epoch());
        let range = KeyRange::new(pass.next.clone(), None);
        let rows_max = CHUNK_ROWS >> pass.halved;
        let (mut looked, mut last) = (0, None);
        let mut strays: Vec<Vec<Value>> = Vec::new();
        for pair in transaction
            .scan(table.id(), &range, Direction::Ascending)?
            .take(rows_max)
        {
            let (key, bytes) = pair?;
            let row = schema.decode(&key, &bytes)?;
            looked += 1;
            last = Some(key);
            if !schema.same_key(&in_place(schema, &row)?, &row) {
                strays.push(row);
            }
        }
        for row in &strays {
            replace_row(&mut transaction, table, Some(row), &in_place(schema, row)?)?;
        }
        transaction.commit(Durability::Buffered)?;
        pass.rows_done += u64::try_from(looked).unwrap_or(0);
        match last.filter(|_| looked == rows_max) {
            Some(last) => pass.next = keys::prefix_upper_bound(&last).into(),
            None => {
                // Rows may be forgotten by the engine until they are synced, and the schema is not.
                self.store().sync()?;
                pass.over = Some(self.store().view().at());
            }
        }
        Ok(strays.len())
    }

    /// Forgets the old expression.
    fn end_move(&self, table: &Table) -> Result<()> {
        let change = self.catalog().change(self.store());
        let Some(now) = self.catalog().find(table.schema().name()) else {
            return Ok(());
        };
        if now.id() != table.id() {
            return Ok(());
        }
        let mut parts = now.schema().parts().clone();
        for column in &mut parts.columns {
            column.former = None;
        }
        change.alter(&now, Schema::from_parts(parts)?)?;
        Ok(())
    }
}

/// How far the moves are.
pub(crate) fn moves(catalog: &Catalog, store: &Store) -> Vec<Move> {
    let passes = catalog.moves.tables.lock();
    let tables = catalog.all().into_iter();
    let moving = tables.filter(|table| table.schema().moves());
    let shown = moving.map(|table| {
        let rows_total = store.map(table.id()).map_or(0, |map| {
            let partitions = map.partitions().iter();
            let rows = partitions.map(|one| one.counters.counts().totals().rows);
            rows.sum()
        });
        let buckets = table
            .schema()
            .hashed_key()
            .map_or(0, |(buckets, _)| buckets);
        Move {
            table: table.schema().name().to_owned(),
            buckets: u64::try_from(buckets).unwrap_or(u64::MAX),
            rows_done: passes.get(&table.id()).map_or(0, |pass| pass.rows_done),
            rows_total,
        }
    });
    shown.collect()
}

/// The row as it would be written now.
fn in_place(schema: &Schema, row: &[Value]) -> Result<Vec<Value>> {
    let mut row = row.to_vec();
    schema.generate(&mut row, &[])?;
    Ok(row)
}
