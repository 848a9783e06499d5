//! Values, keys and near-keys for the laws: extremes and empty things far more often than chance.

use keys::{Decimal, Type, Value, encode_key};
use proptest::prelude::*;

/// Every type that a key column may have.
pub(crate) const KEY_TYPES: [Type; 17] = [
    Type::Bool,
    Type::Int8,
    Type::Int16,
    Type::Int32,
    Type::Int64,
    Type::Uint8,
    Type::Uint16,
    Type::Uint32,
    Type::Uint64,
    Type::Decimal {
        precision: 38,
        scale: 9,
    },
    Type::Utf8,
    Type::String,
    Type::Date,
    Type::Datetime,
    Type::Timestamp,
    Type::Interval,
    Type::Uuid,
];

/// Every type.
pub(crate) const TYPES: [Type; 20] = {
    let mut types = [Type::Json; 20];
    let mut i = 0;
    while i < KEY_TYPES.len() {
        types[i] = KEY_TYPES[i];
        i += 1;
    }
    types[17] = Type::Float;
    types[18] = Type::Double;
    types
};

macro_rules! extreme {
    ($native:ty) => {
        prop_oneof![
            Just(<$native>::MIN),
            Just(<$native>::MAX),
            Just(0),
            Just(1),
            Just((0 as $native).wrapping_sub(1)),
            any::<$native>(),
        ]
    };
}

/// A value of this type, not NULL.
pub(crate) fn value_of(kind: Type) -> BoxedStrategy<Value> {
    match kind {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Int8 => extreme!(i8).prop_map(Value::Int8).boxed(),
        Type::Int16 => extreme!(i16).prop_map(Value::Int16).boxed(),
        Type::Int32 => extreme!(i32).prop_map(Value::Int32).boxed(),
        Type::Int64 => extreme!(i64).prop_map(Value::Int64).boxed(),
        Type::Uint8 => extreme!(u8).prop_map(Value::Uint8).boxed(),
        Type::Uint16 => extreme!(u16).prop_map(Value::Uint16).boxed(),
        Type::Uint32 => extreme!(u32).prop_map(Value::Uint32).boxed(),
        Type::Uint64 => extreme!(u64).prop_map(Value::Uint64).boxed(),
        Type::Float => prop_oneof![any::<f32>(), any::<u32>().prop_map(f32::from_bits)]
            .prop_map(Value::Float)
            .boxed(),
        Type::Double => prop_oneof![any::<f64>(), any::<u64>().prop_map(f64::from_bits)]
            .prop_map(Value::Double)
            .boxed(),
        Type::Decimal { precision, scale } => decimal(precision, scale),
        Type::Utf8 => text().prop_map(Value::from).boxed(),
        Type::Json => any::<i32>()
            .prop_map(|number| Value::Json(format!("{{\"n\": [{number}]}}").into()))
            .boxed(),
        Type::String => bytes().prop_map(Value::from).boxed(),
        Type::Date => extreme!(i32).prop_map(Value::Date).boxed(),
        Type::Datetime => extreme!(i64).prop_map(Value::Datetime).boxed(),
        Type::Timestamp => extreme!(i64).prop_map(Value::Timestamp).boxed(),
        Type::Interval => extreme!(i64).prop_map(Value::Interval).boxed(),
        Type::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
    }
}

fn decimal(precision: u8, scale: u8) -> BoxedStrategy<Value> {
    let limit = 10_i128.pow(u32::from(precision)) - 1;
    prop_oneof![
        Just(-limit),
        Just(limit),
        Just(0),
        -1000..1000_i128,
        -limit..limit
    ]
    .prop_map(move |unscaled| Value::Decimal(Decimal::new(unscaled, scale).unwrap()))
    .boxed()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[ab\0]{0,4}",
        Just("NULL".to_owned()),
        "[/%'<>a \\\\x.é\u{2028}\n]{0,6}",
        ".{0,12}",
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(prop::sample::select(&[0_u8, 1, 2, 0xfe, 0xff][..]), 0..5),
        prop::collection::vec(any::<u8>(), 0..12),
    ]
}

fn nullable(kind: Type) -> BoxedStrategy<Value> {
    prop_oneof![1 => Just(Value::Null), 6 => value_of(kind)].boxed()
}

/// The types of the columns of a key.
pub(crate) fn key_types() -> impl Strategy<Value = Vec<Type>> {
    prop::collection::vec(prop::sample::select(&KEY_TYPES[..]), 0..5)
}

/// A key with columns of these types, NULLs among them.
pub(crate) fn key_of(types: Vec<Type>) -> impl Strategy<Value = Vec<Value>> {
    types.into_iter().map(nullable).collect::<Vec<_>>()
}

/// A row with columns of these types, NULLs among them.
pub(crate) fn row_of(types: Vec<Type>) -> impl Strategy<Value = Vec<Value>> {
    key_of(types)
}

/// A key of any types.
pub(crate) fn any_key() -> impl Strategy<Value = Vec<Value>> {
    key_types().prop_flat_map(key_of)
}

/// Two keys of one table: of the same types, often with columns in common, one perhaps a prefix.
pub(crate) fn two_keys() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    key_types()
        .prop_flat_map(|types| {
            (
                key_of(types.clone()),
                key_of(types.clone()),
                0..=types.len(),
                0..=types.len(),
            )
        })
        .prop_map(|(a, mut b, shared, cut)| {
            b[..shared].clone_from_slice(&a[..shared]);
            if cut > shared {
                b.truncate(cut);
            }
            (a, b)
        })
}

/// Bytes that are a key, or a key with one byte changed, cut off or added, or anything.
pub(crate) fn nearly_a_key() -> impl Strategy<Value = Vec<u8>> {
    let changed = (
        any_key(),
        any::<prop::sample::Index>(),
        any::<u8>(),
        0..4_u8,
    )
        .prop_map(|(values, at, byte, how)| {
            let mut key = encode_key(&values).unwrap();
            match how {
                0 => {}
                1 if !key.is_empty() => {
                    let at = at.index(key.len());
                    key[at] = byte;
                }
                2 if !key.is_empty() => key.truncate(at.index(key.len())),
                _ => key.push(byte),
            }
            key
        });
    prop_oneof![4 => changed, 1 => prop::collection::vec(any::<u8>(), 0..40)]
}
