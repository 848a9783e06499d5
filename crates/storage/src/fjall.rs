//! The fjall engine: an embedded LSM on disk, and the directory around it.
//!
//! ```text
//!   <data directory>
//!   ├── EVENKEEL          "evenkeel 1": this directory is ours, in format version 1   (directory.rs)
//!   └── engine/           everything below belongs to fjall
//!       ├── 1.jnl         the journal: each batch, with its checksum                   (journal.rs)
//!       └── keyspaces/    one LSM tree for each space, named s<number> in tree 0            (table.rs)
//! ```
//!
//! **What a write survives.** A buffered batch is handed to the operating system before the write
//! returns, so it survives the end of the process but not of the machine's power. A synced batch is
//! followed by `fdatasync` of the journal, which is quicker over blocks that the file has already
//! (ahead.rs). fjall syncs the journal before it turns a memtable into a
//! table, so no table holds half of a batch whose journal record could still be lost.
//!
//! **Order.** Making and dropping spaces and bulk ingestion bypass the journal. To keep the promise
//! that no change survives without those before it, each of them first syncs the journal, and keeps
//! batches out until it is done. Batches keep out nothing but those:
//!
//! ```text
//!   order lock     shared:     write
//!                  exclusive:  create_space, drop_space, the last step of ingest
//! ```
//!
//! **Reading.** The handles of all spaces are one immutable map behind an atomic pointer. A get loads
//! the pointer and takes no lock; a snapshot keeps the map of its instant, and with it the data of
//! spaces that are dropped later.
//!
//! **Poison.** Once fjall fails to write or sync, nobody knows what the disk holds. The engine
//! remembers the first cause and refuses all writes; reads go on.
//!
//! The directory stays locked until the engine and all its snapshots are gone.

mod ahead;
mod counters;
mod directory;
mod failure;
mod journal;
mod table;
mod view;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ::fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode,
    compaction::filter::Factory, config::CompressionPolicy,
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

use crate::engine::check_key;
use crate::{
    Batch, Durability, Engine, EngineCounters, Error, Operation, Pair, Result, Snapshot, SpaceId,
    blocking,
};
use ahead::Ahead;
use counters::{Compactions, Counters};
use view::FjallSnapshot;

/// What an engine on disk may use.
#[derive(Clone, Debug)]
pub struct FjallOptions {
    /// Memory for blocks that were read, filled as they are; shared by all spaces.
    pub cache_bytes_max: u64,
    /// Memory that one space fills with writes before they become a table.
    pub memtable_bytes_max: u64,
    /// Disk that journals may take before spaces that are written rarely are made to give theirs up.
    pub journal_bytes_max: u64,
    /// Threads that flush and compact; none means as many as fjall thinks fit.
    pub worker_threads: Option<usize>,
}

impl FjallOptions {
    const JOURNAL_BYTES_MIN: u64 = 64 << 20;
}

impl Default for FjallOptions {
    fn default() -> Self {
        Self {
            cache_bytes_max: 128 << 20,
            memtable_bytes_max: 32 << 20,
            // What lies in memtables lies in journals too, so this bounds the memory of all spaces.
            journal_bytes_max: 256 << 20,
            worker_threads: None,
        }
    }
}

type Spaces = HashMap<SpaceId, Keyspace>;

/// An engine on disk.
pub struct FjallEngine {
    spaces: ArcSwap<Spaces>,
    order: RwLock<()>,
    /// Held while a batch goes to the journal.
    ahead: Mutex<Ahead>,
    poison: OnceLock<String>,
    counters: Counters,
    options: FjallOptions,
    path: PathBuf,
    database: Database,
    /// Dropped last, so that no one opens the directory before this engine has let go of it.
    lock: Arc<File>,
}

impl fmt::Debug for FjallEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallEngine")
            .field("path", &self.path)
            .field("poison", &self.poison.get())
            .finish_non_exhaustive()
    }
}

impl FjallEngine {
    /// Opens the data directory at `path`; a missing or empty directory becomes one.
    pub fn open(path: impl AsRef<Path>, options: FjallOptions) -> Result<Self> {
        let root = path.as_ref();
        let lock = directory::claim(root)?;
        let engine = directory::engine_path(root);
        if engine.is_dir() {
            directory::check_engine(&engine)?;
            journal::check(&engine)?;
            table::check(&engine)?;
        } else {
            directory::create_engine(root, |draft| {
                drop(open_database(draft, &options, &Compactions::default())?);
                journal::remove_empty(draft)
            })?;
        }
        let replayed = journal::newest(&engine)?;
        let compactions = Compactions::default();
        let database = open_database(&engine, &options, &compactions)?;
        let spaces = find_spaces(&database, &engine)?;
        Ok(Self {
            counters: Counters::new(compactions, spaces.values()),
            spaces: ArcSwap::from_pointee(spaces),
            order: RwLock::new(()),
            ahead: Mutex::new(Ahead::new(engine.clone(), replayed)),
            poison: OnceLock::new(),
            options,
            path: engine,
            database,
            lock: Arc::new(lock),
        })
    }

