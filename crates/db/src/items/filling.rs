//! A page while it is filled: the items that are asked for, as clients are shown them, and where the
//! next page begins.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::Snapshot;

use super::error::{Error, Result};
use super::marker::Marker;
use super::record::Record;
use super::scan::{Ask, PAGE_BYTES_MAX, PAGE_ITEMS_MAX, PAGE_ROWS_MAX, parts_below};
use super::scope::{Scope, lies};
use super::{Collections, Entered, Found, Names};

/// What was found so far.
pub(super) struct Filling<'a> {
    ask: &'a Ask,
    /// How many buckets there were when the scan began.
    counted: Option<NonZeroU32>,
    pub(super) records: Vec<Record>,
    bytes: usize,
    pub(super) looked_at: usize,
    pub(super) changed_ns: Option<i64>,
    /// The directory of the last record that was looked at, and where a page ends that ends there.
    pub(super) last: Option<(String, Marker)>,
}

impl<'a> Filling<'a> {
    pub(super) fn new(ask: &'a Ask, counted: Option<NonZeroU32>) -> Self {
        Self {
            ask,
            counted,
            records: Vec::new(),
            bytes: 0,
            looked_at: 0,
            changed_ns: None,
            last: None,
        }
    }

    /// Takes a record, if it is asked for; whether the page is full.
    pub(super) fn add(&mut self, record: Record, places: &mut Places<'_>) -> Result<bool> {
        let scope = &self.ask.scope;
        self.changed_ns = self.changed_ns.max(Some(record.changed_ns));
        let found = places.of(&record.key.path)?;
        let path = record.key.path.clone();
        self.last = Some((path, scope.marker(&record, &found.layout, self.counted)));
        let record = scope.shown(places.names.show(record).map_err(crate::Error::from)?)?;
        if self.ask.admits(&record)? {
            self.bytes += record.attributes.len() + record.name.len();
            self.bytes += record.data.as_ref().map_or(0, Vec::len);
            self.records.push(record);
        }
        let limit = self.ask.limit.unwrap_or(PAGE_ITEMS_MAX);
        let enough = self.records.len() >= limit.clamp(1, PAGE_ITEMS_MAX);
        let tired = self.looked_at >= PAGE_ROWS_MAX && !self.records.is_empty();
        Ok(enough || tired || self.bytes >= PAGE_BYTES_MAX)
    }
}

/// The directory whose items must be where they belong first.
pub(super) enum Hindrance {
    /// Nobody can use them before.
    Moving(String),
    /// A page cannot end between them.
    Spreading(String),
}

/// How items lie in the directories that a scan comes by, and what they are called there.
pub(super) struct Places<'a> {
    collections: &'a Collections,
    entered: &'a Entered,
    snapshot: &'a Snapshot,
    /// The directory that was looked at last.
    path: String,
    found: Arc<Found>,
    pub(super) names: Names,
}

impl<'a> Places<'a> {
    pub(super) fn new(
        collections: &'a Collections,
        entered: &'a Entered,
        snapshot: &'a Snapshot,
        path: &str,
    ) -> Self {
        let layout = Arc::clone(&entered.layout);
        Self {
            names: Names::new(&entered.table, snapshot.reader(), path, layout),
            found: Arc::clone(&entered.found),
            path: path.to_owned(),
            collections,
            entered,
            snapshot,
        }
    }

    /// What holds in a directory.
    fn of(&mut self, path: &str) -> Result<&Arc<Found>> {
        if self.path != path {
            let database = &self.collections.database;
            let found = database.item_layout(self.snapshot, &self.entered.table, path)?;
            self.found = Arc::new(found);
            self.path = path.to_owned();
        }
        Ok(&self.found)
    }

    /// What keeps a scan from going on in a directory, or from ending a page there: items that are on
    /// their way between the slices.
    pub(super) fn hindrance(
        &mut self,
        ask: &Ask,
        path: &str,
        ends: bool,
    ) -> Result<Option<Hindrance>> {
        let by_slices = !matches!(ask.scope, Scope::Sharding { .. });
        let found = self.of(path)?;
        let moving = found.moving.clone().map(Hindrance::Moving);
        let spreading = found.spreading.clone().filter(|_| ends && by_slices);
        Ok(moving.or(spreading.map(Hindrance::Spreading)))
    }

    /// An error if items lie otherwise since the page before in the directory where it ended.
    pub(super) fn check(&mut self, scope: &Scope, marker: Option<&Marker>) -> Result<()> {
        let (Scope::Below(_), Some(marker)) = (scope, marker) else {
            return Ok(());
        };
        let [path, _, lay] = parts_below(marker);
        match lies(&self.of(path)?.layout) == lay {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "the schema of `{path}` changed since the page before: begin the scan again"
            ))),
        }
    }
}
