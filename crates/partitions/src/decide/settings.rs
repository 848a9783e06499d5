//! [`Settings`]: when a table's partitions are split and merged, with the defaults.

use crate::Share;

/// Bytes in a mebibyte.
pub const MIB: u64 = 1 << 20;

/// Most partitions that load splits may make of a table that does not say how many.
pub const LOAD_PARTITIONS_MAX: usize = 50;
/// Most partitions that size splits may make of a table that does not say how many.
pub const SIZE_PARTITIONS_MAX: usize = 32_768;
/// Each side of a size split gets at least this share of the bytes.
pub const SIDE_MIN: Share = Share::percent(25);
/// A load split may leave the sides this far apart: (more − less) / both.
pub const IMBALANCE_MAX: Share = Share::percent(25);
/// A load split may make this share of the load multi-partition transactions.
pub const CUT_TXNS_MAX: Share = Share::percent(50);
/// A load split may cut scans that are this share of the load.
pub const CUT_SCANS_MAX: Share = Share::percent(50);
/// From this share of the load on, one key is called hot when no split helps.
pub const HOT_KEY_MIN: Share = Share::percent(25);
/// Above this share of writes beyond every key before them, the writes are a tail.
pub const TAIL_WRITES_SHARE: Share = Share::percent(80);
/// A tail must be this share of the load to be the reason why no split helps.
pub const TAIL_LOAD_MIN: Share = Share::percent(25);
/// Fewer sampled writes than this show no tail.
pub const TAIL_WRITES_MIN: usize = 64;
/// Fewer sampled transactions than this decide nothing.
pub const SAMPLES_MIN: usize = 32;
/// Most partitions that one merge joins.
pub const MERGE_PARTITIONS_MAX: usize = 16;

/// What a table's options say about splitting and merging. Times in seconds, sizes in mebibytes,
/// loads in percent of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether size alone splits: AUTO_PARTITIONING_BY_SIZE.
    pub by_size: bool,
    /// Whether load splits: AUTO_PARTITIONING_BY_LOAD.
    pub by_load: bool,
    /// From this size on a partition is split: AUTO_PARTITIONING_PARTITION_SIZE_MB.
    pub partition_size_mib: u64,
    /// From this size on it is split even if the table has its most partitions, as long as
    /// `by_size` is on. Never below `partition_size_mib`.
    pub force_split_size_mib: u64,
    /// Merges leave at least so many: AUTO_PARTITIONING_MIN_PARTITIONS_COUNT.
    pub partitions_min: usize,
    /// Splits leave at most so many: AUTO_PARTITIONING_MAX_PARTITIONS_COUNT. `None` is 50 for load
    /// and 32768 for size.
    pub partitions_max: Option<usize>,
    /// From this load on a partition is split, in percent of one core.
    pub split_load_percent: u64,
    /// For how long the load must be that high.
    pub split_load_lasting_s: u64,
    /// How long a partition must have been watched before it is merged.
    pub merge_uptime_s_min: u64,
    /// The peak of how much time counts when loads are summed for a merge.
    pub merge_low_load_s: u64,
    /// A merge may reach this much of the split load, in percent of it.
    pub merge_load_percent: u64,
    /// A merge may reach this much of the split size, in percent of it.
    pub merge_size_percent: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            by_size: true,
            by_load: true,
            partition_size_mib: 2048,
            force_split_size_mib: 2048,
            partitions_min: 1,
            partitions_max: None,
            split_load_percent: 50,
            split_load_lasting_s: 20,
            merge_uptime_s_min: 600,
            merge_low_load_s: 3600,
            merge_load_percent: 70,
            merge_size_percent: 50,
        }
    }
}

impl Settings {
    /// The size that splits, in bytes.
    pub fn split_bytes(&self) -> u64 {
        self.partition_size_mib.saturating_mul(MIB)
    }

    /// The size that splits whatever the number of partitions, in bytes.
    pub fn force_split_bytes(&self) -> u64 {
        self.force_split_size_mib
            .max(self.partition_size_mib)
            .saturating_mul(MIB)
    }

    /// The most a merge may make, in bytes.
    pub fn merge_bytes_max(&self) -> u64 {
        Share::percent(self.merge_size_percent).times(self.split_bytes())
    }

    /// The load that splits.
    pub fn split_load(&self) -> Share {
        Share::percent(self.split_load_percent)
    }

    /// The most summed peak load that a merge may join.
    pub fn merge_load_max(&self) -> Share {
        Share::percent(self.merge_load_percent).scale(self.split_load())
    }

    /// The most partitions that load splits may make.
    pub fn load_partitions_max(&self) -> usize {
        self.partitions_max.unwrap_or(LOAD_PARTITIONS_MAX)
    }

    /// The most partitions that size splits may make.
    pub fn size_partitions_max(&self) -> usize {
        self.partitions_max.unwrap_or(SIZE_PARTITIONS_MAX)
    }
}
