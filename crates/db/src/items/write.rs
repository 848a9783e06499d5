//! Changing items: blindly, or after a look at what is there.
//!
//! ```text
//!   PutItem, nothing else       put ──► commit                      never waits, never conflicts
//!   everything else             claim ──► get ──► decide ──► put ──► commit ──┐
//!                                 ▲──────────── somebody was faster ──────────┘
//! ```

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::{Table, Transaction};
use keys::{Attribute, Item};

use super::error::{Error, Result};
use super::expression::{self, Attributes, Condition, Update};
use super::layout::SCHEMA_NAME;
use super::record::{CHANGED_NS, Key, Record};
use super::spots::Spots;
use super::{
    Collections, Directory, Entered, Layout, Place, REMEMBERED_MAX, is_kept, objects, traced,
};

/// How often a change is tried when others are faster.
pub(super) const ATTEMPTS_MAX: usize = 32;

/// What is not there has no attributes.
struct Nothing;

impl Attributes for Nothing {
    fn attribute(&self, _: &str) -> expression::Result<Option<Attribute>> {
        Ok(None)
    }
}

/// What happens to an item that is there when another is put in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It goes, with all its attributes.
    #[default]
    Replace,
    /// It keeps the attributes that the other one does not have.
    Merge,
    /// It stays, and the other one is refused.
    CreateOnly,
}

/// A change of one item.
#[derive(Debug, Default)]
pub struct Write {
    /// Attributes to put.
    pub item: Option<Item>,
    /// How they are put.
    pub mode: Mode,
    /// What must be true of the item.
    pub condition: Option<Condition>,
    /// What changes the item after that.
    pub update: Option<Update>,
    /// What changes the item instead, if the condition is false.
    pub alternate: Option<Update>,
    /// The buckets of its table, if the request names them.
    pub buckets: Option<NonZeroU32>,
}

/// What is to be done with a record.
pub(super) enum Change {
    /// Nothing.
    Keep,
    /// It gets these attributes and this data.
    Put(Vec<u8>, Option<Vec<u8>>),
    /// It goes.
    Delete,
}

impl Write {
    /// Whether it depends on nothing that is there.
    pub(super) fn is_blind(&self) -> bool {
        self.mode == Mode::Replace && self.condition.is_none() && self.update.is_none()
    }

    /// The items that it may be about.
    fn spots(&self, entered: &Entered, place: &Place) -> Result<Spots> {
        let key = entered.layout.key.as_deref();
        match (&self.item, self.mode) {
            (Some(item), Mode::Replace | Mode::CreateOnly) => {
                entered.spots_to_put(place, self.buckets, item)
            }
            // It says which item it is meant for.
            (Some(item), Mode::Merge) if key.is_some_and(|key| item.get(key).is_some()) => {
                entered.spots_to_put(place, self.buckets, item)
            }
            _ => Ok(entered.spots(place, self.buckets)),
        }
    }

    /// What becomes of the record that is there.
    fn decide(&self, found: Option<&Record>, layout: &Layout) -> Result<Change> {
        let update = match self.holds(found)? {
            true => self.update.as_ref(),
            false => Some(self.alternate.as_ref().ok_or(Error::ConditionFalse)?),
        };
        let old = found.map(Record::item).transpose()?;
        if old.is_some() && self.mode == Mode::CreateOnly {
            return Err(Error::ItemExists);
        }
        let mut item = match (&self.item, self.mode) {
            (Some(new), Mode::Merge) => {
                let mut item = old.clone().unwrap_or_default();
                item.merge(new.clone());
                item
            }
            (Some(new), _) => new.clone(),
            (None, _) => old.clone().unwrap_or_default(),
        };
        if let Some(update) = update {
            let system: &dyn Attributes =
                found.map_or(&Nothing as &dyn Attributes, |record| record);
            update.apply(&mut item, system)?;
        }
        if old.as_ref() == Some(&item) && self.item.is_none() {
            return Ok(Change::Keep);
        }
        layout.check(&item)?;
        item.check()?;
        // An object that is replaced by an item has no bytes any more, but a schema keeps its own.
        let data = found.filter(|record| {
            self.item.is_none() || self.mode == Mode::Merge || record.name == SCHEMA_NAME
        });
        let data = data.and_then(|record| record.data.clone());
        Ok(Change::Put(item.encode()?, data))
    }

    fn holds(&self, found: Option<&Record>) -> Result<bool> {
        let Some(condition) = &self.condition else {
            return Ok(true);
        };
        Ok(match found {
            Some(record) => condition.holds(&(record.view()?, record))?,
            None => condition.holds(&Nothing)?,
        })
    }
}

