//! Numbers as statements write them, and how exact ones compare.
//!
//! ```text
//!   7             Int32, or the narrowest of Int32, Int64 and Uint64 that holds it
//!   12.50, 1e3    Decimal with the digits that are written: 12.50, 1000
//!   1e300         Double: it has more digits than a decimal may have
//! ```
//!
//! A decimal's type tells how many digits stand after the point, and the value of a parameter is not
//! known when its type is: beside a decimal it has room for [`PARAMETER_SCALE_MIN`] of them.

use std::cmp::Ordering;

use datafusion::arrow::datatypes::i256;
use keys::types::DECIMAL_PRECISION_MAX;
use keys::{Decimal, Type, Value};

use crate::cast::integer;
use crate::{Result, cast};

/// Digits after the point that a parameter beside a decimal has at least.
const PARAMETER_SCALE_MIN: u8 = 16;

/// The value of a number that has no type but what its digits tell.
pub(crate) fn written(digits: &str) -> Result<Value> {
    if let Ok(small) = digits.parse::<i32>() {
        return Ok(Value::Int32(small));
    }
    if let Ok(large) = digits.parse::<i64>() {
        return Ok(Value::Int64(large));
    }
    if let Ok(large) = digits.parse::<u64>() {
        return Ok(Value::Uint64(large));
    }
    match exact(digits) {
        Some(decimal) => Ok(Value::Decimal(decimal)),
        None => Ok(Value::parse(Type::Double, digits)?),
    }
}

/// The number with all the digits that are written, if a decimal has room for them.
pub(crate) fn exact(digits: &str) -> Option<Decimal> {
    let digits = digits.trim();
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (digits, 0),
    };
    let fraction = mantissa.split_once('.').map_or("", |(_, after)| after);
    let scale = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let kind = Type::Decimal {
        precision: DECIMAL_PRECISION_MAX,
        scale: u8::try_from(scale.max(0)).ok()?,
    };
    match Value::parse(kind, digits).ok()? {
        Value::Decimal(decimal) => Some(decimal),
        _ => None,
    }
}

/// The narrowest type that holds a decimal.
pub(crate) fn narrowest(decimal: Decimal) -> Type {
    Type::Decimal {
        precision: decimal.digits().max(decimal.scale()),
        scale: decimal.scale(),
    }
}

/// The type that a parameter takes from the value it stands beside.
pub(crate) fn beside(kind: Type) -> Type {
    match kind {
        Type::Decimal { scale, .. } => Type::Decimal {
            precision: DECIMAL_PRECISION_MAX,
            scale: scale.max(PARAMETER_SCALE_MIN),
        },
        other => other,
    }
}

/// Whether numbers of a type are whole or decimal, and so compare without rounding.
pub(crate) fn is_exact(kind: Type) -> bool {
    kind.is_integer() || matches!(kind, Type::Decimal { .. })
}

/// How two exact numbers compare; `None` if one of them is something else.
pub(crate) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    let ((left, left_scale), (right, right_scale)) = (parts(left)?, parts(right)?);
    if left_scale == right_scale {
        return Some(left.cmp(&right));
    }
    // 38 digits with 38 zeros behind them are 76, which 256 bits hold.
    let scaled = |number: i128, by: u8| {
        let power = i256::from_i128(10).wrapping_pow(u32::from(by));
        i256::from_i128(number).wrapping_mul(power)
    };
    let scale = left_scale.max(right_scale);
    let left = scaled(left, scale - left_scale);
    Some(left.cmp(&scaled(right, scale - right_scale)))
}

/// A number without its point, and how many of its digits stand behind it.
fn parts(value: &Value) -> Option<(i128, u8)> {
    match value {
        Value::Decimal(decimal) => Some((decimal.unscaled(), decimal.scale())),
        other if other.value_type()?.is_integer() => Some((integer(other)?, 0)),
        _ => None,
    }
}

/// The same number in another type, if it has room for all of it.
pub(crate) fn whole(value: &Value, kind: Type) -> Option<Value> {
    if value.type_matches(kind) {
        return Some(value.clone());
    }
    let there = cast(value.clone(), kind).ok()?;
    match is_exact(value.value_type()?) && is_exact(kind) {
        true => compare(value, &there)?.is_eq().then_some(there),
        false => Some(there),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(digits: &str) -> String {
        let value = written(digits).unwrap();
        let kind = match value {
            Value::Decimal(decimal) => narrowest(decimal),
            ref other => other.value_type().unwrap(),
        };
        format!("{value} {kind}")
    }

    #[test]
    fn a_number_is_what_its_digits_tell() {
        assert_eq!(shown("7"), "7 Int32");
        assert_eq!(shown("-3000000000"), "-3000000000 Int64");
        assert_eq!(shown("18446744073709551615"), "18446744073709551615 Uint64");
        assert_eq!(
            shown("18446744073709551616"),
            "18446744073709551616 Decimal(20,0)"
        );
        assert_eq!(shown("12.50"), "12.50 Decimal(4,2)");
        assert_eq!(shown("-.05"), "-0.05 Decimal(2,2)");
        assert_eq!(shown("5."), "5 Decimal(1,0)");
        assert_eq!(shown("1e3"), "1000 Decimal(4,0)");
        assert_eq!(shown("1.50E-1"), "0.150 Decimal(3,3)");
        assert_eq!(shown("-1.5e+300"), "-1.5e300 Double");
        assert!(written("1e").is_err());
    }

    #[test]
    fn numbers_compare_over_all_scales() {
        let decimal = |digits: &str| Value::Decimal(exact(digits).unwrap());
        let order = |left: &str, right: Value| compare(&decimal(left), &right).unwrap();
        assert_eq!(order("1.50", decimal("1.5")), Ordering::Equal);
        assert_eq!(order("1.49", Value::Int8(1)), Ordering::Greater);
        assert_eq!(order("-0.1", Value::Uint64(0)), Ordering::Less);
        let most = "99999999999999999999999999999999999999";
        assert_eq!(
            order(most, decimal("0.00000000000000000000000000000000000001")),
            Ordering::Greater
        );
        assert_eq!(compare(&Value::Int8(1), &Value::Double(1.0)), None);
    }

    #[test]
    fn nothing_is_rounded_on_the_way_to_another_type() {
        let kind = Type::Decimal {
            precision: 5,
            scale: 2,
        };
        let decimal = |digits: &str| Value::Decimal(exact(digits).unwrap());
        assert_eq!(whole(&decimal("12.500"), kind), Some(decimal("12.50")));
        assert_eq!(whole(&decimal("12.505"), kind), None);
        assert_eq!(whole(&decimal("5.0"), Type::Int32), Some(Value::Int32(5)));
        assert_eq!(whole(&decimal("5.5"), Type::Int32), None);
        assert_eq!(whole(&Value::Int32(1000), kind), None);
    }

    proptest! {
        #[test]
        fn every_text_is_a_number_or_refused(digits in "[-+]?[0-9]{0,45}[.]?[0-9]{0,45}([eE][-+]?[0-9]{1,20})?") {
            if let Ok(value) = written(&digits) {
                prop_assert!(value.value_type().is_some_and(Type::is_numeric));
            }
        }

        #[test]
        fn decimals_keep_their_digits(unscaled in -10_i128.pow(37)..10_i128.pow(37), scale in 0_u8..38) {
            let decimal = Decimal::new(unscaled, scale).unwrap();
            prop_assert_eq!(exact(&decimal.to_string()), Some(decimal));
        }
    }
}
