//! Random steps, held against a map in memory.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Open, all, collect, scan, snapshot};
use crate::env::{Random, SeededRandom};
use crate::{Batch, Direction, Durability, Engine, KeyRange, Pair, Snapshot, SpaceId};

type Model = BTreeMap<Bytes, Bytes>;

/// Runs `steps` random steps from `seed` in `space`, which is made, and compares each answer with a
/// map in memory. Opens the store again now and then.
pub fn compare_with_model(open: Open<'_>, space: SpaceId, seed: u64, steps: usize) {
    let random = SeededRandom::new(seed);
    let mut engine = open();
    engine.create_space(space).expect("a space can be made");
    let mut model = Model::new();
    let mut views: Vec<(Box<dyn Snapshot>, Model)> = Vec::new();
    for step in 0..steps {
        let told = format!("seed {seed}, step {step}");
        match random.below(20) {
            0..9 => write_at_random(engine.as_ref(), space, &random, &mut model),
            9..11 => ingest_at_random(engine.as_ref(), space, &random, &mut model),
            11..13 => views.push((snapshot(engine.as_ref()), model.clone())),
            13..18 => {
                let newest = (snapshot(engine.as_ref()), model.clone());
                let number = usize::try_from(random.below(8)).expect("it is small");
                let (view, model) = views.get(number).unwrap_or(&newest);
                compare_view(view.as_ref(), model, space, &random, &told);
            }
            18 => {
                let key = random_key(&random);
                let found = engine.get(space, &key).expect("a get works");
                assert_eq!(found.as_ref(), model.get(&key), "{told}");
            }
            _ => {
                views.clear();
                engine.sync().expect("a sync works");
                drop(engine);
                engine = open();
            }
        }
    }
    let expected: Vec<Pair> = model.into_iter().collect();
    assert_eq!(
        all(engine.as_ref(), space),
        expected,
        "seed {seed}, at the end"
    );
}

/// A short key over a small alphabet, so that keys meet again and are prefixes of each other.
fn random_key(random: &dyn Random) -> Bytes {
    (0..=random.below(4))
        .map(|_| b"\0a\xff".as_slice())
        .fold(Vec::new(), |mut key, letters| {
            let letter = usize::try_from(random.below(3)).expect("it is small");
            key.extend(letters.get(letter));
            key
        })
        .into()
}

fn random_value(random: &dyn Random) -> Bytes {
    let length = usize::try_from(random.below(40)).expect("it is small");
    let [byte, ..] = random.next_u64().to_le_bytes();
    vec![byte; length].into()
}

fn write_at_random(engine: &dyn Engine, space: SpaceId, random: &dyn Random, model: &mut Model) {
    let mut batch = Batch::new();
    for _ in 0..random.below(12) {
        let (key, value) = (random_key(random), random_value(random));
        if random.below(3) == 0 {
            batch.remove(space, key.clone());
            model.remove(&key);
        } else {
            batch.put(space, key.clone(), value.clone());
            model.insert(key, value);
        }
    }
    let durability = if random.below(4) == 0 {
        Durability::Synced
    } else {
        Durability::Buffered
    };
    engine.write(batch, durability).expect("a batch is written");
}

fn ingest_at_random(engine: &dyn Engine, space: SpaceId, random: &dyn Random, model: &mut Model) {
    let rows: Model = (0..random.below(20))
        .map(|_| (random_key(random), random_value(random)))
        .collect();
    model.extend(rows.clone());
    engine
        .ingest(space, &mut rows.into_iter())
        .expect("rows are ingested");
}

fn compare_view(
    view: &dyn Snapshot,
    model: &Model,
    space: SpaceId,
    random: &dyn Random,
    told: &str,
) {
    let key = random_key(random);
    assert_eq!(
        view.get(space, &key).expect("a get works").as_ref(),
        model.get(&key),
        "{told}"
    );
    let upper = (random.below(5) > 0).then(|| random_key(random));
    let lower = if random.below(5) > 0 {
        random_key(random)
    } else {
        Bytes::new()
    };
    let range = KeyRange::new(lower, upper);
    let within = model.iter().filter(|(key, _)| range.contains(key));
    let mut expected: Vec<Pair> = within
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let found = collect(scan(view, space, &range, Direction::Ascending));
    assert_eq!(found, expected, "{told}: {range:?} upwards");
    expected.reverse();
    let found = collect(scan(view, space, &range, Direction::Descending));
    assert_eq!(found, expected, "{told}: {range:?} downwards");
}