impl Collections {
    /// Changes an item, or makes one; when it was changed.
    pub async fn write(&self, place: &Place, write: &Write) -> Result<i64> {
        let entered = self.enter_to_write(&place.directory).await?;
        let function = match write.mode {
            Mode::Merge => "UpdateItem",
            Mode::Replace | Mode::CreateOnly => "PutItem",
        };
        let request = self.request(function, &place.directory);
        let changed_ns = match &write.item {
            Some(item) if write.is_blind() && place.name != SCHEMA_NAME => {
                self.put_blindly(&entered, place, item, write.buckets).await
            }
            _ => {
                let decide = |found: Option<&Record>| write.decide(found, &entered.layout);
                let spots = write.spots(&entered, place)?;
                self.change_at(&entered, (place, &spots), decide).await
            }
        }?;
        if let Some(request) = request {
            let spots = write.spots(&entered, place)?;
            let keys: Vec<&Key> = spots.keys().collect();
            request.did(&entered.table, traced::changed(write, &keys));
        }
        Ok(changed_ns)
    }

    /// Deletes an item or object that is there.
    pub async fn delete(&self, place: &Place, buckets: Option<NonZeroU32>) -> Result<()> {
        if place.name == SCHEMA_NAME {
            return self.set_schema(place, None).await.map(|_| ());
        }
        let entered = self.enter(&place.directory).await?;
        let decide = |found: Option<&Record>| match found {
            Some(_) => Ok(Change::Delete),
            None => Err(Error::NotFound),
        };
        let request = self.request("DeleteItem", &place.directory);
        self.change(&entered, place, buckets, decide).await?;
        if let Some(request) = request {
            let spots = entered.spots(place, buckets);
            let keys: Vec<&Key> = spots.keys().collect();
            request.did(&entered.table, traced::deleted(&keys));
        }
        Ok(())
    }

    /// Makes a directory, and its container, if they are not there.
    pub async fn make_directory(&self, directory: &Directory) -> Result<()> {
        if directory.path.is_empty() {
            return self.create_container(&directory.container);
        }
        let entered = self.enter_to_write(directory).await?;
        let mut transaction = self.database.begin();
        let is_new = self.announce(&entered, &mut transaction, &directory.path)?;
        transaction.commit_later().await?;
        entered.remember(&directory.path, is_new);
        Ok(())
    }

    async fn put_blindly(
        &self,
        entered: &Entered,
        place: &Place,
        item: &Item,
        buckets: Option<NonZeroU32>,
    ) -> Result<i64> {
        check_place(place)?;
        entered.layout.check(item)?;
        item.check()?;
        let attributes = item.encode()?;
        let path = &place.directory.path;
        let spots = entered.spots_to_put(place, buckets, item)?;
        let spot = spots.all.first().expect("an item has a spot");
        let (key, former) = spot.keys.split_first().expect("it lies somewhere");
        let now = self.now_ns();
        let record = Record {
            key: key.clone(),
            name: spot.name.clone(),
            attributes,
            data: None,
            created_ns: now,
            changed_ns: now,
            rest: Vec::new(),
        };
        let mut row = record.into_row(entered.table.schema());
        for _ in 0..ATTEMPTS_MAX {
            let table = self.table_to_write(&entered.container)?;
            if row.len() != table.schema().columns().len() {
                row = Record::from_row(row)?.into_row(table.schema());
            }
            let mut transaction = self.database.begin();
            // What was not moved yet from its former bucket goes as well.
            for key in former {
                transaction.delete(&table, &key.values())?;
            }
            transaction.replace(&table, &row)?;
            let is_new = self.announce(entered, &mut transaction, path)?;
            match transaction.commit_later().await.map_err(Error::from) {
                // Nothing was read, so the table itself was altered.
                Err(error) if error.is_conflict() => {}
                outcome => {
                    outcome?;
                    entered.remember(path, is_new);
                    return Ok(now);
                }
            }
        }
        Err(Error::Busy)
    }

    /// Changes a record as `decide` says, which sees what is there; when it was changed.
    pub(super) async fn change(
        &self,
        entered: &Entered,
        place: &Place,
        buckets: Option<NonZeroU32>,
        decide: impl Fn(Option<&Record>) -> Result<Change>,
    ) -> Result<i64> {
        let spots = entered.spots(place, buckets);
        self.change_at(entered, (place, &spots), decide).await
    }

    async fn change_at(
        &self,
        entered: &Entered,
        at: (&Place, &Spots),
        decide: impl Fn(Option<&Record>) -> Result<Change>,
    ) -> Result<i64> {
        check_place(at.0)?;
        for _ in 0..ATTEMPTS_MAX {
            let tried = self.try_change(entered, at, &decide).await;
            match tried {
                Err(error) if error.is_conflict() => {}
                outcome => return outcome,
            }
        }
        Err(Error::Busy)
    }

