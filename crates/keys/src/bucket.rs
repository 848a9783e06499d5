//! The bucket that Iguazio's even distribution puts an item in.
//!
//! A table written with even distribution spreads the items of one sharding key over `n` buckets by
//! the sorting key, and the bucket becomes part of the item's name:
//!
//! ```text
//!   sharding key   sorting key        bucket of n = 64    item
//!   johnd          20180602      ──►  36             ──►  johnd_36.20180602
//! ```
//!
//! The bucket is |XXH64| mod n over the sorting key in UTF-16, little-endian, with seed 0, the hash
//! taken as a signed number. That was found from the item names in six published listings; they are
//! in the tests. Buckets count from 0.

use std::num::NonZeroU32;

use xxhash_rust::xxh64::xxh64;

/// The number of buckets when a table names none.
pub const BUCKETS_DEFAULT: NonZeroU32 = NonZeroU32::new(64).expect("64 is not zero");

/// The bucket of a sorting key, from 0 to `buckets` − 1.
pub fn even_bucket(sorting_key: &str, buckets: NonZeroU32) -> u32 {
    let utf16: Vec<u8> = sorting_key
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let magnitude = xxh64(&utf16, 0).cast_signed().unsigned_abs();
    let bucket = magnitude % u64::from(buckets.get());
    u32::try_from(bucket).expect("a remainder is below its divisor")
}

/// The name of an item: sharding key, bucket and sorting key.
pub fn even_item_name(sharding_key: &str, sorting_key: &str, buckets: NonZeroU32) -> String {
    format!(
        "{sharding_key}_{}.{sorting_key}",
        even_bucket(sorting_key, buckets)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_published_listings_agree() {
        for (sorting_key, bucket) in [
            ("20180101", 25),
            ("20180102", 3),
            ("20180202", 2),
            ("20180601", 62),
            ("20180602", 36),
            ("20180701", 39),
        ] {
            assert_eq!(
                even_bucket(sorting_key, BUCKETS_DEFAULT),
                bucket,
                "{sorting_key}"
            );
        }
        assert_eq!(
            even_item_name("johnd", "20180602", BUCKETS_DEFAULT),
            "johnd_36.20180602"
        );
    }

    #[test]
    fn computed_vectors_stay() {
        for (sorting_key, bucket) in [
            ("20181015", 49),
            ("20181002", 51),
            ("20180523", 3),
            ("johnd", 25),
            ("a", 42),
            ("", 39),
            ("é", 42),
        ] {
            assert_eq!(
                even_bucket(sorting_key, BUCKETS_DEFAULT),
                bucket,
                "{sorting_key}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_bucket_is_below_their_number(key in ".*", buckets in 1..u32::MAX) {
            let buckets = NonZeroU32::new(buckets).unwrap();
            prop_assert!(even_bucket(&key, buckets) < buckets.get());
        }
    }
}
