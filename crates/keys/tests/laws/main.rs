//! What holds for every value, key, path and row, and for bytes that are none of these.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod strategy;

use std::cmp::Ordering;

use keys::key::columns;
use keys::{
    Cell, Error, KEY_BYTES_MAX, KEY_COLUMNS_MAX, RowView, Type, Value, append_key_value,
    decode_key, decode_key_prefix, encode_key, encode_row, format_key, format_values, parse_bound,
    parse_key, prefix_upper_bound, separator,
};
use proptest::prelude::*;
use strategy::{KEY_TYPES, TYPES, any_key, key_of, key_types, nearly_a_key, two_keys, value_of};

fn compare(a: &[Value], b: &[Value]) -> Ordering {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.key_cmp(b))
        .find(|ordering| ordering.is_ne())
        .unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn boundaries(key: &[u8]) -> Vec<usize> {
    columns(key).map(|column| column.unwrap().end).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn keys_sort_as_their_values((a, b) in two_keys()) {
        let (left, right) = (encode_key(&a).unwrap(), encode_key(&b).unwrap());
        prop_assert_eq!(left.cmp(&right), compare(&a, &b), "{:?} {:?}", a, b);
    }

    #[test]
    fn a_key_decodes_to_its_values(values in any_key()) {
        let key = encode_key(&values).unwrap();
        prop_assert_eq!(key.len(), key.capacity());
        prop_assert_eq!(&decode_key(&key).unwrap(), &values);
        let mut appended = Vec::new();
        for value in &values {
            append_key_value(&mut appended, value).unwrap();
        }
        prop_assert_eq!(appended, key);
    }

    #[test]
    fn a_prefix_decodes_up_to_its_boundary(values in any_key(), take in 0..6_usize) {
        let key = encode_key(&values).unwrap();
        let (first, end) = decode_key_prefix(&key, take).unwrap();
        prop_assert_eq!(&first[..], &values[..take.min(values.len())]);
        prop_assert_eq!(encode_key(&first).unwrap(), &key[..end]);
    }

    #[test]
    fn bytes_that_decode_encode_to_themselves(bytes in nearly_a_key()) {
        if let Ok(values) = decode_key(&bytes) {
            prop_assert_eq!(encode_key(&values).unwrap(), bytes);
        }
    }

    #[test]
    fn the_upper_bound_is_above_every_key_of_the_prefix(
        (a, b) in two_keys(), take in 0..4_usize,
    ) {
        let prefix = encode_key(&a[..take.min(a.len())]).unwrap();
        let bound = prefix_upper_bound(&prefix);
        let key = encode_key(&b).unwrap();
        let inside = prefix <= key && key < bound;
        prop_assert_eq!(inside, key.starts_with(&prefix));
    }

    #[test]
    fn a_separator_is_the_shortest_prefix_above((a, b) in two_keys()) {
        let (a, b) = (encode_key(&a).unwrap(), encode_key(&b).unwrap());
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        match separator(&a, &b) {
            None => prop_assert_eq!(a, b),
            Some(s) => {
                prop_assert!(a < s && s <= b);
                let expected = boundaries(&b).into_iter().find(|end| b[..*end] > a[..]);
                prop_assert_eq!(Some(s.len()), expected);
                prop_assert!(b.starts_with(&s));
            }
        }
    }

    #[test]
    fn a_separator_of_any_bytes_is_between(a in nearly_a_key(), b in nearly_a_key()) {
        match separator(&a, &b) {
            None => prop_assert!(a >= b),
            Some(s) => prop_assert!(a < s && s <= b && b.starts_with(&s)),
        }
    }

    #[test]
    fn a_path_reads_back((types, values) in key_types().prop_flat_map(|types| {
        (Just(types.clone()), key_of(types))
    })) {
        let key = encode_key(&values).unwrap();
        let path = format_key(&key);
        prop_assert_eq!(&path, &format_values(&values));
        prop_assert!(!path.chars().any(char::is_control));
        prop_assert_eq!(path.split('/').count() - 1, values.len().max(1));
        prop_assert_eq!(&parse_key(&types, &path).unwrap(), &values);
        prop_assert_eq!(parse_bound(&types, &path).unwrap(), &key[..]);
        let bound = prefix_upper_bound(&key);
        prop_assert_eq!(parse_bound(&types, &format_key(&bound)).unwrap(), bound);
    }

    #[test]
    fn a_path_is_read_whole_or_refused(types in key_types(), path in "/?[a-zé0-9<>%'x/ -]{0,20}") {
        if let Ok(values) = parse_key(&types, &path) {
            prop_assert_eq!(parse_key(&types, &format_values(&values)), Ok(values));
        }
    }

    #[test]
    fn any_bytes_print(bytes in nearly_a_key()) {
        let path = format_key(&bytes);
        let whole = decode_key(&bytes).is_ok() || bytes.last() == Some(&0xff);
        prop_assert!(path.starts_with('/'));
        prop_assert!(whole || path.contains("<undecodable 0x") || columns(&bytes).count() > 20);
    }

    #[test]
    fn the_text_of_a_value_reads_back((kind, value) in prop::sample::select(&TYPES[..])
        .prop_flat_map(|kind| (Just(kind), value_of(kind))))
    {
        prop_assert!(value.type_matches(kind));
        prop_assert_eq!(Value::parse(kind, &value.to_string()), Ok(value));
    }

    #[test]
    fn reading_any_text_never_panics(kind in prop::sample::select(&TYPES[..]), text in ".{0,30}") {
        if let Ok(value) = Value::parse(kind, &text) {
            prop_assert!(value.type_matches(kind));
        }
    }

    #[test]
    fn text_that_looks_like_a_time_never_panics(
        kind in prop::sample::select(&TYPES[..]), text in "[-+PT0-9:.eZ \\\\xDHMSW{}]{0,40}",
    ) {
        if let Ok(value) = Value::parse(kind, &text) {
            prop_assert_eq!(Value::parse(kind, &value.to_string()), Ok(value));
        }
    }

    #[test]
    fn any_column_of_a_row_reads_alone((types, values) in
        prop::collection::vec(prop::sample::select(&TYPES[..]), 0..20).prop_flat_map(|types| {
            (Just(types.clone()), strategy::row_of(types))
        }))
    {
        let row = encode_row(&values).unwrap();
        prop_assert!(row.capacity() <= row.len().max(8));
        let view = RowView::new(&row).unwrap();
        prop_assert_eq!(view.columns(), values.len());
        for (i, (kind, value)) in types.iter().zip(&values).enumerate() {
            prop_assert_eq!(view.column(i, *kind).unwrap(), Some(value.clone()));
            prop_assert_eq!(view.raw(i).unwrap().is_none(), value.is_null());
        }
        prop_assert_eq!(view.cell(values.len()).unwrap(), Cell::Missing);
        prop_assert_eq!(view.column(values.len(), Type::Bool).unwrap(), None);
    }

    #[test]
    fn any_bytes_read_as_a_row_never_panic(
        format in prop::sample::select(&[0x11_u8, 0x12, 0x14, 0x21, 0x13][..]),
        count in 0..12_u8,
        rest in prop::collection::vec(0..12_u8, 0..40),
        kind in prop::sample::select(&TYPES[..]),
    ) {
        let row: Vec<u8> = [format, count].into_iter().chain(rest).collect();
        if let Ok(view) = RowView::new(&row) {
            for i in 0..view.columns() {
                if let (Ok(Cell::Bytes(bytes)), Ok(Some(value))) = (view.cell(i), view.column(i, kind)) {
                    let again = encode_row(&[value]).unwrap();
                    prop_assert!(again.ends_with(bytes));
                }
            }
        }
    }

    #[test]
    fn values_that_are_equal_hash_alike((a, b) in two_keys()) {
        prop_assert_eq!(a == b, keys::hash_values(&a) == keys::hash_values(&b));
    }
}

