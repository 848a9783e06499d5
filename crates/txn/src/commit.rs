//! Committing a group: validate each transaction, give it a timestamp, write them all together.
//!
//! ```text
//!   group      T1    T2    T3    T4    T5           in the order they came
//!   validate   ok    ok   conflict ok   ok          reads against recent commits and this group
//!   stamp      @7    @8     –    @9    @10
//!   run        └─────── one batch, one sync ───┘    for each engine; almost always one
//!   then       history, recent changes, watermark @10, outcomes
//! ```
//!
//! A transaction whose writes fall in one engine joins the run: one atomic batch with the others. One
//! that crosses engines ends the run and goes through the two steps of [`crate::across`]. The
//! sequencer's lock is held throughout, so a split or merge never meets a commit half-way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use partitions::{Map, Partition, TableId};
use storage::{Bytes, Durability, EngineId};

use crate::across::Coordinator;
use crate::effort::Effort;
use crate::engines::Slot;
use crate::epochs::Expected;
use crate::patch::edited;
use crate::plan::{Change, Plan, WriteFailed};
use crate::reads::{Found, Reads};
use crate::store::Sequencer;
use crate::version::Version;
use crate::view::View;
use crate::writes::Edit;
use crate::{Error, Result, Store, Timestamp};

/// How many changed keys a group may have and still hope that nobody needs to know of them.
const UNREMEMBERED_KEYS_MAX: usize = 4096;

/// One row that a transaction wants written.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) table: TableId,
    pub(crate) key: Bytes,
    pub(crate) edit: Edit,
    /// The newest version when the transaction looked, if it did; right unless the key changed since
    /// its snapshot.
    pub(crate) known: Option<Found>,
}

/// A row that has to be there when a transaction commits.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    pub(crate) table: TableId,
    pub(crate) key: Bytes,
    /// The snapshot at which it was there. The transaction's own may be later by now.
    pub(crate) seen: Timestamp,
}

/// A transaction that wants to commit.
#[derive(Debug)]
pub(crate) struct Request {
    /// Keeps the snapshot in use until the reads are validated, also if nobody waits any more.
    pub(crate) view: Arc<View>,
    pub(crate) reads: Reads,
    /// Rows that have to be there, whatever they hold by now.
    pub(crate) present: Vec<Present>,
    pub(crate) writes: Vec<Write>,
    pub(crate) epochs: Expected,
    pub(crate) durability: Durability,
}

/// A change and where it goes.
pub(crate) type Placed = (Arc<Partition>, Change);

/// Where a write goes.
pub(crate) type Place = (Arc<Partition>, Arc<Slot>);

impl Store {
    /// Commits a group, in order. One outcome for each request.
    pub(crate) fn commit_group(&self, requests: Vec<Request>) -> Vec<Result<Timestamp>> {
        let mut sequencer = self.sequencer.lock();
        let mut group = Group::new(self, &mut sequencer, requests.len());
        let timed = requests.first().filter(|first| first.view.sampled());
        group.effort = timed.map(|_| Effort::begin(&self.clock, self.sampled_one_in));
        let own: Vec<_> = requests.iter().map(|request| request.view.at()).collect();
        for request in requests {
            let outcome = group.add(request);
            group.outcomes.push(outcome);
        }
        group.flush();
        let Group {
            applied,
            outcomes,
            effort,
            ..
        } = group;
        if let Some(effort) = effort {
            effort.end();
        }
        self.publish(&mut sequencer, &own, applied);
        // It may have been a very large group, and the next one may be long in coming.
        sequencer.pending.clear();
        outcomes
    }

    /// What a transaction that commits by itself changes in one engine, once it is valid; `None` if
    /// some of it lies in another.
    pub(crate) fn changes_in(
        &self,
        sequencer: &mut Sequencer,
        request: &Request,
        engine: EngineId,
    ) -> Result<Option<Vec<Placed>>> {
        let mut group = Group::new(self, sequencer, 1);
        group.validate(request)?;
        let places = group.locate(&request.writes)?;
        if places.iter().any(|(_, slot)| slot.id != engine) {
            return Ok(None);
        }
        let changes = group.changes(request.view.at(), request.writes.clone(), &places)?;
        let partitions = places.into_iter().map(|(partition, _)| partition);
        Ok(Some(partitions.zip(changes).collect()))
    }

