//! Turning a value of one type into another, as `CAST` and an assignment to a column do.
//!
//! ```text
//!   integers      any width and sign, if the number fits
//!   to integers   a decimal rounds half away from zero, a float to the nearest even, as in PostgreSQL
//!   text          to and from everything, in the canonical spelling; bytes may be spelled \x00ff
//!   times         Date, Datetime and Timestamp into each other; numbers are days, seconds, µs as in YQL
//! ```
//!
//! What does not fit is an error that names the value and the type, never a wrapped or cut number.
//! NULL is NULL of every type.

use keys::{Decimal, Type, Value};

use crate::{Error, Result, number};

const SECONDS_A_DAY: i64 = 86_400;
const MICROSECONDS_A_SECOND: i64 = 1_000_000;

/// The value as one of type `to`.
pub fn cast(value: Value, to: Type) -> Result<Value> {
    if value.type_matches(to) {
        return Ok(value);
    }
    let out_of_range = || Error::OutOfRange {
        value: value.to_string(),
        kind: to,
    };
    let cannot = || Error::CannotCast {
        value: value.to_string(),
        from: kind_name(&value),
        to,
    };
    match to {
        Type::Bool => to_bool(&value).ok_or_else(cannot)?,
        Type::Utf8 => Ok(Value::Utf8(to_text(&value).ok_or_else(cannot)?.into())),
        Type::String => match &value {
            Value::Utf8(text) => Ok(Value::parse(to, text)?),
            Value::Json(text) => Ok(Value::String(text.as_bytes().into())),
            _ => Err(cannot()),
        },
        Type::Json | Type::Uuid | Type::Interval => match &value {
            Value::Utf8(text) => Ok(Value::parse(to, text)?),
            Value::String(bytes) => from_bytes(bytes, to).ok_or_else(cannot)?,
            number if to == Type::Interval => {
                let number = integer(number).ok_or_else(cannot)?;
                Ok(Value::Interval(
                    i64::try_from(number).map_err(|_| out_of_range())?,
                ))
            }
            _ => Err(cannot()),
        },
        Type::Float | Type::Double => match &value {
            Value::Utf8(text) => Ok(Value::parse(to, text)?),
            number => {
                let number = float(number).ok_or_else(cannot)?;
                if to == Type::Double {
                    Ok(Value::Double(number))
                } else {
                    narrow(number, &value)
                }
            }
        },
        Type::Decimal { .. } => to_decimal(&value, to),
        Type::Date | Type::Datetime | Type::Timestamp => to_time(&value, to),
        _ => match &value {
            Value::Utf8(text) => Ok(Value::parse(to, text.trim())?),
            number => {
                let number = integer(number).ok_or_else(cannot)?;
                from_integer(number, to).ok_or_else(out_of_range)
            }
        },
    }
}

/// An integer of a given type, if it fits.
pub(crate) fn from_integer(number: i128, to: Type) -> Option<Value> {
    Some(match to {
        Type::Int8 => Value::Int8(number.try_into().ok()?),
        Type::Int16 => Value::Int16(number.try_into().ok()?),
        Type::Int32 => Value::Int32(number.try_into().ok()?),
        Type::Int64 => Value::Int64(number.try_into().ok()?),
        Type::Uint8 => Value::Uint8(number.try_into().ok()?),
        Type::Uint16 => Value::Uint16(number.try_into().ok()?),
        Type::Uint32 => Value::Uint32(number.try_into().ok()?),
        Type::Uint64 => Value::Uint64(number.try_into().ok()?),
        _ => return None,
    })
}

/// The nearest integer to a number; times count as theirs.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Bool(yes) => i128::from(*yes),
        Value::Int8(number) => i128::from(*number),
        Value::Int16(number) => i128::from(*number),
        Value::Int32(number) | Value::Date(number) => i128::from(*number),
        Value::Int64(number)
        | Value::Datetime(number)
        | Value::Timestamp(number)
        | Value::Interval(number) => i128::from(*number),
        Value::Uint8(number) => i128::from(*number),
        Value::Uint16(number) => i128::from(*number),
        Value::Uint32(number) => i128::from(*number),
        Value::Uint64(number) => i128::from(*number),
        Value::Decimal(decimal) => round_decimal(*decimal),
        Value::Float(number) => round_float(f64::from(*number))?,
        Value::Double(number) => round_float(*number)?,
        _ => return None,
    })
}

