//! What an item has under a name: numbers, text, bytes, truth and times.
//!
//! The NoSQL web API keeps items, and an item has *attributes*: names with values whose type belongs
//! to the value and not to a schema. They are the six that Iguazio's clients can send.
//!
//! ```text
//!   Integer   1            N "1"           whatever is written as an i64
//!   Double    1.0          N "1.0"         every other number, also nan, inf and 1e300
//!   Text      "x"          S "x"
//!   Bytes     01 ff        B "Af8="        some of them are arrays, see Array
//!   Bool      true         BOOL true
//!   Time      12:500       TS "12:500"     seconds and nanoseconds since 1970
//! ```
//!
//! Numbers keep their kind. The platform that the API comes from prints a double that is whole
//! without its point, which turns a Python float into an int on its way through the database. Here
//! 1.0 stays `1.0`, because clients choose the type by the text. An integer that an i64 cannot hold
//! is read as a double.

mod array;
mod item;
mod limits;

use std::fmt::{self, Display, Formatter};

pub use array::{ARRAY_ELEMENTS_MAX, Array};
pub use item::{Item, ItemView};
pub use limits::{
    ATTRIBUTE_BYTES_MAX, ATTRIBUTES_MAX, ITEM_BYTES_MAX, NAME_CHARS_MAX, RESERVED_WORDS,
    SYSTEM_ATTRIBUTES, TEXT_BYTES_MAX, check_attribute_name, is_system_attribute,
};

use crate::error::{Error, Result};

/// The value of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Double(f64),
    /// Text.
    Text(String),
    /// Bytes, which may be an [`Array`].
    Bytes(Vec<u8>),
    /// True or false.
    Bool(bool),
    /// A moment.
    Time(Time),
}

/// A moment: seconds since 1970, and nanoseconds after that second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    secs: i64,
    nanos: u32,
}

const NANOS: i64 = 1_000_000_000;

impl Attribute {
    /// Reads a number: an integer if it is written as one that fits, a double otherwise.
    ///
    /// Digits that only infinity could stand for are refused; infinity itself is written `inf`.
    pub fn parse_number(text: &str) -> Result<Self> {
        if let Ok(integer) = text.parse() {
            return Ok(Self::Integer(integer));
        }
        let shown = || clip(text).to_owned();
        let double: f64 = text
            .parse()
            .map_err(|_| Error::NumberInvalid { text: shown() })?;
        match double.is_infinite() && text.contains(|char: char| char.is_ascii_digit()) {
            true => Err(Error::NumberTooLarge { text: shown() }),
            false => Ok(Self::Double(double)),
        }
    }

    /// What the value is, in the words of messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "integer",
            Self::Double(_) => "double",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Bool(_) => "bool",
            Self::Time(_) => "time",
        }
    }

    /// Bytes that the value counts for in the limits of an item.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Integer(_) | Self::Double(_) => 8,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Bool(_) => 1,
            Self::Time(_) => 12,
        }
    }

    /// The array that the bytes are, if they are one.
    pub fn array(&self) -> Option<Array> {
        match self {
            Self::Bytes(bytes) if Array::is_array(bytes) => Array::decode(bytes).ok(),
            _ => None,
        }
    }
}

impl Time {
    /// A moment; nanoseconds of a whole second or more are none.
    pub fn new(secs: i64, nanos: u32) -> Option<Self> {
        (i64::from(nanos) < NANOS).then_some(Self { secs, nanos })
    }

