//! Loads while other things happen: what is read, committed, split and loaded beside them.

#![cfg(test)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use partitions::{Share, TableId};
use proptest::prelude::*;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{
    Batch, Bytes, Direction, Durability, Engine, FjallEngine, FjallOptions, KeyRange, MemoryEngine,
    MemoryMedium, Pair, Placement, SharedPlacement, Snapshot, SpaceId,
};
use txn::{Error, Options, Store, View};

const TABLE: TableId = TableId(1);

type Interruption = Box<dyn FnOnce() + Send>;

/// An engine that lets something happen when the rows of an ingestion are laid down and before they
/// appear.
#[derive(Clone)]
struct Interrupted {
    inner: Arc<dyn Engine>,
    interruption: Arc<Mutex<Option<Interruption>>>,
}

impl fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Interrupted {
    fn new() -> Self {
        Self {
            inner: Arc::new(MemoryEngine::new()),
            interruption: Arc::default(),
        }
    }

    fn interrupt(&self, interruption: impl FnOnce() + Send + 'static) {
        *self.interruption.lock() = Some(Box::new(interruption));
    }
}

impl Engine for Interrupted {
    fn get(&self, space: SpaceId, key: &[u8]) -> storage::Result<Option<Bytes>> {
        self.inner.get(space, key)
    }

