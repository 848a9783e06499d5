//! FarmHash fingerprints: the functions whose results FarmHash promises never to change.
//!
//! They descend from CityHash and share its small steps, but with multipliers that depend on the
//! length. The 128-bit fingerprint is CityHash128 of version 1.1.1.

use std::mem::swap;
use std::num::Wrapping;

use super::city::{
    FOLD, K0, K1, K2, Pair, fold, fold_with, murmur_blocks, murmur_end, shift_mix, three_bytes,
    weak_hash_32,
};
use super::words::{W32, W64, length, length32, rotate, rotate32, word32, word64, word64_from_end};

const C1: W32 = Wrapping(0xcc9e_2d51);
const C2: W32 = Wrapping(0x1b87_3593);
const C3: W32 = Wrapping(0xe654_6b64);

/// The fingerprint of one number.
pub fn farm_fingerprint(number: u64) -> u64 {
    let mut b = Wrapping(number) * FOLD;
    b ^= b >> 44;
    b *= FOLD;
    b ^= b >> 41;
    (b * FOLD).0
}

/// The fingerprint of two numbers.
///
/// Its shifts are those that give YDB's three published results.
pub fn farm_fingerprint_2(low: u64, high: u64) -> u64 {
    let (low, high) = (Wrapping(low), Wrapping(high));
    let a = shift_mix((low ^ high) * FOLD);
    let mut b = (high ^ a) * FOLD;
    b ^= b >> 44;
    b *= FOLD;
    b ^= b >> 41;
    (b * FOLD).0
}

/// The 32-bit fingerprint of bytes.
pub fn farm_fingerprint_32(input: &[u8]) -> u32 {
    match input.len() {
        0..=4 => hash32_up_to_4(input),
        5..=12 => hash32_up_to_12(input),
        13..=24 => hash32_up_to_24(input),
        _ => hash32_long(input),
    }
    .0
}

/// The 64-bit fingerprint of bytes.
pub fn farm_fingerprint_64(input: &[u8]) -> u64 {
    match input.len() {
        0..=16 => hash64_up_to_16(input),
        17..=32 => hash64_up_to_32(input),
        33..=64 => hash64_up_to_64(input),
        _ => hash64_long(input),
    }
    .0
}

/// The 128-bit fingerprint of bytes, low word first.
pub fn farm_fingerprint_128(input: &[u8]) -> (u64, u64) {
    let (low, high) = match input.get(16..) {
        Some(rest) => hash128_seeded(rest, (word64(input, 0), word64(input, 8) + K0)),
        None => hash128_seeded(input, (K0, K1)),
    };
    (low.0, high.0)
}

/// One step of Murmur3: takes a word into the hash.
fn murmur(word: W32, hash: W32) -> W32 {
    murmur_word(scatter(word) ^ hash)
}

fn scatter(word: W32) -> W32 {
    rotate32(word * C1, 17) * C2
}

fn murmur_word(mixed: W32) -> W32 {
    rotate32(mixed, 19) * Wrapping(5) + C3
}

