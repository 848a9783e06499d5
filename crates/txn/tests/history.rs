//! Replaced versions that spilled to disk, while an old snapshot needs them and after.

#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use partitions::TableId;
use partitions::spaces::HISTORY_SPACE;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{
    Batch, Bytes, Direction, Durability, Engine, KeyRange, MemoryEngine, Pair, Scan,
    SharedPlacement, Snapshot, SpaceId,
};
use txn::{Options, Store};

const TABLE: TableId = TableId(1);

/// An engine that counts the pairs of the HISTORY space that scans yield.
#[derive(Debug)]
struct Counting {
    inner: MemoryEngine,
    scanned: Arc<AtomicUsize>,
}

struct CountingSnapshot {
    inner: Box<dyn Snapshot>,
    scanned: Arc<AtomicUsize>,
}

impl Snapshot for CountingSnapshot {
    fn get(&self, space: SpaceId, key: &[u8]) -> storage::Result<Option<Bytes>> {
        self.inner.get(space, key)
    }

    fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> storage::Result<Scan> {
        let pairs = self.inner.scan(space, range, direction)?;
        if space != HISTORY_SPACE {
            return Ok(pairs);
        }
        let scanned = Arc::clone(&self.scanned);
        Ok(Box::new(pairs.inspect(move |_| {
            scanned.fetch_add(1, Ordering::Relaxed);
        })))
    }
}

impl Engine for Counting {
    fn get(&self, space: SpaceId, key: &[u8]) -> storage::Result<Option<Bytes>> {
        self.inner.get(space, key)
    }

    fn snapshot(&self) -> storage::Result<Box<dyn Snapshot>> {
        Ok(Box::new(CountingSnapshot {
            inner: self.inner.snapshot()?,
            scanned: Arc::clone(&self.scanned),
        }))
    }

    fn write(&self, batch: Batch, durability: Durability) -> storage::Result<()> {
        self.inner.write(batch, durability)
    }

    fn sync(&self) -> storage::Result<()> {
        self.inner.sync()
    }

    fn ingest_when(
        &self,
        space: SpaceId,
        rows: &mut dyn Iterator<Item = Pair>,
        ready: &mut dyn FnMut() -> bool,
    ) -> storage::Result<Option<u64>> {
        self.inner.ingest_when(space, rows, ready)
    }

    fn create_space(&self, space: SpaceId) -> storage::Result<()> {
        self.inner.create_space(space)
    }

    fn drop_space(&self, space: SpaceId) -> storage::Result<()> {
        self.inner.drop_space(space)
    }

    fn spaces(&self) -> storage::Result<Vec<SpaceId>> {
        self.inner.spaces()
    }

    fn disk_bytes(&self) -> storage::Result<u64> {
        self.inner.disk_bytes()
    }
}

/// A store that keeps no replaced version in memory, and how many pairs of history were scanned in it.
fn store() -> (Arc<Store>, Arc<AtomicUsize>) {
    let scanned = Arc::<AtomicUsize>::default();
    let (inner, counted) = (MemoryEngine::new(), Arc::clone(&scanned));
    let open = move || -> storage::Result<Arc<dyn Engine>> {
        let (inner, scanned) = (inner.clone(), Arc::clone(&counted));
        Ok(Arc::new(Counting { inner, scanned }))
    };
    let placement = Arc::new(SharedPlacement::new(open));
    let clock = Arc::new(SimulatedClock::new(1));
    let mut options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    options.history_bytes_max = 0;
    let store = Store::open(options).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    (store, scanned)
}

fn put(store: &Arc<Store>, row: usize) {
    let mut txn = store.begin();
    txn.put(TABLE, "key".into(), row.to_string().into())
        .unwrap();
    txn.commit(Durability::Buffered).unwrap();
}

#[test]
fn history_is_not_scanned_again_while_an_old_snapshot_holds_the_horizon() {
    let (store, scanned) = store();
    put(&store, 0);
    let old = store.view();
    for row in 1..=100 {
        put(&store, row);
        assert_eq!(store.collect().unwrap().versions, 0);
    }
    assert_eq!(old.get(TABLE, b"key").unwrap().as_deref(), Some(&b"0"[..]));
    let looked_up = 1;
    assert_eq!(scanned.load(Ordering::Relaxed), looked_up);
    drop(old);
    assert_eq!(store.collect().unwrap().versions, 100);
    assert_eq!(scanned.load(Ordering::Relaxed), looked_up + 100);
    assert_eq!(store.collect().unwrap().versions, 0);
    assert_eq!(scanned.load(Ordering::Relaxed), looked_up + 100);
}

/// Readers that overlap, such as dumps one after another, move the horizon a little all the time.
#[test]
fn history_is_scanned_in_proportion_to_what_is_removed() {
    let (store, scanned) = store();
    put(&store, 0);
    let mut views: std::collections::VecDeque<_> = (0..100)
        .map(|row| {
            let view = store.view();
            put(&store, row);
            view
        })
        .collect();
    let mut removed = 0;
    for row in 0..1000 {
        views.pop_front();
        views.push_back(store.view());
        put(&store, row);
        removed += store.collect().unwrap().versions;
    }
    assert!(removed >= 850, "{removed}");
    let scanned = scanned.load(Ordering::Relaxed);
    assert!(scanned <= 5 * removed, "{scanned} for {removed}");
}
