//! What was scanned stays in memory, and nobody can tell from the rows: each read answers as a model
//! of the table does, at its snapshot, whatever was scanned, written, loaded or split in between.

#![cfg(test)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use partitions::{Share, TableId};
use proptest::prelude::*;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{Bytes, Direction, Durability, Engine, KeyRange, MemoryEngine, SharedPlacement};
use txn::{Options, Store, View};

const TABLE: TableId = TableId(1);

/// So many keys that scans fill pages, and writes meet them.
const KEYS: u16 = 400;

/// Room for about six pages, so that some have to go.
const PAGES_BYTES_MAX: usize = 20_000;

type Model = BTreeMap<u16, u32>;

fn store(pages_bytes_max: usize) -> Arc<Store> {
    let engine = MemoryEngine::new();
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
    let clock = Arc::new(SimulatedClock::new(1));
    let placement = Arc::new(SharedPlacement::new(open));
    let mut options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    options.pages_bytes_max = pages_bytes_max;
    options.ingest_rows_min = 2;
    let store = Store::open(options).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    store
}

fn key(number: u16) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn row(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn range(from: u16, to: u16) -> KeyRange {
    KeyRange::new(key(from), Some(key(to)))
}

fn numbers(key: &[u8], row: &[u8]) -> (u16, u32) {
    let key = u16::from_be_bytes(key.try_into().unwrap());
    (key, u32::from_be_bytes(row.try_into().unwrap()))
}

/// The first rows of a range, looked at in place.
fn looked_at(
    view: &Arc<View>,
    range: &KeyRange,
    direction: Direction,
    most: usize,
) -> Vec<(u16, u32)> {
    let mut scan = view.scan(TABLE, range, direction).unwrap();
    let mut rows = Vec::new();
    while rows.len() < most && scan.advance().unwrap() {
        let (key, row) = scan.row();
        rows.push(numbers(key, row));
    }
    rows
}

/// The same, taken as an iterator.
fn taken(view: &Arc<View>, range: &KeyRange, direction: Direction, most: usize) -> Vec<(u16, u32)> {
    let scan = view.scan(TABLE, range, direction).unwrap();
    let pairs = scan.take(most).map(Result::unwrap);
    pairs.map(|(key, row)| numbers(&key, &row)).collect()
}

fn expected(
    model: &Model,
    from: u16,
    to: u16,
    direction: Direction,
    most: usize,
) -> Vec<(u16, u32)> {
    let mut rows: Vec<_> = model
        .range(from..to)
        .map(|(key, row)| (*key, *row))
        .collect();
    if direction == Direction::Descending {
        rows.reverse();
    }
    rows.truncate(most);
    rows
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u16>),
    Delete(Vec<u16>),
    Load(u16, u16),
    /// Remembers the table as it is now.
    Look,
    /// Reads at one of the snapshots that are remembered.
    Scan {
        which: usize,
        from: u16,
        rows: u16,
        most: usize,
        backwards: bool,
    },
    Get {
        which: usize,
        key: u16,
    },
    Split(u16),
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || proptest::collection::vec(0..KEYS, 1..4);
    let scan = (0..4_usize, 0..KEYS, 0..KEYS, 0..200_usize, 0..8);
    prop_oneof![
        3 => keys().prop_map(Step::Put),
        2 => keys().prop_map(Step::Delete),
        1 => (0..KEYS, 2..20_u16).prop_map(|(from, rows)| Step::Load(from, rows)),
        2 => Just(Step::Look),
        10 => scan.prop_map(|(which, from, rows, most, way)| Step::Scan {
            which, from, rows, most, backwards: way == 0
        }),
        4 => (0..4_usize, 0..KEYS).prop_map(|(which, key)| Step::Get { which, key }),
        1 => (1..KEYS).prop_map(Step::Split),
        1 => Just(Step::Collect),
    ]
}

/// The store, and what it should hold now and at the snapshots that are remembered.
struct Pair {
    store: Arc<Store>,
    model: Model,
    snapshots: Vec<(Arc<View>, Model)>,
    written: u32,
}

impl Pair {
    fn new() -> Self {
        let store = store(PAGES_BYTES_MAX);
        let mut pair = Self {
            store,
            model: Model::new(),
            snapshots: Vec::new(),
            written: 0,
        };
        pair.write((0..KEYS).step_by(2), true);
        pair.look();
        pair
    }

