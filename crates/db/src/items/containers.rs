//! Containers: which there are, and since when.
//!
//! A container is a table, and the record of its root directory says when it was made. Containers that
//! clients expect to be there are made by the first write, others by a request of their own.

use std::sync::Arc;

use crate::{Direction, Kind, Range, Table};
use sql::collection::TABLE_PREFIX;

use super::error::{Error, Result};
use super::listing::own_record;
use super::record::{self, Record};
use super::{Collections, Container, place};

/// Rows that are looked at to find out how old a container is that does not say it.
const OLDEST_ROWS_MAX: usize = 1000;

impl Collections {
    /// The names of all containers, sorted.
    pub fn containers(&self) -> Vec<String> {
        let tables = self.database.tables();
        let names = tables
            .iter()
            .filter_map(|table| table.schema().name().strip_prefix(TABLE_PREFIX));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    /// Makes a container, if there is none of this name.
    pub fn create_container(&self, name: &str) -> Result<()> {
        let container = self.container(name);
        match self.table(&container) {
            Err(Error::NotFound | Error::NoContainer) => self.create_table(&container).map(|_| ()),
            found => found.map(|_| ()),
        }
    }

    /// When a container was made, in nanoseconds since 1970.
    ///
    /// Those that were made before this was kept are as old as the oldest of their first records, and
    /// say so from the first time on that they are asked.
    pub async fn container_created_ns(&self, name: &str) -> Result<i64> {
        let table = self.table(&self.container(name))?;
        let snapshot = self.database.snapshot();
        if let Some(root) = own_record(&snapshot, &table, "")? {
            return Ok(root.created_ns);
        }
        let mut created_ns = self.now_ns();
        let rows = snapshot.scan(&table, &Range::all(), Direction::Ascending)?;
        for row in rows.take(OLDEST_ROWS_MAX) {
            created_ns = created_ns.min(Record::from_row(row?)?.created_ns);
        }
        let mut transaction = self.database.begin();
        let root = Record::of_directory("", (created_ns, created_ns))?;
        transaction.ensure(&table, &root.into_row(table.schema()))?;
        match transaction.commit_later().await {
            // What can be told is told, also if nothing can be written now.
            Err(error) if matches!(error.kind(), Kind::Conflict | Kind::Unavailable) => {}
            outcome => {
                outcome?;
            }
        }
        Ok(created_ns)
    }

    /// Makes the table of a container, with the record that says since when it is there.
    pub(super) fn create_table(&self, container: &Container) -> Result<Arc<Table>> {
        place::check_container_name(container.name())?;
        let schema = record::schema(&container.table_name).map_err(crate::Error::from)?;
        let table = match self.database.create_table(schema, &[]) {
            Err(error) if error.kind() == Kind::Exists => return self.table(container),
            created => created?,
        };
        let now = self.now_ns();
        let root = Record::of_directory("", (now, now))?;
        let mut transaction = self.database.begin();
        transaction.ensure(&table, &root.into_row(table.schema()))?;
        transaction.commit()?;
        Ok(table)
    }
}
