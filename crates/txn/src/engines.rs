//! The engines that hold the partitions, and what is known about the health of each.
//!
//! An engine that failed a write is *down*: nobody knows whether that write is there. Snapshots from
//! before the failure may still be read, later ones may not, and nothing may be written until it is
//! opened again. Opening begins a new *life*. What an older snapshot saw may be gone by then (a write
//! that was not synced), so such snapshots may not read it any more, and a transaction that did read
//! it cannot commit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use parking_lot::RwLock;
use partitions::TableId;
use partitions::spaces::{HISTORY_SPACE, INTENT_SPACE, META_SPACE};
use storage::{Batch, Bytes, Direction, Durability, Engine, EngineId, KeyRange, Snapshot, SpaceId};

use crate::intent::{Owner, TxnId};
use crate::pages::{Budget, Pages};
use crate::spilled::Spilled;
use crate::{Error, Result, Timestamp};

/// One engine in one of its lives.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) id: EngineId,
    pub(crate) engine: Arc<dyn Engine>,
    /// How often it was opened.
    pub(crate) life: u64,
    /// Snapshots below this one are from an earlier life.
    pub(crate) opened: Timestamp,
    failure: OnceLock<Failure>,
    /// Keys whose intents nobody is working on any more, and the transactions that left them.
    orphans: RwLock<BTreeMap<(TableId, Bytes), Owner>>,
    orphan_count: AtomicUsize,
    /// The replaced versions in the HISTORY space.
    pub(crate) spilled: Spilled,
    /// Rows that were scanned lately.
    pub(crate) pages: Pages,
}

#[derive(Debug)]
struct Failure {
    at: Timestamp,
    cause: String,
}

impl Slot {
    fn new(
        id: EngineId,
        engine: Arc<dyn Engine>,
        life: u64,
        opened: Timestamp,
        pages: Pages,
    ) -> Self {
        // What changed in an earlier life is not known here.
        pages.fresh.all_changed(opened);
        Self {
            id,
            engine,
            life,
            opened,
            failure: OnceLock::new(),
            orphans: RwLock::default(),
            orphan_count: AtomicUsize::new(0),
            spilled: Spilled::default(),
            pages,
        }
    }

    /// Marks the engine as down: its write at `at` failed.
    pub(crate) fn fail(&self, at: Timestamp, cause: &str) {
        // The first failure is the one that counts; later ones follow from it.
        let _ = self.failure.set(Failure {
            at,
            cause: cause.to_owned(),
        });
    }

    /// Takes note of a write at `at` that failed. Answers whether the engine is down; if it is not, it
    /// changed nothing and goes on.
    pub(crate) fn write_failed(&self, at: Timestamp, error: &storage::Error) -> bool {
        // An engine that is poisoned refuses even an empty batch.
        let down = self
            .engine
            .write(Batch::new(), Durability::Buffered)
            .is_err();
        if down {
            self.fail(at, &error.to_string());
        }
        down
    }

    pub(crate) fn is_down(&self) -> bool {
        self.failure.get().is_some()
    }

    fn down(&self, failure: &Failure) -> Error {
        Error::EngineDown {
            engine: self.id,
            cause: failure.cause.clone(),
        }
    }

    /// An error unless a snapshot may be read from this engine.
    pub(crate) fn check_readable(&self, snapshot: Timestamp) -> Result<()> {
        if snapshot < self.opened {
            return Err(Error::Reopened {
                engine: self.id,
                reopened: self.opened,
                snapshot,
            });
        }
        match self.failure.get() {
            Some(failure) if snapshot >= failure.at => Err(self.down(failure)),
            _ => Ok(()),
        }
    }

    /// An error unless the engine takes writes.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.failure
            .get()
            .map_or(Ok(()), |failure| Err(self.down(failure)))
    }

    /// The newest value of a key, whatever the snapshot.
    pub(crate) fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        self.engine
            .get(space, key)
            .map_err(|error| self.read_failed(error))
    }

    /// The engine as it is now.
    pub(crate) fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        self.engine
            .snapshot()
            .map_err(|error| self.read_failed(error))
    }

    /// An engine that is gone to the point of refusing reads is down for everyone.
    pub(crate) fn read_failed(&self, error: storage::Error) -> Error {
        match error {
            storage::Error::Poisoned { cause } => {
                self.fail(Timestamp::default(), &cause);
                Error::EngineDown {
                    engine: self.id,
                    cause,
                }
            }
            other => other.into(),
        }
    }

    /// The transaction that left an intent on `key` behind.
    pub(crate) fn orphan(&self, table: TableId, key: &[u8]) -> Option<Owner> {
        if self.orphan_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.orphans
            .read()
            .get(&(table, Bytes::copy_from_slice(key)))
            .copied()
    }

    /// Some transaction that left an intent in `range` behind.
    pub(crate) fn orphan_in(&self, table: TableId, range: &KeyRange) -> Option<Owner> {
        if self.orphan_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let orphans = self.orphans.read();
        let found = orphans
            .iter()
            .find(|((of, key), _)| *of == table && range.contains(key));
        found.map(|(_, owner)| *owner)
    }

    /// Every transaction that left intents here.
    pub(crate) fn orphan_owners(&self) -> Vec<Owner> {
        let mut all: Vec<_> = self.orphans.read().values().copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The keys on which a transaction left intents here.
    pub(crate) fn orphan_keys(&self, txn: TxnId) -> Vec<(TableId, Bytes)> {
        let orphans = self.orphans.read();
        let keys = orphans.iter().filter(|(_, owner)| owner.txn == txn);
        keys.map(|(key, _)| key.clone()).collect()
    }

    pub(crate) fn add_orphan(&self, table: TableId, key: Bytes, owner: Owner) {
        let mut orphans = self.orphans.write();
        orphans.insert((table, key), owner);
        self.orphan_count.store(orphans.len(), Ordering::Release);
    }

    /// Forgets the intents of a transaction that was resolved on this engine.
    pub(crate) fn settle(&self, txn: TxnId) {
        let mut orphans = self.orphans.write();
        orphans.retain(|_, owner| owner.txn != txn);
        self.orphan_count.store(orphans.len(), Ordering::Release);
    }
}

