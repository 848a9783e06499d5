//! Which layout holds in a directory, and moving rows when another one comes to hold.
//!
//! A schema that says another order of sorting keys than the one before changes where items lie.
//! They are moved while the container is held for writing, in transactions of a bounded size:
//!
//! ```text
//!   1  .#schema changes and .#moving appears       one transaction
//!   2  each row that lies elsewhere now is moved   many transactions
//!   3  .#moving goes                               one transaction
//! ```
//!
//! A server that stops in the middle finds `.#moving` when the directory is used next, and finishes.

use std::sync::Arc;

use db::{Direction, Snapshot, Table};
use keys::Item;

use super::error::Result;
use super::layout::{Layout, SCHEMA_NAME};
use super::order::Order;
use super::record::{Key, Record};
use super::write::Change;
use super::{Collections, Container, Error, Place, REMEMBERED_MAX, place, range_below};

/// Says that rows of the directory are being moved.
const MOVING_NAME: &str = ".#moving";

/// Rows that one transaction moves or deletes.
const BATCH_ROWS_MAX: usize = 500;

/// What holds in a directory.
pub(super) enum Found {
    /// This layout.
    Here(Arc<Layout>),
    /// One that its rows do not follow yet, of this directory.
    Moving(String),
}

/// Forgets what is known of layouts when a change of schema ends, also if nobody waits for its end
/// any more.
struct Forgetting(Arc<Container>);

impl Drop for Forgetting {
    fn drop(&mut self) {
        self.0.layouts.write().clear();
    }
}

impl Collections {
    /// Looks up the layout of a directory and remembers it.
    pub(super) fn look_up_layout(
        &self,
        container: &Container,
        table: &Arc<Table>,
        path: &str,
    ) -> Result<Found> {
        // Held all the while, so that what is remembered is not older than the last change.
        let mut layouts = container.layouts.write();
        let snapshot = self.database.snapshot();
        let (layout, moving) = find_layout(&snapshot, table, path)?;
        if let Some(root) = moving {
            return Ok(Found::Moving(root));
        }
        let layout = Arc::new(layout);
        if layouts.len() >= REMEMBERED_MAX {
            layouts.clear();
        }
        layouts.insert(path.to_owned(), Arc::clone(&layout));
        Ok(Found::Here(layout))
    }

    /// Puts the schema of a directory, or deletes it; when it was changed.
    pub(super) async fn set_schema(&self, place: &Place, schema: Option<Vec<u8>>) -> Result<i64> {
        let path = &place.directory.path;
        let entered = match schema {
            Some(_) => self.enter_to_write(&place.directory).await?,
            None => self.enter(&place.directory).await?,
        };
        let layout = match &schema {
            Some(schema) => Layout::parse(schema)?,
            None => {
                let snapshot = self.database.snapshot();
                inherited(&snapshot, &entered.table, path)?
            }
        };
        let container = Arc::clone(&entered.container);
        let _forgetting = Forgetting(Arc::clone(&container));
        let moves = layout.order != entered.layout.order;
        let decide = |found: Option<&Record>| match (&schema, found) {
            (Some(schema), found) => {
                let attributes = found.map(|record| record.attributes.clone());
                let attributes = attributes.map_or_else(|| Item::new().encode(), Ok)?;
                Ok(Change::Put(attributes, Some(schema.clone())))
            }
            (None, Some(_)) => Ok(Change::Delete),
            (None, None) => Err(Error::NotFound),
        };
        if !moves {
            return self.change(&entered, place, None, decide).await;
        }
        let moving = place.directory.clone().place(MOVING_NAME)?;
        let mark = |_: Option<&Record>| Ok(Change::Put(Item::new().encode()?, None));
        self.change(&entered, &moving, None, mark).await?;
        let changed = self.change(&entered, place, None, decide).await?;
        drop(entered);
        self.finish_moving(&container, path).await?;
        Ok(changed)
    }

