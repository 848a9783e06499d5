//! Changing a schema, and moving rows when another order comes to hold.
//!
//! A schema that says another order of sorting keys than the one before changes where items lie.
//! They are moved while nobody else is in the container, in transactions of a bounded size:
//!
//! ```text
//!   1  .#moving appears, then .#schema changes     two transactions
//!   2  each row that lies elsewhere now is moved   many transactions
//!   3  .#moving goes                               one transaction
//! ```
//!
//! A program that stops in the middle finds `.#moving` when the directory is used next, and finishes.

use std::sync::Arc;

use keys::{Item, Order};
use txn::{Durability, Store};

use super::gate::Gate;
use super::layout::{Layout, SCHEMA_NAME};
use super::record::{self, Key, Record};
use super::stored::{MOVING_NAME, Stored, announce, delete, put};
use super::table_name;
use crate::{Catalog, Error, Result, Table};

/// Rows that one transaction moves.
const BATCH_ROWS_MAX: usize = 500;

/// How often a change is tried when others are faster.
const ATTEMPTS_MAX: usize = 32;

/// Where schemas are changed.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'g> {
    /// The rows.
    pub store: &'g Arc<Store>,
    /// The tables.
    pub catalog: &'g Catalog,
}

/// What becomes of an object.
enum Change {
    /// It gets this data.
    Put(Option<Vec<u8>>),
    /// It goes.
    Delete,
}

/// Tells everybody to look schemas up again when a change ends, also if nobody waits for its end any
/// more.
struct Telling<'g>(Arc<Gate>, &'g Catalog);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.0.changed();
        self.1.touch();
    }
}

impl Ground<'_> {
    /// Lets everybody look schemas of a container up again.
    pub fn forget_schemas(&self, container: &str) {
        drop(Telling(self.catalog.gate(container), self.catalog));
    }

    /// Puts the schema of a directory, or deletes it; when it was changed, or nothing if there was none
    /// to delete.
    pub async fn set_schema(
        &self,
        container: &str,
        path: &str,
        schema: Option<Vec<u8>>,
    ) -> Result<Option<i64>> {
        let gate = self.catalog.gate(container);
        let _telling = Telling(Arc::clone(&gate), self.catalog);
        loop {
            let beside = gate.beside().await;
            let table = self.catalog.get(&table_name(container))?;
            record::check_columns(table.schema())?;
            let stored = Stored::new(&table, self.store.view().reader());
            let found = stored.layout(path)?;
            if let Some(root) = &found.moving {
                drop(beside);
                self.finish_moving(container, root).await?;
                continue;
            }
            let layout = match &schema {
                Some(schema) => Layout::parse(schema)?,
                None => stored.inherited(path)?.layout,
            };
            let moves = layout.order != found.layout.order;
            if moves {
                let mark = Key::of_name(path, MOVING_NAME, Order::Text);
                self.change(&table, &mark, MOVING_NAME, &Change::Put(None))
                    .await?;
            }
            let key = Key::of_name(path, SCHEMA_NAME, Order::Text);
            let change = schema.map_or(Change::Delete, |schema| Change::Put(Some(schema)));
            let changed = self.change(&table, &key, SCHEMA_NAME, &change).await?;
            drop(beside);
            if moves {
                self.finish_moving(container, path).await?;
            }
            return Ok(changed);
        }
    }

    /// Changes an object, which keeps its attributes. When it was changed; nothing if there was none to
    /// delete.
    async fn change(
        &self,
        table: &Arc<Table>,
        key: &Key,
        name: &str,
        change: &Change,
    ) -> Result<Option<i64>> {
        let mut last = None;
        for _ in 0..ATTEMPTS_MAX {
            match self.try_change(table, key, name, change).await {
                Err(error) if is_conflict(&error) => last = Some(error),
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or(Error::Changed))
    }

    async fn try_change(
        &self,
        table: &Arc<Table>,
        key: &Key,
        name: &str,
        change: &Change,
    ) -> Result<Option<i64>> {
        let mut transaction = self.store.begin();
        let bytes = table.schema().encode_key(&key.values())?;
        transaction.claim(table.id(), &bytes).await?;
        let found = Stored::new(table, transaction.reader()).get(key)?;
        let now_ns = later(self.store, found.as_ref());
        match (change, found) {
            (Change::Delete, None) => return Ok(None),
            (Change::Delete, Some(found)) => delete(&mut transaction, table, found)?,
            (Change::Put(data), found) => {
                let (created_ns, attributes, rest) = match found {
                    Some(found) => (found.created_ns, found.attributes, found.rest),
                    None => (now_ns, Item::new().encode()?, Vec::new()),
                };
                let record = Record {
                    key: key.clone(),
                    name: name.to_owned(),
                    attributes,
                    data: data.clone(),
                    created_ns,
                    changed_ns: now_ns,
                    rest,
                };
                put(&mut transaction, table, record)?;
                announce(&mut transaction, table, &key.path, now_ns)?;
            }
        }
        transaction.commit_later(Durability::Synced).await?;
        Ok(Some(now_ns))
    }

    /// Moves what does not lie where the layout says, with nobody else in the container.
    pub async fn finish_moving(&self, container: &str, root: &str) -> Result<()> {
        let gate = self.catalog.gate(container);
        let _alone = gate.alone().await;
        // It tells before others come in again.
        let _telling = Telling(Arc::clone(&gate), self.catalog);
        let table = self.catalog.get(&table_name(container))?;
        let stored = Stored::new(&table, self.store.view().reader());
        let mark = Key::of_name(root, MOVING_NAME, Order::Text);
        let Some(mark) = stored.get(&mark)? else {
            // Somebody else has finished it.
            return Ok(());
        };
        let mut known: Option<(String, Layout)> = None;
        let mut batch = Vec::new();
        for pair in stored.scan(&stored.below(root)?)? {
            let (key, row) = pair?;
            let record = stored.record(&key, &row)?;
            if record.key.is_of_directory() {
                continue;
            }
            let path = &record.key.path;
            let layout = match &known {
                Some((known, layout)) if known == path => layout,
                _ => {
                    let layout = stored.layout(path)?.layout;
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
        let mut transaction = self.store.begin();
        delete(&mut transaction, &table, mark)?;
        transaction.commit_later(Durability::Synced).await?;
        Ok(())
    }

    async fn move_batch(&self, table: &Arc<Table>, batch: &mut Vec<(Key, Record)>) -> Result<()> {
        let mut transaction = self.store.begin();
        for (key, mut record) in batch.drain(..) {
            delete(&mut transaction, table, record.clone())?;
            record.key = key;
            put(&mut transaction, table, record)?;
        }
        transaction.commit_later(Durability::Synced).await?;
        Ok(())
    }
}

/// A moment for a change of a record: now, and after the change before.
pub(super) fn later(store: &Store, found: Option<&Record>) -> i64 {
    let now = store.now_us().saturating_mul(1000);
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    found.map_or(now, |record| now.max(record.changed_ns.saturating_add(1)))
}

fn is_conflict(error: &Error) -> bool {
    use txn::Error::{Altered, Conflict, GivenUp};
    matches!(
        error,
        Error::Txn(Conflict { .. } | Altered { .. } | GivenUp { .. })
    )
}
