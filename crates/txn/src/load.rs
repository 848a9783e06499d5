//! Loading many new rows at once: past the journal, sorted, as files of their own.
//!
//! ```text
//!   rows ─► sort ─► look: is none there yet? ─► lay them down as files, stamped @5     no lock held
//!                                                              │
//!   commits go on meanwhile   @6  @7  @8                       ▼
//!   commit lock               ├─ changed since the look? ─ counters, inexact ─ the files appear ─
//!                             │  counters, exact ─ snapshots from @9 on see the rows ┤
//! ```
//!
//! A load is an INSERT of all its rows in a transaction of its own. It is there as a whole or not at
//! all, it is durable when it returns, and a row that is there already, or comes twice, is an error
//! that names it.
//!
//! **What keeps others right.** The rows carry a stamp from before the commit had its timestamp, and
//! [`stamps`] says what it means, so no snapshot below the commit sees them. The range of their keys
//! counts as changed at the commit ([`crate::recent`]), so whoever read it as empty conflicts. Under
//! the commit lock happens only what cannot happen before: the keys that others changed since the
//! look are looked at again, and the engine takes the files in, which syncs its journal and flushes
//! the table's memtable.
//!
//! **What a crash leaves.** The engine takes all files in or none. The counters lie in another space,
//! so they are marked inexact before and set right after; a crash in between makes the next opening
//! count the partitions again. That record also carries the commit's timestamp, so that no later one
//! is below it.
//!
//! **When it is part of a transaction.** A transaction that has such rows in bulk and has written
//! little else commits so too: what else it wrote is announced before the rows appear and written
//! after ([`pending`]), and what it read is checked under the same lock.
//!
//! **When it is an ordinary transaction.** Few rows are written faster by the journal, and rows of
//! several engines need the two steps of [`crate::across`]. Such a load has the limits of any
//! transaction.

mod look;
mod pending;
mod rows;
mod stamps;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::MutexGuard;
use partitions::spaces::{META_SPACE, table_space};
use partitions::{AccessKind, Delta, Map, Partition, TableId};
use storage::{Bytes, Durability, KeyRange, Pair, blocking};

use crate::commit::Request;
use crate::engines::Slot;
use crate::epochs::Expected;
use crate::footprint::Touch;
use crate::pages::Touched;
use crate::plan::{Plan, signed};
use crate::store::Sequencer;
use crate::turns::Turn;
use crate::view::bytes_of;
use crate::writes::check_key;
use crate::{Committed, Error, Pile, Result, Store, Timestamp};

use look::Looked;
use pending::Pending;
pub(crate) use rows::Rows;
pub(crate) use stamps::Stamps;

/// How many rows one load may have.
pub const LOAD_ROWS_MAX: usize = 1 << 28;

/// How many bytes of keys and rows one load may have: they are in memory all at once.
pub const LOAD_BYTES_MAX: usize = 8 << 30;

/// With fewer rows than this the journal is faster than files of their own.
pub(crate) const INGEST_ROWS_MIN: usize = 10_000;

/// How often a load begins anew when partitions move or others load the same keys.
const ATTEMPTS_MAX: usize = 4;

/// How many keys of a load stand for all of them in the heat of a partition.
const HEAT_KEYS: usize = 16;

/// Rows in the order of their keys, on their way into one engine.
struct Load {
    table: TableId,
    expected: Expected,
    rows: Arc<Rows>,
    /// From the first key to the last.
    range: KeyRange,
    slot: Arc<Slot>,
    map: Arc<Map>,
    /// The rest of the transaction that it is part of.
    beside: Option<Request>,
}

/// What a load brings to one partition.
#[derive(Clone)]
struct Part {
    partition: Arc<Partition>,
    /// Which of the rows.
    rows: Range<usize>,
    delta: Delta,
}

/// A load whose turn it is: the rows may appear.
struct Landing<'s> {
    store: &'s Store,
    load: &'s Load,
    sequencer: Turn<'s, Sequencer>,
    parts: Vec<Part>,
    /// What is written when the rows are there: their counters, and what else the transaction does.
    plan: Plan,
    changed: Vec<(TableId, Bytes, Timestamp)>,
    at: Timestamp,
    /// Loads come down one at a time; commits do not mind.
    _alone: MutexGuard<'s, ()>,
}

