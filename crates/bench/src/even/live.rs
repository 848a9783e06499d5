//! How long requests take while partitions are split and merged, beside how long they take in peace.
//!
//! ```text
//!   8 writers, 8 readers   ──────────────────────────────────────────────►  over the wire
//!   partitions             │ peace │ upheaval │ peace │ upheaval │ …        5 s each
//!                                  └ split to 32, one by one; merge; again
//! ```
//!
//! Peace and upheaval take turns, so that whatever else the machine does falls on both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use super::scale;
use crate::measure::{Report, Stopwatch, millis};
use crate::options::Options;
use crate::sql::server::Server;
use crate::{Error, Result};

/// Requests may take twice as long.
const RATIO_MAX: f64 = 2.0;

const ROWS: i64 = 64_000;
const PARTITIONS: i64 = 32;
const CLIENTS: i64 = 8;
/// How long peace and upheaval last.
const TURN: Duration = Duration::from_secs(5);
/// How long a client waits between two requests at most, so that the machine is not what is measured.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Default)]
struct Shared {
    upheaval: AtomicBool,
    over: AtomicBool,
}

/// How long requests took, in peace and in upheaval, in milliseconds.
#[derive(Default)]
struct Took {
    peace: Vec<f64>,
    upheaval: Vec<f64>,
}

async fn connect(port: u16) -> Result<Client> {
    let config = format!("host=127.0.0.1 port={port} user=bench dbname=bench");
    let (client, connection) = tokio_postgres::connect(&config, NoTls)
        .await
        .map_err(failed)?;
    tokio::spawn(connection);
    Ok(client)
}

fn failed(error: tokio_postgres::Error) -> Error {
    Error::Child(format!("a request failed: {error:?}"))
}

/// One client, which sends the same statement for one row after another.
async fn work(client: Client, shared: Arc<Shared>, text: &str, own: i64) -> Result<Took> {
    let statement = client.prepare(text).await.map_err(failed)?;
    let mut took = Took::default();
    let mut turn = own;
    while !shared.over.load(Ordering::Relaxed) {
        turn += CLIENTS;
        let id = (turn * 7_919) % ROWS;
        // What begins in peace and ends in upheaval was held up by it.
        let watch = Stopwatch::start();
        client.execute(&statement, &[&id]).await.map_err(failed)?;
        let list = match shared.upheaval.load(Ordering::Relaxed) {
            true => &mut took.upheaval,
            false => &mut took.peace,
        };
        list.push(millis(watch.elapsed()));
        tokio::time::sleep(PAUSE).await;
    }
    Ok(took)
}

async fn upheave(client: &Client) -> Result<()> {
    for at in 1..PARTITIONS {
        let split = format!("ALTER TABLE live SPLIT AT ({})", at * ROWS / PARTITIONS);
        client.batch_execute(&split).await.map_err(failed)?;
    }
    let merge = "ALTER TABLE live MERGE PARTITIONS";
    client.batch_execute(merge).await.map_err(failed)
}

async fn set_up(client: &Client) -> Result<()> {
    let rows = format!(
        "INSERT INTO live SELECT value, 0 FROM generate_series(0, {}) AS s(value)",
        ROWS - 1
    );
    for text in [
        "ALTER SYSTEM SET partition_auto = off",
        "CREATE TABLE live (id bigint PRIMARY KEY, n bigint NOT NULL)",
        &rows,
    ] {
        client.batch_execute(text).await.map_err(failed)?;
    }
    Ok(())
}

fn p99(took: &mut [f64]) -> f64 {
    took.sort_by(f64::total_cmp);
    took.get(took.len() * 99 / 100).copied().unwrap_or(f64::NAN)
}

async fn measure(port: u16, seconds: u64) -> Result<(Took, u32)> {
    let client = connect(port).await?;
    set_up(&client).await?;
    let shared = Arc::new(Shared::default());
    let mut clients = JoinSet::new();
    for own in 0..CLIENTS {
        for text in [
            "UPDATE live SET n = n + 1 WHERE id = $1",
            "SELECT n FROM live WHERE id = $1",
        ] {
            clients.spawn(work(connect(port).await?, Arc::clone(&shared), text, own));
        }
    }
    let watch = Stopwatch::start();
    let mut rounds = 0;
    while watch.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(TURN).await;
        shared.upheaval.store(true, Ordering::Relaxed);
        let turn = Stopwatch::start();
        while turn.elapsed() < TURN {
            upheave(&client).await?;
            rounds += 1;
        }
        shared.upheaval.store(false, Ordering::Relaxed);
    }
    shared.over.store(true, Ordering::Relaxed);
    let mut all = Took::default();
    while let Some(ended) = clients.join_next().await {
        let took = ended.map_err(|error| Error::Child(error.to_string()))??;
        all.peace.extend(took.peace);
        all.upheaval.extend(took.upheaval);
    }
    Ok((all, rounds))
}

pub(super) fn run(report: &mut Report, options: &Options) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("bench-live-").tempdir()?;
    let server = Server::ours(&options.server, dir.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let seconds = scale(options).live_seconds;
    let (mut took, rounds) = runtime.block_on(measure(server.port, seconds))?;
    let (peace, upheaval) = (p99(&mut took.peace), p99(&mut took.upheaval));
    report.say(&format!(
        "live: {} requests in peace, {} while partitions changed, none failed; split to \
         {PARTITIONS} and merged {rounds} times",
        took.peace.len(),
        took.upheaval.len()
    ));
    let how = format!("p99 {upheaval:.2} ms while partitions change, {peace:.2} ms in peace");
    report.limit("RATIO live_split_p99", upheaval / peace, RATIO_MAX, &how);
    Ok(())
}
