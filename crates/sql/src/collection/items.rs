//! A collection as a table: its columns, and its rows as items.
//!
//! Nothing of it is kept between statements: a collection is looked up when a statement names it, and
//! each run makes sure that the schema is still the one that the statement was made for. Whoever writes
//! has read the schema in the same transaction, so a commit fails if it changed meanwhile.

use std::sync::Arc;

use keys::attribute::SYSTEM_ATTRIBUTES;
use keys::{Attribute, Order, Type, Value};
use txn::{Bytes, KeyRange, Reader, Store};

use super::columns::{self, Source};
use super::error::ItemError;
use super::layout::{Layout, SCHEMA_NAME};
use super::path;
use super::record::{self, Key, Record};
use super::shown::Names;
use super::stored::Stored;
use super::{TABLE_PREFIX, table_name};
use crate::{Catalog, Column, Error, Result, Schema, Table};

/// What the column with the directory is called.
const PATH: &str = "__path";
pub(super) const NAME: &str = "__name";

/// Objects that begin so are ours, and no items.
const OURS: &str = ".#";

/// How many directories are looked at to find out what partitions are called.
const DIRECTORIES_MAX: usize = 10_000;

/// A collection.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) name: String,
    /// Where it is: a directory, and the partitions below it.
    pub(crate) path: String,
    /// The directory that has the schema.
    pub(crate) root: String,
    pub(crate) base: Arc<Table>,
    pub(crate) layout: Arc<Layout>,
    /// When the schema was changed last.
    pub(super) changed_ns: i64,
    /// Where each column comes from.
    pub(crate) sources: Vec<Source>,
    /// What partitions are called, outermost first.
    pub(crate) partitions: Vec<String>,
    pub(super) store: Arc<Store>,
}

/// Container and directory that a name means.
pub(super) fn split(name: &str) -> Option<(&str, String)> {
    let name = name.strip_prefix(TABLE_PREFIX).unwrap_or(name);
    let (container, below) = name.trim_start_matches('/').split_once('/')?;
    let segments = below.split('/').filter(|segment| !segment.is_empty());
    let path = segments.fold(String::new(), |path, segment| path + segment + "/");
    Some((container, path))
}

/// The collection of this name as a table, if there is one.
pub(crate) fn find(catalog: &Catalog, store: &Arc<Store>, name: &str) -> Result<Option<Table>> {
    let Some((container, path)) = split(name) else {
        return Ok(None);
    };
    let Some(base) = catalog.find(&table_name(container)) else {
        return Ok(None);
    };
    record::check_columns(base.schema())?;
    let stored = Stored::new(&base, store.view().reader());
    let found = stored.layout(&path)?;
    let Some(root) = found.root else {
        if stored.first(&stored.below(&path)?)?.is_none() {
            return Ok(None);
        }
        return Err(Error::Item(ItemError::NoSchema {
            collection: name.to_owned(),
            container: container.to_owned(),
            path: path.trim_end_matches('/').to_owned(),
        }));
    };
    let partitions = partition_columns(&stored, &root, &path)?;
    let (columns, sources) = columns_of(&found.layout, &partitions);
    let collection = Collection {
        name: name.to_owned(),
        path,
        root,
        layout: found.layout,
        changed_ns: found.changed_ns,
        sources,
        partitions: partitions.into_iter().map(|(name, _)| name).collect(),
        base,
        store: Arc::clone(store),
    };
    let schema = Schema::new(name, columns, &[PATH, NAME])?;
    Table::of_collection(schema, collection).map(Some)
}

/// Every collection that has a schema of its own, as tables that statements can name so.
pub(crate) fn all(catalog: &Catalog, store: &Arc<Store>) -> Vec<Table> {
    let mut found = Vec::new();
    for base in catalog.all() {
        let Some(container) = base.schema().name().strip_prefix(TABLE_PREFIX) else {
            continue;
        };
        if record::check_columns(base.schema()).is_err() {
            continue;
        }
        let stored = Stored::new(&base, store.view().reader());
        let paths = stored.with_schemas(DIRECTORIES_MAX).unwrap_or_default();
        for path in paths {
            let name = format!("{container}/{}", path.trim_end_matches('/'));
            // A table of that name is what the name means.
            if catalog.find(&name).is_none()
                && let Ok(Some(table)) = find(catalog, store, &name)
            {
                found.push(table);
            }
        }
    }
    found
}

