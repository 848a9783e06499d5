//! What a commit costs is in the heat of the partitions it writes to, and the wait for the disk is not.

#![cfg(test)]

use std::sync::Arc;
use std::time::Duration;

use partitions::TableId;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{
    Batch, Bytes, Direction, Durability, Engine, KeyRange, MemoryEngine, Pair, SharedPlacement,
    Snapshot, SpaceId,
};
use txn::{Options, Patching, Store};

const TABLE: TableId = TableId(1);
const COMMITS: u32 = 1_600;
/// The time that a row takes at the commit, a batch, and the disk.
const ROW: Duration = Duration::from_millis(1);
const BATCH: Duration = Duration::from_millis(4);
const DISK: Duration = Duration::from_secs(1);

/// An engine whose writes take time.
#[derive(Debug)]
struct Slow {
    inner: MemoryEngine,
    clock: Arc<SimulatedClock>,
}

impl Engine for Slow {
    fn get(&self, space: SpaceId, key: &[u8]) -> storage::Result<Option<Bytes>> {
        self.inner.get(space, key)
    }

    fn snapshot(&self) -> storage::Result<Box<dyn Snapshot>> {
        self.inner.snapshot()
    }

    fn write(&self, batch: Batch, durability: Durability) -> storage::Result<()> {
        self.clock.advance(match durability {
            Durability::Synced => BATCH + DISK,
            Durability::Buffered => BATCH,
        });
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

/// Patches that take time, and replace the row.
#[derive(Debug)]
struct Slowly(Arc<SimulatedClock>);

impl Patching for Slowly {
    fn apply(&self, _: TableId, _: Option<&[u8]>, patch: &[u8]) -> Result<Option<Bytes>, String> {
        self.0.advance(ROW);
        Ok(Some(Bytes::copy_from_slice(patch)))
    }
}

/// A store in which everything takes its time, with a table of two partitions.
fn opened(clock: &Arc<SimulatedClock>) -> Arc<Store> {
    let inner = MemoryEngine::new();
    let slow = Arc::clone(clock);
    let open = move || -> storage::Result<Arc<dyn Engine>> {
        let (inner, clock) = (inner.clone(), Arc::clone(&slow));
        Ok(Arc::new(Slow { inner, clock }))
    };
    let placement = Arc::new(SharedPlacement::new(open));
    let random = Arc::new(SeededRandom::new(1));
    let mut options = Options::new(placement, Arc::clone(clock) as _, random);
    options.patching = Arc::new(Slowly(Arc::clone(clock)));
    let store = Store::open(options).unwrap();
    let bounds = [Bytes::from_static(b"m")];
    store.create_table(TABLE, &bounds, Bytes::new()).unwrap();
    store
}

/// The busy time of both partitions.
fn busy_ns(store: &Store) -> [u64; 2] {
    let map = store.map(TABLE).unwrap();
    let busy = map.partitions().iter();
    let busy: Vec<u64> = busy.map(|one| one.heat.totals().busy_ns).collect();
    busy.try_into().unwrap()
}

/// The busy time after many commits of three rows in one partition and one in the other.
fn busy(durability: Durability) -> [u64; 2] {
    let store = opened(&Arc::new(SimulatedClock::new(1)));
    for _ in 0..COMMITS {
        let mut txn = store.begin();
        for key in ["a", "b", "c", "z"] {
            txn.patch(TABLE, key.into(), Bytes::from_static(b"v"))
                .unwrap();
        }
        txn.commit(durability).unwrap();
    }
    busy_ns(&store)
}

/// Whether a number is within a quarter of what was expected, as sampling has it.
fn is_about(found: u64, expected: Duration) -> bool {
    let expected = u64::try_from(expected.as_nanos()).unwrap();
    found.abs_diff(expected) < expected / 4
}

#[test]
fn a_commit_is_shared_among_partitions_by_rows() {
    let [many, few] = busy(Durability::Buffered);
    assert_eq!(many, 3 * few);
    let each = (4 * ROW + BATCH) * COMMITS;
    assert!(is_about(many + few, each), "{many} and {few} of {each:?}");
}

#[test]
fn nobody_is_busy_while_the_disk_syncs() {
    let [many, few] = busy(Durability::Synced);
    assert_eq!(many, 3 * few);
    let each = 4 * ROW * COMMITS;
    assert!(is_about(many + few, each), "{many} and {few} of {each:?}");
}

#[test]
fn scans_that_are_read_in_turns_share_their_time() {
    let clock = Arc::new(SimulatedClock::new(1));
    let store = opened(&clock);
    let mut txn = store.begin();
    txn.put(TABLE, "a".into(), "v".into()).unwrap();
    txn.commit(Durability::Buffered).unwrap();
    let [before, _] = busy_ns(&store);
    for _ in 0..COMMITS {
        let view = store.view();
        let scan = || view.scan(TABLE, &KeyRange::all(), Direction::Ascending);
        let mut scans = [scan().unwrap(), scan().unwrap(), scan().unwrap()];
        for scan in &mut scans {
            scan.in_turns(3);
            assert!(scan.advance().unwrap());
        }
        clock.advance(3 * ROW);
    }
    let [after, _] = busy_ns(&store);
    let (took, each) = (after - before, 3 * ROW * COMMITS);
    assert!(is_about(took, each), "{took} of {each:?}");
}
