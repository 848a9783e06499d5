//! The faulty engine fails where it was told to, and means it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use storage::{
    Batch, Bytes, Direction, Durability, Engine, Error, Fault, FaultyEngine, KeyRange,
    MemoryEngine, MemoryMedium, SpaceId,
};

const SPACE: SpaceId = SpaceId(1);

fn engine() -> FaultyEngine {
    let engine = FaultyEngine::new(Arc::new(MemoryEngine::new()));
    engine.create_space(SPACE).unwrap();
    engine
}

fn put(engine: &FaultyEngine, key: &'static str) -> storage::Result<()> {
    let mut batch = Batch::new();
    batch.put(SPACE, key, "");
    engine.write(batch, Durability::Buffered)
}

fn has(engine: &FaultyEngine, key: &str) -> bool {
    engine.get(SPACE, key.as_bytes()).unwrap().is_some()
}

#[test]
fn a_refused_write_changes_nothing_and_the_engine_goes_on() {
    let engine = engine();
    engine.inject(Fault::RefuseWrite { nth: 2 });
    put(&engine, "a").unwrap();
    let error = put(&engine, "b").unwrap_err();
    assert_eq!(
        error.to_string(),
        "write to the faulty engine: injected fault: write refused"
    );
    put(&engine, "c").unwrap();
    assert_eq!(
        [has(&engine, "a"), has(&engine, "b"), has(&engine, "c")],
        [true, false, true]
    );
    assert!(!engine.is_poisoned());
}

#[test]
fn a_broken_write_is_there_and_poisons() {
    let engine = engine();
    engine.inject(Fault::BreakWrite { nth: 1 });
    assert!(matches!(put(&engine, "a").unwrap_err(), Error::Io { .. }));
    assert!(engine.is_poisoned());
    assert!(has(&engine, "a"), "reads go on");
    let refused = [
        put(&engine, "b").unwrap_err(),
        engine
            .write(Batch::new(), Durability::Buffered)
            .unwrap_err(),
        engine.sync().unwrap_err(),
        engine.create_space(SpaceId(2)).unwrap_err(),
        engine.drop_space(SPACE).unwrap_err(),
        engine.ingest(SPACE, &mut std::iter::empty()).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    }
    assert!(!has(&engine, "b"));
}

#[test]
fn a_broken_sync_poisons_until_wrapped_again() {
    let medium = MemoryMedium::new();
    let inner: Arc<dyn Engine> = Arc::new(MemoryEngine::open(&medium));
    let engine = FaultyEngine::new(inner.clone());
    engine.create_space(SPACE).unwrap();
    put(&engine, "a").unwrap();
    engine.inject(Fault::BreakSync { nth: 1 });
    engine.sync().unwrap_err();
    assert_eq!(medium.unsynced_batches(), 1, "the sync did not happen");
    assert!(matches!(
        put(&engine, "b").unwrap_err(),
        Error::Poisoned { .. }
    ));
    let again = FaultyEngine::new(inner);
    put(&again, "b").unwrap();
}

#[test]
fn faults_strike_an_ingestion_where_its_rows_would_appear() {
    let engine = engine();
    let rows = || std::iter::once((Bytes::from("a"), Bytes::new()));
    engine.inject(Fault::RefuseWrite { nth: 2 });
    let refused = engine.ingest_when(SPACE, &mut rows(), &mut || put(&engine, "b").is_ok());
    assert!(matches!(refused.unwrap_err(), Error::Io { .. }));
    assert!(!has(&engine, "a") && has(&engine, "b") && !engine.is_poisoned());
    engine.inject(Fault::BreakWrite { nth: 1 });
    let unready = engine.ingest_when(SPACE, &mut rows(), &mut || false);
    assert_eq!(unready.unwrap(), None, "what does not happen cannot fail");
    engine.ingest(SPACE, &mut rows()).unwrap_err();
    assert!(has(&engine, "a") && engine.is_poisoned());
}

#[test]
fn a_read_fails_in_the_middle_of_a_scan() {
    let engine = engine();
    let mut rows = ["a", "b", "c"]
        .into_iter()
        .map(|key| (Bytes::from(key), Bytes::new()));
    engine.ingest(SPACE, &mut rows).unwrap();
    engine.inject(Fault::FailRead { nth: 3 });
    let view = engine.snapshot().unwrap();
    assert!(view.get(SPACE, b"a").unwrap().is_some());
    let scan = view
        .scan(SPACE, &KeyRange::all(), Direction::Ascending)
        .unwrap();
    let outcomes: Vec<bool> = scan.map(|pair| pair.is_ok()).collect();
    assert_eq!(outcomes, [true, false, true]);
    assert!(!engine.is_poisoned());
    put(&engine, "d").unwrap();
}

#[test]
fn faults_strike_once_and_can_be_taken_back() {
    let engine = engine();
    engine.inject(Fault::RefuseWrite { nth: 1 });
    engine.inject(Fault::RefuseWrite { nth: 3 });
    engine.inject(Fault::RefuseWrite { nth: 9 });
    let outcomes: Vec<bool> = (0..4).map(|_| put(&engine, "a").is_ok()).collect();
    assert_eq!(outcomes, [false, true, false, true]);
    engine.clear_faults();
    assert!((0..20).all(|_| put(&engine, "a").is_ok()));
}
