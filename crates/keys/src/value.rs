//! One value of a column, its order, and its canonical text.
//!
//! Two values are equal exactly when their key encodings are, and they order as those encodings do:
//!
//! ```text
//!   NULL  <  false < true  <  Int8 … Int64  <  Uint8 … Uint64  <  Decimal  <  Utf8  <  String
//!         <  Date < Datetime < Timestamp < Interval  <  Uuid   <  Float < Double  <  Json
//! ```
//!
//! Within one column only the order inside a type and the place of NULL matter; the order between
//! types is there so that any list of values can be sorted. Consequences worth knowing:
//!
//! - NULL equals NULL here, as it must in a key. SQL's `NULL = NULL` is decided above this crate.
//! - `Int32(1)` and `Int64(1)` differ, and so do `1.0` and `1.00`: a column has one type and one
//!   scale, and whoever mixes them casts first.
//! - Float and Double cannot be in keys, yet order totally, as in PostgreSQL: negative zero equals
//!   zero, and NaN equals itself and stands above infinity.

mod calendar;
mod decimal;
mod display;
mod json;
mod parse;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

pub use decimal::Decimal;
pub(crate) use display::write_hex;
pub(crate) use parse::parse_hex;

use crate::types::{DECIMAL_PRECISION_MAX, Type};

/// A value of a column, or NULL.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A signed integer of one byte.
    Int8(i8),
    /// A signed integer of two bytes.
    Int16(i16),
    /// A signed integer of four bytes.
    Int32(i32),
    /// A signed integer of eight bytes.
    Int64(i64),
    /// An unsigned integer of one byte.
    Uint8(u8),
    /// An unsigned integer of two bytes.
    Uint16(u16),
    /// An unsigned integer of four bytes.
    Uint32(u32),
    /// An unsigned integer of eight bytes.
    Uint64(u64),
    /// A binary floating-point number of four bytes.
    Float(f32),
    /// A binary floating-point number of eight bytes.
    Double(f64),
    /// An exact decimal number.
    Decimal(Decimal),
    /// Text.
    Utf8(Box<str>),
    /// Bytes.
    String(Box<[u8]>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Seconds since 1970-01-01T00:00:00Z.
    Datetime(i64),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// Microseconds.
    Interval(i64),
    /// A UUID in the byte order of its text.
    Uuid([u8; 16]),
    /// A JSON document as its text.
    Json(Box<str>),
}

impl Value {
    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether a column of this type may hold this value; NULL fits every type.
    pub fn type_matches(&self, kind: Type) -> bool {
        match (self, kind) {
            (Self::Null, _) => true,
            (Self::Decimal(decimal), Type::Decimal { precision, scale }) => {
                decimal.scale() == scale && decimal.digits() <= precision
            }
            (value, kind) => value.value_type() == Some(kind),
        }
    }

