//! Where to cut a range of keys so that several readers can share it.
//!
//! Nobody knows the keys of a partition without reading them, but a few of them tell enough: the first,
//! the last, and the ones beside a guess in the middle.
//!
//! ```text
//!   keys        ·   ········ ·· ·····  ·        ·   ·· ····
//!   first, last ^                                         ^     the middle of their bytes is a guess
//!   cut once                           ·]      [·               the keys beside it bound both halves
//!   cut again            ·][·                       ·][·        so each guess is made among real keys
//! ```
//!
//! Keys that crowd in one place draw the cuts after them, because every half is measured anew. Cuts are
//! only ever an advice: wherever they fall, the pieces tile the range.

use std::sync::Arc;

use partitions::spaces::table_space;
use partitions::{PartitionId, TableId};
use storage::{Bytes, Direction, KeyRange};

use crate::Result;
use crate::view::View;

/// How many bytes after the common beginning of two keys a guess looks at.
const GUESS_BYTES: usize = 8;

/// What a range reaches over.
#[derive(Clone, Debug)]
pub struct Extent {
    /// The range cut where partitions begin, in key order.
    pub tiles: Vec<Tile>,
    /// How many partitions the table has.
    pub partitions: usize,
}

/// The part of a range that lies in one partition.
#[derive(Clone, Debug)]
pub struct Tile {
    /// The partition.
    pub partition: PartitionId,
    /// Its keys.
    pub range: KeyRange,
    /// About how many rows the whole partition holds.
    pub rows: u64,
}

pub(crate) fn extent(view: &Arc<View>, table: TableId, range: &KeyRange) -> Result<Extent> {
    let map = view.store().map(table)?;
    let tile = |one: &Arc<partitions::Partition>| Tile {
        partition: one.descriptor.id,
        range: one.descriptor.range.intersect(range),
        rows: one.counters.counts().totals().rows,
    };
    Ok(Extent {
        tiles: map.overlapping(range).iter().map(tile).collect(),
        partitions: map.partitions().len(),
    })
}

pub(crate) fn cut(
    view: &Arc<View>,
    table: TableId,
    range: &KeyRange,
    pieces: usize,
) -> Result<Vec<KeyRange>> {
    let mut done = vec![range.clone()];
    if range.is_empty() {
        return Ok(done);
    }
    while done.len() < pieces {
        let mut halves = Vec::with_capacity(done.len() * 2);
        for piece in &done {
            match middle(view, table, piece)? {
                Some(middle) => {
                    let upper = piece.upper.clone();
                    halves.push(KeyRange::new(piece.lower.clone(), Some(middle.clone())));
                    halves.push(KeyRange::new(middle, upper));
                }
                None => halves.push(piece.clone()),
            }
        }
        if halves.len() == done.len() {
            break;
        }
        done = halves;
    }
    Ok(done)
}

/// A key between the first and the last of a range, unless there are fewer than two.
fn middle(view: &Arc<View>, table: TableId, range: &KeyRange) -> Result<Option<Bytes>> {
    let first = end_key(view, table, range, Direction::Ascending)?;
    let last = end_key(view, table, range, Direction::Descending)?;
    let Some((first, last)) = first.zip(last) else {
        return Ok(None);
    };
    let guess = between(&first, &last);
    Ok(guess.filter(|key| *key > range.lower && range.contains(key)))
}

/// The first or last stored key of a range, at whatever version: a cut is right wherever it falls.
fn end_key(
    view: &Arc<View>,
    table: TableId,
    range: &KeyRange,
    direction: Direction,
) -> Result<Option<Bytes>> {
    let mut found = view.locate_range(table, range)?;
    if direction == Direction::Descending {
        found.reverse();
    }
    for (partition, slot) in found {
        let part = partition.descriptor.range.intersect(range);
        let mut pairs = slot
            .snapshot()?
            .scan(table_space(table), &part, direction)?;
        if let Some(pair) = pairs.next() {
            return Ok(Some(pair.map_err(|error| slot.read_failed(error))?.0));
        }
    }
    Ok(None)
}

/// Bytes about halfway from one key to a later one: above the first, at most the second.
fn between(first: &[u8], last: &[u8]) -> Option<Bytes> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; GUESS_BYTES];
        for (place, byte) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *place = *byte;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let half = high.checked_sub(low)? / 2;
    let middle = low + half.max(1);
    if low == high {
        return None;
    }
    let mut key = first.get(..common)?.to_vec();
    key.extend_from_slice(&middle.to_be_bytes());
    (key.as_slice() > first && key.as_slice() <= last).then(|| key.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_guess_lies_above_the_first_key_and_not_above_the_last(
            one: Vec<u8>, two: Vec<u8>, start: Vec<u8>
        ) {
            let key = |end: &[u8]| [start.as_slice(), end].concat();
            let (first, last) = (key(one.as_slice().min(&two)), key(one.as_slice().max(&two)));
            if let Some(middle) = between(&first, &last) {
                prop_assert!(*middle > *first && *middle <= *last);
            }
        }
    }

    #[test]
    fn numbers_are_halved() {
        let key = |number: u64| number.to_be_bytes();
        assert_eq!(
            between(&key(0), &key(1000)).unwrap(),
            Bytes::copy_from_slice(&[0, 0, 0, 0, 0, 0, 1, 0xf4, 0, 0, 0, 0, 0, 0])
        );
        assert_eq!(between(&key(5), &key(5)), None);
    }
}
