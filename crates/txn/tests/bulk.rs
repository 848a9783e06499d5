//! Transactions that bring very many rows at once: what they see, what others see, what a crash leaves.

#![cfg(test)]

use std::sync::Arc;

use parking_lot::Mutex;
use partitions::{Share, TableId};
use storage::env::{SeededRandom, SimulatedClock};
use storage::{
    Bytes, Direction, Durability, Engine, Fault, FaultyEngine, KeyRange, MemoryEngine,
    MemoryMedium, Pair, SharedPlacement,
};
use txn::{Error, Options, Store, Transaction};

const BIG: TableId = TableId(1);
const SMALL: TableId = TableId(2);

/// From how many rows on a transaction has them in bulk.
const BULK: usize = 3;

struct Ground {
    medium: MemoryMedium,
    engine: Arc<Mutex<Option<Arc<FaultyEngine>>>>,
}

impl Ground {
    fn new() -> Self {
        Self {
            medium: MemoryMedium::new(),
            engine: Arc::default(),
        }
    }

    fn open(&self) -> Arc<Store> {
        let (medium, slot) = (self.medium.clone(), Arc::clone(&self.engine));
        let open = move || -> storage::Result<Arc<dyn Engine>> {
            let memory = Arc::new(MemoryEngine::open(&medium));
            let engine = Arc::new(FaultyEngine::new(memory));
            *slot.lock() = Some(Arc::clone(&engine));
            Ok(engine)
        };
        let clock = Arc::new(SimulatedClock::new(1_000));
        let placement = Arc::new(SharedPlacement::new(open));
        let mut options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
        options.ingest_rows_min = BULK;
        Store::open(options).unwrap()
    }

    fn open_new(&self) -> Arc<Store> {
        let store = self.open();
        store
            .create_table(BIG, &["m".into()], Bytes::new())
            .unwrap();
        store.create_table(SMALL, &[], Bytes::new()).unwrap();
        store
    }

    fn inject(&self, fault: Fault) {
        self.engine.lock().as_ref().unwrap().inject(fault);
    }
}

fn pair(key: &str) -> Pair {
    let row = format!("row {key}");
    (Bytes::copy_from_slice(key.as_bytes()), row.into())
}

fn pairs(keys: &[&str]) -> Vec<Pair> {
    keys.iter().map(|key| pair(key)).collect()
}

fn put(txn: &mut Transaction, table: TableId, key: &str, row: &str) {
    let row = Bytes::copy_from_slice(row.as_bytes());
    txn.put(table, pair(key).0, row).unwrap();
}

fn set(store: &Arc<Store>, table: TableId, key: &str) {
    let mut txn = store.begin();
    put(&mut txn, table, key, "set");
    txn.commit(Durability::Synced).unwrap();
}

fn keys(rows: txn::Scan) -> Vec<String> {
    let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    rows.map(|row| text(row.unwrap().0)).collect()
}

fn all(store: &Arc<Store>, table: TableId) -> Vec<String> {
    let rows = store
        .view()
        .scan(table, &KeyRange::all(), Direction::Ascending);
    keys(rows.unwrap())
}

fn own(txn: &Transaction) -> Vec<String> {
    keys(
        txn.scan(BIG, &KeyRange::all(), Direction::Ascending)
            .unwrap(),
    )
}

fn check_counters(store: &Store) {
    for table in [BIG, SMALL] {
        for one in store.map(table).unwrap().partitions() {
            let counts = one.counters.counts();
            let measured = store.measure(table, one.descriptor.id).unwrap();
            assert!(
                !counts.exact() || counts.totals() == measured.totals,
                "{counts:?} is not {measured:?}"
            );
        }
    }
}

/// Whether a transaction had nothing to give back, and so has the rows in bulk.
fn takes(txn: &mut Transaction, keys: &[&str]) -> bool {
    txn.insert_bulk(BIG, pairs(keys).into_iter().collect())
        .unwrap()
        .is_none()
}

#[test]
fn rows_in_bulk_are_seen_changed_and_committed_like_others() {
    let ground = Ground::new();
    let store = ground.open_new();
    set(&store, BIG, "b");
    let mut txn = store.begin();
    assert!(takes(&mut txn, &["z", "a", "c"]));
    assert_eq!(own(&txn), ["a", "b", "c", "z"]);
    assert_eq!(txn.get(BIG, b"z").unwrap(), Some(pair("z").1));
    assert!(takes(&mut txn, &["y", "d", "x"]));
    // Changed after they came: they are edits from then on, and the last one holds.
    put(&mut txn, BIG, "c", "changed");
    txn.delete(BIG, "x".into()).unwrap();
    put(&mut txn, BIG, "bb", "beside");
    assert_eq!(own(&txn), ["a", "b", "bb", "c", "d", "y", "z"]);
    txn.commit(Durability::Synced).unwrap();
    assert_eq!(all(&store, BIG), ["a", "b", "bb", "c", "d", "y", "z"]);
    assert_eq!(store.view().get(BIG, b"c").unwrap(), Some("changed".into()));
    check_counters(&store);
}

