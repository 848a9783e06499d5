//! A database directory that can be killed: copied while it is open, and its journal torn.
//!
//! ```text
//!   journal   ████████████████████░░░░░░░░░░░░░0000000…
//!             └─ synced ─────────┘└ unsynced ─┘└ never written
//!   kill      ████████████████████░░░░░░░░░░░░░            the operating system has it all
//!   power     ████████████████████░░░░░▒▒▒                 cut anywhere, rubbish after the cut
//! ```
//!
//! The engine's note of what it synced is as old then as what is taken for synced: a commit that was
//! written and synced, and broke off behind that, may be cut off too.
//!
//! Memtables are small, so that they become tables and tables are compacted within a life. The engine
//! syncs the journal by itself before that, so nothing is cut when there are other files of tables than
//! when the journal was last known to be synced.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use storage::{Engine, FjallEngine, FjallOptions};
use tempfile::TempDir;

use crate::chance::Chance;
use crate::error::{Checked, Wrong};

/// How much of a journal is looked at at a time. Nothing we write holds as many zeros in a row.
const CHUNK_BYTES: usize = 1 << 16;

/// How often a directory is copied until it stands still meanwhile.
const COPIES_MAX: usize = 1_000;

/// Memory that one space, and all together, fill with writes before they become tables.
const MEMTABLE_BYTES_MAX: u64 = 2 << 10;
const MEMTABLES_BYTES_MAX: u64 = 64 << 10;

/// How much rubbish follows a torn end.
const RUBBISH_BYTES_MAX: u64 = 300;

#[derive(Debug)]
pub(crate) struct Disk {
    root: TempDir,
    life: u64,
    synced_bytes: u64,
    /// What the engine's note said when the journal was synced last.
    note: Option<Vec<u8>>,
    /// The files of tables that there were then.
    tables: BTreeMap<PathBuf, u64>,
}

impl Disk {
    pub(crate) fn new() -> Checked<Self> {
        Ok(Self {
            root: tempfile::tempdir().map_err(wrong)?,
            life: 0,
            synced_bytes: 0,
            note: None,
            tables: BTreeMap::new(),
        })
    }

    fn path(&self) -> PathBuf {
        self.root.path().join(format!("life{}", self.life))
    }

    fn journal(&self) -> PathBuf {
        self.path().join("engine").join("1.jnl")
    }

    /// The files of tables, and how long each is.
    fn tables(&self) -> io::Result<BTreeMap<PathBuf, u64>> {
        let root = self.path().join("engine").join("keyspaces");
        let mut found = BTreeMap::new();
        match list(&root, &mut found) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
        let below = found.into_iter().filter_map(|(path, bytes)| {
            let path = path.strip_prefix(&root).ok()?.to_path_buf();
            Some((path, bytes))
        });
        Ok(below.collect())
    }

    pub(crate) fn opener(
        &self,
    ) -> impl Fn() -> storage::Result<Arc<dyn Engine>> + Send + Sync + 'static {
        let path = self.path();
        let options = FjallOptions {
            worker_threads: Some(1),
            memtable_bytes_max: MEMTABLE_BYTES_MAX,
            memtables_bytes_max: MEMTABLES_BYTES_MAX,
            ..FjallOptions::default()
        };
        move || Ok(Arc::new(FjallEngine::open(&path, options.clone())?))
    }

    fn note(&self) -> PathBuf {
        self.path().join("engine").join("SYNCED")
    }

    pub(crate) fn mark_synced(&mut self) -> Checked<()> {
        self.synced_bytes = self.journal_bytes()?;
        self.note = fs::read(self.note()).ok();
        // One that changes meanwhile is another one at the next power failure, too.
        self.tables = self.tables().unwrap_or_default();
        Ok(())
    }

    /// Where the journal's last byte was written, looking from the last known place on.
    fn journal_bytes(&self) -> Checked<u64> {
        let mut file = match File::open(self.journal()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            other => other.map_err(wrong)?,
        };
        let mut end = self.synced_bytes;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            file.seek(SeekFrom::Start(end)).map_err(wrong)?;
            let read = file.read(&mut chunk).map_err(wrong)?;
            let filled = chunk.iter().take(read).rposition(|byte| *byte != 0);
            match filled {
                Some(last) => end += u64::try_from(last + 1).map_err(wrong)?,
                None => return Ok(end),
            }
        }
    }

    pub(crate) fn kill(&mut self) -> Checked<()> {
        let from = self.path();
        self.life += 1;
        let to = self.path();
        for _ in 0..COPIES_MAX {
            if copy_whole(&from, &to).map_err(wrong)? {
                return Ok(());
            }
        }
        Err(Wrong("the directory never stands still".to_owned()))
    }

    pub(crate) fn power_off(&mut self, chance: &Chance) -> Checked<bool> {
        let end = self.journal_bytes()?;
        self.kill()?;
        if self.tables().map_err(wrong)? != self.tables {
            return Ok(false);
        }
        let unsynced = end.saturating_sub(self.synced_bytes);
        let cut = self.synced_bytes + chance.below(unsynced + 1);
        let mut file = OpenOptions::new()
            .write(true)
            .open(self.journal())
            .map_err(wrong)?;
        file.set_len(cut).map_err(wrong)?;
        if let Some(note) = &self.note {
            fs::write(self.note(), note).map_err(wrong)?;
        }
        if unsynced > 0 && chance.one_in(2) {
            file.seek(SeekFrom::End(0)).map_err(wrong)?;
            let count = chance.below(RUBBISH_BYTES_MAX);
            let rubbish: Vec<u8> = (0..count)
                .filter_map(|_| u8::try_from(chance.below(256)).ok())
                .collect();
            file.write_all(&rubbish).map_err(wrong)?;
        }
        Ok(cut < end)
    }

    /// Removes the directories of earlier lives.
    pub(crate) fn sweep(&self) {
        if let Some(before) = self.life.checked_sub(1) {
            // What cannot be removed now goes with the temporary directory.
            let _ = fs::remove_dir_all(self.root.path().join(format!("life{before}")));
        }
    }
}

/// Copies a directory as of one instant; false if it changed meanwhile. The engine compacts in the
/// background when rows were loaded.
fn copy_whole(from: &Path, to: &Path) -> io::Result<bool> {
    let mut before = BTreeMap::new();
    let mut after = BTreeMap::new();
    let vanished = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let copied = list(from, &mut before)
        .and_then(|()| copy(from, to))
        .and_then(|()| list(from, &mut after));
    match copied {
        Ok(()) if before == after => return Ok(true),
        Ok(()) => {}
        Err(error) if vanished(&error) => {}
        Err(error) => return Err(error),
    }
    match fs::remove_dir_all(to) {
        // Nothing was copied before a file went.
        Err(error) if vanished(&error) => {}
        other => other?,
    }
    std::thread::yield_now();
    Ok(false)
}

/// The files below a directory, and how long each is.
fn list(path: &Path, files: &mut BTreeMap<PathBuf, u64>) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            let bytes = fs::metadata(&path)?.len();
            files.insert(path, bytes);
        }
    }
    Ok(())
}

/// Copies what is on the disk; a journal's empty end is not carried along.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn wrong(error: impl std::fmt::Display) -> Wrong {
    Wrong(format!("the simulator's own files failed: {error}"))
}
