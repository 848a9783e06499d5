//! Hashes that maintained crates compute, under the parameters that YDB gives them.

use std::fmt::Write;

use ::argon2::{Algorithm as Argon2Algorithm, Argon2, Params, Version};
use blake2::digest::consts::U32;
use blake2::digest::{FixedOutput, Update};
use blake2::{Blake2b256, Blake2bMac, Digest};
use crc::{Algorithm, CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc, Table};
use highway::{HighwayHash, HighwayHasher, Key};
use siphasher::sip::SipHasher24;

/// The seed of [`crc_64`] when none is given.
pub const CRC_64_SEED: u64 = u64::MAX;

/// A CRC of YDB's own, that no catalogue lists: most significant bit first and no final xor.
const CRC_64_YDB: Algorithm<u64> = Algorithm {
    width: 64,
    poly: 0xe543_2797_6592_7881,
    init: CRC_64_SEED,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0,
    residue: 0,
};

static CRC_32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
static CRC_32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
static CRC_64: Crc<u64> = Crc::<u64>::new(&CRC_64_YDB);

const ARGON2_MEMORY_KIB: u32 = 32;
const ARGON2_ITERATIONS: u32 = 1;
const ARGON2_LANES: u32 = 1;
const ARGON2_BYTES: usize = 32;
const BLAKE2B_KEY_BYTES_MAX: usize = 64;

/// CRC-32, as in zip files.
pub fn crc_32(input: &[u8]) -> u32 {
    CRC_32.checksum(input)
}

/// CRC-32C, as in iSCSI.
pub fn crc_32c(input: &[u8]) -> u32 {
    CRC_32C.checksum(input)
}

/// The CRC-64 of YDB.
pub fn crc_64(input: &[u8], seed: u64) -> u64 {
    let mut digest = CRC_64.digest_with_initial(seed);
    digest.update(input);
    digest.finalize()
}

/// MD5.
pub fn md5(input: &[u8]) -> [u8; 16] {
    md5::Md5::digest(input).into()
}

/// MD5 in lower-case hexadecimal digits.
pub fn md5_hex(input: &[u8]) -> String {
    let mut text = String::with_capacity(32);
    for byte in md5(input) {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}

/// MD5 folded to 64 bits: its halves xored, and the two words of that swapped.
pub fn md5_half_mix(input: &[u8]) -> u64 {
    let digest = u128::from_be_bytes(md5(input));
    let [high, low] = [digest >> 64, digest & u128::from(u64::MAX)];
    let folded = u64::try_from(high ^ low).expect("both halves have 64 bits");
    folded.rotate_left(32)
}

/// SHA-1.
pub fn sha1(input: &[u8]) -> [u8; 20] {
    sha1::Sha1::digest(input).into()
}

/// SHA-224.
pub fn sha224(input: &[u8]) -> [u8; 28] {
    sha2::Sha224::digest(input).into()
}

/// SHA-256.
pub fn sha256(input: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(input).into()
}

/// SHA-384.
pub fn sha384(input: &[u8]) -> [u8; 48] {
    sha2::Sha384::digest(input).into()
}

/// SHA-512.
pub fn sha512(input: &[u8]) -> [u8; 64] {
    sha2::Sha512::digest(input).into()
}

/// SipHash-2-4.
pub fn sip_hash([key_low, key_high]: [u64; 2], input: &[u8]) -> u64 {
    SipHasher24::new_with_keys(key_low, key_high).hash(input)
}

/// HighwayHash of 64 bits.
pub fn highway_hash(key: [u64; 4], input: &[u8]) -> u64 {
    HighwayHasher::new(Key(key)).hash64(input)
}

/// XXH3 of 64 bits.
pub fn xxh3(input: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(input)
}

/// XXH3 of 128 bits, low word first.
pub fn xxh3_128(input: &[u8]) -> (u64, u64) {
    let hash = xxhash_rust::xxh3::xxh3_128(input);
    let low = u64::try_from(hash & u128::from(u64::MAX)).expect("the low half has 64 bits");
    let high = u64::try_from(hash >> 64).expect("the high half has 64 bits");
    (low, high)
}

/// Argon2d in one pass over 32 KiB.
pub fn argon2(input: &[u8], salt: &[u8]) -> Result<[u8; ARGON2_BYTES], &'static str> {
    let params = Params::new(
        ARGON2_MEMORY_KIB,
        ARGON2_ITERATIONS,
        ARGON2_LANES,
        Some(ARGON2_BYTES),
    )
    .expect("the parameters are in range");
    let mut hash = [0; ARGON2_BYTES];
    Argon2::new(Argon2Algorithm::Argon2d, Version::V0x13, params)
        .hash_password_into(input, salt, &mut hash)
        .map_err(|_| "a salt of at least 8 bytes is wanted")?;
    Ok(hash)
}

/// BLAKE2b of 256 bits; with a key if that is not empty.
pub fn blake2b(input: &[u8], key: &[u8]) -> Result<[u8; 32], &'static str> {
    if key.is_empty() {
        return Ok(Blake2b256::digest(input).into());
    }
    // The crate asserts on longer keys before it would refuse them.
    if key.len() > BLAKE2B_KEY_BYTES_MAX {
        return Err("a key of at most 64 bytes is wanted");
    }
    let mut mac = Blake2bMac::<U32>::new_with_salt_and_personal(Some(key), &[], &[])
        .expect("the key is in range and the others are empty");
    mac.update(input);
    Ok(mac.finalize_fixed().into())
}
