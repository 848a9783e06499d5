//! Commits that are written as one group: what later members make of what earlier ones did.

#![cfg(test)]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use partitions::TableId;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{Bytes, Durability, Engine, MemoryEngine, SharedPlacement};
use txn::{Options, Store};

const TABLE: TableId = TableId(1);

fn store() -> Arc<Store> {
    let engine = MemoryEngine::new();
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
    let clock = Arc::new(SimulatedClock::new(1));
    let placement = Arc::new(SharedPlacement::new(open));
    let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    let store = Store::open(options).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    // From now on commits that stand in line wait for the next call.
    store.drive_commits(Duration::ZERO);
    store
}

#[test]
fn a_row_after_a_deletion_of_nothing_is_counted_with_its_key() {
    let store = store();
    let [mut deletes, mut puts] = [(); 2].map(|()| store.begin());
    deletes.delete(TABLE, "key".into()).unwrap();
    puts.put(TABLE, "key".into(), "row".into()).unwrap();
    let mut group = [deletes, puts].map(|txn| Box::pin(txn.commit_later(Durability::Buffered)));
    let mut context = Context::from_waker(Waker::noop());
    for commit in &mut group {
        assert!(pin!(commit).poll(&mut context).is_pending());
    }
    store.drive_commits(Duration::ZERO);
    for commit in &mut group {
        assert!(matches!(
            pin!(commit).poll(&mut context),
            Poll::Ready(Ok(_))
        ));
    }
    let map = store.map(TABLE).unwrap();
    let partition = map.partitions().first().unwrap();
    let counted = partition.counters.counts().totals();
    let measured = store.measure(TABLE, partition.descriptor.id).unwrap();
    assert_eq!(counted, measured.totals);
}
