//! Changing a schema, and moving rows when another order or other buckets come to hold.
//!
//! A schema that says another order of sorting keys than the one before, or other buckets, changes where
//! items lie. They are moved in transactions of a bounded size:
//!
//! ```text
//!   1  .#schema changes, and .#layout says from which buckets to which      one transaction, alone
//!   2  each row that lies elsewhere now is moved                            many transactions
//!   3  .#layout says that it is done                                        one transaction, alone
//! ```
//!
//! From some buckets to others, or to none, everybody works on meanwhile and looks for an item in both
//! places ([`super::spots`]). Two cases have the container for themselves all the while, with `.#moving`
//! as their mark: another order, in which both places cannot be merged; and a table that gets buckets,
//! whose names may be aliases that a client made itself, and that is asked of each item.
//!
//! A program that stops in the middle finds the marks when the directory is used next, and finishes.

use std::sync::Arc;

use keys::{Item, ItemName, Order};
use txn::{Durability, Store, Transaction};

use super::gate::Gate;
use super::layout::{Layout, SCHEMA_NAME};
use super::record::{self, Key, Record};
use super::spread::LAYOUT_NAME;
use super::stored::{Found, MOVING_NAME, Stored, announce, delete, put};
use super::table_name;
use crate::{Catalog, Error, Result, Table};

/// Rows that one transaction moves.
const BATCH_ROWS_MAX: usize = 500;

/// How often a change is tried when others are faster.
const ATTEMPTS_MAX: usize = 32;

/// How often so many rows are tried, before each is moved by itself.
const BATCH_ATTEMPTS_MAX: usize = 3;

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

