//! Laws of maps: they tile, they route, and splits and merges keep every key.

use std::sync::Arc;

use bytes::Bytes;
use partitions::{Counts, Descriptor, Error, Kind, Map, Partition, PartitionId, Share};
use proptest::prelude::*;
use storage::{EngineId, KeyRange};

use crate::world::{TABLE, World};

pub(crate) fn key(number: u8) -> Bytes {
    let value = keys::Value::Int64(i64::from(number));
    keys::encode_key(&[value])
        .expect("a number is a key")
        .into()
}

/// A change to try: where, and how many to merge; no count means split.
pub(crate) type Step = (u8, Option<usize>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((any::<u8>(), proptest::option::of(2..4_usize)), 1..24)
}

/// Tries a change on healthy engines; answers whether it was possible.
fn take(world: &World, step: Step) -> bool {
    let result = try_change(world, step);
    let refused = matches!(
        result,
        Err(Error::SplitOutside { .. } | Error::NotNeighbours { .. })
    );
    assert!(result.is_ok() || refused, "{result:?}");
    !refused
}

pub(crate) fn try_change(world: &World, (at, merge): Step) -> partitions::Result<()> {
    let map = world.map().expect("the table exists");
    let here = map.route(&key(at)).descriptor.id;
    match merge {
        None => world
            .directory
            .split(TABLE, here, &key(at), Share::HALF)
            .map(drop),
        Some(count) => {
            let from = map.index(here).expect("a routed partition is in the map");
            let ids = map.partitions().iter().skip(from).take(count);
            let ids: Vec<PartitionId> = ids.map(|one| one.descriptor.id).collect();
            world.directory.merge(TABLE, &ids).map(drop)
        }
    }
}

pub(crate) fn descriptors(map: &Map) -> Vec<Descriptor> {
    map.partitions()
        .iter()
        .map(|one| one.descriptor.clone())
        .collect()
}

pub(crate) fn check_map(map: &Map) {
    let mut expected = Some(Bytes::new());
    for one in map.partitions() {
        assert_eq!(Some(&one.descriptor.range.lower), expected.as_ref());
        expected = one.descriptor.range.upper.clone();
        let same = map
            .get(one.descriptor.id)
            .is_some_and(|found| Arc::ptr_eq(found, one));
        assert!(same, "a partition is found by its number");
    }
    assert_eq!(expected, None);
    for number in 0..=u8::MAX {
        let key = key(number);
        let linear = map
            .partitions()
            .iter()
            .find(|one| one.descriptor.range.contains(&key));
        assert!(
            linear.is_some_and(|one| Arc::ptr_eq(map.route(&key), one)),
            "{number}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn splits_and_merges_keep_every_key(steps in steps(), separate in any::<bool>()) {
        let mut world = World::new(separate);
        world.directory.create_table(TABLE, &[]).unwrap();
        for number in (0..=u8::MAX).step_by(5) {
            world.commit(key(number), u64::from(number) + 1).unwrap();
        }
        let mut newest = 1;
        for step in steps {
            let before = world.map().unwrap();
            let changed = take(&world, step);
            let map = world.map().unwrap();
            check_map(&map);
            prop_assert_eq!(changed, descriptors(&before) != descriptors(&map));
            let fresh = map.partitions().iter().filter(|one| before.get(one.descriptor.id).is_none());
            for one in fresh {
                let parents = before.overlapping(&one.descriptor.range).iter();
                let parents = parents.map(|one| one.descriptor.generation);
                prop_assert_eq!(one.descriptor.generation, parents.max().unwrap() + 1);
                prop_assert!(one.descriptor.id.0 > newest);
            }
            newest = map.partitions().iter().map(|one| one.descriptor.id.0).max().unwrap().max(newest);
        }
        prop_assert_eq!(world.missing_rows().unwrap(), 0);
        world.recount().unwrap();
        for one in world.map().unwrap().partitions() {
            let counts = one.counters.counts();
            prop_assert!(counts.exact());
            prop_assert_eq!(counts.totals(), world.count(&one.descriptor.range));
        }
        let before = descriptors(&world.map().unwrap());
        world.restart(true).unwrap();
        prop_assert_eq!(before, descriptors(&world.map().unwrap()));
        prop_assert_eq!(world.missing_rows().unwrap(), 0);
    }

    #[test]
    fn overlapping_is_every_partition_with_a_key_in_range(
        steps in steps(), lower in any::<u8>(), upper in proptest::option::of(any::<u8>()),
    ) {
        let world = World::new(false);
        world.directory.create_table(TABLE, &[]).unwrap();
        for step in steps {
            take(&world, step);
        }
        let map = world.map().unwrap();
        let range = KeyRange { lower: key(lower), upper: upper.map(key) };
        let linear = map.partitions().iter().filter(|one| one.descriptor.range.overlaps(&range));
        let linear: Vec<PartitionId> = linear.map(|one| one.descriptor.id).collect();
        let found: Vec<PartitionId> =
            map.overlapping(&range).iter().map(|one| one.descriptor.id).collect();
        prop_assert_eq!(found, linear);
    }
}

#[test]
fn a_map_with_a_gap_on_disk_is_an_error_and_of_our_own_making_a_panic() {
    let partition = |id: u64, lower: &Bytes, upper: Option<Bytes>| {
        let descriptor = Descriptor {
            id: PartitionId(id),
            table: TABLE,
            range: KeyRange {
                lower: lower.clone(),
                upper,
            },
            generation: 1,
            engine: EngineId::META,
            created_us: 0,
            kind: Kind::Plain,
        };
        Arc::new(Partition::new(descriptor, Counts::empty()))
    };
    let tiles = vec![
        partition(1, &Bytes::new(), Some(key(5))),
        partition(2, &key(6), None),
    ];
    let error = Map::from_disk(TABLE, tiles.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the partition map of table 1 is damaged (partition 2 begins at /6 where the one before it \
         ends at /5): restore it from a backup; nothing was overwritten"
    );
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Map::new(TABLE, tiles)));
    assert!(made.is_err());
    assert!(
        Map::from_disk(TABLE, Vec::new()).is_err(),
        "no partition holds no key"
    );
}