#[test]
fn limits_say_what_was_found_and_what_is_allowed() {
    let long = Value::from(vec![b'a'; KEY_BYTES_MAX - 3]);
    assert_eq!(
        encode_key(std::slice::from_ref(&long)).unwrap().len(),
        KEY_BYTES_MAX
    );
    let over = encode_key(&[long, Value::Null]).unwrap_err();
    assert_eq!(
        over.to_string(),
        "key of 1048577 bytes is above the limit of 1048576 bytes"
    );
    let wide = encode_key(&vec![Value::Null; KEY_COLUMNS_MAX + 1]).unwrap_err();
    assert_eq!(
        wide.to_string(),
        "key of 21 columns is above the limit of 20 columns"
    );
    assert_eq!(decode_key(&[0x10; KEY_COLUMNS_MAX + 1]), Err(wide));
    let wide = encode_row(&vec![Value::Null; 201]).unwrap_err();
    assert_eq!(
        wide.to_string(),
        "row of 201 columns is above the limit of 200 columns"
    );
    let cell = Value::from(vec![0; keys::CELL_BYTES_MAX + 1]);
    assert_eq!(
        encode_row(&[Value::Null, cell]).unwrap_err().to_string(),
        "column 1 of the row has 16777217 bytes, above the limit of 16777216 bytes",
    );
}

#[test]
fn rows_of_every_width_read_back() {
    for bytes in [0, 255, 256, 65_535, 65_536, 1_000_000] {
        let values = [
            Value::from("x"),
            Value::from(vec![7; bytes]),
            Value::Int16(-1),
        ];
        let row = encode_row(&values).unwrap();
        let view = RowView::new(&row).unwrap();
        assert_eq!(view.raw(1).unwrap().unwrap().len(), bytes);
        assert_eq!(view.column(2, Type::Int16).unwrap(), Some(Value::Int16(-1)));
    }
}

#[test]
fn floats_and_json_are_no_keys() {
    for value in [
        Value::Float(1.0),
        Value::Double(1.0),
        Value::Json("1".into()),
    ] {
        let kind = value.value_type().unwrap();
        assert!(!kind.is_key_type());
        assert_eq!(encode_key(&[value]), Err(Error::KeyTypeRefused { kind }));
    }
    assert!(KEY_TYPES.iter().all(|kind| kind.is_key_type()));
}

#[test]
fn floats_order_totally() {
    let sorted = [
        f64::NEG_INFINITY,
        -1.0,
        0.0,
        1e-300,
        f64::INFINITY,
        f64::NAN,
    ]
    .map(Value::Double);
    assert!(sorted.is_sorted());
    assert_eq!(Value::Double(-0.0), Value::Double(0.0));
    assert_eq!(Value::Double(f64::NAN), Value::Double(-f64::NAN));
}
