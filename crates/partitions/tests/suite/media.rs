//! Media that outlive the process under test, and engines on them that fail on request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use storage::{
    Engine, EngineId, Fault, FaultyEngine, MemoryEngine, MemoryMedium, Placement, Result,
    SeparatePlacement, SharedPlacement,
};

/// All media of one simulated machine.
#[derive(Debug)]
pub(crate) struct Media {
    separate: bool,
    media: Mutex<BTreeMap<EngineId, MemoryMedium>>,
    live: Mutex<BTreeMap<EngineId, FaultyEngine>>,
}

impl Media {
    pub(crate) fn new(separate: bool) -> Arc<Self> {
        Arc::new(Self {
            separate,
            media: Mutex::default(),
            live: Mutex::default(),
        })
    }

    /// A placement of a process that has just started.
    pub(crate) fn placement(self: &Arc<Self>) -> Arc<dyn Placement> {
        let (open, discard) = (self.clone(), self.clone());
        if self.separate {
            let open = move |id| open.open(id);
            Arc::new(SeparatePlacement::new(open, move |id| discard.discard(id)))
        } else {
            Arc::new(SharedPlacement::new(move || open.open(EngineId::META)))
        }
    }

    /// The next faults of the engine, if it is open.
    pub(crate) fn inject(&self, id: EngineId, fault: Fault) {
        if let Some(engine) = locked(&self.live).get(&id) {
            engine.inject(fault);
        }
    }

    pub(crate) fn clear_faults(&self) {
        locked(&self.live)
            .values()
            .for_each(FaultyEngine::clear_faults);
    }

    /// The machine loses its power.
    pub(crate) fn crash(&self) {
        locked(&self.media)
            .values()
            .for_each(|medium| medium.crash(0));
    }

    pub(crate) fn engines(&self) -> Vec<EngineId> {
        locked(&self.media).keys().copied().collect()
    }

    fn open(&self, id: EngineId) -> Result<Arc<dyn Engine>> {
        let medium = locked(&self.media).entry(id).or_default().clone();
        let engine = FaultyEngine::new(Arc::new(MemoryEngine::open(&medium)));
        locked(&self.live).insert(id, engine.clone());
        Ok(Arc::new(engine))
    }

    fn discard(&self, id: EngineId) -> Result<()> {
        locked(&self.live).remove(&id);
        locked(&self.media).remove(&id);
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("no test panics while it holds the media")
}
