//! Changing the items of a collection: where a row belongs, and what becomes of its attributes.
//!
//! ```text
//!   driver = 'johnd', day = '20180602', year = 2018   place ──► taxis/year=2018/  johnd.20180602
//!   km = 12, NULL for the rest                        changed ► {"driver": …, "day": …, "km": 12}
//! ```
//!
//! Attributes that are no columns, and values that do not change, stay as they were stored.

use keys::{Item, Value};
use txn::Transaction;

use super::columns::{self, Source};
use super::error::ItemError;
use super::items::{Collection, NAME};
use super::moving::later;
use super::record::Record;
use super::stored::{Stored, announce, delete, put, touch};
use crate::{Error, Result, Schema};

impl Collection {
    /// Works out the name and the directory of a row, which stays where it is if nothing of that
    /// changes.
    pub(crate) fn place(
        &self,
        schema: &Schema,
        row: &mut [Value],
        old: Option<&[Value]>,
    ) -> Result<()> {
        let (mut moved, mut renamed) = (old.is_none(), old.is_none());
        for (position, source) in self.sources.iter().enumerate() {
            let was = old.and_then(|old| old.get(position));
            if row.get(position) == was {
                continue;
            }
            match source {
                Source::Key | Source::Sorting => renamed = true,
                Source::Partition(_) => moved = true,
                // The name itself may be the key.
                Source::Name if self.layout.key.is_none() => {}
                Source::Attribute => {}
                Source::Name | Source::Path | Source::System => {
                    if row.get(position).is_some_and(|value| !value.is_null()) {
                        return Err(Error::Item(ItemError::Kept {
                            collection: self.name.clone(),
                            column: schema.name_at(position).to_owned(),
                        }));
                    }
                }
            }
        }
        if renamed && self.layout.key.is_some() {
            let name = self.name_of(schema, row)?;
            self.set(row, Source::Name, Value::from(name.as_str()));
        }
        if moved {
            let path = self.path_of(row)?;
            self.set(row, Source::Path, Value::from(path.as_str()));
        }
        Ok(())
    }

    fn set(&self, row: &mut [Value], source: Source, value: Value) {
        if let Some(place) = self.position(source).and_then(|at| row.get_mut(at)) {
            *place = value;
        }
    }

    fn name_of(&self, schema: &Schema, row: &[Value]) -> Result<String> {
        let part = |source: Source| -> Result<String> {
            let position = self.position(source).unwrap_or_default();
            let value = row.get(position).unwrap_or(&Value::Null);
            columns::text(value).ok_or_else(|| Error::NullValue {
                table: self.name.clone(),
                column: schema.name_at(position).to_owned(),
            })
        };
        let sorting = match self.layout.sorting_key {
            Some(_) => Some(part(Source::Sorting)?),
            None => None,
        };
        Ok(columns::name(&part(Source::Key)?, sorting.as_deref())?)
    }

    fn path_of(&self, row: &[Value]) -> Result<String> {
        let mut path = self.root.clone();
        for (level, name) in self.partitions.iter().enumerate() {
            let position = self.position(Source::Partition(level));
            let value = position.and_then(|at| row.get(at)).unwrap_or(&Value::Null);
            let segment = format!("{name}={}", columns::partition_text(value));
            keys::check_item_name(&segment).map_err(ItemError::from)?;
            path = path + &segment + "/";
        }
        if !path.starts_with(&self.path) {
            return Err(Error::Item(ItemError::Invalid(format!(
                "the item belongs to `{path}`, which is outside of `{}`: name the collection itself",
                self.path
            ))));
        }
        Ok(path)
    }

