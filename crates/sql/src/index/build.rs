//! Building an index while the table is read and written.
//!
//! ```text
//!   1  the schema lists the index, not ready, in a new epoch     every writer maintains it from now on
//!   2  the rows, a chunk at a time: read, entries put, commit    a chunk that meets a writer is done again
//!   3  the schema says that it is ready                          snapshots from now on read by it
//! ```
//!
//! Row and entry agree because a chunk reads its rows in the transaction that writes the entries: a
//! row that changes meanwhile makes the chunk fail, and one that changes afterwards takes its entry
//! with it. An index that is not ready is never read. It goes when its building fails or is given up,
//! and after a crash when the catalog is loaded.

use std::sync::Arc;

use txn::{Bytes, Direction, Durability, KeyRange, TableId, Timestamp, Transaction, blocking};

use super::IndexTable;
use crate::ddl::Ground;
use crate::{Error, Result, Schema, Table};

/// How many rows one transaction of a building goes through.
const CHUNK_ROWS_MAX: usize = 512;

/// How often a chunk may fail in a row.
const ATTEMPTS_MAX: usize = 256;

/// How far the building of an index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The table.
    pub table: String,
    /// The index.
    pub index: String,
    /// How many rows have their entries.
    pub rows_done: u64,
    /// About how many rows there are.
    pub rows_total: u64,
}

/// Builds indexes that the schema of a table lists, and shows them as ready all at once. If one of
/// them cannot be, all of them are dropped.
pub(crate) async fn build(ground: Ground<'_>, indexes: Vec<TableId>) -> Result<()> {
    if indexes.is_empty() {
        return Ok(());
    }
    let mut unfinished = Unfinished { ground, indexes };
    for index in &unfinished.indexes {
        fill(ground, *index).await?;
    }
    blocking(|| {
        ground.store.sync()?;
        let since = ground.store.view().at();
        make_ready(ground, &unfinished.indexes, since)
    })?;
    ground.catalog.forget_progress(&unfinished.indexes);
    unfinished.indexes.clear();
    Ok(())
}

/// Indexes that are dropped unless they become ready, also when nobody waits for them any more.
struct Unfinished<'g> {
    ground: Ground<'g>,
    indexes: Vec<TableId>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.indexes.is_empty() {
            return;
        }
        blocking(|| self.take_back());
    }
}

impl Unfinished<'_> {
    fn take_back(&self) {
        let Ground { store, catalog, .. } = self.ground;
        let change = catalog.change(store);
        for id in &self.indexes {
            let Some((table, _)) = catalog.with_index(*id) else {
                continue;
            };
            let mut parts = table.schema().parts().clone();
            parts.indexes.retain(|index| index.id != *id);
            let without = Schema::from_parts(parts);
            // What fails here is done when the store is opened again.
            if without.is_ok_and(|schema| change.alter(&table, schema).is_ok()) {
                change.discard([*id]);
            }
        }
        catalog.forget_progress(&self.indexes);
    }
}

/// Puts an entry for every row.
async fn fill(ground: Ground<'_>, id: TableId) -> Result<()> {
    let mut names = None;
    let mut lower = Bytes::new();
    let mut rows_max = CHUNK_ROWS_MAX;
    let mut attempts = 0;
    loop {
        let Some((table, index)) = ground.catalog.with_index(id) else {
            return was_replaced(ground, names);
        };
        let (table_name, index_name) = (table.schema().name().to_owned(), index.name.clone());
        if names.is_none() {
            begin_progress(ground, &table, &index)?;
        }
        names = Some((table_name, index_name));
        let mut transaction = ground.store.begin();
        transaction.expect_epoch(table.id(), table.epoch());
        let chunk = blocking(|| add_chunk(&mut transaction, &table, &index, &lower, rows_max));
        let committed = match chunk {
            Err(error) => Err(error),
            Ok(chunk) => {
                let committed = transaction.commit_later(Durability::Buffered).await;
                committed.map(|_| chunk).map_err(Error::from)
            }
        };
        match committed {
            Ok(Chunk { rows, next }) => {
                ground.catalog.add_progress(id, rows);
                attempts = 0;
                rows_max = (rows_max * 2).min(CHUNK_ROWS_MAX);
                match next {
                    Some(next) => lower = next,
                    None => return Ok(()),
                }
            }
            Err(error) if attempts < ATTEMPTS_MAX && may_pass(ground, id, &error) => {
                attempts += 1;
                rows_max = (rows_max / 2).max(1);
            }
            Err(error) => return Err(of_building(error)),
        }
        tokio::task::yield_now().await;
    }
}

