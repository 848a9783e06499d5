//! A commit across engines: the two steps, and what happens when they are cut short.
//!
//! ```text
//!              primary engine P             engine Q                  if it stops after this line
//!   ─────────  ───────────────────────────  ───────────────────────   ──────────────────────────────
//!   1 prepare  intents, synced                                        no record: rolled back
//!                                           intents, synced           no record: rolled back
//!   2 decide   commit record + rows,                                  committed: Q's intents are
//!              intents gone, synced                                   rolled forward
//!   3 apply                                 rows, intents gone        committed
//!   4 forget   record gone                                            committed
//! ```
//!
//! The commit record in the primary is the decision: one atomic batch on one engine. Readers and
//! openers that meet an intent whose coordinator is gone ask the primary. A record tells them the
//! fate; none means that it was not decided, and they put down a rollback record before they undo
//! anything. A coordinator that was only slow finds that record when it comes to decide, and stops.
//! The record stays until no engine can hold an intent of the transaction any more.
//!
//! Nobody else sees an intent while its coordinator lives: the commit's timestamp is above every
//! snapshot that exists, so readers may ignore it. An intent becomes an *orphan* when its
//! coordinator stops, and from then on whoever touches that key settles it first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use partitions::Partition;
use partitions::spaces::{INTENT_SPACE, META_SPACE, prefixed_key};
use storage::{Batch, Durability, EngineId};

use crate::commit::Place;
use crate::engines::Slot;
use crate::intent::{Fate, Intent, Owner, TxnId};
use crate::plan::{Change, Plan};
use crate::store::Sequencer;
use crate::{Error, Result, Store, Timestamp};

/// How many rollback records are kept for coordinators that may still come.
const ROLLBACKS_KEPT_MAX: usize = 1024;

/// A moment in a commit across engines at which the coordinator may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The intents of one more engine are durable.
    Prepared,
    /// The decision is durable.
    Decided,
    /// The rows of one more engine are durable.
    Applied,
}

/// Asked at every [`Step`]; answering false kills the coordinator there. For simulations.
pub trait Fatality: Send + Sync + std::fmt::Debug {
    /// Whether the coordinator survives this step.
    fn survives(&self, step: Step) -> bool;
}

/// A coordinator that never dies by itself.
#[derive(Debug)]
pub struct Immortal;

impl Fatality for Immortal {
    fn survives(&self, _: Step) -> bool {
        true
    }
}

/// A transaction that some engine may still hold intents of.
#[derive(Debug)]
pub(crate) struct Unresolved {
    pub(crate) primary: EngineId,
    pub(crate) waiting: BTreeSet<EngineId>,
}

/// The writes of one engine.
struct Part {
    slot: Arc<Slot>,
    rows: Vec<(Arc<Partition>, Change)>,
}

impl Part {
    fn intents(&self, owner: Owner) -> Batch {
        let mut batch = Batch::new();
        for (
            _,
            Change {
                table, key, row, ..
            },
        ) in &self.rows
        {
            let intent = Intent {
                owner,
                row: row.clone(),
            };
            batch.put(INTENT_SPACE, prefixed_key(*table, key), intent.encode());
        }
        batch
    }

    fn without_intents(&self, batch: &mut Batch) {
        for (_, Change { table, key, .. }) in &self.rows {
            batch.remove(INTENT_SPACE, prefixed_key(*table, key));
        }
    }

    /// From now on whoever touches these keys settles them.
    fn orphan(&self, owner: Owner) {
        for (_, Change { table, key, .. }) in &self.rows {
            self.slot.add_orphan(*table, key.clone(), owner);
        }
    }

    /// The rows at their timestamp, in place of the intents.
    fn rows(self, store: &Store, at: Timestamp) -> Plan {
        let mut plan = Plan::new(Arc::clone(&self.slot));
        self.without_intents(&mut plan.batch);
        for (partition, change) in self.rows {
            plan.add(&store.history, &partition, change, at);
        }
        plan
    }
}

/// Takes one transaction through the steps.
pub(crate) struct Coordinator<'s> {
    store: &'s Store,
    owner: Owner,
    /// The primary is the first.
    parts: Vec<Part>,
}

impl<'s> Coordinator<'s> {
    pub(crate) fn new(store: &'s Store, places: Vec<Place>, changes: Vec<Change>) -> Self {
        let mut parts: BTreeMap<EngineId, Part> = BTreeMap::new();
        for ((partition, slot), change) in places.into_iter().zip(changes) {
            let part = parts.entry(slot.id).or_insert_with(|| Part {
                slot,
                rows: Vec::new(),
            });
            part.rows.push((partition, change));
        }
        let primary = *parts
            .keys()
            .next()
            .expect("a commit across engines has engines");
        let owner = Owner {
            txn: TxnId(store.timestamps.next().0),
            primary,
        };
        Self {
            store,
            owner,
            parts: parts.into_values().collect(),
        }
    }

