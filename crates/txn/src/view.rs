//! Reading at a snapshot: [`View`], alone for read-only work or inside a transaction.
//!
//! ```text
//!   get(key) ── own writes? ─► map ─► partition ─► engine ── newest version ≤ snapshot? ─► row
//!                                                    │ no: it is newer
//!                                                    └─► history in memory, then on disk ─► row
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use partitions::spaces::{HISTORY_SPACE, table_space};
use partitions::{AccessKind, Partition, PartitionId, TableId};
use storage::{Bytes, Direction, KeyRange};

use crate::active::Reading;
use crate::engines::Slot;
use crate::footprint::{Footprints, Touch};
use crate::reader::Reader;
use crate::reads::{Found, RangeTicket, Reads};
use crate::scan::Scan;
use crate::version::{Replaced, Version};
use crate::{Error, Result, Store, Timestamp};

/// How often a read looks at the map again when a split or merge moved the partition meanwhile.
const ROUTE_ATTEMPTS_MAX: usize = 8;

/// The database as of one timestamp. Never waits for a writer and is never refused because of one.
pub struct View {
    store: Arc<Store>,
    reading: Reading,
    /// Whether accesses are timed.
    sampled: bool,
    state: Mutex<State>,
}

struct State {
    tracking: Tracking,
    footprints: Footprints,
}

/// Whether reads are remembered for validation.
enum Tracking {
    /// A read-only view: nothing to validate.
    Off,
    /// A transaction that may commit writes.
    On(Reads),
    /// The transaction has ended: further reads would go unvalidated and are refused.
    Ended,
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("at", &self.at())
            .finish_non_exhaustive()
    }
}

impl View {
    pub(crate) fn new(store: Arc<Store>, tracked: bool, footprints: Footprints) -> Self {
        let reading = store.active.read();
        let sampled = footprints.sampled();
        let tracking = if tracked {
            Tracking::On(Reads::default())
        } else {
            Tracking::Off
        };
        Self {
            store,
            reading,
            sampled,
            state: Mutex::new(State {
                tracking,
                footprints,
            }),
        }
    }

    /// The snapshot's timestamp.
    #[inline]
    pub fn at(&self) -> Timestamp {
        self.reading.at()
    }

    /// Whether accesses are timed.
    pub(crate) fn sampled(&self) -> bool {
        self.sampled
    }

    /// The partitions read so far.
    pub fn partitions(&self) -> Vec<PartitionId> {
        self.state.lock().footprints.partitions()
    }

    /// Begins to count anew the partitions that are read, whoever reads.
    pub(crate) fn count_anew(&self) {
        self.state.lock().footprints.begin_round();
    }

    /// Counts the partitions that are read.
    pub(crate) fn touches(self: &Arc<Self>) -> Touches {
        Touches(Arc::clone(self))
    }

    #[inline]
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The row under `key`, if there was one at the snapshot.
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Bytes>> {
        match self.found(table, key) {
            Some(None) => Ok(None),
            Some(Some(version)) if version.at <= self.at() => Ok(version.row),
            _ => self.get_anew(table, key),
        }
    }

    /// The newest version that a read of `key` found before, if there was one.
    fn found(&self, table: TableId, key: &[u8]) -> Option<Found> {
        match &self.state.lock().tracking {
            Tracking::On(reads) => reads.found(table, key).cloned(),
            Tracking::Off | Tracking::Ended => None,
        }
    }

    fn get_anew(&self, table: TableId, key: &[u8]) -> Result<Option<Bytes>> {
        let started = self.start_clock();
        let (partition, slot) = self.locate(table, key)?;
        let newest = self.store.newest_version(&slot, table, key)?;
        let row = match &newest {
            Some(version) if version.at <= self.at() => version.row.clone(),
            Some(_) => self.older(table, key)?,
            None => None,
        };
        let touch = Touch {
            kind: AccessKind::Read,
            key,
            upper: None,
            rows: 1,
            told: 0,
            bytes: row.as_ref().map_or(0, |row| bytes_of(key, row)),
            took: self.elapsed(started),
        };
        let mut state = self.state.lock();
        state.footprints.add(&partition, &touch);
        match &mut state.tracking {
            Tracking::Off => {}
            Tracking::On(reads) => {
                reads.engine(slot.id, slot.life);
                reads.point(table, key, newest);
            }
            Tracking::Ended => return Err(Error::Ended),
        }
        Ok(row)
    }

