//! The name of an item, which is its key: what it is split into, and where it is stored.
//!
//! ```text
//!   johnd.20180602.a          the leftmost period splits
//!   ╰─┬─╯ ╰────┬───╯
//!   sharding   sorting        all items of one sharding key lie together, in the order of their
//!   key        key            sorting keys; a name without a period has no sorting key
//!
//!   johnd_36.20180602         with even distribution an item is also called by its bucket
//!   ╰─┬─╯ ╰┤
//!   stem   bucket
//!
//!   johnd/36  20180602        and that is where it lies: no name has a slash, so a sharding key that
//!                             looks like one with a bucket, `dev_36`, is never taken for another
//! ```
//!
//! Where a sharding key is stored is decided by its *slice*, one of 1,024. It is the upper ten bits
//! of XXH3 (64 bits, seed 0) over the UTF-8 bytes of the sharding key. Iguazio does not publish the
//! function it uses, and nothing that a client can see depends on it; buckets use XXH64, so a bucket
//! and a slice are never the same bits of one hash. It must not change: it leads stored keys.

use std::num::NonZeroU32;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::attribute::NAME_CHARS_MAX;
use crate::bucket::even_bucket;
use crate::error::{Error, Result};

/// How many slices there are.
pub const SLICES: u16 = 1024;

/// The name of an item, in its two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemName<'a> {
    /// What decides where the item is stored: all that is left of the leftmost period.
    pub sharding: &'a str,
    /// What orders the items of one sharding key: all that is right of that period.
    pub sorting: Option<&'a str>,
}

/// A sharding key of an evenly distributed table, in its two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvenSharding<'a> {
    /// The sharding key as the application knows it.
    pub stem: &'a str,
    /// The bucket behind it.
    pub bucket: u32,
}

impl<'a> ItemName<'a> {
    /// Splits a name at its leftmost period.
    pub fn split(name: &'a str) -> Self {
        match name.split_once('.') {
            Some((sharding, sorting)) => Self {
                sharding,
                sorting: Some(sorting),
            },
            None => Self {
                sharding: name,
                sorting: None,
            },
        }
    }

    /// The name as one text.
    pub fn join(&self) -> String {
        match self.sorting {
            Some(sorting) => format!("{}.{sorting}", self.sharding),
            None => self.sharding.to_owned(),
        }
    }

    /// Which slice the item lies in.
    pub fn slice(&self) -> u16 {
        slice(self.sharding)
    }

    /// The name that this one is with its bucket behind the sharding key, in a table of so many buckets.
    /// Another item may have it for its own.
    pub fn alias(&self, buckets: NonZeroU32) -> Option<Self> {
        let even = EvenSharding::split(self.sharding)?;
        let bucket = even_bucket(self.sorting?, buckets);
        (even.bucket_of(buckets) == Some(bucket)).then_some(Self {
            sharding: even.stem,
            sorting: self.sorting,
        })
    }

    /// The sharding key under which an item lies in a table of so many buckets. Nothing if it lies under
    /// its own: no sorting key, no bucket.
    pub fn spread_sharding(&self, buckets: NonZeroU32) -> Option<String> {
        let sorting = self.sorting.filter(|_| !self.sharding.is_empty())?;
        let bucket = even_bucket(sorting, buckets);
        Some(spread_sharding(self.sharding, bucket))
    }
}

impl<'a> EvenSharding<'a> {
    /// Splits `<stem>_<bucket>` at its last underscore; a number with leading zeros is no bucket.
    pub fn split(sharding: &'a str) -> Option<Self> {
        let (stem, digits) = sharding.rsplit_once('_')?;
        let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
        if stem.is_empty() || !plain || digits.starts_with('0') && digits != "0" {
            return None;
        }
        let bucket = digits.parse().ok()?;
        Some(Self { stem, bucket })
    }

    /// The sharding key with its bucket.
    pub fn join(&self) -> String {
        format!("{}_{}", self.stem, self.bucket)
    }

    /// Which of so many buckets is meant. Those who count from 1 call the first one by the last number.
    pub fn bucket_of(&self, buckets: NonZeroU32) -> Option<u32> {
        (self.bucket <= buckets.get()).then(|| self.bucket % buckets)
    }
}

/// The sharding key under which the items of one bucket lie.
pub fn spread_sharding(sharding: &str, bucket: u32) -> String {
    format!("{sharding}/{bucket}")
}

/// Which slice a sharding key lies in, below [`SLICES`].
pub fn slice(sharding: &str) -> u16 {
    let upper = xxh3_64(sharding.as_bytes()) >> (u64::BITS - SLICES.ilog2());
    u16::try_from(upper).expect("ten bits fit in sixteen")
}

/// The number by which clients tell objects apart, together with the moment that they were made: a
/// hash of directory and name in 31 bits, never 0.
pub fn inode_number(path: &str, name: &str) -> u32 {
    let hash = xxh3_64_with_seed(name.as_bytes(), xxh3_64(path.as_bytes()));
    let upper = u32::try_from(hash >> 33).expect("31 bits fit in 32");
    upper.max(1)
}

