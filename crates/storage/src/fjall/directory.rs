//! The data directory: whose it is, in which format, and that nothing else is ever overwritten.
//!
//! The file `EVENKEEL` says so, in one line that people can read:
//!
//! ```text
//!   ┌──────────┬───┬────────┬────┐
//!   │ evenkeel │ ␠ │ 1      │ \n │
//!   └──────────┴───┴────────┴────┘
//!                    └ format version, in decimal
//! ```
//!
//! Whoever has the directory open holds a lock on that file.
//!
//! Each step of making a directory is a file or folder that is written beside its place, synced, and
//! moved there, so a crash leaves either nothing or something whole, and the next open goes on:
//!
//! ```text
//!   EVENKEEL.new ──► EVENKEEL ──► engine.new/ ──► engine/
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::failure::translate_io;
use crate::error::LOCK;
use crate::{Error, Result};

/// The format that this program writes, and the newest that it reads.
const FORMAT_VERSION: u32 = 1;

/// How many names of foreign files an error lists.
const FOREIGN_NAMES_MAX: usize = 3;

const MARKER: &str = "EVENKEEL";
const MARKER_DRAFT: &str = "EVENKEEL.new";
const ENGINE: &str = "engine";
const ENGINE_DRAFT: &str = "engine.new";

/// A file of the engine that it has from the beginning.
const VERSION: &str = "version";

/// What the root of a fresh file system holds.
const MOUNT_POINT_ONLY: &str = "lost+found";

pub(super) fn engine_path(root: &Path) -> PathBuf {
    root.join(ENGINE)
}

/// Makes sure that `root` is a data directory that we may open, and that nobody else has it open
/// for as long as the answer lives.
pub(super) fn claim(root: &Path) -> Result<File> {
    check_or_mark(root)?;
    let marker = root.join(MARKER);
    let file = File::open(&marker).map_err(|error| translate_io("open", &marker, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: root.to_path_buf(),
        }),
        Err(TryLockError::Error(source)) => Err(Error::Io {
            action: LOCK,
            path: marker,
            source,
        }),
    }
}

fn check_or_mark(root: &Path) -> Result<()> {
    if root.exists() && !root.is_dir() {
        return Err(Error::Foreign {
            path: root.to_path_buf(),
            found: "it is a file".into(),
        });
    }
    let marker = root.join(MARKER);
    match fs::read(&marker) {
        Ok(content) => check_version(&marker, &content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse_foreign(root)?;
            fs::create_dir_all(root).map_err(|error| translate_io("create", root, error))?;
            write_marker(root)
        }
        Err(error) => Err(translate_io("read", &marker, error)),
    }
}

fn check_version(marker: &Path, content: &[u8]) -> Result<()> {
    let version = std::str::from_utf8(content)
        .ok()
        .and_then(|text| text.strip_prefix("evenkeel "))
        .and_then(|text| text.trim_end().parse::<u32>().ok())
        .filter(|&version| version > 0);
    match version {
        Some(found) if found > FORMAT_VERSION => Err(Error::NewerFormat {
            path: marker.to_path_buf(),
            found,
            supported: FORMAT_VERSION,
        }),
        Some(_) => Ok(()),
        None => Err(Error::Damaged {
            path: marker.to_path_buf(),
            detail: "it does not say which format version the directory has".into(),
        }),
    }
}

fn refuse_foreign(root: &Path) -> Result<()> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(translate_io("list", root, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry
            .map_err(|error| translate_io("list", root, error))?
            .file_name();
        if name != MARKER_DRAFT && name != ENGINE_DRAFT && name != MOUNT_POINT_ONLY {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    if engine_path(root).join(VERSION).is_file() {
        return Err(missing(root.join(MARKER)));
    }
    names.sort();
    let more = names.len().saturating_sub(FOREIGN_NAMES_MAX);
    names.truncate(FOREIGN_NAMES_MAX);
    let mut found = format!("it holds {}", names.join(", "));
    if more > 0 {
        found = format!("{found} and {more} more");
    }
    Err(Error::Foreign {
        path: root.to_path_buf(),
        found,
    })
}

fn write_marker(root: &Path) -> Result<()> {
    let draft = root.join(MARKER_DRAFT);
    let written = File::create(&draft).and_then(|mut file| {
        writeln!(file, "evenkeel {FORMAT_VERSION}")?;
        file.sync_all()
    });
    if let Err(error) = written {
        // The next open writes it again in any case.
        let _ = fs::remove_file(&draft);
        return Err(translate_io("write", &draft, error));
    }
    move_into_place(root, MARKER_DRAFT, MARKER)
}

/// Makes the engine's folder with `create`, which must leave nothing open.
pub(super) fn create_engine(root: &Path, create: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    refuse_lost_engine(root)?;
    let draft = root.join(ENGINE_DRAFT);
    // A draft is what a crash left of an engine that was never opened.
    match fs::remove_dir_all(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(translate_io("remove", &draft, error));
        }
        _ => {}
    }
    create(&draft).inspect_err(|_| {
        // As above.
        let _ = fs::remove_dir_all(&draft);
    })?;
    move_into_place(root, ENGINE_DRAFT, ENGINE)
}

/// Refuses a directory that had an engine: everything else comes after it.
fn refuse_lost_engine(root: &Path) -> Result<()> {
    let before = [MARKER, MARKER_DRAFT, ENGINE_DRAFT, MOUNT_POINT_ONLY];
    for entry in fs::read_dir(root).map_err(|error| translate_io("list", root, error))? {
        let entry = entry.map_err(|error| translate_io("list", root, error))?;
        let found = entry.file_name();
        if before.iter().all(|name| found != *name) {
            let detail = format!("it is missing, and there is {}", found.display());
            return Err(Error::Damaged {
                path: engine_path(root),
                detail,
            });
        }
    }
    Ok(())
}

/// Checks that the engine's folder has the files without which fjall would make parts of it anew.
pub(super) fn check_engine(engine: &Path) -> Result<()> {
    for name in [VERSION, "keyspaces/0/current"] {
        let path = engine.join(name);
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(translate_io("look for", &path, error));
            }
            _ => return Err(missing(path)),
        }
    }
    Ok(())
}

fn missing(path: PathBuf) -> Error {
    Error::Damaged {
        path,
        detail: "it is missing".into(),
    }
}

fn move_into_place(root: &Path, draft: &str, name: &str) -> Result<()> {
    let place = root.join(name);
    fs::rename(root.join(draft), &place).map_err(|error| translate_io("write", &place, error))?;
    sync_directory(root)
}

/// Syncs which files a folder has.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|error| translate_io("sync", path, error))
}

/// Syncs which files the spaces of an engine have, where it may have failed before.
pub(super) fn sync_spaces(engine: &Path) -> Result<()> {
    let folder = engine.join("keyspaces");
    let failed = |error| translate_io("list", &folder, error);
    for space in fs::read_dir(&folder).map_err(failed)? {
        let space = space.map_err(failed)?.path();
        for folder in [space.join("tables"), space] {
            if folder.is_dir() {
                sync_directory(&folder)?;
            }
        }
    }
    sync_directory(&folder)
}

/// The disk that the files below `path` take.
pub(super) fn disk_bytes(path: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|error| translate_io("list", &folder, error))?;
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += allocated_bytes(&metadata),
                // Compaction removes files while they are counted.
                Err(_) => {}
            }
        }
    }
    Ok(bytes)
}

/// Journals are made long and empty, so their length says nothing about the disk they take.
#[cfg(unix)]
fn allocated_bytes(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
fn allocated_bytes(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}
