//! Deleting a directory with all that is in it and below it.

use std::sync::Arc;

use crate::{Direction, Range, Snapshot, Table, Value};
use keys::Order;

use super::error::{Error, Result};
use super::{Collections, Directory, Key, Record, path, range_below};

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
        let mut batch = Vec::new();
        let mut last = Vec::new();
        for row in snapshot.scan(&table, &range_below(&directory.path), Direction::Ascending)? {
            let key = Record::from_row(row?)?.key;
            any = true;
            // What says how items lie goes after them.
            match key.sharding.is_empty() {
                true => last.push(key),
                false => batch.push(key),
            }
            if batch.len() == BATCH_ROWS_MAX {
                self.delete_batch(&table, &batch).await?;
                batch.clear();
            }
        }
        self.delete_batch(&table, &batch).await?;
        for batch in last.chunks(BATCH_ROWS_MAX) {
            self.delete_batch(&table, batch).await?;
        }
        container.forget();
        self.database.forget_item_schemas(container.name());
        drop((alone.take(), beside.take()));
        match any {
            true => Ok(()),
            false => Err(Error::NotFound),
        }
    }

    async fn delete_batch(&self, table: &Arc<Table>, keys: &[Key]) -> Result<()> {
        let mut transaction = self.database.begin();
        for key in keys {
            transaction.delete(table, &key.values())?;
        }
        transaction.commit_later().await?;
        Ok(())
    }

    /// Whether items lie as they do without a schema in a directory and in all below it.
    fn keeps_order(&self, table: &Arc<Table>, root: &str) -> Result<bool> {
        let snapshot = self.database.snapshot();
        let mut next = Some(root.to_owned());
        while let Some(from) = next {
            let Some(found) = first_path(&snapshot, table, root, &from)? else {
                break;
            };
            let layout = self.database.item_layout(&snapshot, table, &found)?;
            let is_plain = layout.layout.order == Order::Text && layout.layout.buckets.is_none();
            if !is_plain || layout.moving.is_some() || layout.spreading.is_some() {
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
