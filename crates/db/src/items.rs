//! Collections over ordinary tables: containers, directories, items and objects.
//!
//! A container is one table, `v3io/<container>`, which SQL sees as any other. All its directories
//! lie in it one after another, each of them a range of keys:
//!
//! ```text
//!   table v3io/users, sorted by (path, slice, sharding, sorting)
//!
//!   cars/     0      …                       ┐
//!   cars/     7      blue   20180601         │ a directory is one range
//!   cars/     7      blue   20180602         │ the items of one sharding key are one range,
//!   cars/     1023   …                       ┘ in the order of their sorting keys
//!   people/   0      …
//! ```
//!
//! An item is one get, a segment of a parallel scan is a range of slices, and a page ends with the
//! key after which the next one goes on. So pages neither miss nor repeat anything when partitions
//! split or the server starts again.
//!
//! Writes that depend on nothing are blind. The others claim the row, so that those who change the
//! same item come one after another, read it, decide and commit. What was acknowledged is durable.
//!
//! Requests hold a container's lock for reading. Only changing where the items of a table lie holds it
//! for writing, and mostly for a moment: see [`sql::collection::moving`]. What an item may be called and
//! where it lies, what a row of it is and how a directory is made, is said once for SQL and for requests,
//! in [`sql::collection`].

mod containers;
mod deleting;
pub mod error;
pub mod expression;
mod filling;
mod listing;
mod marker;
mod objects;
pub mod place;
pub mod scan;
mod schema;
mod scope;
mod spots;
mod traced;
pub mod write;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::{Database, Direction, Kind, Range, Snapshot, Table, Value};
use keys::Attribute;
use parking_lot::RwLock;
use sql::collection::{Found, Gate, Layout, Names, TABLE_PREFIX, is_kept};
use tokio::sync::OwnedRwLockReadGuard;

pub use deleting::Contents;
pub use error::{Error, Result};
pub use listing::{Entry, Listing, ListingAsk};
pub use objects::{How, OBJECT_BYTES_MAX, Object, Pieces, SCHEMA_BYTES_MAX, Upload};
pub use place::{Directory, Place};
pub use scan::{Ask, Page};
pub use scope::Scope;
pub use sql::collection::record::{self, Key, Record, verifier};
pub use sql::collection::{layout, path};
pub use write::{Mode, Write};

use expression::Attributes;

/// Directories and layouts that a container remembers; past that it forgets them all.
const REMEMBERED_MAX: usize = 10_000;

/// All containers of a database.
#[derive(Debug)]
pub struct Collections {
    database: Arc<Database>,
    containers: RwLock<HashMap<String, Arc<Container>>>,
    /// The last moment that was given to a change, in nanoseconds since 1970.
    last_ns: AtomicI64,
}

/// A container, and what is remembered of it so that requests need not look it up.
#[derive(Debug)]
struct Container {
    table_name: String,
    gate: Arc<Gate>,
    /// How often schemas had changed when the layouts were looked up.
    changes: AtomicU64,
    layouts: RwLock<HashMap<String, Arc<Found>>>,
    directories: RwLock<HashSet<String>>,
}

/// What holds in a directory.
enum Looked {
    /// This layout.
    Here(Arc<Found>),
    /// One that its rows do not follow yet, of this directory.
    Moving(String),
}

/// A container that a request works in: where rows may lie does not change until it is dropped.
struct Entered {
    container: Arc<Container>,
    table: Arc<Table>,
    found: Arc<Found>,
    layout: Arc<Layout>,
    _guard: OwnedRwLockReadGuard<()>,
}

impl Collections {
    /// The collections of a database.
    pub fn new(database: Arc<Database>) -> Self {
        Self {
            database,
            containers: RwLock::default(),
            last_ns: AtomicI64::new(0),
        }
    }

    /// An item or object.
    pub async fn get(&self, place: &Place, buckets: Option<NonZeroU32>) -> Result<Record> {
        let entered = self.enter(&place.directory).await?;
        let request = self.request("GetItem", &place.directory);
        let snapshot = self.database.snapshot();
        let spots = entered.spots(place, buckets);
        let (mut found, mut looked_at) = (None, 0);
        for key in spots.keys() {
            looked_at += 1;
            found = snapshot.get(&entered.table, &key.values())?;
            if found.is_some() {
                break;
            }
        }
        if let Some(request) = request {
            let keys: Vec<&Key> = spots.keys().take(looked_at).collect();
            request.did(&entered.table, traced::looked_for(&keys, found.is_some()));
        }
        let found = found.filter(|_| !is_kept(&place.name));
        let record = Record::from_row(found.ok_or(Error::NotFound)?)?;
        self.shown(&entered, &snapshot, record)
    }

    /// The record under the name that clients are shown.
    fn shown(&self, entered: &Entered, snapshot: &Snapshot, record: Record) -> Result<Record> {
        let layout = &entered.layout;
        if layout.buckets.is_none() {
            return Ok(record);
        }
        let path = record.key.path.clone();
        let reader = snapshot.reader();
        let mut names = Names::new(&entered.table, reader, &path, Arc::clone(layout));
        Ok(names.show(record).map_err(crate::Error::from)?)
    }

    /// Goes into a container that is there.
    async fn enter(&self, directory: &Directory) -> Result<Entered> {
        let container = self.container(&directory.container);
        self.enter_with(container, &directory.path, Self::table)
            .await
    }

    /// Goes into a container, which is made if it is not there.
    async fn enter_to_write(&self, directory: &Directory) -> Result<Entered> {
        let container = self.container(&directory.container);
        self.enter_with(container, &directory.path, Self::table_to_write)
            .await
    }