/// The end of Murmur3: every bit of the hash reaches every other.
fn finish(mut hash: W32) -> W32 {
    hash ^= hash >> 16;
    hash *= Wrapping(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash *= Wrapping(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn hash32_up_to_4(s: &[u8]) -> W32 {
    let (mut b, mut c) = (Wrapping(0), Wrapping(9));
    for byte in s {
        // The original reads bytes as signed characters.
        let signed = i32::from(i8::from_le_bytes([*byte])).cast_unsigned();
        b = b * C1 + Wrapping(signed);
        c ^= b;
    }
    finish(murmur(b, murmur(length32(s), c)))
}

fn hash32_up_to_12(s: &[u8]) -> W32 {
    let len = length32(s);
    let five = len * Wrapping(5);
    let a = len + word32(s, 0);
    let b = five + word32(s, s.len() - 4);
    let c = Wrapping(9) + word32(s, (s.len() >> 1) & 4);
    finish(murmur(c, murmur(b, murmur(a, five))))
}

fn hash32_up_to_24(s: &[u8]) -> W32 {
    let half = s.len() / 2;
    let (b, c) = (word32(s, 4), word32(s, s.len() - 8));
    let (d, e, f) = (word32(s, half), word32(s, 0), word32(s, s.len() - 4));
    let a = rotate32(word32(s, half - 4), 12) + f;
    let h = murmur(c, d * C1 + length32(s)) + a;
    let a = rotate32(a, 3) + c;
    let h = murmur(e, h) + a;
    let a = rotate32(a + f, 12) + d;
    finish(murmur(b, h) + a)
}

fn hash32_long(s: &[u8]) -> W32 {
    let len = length32(s);
    let from_end = |back| scatter(word32(s, s.len() - back));
    let mut h = murmur_word(murmur_word(len ^ from_end(4)) ^ from_end(16));
    let mut g = murmur_word(murmur_word((C1 * len) ^ from_end(8)) ^ from_end(12));
    let mut f = rotate32(C1 * len + from_end(20), 19) + Wrapping(113);
    for at in (0..(s.len() - 1) / 20 * 20).step_by(20) {
        let [a, b, c, d, e] = [0, 4, 8, 12, 16].map(|offset| word32(s, at + offset));
        h = murmur(d, h + a) + e;
        g = murmur(c, g + b) + a;
        f = murmur(b + e * C1, f + c) + d;
        f += g;
        g += f;
    }
    let twice = |word| rotate32(rotate32(word, 11) * C1, 17) * C1;
    h = rotate32(murmur_word(h + twice(g)), 17) * C1;
    rotate32(murmur_word(h + twice(f)), 17) * C1
}

/// The multiplier of an input: no two short lengths share one.
fn multiplier(s: &[u8]) -> W64 {
    K2 + length(s) * Wrapping(2)
}

fn hash64_up_to_16(s: &[u8]) -> W64 {
    let by_length = multiplier(s);
    match s.len() {
        8.. => {
            let (a, b) = (word64(s, 0) + K2, word64_from_end(s, 8));
            let c = rotate(b, 37) * by_length + a;
            fold_with(c, (rotate(a, 25) + b) * by_length, by_length)
        }
        4..=7 => {
            let (first, last) = (word32(s, 0).0, word32(s, s.len() - 4).0);
            let first = length(s) + (Wrapping(u64::from(first)) << 3);
            fold_with(first, Wrapping(u64::from(last)), by_length)
        }
        _ => three_bytes(s).map_or(K2, |(low, high)| shift_mix((low * K2) ^ (high * K0)) * K2),
    }
}

fn hash64_up_to_32(s: &[u8]) -> W64 {
    let by_length = multiplier(s);
    let (a, b) = (word64(s, 0) * K1, word64(s, 8));
    let (c, d) = (
        word64_from_end(s, 8) * by_length,
        word64_from_end(s, 16) * K2,
    );
    fold_with(
        rotate(a + b, 43) + rotate(c, 30) + d,
        a + rotate(b + K2, 18) + c,
        by_length,
    )
}

fn hash64_up_to_64(s: &[u8]) -> W64 {
    let by_length = multiplier(s);
    let (a, b) = (word64(s, 0) * K2, word64(s, 8));
    let (c, d) = (
        word64_from_end(s, 8) * by_length,
        word64_from_end(s, 16) * K2,
    );
    let y = rotate(a + b, 43) + rotate(c, 30) + d;
    let z = fold_with(y, a + rotate(b + K2, 18) + c, by_length);
    let (e, f) = (word64(s, 16) * by_length, word64(s, 24));
    let g = (y + word64_from_end(s, 32)) * by_length;
    let h = (z + word64_from_end(s, 24)) * by_length;
    fold_with(
        rotate(e + f, 43) + rotate(g, 30) + h,
        e + rotate(f + a, 18) + g,
        by_length,
    )
}

struct State {
    x: W64,
    y: W64,
    z: W64,
    v: Pair,
    w: Pair,
}

impl State {
    /// Takes the 64 bytes at this place; the last block of the 64-bit hash weighs some words more.
    fn absorb(&mut self, (s, at): (&[u8], usize), multiplier: W64, weight: W64) {
        self.x = rotate(self.x + self.y + self.v.0 + word64(s, at + 8), 37) * multiplier;
        self.y = rotate(self.y + self.v.1 + word64(s, at + 48), 42) * multiplier;
        self.x ^= self.w.1 * weight;
        self.y += self.v.0 * weight + word64(s, at + 40);
        self.z = rotate(self.z + self.w.0, 33) * multiplier;
        self.v = weak_hash_32(s, at, (self.v.1 * multiplier, self.x + self.w.0));
        self.w = weak_hash_32(s, at + 32, (self.z + self.w.1, self.y + word64(s, at + 16)));
        swap(&mut self.z, &mut self.x);
    }
}

fn hash64_long(s: &[u8]) -> W64 {
    let seed = Wrapping(81);
    let y = seed * K1 + Wrapping(113);
    let nothing = (Wrapping(0), Wrapping(0));
    let mut state = State {
        x: seed * K2 + word64(s, 0),
        y,
        z: shift_mix(y * K2 + Wrapping(113)) * K2,
        v: nothing,
        w: nothing,
    };
    for at in (0..(s.len() - 1) / 64 * 64).step_by(64) {
        state.absorb((s, at), K1, Wrapping(1));
    }
    let last = K1 + ((state.z & Wrapping(0xff)) << 1);
    state.w.0 += (length(s) - Wrapping(1)) & Wrapping(63);
    state.v.0 += state.w.0;
    state.w.0 += state.v.0;
    state.absorb((s, s.len() - 64), last, Wrapping(9));
    let State { x, y, z, v, w } = state;
    fold_with(
        fold_with(v.0, w.0, last) + shift_mix(y) * K0 + z,
        fold_with(v.1, w.1, last) + x,
        last,
    )
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
        state.absorb((s, at), K1, Wrapping(1));
    }
    let State {
        mut x,
        mut y,
        mut z,
        mut v,
        mut w,
    } = state;
    x += rotate(v.0 + z, 49) * K0;
    y = y * K0 + rotate(w.1, 37);
    z = z * K0 + rotate(w.0, 27);
    w.0 *= Wrapping(9);
    v.0 *= K0;
    for back in (32..s.len() - blocks_end + 32).step_by(32) {
        let at = s.len() - back;
        y = rotate(x + y, 42) * K0 + v.1;
        w.0 += word64(s, at + 16);
        x = x * K0 + w.0;
        z += w.1 + word64(s, at);
        w.1 += v.0;
        v = weak_hash_32(s, at, (v.0 + z, v.1));
        v.0 *= K0;
    }
    let x = fold(x, v.0);
    let y = fold(y + z, w.0);
    (fold(x + v.1, w.1) + y, fold(x + w.1, y + v.1))
}

fn city_murmur(s: &[u8], (a, b): Pair) -> Pair {
    if s.len() > 16 {
        return murmur_blocks(s, (a, b));
    }
    let a = shift_mix(a * K1) * K1;
    let c = b * K1 + hash64_up_to_16(s);
    let d = shift_mix(a + if s.len() >= 8 { word64(s, 0) } else { c });
    murmur_end(fold(a, c), fold(d, b))
}
