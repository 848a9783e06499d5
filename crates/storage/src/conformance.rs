//! The conformance suite: what every engine does, so that engines differ in speed, never in results.
//!
//! [`run`] takes a way to open one store, empty at first, and panics at the first claim that does not
//! hold. Each claim works in a space of its own. The store is opened again between claims, never
//! while an earlier handle is still alive.
//!
//! [`compare_with_model`] draws batches, ingestions and scans from a seed and holds the engine
//! against a `BTreeMap`.

mod model;
mod pairs;
mod spaces;
mod views;

use std::sync::Arc;

use bytes::Bytes;

use crate::{Batch, Direction, Durability, Engine, KeyRange, Pair, Scan, Snapshot, SpaceId};

pub use model::compare_with_model;

/// How many random steps [`run`] takes for each of its seeds.
const MODEL_STEPS: usize = 400;

/// The seeds that [`run`] compares with the model.
const MODEL_SEEDS: [u64; 3] = [1, 2, 3];

/// Opens a store.
pub type Open<'a> = &'a mut dyn FnMut() -> Arc<dyn Engine>;

/// Checks every claim on the store that `open` opens, which must be empty at first and the same at
/// each call.
pub fn run(open: Open<'_>) {
    let claims: &[fn(&dyn Engine, SpaceId)] = &[
        pairs::puts_are_read_back_and_removes_remove,
        pairs::a_batch_applies_in_order_and_over_spaces,
        pairs::a_refused_batch_changes_nothing,
        pairs::keys_and_values_of_every_shape_are_kept,
        views::scans_take_every_shape_of_range,
        views::bounds_may_be_longer_than_any_key,
        views::snapshots_do_not_see_later_changes,
        views::a_scan_outlives_its_snapshot,
        spaces::ingestion_loads_and_overwrites,
        spaces::a_refused_ingestion_changes_nothing,
        spaces::an_ingestion_appears_only_when_it_is_ready,
        spaces::ingestion_may_read_the_engine_it_fills,
        spaces::absent_spaces_are_named,
        spaces::spaces_are_made_listed_dropped_and_made_again,
        pairs::an_empty_batch_changes_nothing,
    ];
    assert_eq!(
        open().spaces().expect("a new store lists its spaces"),
        [],
        "it is not empty"
    );
    views::a_view_of_nothing_keeps_no_other_from_what_it_sees(open);
    for (number, claim) in (1_000_u64..).step_by(10).zip(claims) {
        let engine = open();
        let space = SpaceId(number);
        engine.create_space(space).expect("a space can be made");
        claim(engine.as_ref(), space);
    }
    what_is_synced_is_there_after_reopening(open);
    for seed in MODEL_SEEDS {
        compare_with_model(open, SpaceId(seed), seed, MODEL_STEPS);
    }
}

fn what_is_synced_is_there_after_reopening(open: Open<'_>) {
    let space = SpaceId(500);
    let dropped = SpaceId(501);
    let engine = open();
    engine.create_space(space).expect("a space can be made");
    engine.create_space(dropped).expect("a space can be made");
    put(engine.as_ref(), space, "buffered", "1");
    put(engine.as_ref(), dropped, "a", "1");
    engine.drop_space(dropped).expect("a space is dropped");
    let mut batch = Batch::new();
    batch.put(space, "synced", "1");
    engine
        .write(batch, Durability::Synced)
        .expect("a batch is written");
    let mut rows = pairs(&[("ingested", "1")]).into_iter();
    engine.ingest(space, &mut rows).expect("rows are ingested");
    put(engine.as_ref(), space, "last", "1");
    engine.sync().expect("a sync works");
    let spaces = engine.spaces().expect("spaces are listed");
    let expected = all(engine.as_ref(), space);
    drop(engine);
    let engine = open();
    assert_eq!(engine.spaces().expect("spaces are listed"), spaces);
    assert_eq!(all(engine.as_ref(), space), expected);
    engine
        .create_space(dropped)
        .expect("a space can be made again");
    assert_eq!(
        all(engine.as_ref(), dropped),
        [],
        "a space made again is empty"
    );
}

fn text(value: &'static str) -> Option<Bytes> {
    Some(Bytes::from_static(value.as_bytes()))
}

fn pairs(pairs: &[(&'static str, &'static str)]) -> Vec<Pair> {
    pairs
        .iter()
        .map(|&(key, value)| (Bytes::from(key), Bytes::from(value)))
        .collect()
}

fn get(engine: &dyn Engine, space: SpaceId, key: &str) -> Option<Bytes> {
    engine.get(space, key.as_bytes()).expect("a get works")
}

fn put(engine: &dyn Engine, space: SpaceId, key: &'static str, value: impl Into<Bytes>) {
    let mut batch = Batch::new();
    batch.put(space, key, value);
    engine
        .write(batch, Durability::Buffered)
        .expect("a put is written");
}

fn remove(engine: &dyn Engine, space: SpaceId, key: &'static str) {
    let mut batch = Batch::new();
    batch.remove(space, key);
    engine
        .write(batch, Durability::Buffered)
        .expect("a remove is written");
}

fn snapshot(engine: &dyn Engine) -> Box<dyn Snapshot> {
    engine.snapshot().expect("a snapshot opens")
}

fn scan(view: &dyn Snapshot, space: SpaceId, range: &KeyRange, direction: Direction) -> Scan {
    view.scan(space, range, direction).expect("a scan opens")
}

fn collect(scan: Scan) -> Vec<Pair> {
    scan.map(|pair| pair.expect("a scan reads")).collect()
}

fn keys(scan: Scan) -> Vec<Bytes> {
    collect(scan).into_iter().map(|(key, _)| key).collect()
}

fn all(engine: &dyn Engine, space: SpaceId) -> Vec<Pair> {
    collect(scan(
        snapshot(engine).as_ref(),
        space,
        &KeyRange::all(),
        Direction::Ascending,
    ))
}
