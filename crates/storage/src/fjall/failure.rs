//! What fjall reports, in our words; and a wall around what it does when bytes surprise it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::{Error, Result};

/// Runs a call into fjall. fjall checks the bytes it reads, but takes some
/// for granted and panics when they are damaged; that panic is a damaged file, not our mistake.
pub(super) fn contain<T>(
    action: &'static str,
    path: &Path,
    call: impl FnOnce() -> ::fjall::Result<T>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(translate(action, path, error)),
        Err(panic) => {
            let words = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no reason given");
            Err(Error::Damaged {
                path: path.to_path_buf(),
                detail: format!("the engine gave up trying to {action} it: {words}"),
            })
        }
    }
}

pub(super) fn translate(action: &'static str, path: &Path, error: ::fjall::Error) -> Error {
    use ::fjall::{Error as Fjall, LsmError};
    match error {
        Fjall::Io(source) | Fjall::Storage(LsmError::Io(source)) => {
            translate_io(action, path, source)
        }
        Fjall::Poisoned => Error::Poisoned {
            cause: "a flush or compaction in the background failed".into(),
        },
        Fjall::Locked => {
            // The lock is on the engine's folder; people know the directory around it.
            Error::Locked {
                path: path.parent().unwrap_or(path).to_path_buf(),
            }
        }
        Fjall::Storage(LsmError::ChecksumMismatch { .. }) => Error::Damaged {
            path: path.to_path_buf(),
            detail: "a checksum does not match".into(),
        },
        Fjall::Storage(LsmError::Unrecoverable) => Error::Damaged {
            path: path.to_path_buf(),
            detail: "a table that belongs to it is missing or cut".into(),
        },
        other => Error::Damaged {
            path: path.to_path_buf(),
            detail: other.to_string(),
        },
    }
}

pub(crate) fn translate_io(action: &'static str, path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull {
            path: path.to_path_buf(),
        },
        // Files that the engine wrote and needs are gone, cut short, or send it to places that
        // cannot be.
        io::ErrorKind::NotFound
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidInput => Error::Damaged {
            path: path.to_path_buf(),
            detail: source.to_string(),
        },
        _ => Error::Io {
            action,
            path: path.to_path_buf(),
            source,
        },
    }
}