    /// All steps.
    pub(crate) fn run(mut self, sequencer: &mut Sequencer) -> Result<Timestamp> {
        self.prepare(sequencer)?;
        let at = self.decide(sequencer)?;
        self.apply(sequencer, at)
    }

    fn prepare(&mut self, sequencer: &mut Sequencer) -> Result<()> {
        let begun = Timestamp(self.owner.txn.0);
        for index in 0..self.parts.len() {
            let Some(part) = self.parts.get(index) else {
                break;
            };
            let written = part
                .slot
                .engine
                .write(part.intents(self.owner), Durability::Synced);
            if let Err(error) = written {
                let cause = error.to_string();
                part.slot.fail(begun, &cause);
                self.give_up(index);
                return Err(Error::GivenUp { cause });
            }
            if !self.store.fatality.survives(Step::Prepared) {
                self.parts.truncate(index + 1);
                return Err(self.die(sequencer, begun));
            }
        }
        Ok(())
    }

    /// Takes back the intents of the first engines. What cannot be taken back is found, and rolled
    /// back for want of a record, when that engine is opened again.
    fn give_up(&self, prepared: usize) {
        for part in self.parts.iter().take(prepared) {
            let mut batch = Batch::new();
            part.without_intents(&mut batch);
            if let Err(error) = part.slot.engine.write(batch, Durability::Buffered) {
                part.slot
                    .fail(Timestamp(self.owner.txn.0), &error.to_string());
            }
        }
    }

    fn decide(&mut self, sequencer: &mut Sequencer) -> Result<Timestamp> {
        let at = self.store.timestamps.next();
        let primary = self.parts.remove(0);
        let record = Fate::key(self.owner.txn);
        match primary.slot.get(META_SPACE, &record) {
            Ok(None) => {}
            Ok(Some(_)) => {
                let cause = "another transaction rolled it back".to_owned();
                return Err(Error::GivenUp { cause });
            }
            // Nothing is decided, and the primary's intents wait until it is opened again.
            Err(error) => {
                self.give_up(self.parts.len());
                let cause = error.to_string();
                return Err(Error::GivenUp { cause });
            }
        }
        let mut plan = primary.rows(self.store, at);
        plan.batch
            .put(META_SPACE, record, Fate::Committed(at).encode());
        match plan.write(Durability::Synced) {
            Ok(graves) => sequencer.graveyard.add(graves),
            Err(failed) => {
                failed.fail_engine();
                self.abandon(sequencer, [self.owner.primary]);
                return Err(Error::Unknown {
                    at,
                    cause: failed.cause(),
                });
            }
        }
        if !self.store.fatality.survives(Step::Decided) {
            return Err(self.die(sequencer, at));
        }
        Ok(at)
    }

    /// The transaction is committed; an engine that fails now catches up when it is opened again.
    fn apply(mut self, sequencer: &mut Sequencer, at: Timestamp) -> Result<Timestamp> {
        let mut failed = Vec::new();
        while let Some(part) = self.parts.pop() {
            let engine = part.slot.id;
            match part.rows(self.store, at).write(Durability::Synced) {
                Ok(graves) => sequencer.graveyard.add(graves),
                Err(failure) => {
                    failure.fail_engine();
                    failed.push(engine);
                }
            }
            if !self.store.fatality.survives(Step::Applied) {
                self.abandon(sequencer, failed);
                return Err(died(at));
            }
        }
        self.abandon(sequencer, failed);
        Ok(at)
    }

    fn die(&self, sequencer: &mut Sequencer, at: Timestamp) -> Error {
        self.abandon(sequencer, []);
        died(at)
    }

    /// Leaves the remaining parts, and the `failed` engines, to whoever meets their intents.
    fn abandon(&self, sequencer: &mut Sequencer, failed: impl IntoIterator<Item = EngineId>) {
        let mut waiting: BTreeSet<_> = failed.into_iter().collect();
        for part in &self.parts {
            part.orphan(self.owner);
            waiting.insert(part.slot.id);
        }
        if waiting.is_empty() {
            self.store.forget_fate(self.owner);
        } else {
            let unresolved = Unresolved {
                primary: self.owner.primary,
                waiting,
            };
            sequencer.unresolved.insert(self.owner.txn, unresolved);
        }
    }
}

fn died(at: Timestamp) -> Error {
    Error::Unknown {
        at,
        cause: "its coordinator died".to_owned(),
    }
}