/// What partitions are called, and the type that fits all their values.
fn partition_columns(stored: &Stored, root: &str, within: &str) -> Result<Vec<(String, Type)>> {
    let mut found: Vec<(String, Type)> = Vec::new();
    let mut looked_at = 0;
    let directories = stored.partitions(root, within, |_| {
        looked_at += 1;
        looked_at <= DIRECTORIES_MAX
    })?;
    let parts = directories
        .iter()
        .filter_map(|one| path::partition(root, one));
    for (name, text) in parts.flatten() {
        let is_integer = !columns::named_value(text, Type::Int64).is_null();
        let is_integer = is_integer || columns::partition_value(text, Type::Utf8).is_null();
        let kind = if is_integer { Type::Int64 } else { Type::Utf8 };
        match found.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if kind == Type::Utf8 => *known = kind,
            Some(_) => {}
            None => found.push((name.to_owned(), kind)),
        }
    }
    Ok(found)
}

/// The columns, and where each comes from.
fn columns_of(layout: &Layout, partitions: &[(String, Type)]) -> (Vec<Column>, Vec<Source>) {
    let mut columns: Vec<Column> = Vec::new();
    let mut sources = Vec::new();
    let source = |name: &str| {
        let level = partitions.iter().position(|(known, _)| known == name);
        match level {
            _ if layout.key.as_deref() == Some(name) => Source::Key,
            _ if layout.sorting_key.as_deref() == Some(name) => Source::Sorting,
            Some(level) => Source::Partition(level),
            None => Source::Attribute,
        }
    };
    let listed = |name: &str| layout.fields.iter().any(|field| field.name == name);
    let keys = [&layout.key, &layout.sorting_key].into_iter().flatten();
    let keys = keys.filter(|name| !listed(name));
    let keys = keys.map(|name| (name.as_str(), Type::Utf8));
    let fields = layout
        .fields
        .iter()
        .map(|field| (field.name.as_str(), field.kind));
    let others = partitions.iter().filter(|(name, _)| !listed(name));
    let others = others.map(|(name, kind)| (name.as_str(), *kind));
    for (name, kind) in keys.chain(fields).chain(others) {
        if !columns.iter().any(|column| column.name == name) && name != PATH {
            columns.push(Column::new(name, kind));
            sources.push(source(name));
        }
    }
    let mut name = Column::new(NAME, Type::Utf8);
    name.hidden = layout.key.is_some();
    let at = if name.hidden { columns.len() } else { 0 };
    columns.insert(at, name);
    sources.insert(at, Source::Name);
    columns.push(Column::new(PATH, Type::Utf8).hidden());
    sources.push(Source::Path);
    let system = SYSTEM_ATTRIBUTES.iter().filter(|name| **name != NAME);
    for name in system.filter(|name| **name != "__last_sequence_num") {
        columns.push(Column::new(*name, Type::Int64).hidden());
        sources.push(Source::System);
    }
    (columns, sources)
}

impl Collection {
    /// Where the column from this source stands.
    pub(crate) fn position(&self, source: Source) -> Option<usize> {
        self.sources.iter().position(|one| *one == source)
    }

    /// Whether these columns make the name and the directory of an item, all of them and no others.
    pub(crate) fn is_key(&self, positions: &[usize]) -> bool {
        let mut all = 0..self.sources.len();
        all.all(|position| positions.contains(&position) == self.places(position))
    }

    /// Whether a column has a part in the name or the directory of an item.
    pub(crate) fn places(&self, position: usize) -> bool {
        match self.sources.get(position) {
            Some(Source::Key | Source::Sorting | Source::Partition(_)) => true,
            Some(Source::Name) => self.layout.key.is_none(),
            _ => false,
        }
    }

