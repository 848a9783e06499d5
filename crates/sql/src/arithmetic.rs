//! Arithmetic on values: which type the result has, and what it is, checked.
//!
//! ```text
//!   integers             the wider of the two types; of equal width the unsigned one, as in YQL
//!   Float with Float     Float; a float with any other number is Double
//!   Decimal              with an integer or a Decimal; `+ -` keep the longer scale, `*` adds the scales
//!                        up to 20 digits after the point or the longer of the two, `/` has at least 16;
//!                        what is cut is rounded half away from zero
//!   Date ± integer       Date, in days        Date - Date      Int32, in days
//!   time ± Interval      Timestamp            time - time      Interval
//!   Interval ± Interval  Interval             Interval × / ÷ number  Interval
//! ```
//!
//! Nothing wraps: a result that its type cannot hold is an error, and so is a division by zero, also of
//! floats, as in PostgreSQL. NULL with anything is NULL. An integer written in a statement has no type
//! of its own: beside another integer it takes that one's type if it fits ([`literal_beside`]).
//!
//! Both executors use these rules, so a statement answers the same whichever way it goes.

use std::fmt;

use datafusion::arrow::datatypes::i256;
use keys::types::DECIMAL_PRECISION_MAX;
use keys::{Decimal, Type, Value};

use crate::cast::{from_integer, integer};
use crate::{Error, Result, cast};

/// Digits after the point that a division of decimals gives at least.
const QUOTIENT_SCALE_MIN: u8 = 16;

/// Digits after the point past which a product has no more than its longer factor, so that products of
/// quotients have room before it.
const PRODUCT_SCALE_MAX: u8 = 20;

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        })
    }
}

/// The type of `left op right`, if the two go together.
pub(crate) fn result_type(op: Operation, left: Type, right: Type) -> Option<Type> {
    if left.is_integer() && right.is_integer() {
        return Some(wider(left, right));
    }
    if left.is_numeric() && right.is_numeric() {
        return Some(match (left, right) {
            (Type::Float, Type::Float) => Type::Float,
            (Type::Float | Type::Double, _) | (_, Type::Float | Type::Double) => Type::Double,
            _ => decimal_type(op, left, right),
        });
    }
    time_type(op, left, right)
}

/// The type that holds the numbers of both types, of which one is a float or a decimal.
pub(crate) fn union_type(left: Type, right: Type) -> Type {
    match (left, right) {
        (Type::Float, Type::Float) => Type::Float,
        (Type::Float | Type::Double, _) | (_, Type::Float | Type::Double) => Type::Double,
        _ => decimal_type(Operation::Modulo, left, right),
    }
}

/// The type of `-value`: an unsigned number needs a sign.
pub(crate) fn negated_type(kind: Type) -> Option<Type> {
    Some(match kind {
        Type::Uint8 => Type::Int16,
        Type::Uint16 => Type::Int32,
        Type::Uint32 | Type::Uint64 => Type::Int64,
        kind if kind.is_numeric() || kind == Type::Interval => kind,
        _ => return None,
    })
}

/// An integer written in a statement as it counts beside a value of type `other`.
pub(crate) fn literal_beside(literal: &Value, other: Type) -> Option<Value> {
    if !other.is_integer() || !literal.value_type()?.is_integer() {
        return None;
    }
    from_integer(integer(literal)?, other)
}

/// `left op right`.
pub(crate) fn apply(op: Operation, left: &Value, right: &Value) -> Result<Value> {
    let (Some(left_type), Some(right_type)) = (left.value_type(), right.value_type()) else {
        return Ok(Value::Null);
    };
    let no_such = || Error::NoSuchOperator {
        operator: op.to_string(),
        left: left_type,
        right: right_type,
    };
    let kind = result_type(op, left_type, right_type).ok_or_else(no_such)?;
    if op_divides(op) && is_zero(right) {
        return Err(Error::DivisionByZero);
    }
    let result = match kind {
        Type::Decimal { scale, .. } => decimal(op, left, right, scale).map(Value::Decimal),
        Type::Float | Type::Double => float(op, left, right, kind)?,
        Type::Timestamp => moved(op, left, right)?,
        Type::Interval => interval(op, left, right)?,
        Type::Date => {
            integers(op, left, right).and_then(|days| Some(Value::Date(days.try_into().ok()?)))
        }
        kind => integers(op, left, right).and_then(|number| from_integer(number, kind)),
    };
    result.ok_or_else(|| Error::OutOfRange {
        value: format!("{left} {op} {right}"),
        kind,
    })
}

