//! A [`Partition`]: a descriptor and the live state beside it.

use crate::{Counters, Counts, Descriptor, Heat};

/// One partition of a table, shared by everyone who routes to it.
///
/// The descriptor never changes: a split or a merge makes new partitions, and whoever still holds
/// an old one sees the old range.
#[derive(Debug)]
pub struct Partition {
    /// Which keys it holds, and where.
    pub descriptor: Descriptor,
    /// How much it holds.
    pub counters: Counters,
    /// What is done to it.
    pub heat: Heat,
}

impl Partition {
    /// A partition with this content and no heat yet.
    pub fn new(descriptor: Descriptor, counts: Counts) -> Self {
        Self {
            descriptor,
            counters: Counters::new(counts),
            heat: Heat::default(),
        }
    }
}
