//! Hash functions under the names and with the bits of YDB's `Digest::` module.
//!
//! A hash in front of a key spreads its rows; a hash that came out one bit different would make the
//! rows of a table moved from YDB unreachable. So the functions are held to the results of YDB's own
//! tests (`golden/digests_ydb.txt`), and most to longer inputs hashed by other programs
//! (`golden/digests_long.txt`, where Sha224, Sha384 and Sha512 are only).
//!
//! ```text
//!   function                                arguments             result
//!   NumericHash IntHash64                   u64                   Uint64
//!   FarmHashFingerprint                     u64                   Uint64
//!   FarmHashFingerprint2                    u64, u64              Uint64
//!   Crc32 Crc32c SuperFastHash              bytes                 Uint32
//!   FarmHashFingerprint32                   bytes                 Uint32
//!   FarmHashFingerprint64 XXH3 Md5HalfMix   bytes                 Uint64
//!   Fnv32 MurMurHash32 MurMurHash2A32       bytes, [seed u32]     Uint32
//!   Fnv64 MurMurHash MurMurHash2A           bytes, [seed u64]     Uint64
//!   CityHash Crc64                          bytes, [seed u64]     Uint64
//!   SipHash                                 u64, u64, bytes       Uint64
//!   HighwayHash                             four u64, bytes       Uint64
//!   CityHash128 FarmHashFingerprint128      bytes                 a pair of u64
//!   XXH3_128                                bytes                 a pair of u64
//!   Md5Hex Md5Raw Sha1 Sha224 … Sha512      bytes                 String
//!   Argon2                                  bytes, salt           String of 32 bytes
//!   Blake2B                                 bytes, [key]          String of 32 bytes
//! ```
//!
//! NULL for a required argument gives NULL; NULL for an optional one is as if it were not there.
//! Bytes may be Utf8 or String. A u64 may be any integer: a negative one counts as its two's
//! complement in 64 bits, so that signed ids hash too. A pair is a String of 16 bytes: its first
//! number, then its second, each big-endian.
//!
//! [`hash_values`] is no function of YDB's: it hashes whole lists of values, for bucketed keys.

mod city;
mod farm;
mod murmur;
mod small;
mod standard;
mod words;

pub use city::{city_hash, city_hash_128, city_hash_seeded};
pub use farm::{
    farm_fingerprint, farm_fingerprint_2, farm_fingerprint_32, farm_fingerprint_64,
    farm_fingerprint_128,
};
pub use murmur::{murmur_hash, murmur_hash_2a, murmur_hash_2a_32, murmur_hash_32};
pub use small::{
    FNV_32_SEED, FNV_64_SEED, fnv_32, fnv_64, int_hash_64, numeric_hash, super_fast_hash,
};
pub use standard::{
    CRC_64_SEED, argon2, blake2b, crc_32, crc_32c, crc_64, highway_hash, md5, md5_half_mix,
    md5_hex, sha1, sha224, sha256, sha384, sha512, sip_hash, xxh3, xxh3_128,
};

use crate::error::{Error, Result};
use crate::key;
use crate::value::Value;

/// What a function takes in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Text or bytes.
    Bytes,
    /// Any integer.
    Uint64,
    /// A seed of 32 bits, which may be left out.
    OptionalUint32,
    /// A seed of 64 bits, which may be left out.
    OptionalUint64,
    /// A key of bytes, which may be left out.
    OptionalBytes,
}

impl Argument {
    /// Whether the argument may be left out.
    pub fn is_optional(self) -> bool {
        matches!(
            self,
            Self::OptionalUint32 | Self::OptionalUint64 | Self::OptionalBytes
        )
    }
}

/// What a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// `Value::Uint32`.
    Uint32,
    /// `Value::Uint64`.
    Uint64,
    /// `Value::String`.
    Bytes,
    /// `Value::String` of two numbers of eight bytes, big-endian.
    Pair,
}

/// One function of the module.
#[derive(Clone, Copy, Debug)]
pub struct DigestFunction {
    /// Its name, without `Digest::`.
    pub name: &'static str,
    run: Run,
}

/// The shapes that functions have.
#[derive(Clone, Copy, Debug)]
enum Run {
    Number(fn(u64) -> u64),
    Numbers(fn(u64, u64) -> u64),
    To32(fn(&[u8]) -> u32),
    To64(fn(&[u8]) -> u64),
    ToPair(fn(&[u8]) -> (u64, u64)),
    ToBytes(fn(&[u8]) -> Box<[u8]>),
    Seeded32(fn(&[u8], Option<u32>) -> u32),
    Seeded64(fn(&[u8], Option<u64>) -> u64),
    Sip,
    Highway,
    Argon2,
    Blake2B,
}

const fn function(name: &'static str, run: Run) -> DigestFunction {
    DigestFunction { name, run }
}

