//! What can go wrong below the transactions.

use std::io;
use std::path::PathBuf;

use crate::SpaceId;

/// The action of taking a file's lock.
pub(crate) const LOCK: &str = "lock";

/// The result of a storage call.
pub type Result<T> = std::result::Result<T, Error>;

/// A storage failure, named for the situation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An earlier write or sync failed, so nobody knows what the medium holds.
    #[error(
        "the engine refuses writes since an earlier one failed ({cause}): \
         it tries to come back by itself; what was acknowledged is kept"
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
    #[error(
        "no space left on the device that holds {path}: nothing was written; drop or delete \
         something, or make room, and writes go on"
    )]
    DiskFull {
        /// The directory.
        path: PathBuf,
    },
    /// The engine was opened again after a failure, and what was begun before cannot go on.
    #[error("the engine at {path} was opened again after a failure meanwhile: try again")]
    Interrupted {
        /// The engine's directory.
        path: PathBuf,
    },
    /// The last step of an ingestion failed: the rows are all there or none is.
    #[error("whether the rows are in {path} is not known ({cause}): look for one of them")]
    Unknown {
        /// The engine's directory.
        path: PathBuf,
        /// The failure.
        cause: String,
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
    #[error("{action} {path}: {source}{}", advice(.action, .source))]
    Io {
        /// What was being done, as a verb.
        action: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
}

/// What to do about a failure of the system, where that is plain.
fn advice(action: &str, source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run evenkeel as the user that owns the data directory, or give that user access"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; mount the file system for writing, or choose another directory"
        }
        io::ErrorKind::NotADirectory => "; a file is in the way, choose another directory",
        _ if action == LOCK => {
            "; a data directory needs a file system with locks, choose another directory"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_system_says_what_to_do() {
        let error = |action, code| Error::Io {
            action,
            path: "/data/EVENKEEL".into(),
            source: io::Error::from_raw_os_error(code),
        };
        let (denied, unsupported, failed) = (13, 95, 5);
        for (action, code, advice) in [
            ("read", denied, "user that owns the data directory"),
            (LOCK, unsupported, "needs a file system with locks"),
            (LOCK, denied, "user that owns the data directory"),
            (
                "read",
                failed,
                "/data/EVENKEEL: Input/output error (os error 5)",
            ),
        ] {
            let words = error(action, code).to_string();
            assert!(words.contains(advice), "{words}");
        }
    }
}
