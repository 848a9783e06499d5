//! The rows that both sides store: numbered, and spread over the key space by a hash.
//!
//! ```text
//!   number   0, 1, 2, …                                            how the bench names a row
//!   id       spread(number)                     Uint64, the key    random order, no two alike
//!   customer, at, amount                        Uint32, Timestamp, Int64
//!   status                                      Utf8, 4 to 9 bytes
//!   note                                        Utf8, 16 bytes a word, random hex digits
//! ```
//!
//! With seven words of note, key and row take about 150 bytes; with sixty, about 1 KB. Hex digits that
//! never repeat leave compression little to win, so the sizes are what the engine really handles.

use std::fmt::Write as _;

use db::{Column, Schema, Type, Value};
use storage::env::{Random, SeededRandom};

use crate::Result;

/// Words of note that make a row of about 150 bytes.
pub(crate) const NOTE_WORDS_SMALL: usize = 7;

/// Words of note that make a row of about 1 KB.
pub(crate) const NOTE_WORDS_LARGE: usize = 60;

const STATUSES: [&str; 4] = ["open", "paid", "shipped", "delivered"];

/// The table of these rows.
pub(crate) fn schema(name: &str) -> Result<Schema> {
    let columns = vec![
        Column::new("id", Type::Uint64).not_null(),
        Column::new("customer", Type::Uint32),
        Column::new("at", Type::Timestamp),
        Column::new("amount", Type::Int64),
        Column::new("status", Type::Utf8),
        Column::new("note", Type::Utf8),
    ];
    Ok(Schema::new(name, columns, &["id"]).map_err(db::Error::from)?)
}

/// The key of a row: one to one, and in no order.
pub(crate) fn spread(number: u32) -> u64 {
    SeededRandom::new(u64::from(number)).next_u64()
}

/// The key of a row, as a value.
pub(crate) fn key(number: u32) -> Value {
    Value::Uint64(spread(number))
}

/// The values of a row.
pub(crate) fn row(number: u32, note_words: usize) -> Vec<Value> {
    let random = SeededRandom::new(!u64::from(number));
    let mut note = String::with_capacity(note_words * 16);
    for _ in 0..note_words {
        write!(note, "{:016x}", random.next_u64()).expect("a string takes everything");
    }
    let status = STATUSES
        .iter()
        .cycle()
        .nth(usize::try_from(number % 4).unwrap_or_default())
        .copied()
        .unwrap_or_default();
    vec![
        key(number),
        Value::Uint32(number / 10),
        Value::Timestamp(1_700_000_000_000_000 + i64::from(number)),
        Value::Int64(i64::from(number) * 7),
        Value::Utf8(status.into()),
        Value::Utf8(note.into()),
    ]
}

/// The bytes of a key, the same on both sides.
pub(crate) fn key_bytes(number: u32) -> Result<Vec<u8>> {
    Ok(keys::encode_key(&[key(number)])?)
}

/// The bytes of a key and a row as our side would store them, less the version's timestamp.
pub(crate) fn row_bytes(number: u32, note_words: usize) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut values = row(number, note_words);
    let rest = values.split_off(1);
    Ok((keys::encode_key(&values)?, keys::encode_row(&rest)?))
}

/// Row numbers drawn at random from the first `rows`, without end; the same seed draws the same.
pub(crate) fn draw(seed: u32, rows: u32) -> impl Iterator<Item = u32> {
    let random = SeededRandom::new(u64::from(seed));
    std::iter::repeat_with(move || {
        u32::try_from(random.below(u64::from(rows))).expect("a number below a 32-bit bound")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_sizes_they_claim() {
        for number in [0, 1, 999_999] {
            let bytes = |words| {
                let (key, row) = row_bytes(number, words).unwrap();
                key.len() + row.len()
            };
            assert!((140..160).contains(&bytes(NOTE_WORDS_SMALL)), "{number}");
            assert!((950..1_050).contains(&bytes(NOTE_WORDS_LARGE)), "{number}");
        }
    }

    #[test]
    fn keys_are_spread_and_distinct() {
        let mut keys: Vec<u64> = (0..10_000).map(spread).collect();
        assert!(!keys.is_sorted());
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 10_000);
    }
}
