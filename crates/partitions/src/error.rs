//! What can go wrong with the partition map.

use crate::{PartitionId, TableId};

/// The result of a call on partitions.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of the partition map, named for the situation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such table, or it was dropped.
    #[error("{0} does not exist")]
    NoSuchTable(TableId),
    /// The number is taken.
    #[error("{0} exists already")]
    TableExists(TableId),
    /// No such partition now; it may have been split or merged.
    #[error("{table} has no {partition}: it may have been split or merged, read the map again")]
    NoSuchPartition {
        /// The table that was asked.
        table: TableId,
        /// The partition that it does not have.
        partition: PartitionId,
    },
    /// The split key is not strictly inside the partition.
    #[error("cannot split {partition} at {key}: its keys go from {lower} to {upper}")]
    SplitOutside {
        /// The partition.
        partition: PartitionId,
        /// The refused key, readable.
        key: String,
        /// The partition's lower bound, readable.
        lower: String,
        /// The partition's upper bound, readable.
        upper: String,
    },
    /// The keys to split a new table at are not ascending, or one is empty.
    #[error("split keys must ascend and none may be empty or repeated; {key} does not")]
    SplitKeysOrder {
        /// The first offender, readable.
        key: String,
    },
    /// More partitions than a table may have.
    #[error("{table} would have {wanted} partitions, the limit is {limit}")]
    TooManyPartitions {
        /// The table.
        table: TableId,
        /// How many there would be.
        wanted: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The partitions to merge are fewer than two, repeated, or not neighbours in key order.
    #[error("cannot merge {partitions} of {table}: name two or more neighbours, in key order")]
    NotNeighbours {
        /// The table.
        table: TableId,
        /// The partitions as they were named.
        partitions: String,
    },
    /// A map change failed in a way that leaves open which map the medium holds.
    #[error(
        "the partition map of {table} is in doubt since a change of it failed: \
         reopen the database; what was acknowledged is kept"
    )]
    InDoubt {
        /// The table.
        table: TableId,
    },
    /// A metadata record is not what was written.
    #[error("{record} is damaged ({detail}): restore it from a backup; nothing was overwritten")]
    Corrupt {
        /// The record, named readably.
        record: String,
        /// What does not fit.
        detail: String,
    },
    /// The layer below failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl Error {
    /// A damaged record.
    pub(crate) fn corrupt(record: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Corrupt {
            record: record.into(),
            detail: detail.into(),
        }
    }
}