    fn snapshot(&self) -> storage::Result<Box<dyn Snapshot>> {
        self.inner.snapshot()
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
        self.inner.ingest_when(space, rows, &mut || {
            let interruption = self.interruption.lock().take();
            if let Some(interruption) = interruption {
                interruption();
            }
            ready()
        })
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

fn options(engine: impl Fn() -> Arc<dyn Engine> + Send + Sync + 'static) -> Options {
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(engine()) };
    let placement: Arc<dyn Placement> = Arc::new(SharedPlacement::new(open));
    let clock = Arc::new(SimulatedClock::new(1_000));
    let mut options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    options.ingest_rows_min = 1;
    options
}

fn store(engine: &Interrupted) -> Arc<Store> {
    let engine = engine.clone();
    let store = Store::open(options(move || Arc::new(engine.clone()))).unwrap();
    store
        .create_table(TABLE, &["m".into()], Bytes::new())
        .unwrap();
    store
}

fn pair(key: &str) -> Pair {
    let row = format!("row {key}");
    (Bytes::copy_from_slice(key.as_bytes()), row.into())
}

fn pairs(keys: &[&str]) -> Vec<Pair> {
    keys.iter().map(|key| pair(key)).collect()
}

fn set(store: &Arc<Store>, key: &str) {
    let mut txn = store.begin();
    let (key, row) = pair(key);
    txn.put(TABLE, key, row).unwrap();
    txn.commit(Durability::Buffered).unwrap();
}

fn unset(store: &Arc<Store>, key: &str) {
    let mut txn = store.begin();
    txn.delete(TABLE, pair(key).0).unwrap();
    txn.commit(Durability::Buffered).unwrap();
}

fn all(view: &Arc<View>) -> Vec<Pair> {
    let rows = view.scan(TABLE, &KeyRange::all(), Direction::Ascending);
    rows.unwrap().map(|row| row.unwrap()).collect()
}

/// Counters that claim to be exact are.
fn check_counters(store: &Store) {
    for one in store.map(TABLE).unwrap().partitions() {
        let counts = one.counters.counts();
        let measured = store.measure(TABLE, one.descriptor.id).unwrap();
        assert!(
            !counts.exact() || counts.totals() == measured.totals,
            "{counts:?} is not {measured:?}"
        );
        assert_eq!(one.counters.counts().totals(), measured.totals);
    }
}

#[test]
fn a_snapshot_between_the_stamp_and_the_commit_never_sees_the_rows() {
    let engine = Interrupted::new();
    let store = store(&engine);
    let between = Arc::new(Mutex::new(None));
    let (beside, taken) = (Arc::clone(&store), Arc::clone(&between));
    engine.interrupt(move || {
        set(&beside, "other");
        *taken.lock() = Some(beside.view());
    });
    store.load(TABLE, pairs(&["a", "b", "z"])).unwrap();
    let between = between.lock().take().unwrap();
    assert_eq!(all(&between), pairs(&["other"]));
    assert_eq!(all(&store.view()), pairs(&["a", "b", "other", "z"]));
    // Nor when the rows are replaced and deleted: what is kept of them has the right timestamp.
    set(&store, "a");
    unset(&store, "b");
    assert_eq!(between.get(TABLE, b"a").unwrap(), None);
    assert_eq!(all(&between), pairs(&["other"]));
    // Forgetting the stamp when nobody needs it changes nothing.
    drop(between);
    store.collect().unwrap();
    assert_eq!(all(&store.view()), pairs(&["a", "other", "z"]));
    check_counters(&store);
}

#[test]
fn commits_beside_a_load_are_not_lost_and_what_they_add_is_found() {
    let engine = Interrupted::new();
    let store = store(&engine);
    set(&store, "gone");
    unset(&store, "gone");
    let beside = Arc::clone(&store);
    engine.interrupt(move || {
        set(&beside, "c");
        set(&beside, "d");
        unset(&beside, "d");
    });
    let rows = pairs(&["b", "d", "gone", "x"]);
    store.load(TABLE, rows.clone()).unwrap();
    assert_eq!(all(&store.view()), pairs(&["b", "c", "d", "gone", "x"]));
    check_counters(&store);

    let beside = Arc::clone(&store);
    engine.interrupt(move || set(&beside, "f"));
    let error = store.load(TABLE, pairs(&["e", "f", "g"])).unwrap_err();
    assert!(
        matches!(&error, Error::RowExists { key, .. } if *key == "f"),
        "{error}"
    );
    assert_eq!(all(&store.view()).len(), 6);
    check_counters(&store);
}

#[test]
fn loads_beside_a_load_are_found_too() {
    let engine = Interrupted::new();
    let store = store(&engine);
    let beside = Arc::clone(&store);
    engine.interrupt(move || {
        beside.load(TABLE, pairs(&["b", "y"])).unwrap();
    });
    store.load(TABLE, pairs(&["a", "c", "z"])).unwrap();
    let beside = Arc::clone(&store);
    engine.interrupt(move || {
        beside.load(TABLE, pairs(&["d", "e"])).unwrap();
    });
    let error = store.load(TABLE, pairs(&["e", "f"])).unwrap_err();
    assert!(
        matches!(&error, Error::RowExists { key, .. } if *key == "e"),
        "{error}"
    );
    assert_eq!(
        all(&store.view()),
        pairs(&["a", "b", "c", "d", "e", "y", "z"])
    );
    check_counters(&store);
}

#[test]
fn partitions_may_change_beside_a_load() {
    let engine = Interrupted::new();
    let store = store(&engine);
    let beside = Arc::clone(&store);
    engine.interrupt(move || {
        let left = beside.map(TABLE).unwrap().route(b"a").descriptor.id;
        beside.split(TABLE, left, b"c", Share::HALF).unwrap();
    });
    let rows = pairs(&["a", "b", "c", "d", "x"]);
    let committed = store.load(TABLE, rows.clone()).unwrap();
    assert_eq!(committed.partitions.len(), 3);
    let writes: Vec<_> = store
        .map(TABLE)
        .unwrap()
        .partitions()
        .iter()
        .map(|one| {
            (
                one.heat.totals().writes,
                one.heat.totals().multi_partition_txns,
            )
        })
        .collect();
    assert_eq!(writes, [(2, 1), (2, 1), (1, 1)]);
    assert_eq!(all(&store.view()), rows);
    check_counters(&store);

    let beside = Arc::clone(&store);
    engine.interrupt(move || beside.drop_table(TABLE).unwrap());
    store.load(TABLE, pairs(&["e"])).unwrap_err();
}

/// How many rows a load of the threads has, and how many loads each thread makes.
const LOADED: usize = 40;
const LOADS: usize = 25;

#[test]
fn loads_from_many_threads_are_seen_whole() {
    let store = store(&Interrupted::new());
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (store, done) = (&store, &done);
            scope.spawn(move || {
                for load in 0..LOADS {
                    let name =
                        |row| format!("{} {thread} {load}", if row % 2 == 0 { "k" } else { "n" });
                    let rows = (0..LOADED).map(|row| pair(&format!("{} {row}", name(row))));
                    store.load(TABLE, rows).unwrap();
                    set(store, &format!("beside {thread} {load}"));
                }
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        while done.load(Ordering::SeqCst) < 3 {
            let mut loads: BTreeMap<String, usize> = BTreeMap::new();
            for (key, _) in all(&store.view()) {
                let key = String::from_utf8(key.to_vec()).unwrap();
                let words: Vec<_> = key.split(' ').collect();
                if let [_, thread, load, _] = words.as_slice() {
                    *loads.entry(format!("{thread} {load}")).or_default() += 1;
                }
            }
            assert!(loads.values().all(|rows| *rows == LOADED), "{loads:?}");
        }
    });
    check_counters(&store);
    assert_eq!(all(&store.view()).len(), 3 * LOADS * (LOADED + 1));
}

#[test]
fn limits_and_the_empty_load() {
    let store = store(&Interrupted::new());
    let before = store.view().at();
    assert_eq!(store.load(TABLE, Vec::new()).unwrap().at, before);
    let keyless = store.load(TABLE, pairs(&["a", ""])).unwrap_err();
    assert!(matches!(keyless, Error::KeyLength { .. }), "{keyless}");
    store.load(TableId(9), pairs(&["a"])).unwrap_err();
    assert_eq!(all(&store.view()), []);
}

#[test]
fn on_disk_a_load_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    let open = move || {
        let path = path.clone();
        let fjall = move || -> Arc<dyn Engine> {
            Arc::new(FjallEngine::open(&path, FjallOptions::default()).unwrap())
        };
        Store::open(options(fjall)).unwrap()
    };
    let store = open();
    store
        .create_table(TABLE, &["k3".into()], Bytes::new())
        .unwrap();
    set(&store, "k2 and a half");
    let rows: Vec<_> = (0..5_000_u32)
        .map(|number| pair(&format!("k{}", number.wrapping_mul(2_654_435_761))))
        .collect();
    store.load(TABLE, rows.clone()).unwrap();
    set(&store, "last");
    let mut expected: BTreeMap<_, _> = rows.into_iter().collect();
    expected.extend(pairs(&["k2 and a half", "last"]));
    let expected: Vec<_> = expected.into_iter().collect();
    assert_eq!(all(&store.view()), expected);
    check_counters(&store);
    let at = store.view().at();
    drop(store);
    let store = open();
    assert!(store.view().at() > at);
    assert_eq!(all(&store.view()), expected);
    check_counters(&store);
    let again = store.load(TABLE, pairs(&["k1", "last"])).unwrap_err();
    assert!(matches!(again, Error::RowExists { .. }), "{again}");
}

