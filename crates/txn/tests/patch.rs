//! Patches from many threads: none is lost, none conflicts.

#![cfg(test)]

use std::sync::Arc;

use partitions::TableId;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{Bytes, Durability, Engine, MemoryEngine, SharedPlacement};
use txn::{Options, Patching, Store};

const TABLE: TableId = TableId(1);
const THREADS: u64 = 8;
const PATCHES: u64 = 200;

/// Rows and patches are numbers, and are added.
#[derive(Debug)]
struct Adding;

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

impl Patching for Adding {
    fn apply(&self, _: TableId, row: Option<&[u8]>, patch: &[u8]) -> Result<Option<Bytes>, String> {
        let sum = row.map_or(0, number) + number(patch);
        Ok(Some(Bytes::copy_from_slice(&sum.to_be_bytes())))
    }
}

#[test]
fn sums_from_many_threads_are_whole() {
    let engine = MemoryEngine::new();
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
    let clock = Arc::new(SimulatedClock::new(1));
    let placement = Arc::new(SharedPlacement::new(open));
    let mut options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    options.patching = Arc::new(Adding);
    let store = Store::open(options).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for step in 0..PATCHES {
                    let mut txn = store.begin();
                    let one = Bytes::copy_from_slice(&1_u64.to_be_bytes());
                    for key in ["all".to_owned(), format!("{}", (thread + step) % 3)] {
                        txn.patch(TABLE, key.into(), one.clone()).unwrap();
                    }
                    txn.commit(Durability::Buffered).unwrap();
                }
            });
        }
    });
    let view = store.view();
    let sum = |key: &str| number(&view.get(TABLE, key.as_bytes()).unwrap().unwrap());
    assert_eq!(sum("all"), THREADS * PATCHES);
    assert_eq!(["0", "1", "2"].map(sum).iter().sum::<u64>(), sum("all"));
}
