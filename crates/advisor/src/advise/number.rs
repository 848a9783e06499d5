//! Numbers from one kind to another, where the way is not lossless.

/// A weight as a count: rounded, never below zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and nothing here is negative"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// The same in 32 bits.
pub(crate) fn whole_u32(number: f64) -> u32 {
    u32::try_from(whole(number)).unwrap_or(u32::MAX)
}

/// A count that is kept small, as a place in a list.
pub(crate) fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A length as a small count; lists here are bounded far below.
pub(crate) fn small(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A length as a weight.
pub(crate) fn weight(length: usize) -> f64 {
    length as f64
}

/// A large count as a weight.
pub(crate) fn count(number: u64) -> f64 {
    number as f64
}

/// `part` out of `whole`; nothing out of nothing is nothing.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
