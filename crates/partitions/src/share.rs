//! A [`Share`]: a part of a whole, in millionths, so that equal inputs print and compare equal.

use std::fmt;

/// A part of a whole, or of one processor core; may be more than the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    ppm: u64,
}

/// Millionths in a whole.
const WHOLE_PPM: u64 = 1_000_000;

impl Share {
    /// Nothing.
    pub const ZERO: Self = Self { ppm: 0 };
    /// One half.
    pub const HALF: Self = Self { ppm: WHOLE_PPM / 2 };
    /// All of it.
    pub const WHOLE: Self = Self { ppm: WHOLE_PPM };

    /// So many hundredths.
    pub const fn percent(percent: u64) -> Self {
        Self {
            ppm: percent.saturating_mul(WHOLE_PPM / 100),
        }
    }

    /// So many millionths.
    pub const fn from_ppm(ppm: u64) -> Self {
        Self { ppm }
    }

    /// `part` out of `whole`; nothing out of nothing is nothing.
    pub fn of(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        let ppm = u128::from(part) * u128::from(WHOLE_PPM) / u128::from(whole);
        Self {
            ppm: u64::try_from(ppm).unwrap_or(u64::MAX),
        }
    }

    /// `part` out of `whole` for weights; nothing, or nonsense, is nothing.
    pub fn of_weight(part: f64, whole: f64) -> Self {
        let ratio = part / whole;
        if !ratio.is_finite() || ratio <= 0.0 {
            return Self::ZERO;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive by the test above, and a float cast saturates"
        )]
        let ppm = (ratio * 1e6).round() as u64;
        Self { ppm }
    }

    /// As a number: 1 is the whole.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share is told to a few digits"
    )]
    pub fn ratio(self) -> f64 {
        self.ppm as f64 / 1e6
    }

    /// In millionths.
    pub const fn ppm(self) -> u64 {
        self.ppm
    }

    /// This share of `whole`, rounded down.
    pub fn times(self, whole: u64) -> u64 {
        let product = u128::from(whole) * u128::from(self.ppm) / u128::from(WHOLE_PPM);
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// This share of another share.
    pub fn scale(self, other: Self) -> Self {
        Self {
            ppm: self.times(other.ppm),
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            ppm: self.ppm.saturating_add(other.ppm),
        }
    }

    /// How far apart two shares are.
    pub fn distance(self, other: Self) -> Self {
        Self {
            ppm: self.ppm.abs_diff(other.ppm),
        }
    }

    /// What is left of the whole.
    pub fn rest(self) -> Self {
        Self {
            ppm: WHOLE_PPM.saturating_sub(self.ppm),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.ppm.saturating_add(500) / 1000;
        match tenths % 10 {
            0 => write!(f, "{} %", tenths / 10),
            tenth => write!(f, "{}.{tenth} %", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_print_with_at_most_one_decimal() {
        assert_eq!(Share::percent(50).to_string(), "50 %");
        assert_eq!(Share::of(1, 8).to_string(), "12.5 %");
        assert_eq!(Share::of_weight(2.0, 3.0).to_string(), "66.7 %");
        assert_eq!(Share::of(0, 0), Share::ZERO);
    }

    #[test]
    fn a_share_of_the_largest_number_does_not_overflow() {
        assert_eq!(Share::HALF.times(u64::MAX), u64::MAX / 2);
        assert_eq!(Share::percent(200).times(u64::MAX), u64::MAX);
    }
}
