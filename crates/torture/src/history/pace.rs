//! How far clients are: none turns to a generation of keys before all have left the one before the last.

use std::collections::BTreeMap;

use tokio::sync::watch;

/// Where a client is that has stopped: beyond all generations of a round.
const STOPPED: u64 = u64::MAX - 1;

/// The generations of all clients.
pub(super) struct Pace {
    generations: watch::Sender<BTreeMap<u64, u64>>,
}

impl Pace {
    /// All clients stand before their first generation.
    pub(super) fn new(clients: u64) -> Self {
        let at_first = (0..clients).map(|client| (client, 0)).collect();
        Self {
            generations: watch::Sender::new(at_first),
        }
    }

    /// Turns a client to a generation, once no other is more than one behind.
    pub(super) async fn enter(&self, client: u64, generation: u64) {
        self.put(client, generation);
        let mut generations = self.generations.subscribe();
        let near = |all: &BTreeMap<u64, u64>| all.values().all(|other| other + 1 >= generation);
        // It ends only with the sender, which is here.
        let _ = generations.wait_for(near).await;
    }

    /// A client that asks no more holds up none.
    pub(super) fn leave(&self, client: u64) {
        self.put(client, STOPPED);
    }

    fn put(&self, client: u64, generation: u64) {
        self.generations.send_modify(|all| {
            all.insert(client, generation);
        });
    }
}