    /// Tracks a read that found nothing, without reading.
    pub(crate) fn assume_absent(&self, table: TableId, key: &[u8]) -> Result<()> {
        match &mut self.state.lock().tracking {
            Tracking::Off => {}
            Tracking::On(reads) => reads.point(table, key, None),
            Tracking::Ended => return Err(Error::Ended),
        }
        Ok(())
    }

    /// Reads a row that is about to be changed. If it was changed after the snapshot, the snapshot
    /// moves forward to see that; an error if something else that was read changed too.
    pub(crate) fn catch_up(this: &mut Arc<Self>, table: TableId, key: &[u8]) -> Result<()> {
        if let Some(found) = this.found(table, key) {
            return this.check_current(table, key, &found);
        }
        this.get_anew(table, key)?;
        let newest = this.found(table, key).flatten();
        if newest.is_none_or(|version| version.at <= this.at()) {
            return Ok(());
        }
        // Who still reads at the snapshot keeps it there, and the commit will be refused.
        match Arc::get_mut(this) {
            Some(view) => view.move_forward(Some((table, key))),
            None => Ok(()),
        }
    }

    /// Moves the snapshot forward to see all that is committed; an error if something that was read
    /// changed.
    pub(crate) fn renew(this: &mut Arc<Self>) -> Result<()> {
        if this.store.active.watermark() <= this.at() {
            return Ok(());
        }
        match Arc::get_mut(this) {
            Some(view) => view.move_forward(None),
            None => Ok(()),
        }
    }

    /// Moves the snapshot to what is committed now, forgetting that a row was read. If ranges or very
    /// many rows were read, only the commit lock can tell whether they changed; if they did, the
    /// snapshot stays, and the commit will be refused.
    fn move_forward(&mut self, forgotten: Option<(TableId, &[u8])>) -> Result<()> {
        // First the new snapshot, then the look at what was read: what is found unchanged then is
        // what the new snapshot sees.
        let later = self.store.active.read();
        let state = self.state.get_mut();
        let Tracking::On(reads) = &mut state.tracking else {
            return Err(Error::Ended);
        };
        if let Some((table, key)) = forgotten {
            reads.forget(table, key);
        }
        // What is retired is forgotten when no snapshot is left that may have read it.
        self.store.epochs.check_reads(reads)?;
        if !reads.is_renewable() {
            return self.move_under_lock();
        }
        let points: Vec<_> = reads.points().collect();
        for (table, key, found) in points {
            self.check_current(table, &key, &found)?;
        }
        self.reading = later;
        Ok(())
    }

    /// Moves the snapshot while nobody commits, if nothing that was read changed.
    fn move_under_lock(&mut self) -> Result<()> {
        let sequencer = self.store.sequencer.lock();
        let state = self.state.get_mut();
        let Tracking::On(reads) = &state.tracking else {
            return Err(Error::Ended);
        };
        if reads.check(&sequencer.recent, self.reading.at()).is_ok() {
            self.reading = self.store.active.read();
        }
        Ok(())
    }

