//! Very many rows that live equally long, packed.
//!
//! Rows with pieces of memory of their own take half as much again for bookkeeping, and time to make
//! and free each. Here they lie one behind the other in large chunks, and of each there is a place:
//!
//! ```text
//!   chunks   │ key row key row key row … │ key row … │
//!                      ▲
//!   places   chunk 0, at 40, key 9, row 31        16 bytes a row
//! ```

/// How much memory is asked for at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Rows in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Pile {
    chunks: Vec<Vec<u8>>,
    places: Vec<Place>,
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    chunk: u32,
    at: u32,
    key: u32,
    row: u32,
}

impl Pile {
    /// Adds a copy of a key and its row, which together are shorter than 4 GiB.
    pub fn push(&mut self, key: &[u8], row: &[u8]) {
        let length = key.len() + row.len();
        let full = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() < length;
        if self.chunks.last().is_none_or(full) {
            let chunk = Vec::with_capacity(CHUNK_BYTES.max(length));
            self.chunks.push(chunk);
        }
        let number = small(self.chunks.len() - 1);
        let chunk = self.chunks.last_mut().expect("there is one with room");
        self.places.push(Place {
            chunk: number,
            at: small(chunk.len()),
            key: small(key.len()),
            row: small(row.len()),
        });
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(row);
        self.bytes += length;
    }

    /// A key and its row.
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let place = self.places.get(index)?;
        let chunk = self.chunks.get(wide(place.chunk))?;
        let (_, rest) = chunk.split_at_checked(wide(place.at))?;
        let (key, rest) = rest.split_at_checked(wide(place.key))?;
        Some((key, rest.get(..wide(place.row))?))
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map_while(|index| self.get(index))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of all keys and rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The memory that they take.
    pub fn memory(&self) -> usize {
        self.bytes + self.places.len() * size_of::<Place>()
    }

    /// Adds the rows of another.
    pub fn append(&mut self, other: Self) {
        let before = small(self.chunks.len());
        self.bytes += other.bytes;
        self.chunks.extend(other.chunks);
        self.places
            .extend(other.places.into_iter().map(|place| Place {
                chunk: place.chunk + before,
                ..place
            }));
    }
}

impl<K: AsRef<[u8]>, R: AsRef<[u8]>> FromIterator<(K, R)> for Pile {
    fn from_iter<I: IntoIterator<Item = (K, R)>>(rows: I) -> Self {
        let mut pile = Self::default();
        for (key, row) in rows {
            pile.push(key.as_ref(), row.as_ref());
        }
        pile
    }
}

fn small(length: usize) -> u32 {
    u32::try_from(length).expect("chunks and rows are shorter than 4 GiB")
}

fn wide(length: u32) -> usize {
    usize::try_from(length).expect("memory is addressed with 32 bits at least")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

    fn some_rows() -> impl Strategy<Value = Pairs> {
        let row = prop_oneof![
            9 => proptest::collection::vec(any::<u8>(), 0..30),
            1 => (0..2 * CHUNK_BYTES).prop_map(|length| vec![7; length]),
        ];
        proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..9), row), 0..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn it_gives_back_what_was_put_in(first in some_rows(), second in some_rows()) {
            let mut pile: Pile = first.iter().cloned().collect();
            pile.append(second.iter().cloned().collect());
            let all: Pairs = pile.iter().map(|(key, row)| (key.to_vec(), row.to_vec())).collect();
            let expected = [first, second].concat();
            prop_assert_eq!(pile.len(), expected.len());
            let bytes: usize = expected.iter().map(|(key, row)| key.len() + row.len()).sum();
            prop_assert_eq!(pile.bytes(), bytes);
            prop_assert_eq!(all, expected);
        }
    }
}
