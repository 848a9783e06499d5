//! CityHash of version 1.0, as YDB and ClickHouse use it: 64 and 128 bits.
//!
//! Later versions of CityHash give other numbers for the same input, so no crate of version 1.1
//! will do. The 128-bit function of ClickHouse differs from YDB's; this one is YDB's.
//!
//! Short inputs are folded in one go. Longer ones keep seven words of state and take 64 bytes at a
//! time, and overlap their last block with the one before instead of padding it.

use std::mem::swap;
use std::num::Wrapping;

use super::words::{W64, length, partial64, rotate, word32, word64, word64_from_end};

pub(super) const K0: W64 = Wrapping(0xc3a5_c85c_97cb_3127);
pub(super) const K1: W64 = Wrapping(0xb492_b66f_be98_f273);
pub(super) const K2: W64 = Wrapping(0x9ae1_6a3b_2f90_404f);
const K3: W64 = Wrapping(0xc949_d7c7_509e_6557);
/// The multiplier of the fold of two words into one.
pub(super) const FOLD: W64 = Wrapping(0x9ddf_ea08_eb38_2d69);

/// Two words of state.
pub(super) type Pair = (W64, W64);

/// CityHash64.
pub fn city_hash(input: &[u8]) -> u64 {
    hash64(input).0
}

/// CityHash64 with a seed.
pub fn city_hash_seeded(input: &[u8], seed: u64) -> u64 {
    fold(hash64(input) - K2, Wrapping(seed)).0
}

/// CityHash128, low word first.
pub fn city_hash_128(input: &[u8]) -> (u64, u64) {
    let (low, high) = hash128(input);
    (low.0, high.0)
}

fn hash64(s: &[u8]) -> W64 {
    match s.len() {
        0..=16 => hash_up_to_16(s),
        17..=32 => hash_up_to_32(s),
        33..=64 => hash_up_to_64(s),
        _ => hash_long(s),
    }
}

/// Folds two words into one.
pub(super) fn fold(low: W64, high: W64) -> W64 {
    fold_with(low, high, FOLD)
}

/// Folds two words into one with a multiplier of the caller's.
pub(super) fn fold_with(low: W64, high: W64, multiplier: W64) -> W64 {
    let a = shift_mix((low ^ high) * multiplier);
    shift_mix((high ^ a) * multiplier) * multiplier
}

/// Brings the high bits of a product down to the low ones.
pub(super) fn shift_mix(value: W64) -> W64 {
    value ^ (value >> 47)
}

/// Mixes 32 bytes at this place into two words.
pub(super) fn weak_hash_32(s: &[u8], at: usize, (a, b): Pair) -> Pair {
    let last = word64(s, at + 24);
    let first = a + word64(s, at);
    let sum = first + word64(s, at + 8) + word64(s, at + 16);
    (
        sum + last,
        rotate(b + first + last, 21) + rotate(sum, 44) + first,
    )
}

/// The first, middle and last byte with the length, for inputs of one to three bytes.
pub(super) fn three_bytes(s: &[u8]) -> Option<Pair> {
    let (first, middle, last) = (s.first()?, s.get(s.len() / 2)?, s.last()?);
    let low = partial64(&[*first, *middle]);
    Some((low, length(s) + (partial64(&[*last]) << 2)))
}

fn hash_up_to_16(s: &[u8]) -> W64 {
    let len = length(s);
    match s.len() {
        9.. => {
            let last = word64_from_end(s, 8);
            let bits = u32::try_from(s.len()).expect("at most 16 bytes");
            fold(word64(s, 0), rotate(last + len, bits)) ^ last
        }
        4..=8 => {
            let (first, last) = (word32(s, 0).0, word32(s, s.len() - 4).0);
            fold(
                len + (Wrapping(u64::from(first)) << 3),
                Wrapping(u64::from(last)),
            )
        }
        _ => three_bytes(s).map_or(K2, |(low, high)| shift_mix((low * K2) ^ (high * K3)) * K2),
    }
}

fn hash_up_to_32(s: &[u8]) -> W64 {
    let (a, b) = (word64(s, 0) * K1, word64(s, 8));
    let (c, d) = (word64_from_end(s, 8) * K2, word64_from_end(s, 16) * K0);
    fold(
        rotate(a - b, 43) + rotate(c, 30) + d,
        a + rotate(b ^ K3, 20) - c + length(s),
    )
}

fn hash_up_to_64(s: &[u8]) -> W64 {
    let tail = s.len() - 32;
    let front_first = word64(s, 0) + (length(s) + word64_from_end(s, 16)) * K0;
    let front = hash_half(front_first, [word64(s, 8), word64(s, 16), word64(s, 24)]);
    let back_first = word64(s, 16) + word64(s, tail);
    let back = hash_half(
        back_first,
        [
            word64(s, tail + 8),
            word64(s, tail + 16),
            word64(s, tail + 24),
        ],
    );
    let mixed = shift_mix((front.0 + back.1) * K2 + (back.0 + front.1) * K0);
    shift_mix(mixed * K0 + front.1) * K2
}

