//! In which order the items of one sharding key lie: that of their sorting keys as text, as numbers
//! or as times.
//!
//! ```text
//!   Text      the bytes of the sorting key
//!   others    ┌────┬──────────────────────────┬──────────────────────┐
//!             │ 01 │ value, 8 or 12 B, in order │ the sorting key's text │
//!             ├────┼──────────────────────────┴──────────────────────┤
//!             │ 02 │ the text of a sorting key that is no such value   │
//!             └────┴─────────────────────────────────────────────────┘
//! ```
//!
//! The text stays behind the value, so `7` and `007` are two items beside each other, and nothing
//! that was written under a name is ever refused: what is no number comes after all that are.

use crate::attribute::Time;
use crate::types::Type;
use crate::value::Value;

/// How sorting keys are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As texts, byte by byte.
    #[default]
    Text,
    /// As whole numbers.
    Integer,
    /// As numbers.
    Double,
    /// As moments.
    Time,
}

const VALUE: u8 = 1;
const OTHER: u8 = 2;
const MICROS: i64 = 1_000_000;

impl Order {
    /// The order that a type of a schema's field asks for.
    pub fn of_type(name: &str) -> Self {
        match name {
            "long" => Self::Integer,
            "double" => Self::Double,
            "timestamp" => Self::Time,
            _ => Self::Text,
        }
    }

    /// What its values are, for messages.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "whole number",
            Self::Double => "number",
            Self::Time => "time",
        }
    }

    /// The bytes under which a sorting key is stored.
    pub fn encode(self, sorting: &str) -> Vec<u8> {
        if self == Self::Text {
            return sorting.as_bytes().to_vec();
        }
        let mut bytes = self.bound(sorting).unwrap_or_else(|| vec![OTHER]);
        bytes.extend_from_slice(sorting.as_bytes());
        bytes
    }

    /// The least bytes of sorting keys that are not below this one; nothing if it is none of them.
    pub fn bound(self, sorting: &str) -> Option<Vec<u8>> {
        let mut bytes = vec![VALUE];
        match self {
            Self::Text => return Some(sorting.as_bytes().to_vec()),
            Self::Integer => bytes.extend(ordered_integer(sorting.parse().ok()?)),
            Self::Double => bytes.extend(ordered_double(sorting.parse().ok()?)),
            Self::Time => {
                let time = parse_time(sorting)?;
                bytes.extend(ordered_integer(time.secs()));
                bytes.extend(time.nanos().to_be_bytes());
            }
        }
        Some(bytes)
    }

    /// Below all sorting keys that compare, and not below any that does not.
    pub fn ends(self) -> (Vec<u8>, Option<Vec<u8>>) {
        match self {
            Self::Text => (Vec::new(), None),
            _ => (vec![VALUE], Some(vec![OTHER])),
        }
    }
}

fn ordered_integer(integer: i64) -> [u8; 8] {
    (integer.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

fn ordered_double(double: f64) -> [u8; 8] {
    // Minus zero is zero.
    let bits = (double + 0.0).to_bits();
    let flipped = match bits >> 63 {
        0 => bits ^ (1 << 63),
        _ => !bits,
    };
    flipped.to_be_bytes()
}

/// A time as clients write it in names: `seconds:nanoseconds`, seconds, or a date with a time.
pub fn parse_time(text: &str) -> Option<Time> {
    if let Ok(time) = Time::parse(text) {
        return Some(time);
    }
    if let Ok(secs) = text.parse() {
        return Time::new(secs, 0);
    }
    match Value::parse(Type::Timestamp, text) {
        Ok(Value::Timestamp(micros)) => {
            let nanos = u32::try_from(micros.rem_euclid(MICROS) * 1000).ok()?;
            Time::new(micros.div_euclid(MICROS), nanos)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(order: Order, mut texts: Vec<&str>) -> Vec<&str> {
        texts.sort_by_key(|text| order.encode(text));
        texts
    }

    #[test]
    fn values_come_in_their_order_and_the_rest_after_them() {
        assert_eq!(
            sorted(Order::Text, vec!["9", "10", "-1", "x"]),
            ["-1", "10", "9", "x"]
        );
        assert_eq!(
            sorted(Order::Integer, vec!["9", "10", "x", "-1", "009", "1.5"]),
            ["-1", "009", "9", "10", "1.5", "x"]
        );
        assert_eq!(
            sorted(Order::Double, vec!["9", "1e3", "-1.5", "-2", "0.5"]),
            ["-2", "-1.5", "0.5", "9", "1e3"]
        );
        assert_eq!(
            sorted(
                Order::Time,
                vec!["10:5", "9:999", "2018-06-02T10:00:00Z", "-1:0", "10:40"]
            ),
            ["-1:0", "9:999", "10:5", "10:40", "2018-06-02T10:00:00Z"]
        );
    }

    #[test]
    fn the_bytes_of_stored_keys_stay() {
        assert_eq!(Order::Text.encode("7"), b"7");
        assert_eq!(Order::Integer.encode("7"), b"\x01\x80\0\0\0\0\0\0\x077");
        assert_eq!(Order::Integer.encode("x"), b"\x02x");
        assert_eq!(Order::Double.encode("1"), b"\x01\xbf\xf0\0\0\0\0\0\x001");
        assert_eq!(
            Order::Time.encode("1:2"),
            b"\x01\x80\0\0\0\0\0\0\x01\0\0\0\x021:2"
        );
    }

    proptest! {
        #[test]
        fn numbers_keep_their_order(a in any::<i64>(), b in any::<i64>(), x: f64, y: f64) {
            let bytes = |order: Order, text: String| order.bound(&text).unwrap();
            prop_assert_eq!(
                a.cmp(&b),
                bytes(Order::Integer, a.to_string()).cmp(&bytes(Order::Integer, b.to_string()))
            );
            if let Some(expected) = x.partial_cmp(&y) {
                let found = bytes(Order::Double, format!("{x:?}"))
                    .cmp(&bytes(Order::Double, format!("{y:?}")));
                prop_assert_eq!(expected, found);
            }
        }
    }
}
