//! Pages that change, overlap and go.

use proptest::prelude::*;

use super::*;
use crate::Timestamp;
use crate::version::VersionRef;

const TABLE: TableId = TableId(7);

fn pages(bytes_max: usize) -> Pages {
    Pages::new(Arc::new(Budget::new(bytes_max)))
}

fn gathered(lower: &str, keys: &[&str], upper: Option<&str>) -> Gathered {
    let mut gathered = Gathered::new(Bytes::copy_from_slice(lower.as_bytes()));
    for key in keys {
        let row = format!("row of {key}");
        let version = VersionRef {
            at: Timestamp(5),
            row: Some(row.as_bytes()),
        };
        gathered.add(key.as_bytes(), version);
    }
    gathered.end(upper.map(|upper| Bytes::copy_from_slice(upper.as_bytes())))
}

/// What is known from a key on: `[lower upper` of the page, or `nothing until` the next.
fn look(pages: &TablePages, key: &str) -> String {
    let shown =
        |key: Option<&Bytes>| key.map_or("the end".into(), |key| key.escape_ascii().to_string());
    match pages.look(&Bytes::copy_from_slice(key.as_bytes())) {
        Known::Page(page) => format!("{} to {}", shown(Some(page.lower())), shown(page.upper())),
        Known::Nothing { until } => format!("nothing until {}", shown(until.as_ref())),
    }
}

fn touched(keys: &[&str]) -> Touched {
    let mut touched = Touched::default();
    for key in keys {
        touched.add(TABLE, &Bytes::copy_from_slice(key.as_bytes()));
    }
    touched
}

#[test]
fn a_page_is_found_from_its_lower_bound_up_to_its_upper_one() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    all.keep(&table, table.epoch(), gathered("c", &["c", "d"], Some("f")));
    all.keep(&table, table.epoch(), gathered("m", &[], None));
    assert_eq!(
        ["a", "c", "e", "f", "z"].map(|key| look(&table, key)),
        [
            "nothing until c",
            "c to f",
            "c to f",
            "nothing until m",
            "m to the end"
        ]
    );
}

#[test]
fn a_page_holds_rows_and_tombstones() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    let mut rows = Gathered::new(Bytes::from_static(b"a"));
    let version = |at, row| VersionRef {
        at: Timestamp(at),
        row,
    };
    rows.add(b"a", version(3, Some(b"".as_slice())));
    rows.add(b"b", version(4, None));
    rows.add(b"bb", version(5, Some(b"row".as_slice())));
    all.keep(&table, table.epoch(), rows.end(None));
    let Known::Page(page) = table.look(&Bytes::from_static(b"a")) else {
        panic!("the page that was just kept");
    };
    assert_eq!(
        page.get(0),
        Some((b"a".as_slice(), version(3, Some(b"".as_slice()))))
    );
    assert_eq!(page.get(1), Some((b"b".as_slice(), version(4, None))));
    assert_eq!(
        page.find(b"bb").flatten().unwrap().row.as_deref(),
        Some(b"row".as_slice())
    );
    assert_eq!(page.find(b"ba"), Some(None));
    assert_eq!(
        [b"a".as_slice(), b"ab", b"bb", b"c"].map(|key| page.below(key)),
        [0, 1, 2, 3]
    );
    assert_eq!(page.get(3), None);
}

#[test]
fn a_change_keeps_scans_from_the_pages_that_hold_its_keys_and_from_no_others() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    for (lower, upper) in [("a", "b"), ("c", "d"), ("e", "g")] {
        all.keep(
            &table,
            table.epoch(),
            gathered(lower, &[lower], Some(upper)),
        );
    }
    all.changed(&touched(&["c", "z"]));
    assert_eq!(look(&table, "a"), "a to b");
    assert_eq!(look(&table, "c"), "nothing until e");
    let many: Vec<String> = (0..2000).map(|number| format!("e{number}")).collect();
    all.changed(&touched(
        &many.iter().map(String::as_str).collect::<Vec<_>>(),
    ));
    assert_eq!(look(&table, "a"), "a to b");
    assert_eq!(look(&table, "e"), "nothing until the end");
    all.changed(&Touched::range(TABLE, KeyRange::all()));
    assert_eq!(look(&table, "a"), "nothing until the end");
    assert_eq!(all.budget.bytes(), 0);
}