/// `-value`.
pub(crate) fn negate(value: &Value) -> Result<Value> {
    let Some(kind) = value.value_type() else {
        return Ok(Value::Null);
    };
    let out_of_range = |kind| Error::OutOfRange {
        value: format!("-({value})"),
        kind,
    };
    let to = negated_type(kind).ok_or_else(|| Error::NoSuchOperator {
        operator: "-".to_owned(),
        left: kind,
        right: kind,
    })?;
    match value {
        Value::Float(number) => Ok(Value::Float(-number)),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Decimal(number) => Decimal::new(-number.unscaled(), number.scale())
            .map(Value::Decimal)
            .ok_or_else(|| out_of_range(to)),
        Value::Interval(span) => span
            .checked_neg()
            .map(Value::Interval)
            .ok_or_else(|| out_of_range(to)),
        number => integer(number)
            .and_then(|number| from_integer(-number, to))
            .ok_or_else(|| out_of_range(to)),
    }
}

fn op_divides(op: Operation) -> bool {
    matches!(op, Operation::Divide | Operation::Modulo)
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Float(number) => *number == 0.0,
        Value::Double(number) => *number == 0.0,
        Value::Decimal(number) => number.unscaled() == 0,
        other => integer(other) == Some(0),
    }
}

/// Bits of an integer type, and whether it has a sign.
fn width(kind: Type) -> (u8, bool) {
    match kind {
        Type::Int8 => (8, true),
        Type::Uint8 => (8, false),
        Type::Int16 => (16, true),
        Type::Uint16 => (16, false),
        Type::Int32 => (32, true),
        Type::Uint32 => (32, false),
        Type::Uint64 => (64, false),
        _ => (64, true),
    }
}

fn wider(left: Type, right: Type) -> Type {
    let ((left_bits, left_signed), (right_bits, _)) = (width(left), width(right));
    match left_bits.cmp(&right_bits) {
        std::cmp::Ordering::Greater => left,
        std::cmp::Ordering::Less => right,
        std::cmp::Ordering::Equal if left_signed => right,
        std::cmp::Ordering::Equal => left,
    }
}

/// Digits and scale of a number that is exact.
fn digits(kind: Type) -> (u8, u8) {
    match kind {
        Type::Decimal { precision, scale } => (precision, scale),
        kind => match width(kind) {
            (8, _) => (3, 0),
            (16, _) => (5, 0),
            (32, _) => (10, 0),
            (_, true) => (19, 0),
            (_, false) => (20, 0),
        },
    }
}

/// The scale depends on the scales alone, so a value tells it as well as its type does.
fn decimal_type(op: Operation, left: Type, right: Type) -> Type {
    let ((left_digits, left_scale), (right_digits, right_scale)) = (digits(left), digits(right));
    let longer = left_scale.max(right_scale);
    let whole = (left_digits - left_scale).max(right_digits - right_scale);
    let (precision, scale) = match op {
        Operation::Add | Operation::Subtract => (whole + longer + 1, longer),
        Operation::Modulo => (whole + longer, longer),
        Operation::Multiply => {
            let scale = (left_scale + right_scale).min(longer.max(PRODUCT_SCALE_MAX));
            (left_digits + right_digits, scale)
        }
        Operation::Divide => (DECIMAL_PRECISION_MAX, longer.max(QUOTIENT_SCALE_MIN)),
    };
    Type::Decimal {
        precision: precision.min(DECIMAL_PRECISION_MAX),
        scale: scale.min(DECIMAL_PRECISION_MAX),
    }
}

