//! The fjall engine: an embedded LSM on disk, and the directory around it.
//!
//! ```text
//!   <data directory>
//!   ├── EVENKEEL          "evenkeel 1": this directory is ours, in format version 1   (directory.rs)
//!   ├── RESERVE           room for what frees space on a full disk                    (room.rs)
//!   ├── objects/          parts of large objects, once there are any     (parts/files.rs, not ours)
//!   └── engine/           everything below belongs to fjall, but the notes
//!       ├── 1.jnl         the journal: each batch, with its checksum                  (journal.rs)
//!       ├── SYNCED        a note: how far the journal was synced                      (synced.rs)
//!       └── keyspaces/    one LSM tree for each space, named s<number> in tree 0      (table.rs)
//! ```
//!
//! **What a write survives.** A buffered batch is handed to the operating system before the write
//! returns, so it survives the end of the process but not of the machine's power. A synced batch is
//! followed by `fdatasync` of the journal, which is quicker over blocks that the file has already
//! (ahead.rs).
//!
//! **Whole batches.** A memtable becomes a table only when all that it holds is on disk in the journal
//! too, or half of a buffered batch could survive a loss of power in the table of one space. So a thread
//! of ours decides when memtables are sealed (keeper.rs, memtables.rs), with the journal synced before
//! and no batch on its way.
//!
//! **Order.** Making and dropping spaces, sealing and bulk ingestion bypass the journal. To keep the
//! promise that no change survives without those before it, each of them first syncs the journal, and
//! keeps batches out until it is done. Batches keep out nothing but those:
//!
//! ```text
//!   order lock     shared:     write
//!                  exclusive:  create_space, drop_space, the last step of ingest, sealing, opening again
//! ```
//!
//! **Reading.** The handles of all spaces are one immutable map behind an atomic pointer. A get loads
//! the pointer and takes no lock; a snapshot keeps the map of its instant, and with it the data of
//! spaces that are dropped later.
//!
//! **Failure.** When fjall fails to write or sync, it is opened again in place, without the batch that
//! failed, and the journal is written and synced once more (core.rs). While that cannot be, all writes
//! are refused with the first cause; reads go on. A disk that is almost full is met before (room.rs).
//!
//! The directory stays locked until the engine and all its snapshots are gone.

mod ahead;
mod core;
mod counters;
mod directory;
pub(crate) mod failure;
mod journal;
mod keeper;
mod memtables;
mod room;
mod synced;
mod table;
mod view;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::fjall::{AbstractTree, OwnedWriteBatch, PersistMode};
use bytes::Bytes;

use self::core::{Core, Opening, Spaces, find};
use crate::engine::check_key;
use crate::{
    Batch, Durability, Engine, EngineCounters, Error, Operation, Pair, Result, Snapshot, SpaceId,
    blocking,
};
use keeper::Keeper;
use view::FjallSnapshot;

/// What an engine on disk may use.
#[derive(Clone, Debug)]
pub struct FjallOptions {
    /// Memory for blocks that were read, filled as they are; shared by all spaces.
    pub cache_bytes_max: u64,
    /// Memory that one space fills with writes before they become a table.
    pub memtable_bytes_max: u64,
    /// Memory that all spaces together fill with writes before some become tables.
    pub memtables_bytes_max: u64,
    /// Disk that journals may take before spaces that are written rarely are made to give theirs up.
    pub journal_bytes_max: u64,
    /// Whether zeros are written ahead of the journal's end, which makes syncs cheaper.
    pub journal_zeros: bool,
    /// Threads that flush and compact; none means as many as fjall thinks fit, and two at least.
    pub worker_threads: Option<usize>,
}

impl Default for FjallOptions {
    fn default() -> Self {
        Self {
            cache_bytes_max: 128 << 20,
            // Below what fjall seals by itself in spaces that an earlier version made, at 32 MiB.
            memtable_bytes_max: 28 << 20,
            memtables_bytes_max: 256 << 20,
            journal_bytes_max: 256 << 20,
            journal_zeros: true,
            worker_threads: None,
        }
    }
}

/// An engine on disk.
pub struct FjallEngine {
    /// Ended before the rest goes.
    _keeper: Keeper,
    core: Arc<Core>,
}

impl fmt::Debug for FjallEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

impl FjallEngine {
    /// Opens the data directory at `path`; a missing or empty directory becomes one.
    pub fn open(path: impl AsRef<Path>, options: FjallOptions) -> Result<Self> {
        let core = Arc::new(Core::open(path.as_ref(), options)?);
        let _keeper = Keeper::start(&core)?;
        Ok(Self { _keeper, core })
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallEngine")
            .field("path", &self.path)
            .field("failure", &self.cause())
            .finish_non_exhaustive()
    }
}

