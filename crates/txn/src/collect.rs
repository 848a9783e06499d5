//! Collecting what no snapshot can see any more: tombstones, and replaced versions that spilled.
//!
//! A deleted row leaves a tombstone under its key until the horizon has passed it. Where tombstones
//! lie is remembered in memory, in the *graveyard*, up to a bound. What does not fit, and what a
//! restart forgets, is found again by sweeping: every partition counts its tombstones durably, so it
//! is known which key ranges are worth a look.

use std::collections::VecDeque;
use std::sync::Arc;

use partitions::spaces::{HISTORY_SPACE, table_space};
use partitions::{Partition, TableId};
use storage::{Batch, Bytes, Direction, Durability, EngineId, KeyRange};

use crate::engines::Slot;
use crate::plan::Plan;
use crate::store::Sequencer;
use crate::version::{Replaced, Version};
use crate::view::newest_version;
use crate::{Result, Store, Timestamp};

/// How many tombstones are remembered.
const GRAVES_MAX: usize = 1 << 18;

/// How many keys one call of [`Store::collect`] looks at, so that commits wait only a moment.
const COLLECT_KEYS_MAX: usize = 512;

/// A tombstone to be removed once the horizon reaches `at`.
#[derive(Clone, Debug)]
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
    /// One short round of collection.
    pub fn collect(&self) -> Result<Collected> {
        let horizon = self.active.horizon();
        let versions = self.collect_spilled(horizon)?;
        let mut sequencer = self.sequencer.lock();
        self.history.forget(horizon);
        sequencer.recent.forget(horizon);
        if sequencer.sweep_after.is_some_and(|at| at <= horizon) {
            sequencer.sweep_after = None;
            self.directory.sweep()?;
        }
        self.sweep(&mut sequencer)?;
        let due = sequencer.graveyard.due(horizon);
        let more = due.len() == COLLECT_KEYS_MAX || !sequencer.graveyard.unswept.is_empty();
        let tombstones = self.bury(due)?;
        Ok(Collected {
            tombstones,
            versions,
            more,
        })
    }

    /// Removes tombstones, unless the row was written again meanwhile.
    fn bury(&self, due: Vec<Grave>) -> Result<usize> {
        let mut plans: Vec<(EngineId, Plan)> = Vec::new();
        let mut buried = 0;
        for grave in due {
            let Some((partition, slot)) = self.place(grave.table, &grave.key) else {
                continue;
            };
            let newest = newest_version(&slot, grave.table, &grave.key)?;
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
                plan.bury(&partition, &grave);
                buried += 1;
            }
        }
        for (_, plan) in plans {
            // An engine that fails here is down; sweeping finds its tombstones when it is back.
            let _ = plan.write(Durability::Buffered);
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

    /// Looks for forgotten tombstones in a part of one unswept range.
    fn sweep(&self, sequencer: &mut Sequencer) -> Result<()> {
        let graveyard = &mut sequencer.graveyard;
        if graveyard.graves.len() >= GRAVES_MAX {
            return Ok(());
        }
        let Some((table, range)) = graveyard.unswept.pop_front() else {
            return Ok(());
        };
        let Some((partition, slot)) = self.place(table, &range.lower) else {
            return Ok(());
        };
        let here = partition.descriptor.range.intersect(&range);
        let snapshot = slot.snapshot()?;
        let mut next = here.upper.clone();
        let pairs = snapshot.scan(table_space(table), &here, Direction::Ascending)?;
        for (seen, pair) in pairs.enumerate() {
            let (key, bytes) = pair?;
            if seen == COLLECT_KEYS_MAX {
                next = Some(key);
                break;
            }
            let version = Version::decode(table, &key, &bytes)?;
            if version.row.is_none() {
                graveyard.graves.push_back(Grave {
                    at: version.at,
                    table,
                    key,
                });
            }
        }
        if let Some(lower) = next
            && range.upper.as_ref().is_none_or(|upper| lower < *upper)
        {
            graveyard.unswept.push_front((
                table,
                KeyRange {
                    lower,
                    upper: range.upper,
                },
            ));
        }
        Ok(())
    }

    /// Moves the oldest replaced versions out of memory when there are too many.
    pub(crate) fn spill(&self) {
        let spills = self.history.excess();
        if spills.is_empty() {
            return;
        }
        let mut batches: Vec<(Arc<Slot>, Batch, usize)> = Vec::new();
        for spill in &spills {
            let Some((_, slot)) = self.place(spill.table, &spill.key) else {
                continue;
            };
            let index = batches.iter().position(|(known, ..)| known.id == slot.id);
            let index = index.unwrap_or_else(|| {
                batches.push((slot, Batch::new(), 0));
                batches.len() - 1
            });
            if let Some((_, batch, count)) = batches.get_mut(index) {
                let (place, value) = spill.replaced.encode(spill.table, &spill.key);
                batch.put(HISTORY_SPACE, place, value);
                *count += 1;
            }
        }
        for (slot, batch, count) in batches {
            if let Err(error) = slot.engine.write(batch, Durability::Buffered) {
                slot.fail(self.active.watermark(), &error.to_string());
            }
            slot.spill(count);
        }
        self.history.spilled(spills.len());
    }

    /// Removes spilled versions that the horizon has passed. Needs no lock: what is past the horizon
    /// stays so, and spilling only adds.
    fn collect_spilled(&self, horizon: Timestamp) -> Result<usize> {
        let mut removed = 0;
        for slot in self.engines.all() {
            if slot.spilled() == 0 || slot.is_down() {
                continue;
            }
            let snapshot = slot.snapshot()?;
            let mut batch = Batch::new();
            for pair in snapshot.scan(HISTORY_SPACE, &KeyRange::all(), Direction::Ascending)? {
                let (place, value) = pair?;
                let decoded = Replaced::decode(&place, &value);
                if decoded.is_none_or(|(_, _, replaced)| replaced.until <= horizon) {
                    batch.remove(HISTORY_SPACE, place);
                }
                if batch.len() == COLLECT_KEYS_MAX {
                    removed += self.remove_spilled(&slot, std::mem::take(&mut batch));
                }
            }
            removed += self.remove_spilled(&slot, batch);
        }
        Ok(removed)
    }

    fn remove_spilled(&self, slot: &Slot, batch: Batch) -> usize {
        let count = batch.len();
        match slot.engine.write(batch, Durability::Buffered) {
            Ok(()) => {
                slot.unspill(count);
                count
            }
            Err(error) => {
                slot.fail(self.active.watermark(), &error.to_string());
                0
            }
        }
    }
}