    /// An error if a row is no longer what a read of it answered with.
    fn check_current(&self, table: TableId, key: &[u8], found: &Found) -> Result<()> {
        let (_, slot) = self.locate(table, key)?;
        let seen = found.as_ref().is_none_or(|found| found.at <= self.at());
        if seen && slot.pages.fresh.changed(table, key) <= self.at() {
            return Ok(());
        }
        // An engine that is down may lack what a commit across engines has decided.
        slot.check_writable()?;
        let newest = self.store.newest_version(&slot, table, key)?;
        let current = match (found, &newest) {
            // A read that found something newer than the snapshot answered with what was before.
            (Some(found), Some(newest)) => found.at == newest.at && found.at <= self.at(),
            // A tombstone may have been collected since.
            (Some(found), None) => found.row.is_none(),
            (None, newest) => newest.is_none(),
        };
        match current {
            true => Ok(()),
            false => Err(Error::Conflict {
                table,
                key: Bytes::copy_from_slice(key),
                changed: newest.map_or(self.store.active.watermark(), |newest| newest.at),
                snapshot: self.at(),
            }),
        }
    }

    /// Reads at this snapshot, from any thread.
    pub fn reader(self: &Arc<Self>) -> Reader {
        Reader::new(Arc::clone(self), None)
    }

    /// The rows of a range in key order, or in reverse.
    pub fn scan(
        self: &Arc<Self>,
        table: TableId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Scan> {
        Scan::open(Arc::clone(self), table, range, direction, Vec::new())
    }

    /// The partition that holds `key` and the engine that holds the partition, ready to be read.
    fn locate(&self, table: TableId, key: &[u8]) -> Result<(Arc<Partition>, Arc<Slot>)> {
        for _ in 0..ROUTE_ATTEMPTS_MAX {
            let map = self.store.map(table)?;
            let partition = map.route(key);
            // A split or merge may have taken the engine away between the two look-ups.
            let Ok(slot) = self.store.engines.get(partition.descriptor.engine) else {
                continue;
            };
            if let Some(txn) = slot.orphan(table, key) {
                self.store.resolve(txn)?;
                continue;
            }
            slot.check_readable(self.at())?;
            return Ok((Arc::clone(partition), slot));
        }
        Err(unsettled())
    }

    /// The partitions of a range with their engines, in key order, ready to be read.
    pub(crate) fn locate_range(
        &self,
        table: TableId,
        range: &KeyRange,
    ) -> Result<Vec<(Arc<Partition>, Arc<Slot>)>> {
        for _ in 0..ROUTE_ATTEMPTS_MAX {
            let map = self.store.map(table)?;
            let mut found = Vec::new();
            for partition in map.overlapping(range) {
                let Ok(slot) = self.store.engines.get(partition.descriptor.engine) else {
                    break;
                };
                if let Some(txn) = slot.orphan_in(table, range) {
                    self.store.resolve(txn)?;
                    break;
                }
                slot.check_readable(self.at())?;
                found.push((Arc::clone(partition), slot));
            }
            if found.len() == map.overlapping(range).len() {
                return Ok(found);
            }
        }
        Err(unsettled())
    }

    /// The row as of the snapshot, when the newest version is newer than that.
    ///
    /// What spilled lies in the engine that holds the key now, which is another one than a scan began
    /// with if the partition was split or merged meanwhile.
    pub(crate) fn older(&self, table: TableId, key: &[u8]) -> Result<Option<Bytes>> {
        if let Some(row) = self.store.history.find(table, key, self.at()) {
            return Ok(Some(row));
        }
        let (_, slot) = self.locate(table, key)?;
        if slot.spilled.count() == 0 {
            return Ok(None);
        }
        // Of the versions at or before the snapshot, the newest comes first.
        let lower = Replaced::place(table, key, self.at());
        let upper = Replaced::place(table, key, Timestamp(0));
        let range = KeyRange {
            upper: KeyRange::point(&upper).upper,
            lower,
        };
        let snapshot = slot.snapshot()?;
        for pair in snapshot.scan(HISTORY_SPACE, &range, Direction::Ascending)? {
            let (place, value) = pair?;
            let damaged = || Error::Damaged {
                what: "replaced version",
                table,
                key: Bytes::copy_from_slice(key),
                detail: "it does not decode".to_owned(),
            };
            let (_, of, replaced) = Replaced::decode(&place, &value).ok_or_else(damaged)?;
            // Keys that begin with this key may lie between its versions.
            if of == key {
                return Ok((self.at() < replaced.until).then_some(replaced.row));
            }
        }
        Ok(None)
    }

    /// Remembers that a range will be read, before any of it is.
    pub(crate) fn track_range(
        &self,
        table: TableId,
        range: &KeyRange,
        slots: &[(Arc<Partition>, Arc<Slot>)],
    ) -> Result<Option<RangeTicket>> {
        match &mut self.state.lock().tracking {
            Tracking::Off => Ok(None),
            Tracking::Ended => Err(Error::Ended),
            Tracking::On(reads) => {
                for (_, slot) in slots {
                    reads.engine(slot.id, slot.life);
                }
                Ok(Some(reads.range(table, range.clone())))
            }
        }
    }

    pub(crate) fn narrow_range(&self, ticket: RangeTicket, seen: KeyRange) {
        if let Tracking::On(reads) = &mut self.state.lock().tracking {
            reads.narrow(ticket, seen);
        }
    }

    pub(crate) fn touch(&self, partition: &Arc<Partition>, touch: &Touch<'_>) {
        self.state.lock().footprints.add(partition, touch);
    }

    pub(crate) fn tell(&self, partition: &Arc<Partition>, rows: u64) {
        self.state.lock().footprints.tell(partition, rows);
    }

    /// Ends tracking and hands over what was read. Later reads through this view are refused.
    pub(crate) fn end(&self) -> Reads {
        match std::mem::replace(&mut self.state.lock().tracking, Tracking::Ended) {
            Tracking::On(reads) => reads,
            Tracking::Off | Tracking::Ended => Reads::default(),
        }
    }

    /// The time now, if this transaction is one whose accesses are timed.
    pub(crate) fn start_clock(&self) -> Option<Duration> {
        self.sampled.then(|| self.store.clock.monotonic())
    }

    /// How long a scan over so many rows took.
    pub(crate) fn scanned(&self, started: Option<Duration>, rows: u64) -> Duration {
        if started.is_some() {
            self.store.clock.passed_rows(rows);
        }
        self.elapsed(started)
    }

    pub(crate) fn elapsed(&self, started: Option<Duration>) -> Duration {
        started.map_or(Duration::ZERO, |then| {
            self.store.clock.monotonic().saturating_sub(then)
        })
    }
}

/// Counts the partitions that a statement touches. As long as it is there, the snapshot stays where it
/// is.
#[derive(Debug)]
pub struct Touches(Arc<View>);

impl Touches {
    /// How many they are so far. A scan counts once it is past a partition, or dropped, or tells; what is
    /// only written counts at the commit.
    pub fn count(&self) -> usize {
        self.0.state.lock().footprints.count()
    }