impl Store {
    /// Loads new rows into a table, in any order, as one transaction: all of them durably, or none
    /// and an error that names a row that exists already or comes twice. Commits and reads go on
    /// meanwhile. The calling thread does all the work.
    pub fn load(
        self: &Arc<Self>,
        table: TableId,
        rows: impl IntoIterator<Item = Pair>,
    ) -> Result<Committed> {
        blocking(|| self.load_expecting(table, None, rows.into_iter().collect()))
    }

    /// The same, unless the table has left this epoch when the rows are to appear.
    pub fn load_in_epoch(
        self: &Arc<Self>,
        table: TableId,
        epoch: u64,
        rows: Pile,
    ) -> Result<Committed> {
        blocking(|| self.load_expecting(table, Some(epoch), rows))
    }

    fn load_expecting(
        self: &Arc<Self>,
        table: TableId,
        epoch: Option<u64>,
        rows: Pile,
    ) -> Result<Committed> {
        let mut expected = Expected::default();
        if let Some(epoch) = epoch {
            expected.add(table, epoch);
        }
        check_limits(&rows)?;
        let rows = Arc::new(Rows::new(rows));
        if let Some(key) = rows.twice().map(Bytes::copy_from_slice) {
            return Err(Error::RowTwice { table, key });
        }
        for _ in 0..ATTEMPTS_MAX {
            let map = self.directory.map(table)?;
            let Some((slot, range)) = self.one_engine(&map, &rows)? else {
                return self.insert_all(table, epoch, &rows);
            };
            let load = Load {
                table,
                expected: expected.clone(),
                rows: Arc::clone(&rows),
                range,
                slot,
                map,
                beside: None,
            };
            if let Some(committed) = self.ingest(&load)? {
                return Ok(committed);
            }
        }
        Err(busy("its partitions keep moving"))
    }

