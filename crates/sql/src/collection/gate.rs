//! Who may be in a container at the same time.
//!
//! Whoever writes items without looking at the schema first holds the gate for reading. Putting a
//! table into another order holds it for writing. SQL needs no gate: its transactions read the schema
//! that they rely on, and conflict when it changes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// Past how many gates those that nobody holds are forgotten: anybody can ask for anything.
const REMEMBERED_MAX: usize = 1000;

/// The gate of one container.
#[derive(Debug, Default)]
pub struct Gate {
    lock: Arc<RwLock<()>>,
    changes: AtomicU64,
}

impl Gate {
    /// Goes in beside others.
    pub async fn beside(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.lock).read_owned().await
    }

    /// Goes in alone.
    pub async fn alone(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.lock).write_owned().await
    }

    /// How often a schema of the container changed. Who remembers what schemas say asks before it
    /// looks them up, and looks again when the number is another.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// The gates of all containers.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

impl Gates {
    /// The gate of a container.
    pub(crate) fn get(&self, container: &str) -> Arc<Gate> {
        let mut gates = self.gates.lock();
        if let Some(gate) = gates.get(container) {
            return Arc::clone(gate);
        }
        if gates.len() >= REMEMBERED_MAX {
            gates.retain(|_, gate| Arc::strong_count(gate) > 1);
        }
        let gate = Arc::<Gate>::default();
        gates.insert(container.to_owned(), Arc::clone(&gate));
        gate
    }
}
