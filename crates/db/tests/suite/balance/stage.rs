//! A database in memory on a clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use db::{Balanced, Database, Error, Value};
use storage::env::{Clock, SeededRandom};
use storage::{MemoryEngine, MemoryMedium};

use crate::database::{ask, opened};

/// 2024-01-01.
const START_US: u64 = 1_704_067_200_000_000;

/// A clock that stands still, but lets every access that is timed take ten milliseconds.
#[derive(Debug)]
struct BusyClock {
    now_us: AtomicU64,
    asked: AtomicU64,
}

impl Clock for BusyClock {
    fn now_us(&self) -> u64 {
        self.now_us.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(10)
            * u32::try_from(self.asked.fetch_add(1, Ordering::SeqCst)).unwrap()
    }
}

pub(crate) struct Stage {
    pub(crate) db: Arc<Database>,
    clock: Arc<BusyClock>,
    medium: Arc<MemoryMedium>,
    seed: u64,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with_seed(1)
    }

    /// A stage on which other transactions are looked at closely.
    pub(crate) fn with_seed(seed: u64) -> Self {
        let clock = Arc::new(BusyClock {
            now_us: AtomicU64::new(START_US),
            asked: AtomicU64::new(0),
        });
        let medium = Arc::new(MemoryMedium::new());
        let db = open(&medium, &clock, seed);
        Self {
            db,
            clock,
            medium,
            seed,
        }
    }

    pub(crate) fn restart(self) -> Self {
        let Self { db, .. } = self;
        drop(db);
        let db = open(&self.medium, &self.clock, self.seed);
        Self { db, ..self }
    }

    pub(crate) async fn ask(&self, text: &str) -> Result<Vec<Vec<Value>>, Error> {
        ask(&self.db, text).await
    }

    /// Asks, and answers with the rows as lines.
    pub(crate) async fn lines(&self, text: &str) -> Vec<String> {
        let rows = self.ask(text).await.unwrap();
        let line = |row: &Vec<Value>| -> String {
            let cells: Vec<_> = row.iter().map(Value::to_string).collect();
            cells.join(" | ")
        };
        rows.iter().map(line).collect()
    }

    /// Lets so many seconds pass, and then one round of the loop go.
    pub(crate) fn round(&self, seconds: u64) -> Balanced {
        self.clock
            .now_us
            .fetch_add(seconds * 1_000_000, Ordering::SeqCst);
        self.db.balance().unwrap()
    }

    /// Reads rows all over the table.
    pub(crate) fn read_all_over(&self, table: &str) {
        let table = self.db.table(table).unwrap();
        for id in 0..1000_i64 {
            let snapshot = self.db.snapshot();
            snapshot.get(&table, &[Value::Int64(id)]).unwrap();
        }
    }

    /// Appends rows at the end of the table.
    pub(crate) fn append(&self, table: &str, from: i64) {
        let table = self.db.table(table).unwrap();
        for id in from..from + 1000 {
            let mut txn = self.db.begin();
            txn.insert(&table, &[Value::Int64(id), Value::Null])
                .unwrap();
            txn.commit().unwrap();
        }
    }

    pub(crate) fn partitions(&self, table: &str) -> usize {
        let table = self.db.table(table).unwrap();
        self.db.describe(&table).unwrap().len()
    }
}

fn open(medium: &Arc<MemoryMedium>, clock: &Arc<BusyClock>, seed: u64) -> Arc<Database> {
    let medium = Arc::clone(medium);
    let db = opened(
        move || Arc::new(MemoryEngine::open(&medium)),
        |options| {
            options.clock = Arc::clone(clock) as Arc<_>;
            options.random = Arc::new(SeededRandom::new(seed));
        },
    );
    db.unwrap()
}
