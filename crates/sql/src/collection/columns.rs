//! The columns of a collection, and how values of SQL become attributes, names and paths.
//!
//! ```text
//!   taxis/year=2018/johnd.20180602        {"driver": "johnd", "day": "20180602", "km": 12}
//!         ╰───┬───╯ ╰─┬─╯ ╰───┬──╯
//!   year ─────╯       │       │           partition attributes come from the path,
//!   driver ───────────╯       │           those that make the name from the name,
//!   day ──────────────────────╯
//!   km                                    all others from the item
//! ```
//!
//! What a value in the path or name is not, the column does not show: a name that is no number is
//! NULL in a column of numbers. So a condition on such a column can be answered by the key alone.

use keys::item_order::parse_time;
use keys::{Attribute, ItemName, Order, Time, Type, Value};

use super::error::{ItemError, Result};
use super::layout::Layout;

const SECOND_US: i64 = 1_000_000;

/// What a partition is called that has no value.
const NULL_PARTITION: &str = "null";

/// Where a column comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The sharding key, or the whole name if there is no sorting key.
    Key,
    /// The sorting key.
    Sorting,
    /// The directory, at this level below the one that has the schema.
    Partition(usize),
    /// An attribute of the item.
    Attribute,
    /// The name.
    Name,
    /// The path of the directory.
    Path,
    /// Another attribute that the server keeps.
    System,
}

/// A value as an attribute; nothing is no attribute.
pub(crate) fn attribute(value: &Value) -> Option<Attribute> {
    Some(match value {
        Value::Int64(integer) => Attribute::Integer(*integer),
        Value::Double(double) => Attribute::Double(*double),
        Value::Bool(bool) => Attribute::Bool(*bool),
        Value::Utf8(text) => Attribute::Text(text.to_string()),
        Value::String(bytes) => Attribute::Bytes(bytes.to_vec()),
        Value::Timestamp(micros) => Attribute::Time(time(*micros)),
        _ => return None,
    })
}

/// An attribute as a value of a column; one of another type is NULL there.
pub(crate) fn value(attribute: &Attribute, kind: Type) -> Value {
    match (kind, attribute) {
        (Type::Int64, Attribute::Integer(integer)) => Value::Int64(*integer),
        (Type::Double, Attribute::Double(double)) => Value::Double(*double),
        (Type::Double, Attribute::Integer(integer)) => {
            crate::cast(Value::Int64(*integer), Type::Double).unwrap_or(Value::Null)
        }
        (Type::Bool, Attribute::Bool(bool)) => Value::Bool(*bool),
        (Type::Utf8, Attribute::Text(text)) => Value::from(text.as_str()),
        (Type::String, Attribute::Bytes(bytes)) => Value::String(bytes.as_slice().into()),
        (Type::Timestamp, Attribute::Time(time)) => micros(*time),
        _ => Value::Null,
    }
}

/// A part of a name or path as a value. Where several texts mean one number, only the shortest does:
/// `7` is a key that is looked for, and `007` another.
pub(crate) fn named_value(text: &str, kind: Type) -> Value {
    match kind {
        Type::Utf8 => Value::from(text),
        Type::Int64 => match text.parse::<i64>() {
            Ok(integer) if integer.to_string() == text => Value::Int64(integer),
            _ => Value::Null,
        },
        _ => sorting_value(text, kind),
    }
}

/// The text of a partition as a value.
pub(crate) fn partition_value(text: &str, kind: Type) -> Value {
    match text {
        NULL_PARTITION => Value::Null,
        text => named_value(text, kind),
    }
}

/// A sorting key as a value, however it is written.
pub(crate) fn sorting_value(text: &str, kind: Type) -> Value {
    let parsed = match kind {
        Type::Utf8 => return Value::from(text),
        Type::Int64 => text.parse().ok().map(Value::Int64),
        Type::Double => text.parse().ok().map(Value::Double),
        Type::Bool => text.to_ascii_lowercase().parse().ok().map(Value::Bool),
        Type::Timestamp => parse_time(text).map(micros),
        _ => None,
    };
    parsed.unwrap_or(Value::Null)
}

/// The sharding key and the sorting key that an item's own name tells.
pub(crate) fn key_parts<'n>(layout: &Layout, name: &'n str) -> (&'n str, Option<&'n str>) {
    if layout.sorting_key.is_none() {
        return (name, None);
    }
    let ItemName { sharding, sorting } = ItemName::split(name);
    (sharding, sorting)
}

/// The type of a column that has an attribute for its value.
pub(crate) fn kind(attribute: &Attribute) -> Type {
    match attribute {
        Attribute::Integer(_) => Type::Int64,
        Attribute::Double(_) => Type::Double,
        Attribute::Text(_) => Type::Utf8,
        Attribute::Bytes(_) => Type::String,
        Attribute::Bool(_) => Type::Bool,
        Attribute::Time(_) => Type::Timestamp,
    }
}

/// An attribute as a part of a name.
pub(crate) fn attribute_text(found: &Attribute) -> Option<String> {
    text(&value(found, kind(found)))
}

/// A value as a part of a name.
pub(crate) fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Utf8(text) => text.to_string(),
        Value::Int64(integer) => integer.to_string(),
        Value::Double(double) => double.to_string(),
        // As clients in Python write it.
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Timestamp(micros) => time(*micros).to_string(),
        _ => return None,
    })
}

/// The same as a part of a path.
pub(crate) fn partition_text(value: &Value) -> String {
    text(value).unwrap_or_else(|| NULL_PARTITION.to_owned())
}

