//! The rows of a load, in the order of their keys.
//!
//! Rows come in any order, each in a piece of memory of its own. They stay where they are: what is
//! sorted is a list of small numbers, of each key the eight bytes behind those that all keys share,
//! and the row's place.
//!
//! ```text
//!   place  key                                              order
//!   0      /orders/1001  │ 01 06 00 00 00 00 00 00 03 e9 │  (00 07, 1)
//!   1      /orders/7     │ 01 06 00 00 00 00 00 00 00 07 │  (03 e9, 0)
//!                          └── all share these ───┘
//! ```
//!
//! The keys themselves are compared only where those bytes are equal. Rows that come in order, as
//! from a dump, are found to be so in one pass. Freeing a million pieces of memory in another order
//! than they were made costs more than sorting them; that is the other reason to leave them.

use std::ops::Range;

use bytes::BytesMut;
use storage::{Bytes, KeyRange, Pair};

use crate::Timestamp;
use crate::version::Version;
use crate::view::bytes_of;

/// How many bytes of each key are compared by themselves.
const HEAD_BYTES: usize = 8;

/// How much memory is asked for at a time for rows on their way to an engine.
const CHUNK_BYTES: usize = 64 << 10;

/// How many rows are fetched from memory together.
const FETCHED_ROWS: usize = 32;

/// Rows in ascending order of their keys.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pairs: Vec<Pair>,
    /// The places of the rows in the order of their keys, unless they lie in that order.
    order: Option<Vec<u32>>,
    twice: Option<Bytes>,
}