    /// The directory and name that a row says it has.
    pub(super) fn told<'r>(&self, row: &'r [Value]) -> Result<(&'r str, &'r str)> {
        let text = |source: Source| match self.position(source).and_then(|at| row.get(at)) {
            Some(Value::Utf8(text)) if source == Source::Path || !text.is_empty() => Ok(&**text),
            _ => Err(Error::NullValue {
                table: self.name.clone(),
                column: NAME.to_owned(),
            }),
        };
        Ok((text(Source::Path)?, text(Source::Name)?))
    }

    /// The own names that the item of a row may have: the one that its key columns make, if they do. A row
    /// that was read tells the name that was shown, which means its item as it does for everybody.
    fn owns(&self, row: &[Value]) -> Result<(String, Vec<String>)> {
        let (path, name) = self.told(row)?;
        let mut names = self.layout.meanings(name);
        let key = self.position(Source::Key).and_then(|at| row.get(at));
        if let Some(key) = key.and_then(columns::text) {
            let is_own = |name: &String| columns::key_parts(&self.layout, name).0 == key;
            if names.iter().any(is_own) {
                names.retain(is_own);
            }
        }
        Ok((path.to_owned(), names))
    }

    /// Waits for those who are writing the same item.
    pub(crate) async fn claim(&self, transaction: &mut Transaction, row: &[Value]) -> Result<()> {
        let (path, names) = self.owns(row)?;
        for name in names {
            for key in self.layout.keys(&path, &name) {
                let key = self.base.schema().encode_key(&key.values())?;
                transaction.claim(self.base.id(), &key).await?;
            }
        }
        Ok(())
    }

    /// The item of this row.
    fn record(&self, transaction: &Transaction, row: &[Value]) -> Result<Option<Record>> {
        let (path, names) = self.owns(row)?;
        for name in &names {
            if let Some(record) = self.named(transaction, &path, name)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The item with this own name.
    fn named(&self, transaction: &Transaction, path: &str, own: &str) -> Result<Option<Record>> {
        let stored = Stored::new(&self.base, transaction.reader());
        for key in self.layout.keys(path, own) {
            if let Some(record) = stored.get(&key)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The row with the name of this one.
    pub(crate) fn find(
        &self,
        schema: &Schema,
        transaction: &Transaction,
        row: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        let all: Vec<usize> = (0..self.sources.len()).collect();
        match self.record(transaction, row)? {
            Some(record) => {
                let mut names = self.names(transaction.reader());
                let values = self.values(schema, (&record, &mut names), &all);
                values.map(Some)
            }
            None => Ok(None),
        }
    }

    /// Puts a new item; an error if there is one of its name.
    pub(crate) fn insert(
        &self,
        schema: &Schema,
        transaction: &mut Transaction,
        row: &[Value],
    ) -> Result<()> {
        let (path, name) = self.told(row)?;
        if self.named(transaction, path, name)?.is_some() {
            return Err(self.exists(path, name));
        }
        self.replace(schema, transaction, None, row)
    }

    /// Puts an item in the place of another, which keeps its other attributes if it is the one given.
    pub(crate) fn replace(
        &self,
        schema: &Schema,
        transaction: &mut Transaction,
        old: Option<&[Value]>,
        new: &[Value],
    ) -> Result<()> {
        let (path, name) = self.told(new)?;
        self.check(&transaction.reader(), path)?;
        let found = match old {
            Some(old) => self.record(transaction, old)?,
            None => self.named(transaction, path, name)?,
        };
        let now_ns = later(&self.store, found.as_ref());
        let name = match &found {
            // It was shown under a name that need not be its own.
            Some(found) if !self.renames(old, new) => found.name.clone(),
            _ => name.to_owned(),
        };
        let moved = match (&found, old) {
            (Some(found), Some(_)) => (found.key.path.as_str(), &found.name) != (path, &name),
            _ => false,
        };
        if let Some(found) = found.as_ref().filter(|_| moved) {
            delete(transaction, &self.base, found.clone())?;
            touch(transaction, (&self.base, &self.store), &found.key.path)?;
            if self.named(transaction, path, &name)?.is_some() {
                return Err(self.exists(path, &name));
            }
        }
        let item = match (&found, old) {
            (Some(found), Some(_)) => found.item()?,
            _ => Item::new(),
        };
        let item = self.changed(schema, item, old, new)?;
        let here = found.filter(|_| !moved);
        let key = self.layout.key(path, &name);
        if let Some(here) = here.as_ref().filter(|here| here.key != key) {
            delete(transaction, &self.base, here.clone())?;
        }
        let record = Record {
            key,
            name,
            attributes: item.encode()?,
            data: here
                .as_ref()
                .filter(|_| old.is_some())
                .and_then(|here| here.data.clone()),
            created_ns: here.as_ref().map_or(now_ns, |here| here.created_ns),
            changed_ns: now_ns,
            rest: here.map(|here| here.rest).unwrap_or_default(),
        };
        put(transaction, &self.base, record)?;
        announce(transaction, &self.base, path, now_ns)
    }

    /// Whether the columns that make the name change.
    fn renames(&self, old: Option<&[Value]>, new: &[Value]) -> bool {
        let Some(old) = old else {
            return false;
        };
        let makes = |source: &Source| match self.layout.key {
            Some(_) => matches!(source, Source::Key | Source::Sorting),
            None => *source == Source::Name,
        };
        let mut sources = self.sources.iter().enumerate();
        sources.any(|(at, source)| makes(source) && old.get(at) != new.get(at))
    }

    /// The item with the new values of those columns that change.
    fn changed(
        &self,
        schema: &Schema,
        mut item: Item,
        old: Option<&[Value]>,
        new: &[Value],
    ) -> Result<Item> {
        for (position, source) in self.sources.iter().enumerate() {
            let value = new.get(position).unwrap_or(&Value::Null);
            let same = old.is_some_and(|old| old.get(position) == Some(value));
            if same || matches!(source, Source::Name | Source::Path | Source::System) {
                continue;
            }
            let name = schema.name_at(position);
            match columns::attribute(value) {
                Some(attribute) => {
                    keys::attribute::check_attribute_name(name)?;
                    item.set(name, attribute);
                }
                None => {
                    item.remove(name);
                }
            }
        }
        item.check()?;
        Ok(item)
    }

    /// Deletes the item of a row, if it is there.
    pub(crate) fn delete(&self, transaction: &mut Transaction, row: &[Value]) -> Result<()> {
        let (path, _) = self.told(row)?;
        self.check(&transaction.reader(), path)?;
        match self.record(transaction, row)? {
            Some(record) => {
                delete(transaction, &self.base, record)?;
                touch(transaction, (&self.base, &self.store), path)
            }
            None => Ok(()),
        }
    }

    fn exists(&self, path: &str, name: &str) -> Error {
        Error::RowExists {
            table: self.name.clone(),
            key: format!("/{path}{name}"),
            detail: format!("Key ({NAME})=({name}) already exists."),
        }
    }
}
