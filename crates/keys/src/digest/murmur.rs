//! MurmurHash2 in its four forms: plain and "2A", of 64 and 32 bits.
//!
//! The plain forms put the length into the start and the tail in as it is; the 2A forms mix the
//! tail and then the length as if they were two more words, so that input could come in pieces.

use std::num::Wrapping;

use super::words::{W32, W64, length, length32, low32, partial64};

const M64: W64 = Wrapping(0xc6a4_a793_5bd1_e995);
const M32: W32 = Wrapping(0x5bd1_e995);

/// MurmurHash64A.
pub fn murmur_hash(input: &[u8], seed: u64) -> u64 {
    let (words, tail) = input.as_chunks::<8>();
    let mut hash = Wrapping(seed) ^ (length(input) * M64);
    for word in words {
        hash = (hash ^ scatter(Wrapping(u64::from_le_bytes(*word)))) * M64;
    }
    if !tail.is_empty() {
        hash = (hash ^ partial64(tail)) * M64;
    }
    finish(hash)
}

/// MurmurHash2 of 32 bits.
pub fn murmur_hash_32(input: &[u8], seed: u32) -> u32 {
    let (words, tail) = input.as_chunks::<4>();
    let mut hash = Wrapping(seed) ^ length32(input);
    for word in words {
        hash = mix32(hash, Wrapping(u32::from_le_bytes(*word)));
    }
    if !tail.is_empty() {
        hash = (hash ^ low32(partial64(tail).0)) * M32;
    }
    finish32(hash)
}

/// MurmurHash2A of 64 bits.
pub fn murmur_hash_2a(input: &[u8], seed: u64) -> u64 {
    let (words, tail) = input.as_chunks::<8>();
    let words = words.iter().map(|word| Wrapping(u64::from_le_bytes(*word)));
    let all = words.chain([partial64(tail), length(input)]);
    finish(all.fold(Wrapping(seed), |hash, word| (hash * M64) ^ scatter(word)))
}

/// MurmurHash2A of 32 bits.
pub fn murmur_hash_2a_32(input: &[u8], seed: u32) -> u32 {
    let (words, tail) = input.as_chunks::<4>();
    let words = words.iter().map(|word| Wrapping(u32::from_le_bytes(*word)));
    let all = words.chain([low32(partial64(tail).0), length32(input)]);
    finish32(all.fold(Wrapping(seed), mix32))
}

fn scatter(word: W64) -> W64 {
    let word = word * M64;
    (word ^ (word >> 47)) * M64
}

fn finish(hash: W64) -> u64 {
    let hash = (hash ^ (hash >> 47)) * M64;
    (hash ^ (hash >> 47)).0
}

fn mix32(hash: W32, word: W32) -> W32 {
    let word = word * M32;
    (hash * M32) ^ ((word ^ (word >> 24)) * M32)
}

fn finish32(hash: W32) -> u32 {
    let hash = (hash ^ (hash >> 13)) * M32;
    (hash ^ (hash >> 15)).0
}