impl Store {
    /// Settles a transaction whose coordinator is gone, wherever its intents can be reached.
    pub(crate) fn resolve(&self, owner: Owner) -> Result<()> {
        self.resolve_locked(&mut self.sequencer.lock(), owner)
    }

    pub(crate) fn resolve_locked(&self, sequencer: &mut Sequencer, owner: Owner) -> Result<()> {
        let fate = self.fate(owner)?;
        for slot in self.engines.all() {
            if !slot.is_down() && self.settle(sequencer, &slot, owner, fate)? {
                slot.settle(owner.txn);
                if let Some(unresolved) = sequencer.unresolved.get_mut(&owner.txn) {
                    unresolved.waiting.remove(&slot.id);
                }
            }
        }
        let waiting = sequencer
            .unresolved
            .get(&owner.txn)
            .map(|one| one.waiting.len());
        if waiting.is_none_or(|engines| engines == 0) {
            sequencer.unresolved.remove(&owner.txn);
            match fate {
                Fate::Committed(_) => self.forget_fate(owner),
                Fate::RolledBack => self.keep_rollback(sequencer, owner),
            }
        }
        Ok(())
    }

    /// A rollback record outlives the intents, in case the coordinator was only slow.
    fn keep_rollback(&self, sequencer: &mut Sequencer, owner: Owner) {
        sequencer.rolled_back.push_back(owner);
        if sequencer.rolled_back.len() > ROLLBACKS_KEPT_MAX
            && let Some(oldest) = sequencer.rolled_back.pop_front()
        {
            self.forget_fate(oldest);
        }
    }

    /// What became of the transaction; if that is open, it is rolled back here and now.
    ///
    /// An engine is split or merged away only when all that was decided on it is settled everywhere,
    /// durably. So an intent whose primary is gone belongs to a commit that was given up, and came
    /// back when a crash undid its removal.
    fn fate(&self, owner: Owner) -> Result<Fate> {
        let Ok(primary) = self.engines.get(owner.primary) else {
            return Ok(Fate::RolledBack);
        };
        primary.check_writable()?;
        let key = Fate::key(owner.txn);
        if let Some(bytes) = primary.get(META_SPACE, &key)? {
            return Fate::decode(owner.txn, &bytes);
        }
        let mut batch = Batch::new();
        batch.put(META_SPACE, key, Fate::RolledBack.encode());
        if let Err(error) = primary.engine.write(batch, Durability::Synced) {
            primary.fail(Timestamp(owner.txn.0), &error.to_string());
            return Err(error.into());
        }
        Ok(Fate::RolledBack)
    }

    /// Turns the intents of a transaction on one engine into rows, or removes them. Answers false if
    /// the engine failed meanwhile.
    fn settle(
        &self,
        sequencer: &mut Sequencer,
        slot: &Arc<Slot>,
        owner: Owner,
        fate: Fate,
    ) -> Result<bool> {
        let keys = slot.orphan_keys(owner.txn);
        let mut plan = Plan::new(Arc::clone(slot));
        for (table, key) in keys {
            let place = prefixed_key(table, &key);
            let intent = slot.get(INTENT_SPACE, &place)?;
            plan.batch.remove(INTENT_SPACE, place);
            let (Some(bytes), Fate::Committed(at)) = (intent, fate) else {
                continue;
            };
            let intent = Intent::decode(table, &key, &bytes)?;
            let map = self.directory.map(table)?;
            let replaced = self.newest_version(slot, table, &key)?;
            let change = Change {
                table,
                key: key.clone(),
                row: intent.row,
                replaced,
            };
            plan.add(&self.history, map.route(&key), change, at);
        }
        match plan.write(Durability::Synced) {
            Ok(graves) => {
                sequencer.graveyard.add(graves);
                Ok(true)
            }
            Err(failed) => {
                failed.fail_engine();
                Ok(false)
            }
        }
    }

