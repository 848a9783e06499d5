//! The ground a simulated database stands on: media that outlive it, engines that fail on request.
//!
//! ```text
//!   shared      one memory engine                  a crash keeps a prefix of the unsynced batches
//!   separate    one memory engine per partition    each crashes by itself, or all do
//!   disk        one fjall engine                   a crash copies the directory and tears its journal
//! ```
//!
//! Every engine is wrapped so that faults can be injected into it. Opening one again wraps it anew,
//! and may find a fault already waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use storage::{
    Engine, EngineCounters, EngineId, Fault, FaultyEngine, MemoryEngine, MemoryMedium, Placement,
    SeparatePlacement, SharedPlacement,
};

use crate::Setting;
use crate::chance::Chance;
use crate::disk::Disk;
use crate::error::Checked;

/// Media and engines by number. Clones are handles of the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tanks {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    media: BTreeMap<EngineId, MemoryMedium>,
    engines: BTreeMap<EngineId, FaultyEngine>,
    /// What the next engine that is opened meets.
    on_open: Vec<Fault>,
}

impl Tanks {
    fn wrap(&self, id: EngineId, engine: Arc<dyn Engine>) -> Arc<dyn Engine> {
        let faulty = FaultyEngine::new(engine);
        let mut inner = self.inner.lock();
        for fault in inner.on_open.drain(..) {
            faulty.inject(fault);
        }
        inner.engines.insert(id, faulty.clone());
        Arc::new(faulty)
    }

    fn open_memory(&self, id: EngineId) -> Arc<dyn Engine> {
        let medium = self.inner.lock().media.entry(id).or_default().clone();
        self.wrap(id, Arc::new(MemoryEngine::open(&medium)))
    }

    fn discard(&self, id: EngineId) {
        let mut inner = self.inner.lock();
        inner.media.remove(&id);
        inner.engines.remove(&id);
    }

    /// The engines there are.
    pub(crate) fn engines(&self) -> Vec<EngineId> {
        self.inner.lock().engines.keys().copied().collect()
    }

    pub(crate) fn inject(&self, id: EngineId, fault: Fault) {
        if let Some(engine) = self.inner.lock().engines.get(&id) {
            engine.inject(fault);
        }
    }

    pub(crate) fn inject_on_open(&self, fault: Fault) {
        self.inner.lock().on_open.push(fault);
    }

    /// What the engines did in the background.
    pub(crate) fn counters(&self) -> EngineCounters {
        let mut all = EngineCounters::default();
        for engine in self.inner.lock().engines.values() {
            let one = engine.counters();
            all.flushes += one.flushes;
            all.compactions += one.compactions;
        }
        all
    }

    /// Forgets the faults that wait.
    pub(crate) fn clear_faults(&self) {
        let mut inner = self.inner.lock();
        inner.on_open.clear();
        for engine in inner.engines.values() {
            engine.clear_faults();
        }
    }

    /// Lets go of all engines, so that what they hold can be opened again.
    pub(crate) fn release(&self) {
        self.inner.lock().engines.clear();
    }

    /// The engines that refuse writes because of a fault.
    pub(crate) fn poisoned(&self) -> Vec<EngineId> {
        let inner = self.inner.lock();
        let poisoned = inner.engines.iter().filter(|(_, one)| one.is_poisoned());
        poisoned.map(|(id, _)| *id).collect()
    }

    /// One engine loses its process, and with it what chance takes of its unsynced batches. Answers
    /// how many were lost.
    pub(crate) fn crash(&self, id: EngineId, chance: &Chance) -> usize {
        let Some(medium) = self.inner.lock().media.get(&id).cloned() else {
            return 0;
        };
        let unsynced = medium.unsynced_batches();
        let keep = chance.up_to(unsynced);
        medium.crash(keep);
        unsynced - keep
    }

    /// The process dies, and what it wrote stays: no write goes through the engines it had open.
    fn kill(&self) {
        for medium in self.inner.lock().media.values() {
            medium.crash(medium.unsynced_batches());
        }
    }
}

/// The media of one database.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) setting: Setting,
    pub(crate) tanks: Tanks,
    disk: Option<Disk>,
}

impl Ground {
    pub(crate) fn new(setting: Setting) -> Checked<Self> {
        let disk = match setting {
            Setting::Disk => Some(Disk::new()?),
            Setting::Shared | Setting::Separate => None,
        };
        Ok(Self {
            setting,
            tanks: Tanks::default(),
            disk,
        })
    }

    /// The placement of a new process.
    pub(crate) fn placement(&self) -> Arc<dyn Placement> {
        let tanks = self.tanks.clone();
        match (&self.disk, self.setting) {
            (Some(disk), _) => {
                let open = disk.opener();
                Arc::new(SharedPlacement::new(move || {
                    Ok(tanks.wrap(EngineId::META, open()?))
                }))
            }
            (None, Setting::Separate) => {
                let gone = tanks.clone();
                let discard = move |id| {
                    gone.discard(id);
                    Ok(())
                };
                Arc::new(SeparatePlacement::new(
                    move |id| Ok(tanks.open_memory(id)),
                    discard,
                ))
            }
            (None, _) => Arc::new(SharedPlacement::new(move || {
                Ok(tanks.open_memory(EngineId::META))
            })),
        }
    }

    /// The process that has the database open dies; what it handed to the operating system stays.
    pub(crate) fn kill(&mut self) -> Checked<()> {
        match &mut self.disk {
            Some(disk) => disk.kill(),
            None => {
                self.tanks.kill();
                Ok(())
            }
        }
    }

    /// The power fails: what was not synced may be lost. Answers whether something was.
    pub(crate) fn power_off(&mut self, chance: &Chance) -> Checked<bool> {
        if let Some(disk) = &mut self.disk {
            return disk.power_off(chance);
        }
        let engines: Vec<_> = self.tanks.inner.lock().media.keys().copied().collect();
        let lost: usize = engines.iter().map(|id| self.tanks.crash(*id, chance)).sum();
        Ok(lost > 0)
    }

    /// The next life has begun: what the last one left is cleared away.
    pub(crate) fn settle_in(&self) {
        if let Some(disk) = &self.disk {
            disk.sweep();
        }
    }

    /// Everything written so far is known to be synced.
    pub(crate) fn mark_synced(&mut self) -> Checked<()> {
        match &mut self.disk {
            Some(disk) => disk.mark_synced(),
            None => Ok(()),
        }
    }
}