fn time_type(op: Operation, left: Type, right: Type) -> Option<Type> {
    let time = |kind| matches!(kind, Type::Date | Type::Datetime | Type::Timestamp);
    use Operation::{Add, Divide, Multiply, Subtract};
    match (left, op, right) {
        (Type::Date, Subtract, Type::Date) => Some(Type::Int32),
        (Type::Date, Add | Subtract, days) if days.is_integer() => Some(Type::Date),
        (days, Add, Type::Date) if days.is_integer() => Some(Type::Date),
        (from, Add | Subtract, Type::Interval) if time(from) => Some(Type::Timestamp),
        (Type::Interval, Add, from) if time(from) => Some(Type::Timestamp),
        (later, Subtract, earlier) if time(later) && time(earlier) => Some(Type::Interval),
        (Type::Interval, Add | Subtract, Type::Interval) => Some(Type::Interval),
        (Type::Interval, Multiply | Divide, number) if number.is_numeric() => Some(Type::Interval),
        (number, Multiply, Type::Interval) if number.is_numeric() => Some(Type::Interval),
        _ => None,
    }
}

fn integers(op: Operation, left: &Value, right: &Value) -> Option<i128> {
    whole(op, integer(left)?, integer(right)?)
}

fn whole(op: Operation, left: i128, right: i128) -> Option<i128> {
    match op {
        Operation::Add => left.checked_add(right),
        Operation::Subtract => left.checked_sub(right),
        Operation::Multiply => left.checked_mul(right),
        Operation::Divide => left.checked_div(right),
        Operation::Modulo => left.checked_rem(right),
    }
}

fn float(op: Operation, left: &Value, right: &Value, kind: Type) -> Result<Option<Value>> {
    let number = |value: &Value| match cast(value.clone(), Type::Double)? {
        Value::Double(number) => Ok(number),
        _ => Err(Error::Internal {
            what: "a number that is no Double".to_owned(),
        }),
    };
    let (left, right) = (number(left)?, number(right)?);
    let result = match op {
        Operation::Add => left + right,
        Operation::Subtract => left - right,
        Operation::Multiply => left * right,
        Operation::Divide => left / right,
        Operation::Modulo => left % right,
    };
    if result.is_infinite() && left.is_finite() && right.is_finite() {
        return Ok(None);
    }
    match kind {
        Type::Float => cast(Value::Double(result), kind).map(Some),
        _ => Ok(Some(Value::Double(result))),
    }
}

fn decimal(op: Operation, left: &Value, right: &Value, scale: u8) -> Option<Decimal> {
    let parts = |value: &Value| match value {
        Value::Decimal(number) => Some((number.unscaled(), number.scale())),
        other => Some((integer(other)?, 0)),
    };
    let ((left, left_scale), (right, right_scale)) = (parts(left)?, parts(right)?);
    // Twice the bits hold every intermediate result: 38 digits times 38 digits.
    let (left, right) = (i256::from_i128(left), i256::from_i128(right));
    let power = |by: u8| i256::from_i128(10).checked_pow(u32::from(by));
    let result = match op {
        Operation::Multiply => {
            let cut = left_scale + right_scale - scale;
            rounded(left.checked_mul(right)?, power(cut)?)?
        }
        Operation::Divide => {
            let more = scale + right_scale - left_scale;
            rounded(left.checked_mul(power(more)?)?, right)?
        }
        _ => {
            let left = left.checked_mul(power(scale - left_scale)?)?;
            let right = right.checked_mul(power(scale - right_scale)?)?;
            match op {
                Operation::Add => left.checked_add(right)?,
                Operation::Subtract => left.checked_sub(right)?,
                _ => left.checked_rem(right)?,
            }
        }
    };
    Decimal::new(result.to_i128()?, scale)
}

/// A quotient rounded half away from zero.
fn rounded(dividend: i256, divisor: i256) -> Option<i256> {
    let quotient = dividend.checked_div(divisor)?;
    let rest = dividend.checked_rem(divisor)?;
    let twice = rest.checked_mul(i256::from_i128(2))?;
    let away = twice.checked_abs()? >= divisor.checked_abs()?;
    let negative = dividend.is_negative() != divisor.is_negative();
    match (away, negative) {
        (false, _) => Some(quotient),
        (true, false) => quotient.checked_add(i256::ONE),
        (true, true) => quotient.checked_sub(i256::ONE),
    }
}