    /// The engine that holds all of the rows and the range they span, if there is one such engine and
    /// there are enough rows.
    fn one_engine(&self, map: &Map, rows: &Rows) -> Result<Option<(Arc<Slot>, KeyRange)>> {
        let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
            return Ok(None);
        };
        let range = KeyRange {
            lower: Bytes::copy_from_slice(first),
            upper: KeyRange::point(last).upper,
        };
        let engine = map.route(first).descriptor.engine;
        let mut partitions = map.overlapping(&range).iter();
        if rows.len() < self.ingest_rows_min
            || partitions.any(|one| one.descriptor.engine != engine)
        {
            return Ok(None);
        }
        Ok(Some((self.engines.get(engine)?, range)))
    }

    /// Whether rows can be loaded; an error if one of them is there already.
    pub(crate) fn look_ahead(&self, table: TableId, rows: &Arc<Rows>) -> Result<bool> {
        let map = self.directory.map(table)?;
        let Some((slot, range)) = self.one_engine(&map, rows)? else {
            return Ok(false);
        };
        let load = Load {
            table,
            expected: Expected::default(),
            rows: Arc::clone(rows),
            range,
            slot,
            map,
            beside: None,
        };
        self.look(&load).map(|_| true)
    }

    /// Loads the rows that a transaction has in bulk and commits the rest of it, all in one.
    pub(crate) fn load_beside(
        &self,
        table: TableId,
        rows: Arc<Rows>,
        request: Request,
    ) -> Result<Committed> {
        let expected = request.epochs.clone();
        let mut beside = Some(request);
        for _ in 0..ATTEMPTS_MAX {
            let map = self.directory.map(table)?;
            let Some((slot, range)) = self.one_engine(&map, &rows)? else {
                break;
            };
            let mut load = Load {
                table,
                expected: expected.clone(),
                rows: Arc::clone(&rows),
                range,
                slot,
                map,
                beside: beside.take(),
            };
            if let Some(committed) = self.ingest(&load)? {
                return Ok(committed);
            }
            beside = load.beside.take();
        }
        Err(busy("its partitions keep moving"))
    }

    /// The load as an ordinary transaction.
    fn insert_all(
        self: &Arc<Self>,
        table: TableId,
        epoch: Option<u64>,
        rows: &Rows,
    ) -> Result<Committed> {
        let mut again = 1..ATTEMPTS_MAX;
        loop {
            let mut txn = self.begin();
            if let Some(epoch) = epoch {
                txn.expect_epoch(table, epoch);
            }
            for (key, row) in rows.iter(0..rows.len()) {
                let key = Bytes::copy_from_slice(key);
                if txn.get(table, &key)?.is_some() {
                    return Err(Error::RowExists { table, key });
                }
                txn.put(table, key, Bytes::copy_from_slice(row))?;
            }
            match txn.commit(Durability::Synced) {
                Err(Error::Conflict { .. } | Error::TooOld { .. }) if again.next().is_some() => {}
                outcome => return outcome,
            }
        }
    }

    /// The load as files of its own; `None` if the partitions moved meanwhile.
    fn ingest(&self, load: &Load) -> Result<Option<Committed>> {
        load.slot.check_writable()?;
        let mut looked = Some(self.look(load)?);
        let parts = load.parts(&load.map);
        let stamp = self.timestamps.next();
        let mut rows = load.rows.versions(stamp);
        let mut landing = None;
        let space = table_space(load.table);
        let appeared = load.slot.engine.ingest_when(space, &mut rows, &mut || {
            let looked = looked.take().expect("an engine asks once");
            landing = Some(self.land(load, looked, &parts, stamp));
            matches!(landing, Some(Ok(Some(_))))
        });
        load.slot
            .pages
            .changed(&Touched::range(load.table, load.range.clone()));
        match (landing, appeared) {
            (Some(Ok(Some(landing))), Ok(_)) => landing.publish().map(Some),
            (Some(Ok(Some(landing))), Err(error)) => Err(landing.fail(&error)),
            (Some(Ok(None)), _) => Ok(None),
            (Some(Err(error)), _) => Err(error),
            (None, Ok(_)) => unreachable!("an engine asks before rows appear"),
            // Nothing was to be seen yet: the engine goes on unless it says otherwise.
            (None, Err(storage::Error::Poisoned { cause })) => {
                load.slot.fail(self.active.watermark(), &cause);
                let engine = load.slot.id;
                Err(Error::EngineDown { engine, cause })
            }
            (None, Err(error)) => Err(error.into()),
        }
    }

    /// Takes the commit lock and gets everything ready for the rows to appear; `None` if the
    /// partitions moved.
    fn land<'s>(
        &'s self,
        load: &'s Load,
        looked: Looked,
        parts: &[Part],
        stamp: Timestamp,
    ) -> Result<Option<Landing<'s>>> {
        let alone = self.landing.lock();
        let Some((mut sequencer, tombstones)) = self.look_again(load, looked)? else {
            return Ok(None);
        };
        self.epochs.check(&load.expected)?;
        let beside = match &load.beside {
            Some(request) => self.changes_in(&mut sequencer, request, load.slot.id)?,
            None => Some(Vec::new()),
        };
        let Some(beside) = beside else {
            return Ok(None);
        };
        let map = self.directory.map(load.table)?;
        let mut parts = if Arc::ptr_eq(&map, &load.map) {
            parts.to_vec()
        } else {
            load.parts(&map)
        };
        let at = self.timestamps.next();
        let mut plan = Plan::new(Arc::clone(&load.slot));
        for part in &mut parts {
            part.delta.commit = at.0;
            part.bury(&tombstones);
            plan.count(&part.partition, &part.delta);
        }
        let mut changed = Vec::with_capacity(beside.len());
        for (partition, change) in beside {
            changed.push((change.table, change.key.clone(), at));
            plan.add(&self.history, &partition, change, at);
        }
        let mut landing = Landing {
            store: self,
            load,
            sequencer,
            parts,
            plan,
            changed,
            at,
            _alone: alone,
        };
        landing.announce(stamp)?;
        self.stamps.add(stamp, at);
        Ok(Some(landing))
    }
}

impl Load {
    /// The rows by partition.
    fn parts(&self, map: &Map) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut begin = 0;
        for partition in map.overlapping(&self.range) {
            let end = match &partition.descriptor.range.upper {
                Some(upper) => self.rows.count_below(upper, begin..self.rows.len()),
                None => self.rows.len(),
            };
            let rows = begin..end;
            begin = end;
            if !rows.is_empty() {
                let delta = Delta {
                    rows: i64::try_from(rows.len()).unwrap_or(i64::MAX),
                    bytes: signed(self.rows.bytes(rows.clone())),
                    ..Delta::default()
                };
                parts.push(Part {
                    partition: Arc::clone(partition),
                    rows,
                    delta,
                });
            }
        }
        parts
    }
}

impl Part {
    /// Counts the tombstones that rows of the load replace: their keys are counted already.
    fn bury(&mut self, tombstones: &[Bytes]) {
        let range = &self.partition.descriptor.range;
        for key in tombstones.iter().filter(|key| range.contains(key)) {
            self.delta.tombstones -= 1;
            self.delta.bytes -= signed(bytes_of(key, &[]));
        }
    }
}

