//! What the engine and its keeper share: the opened database, its failure, and how it comes back.
//!
//! **Failure.** When fjall fails to write, the disk may hold part of the batch, and fjall refuses
//! everything from then on. So does this engine, and then it opens fjall anew, in place:
//!
//! ```text
//!   fails ──► closed                fjall's threads end; reads go on over what was open
//!         ──► the journal is written and synced once more, to another file and without the failed batch:
//!             a sync that failed may have lost pages, and the closed fjall writes what it had buffered
//!             to the old file when the last reader lets go of it
//!         ──► opened                writes go on; their spaces are those on disk
//! ```
//!
//! The write that failed returns after that, so its error means that nothing was written. Where the
//! disk is still full or broken the engine stays down, says so to every write, and tries again, by
//! itself and whenever it is written to.
//!
//! Snapshots and scans from before go on over the tables that were open then. Should one be gone that
//! they need, since the new opening compacted it, they fail with words that say so.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ::fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode,
    compaction::filter::Factory, config::CompressionPolicy,
};
use arc_swap::ArcSwap;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

use super::ahead::Ahead;
use super::counters::{Compactions, Counters};
use super::memtables::Pressure;
use super::room::Room;
use super::synced::{self, Synced};
use super::{FjallOptions, directory, failure, journal, table};
use crate::env::{Clock, SystemClock};
use crate::{Error, Result, SpaceId, blocking};

pub(super) type Spaces = HashMap<SpaceId, Keyspace>;

/// The longest that readers may keep an opening from being closed: they hold it for a moment.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// How often it is looked whether they let go of it.
const CLOSE_LOOK: Duration = Duration::from_micros(100);

/// Between two tries to come back, at first and at most.
const TRY_AGAIN: Duration = Duration::from_millis(100);
const TRY_AGAIN_MAX: Duration = Duration::from_secs(5);

/// fjall, as it was opened last.
pub(super) struct Opening {
    pub(super) spaces: Arc<Spaces>,
    /// None while it is closed.
    pub(super) database: Option<Arc<Database>>,
    /// What reads see while it is closed.
    pub(super) last_view: Option<::fjall::Snapshot>,
}

/// Why writes are refused.
struct Failure {
    cause: String,
    full: bool,
    /// The batch that failed, if one did, has this sequence number or a later one.
    undo: Option<u64>,
    tries: u32,
    /// By the engine's clock.
    next_try: Duration,
    /// Set when fjall's threads cannot be waited for.
    stuck: bool,
}

/// The engine without its keeper.
pub(super) struct Core {
    pub(super) opening: ArcSwap<Opening>,
    /// How often it was opened.
    pub(super) openings: Arc<AtomicU64>,
    pub(super) order: RwLock<()>,
    /// Shared while a row is laid down for bulk ingestion, exclusive while fjall is closed.
    pub(super) ingesting: RwLock<()>,
    /// Held while a batch goes to the journal.
    pub(super) ahead: Mutex<Ahead>,
    pub(super) synced: Mutex<Synced>,
    down: AtomicBool,
    failure: Mutex<Option<Failure>>,
    pub(super) pressure: Pressure,
    pub(super) room: Room,
    pub(super) counters: Counters,
    pub(super) options: FjallOptions,
    /// For waits and tries, which decide nothing about what is stored.
    pub(super) clock: SystemClock,
    pub(super) path: PathBuf,
    /// Spaces of earlier openings have no greater id. One that was dropped and is still read removes
    /// its folder in the end, which must not be that of another by then.
    retired: AtomicU64,
    /// The next number of a batch in earlier openings, none of which is given again.
    numbers: AtomicU64,
    /// Dropped last, so that no one opens the directory before this engine has let go of it.
    pub(super) lock: Arc<File>,
}

