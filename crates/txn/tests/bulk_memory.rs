//! What rows in bulk cost in memory. Alone in its process, because the process is what is measured.

#![cfg(test)]
#![cfg(target_os = "linux")]

use std::sync::Arc;

use partitions::TableId;
use storage::env::{SeededRandom, SimulatedClock};
use storage::{Bytes, Durability, Engine, FjallEngine, FjallOptions, SharedPlacement};
use txn::{Options, Store};

const TABLE: TableId = TableId(1);
const ROWS: u64 = 300_000;
const ROW_BYTES: usize = 100;

/// What a row of a hundred bytes may take at the most, at any moment.
const BYTES_A_ROW_MAX: u64 = 150;

/// What the engine takes besides: blocks on their way to the disk, and what it keeps in mind.
const ENGINE_BYTES_MAX: u64 = 16 << 20;

/// The most memory that this process ever had.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_transaction_with_rows_in_bulk_takes_little_more_than_the_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    let open = move || -> storage::Result<Arc<dyn Engine>> {
        Ok(Arc::new(FjallEngine::open(&path, FjallOptions::default())?))
    };
    let clock = Arc::new(SimulatedClock::new(1_000));
    let placement = Arc::new(SharedPlacement::new(open));
    let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
    let store = Store::open(options).unwrap();
    store.create_table(TABLE, &[], Bytes::new()).unwrap();
    let before = peak_bytes();
    let row = [7; ROW_BYTES];
    let rows = (0..ROWS).map(|number| (number.to_be_bytes(), row));
    let mut txn = store.begin();
    assert!(txn.insert_bulk(TABLE, rows.collect()).unwrap().is_none());
    txn.put(TABLE, "beside".into(), "x".into()).unwrap();
    txn.commit(Durability::Synced).unwrap();
    let grown = peak_bytes() - before;
    let most = ROWS * BYTES_A_ROW_MAX + ENGINE_BYTES_MAX;
    assert!(grown < most, "{grown} bytes for {ROWS} rows");
    assert!(grown > ROWS * 100, "{grown} bytes: nothing was measured");
    let last = store.view().get(TABLE, &(ROWS - 1).to_be_bytes());
    assert_eq!(last.unwrap(), Some(Bytes::copy_from_slice(&row)));
}
