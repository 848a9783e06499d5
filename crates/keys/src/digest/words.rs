//! Little-endian words read from anywhere in a byte string, and arithmetic that wraps.

use std::num::Wrapping;

/// A 64-bit number whose sums and products wrap around, as hash functions mean them.
pub(super) type W64 = Wrapping<u64>;
/// A 32-bit number whose sums and products wrap around.
pub(super) type W32 = Wrapping<u32>;

/// The eight bytes at this place.
pub(super) fn word64(bytes: &[u8], at: usize) -> W64 {
    let word = bytes
        .get(at..)
        .and_then(<[u8]>::first_chunk)
        .expect("the word is inside the input");
    Wrapping(u64::from_le_bytes(*word))
}

/// The eight bytes that end this many bytes before the end.
pub(super) fn word64_from_end(bytes: &[u8], back: usize) -> W64 {
    word64(bytes, bytes.len() - back)
}

/// The four bytes at this place.
pub(super) fn word32(bytes: &[u8], at: usize) -> W32 {
    let word = bytes
        .get(at..)
        .and_then(<[u8]>::first_chunk)
        .expect("the word is inside the input");
    Wrapping(u32::from_le_bytes(*word))
}

/// The length of the input as a number to hash.
pub(super) fn length(bytes: &[u8]) -> W64 {
    Wrapping(u64::try_from(bytes.len()).expect("a length fits 64 bits"))
}

/// The low half of the length of the input.
pub(super) fn length32(bytes: &[u8]) -> W32 {
    low32(length(bytes).0)
}

/// The low half of a number.
pub(super) fn low32(number: u64) -> W32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    Wrapping(u32::from_le_bytes([a, b, c, d]))
}

/// The number rotated towards its low bits.
pub(super) fn rotate(number: W64, bits: u32) -> W64 {
    Wrapping(number.0.rotate_right(bits))
}

/// The 32-bit number rotated towards its low bits.
pub(super) fn rotate32(number: W32, bits: u32) -> W32 {
    Wrapping(number.0.rotate_right(bits))
}

/// Up to eight bytes as a little-endian number, with zeros above them.
pub(super) fn partial64(bytes: &[u8]) -> W64 {
    Wrapping(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}
