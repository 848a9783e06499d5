//! Reading rows: a snapshot of the database, and rows as they come from a scan.

use std::sync::Arc;

use keys::Value;
use sql::Table;
use txn::{Direction, PartitionId, Timestamp, View};

use crate::{Range, Result};

/// The values of a row, in the order of the table's columns.
pub type Row = Vec<Value>;

/// The database as of one instant, for reading. Never waits and is never refused.
#[derive(Clone, Debug)]
pub struct Snapshot {
    view: Arc<View>,
}

impl Snapshot {
    pub(crate) fn new(view: Arc<View>) -> Self {
        Self { view }
    }

    pub(crate) fn reader(&self) -> txn::Reader {
        self.view.reader()
    }

    /// When it was taken.
    pub fn at(&self) -> Timestamp {
        self.view.at()
    }

    /// The partitions it has read from.
    pub fn partitions(&self) -> Vec<PartitionId> {
        self.view.partitions()
    }

    /// The row with this key.
    pub fn get(&self, table: &Arc<Table>, key: &[Value]) -> Result<Option<Row>> {
        let key = table.schema().encode_key(key)?;
        match self.view.get(table.id(), &key)? {
            Some(row) => Ok(Some(table.schema().decode(&key, &row)?)),
            None => Ok(None),
        }
    }

    /// The rows of a range, in key order or in reverse.
    pub fn scan(&self, table: &Arc<Table>, range: &Range, direction: Direction) -> Result<Rows> {
        let range = range.encode(table.schema())?;
        let scan = self.view.scan(table.id(), &range, direction)?;
        Ok(Rows {
            table: Arc::clone(table),
            scan,
        })
    }
}

/// Rows of one table, decoded one by one.
#[derive(Debug)]
pub struct Rows {
    pub(crate) table: Arc<Table>,
    pub(crate) scan: txn::Scan,
}

impl Rows {
    /// Shows up to `most` rows, and tells how many; fewer at the end. Rows on cached pages are gone
    /// over in place, as a SELECT with a LIMIT does it.
    pub fn visit(&mut self, most: usize, mut each: impl FnMut(Row)) -> Result<usize> {
        let schema = self.table.schema();
        self.scan.visit(most, |key, row| -> Result<()> {
            each(schema.decode(key, row)?);
            Ok(())
        })
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.scan.next()?;
        Some(
            pair.map_err(Into::into)
                .and_then(|(key, row)| Ok(self.table.schema().decode(&key, &row)?)),
        )
    }
}