/// Whether an item can have this name, and the reason if not.
pub fn check_item_name(name: &str) -> Result<()> {
    let chars = name.chars().count();
    let reason = if chars == 0 || chars > NAME_CHARS_MAX {
        "a name has 1 to 255 characters"
    } else if name.contains(['/', '\0']) {
        "a name has no slash and no zero byte"
    } else if name == "." || name == ".." {
        "it means a directory"
    } else {
        return Ok(());
    };
    Err(Error::ItemNameInvalid {
        name: name.chars().take(60).collect(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bucket::{BUCKETS_DEFAULT, even_item_name};

    #[test]
    fn the_leftmost_period_splits() {
        for (name, sharding, sorting) in [
            ("johnd.20180602", "johnd", Some("20180602")),
            ("johnd", "johnd", None),
            ("a.b.c", "a", Some("b.c")),
            ("a.", "a", Some("")),
            (".#schema", "", Some("#schema")),
            ("", "", None),
        ] {
            assert_eq!(ItemName::split(name), ItemName { sharding, sorting });
        }
    }

    #[test]
    fn inode_numbers_depend_on_directory_and_name() {
        let numbers = [
            ("a/", "b"),
            ("a/", "c"),
            ("c/", "b"),
            ("a/b/", ""),
            ("", "a"),
        ]
        .map(|(path, name)| inode_number(path, name));
        for (at, number) in numbers.iter().enumerate() {
            assert!(*number > 0 && *number < 1 << 31);
            assert!(!numbers.iter().skip(at + 1).any(|other| other == number));
        }
        // Clients keep it, so it is the same on every machine and in every version.
        assert_eq!(inode_number("", "object.txt"), 553_282_031);
    }

    #[test]
    fn buckets_are_recognised() {
        let split = |sharding| {
            EvenSharding::split(sharding).map(|even| (even.stem.to_owned(), even.bucket))
        };
        assert_eq!(split("johnd_36"), Some(("johnd".to_owned(), 36)));
        assert_eq!(split("16_36"), Some(("16".to_owned(), 36)));
        assert_eq!(split("a_b_0"), Some(("a_b".to_owned(), 0)));
        for none in [
            "johnd",
            "johnd_",
            "_36",
            "johnd_036",
            "johnd_+3",
            "johnd_x",
            "a_99999999999",
        ] {
            assert_eq!(split(none), None, "{none}");
        }
        let alias = |name| {
            ItemName::split(name)
                .alias(BUCKETS_DEFAULT)
                .map(|alias| alias.join())
        };
        assert_eq!(
            alias("johnd_36.20180602"),
            Some("johnd.20180602".to_owned())
        );
        assert_eq!(alias("johnd_1.20180602"), None);
        assert_eq!(alias("johnd.20180602"), None);
        assert_eq!(alias("johnd_36"), None);
        // Bucket 0, for those who count from 0 and for those who count from 1.
        let two = NonZeroU32::new(2).unwrap();
        let first = (0..).map(|i| i.to_string());
        let first = first.clone().find(|t| even_bucket(t, two) == 0).unwrap();
        for name in [format!("a_0.{first}"), format!("a_2.{first}")] {
            let alias = ItemName::split(&name).alias(two).unwrap();
            assert_eq!(alias.sharding, "a");
        }
        assert_eq!(ItemName::split(&format!("a_1.{first}")).alias(two), None);
        assert_eq!(ItemName::split(&format!("a_4.{first}")).alias(two), None);
    }

    #[test]
    fn slices_of_stored_keys_stay() {
        let slices = ["", "johnd", "johnd_36", "é"].map(slice);
        assert_eq!(slices, [180, 711, 640, 990]);
    }

    #[test]
    fn slices_are_used_evenly() {
        let mut counts = vec![0_u32; usize::from(SLICES)];
        for i in 0..100_000 {
            counts[usize::from(slice(&format!("user{i}")))] += 1;
        }
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(
            *least > 50 && *most < 150,
            "{least} to {most} of 98 on average"
        );
    }

    #[test]
    fn names_are_checked() {
        for name in ["a", ".#schema", "é", "a b.c", "..."] {
            assert_eq!(check_item_name(name), Ok(()), "{name}");
        }
        assert_eq!(check_item_name(&"é".repeat(255)), Ok(()));
        for name in ["", "a/b", "a\0", ".", ".."] {
            assert!(check_item_name(name).is_err(), "{name}");
        }
        assert_eq!(
            check_item_name(&"x".repeat(256)).unwrap_err().to_string(),
            format!(
                "item name `{}`: a name has 1 to 255 characters",
                "x".repeat(60)
            )
        );
    }

    proptest! {
        #[test]
        fn splitting_and_joining_are_inverse(name in ".*", buckets in 1..2000_u32) {
            prop_assert_eq!(ItemName::split(&name).join(), name.clone());
            prop_assert!(slice(&name) < SLICES);
            if let Some(even) = EvenSharding::split(&name) {
                prop_assert_eq!(even.join(), name.clone());
            }
            let parts = ItemName::split(&name);
            if let Some(sorting) = parts.sorting.filter(|_| !parts.sharding.is_empty()) {
                let buckets = NonZeroU32::new(buckets).unwrap();
                let even = even_item_name(parts.sharding, sorting, buckets);
                prop_assert_eq!(ItemName::split(&even).alias(buckets), Some(parts));
                let stored = parts.spread_sharding(buckets).unwrap();
                prop_assert!(check_item_name(&stored).is_err(), "no name is stored so: {stored}");
            }
        }
    }
}
