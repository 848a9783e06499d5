//! Deleting directories and containers: empty ones, or on request with all that is in them.

use std::sync::Arc;

use crate::{Direction, Range, Snapshot, Table, Value};
use keys::Order;

use super::error::{Error, Result};
use super::record::CHANGED_NS;
use super::write::ATTEMPTS_MAX;
use super::{Collections, Directory, Key, Record, objects, path, range_below};

/// Rows that one transaction deletes.
const BATCH_ROWS_MAX: usize = 500;

/// What becomes of what is in a directory or container that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// It stays, and so does the directory: only an empty one goes.
    Stay,
    /// It goes too, with all below it.
    Go,
}

impl Collections {
    /// Removes a container.
    pub async fn remove_container(&self, name: &str, contents: Contents) -> Result<()> {
        let container = self.container(name);
        let _alone = container.gate.alone().await;
        let table = self.table(&container)?;
        if contents == Contents::Stay {
            let snapshot = self.database.snapshot();
            for row in snapshot.scan(&table, &range_below(""), Direction::Ascending)? {
                // The container itself is the first directory.
                if Record::from_row(row?)?.key != Key::of_directory("") {
                    return Err(Error::NotEmpty);
                }
            }
        }
        self.database.drop_table(&container.table_name)?;
        self.database.objects.loosen();
        container.forget();
        Ok(())
    }

    /// Deletes a directory.
    pub async fn delete_directory(&self, directory: &Directory, contents: Contents) -> Result<()> {
        match contents {
            Contents::Stay => self.delete_empty(directory).await,
            Contents::Go => self.delete_with_contents(directory).await,
        }
    }

    /// Deletes a directory in which there is nothing, not even when the deletion commits.
    async fn delete_empty(&self, directory: &Directory) -> Result<()> {
        let entered = self.enter(directory).await?;
        let path = directory.path.as_str();
        let own = Key::of_directory(path);
        for _ in 0..ATTEMPTS_MAX {
            // It may have been altered since the last attempt.
            let table = &self.table(&entered.container)?;
            let mut transaction = self.database.begin();
            let mut is_there = false;
            for row in transaction.scan(table, &range_below(path), Direction::Ascending)? {
                match Record::from_row(row?)?.key == own {
                    true => is_there = true,
                    false => return Err(Error::NotEmpty),
                }
            }
            if !is_there {
                return Err(Error::NotFound);
            }
            transaction.delete(table, &own.values())?;
            if let Some((above, _)) = path::parent(path) {
                let above = Key::of_directory(above).values();
                transaction.raise(table, &above, (CHANGED_NS, self.now_ns()))?;
            }
            // Who writes from now on makes the directory anew.
            entered.container.forget();
            match transaction.commit_later().await.map_err(Error::from) {
                Err(error) if error.is_conflict() => {}
                outcome => {
                    outcome?;
                    entered.container.forget();
                    return Ok(());
                }
            }
        }
        Err(Error::Busy)
    }

    async fn delete_with_contents(&self, directory: &Directory) -> Result<()> {
        let entered = self.enter(directory).await?;
        let (container, table) = (Arc::clone(&entered.container), Arc::clone(&entered.table));
        let keeps_order = self.keeps_order(&table, &directory.path)?;
        drop(entered);
        // Concurrent writers must not use an order whose schema has gone.
        let (mut alone, mut beside) = (None, None);
        match keeps_order {
            true => beside = Some(container.gate.beside().await),
            false => alone = Some(container.gate.alone().await),
        }
        container.forget();
        let snapshot = self.database.snapshot();
        let (mut any, mut large) = (false, false);
        let mut batch = Vec::new();
        let mut last = Vec::new();
        for row in snapshot.scan(&table, &range_below(&directory.path), Direction::Ascending)? {
            let record = Record::from_row(row?)?;
            any = true;
            large |= objects::names_parts(Some(&record));
            // What says how items lie goes after them.
            match record.key.sharding.is_empty() {
                true => last.push(record.key),
                false => batch.push(record.key),
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
        if large {
            self.database.objects.loosen();
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
