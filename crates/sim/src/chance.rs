//! Every choice of a simulation, drawn from its seed.

use storage::env::{Random, SeededRandom};

/// A source of choices.
#[derive(Debug)]
pub(crate) struct Chance {
    random: SeededRandom,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds of the generator give overlapping numbers; a first draw parts them.
        let random = SeededRandom::new(SeededRandom::new(seed).next_u64());
        Self { random }
    }

    /// A number below `bound`.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.random.below(bound.max(1))
    }

    /// A number from 0 to `most`, both possible.
    pub(crate) fn up_to(&self, most: usize) -> usize {
        let most = u64::try_from(most).unwrap_or(u64::MAX - 1);
        usize::try_from(self.below(most + 1)).unwrap_or(usize::MAX)
    }

    /// True once in `times` on average.
    pub(crate) fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&self, from: &[T]) -> Option<T> {
        let last = from.len().checked_sub(1)?;
        from.get(self.up_to(last)).copied()
    }

    /// One of several, each as likely as its weight says.
    pub(crate) fn weighed<T: Copy>(&self, from: &[(u64, T)]) -> Option<T> {
        let mut left = self.below(from.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in from {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return Some(*one),
            }
        }
        None
    }
}
