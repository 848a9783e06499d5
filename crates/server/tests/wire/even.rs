//! A table that is split to 32 partitions and merged again, over and over, while eight writers and
//! eight readers are at work: no request fails and no answer is wrong.
//!
//! How long requests take meanwhile is printed beside how long they take without, and judged by
//! `./dev bench even`, where nothing else runs. The same clients then make a table hot enough that the
//! server splits it by itself, and leave it alone until it is merged again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::process::Server;

const ROWS: i64 = 8_000;
const PARTITIONS: i64 = 32;
const WRITERS: i64 = 8;
const READERS: i64 = 8;
/// How long the table is left alone, and then split and merged.
const QUIET: Duration = Duration::from_secs(3);
const UPHEAVAL: Duration = Duration::from_secs(7);
/// How long the server may take to see that a table is hot, or cold, and how often it is asked.
const EVENT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);
/// How many rows a range read asks for.
const RANGE: i64 = 50;

/// What writers know to be written, and whether it is time to end.
struct Shared {
    /// By id: how often its row was surely incremented.
    known: Vec<AtomicI64>,
    upheaval: AtomicBool,
    over: AtomicBool,
}

/// How long requests took while the table was left alone, and while it was not.
#[derive(Default)]
struct Took {
    quiet: Vec<Duration>,
    upheaval: Vec<Duration>,
}

impl Shared {
    /// Awaits an answer, and notes how long that took.
    async fn timed<T>(&self, took: &mut Took, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let answer = work.await;
        match self.upheaval.load(Ordering::Relaxed) {
            true => took.upheaval.push(started.elapsed()),
            false => took.quiet.push(started.elapsed()),
        }
        answer
    }
}

/// Increments rows that nobody else writes.
async fn write(client: Client, shared: Arc<Shared>, own: i64) -> Took {
    let mut took = Took::default();
    let increment = "UPDATE live SET n = n + 1 WHERE id = $1";
    let increment = client.prepare(increment).await.unwrap();
    for turn in 0.. {
        if shared.over.load(Ordering::Relaxed) {
            break;
        }
        let id = (turn * 7919 * WRITERS + own) % ROWS;
        let asked: [&(dyn ToSql + Sync); 1] = [&id];
        let written = shared
            .timed(&mut took, client.execute(&increment, &asked))
            .await;
        assert_eq!(written.unwrap(), 1, "row {id} is there");
        shared.known[usize::try_from(id).unwrap()].fetch_add(1, Ordering::SeqCst);
    }
    took
}

/// Reads a row, which must be as new as what was surely written before, and a range, which must be
/// whole.
async fn read(client: Client, shared: Arc<Shared>, own: i64) -> Took {
    let mut took = Took::default();
    let one = client
        .prepare("SELECT n FROM live WHERE id = $1")
        .await
        .unwrap();
    let range = "SELECT id FROM live WHERE id >= $1 AND id < $2 ORDER BY id";
    let range = client.prepare(range).await.unwrap();
    for turn in 0.. {
        if shared.over.load(Ordering::Relaxed) {
            break;
        }
        let id = (turn * 104_729 + own * 31) % (ROWS - RANGE);
        let least = shared.known[usize::try_from(id).unwrap()].load(Ordering::SeqCst);
        let row = shared
            .timed(&mut took, client.query_one(&one, &[&id]))
            .await;
        let n: i64 = row.unwrap().get(0);
        assert!(
            n >= least,
            "row {id} has {n}, and {least} were written before"
        );
        if turn % 8 == 0 {
            let upper = id + RANGE;
            let asked: [&(dyn ToSql + Sync); 2] = [&id, &upper];
            let rows = shared.timed(&mut took, client.query(&range, &asked)).await;
            let rows = rows.unwrap();
            let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
            assert_eq!(ids, (id..upper).collect::<Vec<_>>());
        }
    }
    took
}

async fn partitions(client: &Client) -> i64 {
    let count = "SELECT count(*) FROM sys.partition_stats WHERE Path = 'live'";
    client.query_one(count, &[]).await.unwrap().get(0)
}

/// Splits the table to 32 partitions, one by one and then many at once, and merges it again.
async fn upheave(client: &Client, rounds: &mut u32) {
    let step = ROWS / PARTITIONS;
    let keys: Vec<String> = (1..PARTITIONS)
        .map(|at| format!("({})", at * step))
        .collect();
    match *rounds % 2 {
        0 => {
            for key in &keys {
                let split = format!("ALTER TABLE live SPLIT AT {key}");
                client.batch_execute(&split).await.unwrap();
            }
        }
        _ => {
            let split = format!("ALTER TABLE live SPLIT AT {}", keys.join(", "));
            client.batch_execute(&split).await.unwrap();
        }
    }
    assert!(partitions(client).await >= PARTITIONS);
    let merge = "ALTER TABLE live MERGE PARTITIONS";
    client.batch_execute(merge).await.unwrap();
    assert_eq!(partitions(client).await, 1);
    *rounds += 1;
}

async fn set(client: &Client, name: &str, value: &str) {
    let set = format!("ALTER SYSTEM SET {name} = {value}");
    client.batch_execute(&set).await.unwrap();
}

