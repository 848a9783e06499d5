//! What can go wrong with a transaction.

use std::sync::Arc;

use keys::format_key;
use partitions::TableId;
use storage::{Bytes, EngineId};

use crate::{LockName, Timestamp};

/// The result of a transaction call.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed transaction call, named for the situation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something this transaction read was changed by another that committed first.
    #[error(
        "transaction locks invalidated: {} of {table} was changed at {changed}, after this \
         transaction's snapshot at {snapshot}; retry the transaction",
        format_key(.key)
    )]
    Conflict {
        /// The table.
        table: TableId,
        /// A key that changed.
        key: Bytes,
        /// When it changed.
        changed: Timestamp,
        /// What the transaction saw.
        snapshot: Timestamp,
    },
    /// A row that another transaction is changing, and nobody wants to wait for it any longer.
    #[error(
        "{} of {table} is held by another transaction: try again when that has ended",
        format_key(.key)
    )]
    Held {
        /// The table.
        table: TableId,
        /// The row's key.
        key: Bytes,
    },
    /// A lock that somebody else has, and nobody wants to wait for it any longer.
    #[error("advisory lock {name} is held by another session: try again when it is given back")]
    LockHeld {
        /// The lock.
        name: LockName,
    },
    /// A lock that would be waited for in a circle.
    #[error(
        "deadlock detected: who has advisory lock {name} waits for this session; roll back, and take \
         locks in the same order everywhere"
    )]
    Deadlock {
        /// The lock.
        name: LockName,
    },
    /// More locks than one session may have.
    #[error("more than {limit} advisory locks in one session: unlock some")]
    TooManyLocks {
        /// How many there may be.
        limit: usize,
    },
    /// The transaction is so old that nobody remembers what changed since.
    #[error(
        "transaction locks invalidated: the snapshot at {snapshot} is older than the changes that \
         are remembered (since {floor}); retry the transaction, and keep it shorter"
    )]
    TooOld {
        /// What the transaction saw.
        snapshot: Timestamp,
        /// The oldest snapshot that can still commit.
        floor: Timestamp,
    },
    /// A table was changed by a statement since the transaction looked at its schema.
    #[error(
        "transaction locks invalidated: {table} was altered while this transaction wrote to it; \
         retry the transaction"
    )]
    Altered {
        /// The table.
        table: TableId,
    },
    /// An engine was opened again since the transaction read from it.
    #[error(
        "transaction locks invalidated: {engine} was reopened at {reopened}, after this \
         transaction's snapshot at {snapshot}; retry the transaction"
    )]
    Reopened {
        /// The engine.
        engine: EngineId,
        /// When it came back.
        reopened: Timestamp,
        /// What the transaction saw.
        snapshot: Timestamp,
    },
    /// An engine failed and was not opened again yet.
    #[error("{engine} failed and has to be reopened ({cause}); try again later")]
    EngineDown {
        /// The engine.
        engine: EngineId,
        /// The failure.
        cause: String,
    },
    /// The commit may or may not have happened.
    #[error(
        "the outcome of the commit at {at} is not known ({cause}): \
         read the rows again before repeating it"
    )]
    Unknown {
        /// The timestamp that the commit would have.
        at: Timestamp,
        /// The failure.
        cause: String,
    },
    /// The engine did not take the commit; nothing of it happened.
    #[error("{cause}")]
    NotWritten {
        /// The failure.
        cause: Arc<storage::Error>,
    },
    /// A commit across engines was given up; nothing of it happened.
    #[error("the commit was given up before it was decided ({cause}); retry the transaction")]
    GivenUp {
        /// The failure.
        cause: String,
    },
    /// A row to be loaded that is there already.
    #[error("the row {} of {table} exists already: nothing was loaded", format_key(.key))]
    RowExists {
        /// The table.
        table: TableId,
        /// The row's key.
        key: Bytes,
    },
    /// Two rows of one load with the same key.
    #[error("the row {} of {table} comes twice: nothing was loaded", format_key(.key))]
    RowTwice {
        /// The table.
        table: TableId,
        /// The rows' key.
        key: Bytes,
    },
    /// A patch that does not fit the row it met.
    #[error("{} of {table} cannot be changed: {cause}", format_key(.key))]
    NotPatched {
        /// The table.
        table: TableId,
        /// The row's key.
        key: Bytes,
        /// What does not fit.
        cause: String,
    },
    /// A key that no engine can store.
    #[error("a key of {size} bytes cannot be stored: keys have 1 to {limit} bytes")]
    KeyLength {
        /// The longest key there may be, in bytes.
        limit: usize,
        /// The length of the key, in bytes.
        size: usize,
    },
    /// A transaction that is past its limits.
    #[error("a transaction may have {limit} {what}, this one has {size}: commit in smaller steps")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// How many there may be.
        limit: usize,
        /// How many there are.
        size: usize,
    },
    /// A load that is past its limits.
    #[error("a load may have {limit} {what}, this one has {size}: load in smaller steps")]
    LoadTooLarge {
        /// What was counted.
        what: &'static str,
        /// How many there may be.
        limit: usize,
        /// How many there are.
        size: usize,
    },
    /// A read or write after the transaction's end.
    #[error("the transaction has ended")]
    Ended,
    /// A savepoint that was never made, or was rolled back.
    #[error("the savepoint does not exist any more")]
    NoSuchSavepoint,
    /// The partition cannot be split or merged while a commit across engines is unresolved.
    #[error("{what} has to wait: {cause}; try again later")]
    Busy {
        /// What was asked for.
        what: &'static str,
        /// What it waits for.
        cause: String,
    },
    /// Bytes in the database are not what was written there.
    #[error("the {what} {} of {table} is damaged ({detail}): restore it from a backup", format_key(.key))]
    Damaged {
        /// What kind of record.
        what: &'static str,
        /// The table.
        table: TableId,
        /// The record's key.
        key: Bytes,
        /// What does not fit.
        detail: String,
    },
    /// A record in the metadata space is not what was written there.
    #[error("{what} is damaged: restore the database from a backup; nothing was overwritten")]
    DamagedRecord {
        /// Which record.
        what: String,
    },
    /// A failure of the partition map.
    #[error(transparent)]
    Partitions(#[from] partitions::Error),
    /// A failure of the storage below.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}
