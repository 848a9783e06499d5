//! Rows that only have to be there: what a commit that counts on one does not mind, and what it does.

#![cfg(test)]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use partitions::TableId;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{Bytes, Durability, Engine, MemoryEngine, SharedPlacement};
use txn::{Error, Options, Result, Store, Transaction};

const PARENTS: TableId = TableId(1);
const CHILDREN: TableId = TableId(2);

fn store() -> Arc<Store> {
    let engine = MemoryEngine::new();
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
    let clock = Arc::new(SimulatedClock::new(1));
    let placement = Arc::new(SharedPlacement::new(open));
    let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    let store = Store::open(options).unwrap();
    for table in [PARENTS, CHILDREN] {
        store.create_table(table, &[], Bytes::new()).unwrap();
    }
    commit(&store, |txn| txn.put(PARENTS, "p".into(), "1".into())).unwrap();
    store
}

fn commit(store: &Arc<Store>, work: impl FnOnce(&mut Transaction) -> Result<()>) -> Result<()> {
    let mut txn = store.begin();
    work(&mut txn)?;
    txn.commit(Durability::Buffered).map(drop)
}

/// What a future that need not wait comes to.
fn now<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// A transaction that counts on a parent, and writes.
fn counting_on(store: &Arc<Store>, parent: &str) -> Transaction {
    let mut txn = store.begin();
    assert!(txn.holds(PARENTS, parent.as_bytes()).unwrap());
    txn.put(CHILDREN, "c".into(), parent.to_owned().into())
        .unwrap();
    txn
}

#[test]
fn a_row_that_changed_is_still_there() {
    let store = store();
    let txn = counting_on(&store, "p");
    commit(&store, |txn| txn.put(PARENTS, "p".into(), "2".into())).unwrap();
    let committed = txn.commit(Durability::Buffered).unwrap();
    assert_eq!(committed.partitions.len(), 2, "it needed both");
}

#[test]
fn a_row_that_went_is_a_conflict_unless_it_came_back() {
    let store = store();
    let txn = counting_on(&store, "p");
    commit(&store, |txn| txn.delete(PARENTS, "p".into())).unwrap();
    let refused = txn.commit(Durability::Buffered);
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );

    commit(&store, |txn| txn.put(PARENTS, "p".into(), "1".into())).unwrap();
    let txn = counting_on(&store, "p");
    commit(&store, |txn| txn.delete(PARENTS, "p".into())).unwrap();
    commit(&store, |txn| txn.put(PARENTS, "p".into(), "3".into())).unwrap();
    txn.commit(Durability::Buffered).unwrap();
}

#[test]
fn a_row_that_came_after_the_snapshot_counts() {
    let store = store();
    let mut txn = store.begin();
    commit(&store, |txn| txn.put(PARENTS, "q".into(), "1".into())).unwrap();
    assert!(txn.holds(PARENTS, b"q").unwrap());
    txn.put(CHILDREN, "c".into(), "q".into()).unwrap();
    txn.commit(Durability::Buffered).unwrap();
}

#[test]
fn a_row_that_went_before_the_snapshot_moved_is_a_conflict() {
    for collected in [false, true] {
        let store = store();
        commit(&store, |txn| txn.put(CHILDREN, "x".into(), "1".into())).unwrap();
        let mut txn = counting_on(&store, "p");
        commit(&store, |txn| txn.delete(PARENTS, "p".into())).unwrap();
        commit(&store, |txn| txn.put(CHILDREN, "x".into(), "2".into())).unwrap();
        let before = txn.snapshot();
        now(txn.claim(CHILDREN, b"x")).unwrap();
        assert!(txn.snapshot() > before, "it sees what came since");
        if collected {
            // Nobody reads at an older snapshot any more, so nothing is remembered below this one.
            commit(&store, |txn| txn.put(CHILDREN, "y".into(), "1".into())).unwrap();
            while store.collect().unwrap().more {}
        }
        let refused = txn.commit(Durability::Buffered);
        assert!(
            matches!(refused, Err(Error::Conflict { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn a_row_that_stayed_is_no_conflict_when_the_snapshot_moved() {
    let store = store();
    commit(&store, |txn| txn.put(CHILDREN, "x".into(), "1".into())).unwrap();
    let mut txn = counting_on(&store, "p");
    commit(&store, |txn| {
        txn.put(PARENTS, "p".into(), "2".into())?;
        txn.put(CHILDREN, "x".into(), "2".into())
    })
    .unwrap();
    now(txn.claim(CHILDREN, b"x")).unwrap();
    txn.commit(Durability::Buffered).unwrap();
}

#[test]
fn one_that_is_not_there_is_a_read() {
    let store = store();
    let mut txn = store.begin();
    assert!(!txn.holds(PARENTS, b"q").unwrap());
    txn.put(CHILDREN, "c".into(), "without".into()).unwrap();
    commit(&store, |txn| txn.put(PARENTS, "q".into(), "1".into())).unwrap();
    let refused = txn.commit(Durability::Buffered);
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
}

#[test]
fn what_a_transaction_wrote_itself_is_its_own_to_know() {
    let store = store();
    let mut txn = store.begin();
    txn.delete(PARENTS, "p".into()).unwrap();
    assert!(!txn.holds(PARENTS, b"p").unwrap());
    txn.put(PARENTS, "own".into(), "1".into()).unwrap();
    assert!(txn.holds(PARENTS, b"own").unwrap());
    txn.commit(Durability::Buffered).unwrap();
}