/// What is to be done before a directory can be used as its schema says.
enum Due {
    /// Nothing.
    Nothing,
    /// Rows of this directory are moved while others wait.
    Alone(String),
    /// Rows of this directory are moved while others work on.
    Beside(String),
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
        loop {
            let (changed, due) = self.announce_schema(container, path, &schema).await?;
            match due {
                Due::Nothing => {}
                Due::Alone(root) => self.finish_moving(container, &root).await?,
                Due::Beside(root) => self.finish_spreading(container, &root).await?,
            }
            if let Some(changed) = changed {
                return Ok(changed);
            }
        }
    }

    /// Puts the schema and says which rows are to be moved, with nobody else in the container. Nothing is
    /// done if rows are on their way already.
    async fn announce_schema(
        &self,
        container: &str,
        path: &str,
        schema: &Option<Vec<u8>>,
    ) -> Result<(Option<Option<i64>>, Due)> {
        let gate = self.catalog.gate(container);
        let _alone = gate.alone().await;
        let _telling = Telling(Arc::clone(&gate), self.catalog);
        let table = self.catalog.get(&table_name(container))?;
        record::check_columns(table.schema())?;
        let stored = Stored::new(&table, self.store.view().reader());
        let found = stored.layout(path)?;
        match found.due() {
            Due::Nothing => {}
            due => return Ok((None, due)),
        }
        let layout = match schema {
            Some(schema) => Arc::new(Layout::parse(schema)?),
            None => stored.inherited(path)?.layout,
        };
        let due = Due::between(path, &found.layout, &layout);
        let mut spread = found.spread.over(layout.buckets);
        spread.former = match due {
            Due::Beside(_) => found.layout.buckets,
            _ => None,
        };
        let mut changes = vec![(
            SCHEMA_NAME,
            match schema {
                Some(schema) => Change::Put(Some(schema.clone())),
                None => Change::Delete,
            },
        )];
        match due {
            Due::Nothing if schema.is_none() || spread.is_plain() => {
                changes.push((LAYOUT_NAME, Change::Delete));
            }
            _ => changes.push((LAYOUT_NAME, Change::Put(Some(spread.to_bytes())))),
        }
        if let Due::Alone(_) = due {
            changes.push((MOVING_NAME, Change::Put(None)));
        }
        let changed = self.change(&table, path, &changes).await?;
        Ok((Some(changed), due))
    }

    /// Changes objects of a directory, which keep their attributes. When the first was changed; nothing if
    /// it was to be deleted and is not there, and then nothing happens.
    async fn change(
        &self,
        table: &Arc<Table>,
        path: &str,
        changes: &[(&str, Change)],
    ) -> Result<Option<i64>> {
        let mut last = None;
        for _ in 0..ATTEMPTS_MAX {
            match self.try_change(table, path, changes).await {
                Err(error) if is_conflict(&error) => last = Some(error),
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or(Error::Changed))
    }

    async fn try_change(
        &self,
        table: &Arc<Table>,
        path: &str,
        changes: &[(&str, Change)],
    ) -> Result<Option<i64>> {
        let mut transaction = self.store.begin();
        let mut first = None;
        for (name, change) in changes {
            let key = Key::of_name(path, name, Order::Text);
            let bytes = table.schema().encode_key(&key.values())?;
            transaction.claim(table.id(), &bytes).await?;
            let found = Stored::new(table, transaction.reader()).get(&key)?;
            let now_ns = later(self.store, found.as_ref());
            match (change, found) {
                (Change::Delete, None) if first.is_none() => return Ok(None),
                (Change::Delete, None) => {}
                (Change::Delete, Some(found)) => delete(&mut transaction, table, found)?,
                (Change::Put(data), found) => {
                    let record = changed(found, (key, name), data.clone(), now_ns)?;
                    put(&mut transaction, table, record)?;
                    announce(&mut transaction, table, path, now_ns)?;
                }
            }
            first = first.or(Some(now_ns));
        }
        transaction.commit_later(Durability::Synced).await?;
        Ok(first)
    }

    /// Moves what does not lie where the layout says, with nobody else in the container.
    pub async fn finish_moving(&self, container: &str, root: &str) -> Result<()> {
        let gate = self.catalog.gate(container);
        let _alone = gate.alone().await;
        // It tells before others come in again.
        let _telling = Telling(Arc::clone(&gate), self.catalog);
        let table = self.catalog.get(&table_name(container))?;
        let stored = Stored::new(&table, self.store.view().reader());
        let found = stored.layout(root)?;
        if found.moving.as_deref() != Some(root) {
            // Another request has finished it.
            return Ok(());
        }
        self.move_all(&table, &stored, root).await?;
        let is_own = found.root.as_deref() == Some(root);
        let settled = found.spread.over(found.layout.buckets);
        let layout = match is_own && !settled.is_plain() {
            true => Change::Put(Some(settled.to_bytes())),
            false => Change::Delete,
        };
        let mut changes = vec![(LAYOUT_NAME, layout)];
        let mark = Key::of_name(root, MOVING_NAME, Order::Text);
        if stored.get(&mark)?.is_some() {
            changes.insert(0, (MOVING_NAME, Change::Delete));
        }
        self.change(&table, root, &changes).await?;
        Ok(())
    }

    /// Moves what lies in former buckets, while others work on.
    pub async fn finish_spreading(&self, container: &str, root: &str) -> Result<()> {
        let table = self.catalog.get(&table_name(container))?;
        let stored = Stored::new(&table, self.store.view().reader());
        let key = Key::of_name(root, LAYOUT_NAME, Order::Text);
        let Some(begun) = stored.get(&key)? else {
            return Ok(());
        };
        if stored.layout(root)?.spreading.as_deref() != Some(root) {
            return Ok(());
        }
        self.move_all(&table, &stored, root).await?;
        let gate = self.catalog.gate(container);
        let _alone = gate.alone().await;
        let _telling = Telling(Arc::clone(&gate), self.catalog);
        let stored = Stored::new(&table, self.store.view().reader());
        let now = stored.get(&key)?;
        if now.is_none_or(|now| now.changed_ns != begun.changed_ns) {
            // Another request has finished it.
            return Ok(());
        }
        let found = stored.layout(root)?;
        let mut settled = found.spread;
        settled.former = None;
        let is_own = found.root.as_deref() == Some(root);
        let layout = match is_own && !settled.is_plain() {
            true => Change::Put(Some(settled.to_bytes())),
            false => Change::Delete,
        };
        self.change(&table, root, &[(LAYOUT_NAME, layout)]).await?;
        Ok(())
    }

    /// Moves the rows below a directory that do not lie where their layouts say.
    async fn move_all(&self, table: &Arc<Table>, stored: &Stored, root: &str) -> Result<()> {
        let mut known: Option<(String, Arc<Found>)> = None;
        let mut batch = Vec::new();
        for pair in stored.scan(&stored.below(root)?)? {
            let (key, row) = pair?;
            let record = stored.record(&key, &row)?;
            if record.key.is_of_directory() {
                continue;
            }
            let path = &record.key.path;
            let found = match &known {
                Some((known, found)) if known == path => found,
                _ => {
                    let found = Arc::new(stored.layout(path)?);
                    &known.insert((path.clone(), found)).1
                }
            };
            if found.displaces(&record)? {
                batch.push((record.key, Arc::clone(found)));
            }
            if batch.len() >= BATCH_ROWS_MAX {
                self.move_batch(table, &mut batch).await?;
            }
        }
        self.move_batch(table, &mut batch).await
    }

    async fn move_batch(
        &self,
        table: &Arc<Table>,
        batch: &mut Vec<(Key, Arc<Found>)>,
    ) -> Result<()> {
        for _ in 0..BATCH_ATTEMPTS_MAX {
            match self.move_rows(table, batch).await {
                Err(error) if is_conflict(&error) => {}
                outcome => {
                    batch.clear();
                    return outcome;
                }
            }
        }
        for row in batch.drain(..) {
            let row = [row];
            let mut attempts = 0;
            while let Err(error) = self.move_rows(table, &row).await {
                attempts += 1;
                if !is_conflict(&error) || attempts == ATTEMPTS_MAX {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    async fn move_rows(&self, table: &Arc<Table>, rows: &[(Key, Arc<Found>)]) -> Result<()> {
        let mut transaction = self.store.begin();
        for (key, found) in rows {
            let bytes = table.schema().encode_key(&key.values())?;
            transaction.claim(table.id(), &bytes).await?;
            move_row(&mut transaction, table, key, found)?;
        }
        transaction.commit_later(Durability::Synced).await?;
        Ok(())
    }
}

/// Moves one row, if it is still there.
fn move_row(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    key: &Key,
    found: &Found,
) -> Result<()> {
    let stored = Stored::new(table, transaction.reader());
    let Some(mut record) = stored.get(key)? else {
        return Ok(());
    };
    let path = &key.path;
    if let Some(own) = found.stem_of(&record)? {
        // Two names of one item were two items: both stay.
        let plain = Key {
            sharding: ItemName::split(&own).sharding.to_owned(),
            ..key.clone()
        };
        let taken = stored
            .get(&found.layout.key(path, &own))?
            .or(stored.get(&plain)?);
        if taken.is_none() {
            delete(transaction, table, record.clone())?;
            record.key = found.layout.key(path, &own);
            record.name = own;
            return put(transaction, table, record);
        }
    }
    let target = found.layout.key(path, &record.name);
    if target == record.key || stored.get(&target)?.is_some() {
        return Ok(());
    }
    delete(transaction, table, record.clone())?;
    record.key = target;
    put(transaction, table, record)
}

impl Due {
    /// What is to be done when another layout comes to hold in a directory.
    fn between(path: &str, from: &Layout, to: &Layout) -> Self {
        match (from.order == to.order, from.buckets == to.buckets) {
            (true, true) => Self::Nothing,
            (true, false) if from.buckets.is_some() => Self::Beside(path.to_owned()),
            _ => Self::Alone(path.to_owned()),
        }
    }
}

impl Found {
    fn due(&self) -> Due {
        match (&self.moving, &self.spreading) {
            (Some(root), _) => Due::Alone(root.clone()),
            (None, Some(root)) => Due::Beside(root.clone()),
            (None, None) => Due::Nothing,
        }
    }

    /// Whether a record does not lie where the layout says.
    fn displaces(&self, record: &Record) -> Result<bool> {
        let target = self.layout.key(&record.key.path, &record.name);
        Ok(target != record.key || self.stem_of(record)?.is_some())
    }

    /// The own name of an item that is stored under an alias: its key attribute says so, or names carried
    /// buckets when it was written and it does not say otherwise.
    fn stem_of(&self, record: &Record) -> Result<Option<String>> {
        if record.key.is_in_bucket() || self.layout.buckets.is_none() {
            return Ok(None);
        }
        let item = record.item()?;
        if !self.carries_buckets {
            let own = self.layout.own_name(&record.name, &item);
            return Ok((own != record.name).then_some(own));
        }
        let meanings = self.layout.meanings(&record.name);
        let says_otherwise = self.layout.says(&item, &ItemName::split(&record.name));
        Ok(meanings.into_iter().nth(1).filter(|_| !says_otherwise))
    }
}

/// A record that gets other data.
fn changed(
    found: Option<Record>,
    (key, name): (Key, &str),
    data: Option<Vec<u8>>,
    now_ns: i64,
) -> Result<Record> {
    let (created_ns, attributes, rest) = match found {
        Some(found) => (found.created_ns, found.attributes, found.rest),
        None => (now_ns, Item::new().encode()?, Vec::new()),
    };
    Ok(Record {
        key,
        name: name.to_owned(),
        attributes,
        data,
        created_ns,
        changed_ns: now_ns,
        rest,
    })
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
