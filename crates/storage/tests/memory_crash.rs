//! A crash of the memory engine keeps what was synced and a prefix of what was not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;
use storage::{
    Batch, Direction, Durability, Engine, Error, KeyRange, MemoryEngine, MemoryMedium, Pair,
    SpaceId,
};

const SPACE: SpaceId = SpaceId(1);
const OTHER: SpaceId = SpaceId(2);

fn all(engine: &MemoryEngine, space: SpaceId) -> Vec<Pair> {
    let view = engine.snapshot().unwrap();
    let scan = view
        .scan(space, &KeyRange::all(), Direction::Ascending)
        .unwrap();
    scan.map(Result::unwrap).collect()
}

fn write(engine: &MemoryEngine, number: u64, durability: Durability) {
    let mut batch = Batch::new();
    batch.put(SPACE, format!("{number:03}"), "here");
    batch.put(SPACE, "newest", number.to_string());
    batch.put(OTHER, format!("{number:03}"), "there");
    engine.write(batch, durability).unwrap();
}

proptest! {
    #[test]
    fn a_crash_keeps_the_synced_part_and_a_prefix_of_the_tail(
        synced in prop::collection::vec(any::<bool>(), 0..40),
        keep in 0_usize..50,
    ) {
        let medium = MemoryMedium::new();
        let engine = MemoryEngine::open(&medium);
        engine.create_space(SPACE).unwrap();
        engine.create_space(OTHER).unwrap();
        for (number, &synced) in (0..).zip(&synced) {
            write(&engine, number, if synced { Durability::Synced } else { Durability::Buffered });
        }
        let durable = synced.iter().rposition(|&synced| synced).map_or(0, |last| last + 1);
        prop_assert_eq!(medium.unsynced_batches(), synced.len() - durable);

        medium.crash(keep);
        let engine = MemoryEngine::open(&medium);
        let survivors = (durable + keep).min(synced.len());
        let expected: Vec<String> = (0..survivors).map(|number| format!("{number:03}")).collect();
        let keys = |space| -> Vec<Pair> {
            all(&engine, space).into_iter().filter(|(key, _)| key != "newest").collect()
        };
        prop_assert!(keys(SPACE).iter().map(|(key, _)| key).eq(&expected));
        prop_assert!(keys(OTHER).iter().map(|(key, _)| key).eq(&expected));
        let newest = engine.get(SPACE, b"newest").unwrap();
        prop_assert_eq!(newest, survivors.checked_sub(1).map(|last| last.to_string().into()));
        prop_assert_eq!(medium.unsynced_batches(), 0);
    }
}

#[test]
fn an_engine_that_was_open_during_a_crash_is_dead() {
    let medium = MemoryMedium::new();
    let engine = MemoryEngine::open(&medium);
    engine.create_space(SPACE).unwrap();
    engine.create_space(OTHER).unwrap();
    write(&engine, 1, Durability::Synced);
    let view = engine.snapshot().unwrap();
    medium.crash(0);
    let errors = [
        engine.get(SPACE, b"newest").unwrap_err(),
        engine.snapshot().err().unwrap(),
        engine
            .write(Batch::new(), Durability::Buffered)
            .unwrap_err(),
        engine.sync().unwrap_err(),
        engine.ingest(SPACE, &mut std::iter::empty()).unwrap_err(),
        engine.create_space(SPACE).unwrap_err(),
        engine.drop_space(SPACE).unwrap_err(),
        engine.spaces().unwrap_err(),
        engine.disk_bytes().unwrap_err(),
        view.get(SPACE, b"newest").unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    }
    let reopened = MemoryEngine::open(&medium);
    assert_eq!(reopened.get(SPACE, b"newest").unwrap().unwrap(), "1");
}

#[test]
fn a_change_of_spaces_takes_the_tail_before_it_along() {
    let medium = MemoryMedium::new();
    let engine = MemoryEngine::open(&medium);
    engine.create_space(SPACE).unwrap();
    engine.create_space(OTHER).unwrap();
    write(&engine, 1, Durability::Buffered);
    engine.drop_space(OTHER).unwrap();
    medium.crash(0);
    let engine = MemoryEngine::open(&medium);
    assert_eq!(engine.get(SPACE, b"newest").unwrap().unwrap(), "1");
    assert_eq!(engine.spaces().unwrap(), [SPACE]);
}