fn microseconds(value: &Value) -> Result<Option<i128>> {
    Ok(match value {
        Value::Interval(span) => Some(i128::from(*span)),
        other => integer(&cast(other.clone(), Type::Timestamp)?),
    })
}

/// A time moved by an interval.
fn moved(op: Operation, left: &Value, right: &Value) -> Result<Option<Value>> {
    let (left, right) = (microseconds(left)?, microseconds(right)?);
    let both = left.zip(right);
    let moved = both.and_then(|(left, right)| whole(op, left, right)?.try_into().ok());
    Ok(moved.map(Value::Timestamp))
}

fn interval(op: Operation, left: &Value, right: &Value) -> Result<Option<Value>> {
    let (span, number) = match (left, right, op) {
        (Value::Interval(span), number, Operation::Multiply | Operation::Divide) => (span, number),
        (number, Value::Interval(span), Operation::Multiply) => (span, number),
        (left, right, op) => {
            let both = microseconds(left)?.zip(microseconds(right)?);
            let span = both.and_then(|(left, right)| whole(op, left, right)?.try_into().ok());
            return Ok(span.map(Value::Interval));
        }
    };
    if let Some(number) =
        integer(number).filter(|_| number.value_type().is_some_and(Type::is_integer))
    {
        let span = match op {
            // A part of a microsecond is rounded, as it is for floats.
            Operation::Divide => {
                rounded(i256::from_i128(i128::from(*span)), i256::from_i128(number))
                    .and_then(i256::to_i128)
            }
            _ => whole(op, i128::from(*span), number),
        };
        return Ok(span
            .and_then(|span| span.try_into().ok())
            .map(Value::Interval));
    }
    let span = Value::Int64(*span);
    let Some(Value::Double(product)) = float(op, &span, number, Type::Double)? else {
        return Ok(None);
    };
    let span = integer(&Value::Double(product)).and_then(|span| span.try_into().ok());
    Ok(span.map(Value::Interval))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(op: Operation, left: Value, right: Value) -> String {
        match apply(op, &left, &right) {
            Ok(value) => {
                let kind = value
                    .value_type()
                    .map_or("NULL".to_owned(), |kind| kind.to_string());
                format!("{value} {kind}")
            }
            Err(error) => format!("error: {error}"),
        }
    }

    fn decimal(unscaled: i128, scale: u8) -> Value {
        Value::Decimal(Decimal::new(unscaled, scale).unwrap())
    }

    #[test]
    fn integers_take_the_wider_type_and_never_wrap() {
        use Operation::{Add, Divide, Modulo, Multiply, Subtract};
        assert_eq!(shown(Add, Value::Int32(1), Value::Int64(2)), "3 Int64");
        assert_eq!(shown(Add, Value::Int64(1), Value::Uint64(2)), "3 Uint64");
        assert_eq!(shown(Add, Value::Uint32(1), Value::Int64(-2)), "-1 Int64");
        let max = shown(Add, Value::Int64(i64::MAX), Value::Int64(1));
        assert_eq!(
            max,
            "error: 9223372036854775807 + 1 is out of range for Int64"
        );
        assert!(shown(Subtract, Value::Uint64(1), Value::Int64(2)).contains("range for Uint64"));
        assert!(shown(Multiply, Value::Int8(100), Value::Int8(2)).contains("range for Int8"));
        assert!(shown(Divide, Value::Int64(i64::MIN), Value::Int64(-1)).contains("range"));
        assert_eq!(shown(Divide, Value::Int32(-7), Value::Int32(2)), "-3 Int32");
        assert_eq!(shown(Modulo, Value::Int32(-7), Value::Int32(2)), "-1 Int32");
    }

    #[test]
    fn division_by_zero_is_an_error_for_every_number() {
        for zero in [
            Value::Int8(0),
            Value::Uint64(0),
            Value::Double(0.0),
            decimal(0, 2),
        ] {
            for op in [Operation::Divide, Operation::Modulo] {
                assert_eq!(
                    shown(op, Value::Int32(1), zero.clone()),
                    "error: division by zero"
                );
            }
            assert!(
                apply(Operation::Divide, &Value::Null, &zero)
                    .unwrap()
                    .is_null()
            );
        }
    }

    #[test]
    fn decimals_are_exact_and_round_half_away_from_zero() {
        use Operation::{Add, Divide, Multiply};
        assert_eq!(
            shown(Add, decimal(150, 2), Value::Int32(1)),
            "2.50 Decimal(38,2)"
        );
        assert_eq!(
            shown(Multiply, decimal(15, 1), decimal(15, 1)),
            "2.25 Decimal(38,2)"
        );
        let third = shown(Divide, decimal(20, 1), Value::Int32(3));
        assert_eq!(third, "0.6666666666666667 Decimal(38,16)");
        let large = decimal(10_i128.pow(38) - 1, 0);
        assert!(shown(Add, large.clone(), Value::Int32(1)).contains("out of range"));
        assert!(shown(Multiply, large.clone(), large).contains("out of range"));
    }

    #[test]
    fn floats_and_times_follow_postgresql() {
        use Operation::{Add, Multiply, Subtract};
        assert_eq!(shown(Add, Value::Float(1.5), Value::Int32(1)), "2.5 Double");
        assert!(shown(Multiply, Value::Double(1e300), Value::Double(1e300)).contains("range"));
        assert_eq!(
            shown(Add, Value::Date(0), Value::Int32(31)),
            "1970-02-01 Date"
        );
        assert_eq!(shown(Subtract, Value::Date(31), Value::Date(1)), "30 Int32");
        let moved = shown(Add, Value::Date(0), Value::Interval(1_000_000));
        assert_eq!(moved, "1970-01-01T00:00:01Z Timestamp");
        assert!(shown(Add, Value::Bool(true), Value::Int32(1)).starts_with("error: there is no"));
    }

    #[test]
    fn minus_gives_unsigned_numbers_a_sign() {
        assert_eq!(negate(&Value::Uint8(200)).unwrap(), Value::Int16(-200));
        assert!(negate(&Value::Uint64(u64::MAX)).is_err());
        assert!(negate(&Value::Int64(i64::MIN)).is_err());
        assert!(negate(&Value::Null).unwrap().is_null());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i8>().prop_map(Value::Int8),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            any::<u16>().prop_map(Value::Uint16),
            any::<u64>().prop_map(Value::Uint64),
            any::<f32>().prop_map(Value::Float),
            any::<f64>().prop_map(Value::Double),
            (any::<i128>(), 0_u8..39).prop_map(|(number, scale)| {
                Decimal::new(number % 10_i128.pow(38), scale).map_or(Value::Null, Value::Decimal)
            }),
            any::<i32>().prop_map(Value::Date),
            any::<i64>().prop_map(Value::Datetime),
            any::<i64>().prop_map(Value::Timestamp),
            any::<i64>().prop_map(Value::Interval),
            any::<String>().prop_map(Value::from),
        ]
    }

    proptest! {
        #[test]
        fn a_result_is_of_the_type_that_was_told(left in any_value(), right in any_value()) {
            use Operation::{Add, Divide, Modulo, Multiply, Subtract};
            for op in [Add, Subtract, Multiply, Divide, Modulo] {
                let Ok(value) = apply(op, &left, &right) else { continue };
                let (Some(left), Some(right)) = (left.value_type(), right.value_type()) else {
                    prop_assert!(value.is_null());
                    continue;
                };
                let kind = result_type(op, left, right).unwrap();
                let wide = matches!((kind, value.value_type()),
                    (Type::Decimal { scale, .. }, Some(Type::Decimal { scale: found, .. })) if scale == found);
                prop_assert!(wide || value.type_matches(kind), "{} is no {}", value, kind);
            }
        }
    }
}
