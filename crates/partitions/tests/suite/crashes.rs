//! Laws of failure: a change that fails anywhere leaves the old map or the new one, and no litter.

use std::collections::BTreeSet;
use std::sync::Arc;

use partitions::spaces::{
    COUNTERS_PREFIX, DESCRIPTOR_PREFIX, META_SPACE, NEXT_ID_PREFIX, UNUSED_ENGINE_PREFIX,
};
use partitions::{Directory, Error, PartitionId, Share, TableId, counters_key};
use proptest::prelude::*;
use storage::env::SimulatedClock;
use storage::{Batch, Durability, EngineId, Fault};

use crate::maps::{check_map, descriptors, key, try_change};
use crate::media::Media;
use crate::world::{TABLE, World};

#[test]
fn a_change_that_fails_anywhere_leaves_the_old_map_or_the_new_one() {
    let mut seen = BTreeSet::new();
    for separate in [false, true] {
        for merge in [false, true] {
            for nth in 1..=12 {
                for fault in [Fault::RefuseWrite { nth }, Fault::BreakWrite { nth }] {
                    seen.insert((separate, merge, fail_once(separate, merge, fault)));
                }
            }
        }
    }
    for separate in [false, true] {
        for merge in [false, true] {
            assert!(seen.contains(&(separate, merge, "old")), "{seen:?}");
            assert!(seen.contains(&(separate, merge, "new")), "{seen:?}");
        }
    }
}

fn fail_once(separate: bool, merge: bool, fault: Fault) -> &'static str {
    let mut world = World::new(separate);
    world
        .directory
        .create_table(TABLE, &[key(50), key(100)])
        .expect("nothing fails here");
    for number in 0..150 {
        world.commit(key(number), 1).expect("nothing fails here");
    }
    let before = world.map().expect("nothing fails here");
    for engine in world.media.engines() {
        world.media.inject(engine, fault);
    }
    let step = if merge { (10, Some(2)) } else { (70, None) };
    let result = try_change(&world, step);
    world.media.clear_faults();
    world.restart(true).expect("nothing fails here");
    let after = world.map().expect("nothing fails here");
    check_map(&after);
    assert_eq!(world.missing_rows().expect("nothing fails here"), 0);
    let mut used: BTreeSet<EngineId> = after
        .partitions()
        .iter()
        .map(|one| one.descriptor.engine)
        .collect();
    used.insert(EngineId::META);
    assert_eq!(used.into_iter().collect::<Vec<_>>(), world.media.engines());
    let total: u64 = after
        .partitions()
        .iter()
        .map(|one| one.counters.counts().totals().rows)
        .sum();
    assert_eq!(total, 150);
    let same = descriptors(&before) == descriptors(&after);
    assert!(same || after.partitions().len() == if merge { 2 } else { 4 });
    assert!(result.is_err() || !same, "an acknowledged change was lost");
    if same { "old" } else { "new" }
}

#[test]
fn a_map_in_doubt_is_refused_until_it_is_loaded_again() {
    let mut world = World::new(true);
    world.directory.create_table(TABLE, &[]).unwrap();
    // The first write lists the fresh engines, the second is the switch.
    world
        .media
        .inject(EngineId::META, Fault::BreakWrite { nth: 2 });
    let only = world.map().unwrap().route(b"").descriptor.id;
    assert!(
        world
            .directory
            .split(TABLE, only, &key(7), Share::HALF)
            .is_err()
    );
    assert!(matches!(
        world.directory.map(TABLE),
        Err(Error::InDoubt { .. })
    ));
    assert!(
        world.directory.sweep().is_err(),
        "an engine in doubt may be the one in use"
    );
    world.restart(true).unwrap();
    assert_eq!(world.map().unwrap().partitions().len(), 2);
}

/// Loads a table of two partitions, on an engine each, after one record was overwritten.
fn load_damaged(key: &[u8], value: &[u8]) -> String {
    let media = Media::new(true);
    let clock = Arc::new(SimulatedClock::new(0));
    let directory = Directory::load(media.placement(), clock.clone()).expect("empty media");
    directory
        .create_table(TABLE, &[self::key(7)])
        .expect("nothing fails");
    let meta = directory
        .placement()
        .open(EngineId::META)
        .expect("nothing fails");
    let mut batch = Batch::new();
    batch.put(META_SPACE, key.to_vec(), value.to_vec());
    meta.write(batch, Durability::Synced)
        .expect("nothing fails");
    let error = Directory::load(media.placement(), clock).expect_err("a damaged record");
    assert_eq!(media.engines().len(), 3, "no engine was discarded");
    error.to_string()
}

#[test]
fn an_engine_in_use_is_not_discarded_and_a_number_in_use_not_given_out() {
    let listed = [UNUSED_ENGINE_PREFIX, 0, 0, 0, 0, 0, 0, 0, 2];
    assert_eq!(
        load_damaged(&listed, &[1]),
        "the list of unused engines is damaged (it names engine 2, which holds partition 2): \
         restore it from a backup; nothing was overwritten"
    );
    assert_eq!(
        load_damaged(&[NEXT_ID_PREFIX], &[1, 0, 0, 0, 0, 0, 0, 0, 2]),
        "the next unused number is damaged (it is 2, and 2 is in use): \
         restore it from a backup; nothing was overwritten"
    );
}

#[test]
fn what_a_crash_left_behind_of_tables_is_cleared_away() {
    let mut world = World::new(false);
    world.directory.create_table(TABLE, &[]).unwrap();
    world.directory.create_table(TableId(2), &[key(3)]).unwrap();
    // The record that drops the table is written; the space it leaves behind is not dropped.
    world
        .media
        .inject(EngineId::META, Fault::BreakWrite { nth: 2 });
    assert!(world.directory.drop_table(TABLE).is_err());
    world.restart(true).unwrap();
    assert_eq!(world.directory.tables(), vec![TableId(2)]);
    let engine = world.directory.placement().open(EngineId::META).unwrap();
    let spaces: Vec<u64> = engine
        .spaces()
        .unwrap()
        .iter()
        .map(|space| space.0)
        .collect();
    assert_eq!(spaces, [0, 1, 2, 18]);
    let left = engine
        .get(META_SPACE, &counters_key(PartitionId(2)))
        .unwrap();
    assert_eq!(left, None, "counters of a dropped partition");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_record_never_stops_loading_with_a_panic(
        prefix in prop::sample::select(vec![
            NEXT_ID_PREFIX, DESCRIPTOR_PREFIX, COUNTERS_PREFIX, UNUSED_ENGINE_PREFIX,
        ]),
        rest in any::<Vec<u8>>(), value in any::<Vec<u8>>(),
    ) {
        let media = Media::new(false);
        let placement = media.placement();
        let clock = Arc::new(SimulatedClock::new(0));
        let directory = Directory::load(placement.clone(), clock.clone()).unwrap();
        directory.create_table(TABLE, &[key(7)]).unwrap();
        let mut batch = Batch::new();
        let key = [&[prefix][..], &rest].concat();
        batch.put(META_SPACE, key, value);
        placement.open(EngineId::META).unwrap().write(batch, Durability::Synced).unwrap();
        match Directory::load(placement, clock) {
            Ok(directory) => assert_eq!(directory.map(TABLE).unwrap().partitions().len(), 2),
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{error}"),
        }
    }
}
