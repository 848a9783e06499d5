//! Sorting the rows of a load by key.
//!
//! Comparing keys means following two pointers, and moving rows means moving 64 bytes each. So what
//! is sorted is a list of small numbers: of each key the eight bytes behind those that all keys
//! share, and the row's place.
//!
//! ```text
//!   /orders/1001  │ 01 06 00 00 00 00 00 00 03 e9 │          all share 8 bytes
//!   /orders/7     │ 01 06 00 00 00 00 00 00 00 07 │          (03 e9, 0) (00 07, 1)
//! ```
//!
//! The keys themselves are compared only where those bytes are equal. Rows that come in order, as
//! from a dump, are found to be so in one pass and stay where they are.

use storage::Pair;

/// How many bytes of each key are compared by themselves.
const HEAD_BYTES: usize = 8;

/// The rows in ascending order of their keys; of rows with the same key none is lost.
pub(crate) fn sort_rows(mut rows: Vec<Pair>) -> Vec<Pair> {
    if rows.is_sorted_by(|(one, _), (two, _)| one <= two) {
        return rows;
    }
    let shared = shared_bytes(&rows);
    let heads = rows.iter().map(|(key, _)| head(key, shared));
    let mut order: Vec<(u64, u32)> = heads.zip(0..).collect();
    assert_eq!(order.len(), rows.len(), "a load has fewer rows than that");
    let key = |place: u32| rows.get(place_of(place)).map(|(key, _)| key);
    order.sort_unstable_by(|(head, place), (other_head, other)| {
        let by_head = head.cmp(other_head);
        by_head.then_with(|| key(*place).cmp(&key(*other)))
    });
    let taken = order.into_iter().filter_map(|(_, place)| {
        let row = rows.get_mut(place_of(place))?;
        Some(std::mem::take(row))
    });
    taken.collect()
}

fn place_of(place: u32) -> usize {
    usize::try_from(place).expect("a row in memory has a place in memory")
}

/// How many leading bytes all keys have in common.
fn shared_bytes(rows: &[Pair]) -> usize {
    let Some(((first, _), rest)) = rows.split_first() else {
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
    use proptest::prelude::*;
    use storage::Bytes;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts_as_sorting_does(
            keys in proptest::collection::vec(proptest::collection::vec(0_u8..3, 0..14), 0..60),
            shared: Vec<u8>,
        ) {
            let rows: Vec<Pair> = keys
                .into_iter()
                .zip(0_u32..)
                .map(|(key, number)| {
                    let key = [shared.as_slice(), &key].concat();
                    (Bytes::from(key), Bytes::copy_from_slice(&number.to_be_bytes()))
                })
                .collect();
            let mut sorted = sort_rows(rows.clone());
            prop_assert!(sorted.is_sorted_by(|(one, _), (two, _)| one <= two));
            let mut expected = rows;
            expected.sort();
            sorted.sort();
            prop_assert_eq!(sorted, expected);
        }
    }
}