    async fn try_change(
        &self,
        entered: &Entered,
        (place, spots): (&Place, &Spots),
        decide: impl Fn(Option<&Record>) -> Result<Change>,
    ) -> Result<i64> {
        // It may have been altered since the last attempt.
        let table = &self.table(&entered.container)?;
        let mut transaction = self.database.begin();
        let (mut found, mut own) = (None, None);
        'spots: for spot in &spots.all {
            for key in &spot.keys {
                found = claim_and_get(&mut transaction, table, key).await?;
                if found.is_some() {
                    own = Some(spot);
                    break 'spots;
                }
            }
        }
        let now = self.now_ns();
        let last_ns = found.as_ref().map(|record| record.changed_ns);
        // The clock may have been set back since.
        let changed_ns = last_ns.map_or(now, |last| now.max(last.saturating_add(1)));
        let path = &place.directory.path;
        let (mut is_new, mut lets_go) = (false, objects::names_parts(found.as_ref()));
        match self.decide(entered, found.as_ref(), decide)? {
            Change::Keep => return Ok(last_ns.unwrap_or(now)),
            Change::Delete => {
                if let Some(found) = found {
                    transaction.delete(table, &found.key.values())?;
                }
                // Nothing else tells that something went. Nobody waits for anybody because of it, and
                // what others change of the directory stays.
                let directory = Key::of_directory(path).values();
                transaction.raise(table, &directory, (CHANGED_NS, now))?;
            }
            Change::Put(attributes, data) => {
                lets_go &= found.as_ref().is_some_and(|found| found.data != data);
                if own.is_none() {
                    own = entered.spot_of_new(place, spots, &Item::decode(&attributes)?);
                }
                let own = own.expect("an item has a spot");
                let key = own.keys.first().expect("it lies somewhere");
                if let Some(found) = found.as_ref().filter(|found| found.key != *key) {
                    // It was not moved yet from its former bucket.
                    transaction.delete(table, &found.key.values())?;
                }
                let record = Record {
                    key: key.clone(),
                    name: own.name.clone(),
                    attributes,
                    data,
                    created_ns: found.as_ref().map_or(now, |found| found.created_ns),
                    changed_ns,
                    rest: found.map(|found| found.rest).unwrap_or_default(),
                };
                transaction.replace(table, &record.into_row(table.schema()))?;
                is_new = self.announce(entered, &mut transaction, path)?;
            }
        }
        transaction.commit_later().await?;
        if lets_go {
            self.database.objects.loosen();
        }
        entered.remember(path, is_new);
        Ok(changed_ns)
    }

    /// What becomes of a record, which is seen under the name that clients are shown.
    fn decide(
        &self,
        entered: &Entered,
        found: Option<&Record>,
        decide: impl Fn(Option<&Record>) -> Result<Change>,
    ) -> Result<Change> {
        match found {
            Some(found) if entered.layout.buckets.is_some() => {
                let snapshot = self.database.snapshot();
                let shown = self.shown(entered, &snapshot, found.clone())?;
                decide(Some(&shown))
            }
            found => decide(found),
        }
    }

    /// Creates the directory and its ancestors in the same transaction, unless they are known to exist.
    pub(super) fn announce(
        &self,
        entered: &Entered,
        transaction: &mut Transaction,
        path: &str,
    ) -> Result<bool> {
        if path.is_empty() || entered.container.directories.read().contains(path) {
            return Ok(false);
        }
        self.check_hidden(&Directory {
            container: entered.container.name().to_owned(),
            path: path.to_owned(),
        })?;
        transaction.make_directory(&entered.table, path, self.now_ns())?;
        Ok(true)
    }
}

impl Entered {
    /// Remembers a directory, when the commit that made it has happened.
    pub(super) fn remember(&self, path: &str, is_new: bool) {
        if is_new {
            let mut directories = self.container.directories.write();
            if directories.len() >= REMEMBERED_MAX {
                directories.clear();
            }
            directories.insert(path.to_owned());
        }
    }
}

/// An error for an object that the server keeps to itself.
fn check_place(place: &Place) -> Result<()> {
    match is_kept(&place.name) {
        true => Err(Error::Invalid(format!(
            "`{}` is kept by the server: put {SCHEMA_NAME}",
            place.name
        ))),
        false => Ok(()),
    }
}

async fn claim_and_get(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    key: &Key,
) -> Result<Option<Record>> {
    let key = key.values();
    transaction.claim(table, &key).await?;
    let row = transaction.get(table, &key)?;
    Ok(row.map(Record::from_row).transpose()?)
}
