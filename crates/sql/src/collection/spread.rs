//! How the rows of a table are really distributed, as the object `.#layout` beside its schema says.
//!
//! ```text
//!   {"hashingBucketNum": 10, "former": 64, "past": [64]}
//!                             ╰ while rows are moved: some lie as they did before
//! ```
//!
//! A schema says how its table is to be distributed, and anybody can put one. So what is there is on
//! record: when both differ, rows are moved until they agree. A table without the object has no buckets,
//! or was written when names carried them.

use std::num::NonZeroU32;

use serde_json::{Map, Value as Json, json};

/// The object that tells it.
pub(crate) const LAYOUT_NAME: &str = ".#layout";

/// How many numbers of buckets are remembered.
const PAST_MAX: usize = 8;

/// How rows are distributed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Over how many buckets rows are put.
    pub(crate) buckets: Option<NonZeroU32>,
    /// Over how many those are that were not moved yet.
    pub(crate) former: Option<NonZeroU32>,
    /// Over how many rows ever were, the last one first.
    pub(crate) past: Vec<NonZeroU32>,
}

impl Spread {
    /// Reads it; nothing if it is none.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let object: Map<String, Json> = serde_json::from_slice(bytes).ok()?;
        let buckets = |found: Option<&Json>| {
            let number = found.and_then(Json::as_u64).unwrap_or_default();
            NonZeroU32::new(number.try_into().unwrap_or_default())
        };
        let past = object.get("past").and_then(Json::as_array);
        let past = past.into_iter().flatten();
        Some(Self {
            buckets: buckets(object.get("hashingBucketNum")),
            former: buckets(object.get("former")),
            past: past.filter_map(|one| buckets(Some(one))).collect(),
        })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let number = |buckets: Option<NonZeroU32>| buckets.map_or(0, NonZeroU32::get);
        let past: Vec<u32> = self.past.iter().map(|one| one.get()).collect();
        let mut object = json!({"hashingBucketNum": number(self.buckets), "past": past});
        if let (Some(former), Some(object)) = (self.former, object.as_object_mut()) {
            object.insert("former".to_owned(), former.get().into());
        }
        object.to_string().into_bytes()
    }

    /// The same over other buckets; those until now are remembered.
    pub(crate) fn over(&self, buckets: Option<NonZeroU32>) -> Self {
        let before = self.buckets.filter(|before| Some(*before) != buckets);
        let mut past: Vec<NonZeroU32> = before.into_iter().chain(self.past.clone()).collect();
        let mut seen = Vec::new();
        past.retain(|one| {
            let is_new = Some(*one) != buckets && !seen.contains(one);
            seen.push(*one);
            is_new
        });
        past.truncate(PAST_MAX);
        Self {
            buckets,
            former: None,
            past,
        }
    }

    /// Whether it says what is so without it.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let n = NonZeroU32::new;
        let mut spread = Spread::default().over(n(64)).over(n(10));
        assert_eq!(spread.past, [n(64).unwrap()]);
        spread.former = n(64);
        assert_eq!(Spread::parse(&spread.to_bytes()), Some(spread.clone()));
        let plain = spread.over(None);
        assert_eq!(plain.past, [n(10).unwrap(), n(64).unwrap()]);
        assert_eq!(Spread::parse(&plain.to_bytes()), Some(plain.clone()));
        assert!(!plain.is_plain() && Spread::default().is_plain());
        assert_eq!(plain.over(n(64)).past, [n(10).unwrap()]);
        for other in ["", "[]", "7"] {
            assert_eq!(Spread::parse(other.as_bytes()), None);
        }
    }
}
