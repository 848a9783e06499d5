//! fjall's flushes and compactions are counted, and counting them keeps every pair.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use storage::{
    Batch, Direction, Durability, Engine, EngineCounters, FjallEngine, FjallOptions, KeyRange,
    SpaceId,
};

const SPACE: SpaceId = SpaceId(1);
/// Writes after which there must have been flushes and compactions: fifty times what they take.
const WRITES_MAX: u64 = 10_000;
const FLUSHES: u64 = 12;
const COMPACTIONS: u64 = 2;

fn open(path: &Path) -> FjallEngine {
    let options = FjallOptions {
        memtable_bytes_max: 64 << 10,
        ..FjallOptions::default()
    };
    FjallEngine::open(path, options).unwrap()
}

fn keys(engine: &dyn Engine) -> u64 {
    let view = engine.snapshot().unwrap();
    let pairs = view
        .scan(SPACE, &KeyRange::all(), Direction::Ascending)
        .unwrap();
    let pairs: Vec<_> = pairs.map(|pair| pair.unwrap()).collect();
    pairs.len().try_into().unwrap()
}

#[test]
fn flushes_and_compactions_are_counted_and_keep_every_pair() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path());
    engine.create_space(SPACE).unwrap();
    assert_eq!(engine.counters(), EngineCounters::default());

    let (mut written, mut before) = (0, EngineCounters::default());
    while before.flushes < FLUSHES || before.compactions < COMPACTIONS {
        assert!(written < WRITES_MAX, "{before:?}");
        let mut batch = Batch::new();
        let key = written
            .wrapping_mul(0x9E37_79B9_7F4A_7C15_u64)
            .to_be_bytes();
        batch.put(SPACE, key.to_vec(), vec![b'x'; 8 << 10]);
        engine.write(batch, Durability::Synced).unwrap();
        written += 1;
        let after = engine.counters();
        assert!(after.flushes >= before.flushes && after.compactions >= before.compactions);
        before = after;
    }
    assert_eq!(keys(&engine), written);
    drop(engine);

    let engine = open(directory.path());
    assert_eq!(keys(&engine), written);
    let begun = engine.counters();
    assert!(begun.flushes < FLUSHES, "counted anew: {begun:?}");
    engine.drop_space(SPACE).unwrap();
    assert!(engine.counters().flushes >= begun.flushes);
}