/// The own name of an item with these keys.
pub(crate) fn name(key: &str, sorting: Option<&str>) -> Result<String> {
    let Some(sorting) = sorting else {
        keys::check_item_name(key)?;
        return Ok(key.to_owned());
    };
    if key.contains('.') || key.is_empty() {
        return Err(ItemError::Invalid(format!(
            "`{}` cannot be a sharding key: it has a character or more, and no period, which ends it \
             in the name of an item",
            key.chars().take(60).collect::<String>()
        )));
    }
    let name = format!("{key}.{sorting}");
    keys::check_item_name(&name)?;
    Ok(name)
}

/// The least bytes of sorting keys that are not below a value, and the least of those above it. Nothing
/// if the order of the sorting keys is another than that of the values.
pub(crate) fn sorting_bounds(order: Order, value: &Value) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let bound = |text: String| order.bound(&text);
    let (from, past) = match (order, value) {
        (Order::Text, Value::Utf8(text)) => {
            let from = text.as_bytes().to_vec();
            // No text lies between.
            let past = [from.as_slice(), &[0]].concat();
            return Some((from, Some(past)));
        }
        (Order::Integer, Value::Int64(integer)) => (
            bound(integer.to_string())?,
            integer.checked_add(1).map(|next| next.to_string()),
        ),
        (Order::Double, Value::Double(double)) => {
            let next = double.next_up();
            let next = (next > *double).then(|| format!("{next:?}"));
            (bound(format!("{double:?}"))?, next)
        }
        (Order::Time, Value::Timestamp(micros)) => (
            bound(time(*micros).to_string())?,
            micros.checked_add(1).map(|next| time(next).to_string()),
        ),
        _ => return None,
    };
    Some((from, past.and_then(bound).or(order.ends().1)))
}

fn time(micros: i64) -> Time {
    let nanos = micros.rem_euclid(SECOND_US) * 1000;
    let nanos = u32::try_from(nanos).expect("a second has 30 bits of nanoseconds");
    Time::new(micros.div_euclid(SECOND_US), nanos).expect("they are less than a second")
}

fn micros(time: Time) -> Value {
    let whole = time.secs().checked_mul(SECOND_US);
    let micros = whole.and_then(|whole| whole.checked_add(i64::from(time.nanos() / 1000)));
    micros.map_or(Value::Null, Value::Timestamp)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    /// How the sorting key `text` lies to the bounds of `value`.
    fn lies(order: Order, text: &str, value: &Value) -> Ordering {
        let stored = order.encode(text);
        let (from, past) = sorting_bounds(order, value).unwrap();
        if stored < from {
            Ordering::Less
        } else if past.is_some_and(|past| stored >= past) {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    #[test]
    fn other_orders_have_no_bounds() {
        assert_eq!(sorting_bounds(Order::Text, &Value::Int64(7)), None);
        assert_eq!(sorting_bounds(Order::Integer, &Value::from("7")), None);
        assert_eq!(sorting_bounds(Order::Text, &Value::Null), None);
    }

    #[test]
    fn what_is_no_number_is_above_all_numbers_and_no_value() {
        for value in [i64::MIN, 0, i64::MAX] {
            assert_eq!(
                lies(Order::Integer, "x", &Value::Int64(value)),
                Ordering::Greater
            );
        }
        assert_eq!(sorting_value("x", Type::Int64), Value::Null);
        assert_eq!(named_value("007", Type::Int64), Value::Null);
        assert_eq!(sorting_value("007", Type::Int64), Value::Int64(7));
        assert_eq!(partition_value("null", Type::Utf8), Value::Null);
    }

    proptest! {
        #[test]
        fn bounds_are_where_values_are(
            (a, b) in (any::<i64>(), any::<i64>()),
            (x, y) in (any::<f64>(), any::<f64>()),
            (s, t) in ("[a-c.\\x00é]{0,4}", "[a-c.\\x00é]{0,4}"),
            (early, late) in (-9_000_000_000_i64..9_000_000_000, -9_000_000_000_i64..9_000_000_000),
            nanos in 0_u32..1000,
        ) {
            let integer = Value::Int64(b);
            prop_assert_eq!(lies(Order::Integer, &a.to_string(), &integer), a.cmp(&b));
            prop_assert_eq!(lies(Order::Integer, &b.to_string(), &integer), Ordering::Equal);
            prop_assert_eq!(lies(Order::Text, &s, &Value::from(t.as_str())), s.cmp(&t));
            if let Some(expected) = x.partial_cmp(&y) {
                prop_assert_eq!(lies(Order::Double, &format!("{x:?}"), &Value::Double(y)), expected);
            }
            // A time that is finer than the column lies where the column shows it.
            let precise = time(early);
            let text = format!("{}:{}", precise.secs(), precise.nanos() + nanos);
            let expected = early.cmp(&late);
            prop_assert_eq!(lies(Order::Time, &text, &Value::Timestamp(late)), expected);
            prop_assert_eq!(sorting_value(&text, Type::Timestamp), Value::Timestamp(early));
        }

        #[test]
        fn names_and_columns_are_inverse(
            key in "[a-z_0-9]{1,8}", sorting in "[a-z.0-9]{1,8}", buckets in 0_u32..8,
        ) {
            let schema = format!(
                r#"{{"key": "k", "sortingKey": "s", "hashingBucketNum": {buckets}}}"#
            );
            let layout = Layout::parse(schema.as_bytes()).unwrap();
            let own = name(&key, Some(&sorting)).unwrap();
            prop_assert_eq!(key_parts(&layout, &own), (key.as_str(), Some(sorting.as_str())));
            // Whatever it looks like, it lies where no other does.
            let stored = layout.key("", &own);
            prop_assert_eq!(stored.is_in_bucket(), buckets > 0);
            prop_assert!(stored.sharding.starts_with(&key));
        }
    }
}
