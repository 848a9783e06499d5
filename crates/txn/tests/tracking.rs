//! What a scan showed is what can conflict, whichever way it was shown: rows gone over one by one, taken
//! or visited, over rows in memory or not, merged with the transaction's own writes, up to any stop.

#![cfg(test)]

use std::collections::BTreeMap;
use std::sync::Arc;

use partitions::TableId;
use proptest::prelude::*;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{Bytes, Direction, Durability, Engine, KeyRange, MemoryEngine, SharedPlacement};
use txn::{Error, Options, Scan, Store, Transaction};

const TABLE: TableId = TableId(1);

/// Keys that may be there; so many that scans fill pages.
const KEYS: u16 = 120;

/// Room for all of them in memory.
const PAGES_BYTES_MAX: usize = 1 << 20;

/// A key that no scan is about, for what a transaction writes besides.
const ELSEWHERE: u16 = 1_000;

fn key(number: u16) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn store(splits: &[u16], rows: impl IntoIterator<Item = u16>) -> Arc<Store> {
    let engine = MemoryEngine::new();
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
    let clock = Arc::new(SimulatedClock::new(1));
    let placement = Arc::new(SharedPlacement::new(open));
    let mut options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    options.pages_bytes_max = PAGES_BYTES_MAX;
    let store = Store::open(options).unwrap();
    let splits: Vec<_> = splits.iter().map(|split| key(*split)).collect();
    store.create_table(TABLE, &splits, Bytes::new()).unwrap();
    let mut txn = store.begin();
    for number in rows {
        txn.put(TABLE, key(number), "stored".into()).unwrap();
    }
    txn.commit(Durability::Buffered).unwrap();
    store
}

/// Scans everything, so that the rows stay in memory.
fn warm(store: &Arc<Store>) {
    for _ in 0..2 {
        let scan = store
            .view()
            .scan(TABLE, &KeyRange::all(), Direction::Ascending);
        assert!(scan.unwrap().all(|pair| pair.is_ok()));
    }
}

/// How some rows of a scan are looked at.
#[derive(Clone, Copy, Debug)]
enum Way {
    Advance(usize),
    Take(usize),
    Visit(usize),
    /// A visitor that fails after so many rows.
    Break(usize),
}

/// Looks at rows; answers with their keys, and whether there are no more.
fn look(scan: &mut Scan, way: Way) -> (Vec<Bytes>, bool) {
    let mut keys = Vec::new();
    match way {
        Way::Advance(most) => {
            while keys.len() < most && scan.advance().unwrap() {
                keys.push(Bytes::copy_from_slice(scan.key()));
            }
            (keys.clone(), keys.len() < most)
        }
        Way::Take(most) => {
            keys.extend(scan.take(most).map(|pair| pair.unwrap().0));
            (keys.clone(), keys.len() < most)
        }
        Way::Visit(most) => {
            let shown = scan.visit(most, |key, _| {
                keys.push(Bytes::copy_from_slice(key));
                Ok::<_, Error>(())
            });
            assert_eq!(shown.unwrap(), keys.len());
            (keys.clone(), keys.len() < most)
        }
        Way::Break(after) => {
            let broken = scan.visit(usize::MAX, |key, _| {
                keys.push(Bytes::copy_from_slice(key));
                match keys.len() > after {
                    true => Err(Error::Ended),
                    false => Ok(()),
                }
            });
            (keys, broken.is_ok())
        }
    }
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        (0..9_usize).prop_map(Way::Advance),
        (0..9_usize).prop_map(Way::Take),
        (0..30_usize).prop_map(Way::Visit),
        (0..30_usize).prop_map(Way::Break),
    ]
}

/// What a transaction writes before it scans: a row, or that there is none.
fn own() -> impl Strategy<Value = BTreeMap<u16, bool>> {
    proptest::collection::btree_map(0..KEYS, any::<bool>(), 0..4)
}

#[derive(Clone, Debug)]
struct Case {
    missing: Vec<u16>,
    splits: Vec<u16>,
    warm: bool,
    own: BTreeMap<u16, bool>,
    from: u16,
    to: u16,
    direction: Direction,
    ways: Vec<Way>,
    changed: u16,
}

fn case() -> impl Strategy<Value = Case> {
    let direction = prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)];
    let splits = proptest::collection::btree_set(1..KEYS, 0..3);
    let table = (proptest::collection::vec(0..KEYS, 0..20), splits);
    let scan = (
        0..KEYS,
        0..KEYS,
        direction,
        proptest::collection::vec(way(), 1..4),
    );
    (table, any::<bool>(), own(), scan, 0..KEYS).prop_map(
        |((missing, splits), warm, own, (from, rows, direction, ways), changed)| Case {
            missing,
            splits: splits.into_iter().collect(),
            warm,
            own,
            from,
            to: from.saturating_add(rows),
            direction,
            ways,
            changed,
        },
    )
}

/// Writes, and scans as far as the case says. Answers with the keys that the scan went over: the first,
/// and where it ends.
fn scanned(txn: &mut Transaction, case: &Case) -> std::ops::Range<u16> {
    txn.put(TABLE, key(ELSEWHERE), "mine".into()).unwrap();
    for (number, row) in &case.own {
        match row {
            true => txn.put(TABLE, key(*number), "mine".into()).unwrap(),
            false => txn.delete(TABLE, key(*number)).unwrap(),
        }
    }
    let range = KeyRange::new(key(case.from), Some(key(case.to)));
    let mut scan = txn.scan(TABLE, &range, case.direction).unwrap();
    let mut last = None;
    for way in &case.ways {
        let (keys, ended) = look(&mut scan, *way);
        if ended {
            return case.from..case.to;
        }
        if let Some(key) = keys.last() {
            last = Some(u16::from_be_bytes(key.as_ref().try_into().unwrap()));
        }
    }
    match (last, case.direction) {
        (None, _) => case.from..case.from,
        (Some(last), Direction::Ascending) => case.from..last + 1,
        (Some(last), Direction::Descending) => last..case.to,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_scan_conflicts_with_what_it_went_over_and_with_nothing_else(case in case()) {
        let rows = (0..KEYS).filter(|number| !case.missing.contains(number));
        let store = store(&case.splits, rows);
        if case.warm {
            warm(&store);
        }
        let mut txn = store.begin();
        let seen = scanned(&mut txn, &case);
        let mut other = store.begin();
        other.put(TABLE, key(case.changed), "other".into()).unwrap();
        other.commit(Durability::Buffered).unwrap();
        match txn.commit(Durability::Buffered) {
            Err(Error::Conflict { .. }) => prop_assert!(seen.contains(&case.changed), "{seen:?}"),
            Ok(_) => prop_assert!(!seen.contains(&case.changed), "{seen:?}"),
            Err(error) => panic!("{error}"),
        }
    }
}
