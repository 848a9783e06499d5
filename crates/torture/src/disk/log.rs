//! The recorder's log, as records.
//!
//! ```text
//!   magic u32 │ bytes u32 │ kind u32 │ flags u32 │ result i64 │ error u32 │ thread u32
//!   inode u64 │ offset u64 │ length u64 │ site u64 │ path u32 │ path u32 │ data u32 │ 0 u32
//!   path │ second path │ data
//! ```

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::{Error, Result};

const MAGIC: u32 = 0x4b53_4944;
const HEAD_BYTES: usize = 80;

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A file or folder was opened.
    Open,
    /// Bytes were written to a file.
    Write,
    /// A file was made longer or shorter.
    Truncate,
    /// Blocks were asked for.
    Allocate,
    /// A file or folder was synced.
    Sync,
    /// A file or folder was moved.
    Rename,
    /// A second name was made.
    Link,
    /// A file was removed.
    Unlink,
    /// A folder was made.
    MakeFolder,
    /// A folder was removed.
    RemoveFolder,
    /// The client said something.
    Mark,
    /// Bytes of a file were read.
    Read,
}

impl Kind {
    /// All of them, as the recorder numbers them from 1.
    pub const ALL: [Self; 12] = [
        Self::Open,
        Self::Write,
        Self::Truncate,
        Self::Allocate,
        Self::Sync,
        Self::Rename,
        Self::Link,
        Self::Unlink,
        Self::MakeFolder,
        Self::RemoveFolder,
        Self::Mark,
        Self::Read,
    ];

    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Allocate => "allocate",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Unlink => "unlink",
            Self::MakeFolder => "mkdir",
            Self::RemoveFolder => "rmdir",
            Self::Mark => "mark",
            Self::Read => "read",
        }
    }

    fn read(number: u32) -> Option<Self> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        Self::ALL.get(place).copied()
    }
}

/// One call.
#[derive(Clone, Debug)]
pub struct Record {
    /// What was called.
    pub kind: Kind,
    /// Its flags.
    pub flags: u32,
    /// The error that it returned, or 0.
    pub error: u32,
    /// The file.
    pub ino: u64,
    /// Where in the file.
    pub offset: u64,
    /// How much of it, or how long it is from now on.
    pub length: u64,
    /// Where in the program the call came from.
    pub site: u64,
    /// The path, below the directory.
    pub path: String,
    /// The path that it got.
    pub path2: String,
    /// What was written.
    pub data: Arc<[u8]>,
}

impl Record {
    /// Whether an open made the file.
    pub fn created(&self) -> bool {
        self.flags & 1 != 0
    }
    /// Whether an open emptied the file.
    pub fn emptied(&self) -> bool {
        self.flags & 2 != 0
    }
    /// Whether what was opened is a folder.
    pub fn is_folder(&self) -> bool {
        self.flags & 4 != 0
    }
    /// Whether only zeros were written, which are left out.
    pub fn is_zeros(&self) -> bool {
        self.flags & 8 != 0
    }
    /// Whether the call was made to fail.
    pub fn injected(&self) -> bool {
        self.flags & 16 != 0
    }
    /// Whether the content was left out.
    pub fn is_elided(&self) -> bool {
        self.flags & 64 != 0
    }
    /// Whether a full disk fails the call.
    pub fn needs_room(&self) -> bool {
        match self.kind {
            Kind::Open => self.created(),
            Kind::Truncate => self.length > 0,
            Kind::Unlink | Kind::RemoveFolder | Kind::Mark | Kind::Read => false,
            _ => true,
        }
    }
}

/// The records of a log, in order; a last one that was cut off is left out.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let content = fs::read(path)?;
    let mut rest = content.as_slice();
    let mut records = Vec::new();
    while rest.len() >= HEAD_BYTES {
        let length = usize::try_from(number(rest, 4)).unwrap_or(usize::MAX);
        let Some((record, after)) = rest.split_at_checked(length) else {
            break;
        };
        let record = parse(record).ok_or_else(|| {
            let at = content.len() - rest.len();
            Error::Disk(format!("the log {} makes no sense at {at}", path.display()))
        })?;
        records.push(record);
        rest = after;
    }
    Ok(records)
}

fn parse(bytes: &[u8]) -> Option<Record> {
    if number(bytes, 0) != MAGIC {
        return None;
    }
    let length = |at| usize::try_from(number(bytes, at)).ok();
    let (path, path2, data) = (length(64)?, length(68)?, length(72)?);
    let (_, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let (path, rest) = rest.split_at_checked(path)?;
    let (path2, rest) = rest.split_at_checked(path2)?;
    Some(Record {
        kind: Kind::read(number(bytes, 8))?,
        flags: number(bytes, 12),
        error: number(bytes, 24),
        ino: wide(bytes, 32),
        offset: wide(bytes, 40),
        length: wide(bytes, 48),
        site: wide(bytes, 56),
        path: String::from_utf8_lossy(path).into_owned(),
        path2: String::from_utf8_lossy(path2).into_owned(),
        data: rest.get(..data)?.into(),
    })
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.map_or(0, |four| u32::from_le_bytes(*four))
}

fn wide(bytes: &[u8], at: usize) -> u64 {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.map_or(0, |eight| u64::from_le_bytes(*eight))
}
