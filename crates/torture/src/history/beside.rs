//! What goes on beside the clients: changes of tables, splits and merges, and looks for orphans.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use storage::env::{Random, SeededRandom};
use tokio_postgres::Client;

use super::check::Anomaly;
use super::layout::{PARTITION_ROWS, ROWS, TABLES};
use super::tables;
use crate::{Error, Result};

/// How long is waited between two changes of tables.
const DDL_PAUSE: Duration = Duration::from_millis(400);

/// How long is waited between two splits or merges.
const SPLIT_PAUSE: Duration = Duration::from_millis(200);

/// How long is waited between two looks for orphans.
const ORPHANS_PAUSE: Duration = Duration::from_millis(700);

/// Changes of tables, one after the other and again. Each can be said again after it was refused.
const DDL: [&str; 6] = [
    "ALTER TABLE lists ADD COLUMN IF NOT EXISTS extra bigint",
    "CREATE INDEX IF NOT EXISTS notes_by_tag ON notes (tag)",
    "DROP INDEX IF EXISTS lists_by_tag",
    "CREATE INDEX IF NOT EXISTS lists_by_tag ON lists (tag) INCLUDE (v)",
    "ALTER TABLE lists DROP COLUMN IF EXISTS extra",
    "DROP INDEX IF EXISTS notes_by_tag",
];

/// SQLSTATEs that a change beside others may be told: run it again, a deadlock, a lock that was waited
/// for too long.
const EXPECTED: [&str; 3] = ["40001", "40P01", "55P03"];

/// SQLSTATEs of a split where a partition begins, and of a merge where none does: partitions split by
/// themselves too.
const EXPECTED_OF_SPLITS: [&str; 2] = ["22023", "42P16"];

/// How many changes of one kind began and ended, so that a transaction knows whether one was under way.
#[derive(Debug, Default)]
pub(super) struct Changes {
    began: AtomicU64,
    ended: AtomicU64,
}

impl Changes {
    /// How many ended before now.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::SeqCst)
    }

    /// Whether one was under way at any time since so many had ended.
    pub(super) fn since(&self, ended: u64) -> bool {
        self.began.load(Ordering::SeqCst) > ended
    }
}

/// What the tasks beside the clients share with them.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Changes of tables.
    pub(super) ddl: Changes,
    /// Splits and merges.
    pub(super) splits: Changes,
    /// Whether the round is over.
    pub(super) over: AtomicBool,
}

impl Beside {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

/// Changes tables until the round is over. Answers with errors that are not expected.
pub(super) async fn change_tables(client: Client, beside: Arc<Beside>) -> Result<Vec<String>> {
    let mut unexpected = Vec::new();
    for sql in DDL.into_iter().cycle() {
        if beside.is_over() {
            break;
        }
        beside.ddl.began.fetch_add(1, Ordering::SeqCst);
        let changed = client.batch_execute(sql).await;
        beside.ddl.ended.fetch_add(1, Ordering::SeqCst);
        unexpected.extend(complaint(sql, changed, &EXPECTED)?);
        tokio::time::sleep(DDL_PAUSE).await;
    }
    Ok(unexpected)
}

/// Splits partitions and merges them again until the round is over. Answers with errors that are not
/// expected.
pub(super) async fn split_and_merge(
    client: Client,
    beside: Arc<Beside>,
    seed: u64,
) -> Result<Vec<String>> {
    let random = SeededRandom::new(seed);
    let expected: Vec<&str> = EXPECTED.into_iter().chain(EXPECTED_OF_SPLITS).collect();
    let mut unexpected = Vec::new();
    while !beside.is_over() {
        let table = TABLES.get(usize::from(random.below(2) == 1));
        let table = table.map_or("lists", |table| table.name());
        // Never where a partition began at first, so that a merge leaves those.
        let row = random.below(ROWS / PARTITION_ROWS) * PARTITION_ROWS;
        let row = row + 1 + random.below(PARTITION_ROWS - 1);
        for sql in [
            format!("ALTER TABLE {table} SPLIT AT ({row})"),
            format!("ALTER TABLE {table} MERGE PARTITIONS AT ({row})"),
        ] {
            beside.splits.began.fetch_add(1, Ordering::SeqCst);
            let changed = client.batch_execute(&sql).await;
            beside.splits.ended.fetch_add(1, Ordering::SeqCst);
            unexpected.extend(complaint(&sql, changed, &expected)?);
            tokio::time::sleep(SPLIT_PAUSE).await;
        }
    }
    Ok(unexpected)
}

/// Rows that refer to nothing, each told once.
pub(super) type Orphans = BTreeMap<(&'static str, i64), Anomaly>;

/// Looks for orphans until the round is over. A look also reads whole tables, so that ranges of them are
/// cached.
pub(super) async fn look_for_orphans(client: Client, beside: Arc<Beside>) -> Result<Orphans> {
    let mut found = Orphans::new();
    while !beside.is_over() {
        tokio::time::sleep(ORPHANS_PAUSE).await;
        for (table, id, anomaly) in tables::orphans(&client).await? {
            found.insert((table, id), anomaly);
        }
        tables::versions(&client).await?;
    }
    Ok(found)
}

/// What is to be told of a change that was refused, unless that is expected.
fn complaint(
    sql: &str,
    changed: std::result::Result<(), tokio_postgres::Error>,
    expected: &[&str],
) -> Result<Option<String>> {
    let Err(error) = changed else {
        return Ok(None);
    };
    let Some(said) = error.as_db_error() else {
        return Err(Error::Server(format!("{sql}: {error}")));
    };
    if expected.contains(&said.code().code()) {
        return Ok(None);
    }
    let code = said.code().code();
    Ok(Some(format!("{code} {}, after {sql}", said.message())))
}