impl Core {
    pub(super) fn open(root: &Path, options: FjallOptions) -> Result<Self> {
        let lock = directory::claim(root)?;
        let engine = directory::engine_path(root);
        if !engine.is_dir() {
            directory::create_engine(root, |draft| {
                drop(open_database(draft, &options, &Compactions::default())?);
                journal::remove_empty(draft)
            })?;
        }
        let compactions = Compactions::default();
        let (opening, ahead, synced) = open(&engine, &options, &compactions)?;
        Ok(Self {
            counters: Counters::new(compactions, opening.spaces.values()),
            opening: ArcSwap::from_pointee(opening),
            openings: Arc::new(AtomicU64::new(1)),
            order: RwLock::new(()),
            ingesting: RwLock::new(()),
            ahead: Mutex::new(ahead),
            synced: Mutex::new(synced),
            down: AtomicBool::new(false),
            failure: Mutex::new(None),
            pressure: Pressure::new((options.memtable_bytes_max / 16).clamp(4 << 10, 1 << 20)),
            room: Room::new(root),
            options,
            clock: SystemClock::new(),
            path: engine,
            retired: AtomicU64::new(0),
            numbers: AtomicU64::new(0),
            lock: Arc::new(lock),
        })
    }

    /// Why writes are refused, if they are.
    pub(super) fn cause(&self) -> Option<String> {
        self.failure
            .lock()
            .as_ref()
            .map(|failure| failure.cause.clone())
    }

    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::Acquire)
    }

    /// An error if writes are refused, without a try to come back.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_down() {
            return Ok(());
        }
        self.failure
            .lock()
            .as_ref()
            .map_or(Ok(()), |failure| Err(refusal(failure)))
    }

    /// An error unless the engine takes writes, which it is made to if it can be.
    pub(super) fn ready(&self) -> Result<()> {
        if self.is_down() {
            return blocking(|| self.recover()).map_err(|error| match error {
                // Nothing was begun, so that is all there is to say.
                Error::Poisoned { .. } if self.is_full() => self.room.full(),
                other => other,
            });
        }
        Ok(())
    }

    /// Whether writes are refused because the disk is full.
    fn is_full(&self) -> bool {
        let failure = self.failure.lock();
        failure.as_ref().is_some_and(|failure| failure.full)
    }

    /// The opened database.
    pub(super) fn database(opening: &Opening) -> Result<&Arc<Database>> {
        opening.database.as_ref().ok_or_else(|| Error::Poisoned {
            cause: "it is closed".to_owned(),
        })
    }

    /// Refuses writes from now on; the batch that failed, if one did, has this sequence number or a
    /// later one.
    pub(super) fn fail(&self, error: &Error, undo: Option<u64>) {
        self.fail_with(Failure {
            cause: match error {
                Error::Poisoned { cause } => cause.clone(),
                other => other.to_string(),
            },
            full: matches!(error, Error::DiskFull { .. }),
            undo,
            tries: 0,
            next_try: self.clock.monotonic(),
            stuck: false,
        });
    }

    /// Refuses writes for good, since fjall's threads do not come to an end.
    pub(super) fn fail_stuck(&self, cause: String) {
        self.fail_with(Failure {
            cause,
            full: false,
            undo: None,
            tries: 0,
            next_try: self.clock.monotonic(),
            stuck: true,
        });
    }

    fn fail_with(&self, failure: Failure) {
        // The first failure is the one that counts; later ones follow from it.
        self.failure.lock().get_or_insert(failure);
        self.down.store(true, Ordering::Release);
        self.pressure.ease();
    }

    /// Opens fjall again after it failed. Answers with the failure if it cannot be, or if the last try
    /// was a moment ago.
    pub(super) fn recover(&self) -> Result<()> {
        let _order = self.order.write();
        let mut failure = self.failure.lock();
        let Some(found) = failure.as_mut() else {
            return Ok(());
        };
        if found.stuck || self.clock.monotonic() < found.next_try {
            return Err(refusal(found));
        }
        if found.full {
            self.room.give_up_reserve();
        }
        if let Err(error) = self.reopen(found.undo) {
            let pause = TRY_AGAIN.saturating_mul(1 << found.tries.min(6));
            found.tries += 1;
            found.next_try = self.clock.monotonic() + pause.min(TRY_AGAIN_MAX);
            found.full |= matches!(error, Error::DiskFull { .. });
            return Err(refusal(found));
        }
        *failure = None;
        self.down.store(false, Ordering::Release);
        self.pressure.ask_to_look();
        Ok(())
    }

    fn reopen(&self, undo: Option<u64>) -> Result<()> {
        let _ingesting = self.ingesting.write();
        self.close()?;
        journal::replace(&self.path, undo)?;
        directory::sync_spaces(&self.path)?;
        replace_lock(&self.path)?;
        let (opening, ahead, synced) =
            open(&self.path, &self.options, self.counters.compactions())?;
        if let Some(database) = &opening.database {
            let numbers = &database.supervisor.seqno;
            numbers.fetch_max(self.numbers.load(Ordering::Acquire));
        }
        *self.ahead.lock() = ahead;
        *self.synced.lock() = synced;
        self.opening.store(Arc::new(opening));
        Ok(())
    }

    /// Lets go of fjall and waits for its threads to end. What was open can still be read.
    fn close(&self) -> Result<()> {
        self.openings.fetch_add(1, Ordering::AcqRel);
        let old = self.opening.load_full();
        let Some(database) = old.database.clone() else {
            return Ok(());
        };
        let ids = old.spaces.values().map(|keyspace| keyspace.id());
        self.retired
            .fetch_max(ids.max().unwrap_or_default(), Ordering::AcqRel);
        self.numbers.fetch_max(database.seqno(), Ordering::AcqRel);
        self.counters.retire(
            old.spaces
                .values()
                .map(super::counters::flushed)
                .sum::<u64>(),
        );
        self.opening.store(Arc::new(Opening {
            spaces: Arc::clone(&old.spaces),
            last_view: view(&database),
            database: None,
        }));
        drop(old);
        let until = self.clock.monotonic() + CLOSE_WAIT;
        let mut database = database;
        loop {
            match Arc::try_unwrap(database) {
                Ok(last) => {
                    drop(last);
                    return Ok(());
                }
                Err(shared) => database = shared,
            }
            if self.clock.monotonic() > until {
                return Err(Error::Locked {
                    path: self.path.clone(),
                });
            }
            std::thread::park_timeout(CLOSE_LOOK);
        }
    }

    /// Runs a call into fjall that changes the disk, and may wait for it.
    pub(super) fn change<T>(
        &self,
        action: &'static str,
        call: impl FnOnce() -> ::fjall::Result<T>,
    ) -> Result<T> {
        let changed = blocking(|| failure::contain(action, &self.path, call));
        // fjall's own threads tell that they failed, not why.
        changed.map_err(|error| match error {
            Error::Poisoned { .. } if self.room.is_short() => self.room.full(),
            other => other,
        })
    }

    /// Syncs the journal. The caller keeps batches out, or does not mind them.
    pub(super) fn persist(&self, database: &Database) -> Result<()> {
        let written = self.synced.lock().written();
        self.change("sync the journal of", || {
            database.persist(PersistMode::SyncData)
        })?;
        self.synced.lock().advance(written);
        Ok(())
    }

    /// Makes the space of that name, under an id that no space had before.
    pub(super) fn create(&self, database: &Database, space: SpaceId) -> ::fjall::Result<Keyspace> {
        loop {
            let keyspace = database.keyspace(&space_name(space), || self.space_options())?;
            if keyspace.id() > self.retired.load(Ordering::Acquire) {
                table::note_made(keyspace.path());
                return Ok(keyspace);
            }
            database.delete_keyspace(keyspace)?;
        }
    }

    fn space_options(&self) -> KeyspaceCreateOptions {
        // The upper levels are rewritten soon and stay plain; what sinks lower is most of the data.
        let compression = CompressionPolicy::new([
            CompressionType::None,
            CompressionType::None,
            CompressionType::Lz4,
        ]);
        KeyspaceCreateOptions::default()
            // The keeper seals memtables.
            .max_memtable_size(u64::MAX)
            .data_block_compression_policy(compression)
    }
}