    fn check_poison(&self) -> Result<()> {
        match self.poison.get() {
            Some(cause) => Err(Error::Poisoned {
                cause: cause.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Runs a call into fjall that changes the disk, and may wait for it. Once one fails no other is taken.
    fn change<T>(
        &self,
        action: &'static str,
        call: impl FnOnce() -> ::fjall::Result<T>,
    ) -> Result<T> {
        let outcome = blocking(|| failure::contain(action, &self.path, call));
        outcome.inspect_err(|error| {
            let cause = match error {
                Error::Poisoned { cause } => cause.clone(),
                other => other.to_string(),
            };
            self.poison.get_or_init(|| cause);
        })
    }

    fn persist(&self) -> Result<()> {
        self.check_poison()?;
        self.change("sync the journal of", || {
            self.database.persist(PersistMode::SyncData)
        })
    }

    /// Changes which spaces exist, with the journal synced before and no batch on its way.
    fn change_spaces(&self, change: impl FnOnce(&mut Spaces) -> ::fjall::Result<()>) -> Result<()> {
        let _order = self.order.write();
        self.persist()?;
        let mut spaces = Spaces::clone(&self.spaces.load());
        self.change("change the spaces of", || change(&mut spaces))?;
        self.spaces.store(Arc::new(spaces));
        Ok(())
    }

    fn space_options(&self) -> KeyspaceCreateOptions {
        // The upper levels are rewritten soon and stay plain; what sinks lower is most of the data.
        let compression = CompressionPolicy::new([
            CompressionType::None,
            CompressionType::None,
            CompressionType::Lz4,
        ]);
        KeyspaceCreateOptions::default()
            .max_memtable_size(self.options.memtable_bytes_max)
            .data_block_compression_policy(compression)
    }
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
        .max_journaling_size(
            options
                .journal_bytes_max
                .max(FjallOptions::JOURNAL_BYTES_MIN),
        );
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
        spaces.insert(SpaceId(number), keyspace);
    }
    Ok(spaces)
}

fn space_name(space: SpaceId) -> String {
    format!("s{}", space.0)
}

fn find(spaces: &Spaces, space: SpaceId) -> Result<&Keyspace> {
    spaces.get(&space).ok_or(Error::NoSuchSpace(space))
}

impl Engine for FjallEngine {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        let spaces = self.spaces.load();
        let keyspace = find(&spaces, space)?;
        if check_key(key).is_err() {
            return Ok(None);
        }
        let value = failure::contain("read", keyspace.path(), || keyspace.get(key))?;
        Ok(value.map(Bytes::from))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        let spaces = self.spaces.load_full();
        let lock = self.lock.clone();
        Ok(Box::new(FjallSnapshot::new(&self.database, spaces, lock)))
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<()> {
        self.check_poison()?;
        if batch.is_empty() {
            return match durability {
                Durability::Synced => self.sync(),
                Durability::Buffered => Ok(()),
            };
        }
        let _order = self.order.read();
        let spaces = self.spaces.load();
        let mut bytes_max = ahead::BATCH_BYTES_MAX;
        let mut changes = OwnedWriteBatch::with_capacity(self.database.clone(), batch.len())
            .durability(Some(match durability {
                Durability::Synced => PersistMode::SyncData,
                Durability::Buffered => PersistMode::Buffer,
            }));
        for operation in batch.into_operations() {
            bytes_max += ahead::record_bytes_max(&operation);
            match operation {
                Operation::Put(space, key, value) => {
                    check_key(&key)?;
                    changes.insert(find(&spaces, space)?, key, value);
                }
                Operation::Remove(space, key) => {
                    check_key(&key)?;
                    changes.remove(find(&spaces, space)?, key);
                }
            }
        }
        let mut ahead = self.ahead.lock();
        ahead.make_room(bytes_max);
        self.change("write to", || changes.commit())
    }

    fn sync(&self) -> Result<()> {
        self.persist()
    }

    fn ingest_when(
        &self,
        space: SpaceId,
        rows: &mut dyn Iterator<Item = Pair>,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>> {
        self.check_poison()?;
        let keyspace = find(&self.spaces.load(), space)?.clone();
        let abandoned = |error| failure::translate("ingest into", keyspace.path(), error);
        // Nothing is visible before the last step: leaving early on an error changes nothing.
        let mut ingestion = keyspace.start_ingestion().map_err(abandoned)?;
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
            ingestion.write(key, value).map_err(abandoned)?;
            count += 1;
        }
        if !ready() {
            return Ok(None);
        }
        let _order = self.order.write();
        self.persist()?;
        self.change("ingest into", || ingestion.finish())?;
        Ok(Some(count))
    }

    fn create_space(&self, space: SpaceId) -> Result<()> {
        self.check_poison()?;
        if self.spaces.load().contains_key(&space) {
            return Ok(());
        }
        self.change_spaces(|spaces| {
            let keyspace = self
                .database
                .keyspace(&space_name(space), || self.space_options())?;
            spaces.insert(space, keyspace);
            Ok(())
        })
    }

    fn drop_space(&self, space: SpaceId) -> Result<()> {
        self.check_poison()?;
        let mut flushes = 0;
        self.change_spaces(|spaces| match spaces.remove(&space) {
            Some(keyspace) => {
                flushes = counters::flushed(&keyspace);
                self.database.delete_keyspace(keyspace)
            }
            None => Ok(()),
        })?;
        self.counters.retire(flushes);
        Ok(())
    }

    fn spaces(&self) -> Result<Vec<SpaceId>> {
        let mut spaces: Vec<SpaceId> = self.spaces.load().keys().copied().collect();
        spaces.sort_unstable();
        Ok(spaces)
    }

    fn disk_bytes(&self) -> Result<u64> {
        directory::disk_bytes(&self.path)
    }

    fn counters(&self) -> EngineCounters {
        self.counters.read(self.spaces.load().values())
    }
}
