//! Room on the disk: writes end before it does, and what frees some always has a little.
//!
//! An engine that meets the end of its disk in the middle of a write has to be closed and opened
//! again. So it looks first:
//!
//! ```text
//!   free on the file system
//!   ├───────────── ordinary writes ──────────────┼── memtables ──┼── floor ──┤
//!                                                 what they hold   for flushes, compactions
//!                                                 must still fit   and what frees space
//!   RESERVE      a file of the floor's size; given up when something that frees space finds none
//! ```
//!
//! Free space is shared with every other program of the machine, so the file is what is kept in any
//! case. It is made again when there is room.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::statvfs::statvfs;
use parking_lot::Mutex;

use crate::{Error, Result};

const RESERVE: &str = "RESERVE";
const RESERVE_DRAFT: &str = "RESERVE.new";

/// The floor: this part of the file system, within these bounds.
const FLOOR_PART: u64 = 16;
const FLOOR_BYTES_MIN: u64 = 1 << 20;
const FLOOR_BYTES_MAX: u64 = 64 << 20;

/// What is written between two looks at the file system.
const LOOK_BYTES: u64 = 256 << 10;

/// The least that something that frees space needs.
const LEAST_BYTES: u64 = 256 << 10;

static PIECE: [u8; 64 << 10] = [0xEE; 64 << 10];

/// The file system of a data directory.
#[derive(Debug)]
pub(super) struct Room {
    root: PathBuf,
    floor: u64,
    /// How much was free at the last look.
    free: AtomicU64,
    /// What was written since.
    unseen: AtomicU64,
    reserve: Mutex<()>,
}

impl Room {
    /// Looks at the file system of a directory, and makes the reserve if there is room.
    pub(super) fn new(root: &Path) -> Self {
        let total = statvfs(root).map_or(0, |found| {
            found.fragment_size().saturating_mul(found.blocks())
        });
        let room = Self {
            root: root.to_path_buf(),
            floor: (total / FLOOR_PART).clamp(FLOOR_BYTES_MIN, FLOOR_BYTES_MAX),
            free: AtomicU64::new(u64::MAX),
            unseen: AtomicU64::new(LOOK_BYTES),
            reserve: Mutex::new(()),
        };
        room.look();
        room.keep_reserve(0);
        room
    }

    /// How many bytes are free now. A file system that does not say has room.
    fn look(&self) -> u64 {
        let free = statvfs(&self.root).map_or(u64::MAX, |found| {
            found
                .fragment_size()
                .saturating_mul(found.blocks_available())
        });
        self.unseen.store(0, Ordering::Relaxed);
        self.free.store(free, Ordering::Relaxed);
        free
    }

    /// Refuses an ordinary write of so many bytes that might not fit beside what the memtables hold.
    pub(super) fn admit(&self, bytes: u64, held: u64) -> Result<()> {
        let needed = held.saturating_add(bytes).saturating_add(self.floor);
        let unseen = self.unseen.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let free = self.free.load(Ordering::Relaxed).saturating_sub(unseen);
        if (unseen >= LOOK_BYTES || free < needed) && self.look() < needed {
            return Err(self.full());
        }
        Ok(())
    }

    /// Makes room for something that frees space, at the cost of the reserve.
    pub(super) fn admit_freeing(&self, bytes: u64) -> Result<()> {
        let needed = bytes.saturating_add(LEAST_BYTES);
        if self.look() < needed {
            self.give_up_reserve();
            if self.look() < needed {
                return Err(self.full());
            }
        }
        Ok(())
    }

    /// Whether the file system has less than the floor.
    pub(super) fn is_short(&self) -> bool {
        self.look() < self.floor
    }

    pub(super) fn full(&self) -> Error {
        Error::DiskFull {
            path: self.root.clone(),
        }
    }

    /// Gives the reserve to those that need it.
    pub(super) fn give_up_reserve(&self) {
        let _reserve = self.reserve.lock();
        // If it cannot be removed there is nothing to give.
        let _ = fs::remove_file(self.root.join(RESERVE));
    }

    /// Makes the reserve again if it is gone and there is room for it twice.
    pub(super) fn keep_reserve(&self, held: u64) {
        let _reserve = self.reserve.lock();
        let place = self.root.join(RESERVE);
        let ample = held.saturating_add(self.floor.saturating_mul(3));
        if place.exists() || self.look() < ample {
            return;
        }
        let draft = self.root.join(RESERVE_DRAFT);
        let made = fill(&draft, self.floor).and_then(|()| fs::rename(&draft, &place));
        if made.is_err() {
            // Tried again when there is more room.
            let _ = fs::remove_file(&draft);
        }
    }
}

/// Writes a file of bytes that no file system leaves out or compresses away to nothing.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(PIECE.len());
        let piece = PIECE.get(..size).unwrap_or(&PIECE);
        file.write_all(piece)?;
        left = left.saturating_sub(u64::try_from(piece.len()).unwrap_or(left));
    }
    file.sync_all()
}
