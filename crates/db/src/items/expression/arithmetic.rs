//! Operators on values: sums, products, bits, and what they refuse.

use keys::Array;
use keys::attribute::{ARRAY_ELEMENTS_MAX, ATTRIBUTE_BYTES_MAX};

use super::evaluate::{Outcome, Stop};
use super::tree::{Operator, Sign};
use super::value::{Number, Value};

/// What an operator between two values gives. Comparisons and logic are not done here.
pub(super) fn operate(at: usize, operator: Operator, left: Value, right: Value) -> Outcome {
    let calculated = match (left.number(), right.number()) {
        (Some(Number::Integer(left)), Some(Number::Integer(right))) => {
            integers(operator, left, right)
        }
        (Some(left), Some(right)) => match doubles(operator, left.double(), right.double()) {
            Some(double) => Ok(Value::Double(double)),
            None => {
                return Err(refused(
                    at,
                    operator,
                    &Value::from(left),
                    &Value::from(right),
                ));
            }
        },
        _ if operator == Operator::Add => return join(at, left, right),
        _ => return Err(refused(at, operator, &left, &right)),
    };
    calculated.map_err(|reason| Stop::calculation(at, reason))
}

/// What an operator in front of a value gives; NOT is not done here.
pub(super) fn signed(at: usize, sign: Sign, operand: &Value) -> Outcome {
    match (sign, operand.number()) {
        (Sign::Plus, Some(number)) => Ok(number.into()),
        (Sign::Minus, Some(Number::Double(double))) => Ok(Value::Double(-double)),
        (Sign::Minus, Some(Number::Integer(integer))) => integer
            .checked_neg()
            .map(Value::Integer)
            .ok_or_else(|| Stop::calculation(at, overflow("-", integer, ""))),
        (Sign::Invert, Some(Number::Integer(integer))) => Ok(Value::Integer(!integer)),
        (Sign::Invert, _) => Err(Stop::mismatch(
            at,
            format!("`~` takes an integer, not {}", operand.kind()),
        )),
        _ => Err(Stop::mismatch(
            at,
            format!("a sign takes a number, not {}", operand.kind()),
        )),
    }
}

fn integers(operator: Operator, left: i64, right: i64) -> Result<Value, String> {
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => return divide(left, right),
        Operator::BitOr => Some(left | right),
        Operator::BitXor => Some(left ^ right),
        Operator::BitAnd => Some(left & right),
        Operator::ShiftLeft | Operator::ShiftRight => return shift(operator, left, right),
        _ => None,
    };
    result
        .map(Value::Integer)
        .ok_or_else(|| overflow(left, operator.text(), right))
}

/// Exact: an integer if there is no rest, a double otherwise.
fn divide(left: i64, right: i64) -> Result<Value, String> {
    match left.checked_rem(right) {
        _ if right == 0 => Err(format!("{left} / 0 has no result")),
        Some(0) => Ok(Value::Integer(left / right)),
        Some(_) => Ok(Value::Double(left as f64 / right as f64)),
        None => Err(overflow(left, "/", right)),
    }
}

fn shift(operator: Operator, left: i64, right: i64) -> Result<Value, String> {
    let bits = u32::try_from(right).ok().filter(|bits| *bits < i64::BITS);
    let bits = bits.ok_or_else(|| format!("a shift is by 0 to 63 bits, not by {right}"))?;
    Ok(Value::Integer(match operator {
        Operator::ShiftLeft => left << bits,
        _ => left >> bits,
    }))
}

fn doubles(operator: Operator, left: f64, right: f64) -> Option<f64> {
    match operator {
        Operator::Add => Some(left + right),
        Operator::Subtract => Some(left - right),
        Operator::Multiply => Some(left * right),
        Operator::Divide => Some(left / right),
        _ => None,
    }
}

/// Texts and arrays one after the other. What would fit in no attribute is refused at once, or a
/// few statements could double a text until memory is full.
fn join(at: usize, left: Value, right: Value) -> Outcome {
    let too_long = || Stop::calculation(at, "the result fits in no attribute".to_owned());
    match (left, right) {
        (Value::Text(mut left), Value::Text(right)) => {
            if left.len() + right.len() > ATTRIBUTE_BYTES_MAX {
                return Err(too_long());
            }
            left.push_str(&right);
            Ok(Value::Text(left))
        }
        (Value::Array(left), Value::Array(right)) => {
            if left.len() + right.len() > ARRAY_ELEMENTS_MAX {
                return Err(too_long());
            }
            Ok(Value::Array(match (left, right) {
                (Array::Integers(mut left), Array::Integers(right)) => {
                    left.extend(right);
                    Array::Integers(left)
                }
                (left, right) => {
                    let mut joined = to_doubles(left);
                    joined.extend(to_doubles(right));
                    Array::Doubles(joined)
                }
            }))
        }
        (left, right) => Err(refused(at, Operator::Add, &left, &right)),
    }
}

/// The elements of an array as doubles.
pub(super) fn to_doubles(array: Array) -> Vec<f64> {
    match array {
        Array::Integers(elements) => elements.into_iter().map(|element| element as f64).collect(),
        Array::Doubles(elements) => elements,
    }
}

fn refused(at: usize, operator: Operator, left: &Value, right: &Value) -> Stop {
    let (text, left, right) = (operator.text(), left.kind(), right.kind());
    Stop::mismatch(at, format!("`{text}` does not take {left} and {right}"))
}

fn overflow(left: impl ToString, operator: impl ToString, right: impl ToString) -> String {
    let parts = [left.to_string(), operator.to_string(), right.to_string()];
    let calculation = parts.join(" ");
    format!("{} does not fit in 64 bits", calculation.trim_end())
}
