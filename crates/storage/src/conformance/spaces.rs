//! Claims about spaces and what is loaded into them in bulk.

use bytes::Bytes;

use super::{all, get, pairs, put, scan, snapshot, text};
use crate::{Batch, Direction, Durability, ENGINE_KEY_BYTES_MAX, Engine, Error, KeyRange, SpaceId};

pub(super) fn ingestion_loads_and_overwrites(engine: &dyn Engine, space: SpaceId) {
    put(engine, space, "b", "written");
    put(engine, space, "x", "written");
    let rows = pairs(&[("a", "ingested"), ("b", "ingested"), ("c", "")]);
    let count = engine
        .ingest(space, &mut rows.into_iter())
        .expect("rows are ingested");
    assert_eq!(count, 3);
    let expected = [
        ("a", "ingested"),
        ("b", "ingested"),
        ("c", ""),
        ("x", "written"),
    ];
    assert_eq!(all(engine, space), pairs(&expected));
    put(engine, space, "b", "written again");
    assert_eq!(get(engine, space, "b"), text("written again"));
    let none = engine
        .ingest(space, &mut std::iter::empty())
        .expect("no rows are no error");
    assert_eq!(none, 0);
    let more = (0..10_000).map(|number| (format!("m{number:05}").into(), Bytes::from("row")));
    assert_eq!(
        engine
            .ingest(space, &mut { more })
            .expect("rows are ingested"),
        10_000
    );
    assert_eq!(all(engine, space).len(), 10_004);
}

pub(super) fn a_refused_ingestion_changes_nothing(engine: &dyn Engine, space: SpaceId) {
    put(engine, space, "a", "1");
    let before = all(engine, space);
    let disorders: &[(&[&str], u64)] = &[
        (&["a", "c", "b"], 2),
        (&["a", "a"], 1),
        (&["b", "c", "d", "d\0", "d"], 4),
    ];
    for &(keys, offender) in disorders {
        let mut rows = keys
            .iter()
            .map(|key| (Bytes::from_static(key.as_bytes()), Bytes::new()));
        let error = engine
            .ingest(space, &mut rows)
            .expect_err("disorder is refused");
        assert!(
            matches!(error, Error::OutOfOrder { row } if row == offender),
            "{error}"
        );
    }
    let long = Bytes::from(vec![b'z'; ENGINE_KEY_BYTES_MAX + 1]);
    let mut rows = [(Bytes::from("y"), Bytes::new()), (long, Bytes::new())].into_iter();
    let error = engine
        .ingest(space, &mut rows)
        .expect_err("a long key is refused");
    assert!(matches!(error, Error::KeyTooLong { .. }), "{error}");
    let mut rows = [(Bytes::new(), Bytes::new())].into_iter();
    let error = engine
        .ingest(space, &mut rows)
        .expect_err("an empty key is refused");
    assert!(matches!(error, Error::KeyEmpty), "{error}");
    assert_eq!(all(engine, space), before);
    put(engine, space, "b", "1");
    assert_eq!(get(engine, space, "b"), text("1"), "the engine goes on");
}

pub(super) fn an_ingestion_appears_only_when_it_is_ready(engine: &dyn Engine, space: SpaceId) {
    put(engine, space, "b", "written");
    let rows = pairs(&[("a", "ingested"), ("c", "ingested")]);
    let mut seen = None;
    let refused = engine
        .ingest_when(space, &mut rows.clone().into_iter(), &mut || {
            seen = get(engine, space, "a");
            false
        })
        .expect("not being ready is no error");
    assert_eq!((refused, seen), (None, None));
    assert_eq!(all(engine, space), pairs(&[("b", "written")]));
    let loaded = engine
        .ingest_when(space, &mut rows.into_iter(), &mut || {
            put(engine, space, "b", "written last");
            get(engine, space, "a").is_none()
        })
        .expect("rows are ingested");
    assert_eq!(loaded, Some(2), "nothing shows before it is ready");
    let expected = [("a", "ingested"), ("b", "written last"), ("c", "ingested")];
    assert_eq!(all(engine, space), pairs(&expected));
}

pub(super) fn ingestion_may_read_the_engine_it_fills(engine: &dyn Engine, space: SpaceId) {
    let other = SpaceId(space.0 + 1);
    engine.create_space(other).expect("a space can be made");
    for key in ["a", "b", "c"] {
        put(engine, space, key, key);
    }
    let mut rows = scan(
        snapshot(engine).as_ref(),
        space,
        &KeyRange::all(),
        Direction::Ascending,
    )
    .map(|pair| pair.expect("a scan reads"));
    assert_eq!(
        engine.ingest(other, &mut rows).expect("rows are ingested"),
        3
    );
    assert_eq!(all(engine, other), all(engine, space));
}

pub(super) fn absent_spaces_are_named(engine: &dyn Engine, space: SpaceId) {
    let absent = SpaceId(space.0 + 1);
    let view = snapshot(engine);
    let mut batch = Batch::new();
    batch.remove(absent, "a");
    let errors = [
        engine.get(absent, b"a").expect_err("get"),
        view.get(absent, b"a").expect_err("get of a snapshot"),
        view.scan(absent, &KeyRange::all(), Direction::Ascending)
            .err()
            .expect("scan"),
        engine
            .write(batch, Durability::Buffered)
            .expect_err("write"),
        engine
            .ingest(absent, &mut std::iter::empty())
            .expect_err("ingest"),
    ];
    for error in errors {
        assert!(
            matches!(error, Error::NoSuchSpace(space) if space == absent),
            "{error}"
        );
    }
    engine
        .drop_space(absent)
        .expect("dropping an absent space is no error");
}

pub(super) fn spaces_are_made_listed_dropped_and_made_again(engine: &dyn Engine, space: SpaceId) {
    let listed = || engine.spaces().expect("spaces are listed");
    let others = listed();
    assert!(others.contains(&space));
    assert!(others.is_sorted());
    let other = SpaceId(u64::MAX - space.0);
    engine.create_space(other).expect("a space can be made");
    put(engine, other, "a", "1");
    engine
        .create_space(other)
        .expect("making a space twice is no error");
    assert_eq!(
        get(engine, other, "a"),
        text("1"),
        "and keeps what it holds"
    );
    assert_eq!(listed().len(), others.len() + 1);
    engine.drop_space(other).expect("a space is dropped");
    assert_eq!(listed(), others);
    engine
        .get(other, b"a")
        .expect_err("a dropped space cannot be read");
    engine
        .create_space(other)
        .expect("a space can be made again");
    assert_eq!(all(engine, other), [], "a space made again is empty");
    put(engine, other, "b", "2");
    assert_eq!(all(engine, other), pairs(&[("b", "2")]));
}
