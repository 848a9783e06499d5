//! Functions of arrays: making them, adding them up, element by element, finding in them.

use std::cmp::Ordering;

use keys::Array;
use keys::attribute::ARRAY_ELEMENTS_MAX;

use super::{Failure, Found, Function, calculation};
use crate::items::expression::arithmetic::to_doubles;
use crate::items::expression::value::{Number, Value, compare_numbers, whole};

pub(super) fn call(function: Function, values: Vec<Value>) -> Found {
    if function == Function::InitArray {
        return init(&values);
    }
    let mut values = values.into_iter();
    match (function, values.next()?, values.next()) {
        (Function::NanAsZero, value, None) => nan_as_zero(value).map(Ok),
        (Function::Find, Value::Text(text), Some(Value::Text(part))) => {
            let at = text.find(&part).and_then(|end| text.get(..end));
            Some(Ok(Value::Integer(
                at.map_or(-1, |before| counted(before.chars().count())),
            )))
        }
        (_, Value::Array(array), None) => whole_array(function, array),
        (_, Value::Array(left), Some(Value::Array(right))) => two_arrays(function, left, right),
        (_, Value::Array(array), Some(value)) => find(function, &array, value.strict_number()?),
        _ => None,
    }
}

fn whole_array(function: Function, array: Array) -> Found {
    Some(Ok(match function {
        Function::Min => return Some(extreme(&array, Ordering::Less)),
        Function::Max => return Some(extreme(&array, Ordering::Greater)),
        Function::Sum => return Some(sum(&array)),
        Function::Avg => Value::Double(mean(&to_doubles(array))),
        Function::StdDev => Value::Double(deviation(&to_doubles(array))),
        Function::SortArray => Value::Array(sorted(array)),
        _ => return None,
    }))
}

fn two_arrays(function: Function, left: Array, right: Array) -> Found {
    Some(match function {
        Function::PMin | Function::PMax | Function::PSum => pairwise(function, left, right),
        Function::ExtractByIndices => match right {
            Array::Integers(indices) => extract(&left, &indices),
            Array::Doubles(_) => return None,
        },
        _ => return None,
    })
}

fn init(values: &[Value]) -> Found {
    let (Value::Integer(length), Value::Text(kind), default) =
        (values.first()?, values.get(1)?, values.get(2))
    else {
        return None;
    };
    let default = match default {
        Some(value) => value.strict_number()?,
        None => Number::Integer(0),
    };
    let Some(length) = usize::try_from(*length)
        .ok()
        .filter(|length| *length <= ARRAY_ELEMENTS_MAX)
    else {
        let reason = format!("an array has 0 to {ARRAY_ELEMENTS_MAX} elements, not {length}");
        return Some(Err(calculation(reason)));
    };
    Some(match kind.to_ascii_lowercase().as_str() {
        "double" => Ok(Value::Array(Array::Doubles(vec![default.double(); length]))),
        "int" => match integer(default) {
            Some(default) => Ok(Value::Array(Array::Integers(vec![default; length]))),
            None => Err(calculation(
                "an array of integers is filled with an integer",
            )),
        },
        _ => Err(calculation("an array is of 'int' or of 'double'")),
    })
}

fn integer(number: Number) -> Option<i64> {
    match number {
        Number::Integer(integer) => Some(integer),
        Number::Double(double) => whole(double).filter(|_| double.fract() == 0.0),
    }
}

/// The least or greatest element; nan only if there is nothing else.
fn extreme(array: &Array, wanted: Ordering) -> Result<Value, Failure> {
    let extreme = match array {
        Array::Integers(elements) => {
            let extreme = match wanted {
                Ordering::Less => elements.iter().min(),
                _ => elements.iter().max(),
            };
            extreme.copied().map(Value::Integer)
        }
        Array::Doubles(elements) => {
            let extreme = elements.iter().copied().reduce(|a, b| narrow(a, b, wanted));
            extreme.map(Value::Double)
        }
    };
    extreme.ok_or_else(|| calculation("an empty array has no least and no greatest element"))
}

fn narrow(left: f64, right: f64, wanted: Ordering) -> f64 {
    match wanted {
        Ordering::Less => left.min(right),
        _ => left.max(right),
    }
}

fn sum(array: &Array) -> Result<Value, Failure> {
    match array {
        Array::Doubles(elements) => Ok(Value::Double(elements.iter().sum())),
        Array::Integers(elements) => elements
            .iter()
            .try_fold(0_i64, |sum, element| sum.checked_add(*element))
            .map(Value::Integer)
            .ok_or_else(|| calculation("the sum does not fit in 64 bits")),
    }
}