/// Every function of the module, in the order of YDB's documents.
pub const FUNCTIONS: &[DigestFunction] = &[
    function("Crc32", Run::To32(crc_32)),
    function("Crc32c", Run::To32(crc_32c)),
    function(
        "Crc64",
        Run::Seeded64(|s, seed| crc_64(s, seed.unwrap_or(CRC_64_SEED))),
    ),
    function(
        "Fnv32",
        Run::Seeded32(|s, seed| fnv_32(s, seed.unwrap_or(FNV_32_SEED))),
    ),
    function(
        "Fnv64",
        Run::Seeded64(|s, seed| fnv_64(s, seed.unwrap_or(FNV_64_SEED))),
    ),
    function(
        "MurMurHash",
        Run::Seeded64(|s, seed| murmur_hash(s, seed.unwrap_or(0))),
    ),
    function(
        "MurMurHash32",
        Run::Seeded32(|s, seed| murmur_hash_32(s, seed.unwrap_or(0))),
    ),
    function(
        "MurMurHash2A",
        Run::Seeded64(|s, seed| murmur_hash_2a(s, seed.unwrap_or(0))),
    ),
    function(
        "MurMurHash2A32",
        Run::Seeded32(|s, seed| murmur_hash_2a_32(s, seed.unwrap_or(0))),
    ),
    function(
        "CityHash",
        Run::Seeded64(|s, seed| match seed {
            Some(seed) => city_hash_seeded(s, seed),
            None => city_hash(s),
        }),
    ),
    function("CityHash128", Run::ToPair(city_hash_128)),
    function("NumericHash", Run::Number(numeric_hash)),
    function("Md5Hex", Run::ToBytes(|s| md5_hex(s).into_bytes().into())),
    function("Md5Raw", Run::ToBytes(|s| md5(s).into())),
    function("Md5HalfMix", Run::To64(md5_half_mix)),
    function("Argon2", Run::Argon2),
    function("Blake2B", Run::Blake2B),
    function("SipHash", Run::Sip),
    function("HighwayHash", Run::Highway),
    function("FarmHashFingerprint", Run::Number(farm_fingerprint)),
    function("FarmHashFingerprint2", Run::Numbers(farm_fingerprint_2)),
    function("FarmHashFingerprint32", Run::To32(farm_fingerprint_32)),
    function("FarmHashFingerprint64", Run::To64(farm_fingerprint_64)),
    function("FarmHashFingerprint128", Run::ToPair(farm_fingerprint_128)),
    function("SuperFastHash", Run::To32(super_fast_hash)),
    function("Sha1", Run::ToBytes(|s| sha1(s).into())),
    function("Sha224", Run::ToBytes(|s| sha224(s).into())),
    function("Sha256", Run::ToBytes(|s| sha256(s).into())),
    function("Sha384", Run::ToBytes(|s| sha384(s).into())),
    function("Sha512", Run::ToBytes(|s| sha512(s).into())),
    function("IntHash64", Run::Number(int_hash_64)),
    function("XXH3", Run::To64(xxh3)),
    function("XXH3_128", Run::ToPair(xxh3_128)),
];

/// Calls the function of this name, with or without `Digest::` before it, in any case.
pub fn call(name: &str, arguments: &[Value]) -> Result<Value> {
    DigestFunction::find(name)
        .ok_or_else(|| Error::DigestUnknown {
            name: name.to_owned(),
        })?
        .call(arguments)
}

/// One hash over several values, for buckets and for `Hash(…)`.
///
/// It is XXH3 of 64 bits over the values as a key encodes them one after the other, NULLs included,
/// and so the same on every machine and in every version. The types are part of what is hashed:
/// `1` as Int32 and `1` as Int64 hash differently. Float, Double and Json, which no key has, are
/// hashed under tags of their own; equal floats hash alike.
pub fn hash_values(values: &[Value]) -> u64 {
    let mut bytes = Vec::with_capacity(values.len() * 16);
    for value in values {
        key::append_hashable(&mut bytes, value);
    }
    xxh3(&bytes)
}