    /// Makes the group visible to new snapshots, and remembers for the older ones what changed.
    ///
    /// If nobody reads at an older snapshot, there is nothing to remember. Somebody may begin to
    /// between the look and the moment the watermark rises; a large group is remembered in any case,
    /// because that moment must be short.
    fn publish(&self, sequencer: &mut Sequencer, own: &[Timestamp], applied: Timestamp) {
        let recent = &mut sequencer.recent;
        let changed = &mut sequencer.pending.changed;
        let large = changed.len() > UNREMEMBERED_KEYS_MAX;
        // Of a write that failed nobody knows whether it is there; snapshots that are yet to come
        // lie below it, and must not commit what they read as if it were not.
        let seen = self.active.watermark().max(applied);
        let failed = changed.iter().any(|(.., at)| *at > seen);
        if large || failed || self.active.oldest(own).is_some() {
            recent.take(changed);
        }
        self.active.advance(applied, own, |oldest| {
            if oldest.is_some() {
                recent.take(changed);
            }
        });
        let horizon = self.active.oldest(own).unwrap_or(applied);
        recent.forget(horizon);
        self.forget_below(self.active.horizon());
        self.spill();
    }

    /// Forgets what only snapshots below the horizon could ask for.
    pub(crate) fn forget_below(&self, horizon: Timestamp) {
        self.history.forget(horizon);
        self.stamps.forget(horizon);
    }
}

fn is_tombstone(found: &Found) -> bool {
    found.as_ref().is_some_and(|version| version.row.is_none())
}

/// A group being committed.
struct Group<'s> {
    store: &'s Store,
    sequencer: &'s mut Sequencer,
    /// How many want to commit. Nobody else in the group can depend on what the only member does.
    size: usize,
    run: Run,
    maps: HashMap<TableId, Arc<Map>>,
    /// The newest timestamp that is wholly applied.
    applied: Timestamp,
    outcomes: Vec<Result<Timestamp>>,
    /// What it costs, if that is measured.
    effort: Option<Effort>,
}

/// Members of a group that are written together.
struct Run {
    plans: BTreeMap<EngineId, Plan>,
    /// Index of the member, the engine it goes to, its timestamp.
    members: Vec<(usize, EngineId, Timestamp)>,
    durability: Durability,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            plans: BTreeMap::new(),
            members: Vec::new(),
            durability: Durability::Buffered,
        }
    }
}

impl<'s> Group<'s> {
    fn new(store: &'s Store, sequencer: &'s mut Sequencer, size: usize) -> Self {
        // What a group wrote that panicked is there, and who read before it must not commit over it.
        let Sequencer {
            recent, pending, ..
        } = &mut *sequencer;
        recent.take(&mut pending.changed);
        pending.clear();
        Self {
            store,
            sequencer,
            size,
            run: Run::default(),
            maps: HashMap::new(),
            applied: Timestamp::default(),
            outcomes: Vec::with_capacity(size),
            effort: None,
        }
    }

    /// Validates a transaction and adds it to the run, or commits it across engines. The outcome of
    /// a member of the run is provisional until the run is written.
    fn add(&mut self, request: Request) -> Result<Timestamp> {
        self.validate(&request)?;
        let places = self.locate(&request.writes)?;
        let mut engines: Vec<_> = places.iter().map(|(_, slot)| slot.id).collect();
        engines.sort_unstable();
        engines.dedup();
        match engines.as_slice() {
            [] => Ok(request.view.at()),
            [engine] => self.join(*engine, request, places),
            _ => self.cross(request, places),
        }
    }

    fn validate(&mut self, request: &Request) -> Result<()> {
        self.store.epochs.check(&request.epochs)?;
        self.store.epochs.check_reads(&request.reads)?;
        for (engine, life) in request.reads.engines() {
            // An engine that is gone was split or merged away, and what was read is elsewhere now,
            // unless it was lost before.
            let retired = || self.sequencer.retired.get(engine).cloned();
            let Some(slot) = self.store.engines.get(*engine).ok().or_else(retired) else {
                continue;
            };
            if slot.life != *life {
                let (reopened, snapshot) = (slot.opened, request.view.at());
                return Err(Error::Reopened {
                    engine: *engine,
                    reopened,
                    snapshot,
                });
            }
        }
        request
            .reads
            .check(&self.sequencer.recent, request.view.at())?;
        request
            .reads
            .check(&self.sequencer.pending.recent, request.view.at())?;
        for present in &request.present {
            self.check_present(present, request.view.at())?;
        }
        Ok(())
    }

