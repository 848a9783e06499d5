//! Values as JSON, by the type of their column.
//!
//! ```text
//!   Null          null                       Date        {"days":20484}
//!   Bool          true                       Datetime    {"s":1769817600}
//!   integers      7, beyond 2⁵³ {"n":"…"}    Timestamp   {"us":1769817600000000}
//!   floats        0.5, {"n":"NaN"}           Interval    {"us":90000000}
//!   Decimal       {"n":"12.50"}              Uuid        {"uuid":"0189c2a0-…"}
//!   Utf8, Json    "text"                     String      {"hex":"0aff"}
//! ```
//!
//! Times are numbers and not text, so that reading a million of them costs nothing. Text that
//! [`Value::parse`] understands is read for any type, which is kind to traces made by hand.

use std::fmt::Write as _;

use keys::{Type, Value};
use serde_json::Value as Json;

/// The whole numbers that every reader of JSON keeps exactly.
const EXACT_MAX: u64 = 1 << 53;

/// Appends a value.
pub(super) fn append(out: &mut String, value: &Value) {
    let integer = |out: &mut String, number: i64| {
        if number.unsigned_abs() <= EXACT_MAX {
            append_text(out, format_args!("{number}"));
        } else {
            append_text(out, format_args!("{{\"n\":\"{number}\"}}"));
        }
    };
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(v) => append_text(out, format_args!("{v}")),
        Value::Int8(v) => integer(out, i64::from(*v)),
        Value::Int16(v) => integer(out, i64::from(*v)),
        Value::Int32(v) => integer(out, i64::from(*v)),
        Value::Int64(v) => integer(out, *v),
        Value::Uint8(v) => integer(out, i64::from(*v)),
        Value::Uint16(v) => integer(out, i64::from(*v)),
        Value::Uint32(v) => integer(out, i64::from(*v)),
        Value::Uint64(v) if *v > EXACT_MAX => append_text(out, format_args!("{{\"n\":\"{v}\"}}")),
        Value::Uint64(v) => append_text(out, format_args!("{v}")),
        Value::Float(v) if v.is_finite() => append_text(out, format_args!("{v}")),
        Value::Double(v) if v.is_finite() => append_text(out, format_args!("{v}")),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            append_text(out, format_args!("{{\"n\":\"{value}\"}}"));
        }
        Value::Utf8(v) | Value::Json(v) => append_string(out, v),
        Value::String(v) => {
            out.push_str("{\"hex\":\"");
            for byte in v {
                append_text(out, format_args!("{byte:02x}"));
            }
            out.push_str("\"}");
        }
        Value::Date(v) => append_text(out, format_args!("{{\"days\":{v}}}")),
        Value::Datetime(v) => append_text(out, format_args!("{{\"s\":{v}}}")),
        Value::Timestamp(v) | Value::Interval(v) => {
            append_text(out, format_args!("{{\"us\":{v}}}"));
        }
        Value::Uuid(_) => append_text(out, format_args!("{{\"uuid\":\"{value}\"}}")),
    }
}

/// Appends formatted text.
pub(super) fn append_text(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text)
        .expect("writing to a String never fails");
}

/// Appends text as a string of JSON.
pub(super) fn append_string(out: &mut String, text: &str) {
    let quoted = serde_json::to_string(text).expect("every text is a string of JSON");
    out.push_str(&quoted);
}

/// Reads a value of a column of this type, or says why it is none.
pub(super) fn read(kind: Type, json: &Json) -> Result<Value, String> {
    let found = match json {
        Json::Null => Some(Value::Null),
        Json::Bool(v) => (kind == Type::Bool).then_some(Value::Bool(*v)),
        Json::Number(number) => read_number(kind, number),
        Json::String(text) => match kind {
            Type::Utf8 => Some(Value::from(text.as_str())),
            _ => Value::parse(kind, text).ok(),
        },
        Json::Object(map) => {
            let mut entries = map.iter();
            let one = entries.next().filter(|_| entries.next().is_none());
            one.and_then(|(unit, inner)| read_unit(kind, unit, inner))
        }
        Json::Array(_) => None,
    };
    found.ok_or_else(|| format!("{} is no {kind}", shortened(&json.to_string())))
}

fn read_number(kind: Type, number: &serde_json::Number) -> Option<Value> {
    match kind {
        Type::Int8 => Some(Value::Int8(number.as_i64()?.try_into().ok()?)),
        Type::Int16 => Some(Value::Int16(number.as_i64()?.try_into().ok()?)),
        Type::Int32 => Some(Value::Int32(number.as_i64()?.try_into().ok()?)),
        Type::Int64 => Some(Value::Int64(number.as_i64()?)),
        Type::Uint8 => Some(Value::Uint8(number.as_u64()?.try_into().ok()?)),
        Type::Uint16 => Some(Value::Uint16(number.as_u64()?.try_into().ok()?)),
        Type::Uint32 => Some(Value::Uint32(number.as_u64()?.try_into().ok()?)),
        Type::Uint64 => Some(Value::Uint64(number.as_u64()?)),
        Type::Double => Some(Value::Double(number.as_f64()?)),
        Type::Float | Type::Decimal { .. } => Value::parse(kind, &number.to_string()).ok(),
        _ => None,
    }
}

fn read_unit(kind: Type, unit: &str, inner: &Json) -> Option<Value> {
    match (unit, kind) {
        ("n", Type::Utf8 | Type::Json | Type::String) => None,
        ("n", _) => Value::parse(kind, inner.as_str()?).ok(),
        ("us", Type::Timestamp) => Some(Value::Timestamp(inner.as_i64()?)),
        ("us", Type::Interval) => Some(Value::Interval(inner.as_i64()?)),
        ("s", Type::Datetime) => Some(Value::Datetime(inner.as_i64()?)),
        ("days", Type::Date) => Some(Value::Date(inner.as_i64()?.try_into().ok()?)),
        ("uuid", Type::Uuid) => Value::parse(kind, inner.as_str()?).ok(),
        ("hex", Type::String) => Value::parse(kind, &format!("\\x{}", inner.as_str()?)).ok(),
        _ => None,
    }
}

/// At most so much of a text that a message stays readable.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