impl Core {
    /// Runs a step that changes the disk. If that breaks fjall, it is opened again, and the error means
    /// that nothing was done; if it cannot be, the engine is down.
    fn attempt<T>(&self, step: impl FnOnce() -> Result<T>) -> Result<T> {
        let error = match step() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if self.is_down() {
            blocking(|| self.recover())?;
        }
        // Another step broke it before this one began.
        Err(match error {
            Error::Poisoned { .. } => self.interrupted(),
            other => other,
        })
    }

    /// Runs a call into fjall that breaks it if it fails; with the number of the batch, if it is one.
    fn step<T>(
        &self,
        action: &'static str,
        undo: Option<u64>,
        call: impl FnOnce() -> ::fjall::Result<T>,
    ) -> Result<T> {
        self.change(action, call)
            .inspect_err(|error| self.fail(error, undo))
    }

    fn sync_journal(&self) -> Result<()> {
        let opening = self.opening.load();
        let database = Self::database(&opening)?;
        self.persist(database)
            .inspect_err(|error| self.fail(error, None))
    }

    /// Waits until the memtables have room, and looks whether the disk has.
    fn admit(&self, bytes: u64, frees_space: bool) -> Result<()> {
        self.ready()?;
        while !self.pressure.is_low() {
            blocking(|| self.pressure.rest_a_little());
            self.ready()?;
        }
        if frees_space {
            return self.room.admit_freeing(bytes);
        }
        let admitted = self.room.admit(bytes, self.pressure.held());
        admitted.inspect_err(|_| self.pressure.ask_to_seal_all())
    }

    /// Changes which spaces exist, with the journal synced before and no batch on its way.
    fn change_spaces(
        &self,
        change: impl FnOnce(&::fjall::Database, &mut Spaces) -> ::fjall::Result<()>,
    ) -> Result<()> {
        self.ready()?;
        self.room.admit_freeing(0)?;
        self.attempt(|| {
            let _order = self.order.write();
            self.check()?;
            self.sync_journal()?;
            let opening = self.opening.load_full();
            let database = Self::database(&opening)?;
            let mut spaces = Spaces::clone(&opening.spaces);
            self.step("change the spaces of", None, || {
                change(database, &mut spaces)
            })?;
            self.opening.store(Arc::new(Opening {
                spaces: Arc::new(spaces),
                database: Some(Arc::clone(database)),
                last_view: None,
            }));
            Ok(())
        })
    }
}