    /// An error if a row is not there any more.
    ///
    /// That nothing changed it after the transaction's snapshot proves that it is there only if it was
    /// there at that snapshot. Changes below the snapshot may be forgotten, so a row that was seen before
    /// the snapshot moved is read again.
    fn check_present(&mut self, present: &Present, snapshot: Timestamp) -> Result<()> {
        let Present { table, key, seen } = present;
        let (table, seen) = (*table, *seen);
        let Sequencer {
            recent, pending, ..
        } = &*self.sequencer;
        let changed = recent.changed(table, key, snapshot);
        let changed = changed.or_else(|| pending.recent.changed(table, key, snapshot));
        if changed.is_none() && seen >= snapshot && snapshot >= recent.floor() {
            return Ok(());
        }
        let newest = match pending.newest.get(&(table, key.clone())) {
            Some(version) => Some(version.clone()),
            None => {
                let (_, slot) = self.place(table, key, None)?;
                // An engine that is down may lack what a commit across engines has decided.
                slot.check_writable()?;
                self.store.newest_version(&slot, table, key)?
            }
        };
        match newest.is_some_and(|version| version.row.is_some()) {
            true => Ok(()),
            false => Err(Error::Conflict {
                table,
                key: key.clone(),
                changed: changed.unwrap_or(snapshot),
                snapshot,
            }),
        }
    }

    fn locate(&mut self, writes: &[Write]) -> Result<Vec<Place>> {
        let mut places: Vec<Place> = Vec::with_capacity(writes.len());
        for write in writes {
            let last = places.last().map(|(_, slot)| slot);
            let place = self.place(write.table, &write.key, last)?;
            place.1.check_writable()?;
            places.push(place);
        }
        Ok(places)
    }

    /// Where a row lies, with nothing of a commit left half-way there. `last` is an engine that it may
    /// well lie in.
    fn place(&mut self, table: TableId, key: &[u8], last: Option<&Arc<Slot>>) -> Result<Place> {
        let map = match self.maps.entry(table) {
            hashbrown::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hashbrown::hash_map::Entry::Vacant(entry) => entry.insert(self.store.map(table)?),
        };
        let partition = Arc::clone(map.route(key));
        let slot = match last {
            Some(last) if last.id == partition.descriptor.engine => Arc::clone(last),
            _ => self.store.engines.get(partition.descriptor.engine)?,
        };
        if let Some(owner) = slot.orphan(table, key) {
            self.store.resolve_locked(self.sequencer, owner)?;
        }
        Ok((partition, slot))
    }

    /// The version that each write replaces: what the transaction saw if that is still so, or else
    /// what the run or the engine holds. Patches are applied to it.
    fn changes(
        &self,
        snapshot: Timestamp,
        writes: Vec<Write>,
        places: &[Place],
    ) -> Result<Vec<Change>> {
        let Sequencer {
            recent, pending, ..
        } = &*self.sequencer;
        let mut changes = Vec::with_capacity(writes.len());
        for (write, (_, slot)) in writes.into_iter().zip(places) {
            let Write {
                table,
                key,
                edit,
                known,
            } = write;
            let unchanged = snapshot >= recent.floor()
                && snapshot >= slot.opened
                && recent.changed(table, &key, snapshot).is_none()
                && pending.recent.changed(table, &key, snapshot).is_none();
            let replaced = match known {
                // A tombstone may have been collected since, which changes nothing for readers.
                Some(known) if unchanged && !is_tombstone(&known) => known,
                _ => match pending.newest.get(&(table, key.clone())) {
                    Some(version) => Some(version.clone()),
                    None => self.store.newest_version(slot, table, &key)?,
                },
            };
            let patching = self.store.patching.as_ref();
            let under = || Ok(replaced.as_ref().and_then(|version| version.row.clone()));
            let row = edited(patching, table, &key, edit, under)?;
            changes.push(Change {
                table,
                key,
                row,
                replaced,
            });
        }
        Ok(changes)
    }