impl Rows {
    /// Sorts fewer than 2^32 rows.
    pub(crate) fn new(pairs: Vec<Pair>) -> Self {
        if pairs.is_sorted_by(|(one, _), (two, _)| one < two) {
            return Self {
                pairs,
                order: None,
                twice: None,
            };
        }
        let shared = shared_bytes(&pairs);
        let heads = pairs.iter().map(|(key, _)| head(key, shared));
        let mut order: Vec<(u64, u32)> = heads.zip(0..).collect();
        assert_eq!(order.len(), pairs.len(), "there are too many rows");
        let key = |place: u32| at(&pairs, place).map(|(key, _)| key);
        order.sort_unstable_by(|(head, place), (other_head, other)| {
            let by_head = head.cmp(other_head);
            by_head.then_with(|| key(*place).cmp(&key(*other)))
        });
        let twice = order.windows(2).find_map(|pair| match pair {
            [(head, place), (same, other)] if head == same => {
                key(*place).filter(|one| Some(*one) == key(*other)).cloned()
            }
            _ => None,
        });
        let order = order.into_iter().map(|(_, place)| place).collect();
        Self {
            pairs,
            order: Some(order),
            twice,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(crate) fn first(&self) -> Option<&Pair> {
        self.get(0)
    }

    pub(crate) fn last(&self) -> Option<&Pair> {
        self.get(self.len().checked_sub(1)?)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Pair> {
        match &self.order {
            None => self.pairs.get(index),
            Some(order) => at(&self.pairs, *order.get(index)?),
        }
    }

    /// The rows of a range of indexes, in the order of their keys.
    pub(crate) fn iter(&self, range: Range<usize>) -> impl Iterator<Item = &Pair> {
        range.map_while(|index| self.get(index))
    }

    /// How many rows of a range come before `key`, counted from the first of all.
    pub(crate) fn count_below(&self, key: &[u8], within: Range<usize>) -> usize {
        let Range { mut start, mut end } = within;
        while start < end {
            let middle = start.midpoint(end);
            match self.get(middle) {
                Some((one, _)) if one.as_ref() < key => start = middle + 1,
                _ => end = middle,
            }
        }
        start
    }

    /// The row under a key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<&Bytes> {
        let place = self.count_below(key, 0..self.len());
        let found = self.get(place).filter(|(one, _)| one == key);
        found.map(|(_, row)| row)
    }

    /// The rows in a range, in the order of their keys.
    pub(crate) fn within(&self, range: &KeyRange) -> impl Iterator<Item = &Pair> {
        let end = match &range.upper {
            Some(upper) => self.count_below(upper, 0..self.len()),
            None => self.len(),
        };
        self.iter(self.count_below(&range.lower, 0..end)..end)
    }

    /// The rows as they came.
    pub(crate) fn into_pairs(self) -> Vec<Pair> {
        self.pairs
    }

    /// A key that two rows share.
    pub(crate) fn twice(&self) -> Option<&Bytes> {
        self.twice.as_ref()
    }

    /// The bytes of all keys and rows.
    pub(crate) fn pair_bytes(&self) -> usize {
        let pairs = self.pairs.iter();
        pairs.map(|(key, row)| key.len() + row.len()).sum()
    }

    /// What rows count for in bytes.
    pub(crate) fn bytes(&self, range: Range<usize>) -> u64 {
        let rows = self.iter(range);
        rows.map(|(key, row)| bytes_of(key, row)).sum()
    }

    /// The rows as an engine stores them. Engines keep a key here and there for long, and with it the
    /// piece of memory that it lies in: no rows lie in those.
    pub(crate) fn versions(&self, stamp: Timestamp) -> impl Iterator<Item = Pair> {
        let mut keys = BytesMut::with_capacity(CHUNK_BYTES);
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let mut fetched = 0;
        let rows = self.iter(0..self.len()).enumerate();
        rows.map(move |(index, (key, row))| {
            if index == fetched {
                fetched = self.fetch(index);
            }
            keys.extend_from_slice(key);
            let key = keys.split().freeze();
            Version::put_row(&mut chunk, stamp, row);
            (key, chunk.split().freeze())
        })
    }

    /// Makes the processor fetch the next rows, which lie all over the memory, side by side. One by
    /// one, as they are used, it would wait for each. Answers with the first that was not fetched.
    pub(crate) fn fetch(&self, next: usize) -> usize {
        if self.order.is_none() {
            return usize::MAX;
        }
        let end = next + FETCHED_ROWS;
        let ends = |bytes: &Bytes| bytes.first().zip(bytes.last()).map_or(0, |(a, b)| a ^ b);
        let rows = self.iter(next..end);
        let bytes = rows.fold(0, |bytes, (key, row)| bytes ^ ends(key) ^ ends(row));
        std::hint::black_box(bytes);
        end
    }
}

fn at(pairs: &[Pair], place: u32) -> Option<&Pair> {
    pairs.get(usize::try_from(place).ok()?)
}

/// How many leading bytes all keys have in common.
fn shared_bytes(pairs: &[Pair]) -> usize {
    let Some(((first, _), rest)) = pairs.split_first() else {
        return 0;
    };
    rest.iter().fold(first.len(), |shared, (key, _)| {
        let same = first.iter().zip(key).take(shared);
        same.take_while(|(one, two)| one == two).count()
    })
}

/// The first bytes of a key behind those that are shared, as a number that sorts as they do. A key
/// that ends early is filled with zeros, which no byte sorts before.
fn head(key: &[u8], shared: usize) -> u64 {
    let mut head = [0; HEAD_BYTES];
    for (byte, of_key) in head.iter_mut().zip(key.iter().skip(shared)) {
        *byte = *of_key;
    }
    u64::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use partitions::TableId;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts_as_sorting_does(
            keys in proptest::collection::vec(proptest::collection::vec(0_u8..3, 0..14), 0..60),
            shared: Vec<u8>,
        ) {
            let pairs: Vec<Pair> = keys
                .into_iter()
                .zip(0_u32..)
                .map(|(key, number)| {
                    let key = [shared.as_slice(), &key].concat();
                    (Bytes::from(key), Bytes::copy_from_slice(&number.to_be_bytes()))
                })
                .collect();
            let rows = Rows::new(pairs.clone());
            let mut sorted: Vec<Pair> = rows.iter(0..rows.len()).cloned().collect();
            prop_assert!(sorted.is_sorted_by(|(one, _), (two, _)| one <= two));
            let mut expected = pairs;
            expected.sort();
            for (key, _) in &expected {
                let below = expected.partition_point(|(one, _)| one < key);
                prop_assert_eq!(rows.count_below(key, 0..rows.len()), below);
            }
            let twice = expected.windows(2).any(|pair| pair[0].0 == pair[1].0);
            prop_assert_eq!(rows.twice().is_some(), twice);
            sorted.sort();
            prop_assert_eq!(sorted, expected);
        }

        #[test]
        fn an_engine_gets_what_a_commit_would_write(
            pairs in proptest::collection::btree_map(any::<[u8; 3]>(), any::<Vec<u8>>(), 0..40),
        ) {
            let pairs = pairs.into_iter().rev();
            let pairs: Vec<Pair> = pairs
                .map(|(key, row)| (Bytes::copy_from_slice(&key), row.into()))
                .collect();
            let rows = Rows::new(pairs.clone());
            let versions: Vec<Pair> = rows.versions(Timestamp(7)).collect();
            for ((key, bytes), (expected, row)) in versions.iter().zip(pairs.iter().rev()) {
                prop_assert_eq!(key, expected);
                let version = Version { at: Timestamp(7), row: Some(row.clone()) };
                prop_assert_eq!(bytes, &version.encode());
                prop_assert_eq!(Version::decode(TableId(1), key, bytes.clone()).unwrap(), version);
            }
            prop_assert_eq!(versions.len(), pairs.len());
        }
    }
}