/// nan, for no elements.
fn mean(elements: &[f64]) -> f64 {
    elements.iter().sum::<f64>() / elements.len() as f64
}

/// Of the elements themselves and not of what they were drawn from, as NumPy's.
fn deviation(elements: &[f64]) -> f64 {
    let mean = mean(elements);
    let squares: f64 = elements
        .iter()
        .map(|element| (element - mean).powi(2))
        .sum();
    (squares / elements.len() as f64).sqrt()
}

/// Ascending; nan comes last.
fn sorted(array: Array) -> Array {
    match array {
        Array::Integers(mut elements) => {
            elements.sort_unstable();
            Array::Integers(elements)
        }
        Array::Doubles(mut elements) => {
            elements.sort_by(|left, right| {
                let by_nan = || left.is_nan().cmp(&right.is_nan());
                left.partial_cmp(right).unwrap_or_else(by_nan)
            });
            Array::Doubles(elements)
        }
    }
}

/// Element by element, of two arrays of one length; doubles if one of them has doubles.
fn pairwise(function: Function, left: Array, right: Array) -> Result<Value, Failure> {
    if left.len() != right.len() {
        let reason = format!(
            "{}() takes arrays of one length, not of {} and {}",
            function.name(),
            left.len(),
            right.len()
        );
        return Err(calculation(reason));
    }
    let array = match (left, right) {
        (Array::Integers(left), Array::Integers(right)) => {
            let pairs = left.into_iter().zip(right);
            let elements: Option<Vec<i64>> = match function {
                Function::PMin => Some(pairs.map(|(left, right)| left.min(right)).collect()),
                Function::PMax => Some(pairs.map(|(left, right)| left.max(right)).collect()),
                _ => pairs.map(|(left, right)| left.checked_add(right)).collect(),
            };
            let elements = elements.ok_or_else(|| calculation("a sum does not fit in 64 bits"))?;
            Array::Integers(elements)
        }
        (left, right) => {
            let pairs = to_doubles(left).into_iter().zip(to_doubles(right));
            Array::Doubles(match function {
                Function::PMin => pairs.map(|(left, right)| left.min(right)).collect(),
                Function::PMax => pairs.map(|(left, right)| left.max(right)).collect(),
                _ => pairs.map(|(left, right)| left + right).collect(),
            })
        }
    };
    Ok(Value::Array(array))
}

fn nan_as_zero(value: Value) -> Option<Value> {
    let or_zero = |double: f64| if double.is_nan() { 0.0 } else { double };
    Some(match value {
        Value::Double(double) => Value::Double(or_zero(double)),
        Value::Array(Array::Doubles(elements)) => {
            Value::Array(Array::Doubles(elements.into_iter().map(or_zero).collect()))
        }
        Value::Integer(_) | Value::Array(_) => value,
        _ => return None,
    })
}

/// Where a number is in an array: the first place or -1, or all places.
fn find(function: Function, array: &Array, wanted: Number) -> Found {
    let is_it = |element: Number| compare_numbers(element, wanted) == Some(Ordering::Equal);
    let is_there: Vec<bool> = match array {
        Array::Integers(elements) => elements
            .iter()
            .map(|element| is_it(Number::Integer(*element)))
            .collect(),
        Array::Doubles(elements) => elements
            .iter()
            .map(|element| is_it(Number::Double(*element)))
            .collect(),
    };
    let mut places = (0_i64..).zip(is_there).filter(|(_, is_there)| *is_there);
    Some(Ok(match function {
        Function::Find => Value::Integer(places.next().map_or(-1, |(place, _)| place)),
        Function::FindAllIndices => {
            Value::Array(Array::Integers(places.map(|(place, _)| place).collect()))
        }
        _ => return None,
    }))
}

fn extract(array: &Array, indices: &[i64]) -> Result<Value, Failure> {
    let array = match array {
        Array::Integers(elements) => picked(elements, indices).map(Array::Integers),
        Array::Doubles(elements) => picked(elements, indices).map(Array::Doubles),
    };
    array.map(Value::Array)
}

fn picked<T: Copy>(elements: &[T], indices: &[i64]) -> Result<Vec<T>, Failure> {
    let pick = |index: &i64| {
        let element = usize::try_from(*index)
            .ok()
            .and_then(|index| elements.get(index));
        element.copied().ok_or_else(|| {
            let length = elements.len();
            calculation(format!("index {index} is outside of an array of {length}"))
        })
    };
    indices.iter().map(pick).collect()
}

fn counted(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
