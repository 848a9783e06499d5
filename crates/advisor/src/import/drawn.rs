//! Values for parameters that nobody wrote down.
//!
//! Numbers and texts are drawn evenly from a million, times from the hour before the statement ran.
//! The same line of a file always draws the same.

use keys::{Type, Value};

use crate::work::{Given, at};

/// From how many values is drawn.
const VALUES: u64 = 1_000_000;
/// From how much time before the statement, in microseconds.
const HOUR_US: u64 = 3_600_000_000;
/// Values of a parameter that is a list.
const LISTED: u64 = 3;

/// The parameters of one run of a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    seed: u64,
    at_us: u64,
    /// How many rows it found.
    rows: Option<u64>,
}

impl Drawn {
    pub(super) fn new(seed: u64, at_us: u64, rows: Option<u64>) -> Self {
        Self { seed, at_us, rows }
    }

    /// Neighbours become strangers, as at the end of splitmix64.
    fn number(&self, number: u64) -> u64 {
        let mut mixed = self.seed.rotate_left(24) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn value(&self, number: u64, kind: Type) -> Option<Value> {
        let drawn = self.number(number);
        let small = drawn % VALUES;
        let time_us = self.at_us.saturating_sub(drawn % HOUR_US);
        let text = match kind {
            Type::Timestamp | Type::Datetime | Type::Date => {
                return at(i64::try_from(time_us).ok()?, kind);
            }
            Type::Uuid => {
                let wide = u128::from(drawn) << 64 | u128::from(self.number(!number));
                return Some(Value::Uuid(wide.to_be_bytes()));
            }
            Type::Utf8 | Type::String => format!("v{small:06}"),
            Type::Bool => small.is_multiple_of(2).to_string(),
            Type::Int8 | Type::Uint8 => (small % 100).to_string(),
            Type::Int16 | Type::Uint16 => (small % 10_000).to_string(),
            _ => small.to_string(),
        };
        Value::parse(kind, &text).ok()
    }
}

impl Given for Drawn {
    fn one(&self, number: usize, kind: Type) -> Option<Value> {
        self.value(u64::try_from(number).ok()?, kind)
    }

    fn limit(&self, _: usize) -> Option<u64> {
        self.rows.map(|rows| rows.max(1))
    }

    fn list(&self, number: usize, kind: Type) -> Option<Vec<Value>> {
        let first = u64::try_from(number).ok()? << 32;
        let numbers = first..first + LISTED;
        numbers.map(|number| self.value(number, kind)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_a_key_has_values_and_they_differ() {
        let kinds = [
            Type::Int16,
            Type::Uint32,
            Type::Int64,
            Type::Utf8,
            Type::String,
            Type::Uuid,
            Type::Date,
            Type::Datetime,
            Type::Timestamp,
        ];
        for kind in kinds {
            let at_us = 1_704_067_200_000_000;
            let draw = |seed| Drawn::new(seed, at_us, None).one(1, kind).unwrap();
            assert_eq!(draw(1).value_type(), Some(kind));
            assert_eq!(draw(1), draw(1));
            let different = (0..100).filter(|seed| draw(*seed) != draw(1)).count();
            assert!(different > 90 || kind == Type::Date, "{kind}: {different}");
        }
        let list = Drawn::new(1, 0, None).list(1, Type::Int64).unwrap();
        assert_eq!(list.len(), 3);
    }
}
