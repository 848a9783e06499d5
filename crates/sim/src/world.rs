//! The world: a database, the model beside it, and the loop that takes one step after another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use db::{Column, Database, Kind, Options, Schema, Table, Type};
use storage::EngineId;
use storage::env::{SeededRandom, SimulatedClock};

use crate::Setting;
use crate::actor::Actor;
use crate::chance::Chance;
use crate::commits::Line;
use crate::coverage::Coverage;
use crate::doom::Doom;
use crate::edits::Row;
use crate::error::{Checked, Wrong};
use crate::ground::Ground;
use crate::history::{History, Record};
use crate::log::Log;
use crate::model::{Commit, Model, Number, Sight, Spot};
use crate::row_locks::LockWait;
use crate::tables::{CHILDREN, NUMBER, TABLES, WIDE, all_spots, keys_of, values_of};

/// How many transactions and snapshots are open at a time.
pub(crate) const ACTORS_MAX: usize = 7;

/// Loads of fewer rows are ordinary transactions.
pub(crate) const INGEST_ROWS_MIN: usize = 2;

/// With this many open outcomes the world calms down and looks.
const DOUBTS_MAX: usize = 4;

pub(crate) struct World {
    pub(crate) chance: Chance,
    pub(crate) clock: Arc<SimulatedClock>,
    pub(crate) ground: Ground,
    pub(crate) doom: Arc<Doom>,
    history_bytes_max: usize,
    db: Option<Database>,
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) model: Model,
    pub(crate) history: History,
    /// What transactions whose outcome is open have read.
    pub(crate) doubtful: BTreeMap<Number, Record>,
    pub(crate) actors: Vec<Actor>,
    /// Those who wait for a row lock.
    pub(crate) waiting: Vec<(Actor, LockWait)>,
    pub(crate) line: Line,
    /// Commits of each engine that a crash may take.
    pub(crate) unsynced: BTreeMap<EngineId, Vec<Commit>>,
    /// Engines that crashed alone, with the commits that may be gone.
    pub(crate) wrecks: BTreeMap<EngineId, Vec<Commit>>,
    /// Whether a fault may be waiting or have struck.
    pub(crate) faulted: bool,
    /// Whether an engine crashed or was reopened since the database was opened.
    pub(crate) shaken: bool,
    pub(crate) last_commit: u64,
    pub(crate) numbers: Number,
    pub(crate) log: Log,
    pub(crate) coverage: Coverage,
    /// Whether anything goes wrong at all in this history.
    pub(crate) peaceful: bool,
}

impl World {
    pub(crate) fn new(seed: u64, setting: Setting, log: Log) -> Checked<Self> {
        let chance = Chance::new(seed);
        let ground = Ground::new(setting)?;
        let doom = Arc::new(Doom::new(seed ^ 0xD00D, ground.tanks.clone()));
        let history_bytes_max = chance.pick(&[0, 0, 400, 1_500, 1 << 20]).unwrap_or(0);
        let peaceful = chance.one_in(10);
        let mut world = Self {
            clock: Arc::new(SimulatedClock::new(1_000_000)),
            chance,
            ground,
            doom,
            history_bytes_max,
            db: None,
            tables: Vec::new(),
            model: Model::default(),
            history: History::default(),
            doubtful: BTreeMap::new(),
            actors: Vec::new(),
            waiting: Vec::new(),
            line: Line::new(),
            unsynced: BTreeMap::new(),
            wrecks: BTreeMap::new(),
            faulted: false,
            shaken: false,
            last_commit: 0,
            numbers: 0,
            log,
            coverage: Coverage::default(),
            peaceful,
        };
        let db = world
            .open()
            .map_err(|error| Wrong(format!("the first open: {error}")))?;
        world.use_db(db);
        world.make_tables()?;
        let rows = world.fill()?;
        world.begin_life(rows);
        Ok(world)
    }

