//! The rows of a load, in the order of their keys.
//!
//! Rows come in any order and stay where they are in their pile: what is sorted is a list of small
//! numbers, of each key the eight bytes behind those that all keys share, and the row's place.
//!
//! ```text
//!   place  key                                              order
//!   0      /orders/1001  │ 01 06 00 00 00 00 00 00 03 e9 │  (00 07, 1)
//!   1      /orders/7     │ 01 06 00 00 00 00 00 00 00 07 │  (03 e9, 0)
//!                          └── all share these ───┘
//! ```
//!
//! The keys themselves are compared only where those bytes are equal. Rows that come in order, as
//! from a dump, are found to be so in one pass.

use std::ops::Range;

use bytes::BytesMut;
use storage::{KeyRange, Pair};

use crate::version::Version;
use crate::view::bytes_of;
use crate::{Pile, Timestamp};

/// How many bytes of each key are compared by themselves.
const HEAD_BYTES: usize = 8;

/// How much memory is asked for at a time for rows on their way to an engine.
const CHUNK_BYTES: usize = 64 << 10;

/// How many rows are fetched from memory together.
const FETCHED_ROWS: usize = 32;

/// Rows in ascending order of their keys.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pile: Pile,
    /// The places of the rows in the order of their keys, unless they lie in that order.
    order: Option<Vec<u32>>,
    /// Two of the places with the same key.
    twice: Option<u32>,
}

impl Rows {
    /// Sorts fewer than 2^32 rows.
    pub(crate) fn new(pile: Pile) -> Self {
        if pile.iter().is_sorted_by(|(one, _), (two, _)| one < two) {
            return Self {
                pile,
                order: None,
                twice: None,
            };
        }
        let shared = shared_bytes(&pile);
        let heads = pile.iter().map(|(key, _)| head(key, shared));
        let mut order: Vec<(u64, u32)> = heads.zip(0..).collect();
        assert_eq!(order.len(), pile.len(), "there are too many rows");
        let key = |place: u32| at(&pile, place).map(|(key, _)| key);
        order.sort_unstable_by(|(head, place), (other_head, other)| {
            let by_head = head.cmp(other_head);
            by_head.then_with(|| key(*place).cmp(&key(*other)))
        });
        let twice = order.windows(2).find_map(|pair| match pair {
            [(head, place), (same, other)] if head == same && key(*place) == key(*other) => {
                Some(*place)
            }
            _ => None,
        });
        let order = order.into_iter().map(|(_, place)| place).collect();
        Self {
            pile,
            order: Some(order),
            twice,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pile.len()
    }

    pub(crate) fn first(&self) -> Option<(&[u8], &[u8])> {
        self.get(0)
    }

    pub(crate) fn last(&self) -> Option<(&[u8], &[u8])> {
        self.get(self.len().checked_sub(1)?)
    }

    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        match &self.order {
            None => self.pile.get(index),
            Some(order) => at(&self.pile, *order.get(index)?),
        }
    }

    /// The rows of a range of indexes, in the order of their keys.
    pub(crate) fn iter(&self, range: Range<usize>) -> impl Iterator<Item = (&[u8], &[u8])> {
        range.map_while(|index| self.get(index))
    }

    /// How many rows of a range come before `key`, counted from the first of all.
    pub(crate) fn count_below(&self, key: &[u8], within: Range<usize>) -> usize {
        let Range { mut start, mut end } = within;
        while start < end {
            let middle = start.midpoint(end);
            match self.get(middle) {
                Some((one, _)) if one < key => start = middle + 1,
                _ => end = middle,
            }
        }
        start
    }

    /// The row under a key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<&[u8]> {
        let place = self.count_below(key, 0..self.len());
        let found = self.get(place).filter(|(one, _)| *one == key);
        found.map(|(_, row)| row)
    }

    /// The rows in a range, in the order of their keys.
    pub(crate) fn within(&self, range: &KeyRange) -> impl Iterator<Item = (&[u8], &[u8])> {
        let end = match &range.upper {
            Some(upper) => self.count_below(upper, 0..self.len()),
            None => self.len(),
        };
        self.iter(self.count_below(&range.lower, 0..end)..end)
    }

    /// The rows as they came.
    pub(crate) fn into_pile(self) -> Pile {
        self.pile
    }

    /// A key that two rows share.
    pub(crate) fn twice(&self) -> Option<&[u8]> {
        let (key, _) = at(&self.pile, self.twice?)?;
        Some(key)
    }

    /// The bytes of all keys and rows.
    pub(crate) fn pair_bytes(&self) -> usize {
        self.pile.bytes()
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
        let ends = |bytes: &[u8]| bytes.first().zip(bytes.last()).map_or(0, |(a, b)| a ^ b);
        let rows = self.iter(next..end);
        let bytes = rows.fold(0, |bytes, (key, row)| bytes ^ ends(key) ^ ends(row));
        std::hint::black_box(bytes);
        end
    }
}

fn at(pile: &Pile, place: u32) -> Option<(&[u8], &[u8])> {
    pile.get(usize::try_from(place).ok()?)
}

/// How many leading bytes all keys have in common.
fn shared_bytes(pile: &Pile) -> usize {
    let Some((first, _)) = pile.get(0) else {
        return 0;
    };
    pile.iter().fold(first.len(), |shared, (key, _)| {
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
    use storage::Bytes;

    use super::*;

    fn owned((key, row): (&[u8], &[u8])) -> Pair {
        (Bytes::copy_from_slice(key), Bytes::copy_from_slice(row))
    }

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
            let rows = Rows::new(pairs.iter().cloned().collect());
            let all = rows.iter(0..rows.len());
            let mut sorted: Vec<Pair> = all.map(owned).collect();
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
            let rows = Rows::new(pairs.iter().cloned().collect());
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
