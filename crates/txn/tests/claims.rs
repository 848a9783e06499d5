//! Claims from many threads: a hot row refuses nobody, and nothing is lost even in circles.

#![cfg(test)]

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

use partitions::{Share, TableId};
use storage::env::{Random, SeededRandom, SimulatedClock};
use storage::{
    Bytes, Direction, Durability, Engine, KeyRange, MemoryEngine, SeparatePlacement,
    SharedPlacement,
};
use txn::{Error, Options, Store, Transaction};

const TABLE: TableId = TableId(1);
const THREADS: u64 = 8;
const STEPS: u64 = 200;

/// Wakes the thread that waits.
struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Arc::new(Waiting(thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

/// A store whose partitions have an engine each.
fn separate_store() -> Arc<Store> {
    let open = |_| -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(MemoryEngine::new())) };
    let placement = Arc::new(SeparatePlacement::new(open, |_| Ok(())));
    let clock = Arc::new(SimulatedClock::new(1));
    let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    let store = Store::open(options).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    store
}

fn store() -> Arc<Store> {
    let engine = MemoryEngine::new();
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
    let clock = Arc::new(SimulatedClock::new(1));
    let placement = Arc::new(SharedPlacement::new(open));
    let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    let store = Store::open(options).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    store
}

fn number(row: Option<Bytes>) -> u64 {
    row.map_or(0, |row| u64::from_be_bytes(row[..].try_into().unwrap()))
}

fn add_one(txn: &mut Transaction, key: &str) -> Result<(), Error> {
    wait(txn.claim(TABLE, key.as_bytes()))?;
    let sum = number(txn.get(TABLE, key.as_bytes())?) + 1;
    let row = Bytes::copy_from_slice(&sum.to_be_bytes());
    txn.put(TABLE, Bytes::copy_from_slice(key.as_bytes()), row)
}

fn sum(store: &Arc<Store>, key: &str) -> u64 {
    number(store.view().get(TABLE, key.as_bytes()).unwrap())
}

/// An engine that a split made has none of the commits that it was copied after, so it cannot say that a
/// row is what it was before them.
#[test]
fn an_engine_that_a_split_made_knows_nothing_of_the_past() {
    let store = separate_store();
    let mut first = store.begin();
    for key in ["a", "z"] {
        add_one(&mut first, key).unwrap();
    }
    first.commit(Durability::Synced).unwrap();
    let mut late = store.begin();
    assert_eq!(number(late.get(TABLE, b"a").unwrap()), 1);
    assert_eq!(number(late.get(TABLE, b"z").unwrap()), 1);
    let mut other = store.begin();
    add_one(&mut other, "a").unwrap();
    other.commit(Durability::Synced).unwrap();
    let whole = store.map(TABLE).unwrap().route(b"a").descriptor.clone();
    store.split(TABLE, whole.id, b"m", Share::HALF).unwrap();
    let left = store.map(TABLE).unwrap().route(b"a").descriptor.clone();
    assert_ne!(left.engine, whole.engine);
    // What changed is found out, and what did not is still so.
    wait(late.claim(TABLE, b"z")).unwrap();
    let error = wait(late.claim(TABLE, b"a")).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    drop(late);
    let mut after = store.begin();
    add_one(&mut after, "a").unwrap();
    after.commit(Durability::Synced).unwrap();
    assert_eq!(sum(&store, "a"), 3);
}

#[test]
fn a_hot_row_refuses_nobody() {
    let store = store();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for _ in 0..STEPS {
                    let mut txn = store.begin();
                    // A row of its own first, as in a bank: account, then branch.
                    add_one(&mut txn, &format!("account {thread}")).unwrap();
                    add_one(&mut txn, "branch").unwrap();
                    txn.commit(Durability::Buffered).unwrap();
                }
            });
        }
    });
    assert_eq!(sum(&store, "branch"), THREADS * STEPS);
    assert_eq!(sum(&store, "account 0"), STEPS);
}

#[test]
fn rows_claimed_in_any_order_end_in_a_refusal_at_worst() {
    let store = store();
    let committed = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, committed) = (&store, &committed);
            scope.spawn(move || {
                let random = SeededRandom::new(thread);
                for _ in 0..STEPS {
                    let mut txn = store.begin();
                    let keys = ["a", "b", "c", "d"];
                    let first = usize::try_from(random.below(4)).unwrap();
                    let second = (first + 1 + usize::try_from(random.below(3)).unwrap()) % 4;
                    let read_first = random.below(2) == 0;
                    let read = if read_first { keys[first] } else { "nothing" };
                    txn.get(TABLE, read.as_bytes()).unwrap();
                    let changed = add_one(&mut txn, keys[first])
                        .and_then(|()| add_one(&mut txn, keys[second]))
                        .and_then(|()| txn.commit(Durability::Buffered));
                    match changed {
                        Ok(_) => committed.fetch_add(1, Ordering::Relaxed),
                        Err(Error::Conflict { .. }) => 0,
                        Err(other) => panic!("{other}"),
                    };
                }
            });
        }
    });
    let sums = ["a", "b", "c", "d"].map(|key| sum(&store, key));
    let committed = committed.load(Ordering::Relaxed);
    assert_eq!(sums.iter().sum::<u64>(), 2 * committed);
    assert!(committed > THREADS * STEPS / 8, "{committed}");
}

