//! The table check: no table claims more parts than it has room for.
//!
//! fjall keeps tables and versions in files that end with a list of their parts. It checks the list's
//! checksum, but only after it has reserved memory for as many parts as the list claims; a flipped
//! bit in that count can ask for gigabytes and end the process. So the count is looked at first.
//!
//! ```text
//!                ┌ at ───────────┬───────────┬───────┐┌───────────┬─────┬──────────┬────────┬─────────┐
//!   … blocks …   │ T O C !       │ count u32 │ parts ││ S F A ! 1 │ 0   │ xxh3 128 │ at u64 │ len u64 │
//!                └───────────────┴───────────┴───────┘└───────────┴─────┴──────────┴────────┴─────────┘
//! ```
//!
//! Everything else about a table is left to fjall, which knows which tables count: a crash leaves
//! unfinished ones behind that do not.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::failure::translate_io;
use crate::{Error, Result};

const TRAILER_BYTES: u64 = 38;
const LIST_HEAD_BYTES: u64 = 8;

/// A part is a position, a length and the length of a name.
const PART_BYTES_MIN: u64 = 18;

/// Checks every table and version of every space.
pub(super) fn check(engine: &Path) -> Result<()> {
    let failed = |error| translate_io("list", engine, error);
    for space in fs::read_dir(engine.join("keyspaces")).map_err(failed)? {
        let space = space.map_err(failed)?.path();
        for folder in [space.join("tables"), space] {
            if folder.is_dir() {
                check_folder(&folder)?;
            }
        }
    }
    Ok(())
}

fn check_folder(folder: &Path) -> Result<()> {
    let failed = |error| translate_io("list", folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if !path.is_file() {
            continue;
        }
        let excess = claims_too_much(&path).map_err(|error| translate_io("read", &path, error))?;
        if excess {
            let detail = "the list of its parts is longer than the file".into();
            return Err(Error::Damaged { path, detail });
        }
    }
    Ok(())
}

fn claims_too_much(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let Some(list_end) = length.checked_sub(TRAILER_BYTES) else {
        return Ok(false);
    };
    file.seek(SeekFrom::Start(list_end))?;
    let mut trailer = [0; 38];
    file.read_exact(&mut trailer)?;
    let Some((at, _length)) = trailer.get(22..).and_then(|rest| rest.split_first_chunk()) else {
        return Ok(false);
    };
    let at = u64::from_le_bytes(*at);
    let room = list_end
        .checked_sub(at)
        .and_then(|list| list.checked_sub(LIST_HEAD_BYTES));
    let (true, Some(room)) = (trailer.starts_with(b"SFA!"), room) else {
        return Ok(false);
    };
    file.seek(SeekFrom::Start(at))?;
    let (mut magic, mut count) = ([0; 4], [0; 4]);
    file.read_exact(&mut magic)?;
    file.read_exact(&mut count)?;
    Ok(&magic == b"TOC!" && u64::from(u32::from_le_bytes(count)) > room / PART_BYTES_MIN)
}
