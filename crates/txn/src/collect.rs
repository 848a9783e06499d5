//! Collecting what no snapshot can see any more: tombstones, and replaced versions that spilled.
//!
//! A deleted row leaves a tombstone under its key until the horizon has passed it. Where tombstones
//! lie is remembered in memory, in the *graveyard*, up to a bound. What does not fit, and what a
//! restart forgets, is found again by sweeping: every partition counts its tombstones durably, so it
//! is known which key ranges are worth a look.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use partitions::spaces::{HISTORY_SPACE, table_space};
use partitions::{Partition, TableId};
use storage::{Batch, Bytes, Direction, Durability, EngineId, KeyRange};

use crate::engines::Slot;
use crate::plan::Plan;
use crate::store::Sequencer;
use crate::version::{Replaced, Version};
use crate::{Result, Store, Timestamp};

/// How many tombstones are remembered.
const GRAVES_MAX: usize = 1 << 18;

/// How many keys one call of [`Store::collect`] looks at, so that commits wait only a moment.
const COLLECT_KEYS_MAX: usize = 512;

/// A tombstone to be removed once the horizon reaches `at`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Grave {
    pub(crate) at: Timestamp,
    pub(crate) table: TableId,
    pub(crate) key: Bytes,
}

/// Where tombstones lie.
#[derive(Debug, Default)]
pub(crate) struct Graveyard {
    graves: VecDeque<Grave>,
    /// Key ranges with tombstones that are not in `graves`.
    unswept: VecDeque<(TableId, KeyRange)>,
}

impl Graveyard {
    pub(crate) fn add(&mut self, graves: Vec<Grave>) {
        for grave in graves {
            if self.graves.len() < GRAVES_MAX {
                self.graves.push_back(grave);
            } else {
                self.sweep_later(
                    grave.table,
                    KeyRange {
                        lower: grave.key,
                        upper: None,
                    },
                );
            }
        }
    }

    /// Notes that a range has tombstones nobody remembers. Ranges of one table are joined.
    pub(crate) fn sweep_later(&mut self, table: TableId, range: KeyRange) {
        match self.unswept.iter_mut().find(|(of, _)| *of == table) {
            None => self.unswept.push_back((table, range)),
            Some((_, known)) => {
                known.lower = known.lower.clone().min(range.lower);
                known.upper = match (known.upper.take(), range.upper) {
                    (Some(one), Some(two)) => Some(one.max(two)),
                    _ => None,
                };
            }
        }
    }

    /// The oldest tombstones that the horizon has passed.
    fn due(&mut self, horizon: Timestamp) -> Vec<Grave> {
        let mut due = Vec::new();
        while due.len() < COLLECT_KEYS_MAX
            && self.graves.front().is_some_and(|grave| grave.at <= horizon)
        {
            due.extend(self.graves.pop_front());
        }
        due
    }

    /// Takes back what was due and could not be removed.
    fn put_back(&mut self, due: Vec<Grave>) {
        for grave in due.into_iter().rev() {
            self.graves.push_front(grave);
        }
    }
}

/// What a round of collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Tombstones removed.
    pub tombstones: usize,
    /// Replaced versions removed from the HISTORY space.
    pub versions: usize,
    /// Whether another round would find more.
    pub more: bool,
}

impl Store {
    /// One short round of collection. Also settles what dead coordinators left behind.
    pub fn collect(&self) -> Result<Collected> {
        let horizon = self.active.horizon();
        let versions = self.collect_spilled(horizon)?;
        let mut sequencer = self.sequencer.lock();
        self.forget_below(horizon);
        sequencer.recent.forget(horizon);
        if sequencer.sweep_after.is_some_and(|at| at <= horizon) {
            sequencer.sweep_after = None;
            sequencer.retired.clear();
            self.directory.sweep()?;
        }
        if !sequencer.unresolved.is_empty() {
            self.settle_all(&mut sequencer)?;
        }
        self.sweep(&mut sequencer)?;
        let due = sequencer.graveyard.due(horizon);
        let more = due.len() == COLLECT_KEYS_MAX || !sequencer.graveyard.unswept.is_empty();
        let tombstones = match self.bury(&due) {
            Ok(tombstones) => tombstones,
            Err(error) => {
                sequencer.graveyard.put_back(due);
                return Err(error);
            }
        };
        Ok(Collected {
            tombstones,
            versions,
            more,
        })
    }