    /// Where a row will lie and what it is called, if enough of its values are known.
    pub(crate) fn known_key(
        &self,
        schema: &Schema,
        row: &[Option<Value>],
    ) -> Option<(Bytes, String)> {
        let known = |(position, value): (usize, &Option<Value>)| match value {
            Some(value) => Some(value.clone()),
            None => (!self.places(position)).then_some(Value::Null),
        };
        let mut row: Vec<Value> = row.iter().enumerate().map(known).collect::<Option<_>>()?;
        self.place(schema, &mut row, None).ok()?;
        let (path, name) = self.told(&row).ok()?;
        let key = self.layout.key(path, name);
        let key = self.base.schema().encode_key(&key.values()).ok()?;
        Some((key, format!("/{path}{name}")))
    }

    /// Where its schema lies, which every transaction that writes has read.
    pub(crate) fn schema_range(&self) -> Result<KeyRange> {
        let key = Key::of_name(&self.root, SCHEMA_NAME, Order::Text);
        let key = self.base.schema().encode_key(&key.values())?;
        Ok(KeyRange::point(&key))
    }

    /// An error unless its items lie as the statement was made for.
    pub(crate) fn check(&self, reader: &Reader, path: &str) -> Result<()> {
        let found = Stored::new(&self.base, reader.clone()).layout(path)?;
        let same = found.root.as_deref() == Some(&self.root)
            && found.changed_ns == self.changed_ns
            // A partition may have a schema of its own, and then it is another root.
            && found.layout == self.layout;
        match same && found.moving.is_none() {
            true => Ok(()),
            false => Err(Error::Item(ItemError::Changing {
                collection: self.name.clone(),
                container: self.container().to_owned(),
                moving: found.moving,
            })),
        }
    }

    fn container(&self) -> &str {
        let name = self.base.schema().name();
        name.strip_prefix(TABLE_PREFIX).unwrap_or(name)
    }

    /// What its items are shown as.
    pub(crate) fn names(&self, reader: Reader) -> Names {
        Names::new(&self.base, reader, &self.path, Arc::clone(&self.layout))
    }

    /// Whether the items of a directory lie as the schema of the collection says: a partition may have
    /// a schema of its own.
    pub(crate) fn keeps_order(&self, stored: &Stored, directory: &str) -> Result<bool> {
        if directory == self.path {
            return Ok(true);
        }
        let found = stored.layout(directory)?;
        let of = |layout: &Layout| (layout.order, layout.buckets, layout.former);
        Ok(of(&found.layout) == of(&self.layout) && found.moving.is_none())
    }

    /// Whether a record is an item.
    pub(crate) fn is_item(record: &Record) -> bool {
        !record.key.is_of_directory() && !record.name.starts_with(OURS)
    }

    /// The values that an item has in these columns of `schema`, which is its own.
    pub(crate) fn values(
        &self,
        schema: &Schema,
        (record, names): (&Record, &mut Names),
        positions: &[usize],
    ) -> Result<Vec<Value>> {
        let view = record.view()?;
        let mut values = Vec::with_capacity(positions.len());
        let parts = path::partition(&self.root, &record.key.path).unwrap_or_default();
        for position in positions {
            let (Some(source), Some(column)) =
                (self.sources.get(*position), schema.columns().get(*position))
            else {
                values.push(Value::Null);
                continue;
            };
            values.push(match source {
                Source::Attribute => {
                    let found = view.get(&column.name)?;
                    found.map_or(Value::Null, |found| columns::value(&found, column.kind))
                }
                Source::Key => {
                    let (key, _) = columns::key_parts(&self.layout, &record.name);
                    columns::named_value(key, column.kind)
                }
                Source::Sorting => {
                    let (_, sorting) = columns::key_parts(&self.layout, &record.name);
                    sorting.map_or(Value::Null, |text| {
                        columns::sorting_value(text, column.kind)
                    })
                }
                Source::Partition(_) => {
                    let part = parts.iter().find(|(name, _)| *name == column.name);
                    part.map_or(Value::Null, |(_, text)| {
                        columns::partition_value(text, column.kind)
                    })
                }
                Source::Name => match names.shown(record)? {
                    Some(shown) => Value::from(shown.as_str()),
                    None => Value::from(record.name.as_str()),
                },
                Source::Path => Value::from(record.key.path.as_str()),
                Source::System => match record.system_attribute(&column.name) {
                    Some(Attribute::Integer(integer)) => Value::Int64(integer),
                    _ => Value::Null,
                },
            });
        }
        Ok(values)
    }
}
