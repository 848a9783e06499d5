//! Exact decimal numbers: a whole number and how many of its digits stand after the point.

use std::fmt;

use crate::types::DECIMAL_PRECISION_MAX;

/// The first whole number with more digits than a decimal may have.
const UNSCALED_LIMIT: i128 = 10_i128.pow(38);

/// A decimal number of at most 38 digits, `unscaled × 10^-scale`.
///
/// Decimals of different scales are different values: see the module page of [`crate::value`].
/// It is packed so that a [`crate::Value`], of which lists are long, stays at 24 bytes.
#[repr(Rust, packed)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    // The field order is the sort order, and the order of the bytes in a key.
    scale: u8,
    unscaled: i128,
}

impl Decimal {
    /// A decimal, or `None` when it has more than 38 digits or a scale above 38.
    pub fn new(unscaled: i128, scale: u8) -> Option<Self> {
        let fits = -UNSCALED_LIMIT < unscaled && unscaled < UNSCALED_LIMIT;
        (fits && scale <= DECIMAL_PRECISION_MAX).then_some(Self { scale, unscaled })
    }

    /// The number without its point.
    pub fn unscaled(self) -> i128 {
        self.unscaled
    }

    /// Digits after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// Digits of the number without its point; zero has one.
    pub fn digits(self) -> u8 {
        let digits = self
            .unscaled
            .unsigned_abs()
            .checked_ilog10()
            .map_or(1, |log| log + 1);
        u8::try_from(digits).expect("a decimal has at most 38 digits")
    }

    /// The same number with another scale, rounded half away from zero, or `None` when it would
    /// have more than 38 digits.
    pub fn rescale(self, scale: u8) -> Option<Self> {
        if scale > DECIMAL_PRECISION_MAX {
            return None;
        }
        if scale >= self.scale {
            let factor = 10_i128.pow(u32::from(scale - self.scale));
            return Self::new(self.unscaled.checked_mul(factor)?, scale);
        }
        let factor = 10_i128.pow(u32::from(self.scale - scale));
        let (quotient, rest) = (self.unscaled / factor, self.unscaled % factor);
        let away = if rest.unsigned_abs() * 2 >= factor.unsigned_abs() {
            self.unscaled.signum()
        } else {
            0
        };
        Self::new(quotient + away, scale)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let divisor = 10_u128.pow(u32::from(self.scale));
        let magnitude = self.unscaled.unsigned_abs();
        write!(f, "{sign}{}", magnitude / divisor)?;
        match self.scale {
            0 => Ok(()),
            scale => write!(
                f,
                ".{:0width$}",
                magnitude % divisor,
                width = usize::from(scale)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescaling_rounds_half_away_from_zero() {
        let rescaled = |unscaled, from, to| Decimal::new(unscaled, from).unwrap().rescale(to);
        assert_eq!(rescaled(125, 2, 1), Decimal::new(13, 1));
        assert_eq!(rescaled(-125, 2, 1), Decimal::new(-13, 1));
        assert_eq!(rescaled(124, 2, 1), Decimal::new(12, 1));
        assert_eq!(rescaled(1, 0, 37), Decimal::new(10_i128.pow(37), 37));
        assert_eq!(rescaled(1, 0, 38), None);
    }

    #[test]
    fn the_widest_decimal_has_38_digits() {
        assert_eq!(Decimal::new(UNSCALED_LIMIT - 1, 38).unwrap().digits(), 38);
        assert_eq!(Decimal::new(UNSCALED_LIMIT, 0), None);
        assert_eq!(Decimal::new(-UNSCALED_LIMIT, 0), None);
        assert_eq!(Decimal::new(0, 39), None);
        assert_eq!(Decimal::new(-5, 3).unwrap().to_string(), "-0.005");
    }
}
