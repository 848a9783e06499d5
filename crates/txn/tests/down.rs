//! Engines that are down while others go on: what they still hold may be behind what was committed.

#![cfg(test)]

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use partitions::TableId;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{
    Bytes, Durability, Engine, EngineId, Fault, FaultyEngine, MemoryEngine, SeparatePlacement,
};
use txn::{Options, Store, Transaction};

/// Its engine decides on a commit across both, because it was made first.
const CHILDREN: TableId = TableId(1);
const PARENTS: TableId = TableId(2);

/// A store with an engine for each table, and a row in each. What is written to the parents next is
/// prepared, and then fails.
fn store() -> Arc<Store> {
    let engines: Arc<Mutex<BTreeMap<EngineId, FaultyEngine>>> = Arc::default();
    let known = Arc::clone(&engines);
    let open = move |id| -> storage::Result<Arc<dyn Engine>> {
        let engine = FaultyEngine::new(Arc::new(MemoryEngine::new()));
        known.lock().unwrap().insert(id, engine.clone());
        Ok(Arc::new(engine))
    };
    let placement = Arc::new(SeparatePlacement::new(open, |_| Ok(())));
    let clock = Arc::new(SimulatedClock::new(1));
    let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    let store = Store::open(options).unwrap();
    for table in [CHILDREN, PARENTS] {
        store.create_table(table, &[], Bytes::new()).unwrap();
        let mut txn = store.begin();
        txn.put(table, "row".into(), "1".into()).unwrap();
        txn.commit(Durability::Synced).unwrap();
    }
    let map = store.map(PARENTS).unwrap();
    let engine = map.partitions().first().unwrap().descriptor.engine;
    let fault = Fault::RefuseWrite { nth: 2 };
    engines.lock().unwrap()[&engine].inject(fault);
    store
}

/// A commit across both engines that happens, and is applied to one.
fn commit_half_applied(store: &Arc<Store>, work: impl FnOnce(&mut Transaction)) {
    let mut txn = store.begin();
    work(&mut txn);
    txn.put(CHILDREN, "row".into(), "2".into()).unwrap();
    txn.commit(Durability::Synced).unwrap();
    assert_eq!(store.engines_down().len(), 1);
}

#[test]
fn a_row_that_has_to_be_there_is_not_looked_for_in_an_engine_that_is_down() {
    let store = store();
    let mut txn = store.begin();
    assert!(txn.holds(PARENTS, b"row").unwrap());
    txn.put(CHILDREN, "child".into(), "of row".into()).unwrap();
    commit_half_applied(&store, |txn| txn.delete(PARENTS, "row".into()).unwrap());
    assert!(txn.commit(Durability::Synced).is_err());
}

#[test]
fn a_snapshot_does_not_move_past_what_an_engine_that_is_down_cannot_tell() {
    let store = store();
    let mut txn = store.begin();
    txn.get(PARENTS, b"row").unwrap();
    let put = |txn: &mut Transaction| txn.put(PARENTS, "row".into(), "2".into()).unwrap();
    commit_half_applied(&store, put);
    let moved = {
        let lock = pin!(txn.claim(CHILDREN, b"row"));
        let Poll::Ready(moved) = lock.poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("no other has the row");
        };
        moved
    };
    txn.put(CHILDREN, "row".into(), "3".into()).unwrap();
    let committed = moved.and_then(|()| txn.commit(Durability::Synced));
    assert!(committed.is_err(), "it read a parent that has changed");
}
