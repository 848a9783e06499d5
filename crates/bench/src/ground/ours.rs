//! Our side: the same rows through the typed interface of the database.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use db::{Database, Direction, Durability, Range, Row, Table, Value};

use super::rows;
use crate::Result;

const TABLE: &str = "orders";

/// One table of one database.
pub(crate) struct Ours {
    pub(crate) database: Database,
    pub(crate) table: Arc<Table>,
}

impl Ours {
    /// Opens the database, and makes the table if it is new.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let database = Database::open(path)?;
        let table = match database.table(TABLE) {
            Ok(table) => table,
            Err(_) => database.create_table(rows::schema(TABLE)?, &[])?,
        };
        Ok(Self { database, table })
    }

    /// Where the engine keeps its own files, for [`super::raw::compact`].
    pub(crate) fn engine_path(path: &Path) -> PathBuf {
        path.join("engine")
    }

    /// Reads rows by key, each in a snapshot of its own, and answers how many there were.
    pub(crate) fn get_all(&self, keys: &[Value]) -> Result<u32> {
        let mut found = 0;
        for key in keys {
            let row = self
                .database
                .snapshot()
                .get(&self.table, std::slice::from_ref(key))?;
            found += u32::from(black_box(row).is_some());
        }
        Ok(found)
    }

    /// Reads all rows in key order, and answers how many there were.
    pub(crate) fn scan(&self) -> Result<u32> {
        let mut found = 0;
        let snapshot = self.database.snapshot();
        for row in snapshot.scan(&self.table, &Range::all(), Direction::Ascending)? {
            black_box(row?);
            found += 1;
        }
        Ok(found)
    }

    /// Writes rows in one transaction.
    pub(crate) fn write(&self, rows: &[Row], durability: Durability) -> Result<()> {
        let mut txn = self.database.begin();
        for row in rows {
            txn.replace(&self.table, row)?;
        }
        txn.commit_with(durability)?;
        Ok(())
    }
}

/// The values of rows by number.
pub(crate) fn build(numbers: &[u32]) -> Vec<Row> {
    let build = |number: &u32| rows::row(*number, rows::NOTE_WORDS_SMALL);
    numbers.iter().map(build).collect()
}