#[test]
fn what_is_there_or_comes_twice_is_refused() {
    let ground = Ground::new();
    let store = ground.open_new();
    set(&store, BIG, "b");
    let mut txn = store.begin();
    let error = txn
        .insert_bulk(BIG, pairs(&["a", "b", "c"]).into_iter().collect())
        .unwrap_err();
    assert!(
        matches!(&error, Error::RowExists { key, .. } if *key == "b"),
        "{error}"
    );
    let error = txn
        .insert_bulk(BIG, pairs(&["a", "c", "a"]).into_iter().collect())
        .unwrap_err();
    assert!(
        matches!(&error, Error::RowTwice { key, .. } if *key == "a"),
        "{error}"
    );
    assert!(takes(&mut txn, &["d", "e", "f"]));
    let error = txn
        .insert_bulk(BIG, pairs(&["g", "h", "e"]).into_iter().collect())
        .unwrap_err();
    assert!(
        matches!(&error, Error::RowExists { key, .. } if *key == "e"),
        "{error}"
    );
    // Few rows, rows that were touched before, and rows that may be taken back alone stay apart.
    assert!(!takes(&mut txn, &["i", "j"]));
    put(&mut txn, BIG, "k", "edited");
    assert!(!takes(&mut txn, &["k", "l", "m"]));
    txn.savepoint();
    assert!(!takes(&mut txn, &["n", "o", "p"]));
    txn.commit(Durability::Synced).unwrap();
    assert_eq!(all(&store, BIG), ["b", "d", "e", "f", "k"]);
}

#[test]
fn who_comes_first_wins() {
    for dissolved in [false, true] {
        let ground = Ground::new();
        let store = ground.open_new();
        set(&store, SMALL, "read");
        // Somebody else brings one of the rows.
        let mut txn = store.begin();
        assert!(takes(&mut txn, &["a", "b", "c"]));
        if dissolved {
            txn.delete(BIG, "a".into()).unwrap();
        }
        set(&store, BIG, "b");
        let error = txn.commit(Durability::Synced).unwrap_err();
        let right = match error {
            Error::RowExists { .. } => !dissolved,
            Error::Conflict { .. } => dissolved,
            _ => false,
        };
        assert!(right, "{error}");
        // Somebody else changes what was read.
        let mut txn = store.begin();
        txn.get(SMALL, b"read").unwrap();
        assert!(takes(&mut txn, &["d", "e", "f"]));
        if dissolved {
            txn.delete(BIG, "d".into()).unwrap();
        }
        set(&store, SMALL, "read");
        let error = txn.commit(Durability::Synced).unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error}");
        assert_eq!(all(&store, BIG), ["b"]);
        check_counters(&store);
    }
}

#[test]
fn a_snapshot_from_before_sees_none_of_it() {
    let ground = Ground::new();
    let store = ground.open_new();
    set(&store, SMALL, "s");
    let before = store.view();
    let mut reads = store.begin();
    reads.get(SMALL, b"s").unwrap();
    put(&mut reads, SMALL, "late", "x");
    let mut txn = store.begin();
    assert!(takes(&mut txn, &["a", "n", "z"]));
    txn.delete(SMALL, "s".into()).unwrap();
    put(&mut txn, SMALL, "t", "new");
    let committed = txn.commit(Durability::Synced).unwrap();
    assert_eq!(committed.partitions.len(), 3);
    assert_eq!(before.get(SMALL, b"s").unwrap(), Some("set".into()));
    assert_eq!(before.get(BIG, b"a").unwrap(), None);
    assert_eq!(
        (all(&store, BIG).len(), all(&store, SMALL)),
        (3, vec!["t".to_owned()])
    );
    let error = reads.commit(Durability::Synced).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    check_counters(&store);
}

#[test]
fn partitions_may_change_meanwhile() {
    let ground = Ground::new();
    let store = ground.open_new();
    let mut txn = store.begin();
    assert!(takes(&mut txn, &["a", "b", "c"]));
    put(&mut txn, SMALL, "s", "x");
    let left = store.map(BIG).unwrap().route(b"a").descriptor.id;
    store.split(BIG, left, b"b", Share::HALF).unwrap();
    assert_eq!(txn.commit(Durability::Synced).unwrap().partitions.len(), 3);
    assert_eq!(all(&store, BIG), ["a", "b", "c"]);
    check_counters(&store);
}

/// A commit makes three writes: what is to come, the rows, and the rest. Whatever happens to each of
/// them, and however much of what was not synced a crash leaves, all of it is there or none.
#[test]
fn a_crash_at_any_step_leaves_all_or_nothing() {
    let (mut whole, mut nothing) = (0, 0);
    for nth in 1..=4 {
        for keep in 0..4 {
            for fault in [Fault::RefuseWrite { nth }, Fault::BreakWrite { nth }] {
                let ground = Ground::new();
                let store = ground.open_new();
                set(&store, SMALL, "gone");
                store.sync().unwrap();
                ground.inject(fault);
                let mut txn = store.begin();
                assert!(takes(&mut txn, &["a", "n", "z"]));
                put(&mut txn, SMALL, "new", "x");
                put(&mut txn, BIG, "b", "x");
                txn.delete(SMALL, "gone".into()).unwrap();
                let outcome = txn.commit(Durability::Synced);
                drop(store);
                ground.medium.crash(keep);
                let store = ground.open();
                let found = (all(&store, BIG), all(&store, SMALL));
                let text = format!("{fault:?}, {keep} kept: {outcome:?}, {found:?}");
                match found.0.len() {
                    4 => {
                        assert_eq!(found.1, ["new"], "{text}");
                        whole += 1;
                    }
                    _ => {
                        assert!(outcome.is_err(), "{text}");
                        assert_eq!(found, (vec![], vec!["gone".to_owned()]), "{text}");
                        nothing += 1;
                    }
                }
                check_counters(&store);
                // And it goes on from there.
                set(&store, BIG, "after");
                set(&store, SMALL, "after");
                drop(store);
                let again = ground.open();
                assert_eq!(all(&again, BIG).len(), found.0.len() + 1, "{text}");
                assert_eq!(all(&again, SMALL).len(), found.1.len() + 1, "{text}");
            }
        }
    }
    assert!(whole > 8 && nothing > 8, "{whole} and {nothing}");
}