fn refusal(failure: &Failure) -> Error {
    Error::Poisoned {
        cause: failure.cause.clone(),
    }
}

/// What is to be seen now; nothing before the first write: fjall takes a snapshot of its instant 0 for
/// none at all when it looks for the oldest one, and then gives up what others see.
pub(super) fn view(database: &Database) -> Option<::fjall::Snapshot> {
    (database.visible_seqno() > 0).then(|| database.snapshot())
}

/// Checks what is on disk, and opens it.
fn open(
    engine: &Path,
    options: &FjallOptions,
    compactions: &Compactions,
) -> Result<(Opening, Ahead, Synced)> {
    directory::check_engine(engine)?;
    let note = synced::read(engine)?;
    let checked = journal::check(engine, note)?;
    table::check(engine)?;
    journal::join(engine)?;
    // Journals whose removal is not on the disk yet would come back with rows of spaces that are gone.
    directory::sync_directory(engine)?;
    let newest = journal::newest(engine)?.map(|(number, _)| number);
    let mut synced = Synced::open(engine, note, newest)?;
    if let Some(end) = checked.end {
        synced.advance(end);
    }
    let database = open_database(engine, options, compactions)?;
    if let Some(highest) = checked.highest {
        // fjall forgets the numbers of batches that were all for spaces since dropped.
        database.supervisor.seqno.fetch_max(highest + 1);
    }
    let opening = Opening {
        spaces: Arc::new(find_spaces(&database, engine)?),
        database: Some(Arc::new(database)),
        last_view: None,
    };
    let ahead = Ahead::new(engine.to_path_buf(), newest, options.journal_zeros);
    Ok((opening, ahead, synced))
}

