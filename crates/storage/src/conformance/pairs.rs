//! Claims about keys, values and batches.

use bytes::Bytes;

use super::{all, get, pairs, put, remove, text};
use crate::{Batch, Durability, ENGINE_KEY_BYTES_MAX, Engine, Error, Pair, SpaceId};

/// How long a big value is.
const BIG_VALUE_BYTES: usize = 1 << 20;

pub(super) fn puts_are_read_back_and_removes_remove(engine: &dyn Engine, space: SpaceId) {
    assert_eq!(get(engine, space, "a"), None);
    put(engine, space, "a", "1");
    assert_eq!(get(engine, space, "a"), text("1"));
    put(engine, space, "a", "2");
    assert_eq!(get(engine, space, "a"), text("2"));
    remove(engine, space, "a");
    assert_eq!(get(engine, space, "a"), None);
    remove(engine, space, "never was");
    engine.sync().expect("a sync works");
    assert_eq!(
        engine.get(space, b"").expect("an empty key is just absent"),
        None
    );
    let too_long = vec![1; ENGINE_KEY_BYTES_MAX + 1];
    assert_eq!(
        engine
            .get(space, &too_long)
            .expect("a long key is just absent"),
        None
    );
}

pub(super) fn a_batch_applies_in_order_and_over_spaces(engine: &dyn Engine, space: SpaceId) {
    let other = SpaceId(space.0 + 1);
    engine.create_space(other).expect("a space can be made");
    put(engine, space, "gone", "1");
    let mut batch = Batch::new();
    batch.put(space, "twice", "first");
    batch.put(space, "twice", "second");
    batch.put(space, "put then removed", "1");
    batch.remove(space, "put then removed");
    batch.remove(space, "removed then put");
    batch.put(space, "removed then put", "1");
    batch.remove(space, "gone");
    batch.put(other, "twice", "elsewhere");
    engine
        .write(batch, Durability::Synced)
        .expect("a batch is written");
    assert_eq!(get(engine, space, "twice"), text("second"));
    assert_eq!(get(engine, space, "put then removed"), None);
    assert_eq!(get(engine, space, "removed then put"), text("1"));
    assert_eq!(get(engine, space, "gone"), None);
    assert_eq!(get(engine, other, "twice"), text("elsewhere"));
    let keys: Vec<Bytes> = all(engine, space).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["removed then put", "twice"]);
}

pub(super) fn a_refused_batch_changes_nothing(engine: &dyn Engine, space: SpaceId) {
    put(engine, space, "a", "1");
    let absent = SpaceId(space.0 + 1);
    let refuse = |spoil: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::new();
        batch.put(space, "a", "changed");
        spoil(&mut batch);
        batch.put(space, "b", "new");
        engine
            .write(batch, Durability::Synced)
            .expect_err("a spoilt batch is refused")
    };
    let error = refuse(&|batch| batch.put(absent, "a", "1"));
    assert!(
        matches!(error, Error::NoSuchSpace(space) if space == absent),
        "{error}"
    );
    let error = refuse(&|batch| batch.remove(space, vec![7; ENGINE_KEY_BYTES_MAX + 1]));
    assert!(matches!(error, Error::KeyTooLong { .. }), "{error}");
    let error = refuse(&|batch| batch.put(space, "", "1"));
    assert!(matches!(error, Error::KeyEmpty), "{error}");
    assert_eq!(all(engine, space), pairs(&[("a", "1")]));
    put(engine, space, "a", "2");
    assert_eq!(get(engine, space, "a"), text("2"), "the engine goes on");
}

pub(super) fn keys_and_values_of_every_shape_are_kept(engine: &dyn Engine, space: SpaceId) {
    let big = b"not all the same ".repeat(BIG_VALUE_BYTES / 16);
    let longest = vec![b'z'; ENGINE_KEY_BYTES_MAX];
    let shapes: Vec<Pair> = vec![
        (Bytes::from_static(b"\0"), Bytes::from_static(b"zero byte")),
        (
            Bytes::from_static(b"\0\0"),
            Bytes::from_static(b"two zero bytes"),
        ),
        (Bytes::from_static(b"\0\x01"), Bytes::from_static(b"\0\0\0")),
        (Bytes::from_static(b"a"), Bytes::new()),
        (
            Bytes::from_static(b"a\0"),
            Bytes::from_static(b"just after a"),
        ),
        (Bytes::from_static(b"big"), Bytes::from(big)),
        (Bytes::from(longest), Bytes::from_static(b"longest key")),
        (Bytes::from_static(b"\xff\xff"), Bytes::from_static(b"last")),
    ];
    let mut batch = Batch::new();
    for (key, value) in shapes.iter().rev() {
        batch.put(space, key.clone(), value.clone());
    }
    engine
        .write(batch, Durability::Buffered)
        .expect("a batch is written");
    for (key, value) in &shapes {
        let found = engine.get(space, key).expect("a get works");
        assert!(
            found.as_ref() == Some(value),
            "the value of {:?}",
            key.slice(..key.len().min(9))
        );
    }
    assert!(
        all(engine, space) == shapes,
        "keys sort as bytes, shorter first"
    );
}

pub(super) fn an_empty_batch_changes_nothing(engine: &dyn Engine, space: SpaceId) {
    engine
        .write(Batch::new(), Durability::Buffered)
        .expect("an empty batch is taken");
    engine
        .write(Batch::new(), Durability::Synced)
        .expect("an empty batch syncs");
    assert_eq!(all(engine, space), []);
    engine.disk_bytes().expect("bytes are counted");
}
