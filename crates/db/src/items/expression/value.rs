//! Values while an expression is worked out: attributes, with arrays unpacked.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

use keys::attribute::format_double;
use keys::{Array, Attribute, Time};

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Integer(i64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Bool(bool),
    Time(Time),
    Array(Array),
}

/// What arithmetic is done with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Integer(i64),
    Double(f64),
}

impl Number {
    pub(super) fn double(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Double(double) => double,
        }
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Integer(integer) => Self::Integer(integer),
            Number::Double(double) => Self::Double(double),
        }
    }
}

impl Value {
    /// What it is, in the words of messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "an integer",
            Self::Double(_) => "a double",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Bool(_) => "a bool",
            Self::Time(_) => "a time",
            Self::Array(Array::Integers(_)) => "an array of integers",
            Self::Array(Array::Doubles(_)) => "an array of doubles",
        }
    }

    /// It in a message: as it is if it is short, and what it is otherwise.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Text(_) | Self::Bytes(_) | Self::Array(_) => self.kind().to_owned(),
            _ => self.to_string(),
        }
    }

    /// It as a number, a bool as 1 or 0.
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            Self::Bool(bool) => Some(Number::Integer(i64::from(*bool))),
            _ => self.strict_number(),
        }
    }

    /// It as a number, if it is one.
    pub(super) fn strict_number(&self) -> Option<Number> {
        match self {
            Self::Integer(integer) => Some(Number::Integer(*integer)),
            Self::Double(double) => Some(Number::Double(*double)),
            _ => None,
        }
    }

    /// Whether it counts as true; what is neither a bool nor a number does not.
    pub(super) fn truth(&self) -> bool {
        match self {
            Self::Bool(bool) => *bool,
            Self::Integer(integer) => *integer != 0,
            Self::Double(double) => *double != 0.0,
            _ => false,
        }
    }

    /// Whether its text begins with a sign.
    pub(super) fn is_signed(&self) -> bool {
        match self {
            Self::Integer(integer) => *integer < 0,
            Self::Double(double) => double.is_sign_negative() && !double.is_nan(),
            Self::Time(time) => time.secs() < 0,
            _ => false,
        }
    }

    /// The attribute that keeps it.
    pub(super) fn into_attribute(self) -> keys::Result<Attribute> {
        Ok(match self {
            Self::Integer(integer) => Attribute::Integer(integer),
            Self::Double(double) => Attribute::Double(double),
            Self::Text(text) => Attribute::Text(text),
            Self::Bytes(bytes) => Attribute::Bytes(bytes),
            Self::Bool(bool) => Attribute::Bool(bool),
            Self::Time(time) => Attribute::Time(time),
            Self::Array(array) => Attribute::Bytes(array.encode()?),
        })
    }
}

impl From<Attribute> for Value {
    fn from(attribute: Attribute) -> Self {
        match attribute {
            Attribute::Integer(integer) => Self::Integer(integer),
            Attribute::Double(double) => Self::Double(double),
            Attribute::Text(text) => Self::Text(text),
            Attribute::Bool(bool) => Self::Bool(bool),
            Attribute::Time(time) => Self::Time(time),
            Attribute::Bytes(bytes) => match Array::is_array(&bytes).then(|| Array::decode(&bytes))
            {
                Some(Ok(array)) => Self::Array(array),
                _ => Self::Bytes(bytes),
            },
        }
    }
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// They are of one type and have an order.
    Ordered(Ordering),
    /// They are of one type and unequal, and neither is before the other: nan, and arrays.
    Unequal,
    /// They are of different types.
    Never,
}

/// Compares two values of one type; integers and doubles are one.
pub(super) fn compare(left: &Value, right: &Value) -> Compared {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Compared::Ordered(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Compared::Ordered(left.cmp(right)),
        (Value::Time(left), Value::Time(right)) => Compared::Ordered(left.cmp(right)),
        (Value::Bytes(left), Value::Bytes(right)) => Compared::Ordered(left.cmp(right)),
        (Value::Array(left), Value::Array(right)) if left == right => {
            Compared::Ordered(Ordering::Equal)
        }
        (Value::Array(_), Value::Array(_)) => Compared::Unequal,
        _ => match (left.strict_number(), right.strict_number()) {
            (Some(left), Some(right)) => match compare_numbers(left, right) {
                Some(ordering) => Compared::Ordered(ordering),
                None => Compared::Unequal,
            },
            _ => Compared::Never,
        },
    }
}

/// Compares numbers exactly: 2^53 + 1 is above 2^53 also if one of them is a double.
pub(super) fn compare_numbers(left: Number, right: Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => Some(left.cmp(&right)),
        (Number::Double(left), Number::Double(right)) => left.partial_cmp(&right),
        (Number::Integer(left), Number::Double(right)) => compare_mixed(left, right),
        (Number::Double(left), Number::Integer(right)) => {
            compare_mixed(right, left).map(Ordering::reverse)
        }
    }
}

fn compare_mixed(integer: i64, double: f64) -> Option<Ordering> {
    match whole(double) {
        Some(whole) => {
            let by_fraction = || 0.0_f64.partial_cmp(&double.fract());
            match integer.cmp(&whole) {
                Ordering::Equal => by_fraction(),
                ordering => Some(ordering),
            }
        }
        None => 0.0_f64.partial_cmp(&double),
    }
}

/// A double without its fraction, if that is an integer of 64 bits.
pub(super) fn whole(double: f64) -> Option<i64> {
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    let whole = double.trunc();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bounds are checked, and there is no fraction left"
    )]
    (-ABOVE..ABOVE).contains(&whole).then_some(whole as i64)
}

/// As an expression that gives it; arrays and bytes have none and are shown.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Double(double) => f.write_str(&format_double(*double)),
            Self::Text(text) if text.contains('\'') => write!(f, "\"{text}\""),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Bool(bool) => bool.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Bytes(bytes) => write!(f, "{bytes:02x?}"),
            Self::Array(Array::Integers(elements)) => write!(f, "{elements:?}"),
            Self::Array(Array::Doubles(elements)) => write!(f, "{elements:?}"),
        }
    }
}