    /// Removes a record that no intent refers to any more. If that fails, opening removes it.
    fn forget_fate(&self, owner: Owner) {
        let Ok(primary) = self.engines.get(owner.primary) else {
            return;
        };
        let mut batch = Batch::new();
        batch.remove(META_SPACE, Fate::key(owner.txn));
        if let Err(error) = primary.engine.write(batch, Durability::Buffered) {
            primary.fail(Timestamp(owner.txn.0), &error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use storage::env::{SeededRandom, SimulatedClock};
    use storage::{Bytes, KeyRange, MemoryEngine, MemoryMedium, SeparatePlacement};

    use super::*;
    use crate::{Direction, Options, TableId};

    const TABLE: TableId = TableId(1);

    fn store() -> Arc<Store> {
        let media: [MemoryMedium; 5] = Default::default();
        let open = move |id: EngineId| -> storage::Result<Arc<dyn storage::Engine>> {
            let medium = &media[usize::try_from(id.0).unwrap()];
            Ok(Arc::new(MemoryEngine::open(medium)))
        };
        let placement = Arc::new(SeparatePlacement::new(open, |_| Ok(())));
        let clock = Arc::new(SimulatedClock::new(0));
        let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
        let store = Store::open(options).unwrap();
        store
            .create_table(TABLE, &["m".into()], Bytes::new())
            .unwrap();
        store
    }

    fn coordinator(store: &Store) -> Coordinator<'_> {
        let map = store.map(TABLE).unwrap();
        let mut places = Vec::new();
        let mut changes = Vec::new();
        for key in ["a", "z"] {
            let partition = Arc::clone(map.route(key.as_bytes()));
            let slot = store.engines.get(partition.descriptor.engine).unwrap();
            places.push((partition, slot));
            let row = Some("late".into());
            changes.push(Change {
                table: TABLE,
                key: key.into(),
                row,
                replaced: None,
            });
        }
        Coordinator::new(store, places, changes)
    }

    fn rows(store: &Arc<Store>) -> usize {
        store
            .view()
            .scan(TABLE, &KeyRange::all(), Direction::Ascending)
            .unwrap()
            .count()
    }

    #[test]
    fn a_rollback_record_stops_a_commit_that_comes_late() {
        let store = store();
        let mut slow = coordinator(&store);
        slow.prepare(&mut store.sequencer.lock()).unwrap();
        // Somebody else meets the intents, finds no decision, and rolls them back.
        for part in &slow.parts {
            part.orphan(slow.owner);
        }
        assert_eq!(rows(&store), 0);
        let late = slow.decide(&mut store.sequencer.lock()).unwrap_err();
        assert!(matches!(late, Error::GivenUp { .. }), "{late}");
        assert_eq!(rows(&store), 0);
    }

    #[test]
    fn a_writer_that_expects_an_older_epoch_is_refused_on_one_engine_and_across() {
        let store = store();
        for keys in [&["a"][..], &["a", "z"]] {
            let mut late = store.begin();
            let mut other = store.begin();
            for key in keys {
                late.put(TABLE, (*key).into(), "late".into()).unwrap();
                other.put(TABLE, (*key).into(), "other".into()).unwrap();
            }
            late.expect_epoch(TABLE, 0);
            store.set_epoch(TABLE, 1);
            other.expect_epoch(TABLE, 1);
            // Rows of the old shape came first: what is said later does not mend them.
            late.expect_epoch(TABLE, 1);
            let refused = late.commit(Durability::Synced).unwrap_err();
            assert!(matches!(refused, Error::Altered { .. }), "{refused}");
            other.commit(Durability::Synced).unwrap();
            assert_eq!(rows(&store), keys.len());
            store.set_epoch(TABLE, 0);
        }
    }

    #[test]
    fn an_intent_whose_primary_was_split_away_is_rolled_back() {
        let store = store();
        coordinator(&store)
            .prepare(&mut store.sequencer.lock())
            .unwrap();
        let primary = store.map(TABLE).unwrap().route(b"a").descriptor.id;
        store
            .split(TABLE, primary, b"c", partitions::Share::HALF)
            .unwrap();
        store.reopen(EngineId(2)).unwrap();
        assert_eq!(rows(&store), 0);
        let slot = store.engines.get(EngineId(2)).unwrap();
        let snapshot = slot.snapshot().unwrap();
        let intents = snapshot.scan(INTENT_SPACE, &KeyRange::all(), Direction::Ascending);
        assert_eq!(intents.unwrap().count(), 0);
    }

    #[test]
    fn an_undisturbed_commit_leaves_nothing_behind() {
        let store = store();
        let at = coordinator(&store)
            .run(&mut store.sequencer.lock())
            .unwrap();
        store.active.advance(at, &[], |_| ());
        assert_eq!(rows(&store), 2);
        for slot in store.engines.all() {
            let snapshot = slot.snapshot().unwrap();
            let all = |space| {
                snapshot
                    .scan(space, &KeyRange::all(), Direction::Ascending)
                    .unwrap()
            };
            assert_eq!(all(INTENT_SPACE).count(), 0);
            let records = partitions::spaces::prefix_range(partitions::spaces::TRANSACTION_PREFIX);
            let records = snapshot
                .scan(META_SPACE, &records, Direction::Ascending)
                .unwrap();
            assert_eq!(records.count(), 0);
        }
    }
}
