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

/// The sharding key and the sorting key that a stored name tells, without its bucket.
pub(crate) fn key_parts<'n>(layout: &Layout, name: &'n str) -> (&'n str, Option<&'n str>) {
    if layout.sorting_key.is_none() {
        return (name, None);
    }
    let parts = ItemName::split(name);
    let original = layout.buckets.and_then(|buckets| parts.original(buckets));
    let ItemName { sharding, sorting } = original.unwrap_or(parts);
    (sharding, sorting)
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

/// The name of an item with these keys, as it is stored.
pub(crate) fn name(layout: &Layout, key: &str, sorting: Option<&str>) -> Result<String> {
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
    let mut names = layout.names(&name).into_iter();
    let name = names.next().unwrap_or(name);
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