#[test]
fn rows_beside_one_that_changed_are_still_at_hand() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    let keep = |lower, keys: &[&str], upper| {
        all.keep(&table, table.epoch(), gathered(lower, keys, upper));
    };
    let known = |keys: [&str; 4]| keys.map(|key| table.get(key.as_bytes()).is_some());
    keep("a", &["a", "b", "c", "d"], Some("e"));
    all.changed(&touched(&["b"]));
    assert_eq!(known(["a", "b", "c", "bb"]), [true, false, true, true]);
    assert_eq!(look(&table, "a"), "nothing until the end");
    // It gives way to what a scan gathers, and is joined to nothing.
    keep("e", &["e"], None);
    assert_eq!(look(&table, "e"), "e to the end");
    assert_eq!(known(["a", "b", "c", "e"]), [true, false, true, true]);
    keep("b", &["b"], Some("c"));
    assert_eq!(known(["a", "b", "c", "e"]), [false, true, false, true]);
    assert_eq!(look(&table, "b"), "b to c");
}

#[test]
fn a_page_goes_when_a_row_comes_to_it_or_most_of_it_is_stale() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    let keep = || {
        let page = gathered("a", &["a", "b", "c", "d"], Some("e"));
        all.keep(&table, table.epoch(), page);
    };
    keep();
    all.changed(&touched(&["aa"]));
    assert_eq!(all.budget.bytes(), 0, "a new row");
    keep();
    all.changed(&touched(&["a", "b", "a"]));
    assert!(table.get(b"c").is_some());
    all.changed(&touched(&["c"]));
    assert_eq!(all.budget.bytes(), 0, "three of four rows");
}

#[test]
fn a_scan_goes_past_some_pages_with_stale_rows_in_one_go() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    let names: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
    for name in &names {
        // With a gap after each, or they would become one.
        let page = gathered(
            name,
            &[name, &format!("{name}a")],
            Some(&format!("{name}b")),
        );
        all.keep(&table, table.epoch(), page);
    }
    let stale: Vec<&str> = names[1..39].iter().map(String::as_str).collect();
    all.changed(&touched(&stale));
    assert_eq!(look(&table, "01"), "nothing until 17");
    assert_eq!(look(&table, "30"), "nothing until 39");
    assert_eq!(look(&table, "39"), "39 to 39b");
}

#[test]
fn what_was_gathered_while_something_changed_is_not_kept() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    let epoch = table.epoch();
    all.changed(&touched(&["x"]));
    all.keep(&table, epoch, gathered("a", &["a"], Some("c")));
    assert_eq!(look(&table, "a"), "nothing until the end");
    assert_eq!(all.budget.bytes(), 0);
}

#[test]
fn pages_never_overlap() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    let epoch = table.epoch();
    all.keep(&table, epoch, gathered("c", &[], Some("f")));
    for (lower, upper) in [
        ("a", Some("d")),
        ("e", Some("g")),
        ("a", None),
        ("d", Some("e")),
    ] {
        all.keep(&table, epoch, gathered(lower, &[], upper));
    }
    all.keep(&table, epoch, gathered("a", &[], Some("b")));
    all.keep(&table, epoch, gathered("g", &[], None));
    let known = ["a", "c", "g"].map(|key| look(&table, key));
    assert_eq!(known, ["a to b", "c to f", "g to the end"]);
}

#[test]
fn pages_side_by_side_become_one_until_it_is_full() {
    let all = pages(1 << 20);
    let table = all.of_scanned(TABLE);
    let names: Vec<String> = (0..300).map(|number| format!("{number:03}")).collect();
    let keep = |from: usize, until: usize| {
        let keys: Vec<&str> = names[from..until].iter().map(String::as_str).collect();
        let upper = names.get(until).map(String::as_str);
        all.keep(&table, table.epoch(), gathered(keys[0], &keys, upper));
    };
    keep(0, 100);
    keep(200, 250);
    assert_eq!(look(&table, "150"), "nothing until 200");
    keep(100, 200);
    assert_eq!(look(&table, "150"), "000 to 250");
    keep(250, 300);
    assert_eq!(look(&table, "260"), "250 to the end");
    assert_eq!(table.pages.read().len(), 2);
    for name in &names {
        let found = table.get(name.as_bytes()).flatten().unwrap();
        let row = format!("row of {name}");
        assert_eq!(found.row.as_deref(), Some(row.as_bytes()));
    }
    all.changed(&touched(&["007"]));
    assert_eq!(look(&table, "249"), "nothing until 250");
}