fn round_decimal(decimal: Decimal) -> i128 {
    let unit = 10_i128.pow(u32::from(decimal.scale()));
    let whole = decimal.unscaled() / unit;
    let rest = decimal.unscaled() % unit;
    // A unit of 10^38 cannot be doubled, but a rest of half of it can be compared from the other side.
    if rest.abs() >= unit - rest.abs() && unit > 1 {
        whole + rest.signum()
    } else {
        whole
    }
}

fn round_float(number: f64) -> Option<i128> {
    let rounded = number.round_ties_even();
    // Every integer type lies well within these bounds, so the cast below is exact.
    if rounded.is_nan() || rounded.abs() >= 1e30 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an integer below 10^30 fits 128 bits"
    )]
    Some(rounded as i128)
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(f64::from(*number)),
        Value::Double(number) => Some(*number),
        Value::Decimal(decimal) => decimal.to_string().parse().ok(),
        Value::Bool(_) | Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_) => None,
        other => integer(other)?.to_string().parse().ok(),
    }
}

fn narrow(number: f64, value: &Value) -> Result<Value> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding is what a narrower float means"
    )]
    let narrow = number as f32;
    if narrow.is_infinite() && number.is_finite() {
        return Err(Error::OutOfRange {
            value: value.to_string(),
            kind: Type::Float,
        });
    }
    Ok(Value::Float(narrow))
}

fn to_decimal(value: &Value, to: Type) -> Result<Value> {
    let Type::Decimal { precision, scale } = to else {
        return Err(Error::CannotCast {
            value: value.to_string(),
            from: kind_name(value),
            to,
        });
    };
    let text = match value {
        Value::Utf8(text) => text.to_string(),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) => value.to_string(),
        other => match integer(other) {
            Some(number) => number.to_string(),
            None => {
                let from = kind_name(value);
                return Err(Error::CannotCast {
                    value: value.to_string(),
                    from,
                    to,
                });
            }
        },
    };
    let out_of_range = || Error::OutOfRange {
        value: value.to_string(),
        kind: to,
    };
    if let Value::Decimal(decimal) = value {
        let scaled = decimal.rescale(scale).ok_or_else(out_of_range)?;
        return (scaled.digits() <= precision)
            .then_some(Value::Decimal(scaled))
            .ok_or_else(out_of_range);
    }
    // What is a number and does not fit is too large, and not misspelled.
    Value::parse(to, &text).map_err(|error| match number::exact(&text) {
        Some(_) => out_of_range(),
        None => error.into(),
    })
}

fn to_bool(value: &Value) -> Option<Result<Value>> {
    match value {
        Value::Utf8(text) => Some(Value::parse(Type::Bool, text).map_err(Error::from)),
        Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_) | Value::Interval(_) => None,
        number => integer(number).map(|number| Ok(Value::Bool(number != 0))),
    }
}

fn to_text(value: &Value) -> Option<String> {
    match value {
        Value::String(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        other => Some(other.to_string()),
    }
}

fn from_bytes(bytes: &[u8], to: Type) -> Option<Result<Value>> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(Value::parse(to, text).map_err(Error::from))
}

fn to_time(value: &Value, to: Type) -> Result<Value> {
    let out_of_range = || Error::OutOfRange {
        value: value.to_string(),
        kind: to,
    };
    let microseconds = match value {
        Value::Utf8(text) => return Ok(Value::parse(to, text)?),
        Value::Date(days) => i64::from(*days).checked_mul(SECONDS_A_DAY * MICROSECONDS_A_SECOND),
        Value::Datetime(seconds) => seconds.checked_mul(MICROSECONDS_A_SECOND),
        Value::Timestamp(microseconds) => Some(*microseconds),
        number => {
            let cannot = || Error::CannotCast {
                value: value.to_string(),
                from: kind_name(value),
                to,
            };
            let number = integer(number).filter(|_| !matches!(value, Value::Bool(_)));
            let number = number.ok_or_else(cannot)?;
            return from_units(number, to).ok_or_else(out_of_range);
        }
    };
    let microseconds = microseconds.ok_or_else(out_of_range)?;
    let seconds = microseconds.div_euclid(MICROSECONDS_A_SECOND);
    let units = match to {
        Type::Timestamp => microseconds,
        Type::Datetime => seconds,
        _ => seconds.div_euclid(SECONDS_A_DAY),
    };
    from_units(i128::from(units), to).ok_or_else(out_of_range)
}