    /// Removes tombstones, unless the row was written again meanwhile.
    fn bury(&self, due: &[Grave]) -> Result<usize> {
        let mut plans: Vec<(EngineId, Plan)> = Vec::new();
        let mut buried = 0;
        // Sweeping also finds those that are remembered, and none may be counted twice.
        for grave in due.iter().collect::<BTreeSet<_>>() {
            let Some((partition, slot)) = self.place(grave.table, &grave.key) else {
                continue;
            };
            let newest = self.newest_version(&slot, grave.table, &grave.key)?;
            if newest
                != Some(Version {
                    at: grave.at,
                    row: None,
                })
            {
                continue;
            }
            let index = plans.iter().position(|(engine, _)| *engine == slot.id);
            let index = index.unwrap_or_else(|| {
                plans.push((slot.id, Plan::new(slot)));
                plans.len() - 1
            });
            if let Some((_, plan)) = plans.get_mut(index) {
                plan.bury(&partition, grave);
                buried += 1;
            }
        }
        for (_, plan) in plans {
            // Sweeping finds the tombstones when the engine is back.
            if let Err(failure) = plan.write(Durability::Buffered) {
                failure.fail_engine();
            }
        }
        Ok(buried)
    }

    /// Where a key lies, unless its table or its engine is gone or failed.
    fn place(&self, table: TableId, key: &[u8]) -> Option<(Arc<Partition>, Arc<Slot>)> {
        let map = self.directory.map(table).ok()?;
        let partition = map.route(key);
        let slot = self.engines.get(partition.descriptor.engine).ok()?;
        (!slot.is_down()).then(|| (Arc::clone(partition), slot))
    }

    /// Looks for forgotten tombstones in a part of one unswept range. What an engine that is down
    /// holds is passed over: the range is unswept again when it is back.
    fn sweep(&self, sequencer: &mut Sequencer) -> Result<()> {
        let graveyard = &mut sequencer.graveyard;
        if graveyard.graves.len() >= GRAVES_MAX {
            return Ok(());
        }
        let Some((table, range)) = graveyard.unswept.front().cloned() else {
            return Ok(());
        };
        let mut next = None;
        if let Ok(map) = self.directory.map(table) {
            let here = map.route(&range.lower).descriptor.range.intersect(&range);
            next = here.upper.clone();
            if let Some((_, slot)) = self.place(table, &range.lower) {
                let found = tombstones(&slot, table, &here)?;
                graveyard.graves.extend(found.graves);
                next = found.rest.or(next);
            }
        }
        graveyard.unswept.pop_front();
        if let Some(lower) = next
            && range.upper.as_ref().is_none_or(|upper| lower < *upper)
        {
            let upper = range.upper;
            let rest = KeyRange { lower, upper };
            graveyard.unswept.push_front((table, rest));
        }
        Ok(())
    }