impl Engine for FjallEngine {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        let opening = self.core.opening.load();
        let keyspace = find(&opening.spaces, space)?;
        if check_key(key).is_err() {
            return Ok(None);
        }
        let value = failure::contain("read", keyspace.path(), || keyspace.get(key))?;
        Ok(value.map(Bytes::from))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(FjallSnapshot::new(&self.core)))
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<()> {
        if batch.is_empty() {
            self.core.ready()?;
            return match durability {
                Durability::Synced => self.sync(),
                Durability::Buffered => Ok(()),
            };
        }
        let bytes_max = batch
            .operations()
            .iter()
            .map(ahead::record_bytes_max)
            .sum::<u64>()
            + ahead::BATCH_BYTES_MAX;
        self.core.admit(bytes_max, batch.frees_space())?;
        self.core.attempt(|| {
            let _order = self.core.order.read();
            let opening = self.core.opening.load();
            let database = Core::database(&opening)?;
            let mut changes = OwnedWriteBatch::with_capacity((**database).clone(), batch.len())
                .durability(Some(match durability {
                    Durability::Synced => PersistMode::SyncData,
                    Durability::Buffered => PersistMode::Buffer,
                }));
            for operation in batch.into_operations() {
                match operation {
                    Operation::Put(space, key, value) => {
                        check_key(&key)?;
                        changes.insert(find(&opening.spaces, space)?, key, value);
                    }
                    Operation::Remove(space, key) => {
                        check_key(&key)?;
                        changes.remove(find(&opening.spaces, space)?, key);
                    }
                }
            }
            let mut ahead = self.core.ahead.lock();
            self.core.check()?;
            ahead.make_room(bytes_max);
            // Batches are written one at a time: this one gets the next number, or a later one.
            let seqno = database.seqno();
            self.core
                .step("write to", Some(seqno), || changes.commit())?;
            let journal = ahead.written();
            let mut synced = self.core.synced.lock();
            synced.wrote(journal, seqno, bytes_max);
            if durability == Durability::Synced {
                synced.advance((journal, seqno));
            }
            self.core.pressure.wrote(bytes_max);
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.core.ready()?;
        self.core.attempt(|| {
            let _order = self.core.order.read();
            self.core.check()?;
            self.core.sync_journal()
        })
    }

    fn ingest_when(
        &self,
        space: SpaceId,
        rows: &mut dyn Iterator<Item = Pair>,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>> {
        self.core.admit(0, false)?;
        let number = self.core.openings.load(Ordering::Acquire);
        let keyspace = find(&self.core.opening.load().spaces, space)?.clone();
        while keyspace.tree.l0_run_count() >= memtables::RUNS_MAX {
            blocking(|| self.core.pressure.rest_a_little());
            self.core.ready()?;
            self.core.check_opening(number)?;
        }
        // Nothing is visible before the last step: leaving early on an error changes nothing, but what
        // was laid down so far is in the way until the engine is opened again.
        let begun = failure::contain("ingest into", keyspace.path(), || {
            keyspace.start_ingestion()
        });
        let mut ingestion = begun?;
        // No key is empty, so each comes after this.
        let mut last = Vec::new();
        let mut count = 0;
        for (key, value) in rows {
            check_key(&key)?;
            if last.as_slice() >= key.as_ref() {
                return Err(Error::OutOfOrder { row: count });
            }
            last.clear();
            last.extend_from_slice(&key);
            self.core.lay_down(number, || ingestion.write(key, value))?;
            count += 1;
        }
        if !ready() {
            return Ok(None);
        }
        self.core.attempt(|| {
            let _order = self.core.order.write();
            self.core.check()?;
            self.core.check_opening(number)?;
            self.core.sync_journal()?;
            let finished = self.core.step("ingest into", None, || ingestion.finish());
            finished.map_err(|error| Error::Unknown {
                path: self.core.path.clone(),
                cause: error.to_string(),
            })
        })?;
        self.core.pressure.ask_to_look();
        Ok(Some(count))
    }

    fn create_space(&self, space: SpaceId) -> Result<()> {
        self.core.ready()?;
        if self.core.opening.load().spaces.contains_key(&space) {
            return Ok(());
        }
        let created = self.core.change_spaces(|database, spaces| {
            let keyspace = self.core.create(database, space)?;
            spaces.insert(space, keyspace);
            Ok(())
        });
        // A failure behind the step that counts leaves the space there when the engine is back.
        created.or_else(|error| match self.core.has(space) {
            Some(true) => Ok(()),
            _ => Err(error),
        })
    }

    fn drop_space(&self, space: SpaceId) -> Result<()> {
        self.core.ready()?;
        if let Ok(keyspace) = find(&self.core.opening.load().spaces, space) {
            table::forget_made(keyspace.path())?;
        }
        let mut flushes = 0;
        let dropped = self
            .core
            .change_spaces(|database, spaces| match spaces.remove(&space) {
                Some(keyspace) => {
                    flushes = counters::flushed(&keyspace);
                    close_tables(&keyspace);
                    database.delete_keyspace(keyspace)
                }
                None => Ok(()),
            });
        match (dropped, self.core.has(space)) {
            (Ok(()), _) => {
                self.core.counters.retire(flushes);
                self.core.pressure.ask_to_seal_all();
            }
            (Err(_), Some(false)) => {}
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }

    fn spaces(&self) -> Result<Vec<SpaceId>> {
        let mut spaces: Vec<SpaceId> = self.core.opening.load().spaces.keys().copied().collect();
        spaces.sort_unstable();
        Ok(spaces)
    }

    fn disk_bytes(&self) -> Result<u64> {
        directory::disk_bytes(&self.core.path)
    }

    fn counters(&self) -> EngineCounters {
        self.core.counted()
    }

    fn admit(&self, bytes: u64) -> Result<()> {
        self.core.admit(bytes, false)
    }

    fn comes_back(&self) -> bool {
        true
    }
}

/// Closes the files of a space that is dropped. fjall keeps a number of files open, and would keep these:
/// the disk that they take would be free only when others have taken their place.
fn close_tables(keyspace: &::fjall::Keyspace) {
    if let Some(open) = &keyspace.tree.tree_config().descriptor_table {
        for table in keyspace.tree.current_version().iter_tables() {
            open.remove_for_table(&(keyspace.tree.id(), table.id()).into());
        }
    }
}

impl Core {
    /// Whether there is a space; none while the engine is down, when that is not known.
    fn has(&self, space: SpaceId) -> Option<bool> {
        (!self.is_down()).then(|| self.opening.load().spaces.contains_key(&space))
    }

    fn counted(&self) -> EngineCounters {
        self.counters.read(self.opening.load().spaces.values())
    }

    /// Refuses to go on with something that began before fjall was opened again.
    fn check_opening(&self, number: u64) -> Result<()> {
        if self.openings.load(Ordering::Acquire) == number {
            return Ok(());
        }
        Err(self.interrupted())
    }

    fn interrupted(&self) -> Error {
        Error::Interrupted {
            path: self.path.clone(),
        }
    }

    /// Lays a row down for bulk ingestion.
    fn lay_down(&self, number: u64, write: impl FnOnce() -> ::fjall::Result<()>) -> Result<()> {
        self.attempt(|| {
            let _ingesting = self.ingesting.read();
            self.check_opening(number)?;
            write().map_err(|error| {
                let error = failure::translate("ingest into", &self.path, error);
                self.fail(&error, None);
                error
            })
        })
    }
}
