//! Hashes of a few lines each: mixes of one integer, FNV-1 and Hsieh's SuperFastHash.

use std::num::Wrapping;

use super::words::{length32, low32, partial64};

/// The seed of [`fnv_64`] when none is given: the offset basis of FNV.
pub const FNV_64_SEED: u64 = 0xcbf2_9ce4_8422_2325;
/// The seed of [`fnv_32`] when none is given: the offset basis of FNV.
pub const FNV_32_SEED: u32 = 0x811c_9dc5;

/// Thomas Wang's mix of 64 bits. Every number has its own hash: it is a bijection.
pub fn numeric_hash(number: u64) -> u64 {
    let mut k = Wrapping(number);
    k += !(k << 32);
    k ^= k >> 22;
    k += !(k << 13);
    k ^= k >> 8;
    k += k << 3;
    k ^= k >> 15;
    k += !(k << 27);
    (k ^ (k >> 31)).0
}

/// The last steps of Murmur3 after a constant, as in ClickHouse's `intHash64`. A bijection too.
pub fn int_hash_64(number: u64) -> u64 {
    let mut x = Wrapping(number ^ 0x4cf2_d2ba_ae6d_a887);
    x ^= x >> 33;
    x *= 0xff51_afd7_ed55_8ccd;
    x ^= x >> 33;
    x *= 0xc4ce_b9fe_1a85_ec53;
    (x ^ (x >> 33)).0
}

/// FNV-1 of 32 bits: multiply, then xor. (FNV-1a does it the other way round.)
pub fn fnv_32(input: &[u8], seed: u32) -> u32 {
    input.iter().fold(seed, |hash, byte| {
        hash.wrapping_mul(0x0100_0193) ^ u32::from(*byte)
    })
}

/// FNV-1 of 64 bits.
pub fn fnv_64(input: &[u8], seed: u64) -> u64 {
    input.iter().fold(seed, |hash, byte| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
    })
}

/// Paul Hsieh's SuperFastHash.
pub fn super_fast_hash(input: &[u8]) -> u32 {
    if input.is_empty() {
        return 0;
    }
    let half = |bytes: &[u8]| low32(partial64(bytes).0);
    // The original reads the odd last byte as a signed character.
    let signed = |byte: u8| Wrapping(i32::from(i8::from_le_bytes([byte])).cast_unsigned());
    let (words, tail) = input.as_chunks::<4>();
    let mut hash = length32(input);
    for [a, b, c, d] in words {
        hash += half(&[*a, *b]);
        hash = (hash << 16) ^ (half(&[*c, *d]) << 11) ^ hash;
        hash += hash >> 11;
    }
    match *tail {
        [a, b, c] => {
            hash += half(&[a, b]);
            hash ^= hash << 16;
            hash ^= signed(c) << 18;
            hash += hash >> 11;
        }
        [a, b] => {
            hash += half(&[a, b]);
            hash ^= hash << 11;
            hash += hash >> 17;
        }
        [a] => {
            hash += signed(a);
            hash ^= hash << 10;
            hash += hash >> 1;
        }
        _ => {}
    }
    hash ^= hash << 3;
    hash += hash >> 5;
    hash ^= hash << 4;
    hash += hash >> 17;
    hash ^= hash << 25;
    (hash + (hash >> 6)).0
}
