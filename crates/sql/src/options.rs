//! The options of a table: how it is partitioned, when its rows expire, where it is kept.
//!
//! An option that was never set is `None`, and [`TableOptions`] says by its methods what holds then.

use keys::{Type, Value};
use syntax::table::TtlUnit;

use crate::Column;
use crate::ddl::quoted;

/// How many partitions an option may ask for.
pub(crate) const PARTITIONS_MAX: u64 = 65_536;

/// The largest size at which a partition can be told to split, in megabytes.
pub(crate) const PARTITION_SIZE_MB_MAX: u64 = 1 << 20;

/// How many replicas a partition may have for reading.
pub(crate) const READ_REPLICAS_MAX: u8 = 3;

const PARTITION_SIZE_MB: u64 = 2048;
const MIN_PARTITIONS_COUNT: u64 = 1;
const MAX_PARTITIONS_COUNT: u64 = 50;

/// The options of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// AUTO_PARTITIONING_BY_SIZE.
    pub by_size: Option<bool>,
    /// AUTO_PARTITIONING_PARTITION_SIZE_MB.
    pub partition_size_mb: Option<u64>,
    /// AUTO_PARTITIONING_BY_LOAD.
    pub by_load: Option<bool>,
    /// AUTO_PARTITIONING_MIN_PARTITIONS_COUNT.
    pub min_partitions_count: Option<u64>,
    /// AUTO_PARTITIONING_MAX_PARTITIONS_COUNT.
    pub max_partitions_count: Option<u64>,
    /// READ_REPLICAS_SETTINGS.
    pub read_replicas: Option<ReadReplicas>,
    /// KEY_BLOOM_FILTER.
    pub key_bloom_filter: Option<bool>,
    /// Whether STORE = ROW was said; there is no other.
    pub store_row: bool,
    /// TTL.
    pub ttl: Option<Ttl>,
}

/// When rows expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl {
    /// The position of the column with the time.
    pub column: usize,
    /// How long a row lives after that time, in microseconds.
    pub after_us: i64,
    /// What the column counts since 1970, if it is a number.
    pub unit: Option<TtlUnit>,
}

/// Replicas to read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadReplicas {
    /// Whether the count is for each availability zone, and not for all of them.
    pub per_zone: bool,
    /// How many.
    pub count: u8,
}

impl TableOptions {
    /// Whether partitions split when they are large.
    pub fn splits_by_size(&self) -> bool {
        self.by_size.unwrap_or(true)
    }

    /// Whether partitions split when they are hot.
    pub fn splits_by_load(&self) -> bool {
        self.by_load.unwrap_or(true)
    }

    /// The size at which partitions split, in bytes.
    pub fn partition_bytes(&self) -> u64 {
        self.partition_size_mb.unwrap_or(PARTITION_SIZE_MB) << 20
    }

    /// How many partitions merging leaves.
    pub fn partitions_min(&self) -> u64 {
        self.min_partitions_count.unwrap_or(MIN_PARTITIONS_COUNT)
    }

    /// How many partitions splitting makes.
    pub fn partitions_max(&self) -> u64 {
        let least = self.partitions_min();
        self.max_partitions_count
            .unwrap_or(MAX_PARTITIONS_COUNT.max(least))
    }

    /// What is wrong with them for a table of these columns, if anything.
    pub(crate) fn fault(&self, columns: &[Column]) -> Option<String> {
        let (least, most) = (self.partitions_min(), self.partitions_max());
        if least > most {
            return Some(format!(
                "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT is {least} and \
                 AUTO_PARTITIONING_MAX_PARTITIONS_COUNT {most}: the least may not be above the most"
            ));
        }
        let ttl = self.ttl?;
        let Some(column) = columns.get(ttl.column) else {
            return Some("TTL names a column that is not there".to_owned());
        };
        let Column { name, kind, .. } = column;
        if ttl.after_us < 0 {
            return Some("TTL has a negative interval".to_owned());
        }
        match (kind, ttl.unit) {
            (Type::Date | Type::Datetime | Type::Timestamp, None) => None,
            (Type::Int32 | Type::Uint32 | Type::Int64 | Type::Uint64, Some(_)) => None,
            (Type::Int32 | Type::Uint32 | Type::Int64 | Type::Uint64, None) => Some(format!(
                "TTL on column `{name}`, a number, needs a unit: AS SECONDS, for one"
            )),
            (Type::Date | Type::Datetime | Type::Timestamp, Some(_)) => Some(format!(
                "TTL on column `{name}` of type {kind} takes no unit"
            )),
            _ => Some(format!(
                "TTL needs a column of type Date, Datetime, Timestamp or a number of 4 or 8 bytes; \
                 `{name}` is {kind}"
            )),
        }
    }

    /// The options that were set, as a statement spells them.
    pub fn words(&self, columns: &[Column]) -> Vec<(&'static str, String)> {
        let switch = |on: bool| if on { "ENABLED" } else { "DISABLED" }.to_owned();
        let mut words = Vec::new();
        let mut add = |name, value: Option<String>| {
            if let Some(value) = value {
                words.push((name, value));
            }
        };
        add("AUTO_PARTITIONING_BY_SIZE", self.by_size.map(switch));
        add(
            "AUTO_PARTITIONING_PARTITION_SIZE_MB",
            self.partition_size_mb.map(|size| size.to_string()),
        );
        add("AUTO_PARTITIONING_BY_LOAD", self.by_load.map(switch));
        add(
            "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT",
            self.min_partitions_count.map(|count| count.to_string()),
        );
        add(
            "AUTO_PARTITIONING_MAX_PARTITIONS_COUNT",
            self.max_partitions_count.map(|count| count.to_string()),
        );
        add(
            "READ_REPLICAS_SETTINGS",
            self.read_replicas.map(|replicas| {
                let ReadReplicas { per_zone, count } = replicas;
                let zone = if per_zone { "PER_AZ" } else { "ANY_AZ" };
                format!("'{zone}:{count}'")
            }),
        );
        add("KEY_BLOOM_FILTER", self.key_bloom_filter.map(switch));
        add("STORE", self.store_row.then(|| "ROW".to_owned()));
        add("TTL", self.ttl.and_then(|ttl| ttl_words(ttl, columns)));
        words
    }
}

fn ttl_words(ttl: Ttl, columns: &[Column]) -> Option<String> {
    let column = columns.get(ttl.column)?;
    let after = Value::Interval(ttl.after_us);
    let unit = match ttl.unit {
        None => "",
        Some(TtlUnit::Seconds) => " AS SECONDS",
        Some(TtlUnit::Milliseconds) => " AS MILLISECONDS",
        Some(TtlUnit::Microseconds) => " AS MICROSECONDS",
        Some(TtlUnit::Nanoseconds) => " AS NANOSECONDS",
    };
    let name = quoted(&column.name);
    Some(format!("Interval('{after}') ON {name}{unit}"))
}