#[test]
fn a_claim_does_not_hide_that_something_else_changed() {
    let store = store();
    let mut txn = store.begin();
    txn.get(TABLE, b"limit").unwrap();
    let mut other = store.begin();
    other.put(TABLE, "limit".into(), "low".into()).unwrap();
    add_one(&mut other, "sum").unwrap();
    other.commit(Durability::Buffered).unwrap();
    let refused = add_one(&mut txn, "sum").unwrap_err();
    assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
    assert!(refused.to_string().contains("limit") || refused.to_string().contains("6c696d"));
}

#[test]
fn a_row_that_was_read_before_its_claim_must_not_have_changed() {
    let store = store();
    let mut txn = store.begin();
    txn.get(TABLE, b"sum").unwrap();
    let mut other = store.begin();
    add_one(&mut other, "sum").unwrap();
    other.commit(Durability::Buffered).unwrap();
    assert!(matches!(
        add_one(&mut txn, "sum"),
        Err(Error::Conflict { .. })
    ));
}

#[test]
fn a_claim_does_not_make_an_old_read_new() {
    let store = store();
    let mut txn = store.begin();
    let mut other = store.begin();
    add_one(&mut other, "a").unwrap();
    add_one(&mut other, "b").unwrap();
    other.commit(Durability::Buffered).unwrap();
    // Read as of the snapshot, although a newer version is there already.
    assert_eq!(number(txn.get(TABLE, b"a").unwrap()), 0);
    assert!(matches!(
        add_one(&mut txn, "b"),
        Err(Error::Conflict { .. })
    ));
    assert!(matches!(
        add_one(&mut txn, "a"),
        Err(Error::Conflict { .. })
    ));
}

#[test]
fn a_snapshot_moves_over_ranges_and_very_many_reads_that_did_not_change() {
    for (reads, ranges) in [(999, false), (1_000, false), (0, true), (1_000, true)] {
        for changes in [false, true] {
            let store = store();
            let mut txn = store.begin();
            let at = txn.snapshot();
            for number in 0..reads {
                txn.get(TABLE, format!("k{number}").as_bytes()).unwrap();
            }
            if ranges {
                let range = KeyRange::new("k", Some("l".into()));
                let scan = txn.scan(TABLE, &range, Direction::Ascending).unwrap();
                assert_eq!(scan.count(), 0);
            }
            let mut other = store.begin();
            add_one(&mut other, "sum").unwrap();
            if changes {
                add_one(&mut other, "k1").unwrap();
            }
            other.commit(Durability::Buffered).unwrap();
            let added = add_one(&mut txn, "sum");
            let case = format!("{reads} reads, {ranges}, {changes}");
            assert_eq!(txn.snapshot() > at, !changes, "{case}");
            let committed = added.and_then(|()| txn.commit(Durability::Buffered).map(drop));
            match committed {
                Ok(()) => assert!(!changes, "{case}"),
                Err(error) => {
                    assert!(changes, "{case}: {error}");
                    assert!(matches!(error, Error::Conflict { .. }), "{case}: {error}");
                }
            }
        }
    }
}

#[test]
fn who_still_reads_keeps_the_snapshot_where_it_is() {
    let store = store();
    let mut before = store.begin();
    add_one(&mut before, "sum").unwrap();
    before.commit(Durability::Buffered).unwrap();
    for ranges in [false, true] {
        let mut txn = store.begin();
        let at = txn.snapshot();
        let reader = txn.reader();
        if ranges {
            let everything = KeyRange::all();
            let mut scan = reader.scan(TABLE, &everything, Direction::Ascending);
            scan.as_mut().unwrap().next().unwrap().unwrap();
        }
        let reader = Some(reader).filter(|_| !ranges);
        let mut other = store.begin();
        add_one(&mut other, "sum").unwrap();
        other.commit(Durability::Buffered).unwrap();
        add_one(&mut txn, "sum").unwrap();
        assert_eq!(txn.snapshot(), at);
        drop(reader);
        let refused = txn.commit(Durability::Buffered).unwrap_err();
        assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
    }
}
