//! Records whose timestamps no commit can have had.

#![cfg(test)]

use std::sync::Arc;

use partitions::spaces::META_SPACE;
use partitions::{TableId, counters_key};
use storage::env::{SeededRandom, SimulatedClock};
use storage::{Batch, Bytes, Durability, Engine, MemoryEngine, SharedPlacement};
use txn::{Error, Options, Store};

const TABLE: TableId = TableId(1);

fn open(engine: &MemoryEngine) -> txn::Result<Arc<Store>> {
    let engine = engine.clone();
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
    let clock = Arc::new(SimulatedClock::new(1));
    let placement = Arc::new(SharedPlacement::new(open));
    Store::open(Options::new(
        placement,
        clock,
        Arc::new(SeededRandom::new(1)),
    ))
}

#[test]
fn a_timestamp_that_nothing_can_follow_is_a_damaged_record() {
    let engine = MemoryEngine::new();
    let store = open(&engine).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    let map = store.map(TABLE).unwrap();
    let id = map.partitions().first().unwrap().descriptor.id;
    drop(store);
    let record = engine.get(META_SPACE, &counters_key(id)).unwrap().unwrap();
    // Behind the version and the exact mark.
    let mut damaged = record.to_vec();
    damaged[2..10].copy_from_slice(&u64::MAX.to_be_bytes());
    let mut batch = Batch::new();
    batch.put(META_SPACE, counters_key(id), damaged);
    engine.write(batch, Durability::Synced).unwrap();
    let error = open(&engine).unwrap_err();
    assert!(
        matches!(&error, Error::DamagedRecord { what } if what.contains(&id.to_string())),
        "{error}"
    );
}