    /// The rows that are there from the beginning: most of those of the table with many keys, some of
    /// the others, no children.
    fn fill(&mut self) -> Checked<BTreeMap<Spot, Row>> {
        let wrong = |error: db::Error| Wrong(format!("the first rows: {error}"));
        let mut rows = BTreeMap::new();
        let mut txn = self.db().begin();
        for spot in all_spots() {
            let (table, key) = spot;
            let there = match table {
                WIDE => !self.chance.one_in(8),
                CHILDREN => false,
                _ => self.chance.one_in(2),
            };
            let cells = there.then(|| self.some_cells());
            if let Some(cells) = &cells {
                let handle = self.table(table)?;
                txn.replace(&handle, &values_of(key, cells))
                    .map_err(wrong)?;
            }
            rows.insert(spot, cells);
        }
        txn.commit().map_err(wrong)?;
        self.ground.mark_synced()?;
        Ok(rows)
    }

    /// From now on this database is simulated, and the simulator leads its commits.
    fn use_db(&mut self, db: Database) {
        db.drive_commits(Duration::ZERO);
        self.db = Some(db);
    }

    fn make_tables(&mut self) -> Checked<()> {
        for table in 0..TABLES {
            let columns = vec![
                Column::new("key", Type::Uint64).not_null(),
                Column::new("text", Type::Utf8),
                Column::new(NUMBER, Type::Int64),
            ];
            let schema = Schema::new(format!("t{table}"), columns, &["key"])
                .map_err(|error| Wrong(error.to_string()))?;
            let splits: Vec<_> = (0..self.chance.below(3))
                .map(|at| vec![db::Value::Uint64((at + 1) * (keys_of(table) / 3))])
                .collect();
            let made = self.db().create_table(schema, &splits);
            self.tables
                .push(made.map_err(|error| Wrong(error.to_string()))?);
        }
        self.ground.mark_synced()
    }

    /// Opens the database on the ground as it is.
    pub(crate) fn open(&self) -> db::Result<Database> {
        Database::open_with(Options {
            clock: self.clock.clone(),
            random: Arc::new(SeededRandom::new(self.chance.below(u64::MAX))),
            fatality: Some(self.doom.clone()),
            history_bytes_max: Some(self.history_bytes_max),
            ingest_rows_min: Some(INGEST_ROWS_MIN),
            background: false,
            ..Options::new(self.ground.placement())
        })
    }

    pub(crate) fn db(&self) -> &Database {
        self.db.as_ref().expect("a database is open between steps")
    }

    pub(crate) fn close(&mut self) {
        self.db = None;
        self.ground.tanks.release();
    }

    pub(crate) fn set_db(&mut self, db: Database) -> Checked<()> {
        self.tables.clear();
        for table in 0..TABLES {
            let found = db.table(&format!("t{table}"));
            self.tables
                .push(found.map_err(|error| Wrong(error.to_string()))?);
        }
        self.use_db(db);
        Ok(())
    }

    /// Starts to record anew, from these rows.
    pub(crate) fn begin_life(&mut self, rows: BTreeMap<Spot, Row>) {
        self.model = Model::new(rows);
        self.history = History::default();
        self.doubtful.clear();
        self.unsynced.clear();
        self.wrecks.clear();
        self.last_commit = 0;
        self.shaken = false;
    }

    pub(crate) fn table(&self, table: usize) -> Checked<Arc<Table>> {
        let found = self.tables.get(table).cloned();
        found.ok_or_else(|| Wrong(format!("there is no table {table}")))
    }

    pub(crate) fn number(&mut self) -> Number {
        self.numbers += 1;
        self.numbers
    }

