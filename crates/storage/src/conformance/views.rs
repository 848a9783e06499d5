//! Claims about scans and snapshots.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{Open, collect, keys, pairs, put, remove, scan, snapshot, text};
use crate::{Batch, Direction, Durability, ENGINE_KEY_BYTES_MAX, Engine, KeyRange, Pair, SpaceId};

/// Holds a view of a store that nothing was written to yet, beside views of what comes after it,
/// which go one by one.
pub(super) fn a_view_of_nothing_keeps_no_other_from_what_it_sees(open: Open<'_>) {
    let space = SpaceId(400);
    let engine = open();
    engine.create_space(space).expect("a space can be made");
    drop(engine);
    let engine = open();
    // Makes an engine flush, compact and give up what no view sees any more.
    let churn = || {
        let rows: Vec<Pair> = (0..64)
            .map(|row| (format!("{row:03}").into(), vec![b'x'; 64].into()))
            .collect();
        let mut batch = Batch::new();
        for (key, value) in &rows {
            batch.put(space, key.clone(), value.clone());
        }
        engine
            .write(batch, Durability::Buffered)
            .expect("a batch is written");
        engine
            .ingest(space, &mut rows.into_iter())
            .expect("rows are ingested");
    };
    let nothing = snapshot(engine.as_ref());
    let mut views = VecDeque::new();
    for number in 0..16 {
        put(engine.as_ref(), space, "newest", number.to_string());
        views.push_back((number, snapshot(engine.as_ref())));
        churn();
    }
    while !views.is_empty() {
        put(engine.as_ref(), space, "newest", "later");
        churn();
        for (number, view) in &views {
            let newest = view.get(space, b"newest").expect("a view can be read");
            assert_eq!(newest, Some(number.to_string().into()));
        }
        views.pop_front();
    }
    let newest = nothing.get(space, b"newest");
    assert_eq!(newest.expect("nothing can be read"), None);
    let everything = KeyRange::all();
    let rows = scan(nothing.as_ref(), space, &everything, Direction::Ascending);
    assert_eq!(collect(rows), []);
}

pub(super) fn scans_take_every_shape_of_range(engine: &dyn Engine, space: SpaceId) {
    for key in ["b", "d", "f", "h"] {
        put(engine, space, key, key);
    }
    remove(engine, space, "f");
    put(engine, space, "f\0", "f\0");
    let view = snapshot(engine);
    let cases: &[(&str, Option<&str>, &[&str])] = &[
        ("", None, &["b", "d", "f\0", "h"]),
        ("b", None, &["b", "d", "f\0", "h"]),
        ("c", None, &["d", "f\0", "h"]),
        ("i", None, &[]),
        ("", Some("d"), &["b"]),
        ("", Some("d\0"), &["b", "d"]),
        ("", Some("zz"), &["b", "d", "f\0", "h"]),
        ("", Some("a"), &[]),
        ("", Some(""), &[]),
        ("d", Some("h"), &["d", "f\0"]),
        ("d", Some("d"), &[]),
        ("h", Some("b"), &[]),
        ("e", Some("f"), &[]),
    ];
    for &(lower, upper, expected) in cases {
        let range = KeyRange::new(lower.to_owned(), upper.map(|key| key.to_owned().into()));
        let up: Vec<Bytes> = keys(scan(view.as_ref(), space, &range, Direction::Ascending));
        assert_eq!(up, expected, "{range:?} upwards");
        let mut down = keys(scan(view.as_ref(), space, &range, Direction::Descending));
        down.reverse();
        assert_eq!(down, expected, "{range:?} downwards");
    }
    let point = KeyRange::point(b"d");
    assert_eq!(
        keys(scan(view.as_ref(), space, &point, Direction::Descending)),
        ["d"]
    );
}

pub(super) fn bounds_may_be_longer_than_any_key(engine: &dyn Engine, space: SpaceId) {
    let longest = Bytes::from(vec![b'z'; ENGINE_KEY_BYTES_MAX]);
    let mut batch = Batch::new();
    for key in [
        "big".into(),
        longest.clone(),
        Bytes::from_static(b"\xff\xff"),
    ] {
        batch.put(space, key, "");
    }
    engine
        .write(batch, Durability::Buffered)
        .expect("a batch is written");
    let longer = |last: u8| Bytes::from([longest.as_ref(), &[last]].concat());
    let cases = [
        (KeyRange::point(&longest), vec![longest.clone()]),
        (
            KeyRange::new(longer(0), None),
            vec![Bytes::from_static(b"\xff\xff")],
        ),
        (KeyRange::new(longer(0), Some(longer(9))), vec![]),
        (
            KeyRange::new("big\0", Some(longer(0))),
            vec![longest.clone()],
        ),
    ];
    let view = snapshot(engine);
    for (range, expected) in cases {
        for direction in [Direction::Ascending, Direction::Descending] {
            assert!(keys(scan(view.as_ref(), space, &range, direction)) == expected);
        }
    }
}

pub(super) fn snapshots_do_not_see_later_changes(engine: &dyn Engine, space: SpaceId) {
    for key in ["a", "b", "c"] {
        put(engine, space, key, "old");
    }
    let view = snapshot(engine);
    let before = collect(scan(
        view.as_ref(),
        space,
        &KeyRange::all(),
        Direction::Ascending,
    ));
    let mut batch = Batch::new();
    batch.put(space, "a", "new");
    batch.remove(space, "b");
    batch.put(space, "d", "new");
    engine
        .write(batch, Durability::Buffered)
        .expect("a batch is written");
    let mut rows = pairs(&[("c", "ingested"), ("e", "ingested")]).into_iter();
    engine.ingest(space, &mut rows).expect("rows are ingested");

    let value = |key: &str| view.get(space, key.as_bytes()).expect("a snapshot reads");
    assert_eq!(value("a"), text("old"));
    assert_eq!(value("b"), text("old"));
    assert_eq!(value("c"), text("old"));
    assert_eq!(value("d"), None);
    assert_eq!(value("e"), None);
    let after = collect(scan(
        view.as_ref(),
        space,
        &KeyRange::all(),
        Direction::Ascending,
    ));
    assert_eq!(after, before);

    engine.drop_space(space).expect("a space is dropped");
    let dropped = collect(scan(
        view.as_ref(),
        space,
        &KeyRange::all(),
        Direction::Ascending,
    ));
    assert_eq!(
        dropped, before,
        "a snapshot keeps the spaces of its instant"
    );
}

pub(super) fn a_scan_outlives_its_snapshot(engine: &dyn Engine, space: SpaceId) {
    let mut batch = Batch::new();
    for number in 0..1_000 {
        batch.put(space, format!("{number:04}"), "old");
    }
    engine
        .write(batch, Durability::Buffered)
        .expect("a batch is written");
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut rest = scan(
            snapshot(engine).as_ref(),
            space,
            &KeyRange::all(),
            direction,
        );
        rest.next()
            .expect("there is a first pair")
            .expect("a scan reads");
        let mut batch = Batch::new();
        for number in 0..1_000 {
            batch.put(space, format!("{number:04}"), "old");
            batch.put(space, format!("{number:04} more"), "new");
        }
        engine
            .write(batch, Durability::Synced)
            .expect("a batch is written");
        let seen = collect(rest);
        assert_eq!(seen.len(), 999);
        assert!(seen.iter().all(|(_, value)| value == "old"));
        let mut batch = Batch::new();
        for number in 0..1_000 {
            batch.remove(space, format!("{number:04} more"));
        }
        engine
            .write(batch, Durability::Buffered)
            .expect("a batch is written");
    }
}