    /// Reads `seconds:nanoseconds`.
    ///
    /// Clients that cut a negative time towards zero write both parts negative: `-1:-500000000` is
    /// one and a half seconds before 1970.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |reason| Error::TimeInvalid {
            text: clip(text).to_owned(),
            reason,
        };
        let (secs, nanos) = text
            .split_once(':')
            .ok_or_else(|| invalid("write seconds, a colon and nanoseconds"))?;
        let secs: i64 = secs
            .parse()
            .map_err(|_| invalid("the seconds are no integer of 64 bits"))?;
        let nanos: i64 = nanos
            .parse()
            .ok()
            .filter(|nanos| (-NANOS < *nanos) && (*nanos < NANOS))
            .ok_or_else(|| invalid("the nanoseconds are not below a second"))?;
        let secs = secs
            .checked_add(nanos.div_euclid(NANOS))
            .ok_or_else(|| invalid("the seconds are no integer of 64 bits"))?;
        let nanos = u32::try_from(nanos.rem_euclid(NANOS)).expect("a second has 30 bits of them");
        Ok(Self { secs, nanos })
    }

    /// Whole seconds since 1970.
    pub fn secs(self) -> i64 {
        self.secs
    }

    /// Nanoseconds after that second.
    pub fn nanos(self) -> u32 {
        self.nanos
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.secs, self.nanos)
    }
}

/// A double as its text in the web API and in expressions: never taken for an integer.
pub fn format_double(double: f64) -> String {
    match double {
        _ if double.is_nan() => "nan".to_owned(),
        _ => format!("{double:?}"),
    }
}

/// The first characters of a long text, for messages.
fn clip(text: &str) -> &str {
    const CHARS_MAX: usize = 60;
    text.char_indices()
        .nth(CHARS_MAX)
        .and_then(|(end, _)| text.get(..end))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> String {
        match Attribute::parse_number(text) {
            Ok(Attribute::Integer(integer)) => format!("integer {integer}"),
            Ok(Attribute::Double(double)) => format!("double {}", format_double(double)),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn numbers_keep_their_kind() {
        for (text, found) in [
            ("1", "integer 1"),
            ("+1", "integer 1"),
            ("-9223372036854775808", "integer -9223372036854775808"),
            ("9223372036854775808", "double 9.223372036854776e18"),
            ("1.0", "double 1.0"),
            ("5E+00", "double 5.0"),
            ("1e+300", "double 1e300"),
            ("-0.0", "double -0.0"),
            ("nan", "double nan"),
            ("NaN", "double nan"),
            ("inf", "double inf"),
            ("-Infinity", "double -inf"),
        ] {
            assert_eq!(number(text), found, "{text}");
        }
        for text in ["", " 1", "one", "1,5", "0x10", "1:0"] {
            let error = Attribute::parse_number(text).unwrap_err();
            assert!(error.to_string().contains("is no number"), "{error}");
        }
        let digits = "9".repeat(400);
        for text in ["1e400", "-1e400", "1.8e308", &digits] {
            let error = Attribute::parse_number(text).unwrap_err();
            assert!(error.to_string().contains("beyond the doubles"), "{error}");
        }
        assert_eq!(number("1e-400"), "double 0.0");
    }

    #[test]
    fn times_before_1970_are_counted_forward() {
        for (text, found) in [
            ("0:0", "0:0"),
            ("1536000000:677999973", "1536000000:677999973"),
            ("-1:500", "-1:500"),
            ("-1:-500000000", "-2:500000000"),
            ("0:-1", "-1:999999999"),
        ] {
            assert_eq!(Time::parse(text).unwrap().to_string(), found, "{text}");
        }
        for text in [
            "",
            "1",
            ":",
            "1:",
            ":1",
            "1:1000000000",
            "a:b",
            "1.5:0",
            "1:2:3",
        ] {
            assert!(Time::parse(text).is_err(), "{text}");
        }
        assert!(Time::parse("-9223372036854775808:-1").is_err());
        assert_eq!(Time::new(0, 1_000_000_000), None);
    }

    proptest! {
        #[test]
        fn doubles_come_back_from_their_text(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            let text = format_double(double);
            let Ok(Attribute::Double(back)) = Attribute::parse_number(&text) else {
                return Err(TestCaseError::fail(text));
            };
            prop_assert!(back.to_bits() == bits || back.is_nan() && double.is_nan());
        }

        #[test]
        fn no_text_makes_numbers_or_times_panic(text in ".*") {
            let _ = Attribute::parse_number(&text);
            let _ = Time::parse(&text);
        }
    }
}