    async fn enter_with(
        &self,
        container: Arc<Container>,
        path: &str,
        table: impl Fn(&Self, &Container) -> Result<Arc<Table>>,
    ) -> Result<Entered> {
        loop {
            let guard = container.gate.beside().await;
            container.follow_changes();
            let table = table(self, &container)?;
            let known = container.layouts.read().get(path).cloned();
            let found = match known {
                Some(found) => found,
                None => match self.look_up_layout(&container, &table, path)? {
                    Looked::Here(found) => found,
                    Looked::Moving(root) => {
                        drop(guard);
                        let name = container.name();
                        self.database.finish_moving_items(name, &root).await?;
                        continue;
                    }
                },
            };
            return Ok(Entered {
                container,
                table,
                layout: Arc::clone(&found.layout),
                found,
                _guard: guard,
            });
        }
    }

    fn container(&self, name: &str) -> Arc<Container> {
        if let Some(container) = self.containers.read().get(name) {
            return Arc::clone(container);
        }
        let gate = self.database.container_gate(name);
        let container = Arc::new(Container::new(name, gate));
        // What is not there is not worth remembering: anybody can ask for anything.
        if self.table(&container).is_err() {
            return container;
        }
        let mut containers = self.containers.write();
        Arc::clone(containers.entry(name.to_owned()).or_insert(container))
    }

    fn table(&self, container: &Container) -> Result<Arc<Table>> {
        let table = self.database.table(&container.table_name);
        let table = table.map_err(|error| match error.kind() {
            Kind::NotFound if place::is_standard(container.name()) => Error::NotFound,
            Kind::NotFound => Error::NoContainer,
            _ => error.into(),
        })?;
        record::check_columns(table.schema())?;
        Ok(table)
    }

    fn table_to_write(&self, container: &Container) -> Result<Arc<Table>> {
        match self.table(container) {
            Err(Error::NotFound) => self.create_table(container),
            Err(Error::NoContainer) => {
                place::check_container_name(container.name())?;
                Err(Error::NoContainer)
            }
            found => found,
        }
    }

    /// Looks up the layout of a directory and remembers it.
    fn look_up_layout(
        &self,
        container: &Container,
        table: &Arc<Table>,
        path: &str,
    ) -> Result<Looked> {
        // Held all the while, so that what is remembered is not older than the last change.
        let mut layouts = container.layouts.write();
        let snapshot = self.database.snapshot();
        let found = self.database.item_layout(&snapshot, table, path)?;
        if let Some(root) = &found.moving {
            return Ok(Looked::Moving(root.clone()));
        }
        let found = Arc::new(found);
        if layouts.len() >= REMEMBERED_MAX {
            layouts.clear();
        }
        layouts.insert(path.to_owned(), Arc::clone(&found));
        Ok(Looked::Here(found))
    }

    /// Puts the schema of a directory, or deletes it; when it was changed.
    async fn set_schema(&self, place: &Place, schema: Option<Vec<u8>>) -> Result<i64> {
        // Whoever puts a schema makes the container, and whoever deletes one finds it.
        let entered = match schema {
            Some(_) => self.enter_to_write(&place.directory).await?,
            None => self.enter(&place.directory).await?,
        };
        drop(entered);
        if schema.is_some() {
            self.check_hidden(&place.directory)?;
        }
        let Directory { container, path } = &place.directory;
        let changed = self.database.set_item_schema(container, path, schema);
        changed.await?.ok_or(Error::NotFound)
    }

    /// An error if a table of SQL has the name of a directory, or of one above it.
    fn check_hidden(&self, directory: &Directory) -> Result<()> {
        let Directory { container, path } = directory;
        match self.database.hides_directory(container, path) {
            Some(table) => {
                let hidden = sql::collection::ItemError::Hidden { table };
                Err(crate::Error::from(sql::Error::from(hidden)).into())
            }
            None => Ok(()),
        }
    }

    /// A moment for a change: now, and after every moment that was given before.
    fn now_ns(&self) -> i64 {
        let now = self.database.now_us().saturating_mul(1000);
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let later = |last: i64| Some(now.max(last.saturating_add(1)));
        let last = self
            .last_ns
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
        let last = last.expect("there is always a later moment");
        now.max(last.saturating_add(1))
    }
}

impl Container {
    fn new(name: &str, gate: Arc<Gate>) -> Self {
        Self {
            table_name: format!("{TABLE_PREFIX}{name}"),
            changes: AtomicU64::new(gate.changes()),
            gate,
            layouts: RwLock::default(),
            directories: RwLock::default(),
        }
    }

    fn name(&self) -> &str {
        let name = self.table_name.strip_prefix(TABLE_PREFIX);
        name.unwrap_or_default()
    }

    /// Forgets layouts from before a schema changed, whoever changed it.
    fn follow_changes(&self) {
        let changes = self.gate.changes();
        if self.changes.load(Ordering::Acquire) != changes {
            self.layouts.write().clear();
            self.changes.store(changes, Ordering::Release);
        }
    }

    fn forget(&self) {
        self.layouts.write().clear();
        self.directories.write().clear();
    }
}

/// The attributes that the server keeps, and no others.
impl Attributes for Record {
    fn attribute(&self, name: &str) -> expression::Result<Option<Attribute>> {
        Ok(self.system_attribute(name))
    }
}

/// All rows of a directory and of those below it.
fn range_below(path: &str) -> Range {
    match path::above(path) {
        Some(above) => {
            Range::from(&[Value::Utf8(path.into())]).before(&[Value::Utf8(above.into())])
        }
        None => Range::all(),
    }
}

fn has_rows(snapshot: &Snapshot, table: &Arc<Table>, path: &str) -> Result<bool> {
    let mut rows = snapshot.scan(table, &range_below(path), Direction::Ascending)?;
    Ok(rows.next().transpose()?.is_some())
}