    /// Whether something is wrong, so that the database may say that it cannot.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.faulted
            || !self.wrecks.is_empty()
            || !self.model.doubts.is_empty()
            || !self.db().engines_down().is_empty()
    }

    /// Whether spills of replaced versions always reach an engine.
    pub(crate) fn spills_all(&self) -> bool {
        self.history_bytes_max == 0
    }

    /// Accepts an error that is right under the circumstances.
    pub(crate) fn tolerate(&mut self, what: &str, error: &db::Error) -> Checked<()> {
        self.log.say(format!("  {what}: {error}"));
        match error.kind() {
            Kind::Unavailable if self.is_disturbed() => {
                self.coverage.add("a call that was told to come later");
                Ok(())
            }
            Kind::Conflict if self.shaken || self.is_disturbed() => {
                self.coverage
                    .add("a snapshot refused for a reopened engine");
                Ok(())
            }
            kind => Err(Wrong(format!(
                "{what} failed as {kind} without a cause: {error}"
            ))),
        }
    }

    /// Checks rows found at a snapshot, and settles the doubts that they decide.
    pub(crate) fn observe(&mut self, sight: Sight<'_>) -> Checked<()> {
        let explanations = self.model.explain(sight, &[]);
        let Some(first) = explanations.first() else {
            let differences = self.model.differences(sight);
            return Err(Wrong(format!(
                "a read found what it must not:{differences}"
            )));
        };
        for (by, happened) in first.happened.clone() {
            let agreed = explanations
                .iter()
                .all(|one| one.happened.get(&by) == Some(&happened));
            if agreed {
                self.settle(by, happened);
            }
        }
        Ok(())
    }

    /// Ends a doubt.
    pub(crate) fn settle(&mut self, by: Number, happened: bool) {
        let record = self.doubtful.remove(&by);
        if self.model.settle(by, happened).is_none() {
            return;
        }
        self.log.say(format!(
            "  T{by} did {}happen",
            if happened { "" } else { "not " }
        ));
        self.coverage.add(if happened {
            "an open outcome that proved to be a commit"
        } else {
            "an open outcome that proved to be nothing"
        });
        if let (true, Some(record)) = (happened, record) {
            self.history.add(record);
        }
    }

    /// The partitions of a table: where each begins, where it ends, which engine holds it. `None`
    /// while the map is in doubt.
    pub(crate) fn map(&self, table: usize) -> Checked<Option<Vec<(u64, u64, EngineId)>>> {
        let Ok(infos) = self.db().describe(&*self.table(table)?) else {
            return Ok(None);
        };
        let mut map = Vec::new();
        for info in infos {
            let lower = bound(&info.lower)?;
            let upper = info.upper.as_deref().map_or(Ok(u64::MAX), bound)?;
            map.push((lower, upper, info.engine));
        }
        Ok(Some(map))
    }

    /// The engines that hold these rows; none while the map is in doubt.
    pub(crate) fn engines_of<'s>(
        &self,
        spots: impl Iterator<Item = &'s Spot>,
    ) -> Checked<BTreeSet<EngineId>> {
        let mut engines = BTreeSet::new();
        for (table, key) in spots {
            for (lower, upper, engine) in self.map(*table)?.unwrap_or_default() {
                if lower <= *key && *key < upper {
                    engines.insert(engine);
                }
            }
        }
        Ok(engines)
    }

    /// One step.
    pub(crate) fn step(&mut self) -> Checked<()> {
        if self.chance.one_in(4) {
            self.clock
                .advance(Duration::from_micros(self.chance.below(40)));
        }
        if self.model.doubts.len() >= DOUBTS_MAX || (self.is_disturbed() && self.chance.one_in(14))
        {
            return self.calm_down();
        }
        self.act()
    }
}

/// The number in a bound's path; 0 for the beginning of the table, which no key is below.
pub(crate) fn bound(path: &str) -> Checked<u64> {
    match path {
        "/" => Ok(0),
        _ => {
            let number = path
                .strip_prefix('/')
                .and_then(|number| number.parse().ok());
            number.ok_or_else(|| Wrong(format!("a partition is bounded by {path}")))
        }
    }
}