    /// How many rows were gone over so far, whether they were answered with or not.
    pub fn rows(&self) -> u64 {
        self.0.state.lock().footprints.rows()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let now_us = self.store.clock.now_us();
        let random = self.store.random.as_ref();
        self.state
            .get_mut()
            .footprints
            .report(self.reading.at().0, now_us, random);
    }
}

impl Store {
    /// The newest version of a row, whatever the snapshot.
    pub(crate) fn newest_version(&self, slot: &Slot, table: TableId, key: &[u8]) -> Result<Found> {
        if let Some(version) = slot.pages.fresh.get(table, key) {
            return Ok(Some(version));
        }
        let version = match slot.pages.get(table, key) {
            Some(version) => version,
            None => {
                let bytes = slot.get(table_space(table), key)?;
                let version = bytes.map(|bytes| Version::decode(table, key, bytes));
                version.transpose()?
            }
        };
        Ok(version.map(|version| Version {
            at: self.stamps.commit_of(version.at),
            ..version
        }))
    }
}

/// What a row counts for in bytes.
#[inline]
pub(crate) fn bytes_of(key: &[u8], row: &[u8]) -> u64 {
    u64::try_from(key.len() + row.len()).unwrap_or(u64::MAX)
}

fn unsettled() -> Error {
    Error::Busy {
        what: "the read",
        cause: "its partition keeps moving".to_owned(),
    }
}