    /// Moves the oldest replaced versions out of memory when there are too many. Those of an engine
    /// that is down stay.
    pub(crate) fn spill(&self) {
        let spills = self.history.excess();
        if spills.is_empty() {
            return;
        }
        let slots: Vec<_> = spills
            .iter()
            .map(|spill| Some(self.place(spill.table, &spill.key)?.1))
            .collect();
        let mut batches: BTreeMap<EngineId, (Arc<Slot>, Batch)> = BTreeMap::new();
        let mut until = Timestamp::default();
        for (spill, slot) in spills.iter().zip(&slots) {
            let Some(slot) = slot else { continue };
            let batch = batches
                .entry(slot.id)
                .or_insert_with(|| (Arc::clone(slot), Batch::new()));
            let (place, value) = spill.replaced.encode(spill.table, &spill.key);
            batch.1.put(HISTORY_SPACE, place, value);
            until = until.max(spill.replaced.until);
        }
        let mut kept = BTreeSet::new();
        for (slot, batch) in batches.into_values() {
            let count = batch.len();
            match slot.engine.write(batch, Durability::Buffered) {
                Ok(()) => slot.spilled.add(until, count),
                Err(error) => {
                    slot.write_failed(self.active.watermark(), &error);
                    kept.insert(slot.id);
                }
            }
        }
        let written = |slot: &Option<Arc<Slot>>| {
            slot.as_ref()
                .is_some_and(|slot| !slot.is_down() && !kept.contains(&slot.id))
        };
        let written: Vec<_> = slots.iter().map(written).collect();
        self.history.spilled(&written);
    }

    /// Removes spilled versions that the horizon has passed, where a scan is worth it.
    fn collect_spilled(&self, horizon: Timestamp) -> Result<usize> {
        let mut removed = 0;
        for slot in self.engines.all() {
            if !slot.is_down() && slot.spilled.is_worth_a_scan(horizon) {
                removed += self.collect_spilled_in(&slot, horizon)?;
            }
        }
        Ok(removed)
    }

    /// The same in one engine. Commits go on meanwhile: what is past the horizon stays so, and spilling
    /// only adds.
    fn collect_spilled_in(&self, slot: &Slot, horizon: Timestamp) -> Result<usize> {
        let _scan = slot.spilled.scan();
        // Before the snapshot: what spills in between is counted twice until the next scan, and not lost.
        let before = slot.spilled.count();
        let (mut scanned, mut removed) = (0, 0);
        let snapshot = slot.snapshot()?;
        let mut batch = Batch::new();
        for pair in snapshot.scan(HISTORY_SPACE, &KeyRange::all(), Direction::Ascending)? {
            let (place, value) = pair?;
            scanned += 1;
            let decoded = Replaced::decode(&place, &value);
            if decoded.is_none_or(|(_, _, replaced)| replaced.until <= horizon) {
                batch.remove(HISTORY_SPACE, place);
            }
            if batch.len() == COLLECT_KEYS_MAX {
                removed += self.remove_spilled(slot, std::mem::take(&mut batch));
            }
        }
        removed += self.remove_spilled(slot, batch);
        let left = scanned - removed;
        slot.spilled.remove_oldest(before.saturating_sub(left));
        Ok(removed)
    }

    fn remove_spilled(&self, slot: &Slot, mut batch: Batch) -> usize {
        let count = batch.len();
        batch.free_space();
        match slot.engine.write(batch, Durability::Buffered) {
            Ok(()) => count,
            Err(error) => {
                slot.write_failed(self.active.watermark(), &error);
                0
            }
        }
    }
}

/// What a short look at a range found.
struct Found {
    graves: Vec<Grave>,
    /// The first key that was not looked at.
    rest: Option<Bytes>,
}

fn tombstones(slot: &Slot, table: TableId, range: &KeyRange) -> Result<Found> {
    let snapshot = slot.snapshot()?;
    let mut graves = Vec::new();
    let pairs = snapshot.scan(table_space(table), range, Direction::Ascending)?;
    for (seen, pair) in pairs.enumerate() {
        let (key, bytes) = pair.map_err(|error| slot.read_failed(error))?;
        if seen == COLLECT_KEYS_MAX {
            let rest = Some(key);
            return Ok(Found { graves, rest });
        }
        let Version { at, row } = Version::decode(table, &key, bytes)?;
        if row.is_none() {
            graves.push(Grave { at, table, key });
        }
    }
    let rest = None;
    Ok(Found { graves, rest })
}
