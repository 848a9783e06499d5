//! What a restarted server shows: all rows, by the tables and by the indexes, and the partitions.

use std::time::Duration;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::findings::Finding;
use crate::{Error, Result};

/// Time until counters that are estimates have to be exact: the server counts several times a second.
const EXACT_WAIT: Duration = Duration::from_secs(30);
/// Between two looks at the counters.
const EXACT_LOOK: Duration = Duration::from_millis(50);

/// A key of whole numbers, or its first columns.
pub(super) type Key = Vec<i64>;

/// A row of `entries`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub lane: i64,
    pub client: i64,
    pub n: i64,
    pub tag: i64,
    pub ticket: i64,
    pub filler: String,
}

/// A row of `progress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    pub client: i64,
    pub batches: i64,
    pub transfers: i64,
}

/// A partition as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    /// The table, or the index as `table/index/indexImplTable`.
    pub path: String,
    pub lower: Key,
    pub upper: Option<Key>,
    pub rows: i64,
    pub exact: bool,
}

/// Everything that is judged. Rows are in the order that the server gave them.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub entries: Vec<Entry>,
    /// The entries of the index `by_tag`, each with the row's key after it.
    pub by_tag: Vec<Key>,
    /// The entries of the index `by_ticket`, likewise.
    pub by_ticket: Vec<Key>,
    pub progress: Vec<Progress>,
    /// Accounts and balances.
    pub accounts: Vec<(i64, i64)>,
    /// Rows of `loads`.
    pub loads: Vec<(i64, i64)>,
    /// Partitions of each table and index, in the order of their keys.
    pub partitions: Vec<Partition>,
    /// What was wrong already while looking.
    pub findings: Vec<Finding>,
}

/// Looks at everything. Nobody else may be writing.
pub(super) async fn observe(client: &Client) -> Result<Observed> {
    let mut observed = Observed::default();
    let columns = "SELECT lane, client, n, tag, ticket, filler FROM entries";
    observed.entries = rows(client, columns, |row| {
        Ok(Entry {
            lane: row.try_get(0)?,
            client: row.try_get(1)?,
            n: row.try_get(2)?,
            tag: row.try_get(3)?,
            ticket: row.try_get(4)?,
            filler: row.try_get(5)?,
        })
    })
    .await?;
    let numbers = |row: &Row| (0..row.len()).map(|column| row.try_get(column)).collect();
    for (index, into) in [
        ("tag", &mut observed.by_tag),
        ("ticket", &mut observed.by_ticket),
    ] {
        let text = format!("SELECT {index}, lane, client, n FROM entries WHERE {index} >= 0");
        let plan = plan(client, &text).await?;
        if !plan.contains(&format!("Index: by_{index}")) {
            let text = format!("`{text}` is not answered by the index: {plan}");
            observed.findings.push(Finding::Anomaly(text));
        }
        *into = rows(client, &text, numbers).await?;
    }
    observed.progress = rows(
        client,
        "SELECT client, batches, transfers FROM progress",
        |row| {
            Ok(Progress {
                client: row.try_get(0)?,
                batches: row.try_get(1)?,
                transfers: row.try_get(2)?,
            })
        },
    )
    .await?;
    let pair = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
    observed.accounts = rows(client, "SELECT id, balance FROM accounts", pair).await?;
    observed.loads = rows(client, "SELECT n, value FROM loads", pair).await?;
    observed.partitions = partitions(client).await?;
    Ok(observed)
}

/// The partitions, once their counters are exact, or as they are when that takes too long.
async fn partitions(client: &Client) -> Result<Vec<Partition>> {
    let text = "SELECT Path, FromKey, ToKey, CAST(RowCount AS bigint), Exact FROM sys.partition_stats \
                ORDER BY Path, PartIdx";
    let mut waited = Duration::ZERO;
    loop {
        let found = rows(client, text, |row| {
            let (lower, upper): (Option<String>, Option<String>) =
                (row.try_get(1)?, row.try_get(2)?);
            let rows: Option<i64> = row.try_get(3)?;
            Ok(Partition {
                path: row.try_get::<_, Option<String>>(0)?.unwrap_or_default(),
                lower: lower.as_deref().and_then(key).unwrap_or_default(),
                upper: upper.as_deref().and_then(key),
                rows: rows.unwrap_or(-1),
                exact: row.try_get::<_, Option<bool>>(4)?.unwrap_or(false),
            })
        })
        .await?;
        if found.iter().all(|one| one.exact) || waited > EXACT_WAIT {
            return Ok(found);
        }
        tokio::time::sleep(EXACT_LOOK).await;
        waited += EXACT_LOOK;
    }
}

/// The numbers of a key as it is printed: `/3/17`, or `/` for the beginning of a table.
pub(super) fn key(text: &str) -> Option<Key> {
    let columns = text.strip_prefix('/')?;
    if columns.is_empty() {
        return Some(Key::new());
    }
    columns
        .split('/')
        .map(|column| column.parse().ok())
        .collect()
}

async fn plan(client: &Client, text: &str) -> Result<String> {
    let lines: Vec<String> = rows(client, &format!("EXPLAIN {text}"), |row| row.try_get(0)).await?;
    Ok(lines.join("; "))
}

async fn rows<T>(
    client: &Client,
    text: &str,
    read: impl Fn(&Row) -> std::result::Result<T, tokio_postgres::Error>,
) -> Result<Vec<T>> {
    let wrong = |error| Error::Statement {
        statement: text.to_owned(),
        error,
    };
    let none: [&(dyn ToSql + Sync); 0] = [];
    let rows = client.query(text, &none).await.map_err(wrong)?;
    let read: std::result::Result<_, _> = rows.iter().map(read).collect();
    read.map_err(wrong)
}