    fn write(&mut self, keys: impl IntoIterator<Item = u16>, put: bool) {
        let mut txn = self.store.begin();
        for number in keys {
            self.written += 1;
            if put {
                txn.put(TABLE, key(number), row(self.written)).unwrap();
                self.model.insert(number, self.written);
            } else {
                txn.delete(TABLE, key(number)).unwrap();
                self.model.remove(&number);
            }
        }
        txn.commit(Durability::Buffered).unwrap();
    }

    /// Loads those rows of a range that are not there.
    fn load(&mut self, from: u16, rows: u16) {
        self.written += 1;
        let missing = (from..from + rows).filter(|number| !self.model.contains_key(number));
        let missing: Vec<u16> = missing.collect();
        let pairs = missing
            .iter()
            .map(|number| (key(*number), row(self.written)));
        self.store.load(TABLE, pairs).unwrap();
        self.model
            .extend(missing.iter().map(|number| (*number, self.written)));
    }

    fn look(&mut self) {
        self.snapshots
            .insert(0, (self.store.view(), self.model.clone()));
        self.snapshots.truncate(4);
    }

    fn split(&mut self, at: u16) {
        let map = self.store.map(TABLE).unwrap();
        let partition = map.route(&key(at)).descriptor.clone();
        if partition.range.lower != key(at) {
            self.store
                .split(TABLE, partition.id, &key(at), Share::HALF)
                .unwrap();
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Put(keys) => self.write(keys, true),
            Step::Delete(keys) => self.write(keys, false),
            Step::Load(from, rows) => self.load(from, rows),
            Step::Look => self.look(),
            Step::Split(at) => self.split(at),
            Step::Collect => {
                self.store.collect().unwrap();
            }
            Step::Scan {
                which,
                from,
                rows,
                most,
                backwards,
            } => {
                let (view, model) = &self.snapshots[which % self.snapshots.len()];
                let direction = if backwards {
                    Direction::Descending
                } else {
                    Direction::Ascending
                };
                let to = from + rows;
                let right = expected(model, from, to, direction, most);
                assert_eq!(looked_at(view, &range(from, to), direction, most), right);
                assert_eq!(taken(view, &range(from, to), direction, most), right);
            }
            Step::Get { which, key: number } => {
                let (view, model) = &self.snapshots[which % self.snapshots.len()];
                let found = view.get(TABLE, &key(number)).unwrap();
                let found = found.map(|row| numbers(&key(number), &row).1);
                assert_eq!(found, model.get(&number).copied());
            }
        }
    }
}

proptest! {
    #[test]
    fn reads_answer_as_the_model_does(steps in proptest::collection::vec(step(), 1..120)) {
        let mut pair = Pair::new();
        for step in steps {
            pair.take(step);
        }
    }
}

/// Money moves between accounts while everyone scans: each scan finds all of it.
#[test]
fn scans_beside_writers_see_one_moment() {
    const ACCOUNTS: u16 = 300;
    const TRANSFERS: u16 = 2_000;
    let store = store(1 << 20);
    let mut txn = store.begin();
    for number in 0..ACCOUNTS {
        txn.put(TABLE, key(number), row(100)).unwrap();
    }
    txn.commit(Durability::Buffered).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let view = store.view();
                    let all = looked_at(&view, &KeyRange::all(), Direction::Ascending, usize::MAX);
                    let sum: u32 = all.iter().map(|(_, money)| money).sum();
                    assert_eq!(
                        (all.len(), sum),
                        (usize::from(ACCOUNTS), u32::from(ACCOUNTS) * 100)
                    );
                }
            });
        }
        for step in 0..TRANSFERS {
            let (from, to) = (key(step * 7 % ACCOUNTS), key(step * 13 % ACCOUNTS));
            let mut txn = store.begin();
            let money = |txn: &txn::Transaction, key: &Bytes| {
                numbers(key, &txn.get(TABLE, key).unwrap().unwrap()).1
            };
            let left = money(&txn, &from).saturating_sub(1);
            let moved = money(&txn, &from) - left;
            txn.put(TABLE, from, row(left)).unwrap();
            let more = money(&txn, &to) + moved;
            txn.put(TABLE, to, row(more)).unwrap();
            txn.commit(Durability::Buffered).unwrap();
        }
        done.store(true, Ordering::Release);
    });
}