/// The open engines.
#[derive(Debug)]
pub(crate) struct Engines {
    slots: ArcSwap<HashMap<EngineId, Arc<Slot>>>,
    /// For the pages of all of them.
    budget: Arc<Budget>,
}

impl Engines {
    /// None yet, whose pages may take so many bytes.
    pub(crate) fn new(pages_bytes_max: usize) -> Self {
        Self {
            slots: ArcSwap::default(),
            budget: Arc::new(Budget::new(pages_bytes_max)),
        }
    }

    /// How many bytes the pages of all engines may take.
    pub(crate) fn pages_bytes_max(&self) -> usize {
        self.budget.bytes_max()
    }

    fn pages(&self) -> Pages {
        Pages::new(Arc::clone(&self.budget))
    }

    /// The engine in its present life.
    pub(crate) fn get(&self, id: EngineId) -> Result<Arc<Slot>> {
        let gone = || Error::EngineDown {
            engine: id,
            cause: "it is not open".to_owned(),
        };
        self.slots.load().get(&id).cloned().ok_or_else(gone)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Slot>> {
        let mut all: Vec<_> = self.slots.load().values().cloned().collect();
        all.sort_unstable_by_key(|slot| slot.id);
        all
    }

    /// Makes an engine ready for service, in its first life or the next one. Its history is of no use to
    /// anyone: the snapshots that could need it are gone or refused.
    pub(crate) fn prepare(
        &self,
        id: EngineId,
        engine: Arc<dyn Engine>,
        opened: Timestamp,
    ) -> Result<Arc<Slot>> {
        engine.create_space(META_SPACE)?;
        engine.create_space(INTENT_SPACE)?;
        engine.create_space(HISTORY_SPACE)?;
        let snapshot = engine.snapshot()?;
        let mut history = snapshot.scan(HISTORY_SPACE, &KeyRange::all(), Direction::Ascending)?;
        if history.next().is_some() {
            engine.drop_space(HISTORY_SPACE)?;
            engine.create_space(HISTORY_SPACE)?;
        }
        let life = self.slots.load().get(&id).map_or(1, |slot| slot.life + 1);
        Ok(Arc::new(Slot::new(id, engine, life, opened, self.pages())))
    }

    /// Makes an engine ready and puts it into service.
    pub(crate) fn install(
        &self,
        id: EngineId,
        engine: Arc<dyn Engine>,
        opened: Timestamp,
    ) -> Result<()> {
        self.put(&self.prepare(id, engine, opened)?);
        Ok(())
    }

    /// Puts an engine into service whose history came with a copied key range and is still needed.
    /// Snapshots that a source refuses are refused here.
    pub(crate) fn install_copy(
        &self,
        id: EngineId,
        engine: Arc<dyn Engine>,
        sources: &[Arc<Slot>],
        now: Timestamp,
    ) {
        let opened = sources.iter().map(|slot| slot.opened).max();
        let slot = Slot::new(id, engine, 1, opened.unwrap_or_default(), self.pages());
        for source in sources {
            slot.spilled.add_all(&source.spilled);
        }
        // Nor what changed in the engines that it was copied from.
        slot.pages.fresh.all_changed(now);
        self.put(&Arc::new(slot));
    }

    /// Puts an engine into service.
    pub(crate) fn put(&self, slot: &Arc<Slot>) {
        self.slots.rcu(|slots| {
            let mut slots = HashMap::clone(slots);
            slots.insert(slot.id, Arc::clone(slot));
            slots
        });
    }

    /// Takes an engine out of service; readers that hold it go on.
    pub(crate) fn remove(&self, id: EngineId) {
        self.slots.rcu(|slots| {
            let mut slots = HashMap::clone(slots);
            slots.remove(&id);
            slots
        });
    }
}
