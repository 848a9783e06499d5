//! What can go wrong below the transactions.

use std::path::PathBuf;

use crate::SpaceId;

/// The result of a storage call.
pub type Result<T> = std::result::Result<T, Error>;

/// A storage failure, named for the situation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An earlier write or sync failed, so nobody knows what the medium holds.
    #[error(
        "the engine refuses writes since an earlier one failed ({cause}): \
         reopen the database; what was acknowledged is kept"
    )]
    Poisoned {
        /// The failure that poisoned it.
        cause: String,
    },
    /// A space that was never made, or was dropped.
    #[error("{0} does not exist")]
    NoSuchSpace(SpaceId),
    /// A key that no engine takes.
    #[error("a key of {size} bytes is too long: an engine stores keys of at most {limit} bytes")]
    KeyTooLong {
        /// The longest key there may be, in bytes.
        limit: usize,
        /// The length of the key, in bytes.
        size: usize,
    },
    /// A key of no bytes, which no engine takes.
    #[error("an empty key cannot be stored: an engine stores keys of at least one byte")]
    KeyEmpty,
    /// Rows for bulk ingestion came out of order or twice.
    #[error(
        "bulk ingestion needs strictly ascending keys; row {row} is not above the one before it"
    )]
    OutOfOrder {
        /// The number of the offending row, from 0.
        row: u64,
    },
    /// The directory holds something that is not ours.
    #[error("{path} is not an EvenKeel data directory ({found}): choose an empty or new directory")]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// What was found there instead.
        found: String,
    },
    /// The directory was written by a newer program.
    #[error(
        "{path} has format version {found}, this program reads up to {supported}: \
         use a newer evenkeel; nothing was changed"
    )]
    NewerFormat {
        /// The file that carries the version.
        path: PathBuf,
        /// The version found there.
        found: u32,
        /// The newest version this program reads.
        supported: u32,
    },
    /// Another process has the directory open.
    #[error("{path} is in use by another process: stop it, or choose another directory")]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The medium is full.
    #[error("no space left on the device that holds {path}: free some and reopen the database")]
    DiskFull {
        /// The directory.
        path: PathBuf,
    },
    /// Bytes on the medium are not what was written there.
    #[error("{path} is damaged ({detail}): restore it from a backup; nothing was overwritten")]
    Damaged {
        /// The file or directory.
        path: PathBuf,
        /// What does not fit.
        detail: String,
    },
    /// The operating system failed us in another way.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was being done, as a verb.
        action: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },
}
