//! Functions of single values: the greater of two, lengths, casts.

use std::cmp::Ordering;

use keys::Attribute;
use keys::attribute::format_double;

use super::{Failure, Found, Function, calculation};
use crate::items::expression::value::{Compared, Number, Value, compare, compare_numbers, whole};

pub(super) fn call(function: Function, values: &[Value]) -> Found {
    match (function, values) {
        (Function::Length, [value]) => length(value).map(|length| Ok(Value::Integer(length))),
        (Function::Min, [left, right]) => pick(left, right, Ordering::Less).map(Ok),
        (Function::Max, [left, right]) => pick(left, right, Ordering::Greater).map(Ok),
        (Function::IsNan, [value]) => {
            let number = value.number()?;
            Some(Ok(Value::Bool(number.double().is_nan())))
        }
        (Function::Sqrt, [value]) => {
            let number = value.number()?;
            Some(Ok(Value::Double(number.double().sqrt())))
        }
        (Function::ToInt, [value]) => to_int(value),
        (Function::Str, [value]) => to_text(value).map(|text| Ok(Value::Text(text))),
        _ => None,
    }
}

fn length(value: &Value) -> Option<i64> {
    let length = match value {
        Value::Text(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(array) => array.len(),
        _ => return None,
    };
    i64::try_from(length).ok()
}

/// The one that compares so to the other, the left one of equals. Numbers take the wider type of the
/// two; a bool is compared as a number and stays what it was. A nan gives way to a number.
fn pick(left: &Value, right: &Value, wanted: Ordering) -> Option<Value> {
    let ordering = match (left.number(), right.number()) {
        (Some(left), Some(right)) => match compare_numbers(right, left) {
            Some(ordering) => ordering,
            None if left.double().is_nan() => wanted,
            None => Ordering::Equal,
        },
        _ => match compare(right, left) {
            Compared::Ordered(ordering) => ordering,
            _ => return None,
        },
    };
    let (picked, other) = match ordering == wanted {
        true => (right, left),
        false => (left, right),
    };
    Some(match (picked, other) {
        (Value::Integer(integer), Value::Double(_)) => {
            Value::Double(Number::Integer(*integer).double())
        }
        _ => picked.clone(),
    })
}

fn to_int(value: &Value) -> Found {
    let cut = |double: f64| -> Result<Value, Failure> {
        whole(double).map(Value::Integer).ok_or_else(|| {
            calculation(format!("{} does not fit in 64 bits", format_double(double)))
        })
    };
    Some(match value {
        Value::Text(text) => match Attribute::parse_number(text) {
            Ok(Attribute::Double(double)) => cut(double),
            Ok(integer) => Ok(integer.into()),
            Err(error) => Err(calculation(error.to_string())),
        },
        Value::Time(time) => Ok(Value::Integer(time.secs())),
        _ => match value.number()? {
            Number::Integer(integer) => Ok(Value::Integer(integer)),
            Number::Double(double) => cut(double),
        },
    })
}

fn to_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Bytes(_) | Value::Array(_) => None,
        _ => Some(value.to_string()),
    }
}
