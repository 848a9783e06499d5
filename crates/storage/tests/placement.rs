//! Placements hand out engines, open them again after poison, and copy ranges whole.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use proptest::prelude::*;
use storage::{
    Batch, Bytes, Direction, Durability, Engine, EngineId, Fault, FaultyEngine, KeyRange,
    MemoryEngine, MemoryMedium, Pair, Placement, SeparatePlacement, SharedPlacement, SpaceId,
};

const ROWS: SpaceId = SpaceId(1);
const HISTORY: SpaceId = SpaceId(2);

fn all(engine: &dyn Engine, space: SpaceId) -> Vec<Pair> {
    let view = engine.snapshot().unwrap();
    let scan = view
        .scan(space, &KeyRange::all(), Direction::Ascending)
        .unwrap();
    scan.map(Result::unwrap).collect()
}

fn put(engine: &dyn Engine, space: SpaceId, key: &str, value: &str) {
    let mut batch = Batch::new();
    batch.put(space, key.to_owned(), value.to_owned());
    engine.write(batch, Durability::Synced).unwrap();
}

/// A separate placement over media that stay when engines are closed.
fn separate() -> (
    SeparatePlacement,
    Arc<Mutex<BTreeMap<EngineId, MemoryMedium>>>,
) {
    let media: Arc<Mutex<BTreeMap<EngineId, MemoryMedium>>> = Arc::default();
    let (opened, discarded) = (media.clone(), media.clone());
    let placement = SeparatePlacement::new(
        move |id| {
            Ok(Arc::new(MemoryEngine::open(
                opened.lock().entry(id).or_default(),
            )))
        },
        move |id| {
            discarded.lock().remove(&id);
            Ok(())
        },
    );
    (placement, media)
}

#[test]
fn a_shared_placement_has_one_engine_for_all() {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = opened.clone();
    let placement = SharedPlacement::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(MemoryEngine::new()))
    });
    assert_eq!(placement.assign(7), EngineId::META);
    let meta = placement.open(EngineId::META).unwrap();
    assert!(Arc::ptr_eq(
        &meta,
        &placement.open(placement.assign(7)).unwrap()
    ));
    meta.create_space(ROWS).unwrap();
    put(meta.as_ref(), ROWS, "a", "1");
    placement
        .copy(EngineId::META, EngineId::META, &[(ROWS, KeyRange::all())])
        .unwrap();
    placement.discard(EngineId::META).unwrap();
    assert_eq!(
        all(placement.open(EngineId::META).unwrap().as_ref(), ROWS).len(),
        1
    );
    assert_eq!(opened.load(Ordering::SeqCst), 1);
}

#[test]
fn a_poisoned_engine_is_opened_again() {
    let medium = MemoryMedium::new();
    let last: Arc<Mutex<Option<FaultyEngine>>> = Arc::default();
    let made = last.clone();
    let placement = SharedPlacement::new(move || {
        let engine = FaultyEngine::new(Arc::new(MemoryEngine::open(&medium)));
        *made.lock() = Some(engine.clone());
        Ok(Arc::new(engine))
    });
    let engine = placement.open(EngineId::META).unwrap();
    engine.create_space(ROWS).unwrap();
    last.lock()
        .as_ref()
        .unwrap()
        .inject(Fault::BreakSync { nth: 1 });
    engine.sync().unwrap_err();
    let again = placement.open(EngineId::META).unwrap();
    assert!(!Arc::ptr_eq(&engine, &again));
    put(again.as_ref(), ROWS, "a", "1");
}

#[test]
fn separate_engines_are_apart_and_discarded_for_good() {
    let (placement, media) = separate();
    let id = placement.assign(5);
    assert_eq!(id, EngineId(5));
    let engine = placement.open(id).unwrap();
    engine.create_space(ROWS).unwrap();
    put(engine.as_ref(), ROWS, "a", "1");
    assert_eq!(
        placement.open(EngineId::META).unwrap().spaces().unwrap(),
        []
    );
    assert!(Arc::ptr_eq(&engine, &placement.open(id).unwrap()));
    placement.discard(id).unwrap();
    placement.discard(id).unwrap();
    assert!(!media.lock().contains_key(&id));
    assert_eq!(placement.open(id).unwrap().spaces().unwrap(), []);
}

#[test]
#[should_panic(expected = "the metadata engine is never discarded")]
fn the_metadata_engine_is_never_discarded() {
    separate().0.discard(EngineId::META).unwrap();
}

#[test]
fn a_copy_is_durable_and_leaves_the_source_alone() {
    let (placement, media) = separate();
    let source = placement.open(EngineId(1)).unwrap();
    source.create_space(ROWS).unwrap();
    source.create_space(HISTORY).unwrap();
    for key in ["a", "b", "c", "d"] {
        put(source.as_ref(), ROWS, key, "row");
    }
    put(source.as_ref(), HISTORY, "b", "old");
    let range = KeyRange::new("b", Some(Bytes::from("d")));
    let parts = [
        (ROWS, range.clone()),
        (HISTORY, range),
        (SpaceId(9), KeyRange::all()),
    ];
    placement.copy(EngineId(1), EngineId(2), &parts).unwrap();
    let medium = media.lock().get(&EngineId(2)).unwrap().clone();
    medium.crash(0);
    let target = placement.open(EngineId(2)).unwrap();
    let keys: Vec<Bytes> = all(target.as_ref(), ROWS)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["b", "c"]);
    assert_eq!(all(target.as_ref(), HISTORY).len(), 1);
    assert_eq!(
        target.spaces().unwrap(),
        [ROWS, HISTORY],
        "no space that the source lacks"
    );
    assert_eq!(all(source.as_ref(), ROWS).len(), 4);
}

proptest! {
    #[test]
    fn a_copy_over_leftovers_gives_exactly_the_source(
        source in prop::collection::btree_map("[a-e]{1,2}", "[0-9]", 0..12),
        leftovers in prop::collection::btree_map("[a-e]{1,2}", "[0-9]", 0..12),
        lower in "[a-e]{0,2}",
        upper in prop::option::of("[a-e]{1,2}"),
    ) {
        let (placement, _media) = separate();
        let (from, to) = (placement.open(EngineId(1)).unwrap(), placement.open(EngineId(2)).unwrap());
        for (engine, rows) in [(&from, &source), (&to, &leftovers)] {
            engine.create_space(ROWS).unwrap();
            for (key, value) in rows {
                put(engine.as_ref(), ROWS, key, value);
            }
        }
        let range = KeyRange::new(lower, upper.map(Bytes::from));
        let inside = |pair: &Pair| range.contains(&pair.0);
        let mut expected: Vec<Pair> = all(from.as_ref(), ROWS).into_iter().filter(inside).collect();
        expected.extend(all(to.as_ref(), ROWS).into_iter().filter(|pair| !inside(pair)));
        expected.sort();
        for _ in 0..2 {
            placement.copy(EngineId(1), EngineId(2), &[(ROWS, range.clone())]).unwrap();
            prop_assert_eq!(&all(to.as_ref(), ROWS), &expected);
        }
    }
}