    fn join(
        &mut self,
        engine: EngineId,
        request: Request,
        places: Vec<Place>,
    ) -> Result<Timestamp> {
        let durability = request.durability;
        let changes = self.changes(request.view.at(), request.writes, &places)?;
        let at = self.store.timestamps.next();
        if durability == Durability::Synced {
            self.run.durability = Durability::Synced;
        }
        self.run.members.push((self.outcomes.len(), engine, at));
        for (change, (partition, slot)) in changes.into_iter().zip(places) {
            self.remember(&change, at);
            if let Some(effort) = &mut self.effort {
                effort.add(&partition);
            }
            let plan = self
                .run
                .plans
                .entry(engine)
                .or_insert_with(|| Plan::with_capacity(slot, self.size));
            plan.add(&self.store.history, &partition, change, at);
        }
        Ok(at)
    }

    fn remember(&mut self, change: &Change, at: Timestamp) {
        let Change {
            table,
            key,
            row,
            replaced,
        } = change;
        let pending = &mut self.sequencer.pending;
        pending.changed.push((*table, key.clone(), at));
        if self.size > 1 {
            pending.recent.record(*table, key.clone(), at);
            // Where no row was, none that goes leaves a tombstone: what is there stays.
            let idle = row.is_none() && replaced.as_ref().is_none_or(|old| old.row.is_none());
            if !idle {
                let row = row.clone();
                let version = Version { at, row };
                pending.newest.insert((*table, key.clone()), version);
            }
        }
    }

    /// Writes the run: one batch for each engine.
    fn flush(&mut self) {
        let run = std::mem::take(&mut self.run);
        // What is written now is in the engines.
        self.sequencer.pending.newest.clear();
        let mut failed: HashMap<EngineId, WriteFailed> = HashMap::new();
        let before = self.before(run.durability);
        for (engine, plan) in run.plans {
            match plan.write(run.durability) {
                Ok(graves) => self.sequencer.graveyard.add(graves),
                Err(failure) => {
                    failed.insert(engine, failure);
                }
            }
        }
        self.after(before);
        let mut refused = BTreeSet::new();
        for (index, engine, at) in run.members {
            let Some(failure) = failed.get(&engine) else {
                self.applied = self.applied.max(at);
                continue;
            };
            if !failure.is_open() {
                refused.insert(at);
            }
            if let Some(outcome) = self.outcomes.get_mut(index) {
                *outcome = Err(failure.outcome(at));
            }
        }
        if !refused.is_empty() {
            // Nothing of it happened, so none conflicts with it.
            let changed = &mut self.sequencer.pending.changed;
            changed.retain(|(.., at)| !refused.contains(at));
        }
    }

    fn cross(&mut self, request: Request, places: Vec<Place>) -> Result<Timestamp> {
        self.flush();
        let changes = self.changes(request.view.at(), request.writes, &places)?;
        let at = self.store.timestamps.next();
        for (change, (partition, _)) in changes.iter().zip(&places) {
            self.remember(change, at);
            if let Some(effort) = &mut self.effort {
                effort.add(partition);
            }
        }
        let coordinator = Coordinator::new(self.store, places, changes);
        let before = self.before(Durability::Synced);
        let outcome = coordinator.run(self.sequencer);
        self.after(before);
        // Also when the outcome is open: who reads such a row from now on settles it first.
        if let Ok(at) | Err(Error::Unknown { at, .. }) = &outcome {
            self.applied = self.applied.max(*at);
        }
        // Who needs to know more asks the engines, and settles what is open there.
        self.sequencer.pending.newest.clear();
        outcome
    }

    /// The time before a write that waits for the disk, if that is measured.
    fn before(&self, durability: Durability) -> Option<Duration> {
        self.effort.as_ref()?.before(durability)
    }

    fn after(&mut self, before: Option<Duration>) {
        if let (Some(effort), Some(before)) = (&mut self.effort, before) {
            effort.after(before);
        }
    }
}
