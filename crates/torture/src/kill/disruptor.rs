//! The disruptor: a client that splits and merges partitions all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use storage::env::{Random, SeededRandom};
use tokio_postgres::{Client, Error, Statement};

use super::client::{Failure, failure};
use super::findings::Finding;
use super::observed::key;
use super::workload::{ACCOUNTS, BATCH_ROWS, BATCHES_KEPT, LANES, LOAD_ROWS, LOADS_KEPT};

/// Keys of one ALTER TABLE, at most.
const KEYS_MAX: u64 = 4;
/// Partitions of a table, at most.
const PARTITIONS_MAX: usize = 24;
/// The tables, some more often than others.
const TABLES: [&str; 6] = [
    "entries", "entries", "entries", "accounts", "loads", "progress",
];

/// The disruptor and what it has to tell.
#[derive(Debug)]
pub(super) struct Disruptor {
    /// Splits and merges that were acknowledged in this life of the server.
    pub splits: u64,
    /// What it heard and should not have.
    pub findings: Vec<Finding>,
    random: SeededRandom,
    /// How many batches each writer has done.
    batches: Vec<Arc<AtomicI64>>,
    /// How many loads there were.
    loads: Arc<AtomicI64>,
}

impl Disruptor {
    /// A disruptor of the tables that these positions are about.
    pub(super) fn new(seed: u64, batches: Vec<Arc<AtomicI64>>, loads: Arc<AtomicI64>) -> Self {
        Self {
            splits: 0,
            findings: Vec::new(),
            random: SeededRandom::new(seed),
            batches,
            loads,
        }
    }

    /// Splits and merges until the server is gone.
    pub(super) async fn run(&mut self, connection: Client) {
        let text = "SELECT FromKey FROM sys.partition_stats WHERE Path = $1";
        let Ok(bounds) = connection.prepare(text).await else {
            return;
        };
        loop {
            let Some(table) = self.choose(&TABLES) else {
                return;
            };
            let outcome = self.disrupt(&connection, &bounds, table).await;
            match outcome.map_err(|error| failure(&error, &format!("ALTER TABLE {table}"))) {
                Ok(()) | Err(Failure::Retry) => {}
                Err(Failure::Gone) => return,
                Err(Failure::Wrong(finding)) => {
                    self.findings.push(finding);
                    return;
                }
            }
        }
    }

    async fn disrupt(
        &mut self,
        connection: &Client,
        bounds: &Statement,
        table: &str,
    ) -> Result<(), Error> {
        let rows = connection.query(bounds, &[&table]).await?;
        let mut known = Vec::with_capacity(rows.len());
        for row in rows {
            let text: Option<String> = row.try_get(0)?;
            known.extend(text.as_deref().and_then(key).filter(|key| !key.is_empty()));
        }
        let room = PARTITIONS_MAX.saturating_sub(known.len());
        let split = known.is_empty() || self.random.below(100) < percent(room, PARTITIONS_MAX);
        let count = 1 + self.random.below(KEYS_MAX);
        let mut keys = Vec::new();
        for _ in 0..count {
            let key = match split {
                true => Some(self.split_key(table)).filter(|key| !known.contains(key)),
                false => self.choose(&known),
            };
            keys.extend(key.filter(|key| !keys.contains(key)));
        }
        keys.sort();
        if keys.is_empty() {
            return Ok(());
        }
        let verb = if split { "SPLIT" } else { "MERGE PARTITIONS" };
        let list: Vec<_> = keys.iter().map(|key| tuple(key)).collect();
        let text = format!("ALTER TABLE {table} {verb} AT {}", list.join(", "));
        connection.batch_execute(&text).await?;
        self.splits += u64::try_from(keys.len()).unwrap_or(0);
        Ok(())
    }

    /// A key of a table among those that are written, or its first columns.
    fn split_key(&self, table: &str) -> Vec<i64> {
        let below = |bound: i64| self.random.below(bound.unsigned_abs()).cast_signed();
        match table {
            "entries" => {
                let client = below(i64::try_from(self.batches.len()).unwrap_or(1));
                let position = usize::try_from(client).ok();
                let position = position.and_then(|client| self.batches.get(client));
                let newest = position.map_or(0, |one| one.load(Ordering::Relaxed)) * BATCH_ROWS;
                let n = newest - below(BATCHES_KEPT * BATCH_ROWS);
                let mut key = vec![below(LANES), client, n.max(0)];
                key.truncate(usize::try_from(1 + below(3)).unwrap_or(3));
                key
            }
            "accounts" => vec![below(ACCOUNTS)],
            "loads" => {
                let newest = self.loads.load(Ordering::Relaxed) * LOAD_ROWS;
                vec![(newest - below(LOADS_KEPT * LOAD_ROWS)).max(0)]
            }
            _ => vec![below(i64::try_from(self.batches.len()).unwrap_or(1))],
        }
    }

    fn choose<T: Clone>(&self, among: &[T]) -> Option<T> {
        let count = u64::try_from(among.len()).ok().filter(|count| *count > 0)?;
        let place = usize::try_from(self.random.below(count)).ok()?;
        among.get(place).cloned()
    }
}

fn percent(part: usize, whole: usize) -> u64 {
    u64::try_from(part * 100 / whole.max(1)).unwrap_or(0)
}

fn tuple(key: &[i64]) -> String {
    let columns: Vec<_> = key.iter().map(i64::to_string).collect();
    format!("({})", columns.join(", "))
}