impl Landing<'_> {
    /// Puts down that the counters will have to be counted, unless what follows is written, and what
    /// else the transaction does, so that a crash cannot separate it from the rows.
    fn announce(&mut self, stamp: Timestamp) -> Result<()> {
        let mut batch = self.plan.estimates();
        if let Some((first, _)) = self.load.rows.first()
            && !self.plan.batch.is_empty()
        {
            let pending = Pending {
                table: self.load.table,
                first: Bytes::copy_from_slice(first),
                operations: self.plan.batch.operations().to_vec(),
            };
            batch.put(META_SPACE, Pending::key(stamp), pending.encode());
            self.plan.batch.remove(META_SPACE, Pending::key(stamp));
        }
        let slot = &self.load.slot;
        let written = slot.engine.write(batch, Durability::Buffered);
        written.map_err(|error| {
            slot.write_failed(self.at, &error);
            Error::from(error)
        })
    }

    /// The rows are there: writes the rest, and lets snapshots see all of it. Nothing needs to be
    /// synced: the rows are, and from what was announced the rest can be made again.
    fn publish(mut self) -> Result<Committed> {
        let alone = self.plan.batch.is_empty();
        let plan = std::mem::replace(&mut self.plan, Plan::new(Arc::clone(&self.load.slot)));
        match plan.write(Durability::Buffered) {
            Ok(graves) => self.sequencer.graveyard.add(graves),
            // The partitions are counted when the engine is back.
            Err(failure) if alone => failure.fail_engine(),
            Err(failure) => return Err(self.fail_with(failure.cause())),
        }
        self.record();
        let Self {
            store,
            load,
            mut sequencer,
            parts,
            at,
            ..
        } = self;
        store.active.advance(at, &[], |_| ());
        let horizon = store.active.horizon();
        sequencer.recent.forget(horizon);
        store.forget_below(horizon);
        store.spill();
        drop(sequencer);
        if let Some(request) = &load.beside {
            for part in &parts {
                warm(load, part, |touch| {
                    request.view.touch(&part.partition, touch)
                });
            }
            let partitions = request.view.partitions();
            return Ok(Committed { at, partitions });
        }
        let mut footprints = store.footprints();
        for part in &parts {
            warm(load, part, |touch| footprints.add(&part.partition, touch));
        }
        let partitions = footprints.partitions();
        footprints.report(at.0, store.clock.now_us(), store.random.as_ref());
        Ok(Committed { at, partitions })
    }

    /// Nobody knows whether the rows are there.
    fn fail(self, error: &storage::Error) -> Error {
        self.fail_with(error.to_string())
    }

    fn fail_with(mut self, cause: String) -> Error {
        self.load.slot.fail(self.at, &cause);
        self.record();
        Error::Unknown { at: self.at, cause }
    }

    /// Remembers for older snapshots what changed.
    fn record(&mut self) {
        let Load {
            table, range, slot, ..
        } = self.load;
        slot.pages.fresh.all_changed(self.at);
        let recent = &mut self.sequencer.recent;
        recent.record_load(*table, range.clone(), self.at);
        recent.take(&mut self.changed);
    }
}

/// Tells what a load did to a partition. A few keys, evenly spread, stand for all of them.
fn warm(load: &Load, part: &Part, mut tell: impl FnMut(&Touch<'_>)) {
    let step = part.rows.len().div_ceil(HEAT_KEYS).max(1);
    for begin in part.rows.clone().step_by(step) {
        let rows = begin..part.rows.end.min(begin + step);
        let first = load.rows.get(begin);
        let touch = Touch {
            kind: AccessKind::Write,
            key: first.map_or(&[], |(key, _)| key),
            upper: None,
            rows: u64::try_from(rows.len()).unwrap_or(u64::MAX),
            told: 0,
            bytes: load.rows.bytes(rows),
            took: Duration::ZERO,
        };
        tell(&touch);
    }
}

fn check_limits(rows: &Pile) -> Result<()> {
    let check = |what, limit, size| match size > limit {
        true => Err(Error::LoadTooLarge { what, limit, size }),
        false => Ok(()),
    };
    check("rows", LOAD_ROWS_MAX, rows.len())?;
    check("bytes", LOAD_BYTES_MAX, rows.bytes())?;
    rows.iter().try_for_each(|(key, _)| check_key(key))
}

fn busy(cause: &str) -> Error {
    Error::Busy {
        what: "the load",
        cause: cause.to_owned(),
    }
}
