//! The table check: what fjall takes for granted about the files of a space, looked at before it does.
//!
//! **Lists of parts.** fjall keeps tables and versions in files that end with a list of their parts. It
//! checks the list's checksum, but only after it has reserved memory for as many parts as the list
//! claims; a flipped bit in that count can ask for gigabytes and end the process. So the count is looked
//! at first.
//!
//! ```text
//!                ┌ at ───────────┬───────────┬───────┐┌───────────┬─────┬──────────┬────────┬─────────┐
//!   … blocks …   │ T O C !       │ count u32 │ parts ││ S F A ! 1 │ 0   │ xxh3 128 │ at u64 │ len u64 │
//!                └───────────────┴───────────┴───────┘└───────────┴─────┴──────────┴────────┴─────────┘
//! ```
//!
//! **Versions.** Which tables make up a space stands in a version file, `v7`, and which version counts in
//! `current`, with a checksum that fjall writes and never reads:
//!
//! ```text
//!   current     ┌─────────────┬──────────────┬───┐
//!               │ version u64 │ xxh3 128     │ 0 │     integers little-endian
//!               └─────────────┴──────────────┴───┘
//! ```
//!
//! **Spaces.** fjall takes a space without `current` for one that was never made, and removes it. So each
//! gets a file `MADE` when it was, which goes before a space is dropped: where it stands and `current`
//! does not, the space is damaged.
//!
//! Everything else about a table is left to fjall, which knows which tables count: a crash leaves
//! unfinished ones behind that do not.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use super::failure::translate_io;
use crate::{Error, Result};

/// Says that a space was made.
const MADE: &str = "MADE";

const TRAILER_BYTES: u64 = 38;
const LIST_HEAD_BYTES: u64 = 8;

/// A part is a position, a length and the length of a name.
const PART_BYTES_MIN: u64 = 18;

/// Checks every table and version of every space.
pub(super) fn check(engine: &Path) -> Result<()> {
    let failed = |error| translate_io("list", engine, error);
    for space in fs::read_dir(engine.join("keyspaces")).map_err(failed)? {
        let space = space.map_err(failed)?.path();
        check_version(&space)?;
        for folder in [space.join("tables"), space] {
            if folder.is_dir() {
                check_folder(&folder)?;
            }
        }
    }
    Ok(())
}

/// Notes that a space was made.
///
/// A note that cannot be written is missed only by the check above.
pub(super) fn note_made(space: &Path) {
    let _ = File::options()
        .create(true)
        .append(true)
        .open(space.join(MADE));
}

/// Takes back that a space was made, because it is dropped next.
///
/// A removal whose sync failed may never reach the disk, whatever is synced later, and the note would be
/// there again without the files. So a note that is gone is made once more, and removed for good.
pub(super) fn forget_made(space: &Path) -> Result<()> {
    if !space.exists() {
        return Ok(());
    }
    note_made(space);
    let note = space.join(MADE);
    let removed = match fs::remove_file(&note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    let removed = removed.and_then(|()| File::open(space)?.sync_all());
    removed.map_err(|error| translate_io("remove", &note, error))
}

/// Checks that the version that counts is what was written.
fn check_version(space: &Path) -> Result<()> {
    let path = space.join("current");
    let current = match fs::read(&path) {
        Ok(current) => current,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if space.join(MADE).exists() {
                let detail = "the file is missing".into();
                return Err(Error::Damaged { path, detail });
            }
            return Ok(());
        }
        Err(error) => return Err(translate_io("read", &path, error)),
    };
    let fields = current.split_first_chunk().and_then(|(version, rest)| {
        let (checksum, kind) = rest.split_first_chunk()?;
        (kind == [0]).then_some((u64::from_le_bytes(*version), u128::from_le_bytes(*checksum)))
    });
    let Some((version, checksum)) = fields else {
        let detail = "it does not name a version".into();
        return Err(Error::Damaged { path, detail });
    };
    let path = space.join(format!("v{version}"));
    let content = match fs::read(&path) {
        Ok(content) => content,
        // Files of a space that was being dropped go in any order.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !space.join(MADE).exists() => {
            return Ok(());
        }
        Err(error) => return Err(translate_io("read", &path, error)),
    };
    if xxh3_128(&content) != checksum {
        let detail = "a checksum does not match".into();
        return Err(Error::Damaged { path, detail });
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
