//! Opening a database, and what everything else starts from.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sql::{Catalog, Executor, Schema, Table};
use storage::env::{Clock, Random, SystemClock, SystemRandom};
use storage::{
    FileParts, FjallEngine, FjallOptions, MemoryEngine, MemoryMedium, MemoryParts, Parts,
    Placement, SharedPlacement,
};
use txn::{Committed, Fatality, Pile, Store};

use crate::advice::Advices;
use crate::background::{Background, Work};
use crate::errands::Errands;
use crate::jobs::Jobs;
use crate::latency::Latencies;
use crate::objects::{self, Objects};
use crate::policy::Policies;
use crate::record::{Ground, Recorder};
use crate::shapes::Shapes;
use crate::told::Told;
use crate::{Result, Snapshot, Transaction, verify};

/// The folder of a data directory that holds recorded transactions.
const TRACE: &str = "trace";
/// The folder of a data directory that holds the parts of large objects.
const OBJECTS: &str = "objects";
/// The folder of a data directory for databases in which keys are tried out.
const SCRATCH: &str = "scratch";

/// What a database is made of, for those who want something unusual.
#[derive(Debug)]
pub struct Options {
    /// Where partitions lie.
    pub placement: Arc<dyn Placement>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// When the coordinator of a commit across engines dies, in simulations.
    pub fatality: Option<Arc<dyn Fatality>>,
    /// How much replaced data stays in memory for snapshots, in bytes.
    pub history_bytes_max: Option<usize>,
    /// From how many rows on a load bypasses the journal.
    pub ingest_rows_min: Option<usize>,
    /// Whether heat is measured. Without it partitions neither split nor merge by load, and nothing
    /// tells which partitions a transaction touched; it is there to measure what heat costs.
    pub heat: bool,
    /// One transaction in so many is looked at closely and stands for all, for heat; usually eight.
    pub sampled_one_in: Option<u64>,
    /// Whether housekeeping, balancing and recording go on in the background; otherwise call
    /// [`Database::housekeep`], [`Database::balance`] and [`Database::write_trace`].
    pub background: bool,
    /// The folder for transactions that are recorded; without one they are kept in memory.
    pub trace: Option<PathBuf>,
    /// The folder for the parts of large objects; without one they are kept in memory.
    pub objects: Option<PathBuf>,
    /// The folder for databases in which keys are tried out; without one they are in memory. What lies
    /// in it is removed at the start.
    pub scratch: Option<PathBuf>,
}

impl Options {
    /// The usual choices over a placement.
    pub fn new(placement: Arc<dyn Placement>) -> Self {
        Self {
            placement,
            clock: Arc::new(SystemClock::new()),
            random: Arc::new(SystemRandom::new()),
            fatality: None,
            history_bytes_max: None,
            ingest_rows_min: None,
            heat: true,
            sampled_one_in: None,
            background: true,
            trace: None,
            objects: None,
            scratch: None,
        }
    }

    /// What of it concerns the store.
    fn of_store(&self) -> txn::Options {
        let (placement, clock) = (Arc::clone(&self.placement), Arc::clone(&self.clock));
        let mut options = txn::Options::new(placement, clock, Arc::clone(&self.random));
        options.heat = self.heat;
        options.patching = Arc::new(sql::RowPatching);
        if let Some(fatality) = &self.fatality {
            options.fatality = Arc::clone(fatality);
        }
        if let Some(max) = self.history_bytes_max {
            options.history_bytes_max = max;
        }
        if let Some(min) = self.ingest_rows_min {
            options.ingest_rows_min = min;
        }
        if let Some(one_in) = self.sampled_one_in {
            options.sampled_one_in = one_in;
        }
        options
    }

    /// Where the parts of large objects are kept.
    fn parts(&self) -> Arc<dyn Parts> {
        match &self.objects {
            Some(folder) => Arc::new(FileParts::new(folder.clone())),
            None => Arc::new(MemoryParts::default()),
        }
    }
}

/// A database. Share it by reference or in an `Arc`; every method may be called from any thread.
#[derive(Debug)]
pub struct Database {
    pub(crate) store: Arc<Store>,
    pub(crate) catalog: Arc<Catalog>,
    executor: Arc<Executor>,
    pub(crate) policy: Arc<Policies>,
    pub(crate) latencies: Latencies,
    pub(crate) shapes: Shapes,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) advices: Arc<Advices>,
    /// Parts of large objects.
    pub(crate) objects: Arc<Objects>,
    /// Work for the background, if there is one.
    pub(crate) errands: Option<Arc<Errands>>,
    /// What the background does.
    pub(crate) jobs: Arc<Jobs>,
    /// Where keys are tried out.
    pub(crate) scratch: Option<PathBuf>,
    /// Joined when the database is dropped.
    _background: Option<Background>,
}

