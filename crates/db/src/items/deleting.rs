//! Deleting a directory with all that is in it and below it.

use std::sync::Arc;

use crate::{Direction, Range, Snapshot, Table, Value};
use keys::Order;

use super::error::{Error, Result};
use super::{Collections, Directory, Record, path, range_below};

/// Rows that one transaction deletes.
const BATCH_ROWS_MAX: usize = 500;

impl Collections {
    /// Deletes a directory and all below it.
    pub async fn delete_directory(&self, directory: &Directory) -> Result<()> {
        let entered = self.enter(directory).await?;
        let (container, table) = (Arc::clone(&entered.container), Arc::clone(&entered.table));
        let keeps_order = self.keeps_order(&table, &directory.path)?;
        drop(entered);
        // Whoever writes meanwhile must not use an order whose schema has gone.
        let (mut alone, mut beside) = (None, None);
        match keeps_order {
            true => beside = Some(container.gate.beside().await),
            false => alone = Some(container.gate.alone().await),
        }
        container.forget();
        let snapshot = self.database.snapshot();
        let mut any = false;
        let mut transaction = self.database.begin();
        let mut size = 0;
        for row in snapshot.scan(&table, &range_below(&directory.path), Direction::Ascending)? {
            let record = Record::from_row(row?)?;
            transaction.delete(&table, &record.key.values())?;
            (any, size) = (true, size + 1);
            if size == BATCH_ROWS_MAX {
                let full = std::mem::replace(&mut transaction, self.database.begin());
                full.commit_later().await?;
                size = 0;
            }
        }
        transaction.commit_later().await?;
        container.forget();
        self.database.forget_item_schemas(container.name());
        drop((alone.take(), beside.take()));
        match any {
            true => Ok(()),
            false => Err(Error::NotFound),
        }
    }

    /// Whether sorting keys are texts in a directory and in all below it.
    fn keeps_order(&self, table: &Arc<Table>, root: &str) -> Result<bool> {
        let snapshot = self.database.snapshot();
        let mut next = Some(root.to_owned());
        while let Some(from) = next {
            let Some(found) = first_path(&snapshot, table, root, &from)? else {
                break;
            };
            let layout = self.database.item_layout(&snapshot, table, &found)?;
            if layout.layout.order != Order::Text || layout.moving.is_some() {
                return Ok(false);
            }
            // The least path after it.
            next = Some(found + "\0");
        }
        Ok(true)
    }
}

/// The first directory from a path on that is not outside of another.
fn first_path(
    snapshot: &Snapshot,
    table: &Arc<Table>,
    root: &str,
    from: &str,
) -> Result<Option<String>> {
    let mut range = Range::from(&[Value::Utf8(from.into())]);
    if let Some(above) = path::above(root) {
        range = range.before(&[Value::Utf8(above.into())]);
    }
    let mut rows = snapshot.scan(table, &range, Direction::Ascending)?;
    match rows.next().transpose()? {
        Some(row) => Ok(Some(Record::from_row(row)?.key.path)),
        None => Ok(None),
    }
}
