//! A commit that panics half-way: what is read afterwards, and what commits.

#![cfg(test)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use partitions::TableId;
use storage::env::{Clock, SeededRandom};
use storage::{Bytes, Durability, Engine, MemoryEngine, SharedPlacement};
use txn::{Options, Store, Transaction};

const TABLE: TableId = TableId(1);

/// A clock that panics when it is asked for the n-th time from now.
#[derive(Debug, Default)]
struct Panicking {
    now: AtomicU64,
    nth: AtomicU64,
}

impl Clock for Panicking {
    fn now_us(&self) -> u64 {
        let less = |nth: u64| nth.checked_sub(1);
        let order = Ordering::SeqCst;
        assert!(
            self.nth.fetch_update(order, order, less) != Ok(1),
            "as asked"
        );
        self.now.fetch_add(1, order)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.now_us())
    }
}

fn increment(txn: &mut Transaction) {
    let before = txn.get(TABLE, b"sum").unwrap().unwrap();
    txn.put(
        TABLE,
        "sum".into(),
        [before, Bytes::from("+1")].concat().into(),
    )
    .unwrap();
}

#[test]
fn what_a_commit_wrote_that_panicked_is_not_lost_to_others() {
    for nth in 1.. {
        let engine = MemoryEngine::new();
        let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
        let placement = Arc::new(SharedPlacement::new(open));
        let clock = Arc::<Panicking>::default();
        let random = Arc::new(SeededRandom::new(1));
        let mut options = Options::new(placement, Arc::clone(&clock) as _, random);
        options.sampled_one_in = 1;
        let store = Store::open(options).unwrap();
        store.create_table(TABLE, &[], Bytes::new()).unwrap();
        let mut first = store.begin();
        first.put(TABLE, "sum".into(), "0".into()).unwrap();
        first.commit(Durability::Synced).unwrap();

        let [mut panics, mut other] = [store.begin(), store.begin()];
        increment(&mut panics);
        panics.put(TABLE, "done".into(), "1".into()).unwrap();
        increment(&mut other);
        clock.nth.store(nth, Ordering::SeqCst);
        let committed = catch_unwind(AssertUnwindSafe(|| panics.commit(Durability::Synced)));
        clock.nth.store(0, Ordering::SeqCst);
        let other = other.commit(Durability::Synced);
        let mut last = store.begin();
        last.put(TABLE, "last".into(), "1".into()).unwrap();
        last.commit(Durability::Synced).unwrap();
        let view = store.view();
        let done = view.get(TABLE, b"done").unwrap().is_some();
        let sum = view.get(TABLE, b"sum").unwrap().unwrap();
        let increments = sum.iter().filter(|byte| **byte == b'+').count();
        assert_eq!(
            increments,
            usize::from(done) + usize::from(other.is_ok()),
            "{nth}"
        );
        if committed.is_ok() {
            assert!(nth > 3, "nothing panicked");
            return;
        }
    }
}