/// Whether a chunk that failed so may succeed when it is done again.
fn may_pass(ground: Ground<'_>, id: TableId, error: &Error) -> bool {
    match error {
        Error::Txn(
            txn::Error::Conflict { .. }
            | txn::Error::TooOld { .. }
            | txn::Error::Altered { .. }
            | txn::Error::Reopened { .. }
            | txn::Error::GivenUp { .. },
        ) => true,
        // Whoever replaced or dropped the table took its parts away.
        _ => ground.catalog.with_index(id).is_none(),
    }
}

/// A building whose index is gone: TRUNCATE put a new one in its place, or someone dropped it.
fn was_replaced(ground: Ground<'_>, names: Option<(String, String)>) -> Result<()> {
    let (table, index) = names.unwrap_or_default();
    let found = ground.catalog.get(&table)?;
    let mut indexes = found.indexes().iter();
    match indexes.any(|one| one.name == index && one.ready) {
        true => Ok(()),
        false => Err(Error::no_such_index(found.schema(), &index)),
    }
}

fn of_building(error: Error) -> Error {
    match error {
        Error::NotUnique {
            table, index, key, ..
        } => Error::Duplicates { table, index, key },
        other => other,
    }
}

/// What one transaction went through.
struct Chunk {
    rows: u64,
    /// Where the next one begins, unless this was the last.
    next: Option<Bytes>,
}

fn add_chunk(
    transaction: &mut Transaction,
    table: &Table,
    index: &IndexTable,
    lower: &Bytes,
    rows_max: usize,
) -> Result<Chunk> {
    let schema = table.schema();
    let rest = KeyRange::new(lower.clone(), None);
    let scan = transaction.scan(table.id(), &rest, Direction::Ascending)?;
    let pairs: Vec<(Bytes, Bytes)> = scan.take(rows_max).collect::<txn::Result<_>>()?;
    let next = match pairs.last() {
        Some((key, _)) if pairs.len() == rows_max => Some(after(key)),
        _ => None,
    };
    let mut rows = 0;
    for (key, bytes) in &pairs {
        let row = schema.decode(key, bytes)?;
        index.maintain(transaction, table, None, Some(&row))?;
        rows += 1;
    }
    Ok(Chunk { rows, next })
}

/// The least key above this one.
fn after(key: &[u8]) -> Bytes {
    let mut next = key.to_vec();
    next.push(0);
    next.into()
}

fn begin_progress(ground: Ground<'_>, table: &Table, index: &IndexTable) -> Result<()> {
    let reader = ground.store.view().reader();
    let progress = Progress {
        table: table.schema().name().to_owned(),
        index: index.name.clone(),
        rows_done: 0,
        rows_total: reader.rows(table.id())?,
    };
    ground.catalog.begin_progress(index.id, progress);
    Ok(())
}

/// Lets snapshots from `since` read by the indexes.
fn make_ready(ground: Ground<'_>, indexes: &[TableId], since: Timestamp) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for id in indexes {
        if let Some((table, _)) = ground.catalog.with_index(*id)
            && !tables.iter().any(|known| known.id() == table.id())
        {
            tables.push(table);
        }
    }
    for table in tables {
        let mut parts = table.schema().parts().clone();
        for index in &mut parts.indexes {
            index.ready |= indexes.contains(&index.id);
        }
        change.alter_since(&table, Schema::from_parts(parts)?, since)?;
    }
    Ok(())
}