    /// Moves what does not lie where the layout says, with nobody else in the container.
    pub(super) async fn finish_moving(&self, container: &Container, root: &str) -> Result<()> {
        let _alone = container.lock.write().await;
        container.layouts.write().clear();
        let table = self.table(container)?;
        let snapshot = self.database.snapshot();
        let mark = Key::of_name(root, MOVING_NAME, Order::Text);
        if snapshot.get(&table, &mark.values())?.is_none() {
            // Somebody else has finished it.
            return Ok(());
        }
        let mut known: Option<(String, Layout)> = None;
        let mut batch = Vec::new();
        for row in snapshot.scan(&table, &range_below(root), Direction::Ascending)? {
            let record = Record::from_row(row?)?;
            if record.key.is_of_directory() {
                continue;
            }
            let path = &record.key.path;
            let layout = match &known {
                Some((known, layout)) if known == path => layout,
                _ => {
                    let (layout, _) = find_layout(&snapshot, &table, path)?;
                    &known.insert((path.clone(), layout)).1
                }
            };
            let key = Key::of_name(path, &record.name, layout.order);
            if key != record.key {
                batch.push((key, record));
            }
            if batch.len() >= BATCH_ROWS_MAX {
                self.move_batch(&table, &mut batch).await?;
            }
        }
        self.move_batch(&table, &mut batch).await?;
        let mut transaction = self.database.begin();
        transaction.delete(&table, &mark.values())?;
        transaction.commit_later().await?;
        Ok(())
    }

    async fn move_batch(&self, table: &Arc<Table>, batch: &mut Vec<(Key, Record)>) -> Result<()> {
        let mut transaction = self.database.begin();
        for (key, mut record) in batch.drain(..) {
            transaction.delete(table, &record.key.values())?;
            record.key = key;
            transaction.replace(table, &record.into_row())?;
        }
        transaction.commit_later().await?;
        Ok(())
    }

    /// Deletes a directory and all below it.
    pub async fn delete_directory(&self, directory: &super::Directory) -> Result<()> {
        let entered = self.enter(directory).await?;
        let (container, table) = (Arc::clone(&entered.container), Arc::clone(&entered.table));
        let keeps_order = entered.layout.order == Order::Text;
        drop(entered);
        // Whoever writes meanwhile must not use an order whose schema has gone.
        let (mut alone, mut beside) = (None, None);
        match keeps_order {
            true => beside = Some(container.lock.read().await),
            false => alone = Some(container.lock.write().await),
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
        drop((alone.take(), beside.take()));
        match any {
            true => Ok(()),
            false => Err(Error::NotFound),
        }
    }
}

/// The layout of a directory, and the directory whose rows are being moved to it, if any are.
fn find_layout(
    snapshot: &Snapshot,
    table: &Arc<Table>,
    path: &str,
) -> Result<(Layout, Option<String>)> {
    let mut at = path;
    loop {
        let get = |name: &str| {
            let key = Key::of_name(at, name, Order::Text).values();
            snapshot.get(table, &key)
        };
        let moving = get(MOVING_NAME)?.map(|_| at.to_owned());
        let schema = match get(SCHEMA_NAME)? {
            Some(row) => Record::from_row(row)?.data,
            None => None,
        };
        if let Some(schema) = schema {
            // What is there was checked when it came, or was written by other means.
            return Ok((Layout::parse(&schema).unwrap_or_default(), moving));
        }
        if moving.is_some() {
            return Ok((inherited(snapshot, table, at)?, moving));
        }
        match place::parent(at) {
            Some((parent, segment)) if segment.contains('=') => at = parent,
            _ => return Ok((Layout::default(), None)),
        }
    }
}

/// The layout that a directory has from those above it.
fn inherited(snapshot: &Snapshot, table: &Arc<Table>, path: &str) -> Result<Layout> {
    match place::parent(path) {
        Some((parent, segment)) if segment.contains('=') => {
            Ok(find_layout(snapshot, table, parent)?.0)
        }
        _ => Ok(Layout::default()),
    }
}