fn from_units(number: i128, to: Type) -> Option<Value> {
    Some(match to {
        Type::Date => Value::Date(number.try_into().ok()?),
        Type::Datetime => Value::Datetime(number.try_into().ok()?),
        Type::Timestamp => Value::Timestamp(number.try_into().ok()?),
        _ => return None,
    })
}

fn kind_name(value: &Value) -> String {
    value
        .value_type()
        .map_or("NULL".to_owned(), |kind| kind.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: Value, to: Type) -> String {
        match cast(value, to) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn numbers_fit_or_are_refused() {
        assert_eq!(text(Value::Int64(200), Type::Uint8), "200");
        assert!(text(Value::Int64(-1), Type::Uint64).contains("-1 is out of range for Uint64"));
        assert!(text(Value::Uint64(u64::MAX), Type::Int64).contains("out of range for Int64"));
        assert_eq!(text(Value::Double(2.5), Type::Int32), "2");
        assert_eq!(text(Value::Double(3.5), Type::Int32), "4");
        assert!(text(Value::Double(f64::NAN), Type::Int32).starts_with("error"));
        assert!(text(Value::Double(1e300), Type::Float).contains("out of range"));
    }

    #[test]
    fn decimals_round_half_away_from_zero() {
        let decimal = |unscaled| Value::Decimal(Decimal::new(unscaled, 1).unwrap());
        assert_eq!(text(decimal(25), Type::Int32), "3");
        assert_eq!(text(decimal(-25), Type::Int32), "-3");
        assert_eq!(text(decimal(24), Type::Int32), "2");
        let narrow = Type::Decimal {
            precision: 2,
            scale: 1,
        };
        assert!(text(Value::Int32(100), narrow).starts_with("error"));
    }

    #[test]
    fn times_turn_into_each_other_also_before_1970() {
        assert_eq!(text(Value::Timestamp(-1), Type::Date), "1969-12-31");
        assert_eq!(
            text(Value::Date(1), Type::Timestamp),
            "1970-01-02T00:00:00Z"
        );
        let parsed = cast(Value::from("2018-06-02"), Type::Date).unwrap();
        assert_eq!(parsed.to_string(), "2018-06-02");
        assert!(text(Value::Datetime(i64::MAX), Type::Timestamp).contains("out of range"));
    }

    #[test]
    fn null_stays_null_and_nonsense_is_refused() {
        assert!(cast(Value::Null, Type::Uuid).unwrap().is_null());
        assert!(text(Value::Bool(true), Type::Date).starts_with("error"));
        assert!(text(Value::from("abc"), Type::Int32).starts_with("error"));
    }

    proptest! {
        #[test]
        fn integers_survive_a_detour_over_text(number: i64) {
            let there = cast(Value::Int64(number), Type::Utf8).unwrap();
            prop_assert_eq!(cast(there, Type::Int64).unwrap(), Value::Int64(number));
        }

        #[test]
        fn no_cast_panics(number: i64, real: f64, words: String) {
            let kinds = [
                Type::Bool, Type::Int8, Type::Uint64, Type::Float, Type::Double, Type::Utf8,
                Type::String, Type::Date, Type::Datetime, Type::Timestamp, Type::Interval,
                Type::Uuid, Type::Json, Type::Decimal { precision: 38, scale: 38 },
                Type::Decimal { precision: 22, scale: 9 },
            ];
            for from in kinds {
                for to in kinds {
                    for value in [Value::Int64(number), Value::Double(real), Value::from(&*words)] {
                        let _ = cast(value, from).and_then(|value| cast(value, to));
                    }
                }
            }
        }
    }
}