async fn create(client: &Client) {
    let create = "CREATE TABLE live (id bigint PRIMARY KEY, n bigint NOT NULL) \
                  WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED)";
    client.batch_execute(create).await.unwrap();
    let last = ROWS - 1;
    let fill =
        format!("INSERT INTO live SELECT value, 0 FROM generate_series(0, {last}) AS s(value)");
    client.batch_execute(&fill).await.unwrap();
}

/// Writers and readers at work.
async fn begin(server: &Server) -> (Arc<Shared>, JoinSet<Took>) {
    let shared = Arc::new(Shared {
        known: (0..ROWS).map(|_| AtomicI64::new(0)).collect(),
        upheaval: AtomicBool::new(false),
        over: AtomicBool::new(false),
    });
    let mut work = JoinSet::new();
    for own in 0..WRITERS {
        work.spawn(write(server.connect().await, Arc::clone(&shared), own));
    }
    for own in 0..READERS {
        work.spawn(read(server.connect().await, Arc::clone(&shared), own));
    }
    (shared, work)
}

/// Everything that was written is there, once.
async fn assert_all_is_there(client: &Client, shared: &Shared) {
    let rows = client
        .query("SELECT id, n FROM live ORDER BY id", &[])
        .await
        .unwrap();
    let found: Vec<i64> = rows.iter().map(|row| row.get(1)).collect();
    let known: Vec<i64> = shared
        .known
        .iter()
        .map(|n| n.load(Ordering::SeqCst))
        .collect();
    assert_eq!(found, known);
}

/// Waits until something has come true in the views.
async fn until(client: &Client, what: &str) {
    let begun = Instant::now();
    let ask = format!("SELECT {what}");
    while !client.query_one(&ask, &[]).await.unwrap().get::<_, bool>(0) {
        if begun.elapsed() > EVENT {
            let events = "SELECT Kind, Reason, Detail FROM sys.partition_events";
            let events = client.simple_query(events).await.unwrap();
            panic!("{what} has not come true in {EVENT:?}: {events:?}");
        }
        tokio::time::sleep(POLL).await;
    }
}

fn p99(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took.get(took.len() * 99 / 100).copied().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_go_on_while_partitions_are_split_and_merged() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let client = server.connect().await;
    // Only what is done by hand here changes the map.
    set(&client, "partition_auto", "off").await;
    create(&client).await;
    let (shared, mut work) = begin(&server).await;
    tokio::time::sleep(QUIET).await;
    shared.upheaval.store(true, Ordering::SeqCst);
    let (begun, mut rounds) = (Instant::now(), 0);
    while begun.elapsed() < UPHEAVAL || rounds < 2 {
        upheave(&client, &mut rounds).await;
    }
    shared.over.store(true, Ordering::SeqCst);
    let mut all = Took::default();
    while let Some(took) = work.join_next().await {
        let took = took.unwrap();
        all.quiet.extend(took.quiet);
        all.upheaval.extend(took.upheaval);
    }

    assert_all_is_there(&client, &shared).await;
    let splits =
        "SELECT count(*) FROM sys.partition_events WHERE Kind = 'Split' AND Reason = 'ByHand'";
    let splits: i64 = client.query_one(splits, &[]).await.unwrap().get(0);
    assert!(splits >= 2 * (PARTITIONS - 1));
    println!(
        "{} requests in peace, p99 {:?}; {} in upheaval, p99 {:?}; {rounds} rounds",
        all.quiet.len(),
        p99(all.quiet.clone()),
        all.upheaval.len(),
        p99(all.upheaval.clone()),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hot_table_is_split_by_its_load_and_merged_when_it_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let client = server.connect().await;
    for (name, value) in [
        ("partition_check_interval_s", "1"),
        ("partition_split_load_percent", "1"),
        ("partition_split_load_lasting_s", "1"),
        ("partition_merge_uptime_s", "1"),
        ("partition_merge_low_load_s", "0"),
    ] {
        set(&client, name, value).await;
    }
    create(&client).await;
    assert_eq!(partitions(&client).await, 1);
    let (shared, mut work) = begin(&server).await;

    let events = "count(*) >= 3 FROM sys.partition_events WHERE Path = 'live'";
    until(
        &client,
        &format!("{events} AND Kind = 'Split' AND Reason = 'Load'"),
    )
    .await;
    shared.over.store(true, Ordering::SeqCst);
    while let Some(took) = work.join_next().await {
        // A request that failed or was answered wrongly has ended its client.
        assert!(!took.unwrap().quiet.is_empty());
    }
    assert!(partitions(&client).await > 1);
    assert_all_is_there(&client, &shared).await;
    let others =
        "SELECT count(*) FROM sys.partition_events WHERE Kind = 'Split' AND Reason <> 'Load'";
    let others: i64 = client.query_one(others, &[]).await.unwrap().get(0);
    assert_eq!(others, 0);

    // The minute that was hot is remembered; a higher threshold makes it a cool one.
    set(&client, "partition_split_load_percent", "10000").await;
    until(
        &client,
        "count(*) = 1 FROM sys.partition_stats WHERE Path = 'live'",
    )
    .await;
    let merges = "count(*) >= 1 FROM sys.partition_events WHERE Path = 'live'";
    until(
        &client,
        &format!("{merges} AND Kind = 'Merge' AND Reason = 'Cool'"),
    )
    .await;
    assert_all_is_there(&client, &shared).await;
}