/// Gives fjall a lock of its own: the old one is held by what is still read. Other processes are kept
/// out by the lock of the directory.
fn replace_lock(engine: &Path) -> Result<()> {
    let path = engine.join("lock");
    let draft = engine.join("lock.new");
    let replaced = File::create(&draft).and_then(|_| fs::rename(&draft, &path));
    replaced.map_err(|error| failure::translate_io("replace", &path, error))
}

fn open_database(
    path: &Path,
    options: &FjallOptions,
    compactions: &Compactions,
) -> Result<Database> {
    let counted: Arc<dyn Factory> = Arc::new(compactions.clone());
    let mut builder = Database::builder(path)
        .with_compaction_filter_factories(Arc::new(move |_| Some(Arc::clone(&counted))))
        .cache_size(options.cache_bytes_max)
        // The keeper sees to it that journals can go.
        .max_journaling_size(u64::MAX);
    if let Some(threads) = options.worker_threads {
        builder = builder.worker_threads(threads.max(1));
    }
    failure::contain("open", path, || builder.open())
}

fn find_spaces(database: &Database, path: &Path) -> Result<Spaces> {
    let mut spaces = Spaces::new();
    for name in database.list_keyspace_names() {
        let number = name
            .strip_prefix('s')
            .and_then(|number| number.parse().ok());
        let Some(number) = number else {
            return Err(Error::Damaged {
                path: path.to_path_buf(),
                detail: format!("it holds a space named {name:?}, which we never make"),
            });
        };
        let keyspace = database
            .keyspace(&name, KeyspaceCreateOptions::default)
            .map_err(|error| failure::translate("open a space of", path, error))?;
        table::note_made(keyspace.path());
        spaces.insert(SpaceId(number), keyspace);
    }
    Ok(spaces)
}

fn space_name(space: SpaceId) -> String {
    format!("s{}", space.0)
}

pub(super) fn find(spaces: &Spaces, space: SpaceId) -> Result<&Keyspace> {
    spaces.get(&space).ok_or(Error::NoSuchSpace(space))
}