/// One half of an input of 33 to 64 bytes: four words into two.
fn hash_half(first: W64, [second, third, fourth]: [W64; 3]) -> Pair {
    let two = first + second;
    let three = two + third;
    let high = rotate(first + fourth, 52) + rotate(three, 31) + rotate(first, 37) + rotate(two, 7);
    (three + fourth, high)
}

struct State {
    x: W64,
    y: W64,
    z: W64,
    v: Pair,
    w: Pair,
}

impl State {
    /// Takes the 64 bytes at this place.
    fn absorb(&mut self, s: &[u8], at: usize) {
        self.x = (rotate(self.x + self.y + self.v.0 + word64(s, at + 16), 37) * K1) ^ self.w.1;
        self.y = (rotate(self.y + self.v.1 + word64(s, at + 48), 42) * K1) ^ self.v.0;
        self.z = rotate(self.z ^ self.w.0, 33);
        self.v = weak_hash_32(s, at, (self.v.1 * K1, self.x + self.w.0));
        self.w = weak_hash_32(s, at + 32, (self.z + self.w.1, self.y));
        swap(&mut self.z, &mut self.x);
    }
}

fn hash_long(s: &[u8]) -> W64 {
    let len = length(s);
    let y = word64_from_end(s, 16) ^ K1;
    let v = weak_hash_32(s, s.len() - 64, (len, y));
    let w = weak_hash_32(s, s.len() - 32, (len * K1, K0));
    let z = (word64_from_end(s, 56) ^ K0) + shift_mix(v.1) * K1;
    let x = rotate(z + word64(s, 0), 39) * K1;
    let mut state = State {
        x,
        y: rotate(y, 33) * K1,
        z,
        v,
        w,
    };
    // The last block was taken above, so the loop leaves out what is left of it.
    for at in (0..(s.len() - 1) / 64 * 64).step_by(64) {
        state.absorb(s, at);
    }
    let State { x, y, z, v, w } = state;
    fold(fold(v.0, w.0) + shift_mix(y) * K1 + z, fold(v.1, w.1) + x)
}

fn hash128(s: &[u8]) -> Pair {
    match s.len() {
        0..=7 => hash128_seeded(s, (K0, K1)),
        8..=15 => {
            let seed = (word64(s, 0) ^ (length(s) * K0), word64_from_end(s, 8) ^ K1);
            hash128_seeded(&[], seed)
        }
        _ => {
            let seed = (word64(s, 0) ^ K3, word64(s, 8));
            hash128_seeded(s.get(16..).unwrap_or_default(), seed)
        }
    }
}

fn hash128_seeded(s: &[u8], seed: Pair) -> Pair {
    if s.len() < 128 {
        return city_murmur(s, seed);
    }
    let (x, y) = seed;
    let z = length(s) * K1;
    let v_low = rotate(y ^ K1, 49) * K1 + word64(s, 0);
    let v = (v_low, rotate(v_low, 42) * K1 + word64(s, 8));
    let w = (
        rotate(y + z, 35) * K1 + x,
        rotate(x + word64(s, 88), 53) * K1,
    );
    let mut state = State { x, y, z, v, w };
    let blocks_end = s.len() / 128 * 128;
    for at in (0..blocks_end).step_by(64) {
        state.absorb(s, at);
    }
    let State {
        mut x,
        mut y,
        z,
        mut v,
        mut w,
    } = state;
    y += rotate(w.0, 37) * K0 + z;
    x += rotate(v.0 + z, 49) * K0;
    // The tail is read backwards in blocks of 32 bytes, the last of which may reach into what
    // was hashed before.
    for back in (32..s.len() - blocks_end + 32).step_by(32) {
        let at = s.len() - back;
        y = rotate(y - x, 42) * K0 + v.1;
        w.0 += word64(s, at + 16);
        x = rotate(x, 49) * K0 + w.0;
        w.0 += v.0;
        v = weak_hash_32(s, at, v);
    }
    let x = fold(x, v.0);
    let y = fold(y, w.0);
    (fold(x + v.1, w.1) + y, fold(x + w.1, y + v.1))
}

fn city_murmur(s: &[u8], (a, b): Pair) -> Pair {
    if s.len() > 16 {
        return murmur_blocks(s, (a, b));
    }
    let c = b * K1 + hash_up_to_16(s);
    let d = rotate(a + if s.len() >= 8 { word64(s, 0) } else { c }, 32);
    murmur_end(fold(a, c), fold(d, b))
}

/// The 16 bytes at a time of inputs of 17 to 127 bytes, which both versions share.
pub(super) fn murmur_blocks(s: &[u8], (mut a, mut b): Pair) -> Pair {
    let mut c = fold(word64_from_end(s, 8) + K1, a);
    let mut d = fold(b + length(s), c + word64_from_end(s, 16));
    a += d;
    for at in (0..s.len() - 16).step_by(16) {
        a = (a ^ (shift_mix(word64(s, at) * K1) * K1)) * K1;
        b ^= a;
        c = (c ^ (shift_mix(word64(s, at + 8) * K1) * K1)) * K1;
        d ^= c;
    }
    murmur_end(fold(a, c), fold(d, b))
}

/// The last step of inputs below 128 bytes, which both versions share.
pub(super) fn murmur_end(a: W64, b: W64) -> Pair {
    (a ^ b, fold(b, a))
}