impl Database {
    /// Opens the database in a directory, or makes one if the directory is empty or new.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with_engine(path, FjallOptions::default())
    }

    /// As [`Database::open`], with other settings of the storage engine.
    pub fn open_with_engine(path: impl AsRef<Path>, engine: FjallOptions) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let [trace, objects, scratch] = [TRACE, OBJECTS, SCRATCH].map(|name| path.join(name));
        let open = move || -> storage::Result<Arc<dyn storage::Engine>> {
            Ok(Arc::new(FjallEngine::open(&path, engine.clone())?))
        };
        Self::open_with(Options {
            trace: Some(trace),
            objects: Some(objects),
            scratch: Some(scratch),
            ..Options::new(Arc::new(SharedPlacement::new(open)))
        })
    }

    /// A database in memory, gone when it is dropped.
    pub fn memory() -> Result<Self> {
        let medium = MemoryMedium::new();
        let open = move || -> storage::Result<Arc<dyn storage::Engine>> {
            Ok(Arc::new(MemoryEngine::open(&medium)))
        };
        Self::open_with(Options::new(Arc::new(SharedPlacement::new(open))))
    }

    /// Opens a database made of whatever the options say.
    pub fn open_with(options: Options) -> Result<Self> {
        let inner = options.of_store();
        let objects = Objects::new(options.parts(), options.placement, options.random);
        let objects = Arc::new(objects);
        let (background, trace, scratch) = (options.background, options.trace, options.scratch);
        let store = Store::open(inner)?;
        // Only now is it certain that nobody else has it open.
        if let Some(folder) = &scratch {
            verify::sweep(folder);
        }
        let catalog = Arc::new(Catalog::load(&store)?);
        let executor = Arc::new(Executor::new(Arc::clone(&store), Arc::clone(&catalog)));
        let policy = Arc::new(Policies::load(&store)?);
        let recorder = Arc::new(Recorder::new(trace, &policy.get()));
        let advices = Arc::new(Advices::load(&store)?);
        executor.tell_by(Arc::new(Told {
            store: Arc::clone(&store),
            catalog: Arc::clone(&catalog),
            policy: Arc::clone(&policy),
            recorder: Arc::clone(&recorder),
            advices: Arc::clone(&advices),
            statements: Arc::clone(executor.statements()),
        }));
        let work = Work {
            recorder: Arc::clone(&recorder),
            advices: Arc::clone(&advices),
            objects: Arc::clone(&objects),
            errands: Arc::default(),
            jobs: Arc::new(Jobs::new()),
            store: Arc::clone(&store),
            catalog: Arc::clone(&catalog),
            executor: Arc::clone(&executor),
            policy: Arc::clone(&policy),
        };
        let background = background.then(|| Background::start(&work));
        Ok(Self {
            latencies: Latencies::new(&store),
            store,
            catalog,
            executor,
            policy,
            shapes: Shapes::default(),
            recorder,
            advices,
            jobs: work.jobs,
            objects,
            scratch,
            errands: background.is_some().then_some(work.errands),
            _background: background,
        })
    }

    /// Makes a table. Each value list in `split_keys` begins a partition of its own, so that a table
    /// can start spread; the lists ascend and may name the first key columns only.
    pub fn create_table(
        &self,
        schema: Schema,
        split_keys: &[Vec<keys::Value>],
    ) -> Result<Arc<Table>> {
        let mut bounds = Vec::with_capacity(split_keys.len());
        for values in split_keys {
            bounds.push(schema.encode_key_prefix(values)?);
        }
        Ok(self.catalog.create(&self.store, schema, &bounds)?)
    }

    /// Drops a table with all its rows.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        Ok(self.catalog.remove(&self.store, name)?)
    }

    /// The table called `name`.
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        Ok(self.catalog.get(name)?)
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.catalog.all()
    }

    /// The indexes that are being built, and how far they are.
    pub fn building(&self) -> Vec<sql::Progress> {
        self.catalog.progress()
    }

    /// The database as it is now, for reading.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.store.view())
    }

    /// A transaction that may write.
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.store.begin(), Arc::clone(&self.executor))
    }

    /// The time of day as the database sees it, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        self.store.now_us()
    }

    /// Loads new rows into a table, in any order, as one transaction of its own: all of them durably,
    /// or none and an error of the kind `Exists` that names a row that is there already or comes
    /// twice. Much faster than a transaction for many rows, and others commit meanwhile, unless the
    /// table has indexes or foreign keys: then it is an ordinary transaction.
    pub fn load(
        &self,
        table: &Arc<Table>,
        rows: impl IntoIterator<Item = impl AsRef<[keys::Value]>>,
    ) -> Result<Committed> {
        let schema = table.schema();
        if !schema.writes_unseen() {
            let mut transaction = self.begin();
            for row in rows {
                transaction.insert(table, row.as_ref())?;
            }
            return transaction.commit();
        }
        let encoded = rows
            .into_iter()
            .map(|row| schema.encode(&schema.complete(row.as_ref())?));
        let rows = encoded.collect::<sql::Result<Pile>>()?;
        Ok(self.store.load_in_epoch(table.id(), table.epoch(), rows)?)
    }

    /// Writes down the transactions that were recorded until now. It goes on by itself in the
    /// background unless [`Options::background`] is off.
    pub fn write_trace(&self) {
        self.recorder.round(self.ground());
    }

    /// Everything that is recorded, as a trace: lines of JSON, which `docs/trace.md` describes.
    pub fn export_trace(&self, mut out: impl std::io::Write) -> Result<()> {
        Ok(self.recorder.export(self.ground(), &mut out)?)
    }

    /// Removes parts of large objects that no row names any more, and tells how many. It goes on by
    /// itself in the background unless [`Options::background`] is off.
    pub fn sweep_objects(&self) -> Result<usize> {
        self.objects.sweep(&objects::Ground {
            store: &self.store,
            catalog: &self.catalog,
            stopped: &|| false,
        })
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            store: &self.store,
            catalog: &self.catalog,
            policy: &self.policy,
        }
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Waits for up to `most` for commits that stand in line ([`Transaction::commit_later`]), and
    /// writes them as one group. A thread in the background does so unless [`Options::background`] is
    /// off; from the first call on such commits wait for the next one.
    pub fn drive_commits(&self, most: Duration) {
        self.store.drive_commits(most);
    }

    /// Makes every commit so far durable, also those that were buffered.
    pub fn sync(&self) -> Result<()> {
        Ok(self.store.sync()?)
    }
}