/// Rows under few short keys, so that they meet.
fn some_rows() -> impl Strategy<Value = Vec<Pair>> {
    let key = proptest::collection::vec(b'k'..b'o', 1..4).prop_map(Bytes::from);
    proptest::collection::btree_map(key, proptest::collection::vec(any::<u8>(), 0..6), 0..30)
        .prop_map(|rows| {
            rows.into_iter()
                .map(|(key, row)| (key, row.into()))
                .collect()
        })
        .prop_shuffle()
}

proptest! {
    /// Loads are inserts: of all rows, or of none if one is there. A crash after each changes nothing.
    #[test]
    fn loads_do_what_inserts_do(
        loads in proptest::collection::vec((some_rows(), any::<bool>()), 1..6),
        deleted in proptest::collection::vec(0_usize..40, 0..6),
    ) {
        let medium = MemoryMedium::new();
        let open = || {
            let medium = medium.clone();
            Store::open(options(move || Arc::new(MemoryEngine::open(&medium)))).unwrap()
        };
        let mut store = open();
        store.create_table(TABLE, &["l".into(), "m".into()], Bytes::new()).unwrap();
        let mut model: BTreeMap<Bytes, Bytes> = BTreeMap::new();
        for (rows, crash) in loads {
            let before = store.view();
            let seen = all(&before);
            let clash = rows.iter().any(|(key, _)| model.contains_key(key));
            match store.load(TABLE, rows.clone()) {
                Ok(_) => {
                    prop_assert!(!clash);
                    model.extend(rows);
                }
                Err(Error::RowExists { key, .. }) => prop_assert!(model.contains_key(&key)),
                Err(error) => prop_assert!(false, "{}", error),
            }
            prop_assert_eq!(all(&before), seen);
            let expected: Vec<Pair> = model.clone().into_iter().collect();
            prop_assert_eq!(all(&store.view()), expected);
            check_counters(&store);
            drop(before);
            if crash {
                medium.crash(0);
                store = open();
                let expected: Vec<Pair> = model.clone().into_iter().collect();
                prop_assert_eq!(all(&store.view()), expected);
                check_counters(&store);
            }
            let mut txn = store.begin();
            for index in &deleted {
                if let Some(key) = model.keys().nth(*index).cloned() {
                    model.remove(&key);
                    txn.delete(TABLE, key).unwrap();
                }
            }
            txn.commit(Durability::Synced).unwrap();
        }
    }
}
