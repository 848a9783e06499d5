//! The numbers of a sequence that were given, one bit for each.

/// The most numbers that are remembered: far more than a day of torture takes.
const NUMBERS_MAX: usize = 1 << 32;
const WORD_BITS: usize = 64;

/// A set of numbers from 0 on.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    words: Vec<u64>,
}

impl Tickets {
    /// Adds a number; `false` if it was there, or is none that a sequence gives.
    pub(super) fn add(&mut self, number: i64) -> bool {
        let Ok(number) = usize::try_from(number) else {
            return false;
        };
        if number >= NUMBERS_MAX {
            return false;
        }
        let (word, bit) = (number / WORD_BITS, 1 << (number % WORD_BITS));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let Some(word) = self.words.get_mut(word) else {
            return false;
        };
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_fresh_once() {
        let mut tickets = Tickets::default();
        assert!(tickets.add(7) && tickets.add(1_000_000) && tickets.add(64));
        assert!(!tickets.add(7) && !tickets.add(1_000_000) && !tickets.add(-1));
    }
}