impl DigestFunction {
    /// The function of this name, with or without `Digest::` before it, in any case.
    pub fn find(name: &str) -> Option<&'static Self> {
        let bare = match name.split_once("::") {
            Some((module, bare)) if module.eq_ignore_ascii_case("digest") => bare,
            Some(_) => return None,
            None => name,
        };
        FUNCTIONS
            .iter()
            .find(|function| function.name.eq_ignore_ascii_case(bare))
    }

    /// What the function takes, in order.
    pub fn arguments(&self) -> &'static [Argument] {
        use Argument::{Bytes, OptionalBytes, OptionalUint32, OptionalUint64, Uint64};
        match self.run {
            Run::Number(_) => &[Uint64],
            Run::Numbers(_) => &[Uint64, Uint64],
            Run::To32(_) | Run::To64(_) | Run::ToPair(_) | Run::ToBytes(_) => &[Bytes],
            Run::Seeded32(_) => &[Bytes, OptionalUint32],
            Run::Seeded64(_) => &[Bytes, OptionalUint64],
            Run::Sip => &[Uint64, Uint64, Bytes],
            Run::Highway => &[Uint64, Uint64, Uint64, Uint64, Bytes],
            Run::Argon2 => &[Bytes, Bytes],
            Run::Blake2B => &[Bytes, OptionalBytes],
        }
    }

    /// What the function gives.
    pub fn output(&self) -> Output {
        match self.run {
            Run::To32(_) | Run::Seeded32(_) => Output::Uint32,
            Run::ToPair(_) => Output::Pair,
            Run::ToBytes(_) | Run::Argon2 | Run::Blake2B => Output::Bytes,
            Run::Number(_) | Run::Numbers(_) | Run::To64(_) | Run::Seeded64(_) => Output::Uint64,
            Run::Sip | Run::Highway => Output::Uint64,
        }
    }

    /// Calls the function.
    pub fn call(&self, values: &[Value]) -> Result<Value> {
        let kinds = self.arguments();
        let required = kinds.iter().filter(|kind| !kind.is_optional()).count();
        if values.len() < required || values.len() > kinds.len() {
            return Err(Error::DigestArgumentCount {
                name: self.name,
                found: values.len(),
                least: required,
                most: kinds.len(),
            });
        }
        if values.iter().take(required).any(Value::is_null) {
            return Ok(Value::Null);
        }
        let given = Given {
            name: self.name,
            values,
        };
        Ok(match self.run {
            Run::Number(run) => Value::Uint64(run(given.number(0)?)),
            Run::Numbers(run) => Value::Uint64(run(given.number(0)?, given.number(1)?)),
            Run::To32(run) => Value::Uint32(run(given.bytes(0)?)),
            Run::To64(run) => Value::Uint64(run(given.bytes(0)?)),
            Run::ToPair(run) => pair_value(run(given.bytes(0)?)),
            Run::ToBytes(run) => Value::String(run(given.bytes(0)?)),
            Run::Seeded32(run) => Value::Uint32(run(given.bytes(0)?, given.seed_32(1)?)),
            Run::Seeded64(run) => {
                let seed = if given.has(1) {
                    Some(given.number(1)?)
                } else {
                    None
                };
                Value::Uint64(run(given.bytes(0)?, seed))
            }
            Run::Sip => {
                let key = [given.number(0)?, given.number(1)?];
                Value::Uint64(sip_hash(key, given.bytes(2)?))
            }
            Run::Highway => {
                let key = [
                    given.number(0)?,
                    given.number(1)?,
                    given.number(2)?,
                    given.number(3)?,
                ];
                Value::Uint64(highway_hash(key, given.bytes(4)?))
            }
            Run::Argon2 => {
                let hash = argon2(given.bytes(0)?, given.bytes(1)?);
                Value::String(hash.map_err(|reason| given.wrong(1, reason))?.into())
            }
            Run::Blake2B => {
                let key = if given.has(1) { given.bytes(1)? } else { &[] };
                let hash = blake2b(given.bytes(0)?, key);
                Value::String(hash.map_err(|reason| given.wrong(1, reason))?.into())
            }
        })
    }
}

fn pair_value((first, second): (u64, u64)) -> Value {
    Value::String([first.to_be_bytes(), second.to_be_bytes()].concat().into())
}

/// The values of one call.
struct Given<'a> {
    name: &'static str,
    values: &'a [Value],
}

impl<'a> Given<'a> {
    fn has(&self, at: usize) -> bool {
        self.values.get(at).is_some_and(|value| !value.is_null())
    }

    fn bytes(&self, at: usize) -> Result<&'a [u8]> {
        match self.values.get(at) {
            Some(Value::Utf8(text)) => Ok(text.as_bytes()),
            Some(Value::String(bytes)) => Ok(bytes),
            _ => Err(self.wrong(at, "text or bytes are wanted")),
        }
    }

    fn number(&self, at: usize) -> Result<u64> {
        Ok(match self.values.get(at) {
            Some(Value::Uint8(v)) => u64::from(*v),
            Some(Value::Uint16(v)) => u64::from(*v),
            Some(Value::Uint32(v)) => u64::from(*v),
            Some(Value::Uint64(v)) => *v,
            Some(Value::Int8(v)) => i64::from(*v).cast_unsigned(),
            Some(Value::Int16(v)) => i64::from(*v).cast_unsigned(),
            Some(Value::Int32(v)) => i64::from(*v).cast_unsigned(),
            Some(Value::Int64(v)) => v.cast_unsigned(),
            _ => return Err(self.wrong(at, "an integer is wanted")),
        })
    }

    fn seed_32(&self, at: usize) -> Result<Option<u32>> {
        if !self.has(at) {
            return Ok(None);
        }
        let seed = u32::try_from(self.number(at)?);
        seed.map(Some)
            .map_err(|_| self.wrong(at, "a seed of 32 bits is wanted"))
    }

    fn wrong(&self, at: usize, reason: &'static str) -> Error {
        Error::DigestArgument {
            name: self.name,
            position: at + 1,
            reason,
        }
    }
}
