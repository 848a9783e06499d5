//! Rows that statements write, seen by whoever records them.
//!
//! A session that records a statement asks its executor to keep some of the rows; at all other times
//! a row that is written costs one look at a flag.

use std::sync::atomic::{AtomicBool, Ordering};

use keys::Value;
use parking_lot::Mutex;

use crate::Executor;

/// How many are kept at least, if there are so many, and at most not twice as many.
const FEW: usize = 32;

/// Some of very many things, from the first to the last and evenly between.
#[derive(Clone, Debug)]
pub struct Few<T> {
    kept: Vec<T>,
    seen: u64,
    /// One of how many is kept.
    stride: u64,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            seen: 0,
            stride: 1,
        }
    }
}

impl<T> Few<T> {
    /// One more; it is made only if it is kept.
    pub fn offer(&mut self, make: impl FnOnce() -> T) {
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() >= 2 * FEW {
                let mut even = false;
                self.kept.retain(|_| {
                    even = !even;
                    even
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.kept.push(make());
            }
        }
        self.seen += 1;
    }

    /// How many there were.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Those that were kept.
    pub fn into_kept(self) -> Vec<T> {
        self.kept
    }
}

/// How much is kept of a text; one that is so long is in no key.
const TEXT_BYTES_MAX: usize = 256;

/// A copy of a row that takes little memory: of long texts only the beginning, of JSON nothing.
pub fn shortened(row: &[Value]) -> Vec<Value> {
    let short = |value: &Value| match value {
        Value::Utf8(text) if text.len() > TEXT_BYTES_MAX => {
            let end = text.floor_char_boundary(TEXT_BYTES_MAX);
            let (start, _) = text.split_at_checked(end).unwrap_or_default();
            Value::Utf8(start.into())
        }
        Value::String(bytes) if bytes.len() > TEXT_BYTES_MAX => {
            let (start, _) = bytes.split_at_checked(TEXT_BYTES_MAX).unwrap_or_default();
            Value::String(start.into())
        }
        Value::Json(_) => Value::Null,
        other => other.clone(),
    };
    row.iter().map(short).collect()
}

/// The rows that a session's statement writes, if somebody watches.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    on: AtomicBool,
    rows: Mutex<Few<Vec<Value>>>,
}

impl Executor {
    /// Keeps some of the rows that are written from now on.
    pub fn watch(&self) {
        *self.watched().rows.lock() = Few::default();
        self.watched().on.store(true, Ordering::Relaxed);
    }

    /// Keeps them no longer, and hands them out.
    pub fn unwatch(&self) -> Few<Vec<Value>> {
        self.watched().on.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.watched().rows.lock())
    }

    /// A row was written: all its columns, or of a row that was deleted what it was.
    #[inline]
    pub(crate) fn saw(&self, row: &[Value]) {
        if self.watched().on.load(Ordering::Relaxed) {
            self.watched().rows.lock().offer(|| shortened(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_copied_without_their_long_texts() {
        let long = "é".repeat(10_000);
        let row = [
            Value::from(long.as_str()),
            Value::from("short"),
            Value::String(vec![7; 10_000].into()),
            Value::Json("{}".into()),
            Value::Int64(7),
        ];
        let short = shortened(&row);
        assert_eq!(
            short[0],
            Value::from("é".repeat(TEXT_BYTES_MAX / 2).as_str())
        );
        assert_eq!(short[1], row[1]);
        assert!(matches!(&short[2], Value::String(bytes) if bytes.len() == TEXT_BYTES_MAX));
        assert_eq!(short[3..], [Value::Null, Value::Int64(7)]);
    }

    #[test]
    fn few_are_kept_of_many_and_evenly() {
        for count in [0_u64, 1, 31, 64, 65, 1_000, 12_345] {
            let mut few = Few::default();
            (0..count).for_each(|number| few.offer(|| number));
            assert_eq!(few.seen(), count);
            let kept = few.into_kept();
            let least = usize::try_from(count).unwrap().min(FEW);
            assert!((least..=2 * FEW).contains(&kept.len()), "{kept:?}");
            let gaps = kept.windows(2).map(|pair| pair[1] - pair[0]);
            let gaps: std::collections::BTreeSet<u64> = gaps.collect();
            assert!(gaps.len() <= 1, "{kept:?}");
        }
    }
}