    /// The type of this value, or `None` for NULL; a decimal answers the widest precision.
    pub fn value_type(&self) -> Option<Type> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(_) => Type::Bool,
            Self::Int8(_) => Type::Int8,
            Self::Int16(_) => Type::Int16,
            Self::Int32(_) => Type::Int32,
            Self::Int64(_) => Type::Int64,
            Self::Uint8(_) => Type::Uint8,
            Self::Uint16(_) => Type::Uint16,
            Self::Uint32(_) => Type::Uint32,
            Self::Uint64(_) => Type::Uint64,
            Self::Float(_) => Type::Float,
            Self::Double(_) => Type::Double,
            Self::Decimal(decimal) => Type::Decimal {
                precision: DECIMAL_PRECISION_MAX,
                scale: decimal.scale(),
            },
            Self::Utf8(_) => Type::Utf8,
            Self::String(_) => Type::String,
            Self::Date(_) => Type::Date,
            Self::Datetime(_) => Type::Datetime,
            Self::Timestamp(_) => Type::Timestamp,
            Self::Interval(_) => Type::Interval,
            Self::Uuid(_) => Type::Uuid,
            Self::Json(_) => Type::Json,
        })
    }

    /// The order that keys sort in; see the module's first page.
    pub fn key_cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int8(a), Self::Int8(b)) => a.cmp(b),
            (Self::Int16(a), Self::Int16(b)) => a.cmp(b),
            (Self::Int32(a), Self::Int32(b)) | (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Int64(a), Self::Int64(b))
            | (Self::Datetime(a), Self::Datetime(b))
            | (Self::Timestamp(a), Self::Timestamp(b))
            | (Self::Interval(a), Self::Interval(b)) => a.cmp(b),
            (Self::Uint8(a), Self::Uint8(b)) => a.cmp(b),
            (Self::Uint16(a), Self::Uint16(b)) => a.cmp(b),
            (Self::Uint32(a), Self::Uint32(b)) => a.cmp(b),
            (Self::Uint64(a), Self::Uint64(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => float_cmp(f64::from(*a), f64::from(*b)),
            (Self::Double(a), Self::Double(b)) => float_cmp(*a, *b),
            (Self::Decimal(a), Self::Decimal(b)) => a.cmp(b),
            (Self::Utf8(a), Self::Utf8(b)) | (Self::Json(a), Self::Json(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Uuid(a), Self::Uuid(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// The place of the value's type in the order between types.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int8(_) => 2,
            Self::Int16(_) => 3,
            Self::Int32(_) => 4,
            Self::Int64(_) => 5,
            Self::Uint8(_) => 6,
            Self::Uint16(_) => 7,
            Self::Uint32(_) => 8,
            Self::Uint64(_) => 9,
            Self::Decimal(_) => 10,
            Self::Utf8(_) => 11,
            Self::String(_) => 12,
            Self::Date(_) => 13,
            Self::Datetime(_) => 14,
            Self::Timestamp(_) => 15,
            Self::Interval(_) => 16,
            Self::Uuid(_) => 17,
            Self::Float(_) => 18,
            Self::Double(_) => 19,
            Self::Json(_) => 20,
        }
    }
}

/// Zero of either sign is one value, and NaN is one value above all others.
fn float_cmp(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The bits of the one representative of each class of equal floats.
pub(crate) fn float_class_bits(value: f64) -> u64 {
    if value.is_nan() {
        f64::NAN.to_bits()
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.key_cmp(other).is_eq()
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key_cmp(other)
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Self::Null => {}
            Self::Bool(v) => v.hash(state),
            Self::Int8(v) => v.hash(state),
            Self::Int16(v) => v.hash(state),
            Self::Int32(v) | Self::Date(v) => v.hash(state),
            Self::Int64(v) | Self::Datetime(v) | Self::Timestamp(v) | Self::Interval(v) => {
                v.hash(state);
            }
            Self::Uint8(v) => v.hash(state),
            Self::Uint16(v) => v.hash(state),
            Self::Uint32(v) => v.hash(state),
            Self::Uint64(v) => v.hash(state),
            Self::Float(v) => float_class_bits(f64::from(*v)).hash(state),
            Self::Double(v) => float_class_bits(*v).hash(state),
            Self::Decimal(v) => v.hash(state),
            Self::Utf8(v) | Self::Json(v) => v.hash(state),
            Self::String(v) => v.hash(state),
            Self::Uuid(v) => v.hash(state),
        }
    }
}

macro_rules! value_from {
    ($($native:ty => $variant:ident),* $(,)?) => {$(
        impl From<$native> for Value {
            fn from(native: $native) -> Self {
                Self::$variant(native.into())
            }
        }
    )*};
}

value_from! {
    bool => Bool, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64, f32 => Float, f64 => Double,
    Decimal => Decimal, &str => Utf8, String => Utf8, Box<str> => Utf8,
    &[u8] => String, Vec<u8> => String, Box<[u8]> => String,
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn a_decimal_fits_a_type_of_its_scale_and_enough_digits() {
        let value = Value::Decimal(Decimal::new(12_345, 2).unwrap());
        assert!(value.type_matches(Type::Decimal {
            precision: 5,
            scale: 2
        }));
        assert!(!value.type_matches(Type::Decimal {
            precision: 4,
            scale: 2
        }));
        assert!(!value.type_matches(Type::Decimal {
            precision: 10,
            scale: 3
        }));
        assert!(Value::Null.type_matches(Type::Json));
        assert!(!Value::Int32(1).type_matches(Type::Int64));
    }
}