#[test]
fn pages_keep_to_their_budget_and_those_in_use_stay() {
    let all = pages(3000);
    let table = all.of_scanned(TABLE);
    let name = |number: usize| format!("{number:04}");
    for number in 0..100 {
        let lower = name(number);
        let upper = format!("{lower}+");
        let page = gathered(&lower, &[&lower], Some(&upper));
        all.keep(&table, table.epoch(), page);
        assert!(all.budget.bytes() <= 3000);
        assert!(table.get(name(0).as_bytes()).is_some(), "after {number}");
    }
    assert!(table.get(name(99).as_bytes()).is_some());
    assert!(table.get(name(1).as_bytes()).is_none());
    drop(table);
    all.drop_table(TABLE);
    assert_eq!(all.budget.bytes(), 0);
}

proptest! {
    #[test]
    fn pages_in_any_order_hold_every_row(
        keys in proptest::collection::btree_set("[a-d]{1,6}", 1..400),
        cuts in proptest::collection::btree_set(1..400_usize, 0..30),
        order in any::<u64>(),
    ) {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut bounds: Vec<usize> = cuts.into_iter().filter(|cut| *cut < keys.len()).collect();
        bounds.insert(0, 0);
        let mut pieces: Vec<(usize, usize)> = bounds
            .iter()
            .zip(bounds.iter().skip(1).chain([&keys.len()]))
            .map(|(from, until)| (*from, *until))
            .collect();
        pieces.sort_by_key(|(from, _)| (*from as u64 + 1).wrapping_mul(order | 1));
        let all = pages(1 << 20);
        let table = all.of_scanned(TABLE);
        for (from, until) in pieces {
            let upper = keys.get(until).copied();
            let piece = gathered(keys[from], &keys[from..until], upper);
            all.keep(&table, table.epoch(), piece);
        }
        for key in &keys {
            let found = table.get(key.as_bytes()).flatten();
            let row = found.and_then(|version| version.row);
            let expected = format!("row of {key}");
            prop_assert_eq!(row.as_deref(), Some(expected.as_bytes()));
        }
        // Where one ends another begins.
        let pages: Vec<_> = table.pages.read().values().cloned().collect();
        for (one, next) in pages.iter().zip(pages.iter().skip(1)) {
            prop_assert_eq!(one.upper(), Some(next.lower()));
        }
    }

    #[test]
    fn a_search_finds_what_comparing_keys_finds(
        begin: Vec<u8>,
        rest in proptest::collection::btree_set(proptest::collection::vec(0..4_u8, 0..12), 0..40),
        sought: Vec<u8>,
        sought_rest in proptest::collection::vec(0..5_u8, 0..12),
        bounded: bool,
    ) {
        let key = |rest: &[u8]| [begin.as_slice(), rest].concat();
        let keys: Vec<_> = rest.iter().map(|rest| key(rest)).collect();
        let lower = Bytes::from(if bounded { begin.clone() } else { Vec::new() });
        let upper = bounded.then(|| Bytes::from(key(&[5])));
        let range = KeyRange::new(lower.clone(), upper.clone());
        let mut rows = Gathered::new(lower);
        for key in &keys {
            rows.add(key, VersionRef { at: Timestamp(1), row: None });
        }
        let page = Page::new(rows.end(upper), &Arc::new(Budget::new(1 << 20)));
        let both = [sought, key(&sought_rest)];
        for sought in both.into_iter().filter(|sought| range.contains(sought)) {
            let below = keys.iter().filter(|key| **key < sought).count();
            prop_assert_eq!(page.below(&sought), below);
        }
    }
}
