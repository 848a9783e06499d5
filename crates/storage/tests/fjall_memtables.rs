//! Memtables under pressure: flushes go on whatever the number of threads, memory is bounded over all
//! spaces together, and an engine with many spaces opens again.

#![cfg(test)]
use std::time::Duration;

use storage::env::{Clock, SystemClock};
use storage::{Batch, Durability, Engine, FjallEngine, FjallOptions, SpaceId};

fn value(seed: u64, bytes: usize) -> Vec<u8> {
    let words =
        (0_u64..).map(|word| xxhash_rust::xxh3::xxh3_64(&(seed, word).0.to_le_bytes()) ^ word);
    words.flat_map(u64::to_le_bytes).take(bytes).collect()
}

/// One thread that flushes and compacts, two spaces, memtables that are full every 64 batches.
#[test]
fn one_worker_keeps_flushing() {
    let folder = tempfile::tempdir().unwrap();
    let options = FjallOptions {
        memtable_bytes_max: 64 << 10,
        worker_threads: Some(1),
        ..FjallOptions::default()
    };
    let engine = FjallEngine::open(folder.path(), options).unwrap();
    for space in [1, 2] {
        engine.create_space(SpaceId(space)).unwrap();
    }
    let clock = SystemClock::new();
    let mut written: u64 = 0;
    while clock.monotonic() < Duration::from_secs(5) {
        let mut batch = Batch::new();
        for space in [1, 2] {
            batch.put(
                SpaceId(space),
                written.to_be_bytes().to_vec(),
                value(written, 1_024),
            );
        }
        engine.write(batch, Durability::Buffered).unwrap();
        written += 1;
    }
    let bytes = written * 2 * 1_024;
    let flushes = engine.counters().flushes;
    println!("{written} batches, {flushes} flushes");
    // Each takes away at most three times its size: what waits is bounded.
    assert!(
        flushes * 4 * (64 << 10) > bytes,
        "{flushes} flushes of {bytes} bytes"
    );
    for space in [1, 2] {
        let last = engine
            .get(SpaceId(space), &(written - 1).to_be_bytes())
            .unwrap();
        assert_eq!(last.as_deref(), Some(value(written - 1, 1_024).as_slice()));
    }
}

/// Spaces that are each far below their size do not add up to more than all may have.
#[test]
fn many_spaces_together_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let options = FjallOptions {
        memtable_bytes_max: 1 << 20,
        memtables_bytes_max: 4 << 20,
        ..FjallOptions::default()
    };
    let engine = FjallEngine::open(folder.path(), options.clone()).unwrap();
    let spaces: Vec<_> = (1..=40).map(SpaceId).collect();
    for space in &spaces {
        engine.create_space(*space).unwrap();
    }
    for row in 0_u64..40 {
        for space in &spaces {
            let mut batch = Batch::new();
            batch.put(*space, row.to_be_bytes().to_vec(), value(row, 8 << 10));
            engine.write(batch, Durability::Buffered).unwrap();
        }
    }
    // 12 MiB in all, 320 KiB in each.
    let flushes = engine.counters().flushes;
    assert!(flushes > 0, "nothing was flushed");
    drop(engine);
    let engine = FjallEngine::open(folder.path(), options).unwrap();
    for space in &spaces {
        for row in 0_u64..40 {
            let found = engine.get(*space, &row.to_be_bytes()).unwrap();
            assert_eq!(found.as_deref(), Some(value(row, 8 << 10).as_slice()));
        }
    }
}

/// fjall asks for each space with tables on its first level to be compacted before it has threads that
/// hear it.
#[test]
fn more_spaces_than_messages_open_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = FjallOptions {
        memtable_bytes_max: 4 << 10,
        ..FjallOptions::default()
    };
    let engine = FjallEngine::open(folder.path(), options.clone()).unwrap();
    let spaces: Vec<_> = (1..=1_100).map(SpaceId).collect();
    for space in &spaces {
        engine.create_space(*space).unwrap();
    }
    for round in 1..=2 {
        for space in &spaces {
            let mut batch = Batch::new();
            batch.put(*space, "a", value(space.0, 3 << 10));
            batch.put(*space, "z", value(space.0, 3 << 10));
            engine.write(batch, Durability::Buffered).unwrap();
        }
        let clock = SystemClock::new();
        while engine.counters().flushes < round * 1_100
            && clock.monotonic() < Duration::from_secs(100)
        {
            engine.write(Batch::new(), Durability::Synced).unwrap();
        }
        assert_eq!(engine.counters().flushes, round * 1_100);
    }
    drop(engine);
    let engine = FjallEngine::open(folder.path(), options).unwrap();
    for space in &spaces {
        let found = engine.get(*space, b"a").unwrap();
        assert_eq!(found.as_deref(), Some(value(space.0, 3 << 10).as_slice()));
    }
}
