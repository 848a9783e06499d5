//! TTL: rows go when their time is over, with their index entries, and no others.

use std::sync::Arc;
use std::time::Duration;

use db::{Database, Value};
use storage::env::SimulatedClock;
use storage::{Engine, MemoryEngine, MemoryMedium};

use crate::database::{ask, opened};

/// How a table's column spells a second.
type Spelled = fn(u64) -> String;

/// 2024-01-01.
const START_S: u64 = 1_704_067_200;

fn open(background: bool) -> (Arc<Database>, Arc<SimulatedClock>) {
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::open(&MemoryMedium::new()));
    let clock = Arc::new(SimulatedClock::new(START_S * 1_000_000));
    let db = opened(
        move || Arc::clone(&engine),
        |options| {
            options.clock = Arc::clone(&clock) as Arc<_>;
            options.background = background;
        },
    );
    (db.unwrap(), clock)
}

async fn ids(db: &Arc<Database>) -> Vec<i64> {
    let rows = ask(db, "SELECT id FROM t ORDER BY id").await.unwrap();
    let id = |row: &Vec<Value>| match row[0] {
        Value::Int64(id) => id,
        _ => panic!("an id is {row:?}"),
    };
    rows.iter().map(id).collect()
}

/// Rows 1 to 3 end at 10, 20 and 30 hours, row 4 never.
async fn fill(db: &Arc<Database>, table: &str, value: impl Fn(u64) -> String) {
    ask(db, table).await.unwrap();
    for (id, hours) in [(1, 0), (2, 10), (3, 20)] {
        let at = value(START_S + hours * 3600);
        let row = format!("INSERT INTO t (id, at, n) VALUES ({id}, {at}, {id})");
        ask(db, &row).await.unwrap();
    }
    ask(db, "INSERT INTO t (id, at, n) VALUES (4, NULL, 4)")
        .await
        .unwrap();
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn rows_go_when_their_time_is_over_whatever_it_is_counted_in() {
    let with = "WITH (TTL = Interval('PT10H') ON at";
    let stamp: Spelled = |at: u64| format!("CAST('{}' AS Timestamp)", iso(at));
    let plain = format!(
        "CREATE TABLE t (id Int64, at Timestamp, n Int64, INDEX i GLOBAL ON (n), PRIMARY KEY (id)) {with})"
    );
    let by_index = format!(
        "CREATE TABLE t (id Int64, at Timestamp, n Int64, INDEX i GLOBAL ON (n), \
         INDEX j GLOBAL ON (at), PRIMARY KEY (id)) {with})"
    );
    let by_key = format!(
        "CREATE TABLE t (id Int64, at Timestamp, n Int64, INDEX i GLOBAL ON (n), \
         PRIMARY KEY (at, id)) {with})"
    );
    let number = |kind: &str, unit: &str| {
        format!(
            "CREATE TABLE t (id Int64, at {kind}, n Int64, INDEX i GLOBAL ON (n), \
             PRIMARY KEY (id)) {with} AS {unit})"
        )
    };
    let cases: [(String, Spelled); 6] = [
        (plain, stamp),
        (by_index, stamp),
        (by_key, stamp),
        (number("Uint32", "SECONDS"), |at| at.to_string()),
        (number("Int64", "MILLISECONDS"), |at| {
            (at * 1_000).to_string()
        }),
        (number("Uint64", "NANOSECONDS"), |at| {
            (at * 1_000_000_000).to_string()
        }),
    ];
    for (table, value) in cases {
        let (db, clock) = open(false);
        fill(&db, &table, value).await;
        assert_eq!(db.expire().unwrap(), 0, "{table}");
        for (passed, left) in [(9, vec![1, 2, 3, 4]), (2, vec![2, 3, 4]), (10, vec![3, 4])] {
            clock.advance(HOUR * passed);
            db.expire().unwrap();
            assert_eq!(ids(&db).await, left, "{table}");
        }
        clock.advance(HOUR * 1000);
        assert_eq!(db.expire().unwrap(), 1);
        assert_eq!(ids(&db).await, [4]);
        let by_n = ask(&db, "SELECT n FROM t VIEW i WHERE n < 9")
            .await
            .unwrap();
        assert_eq!(by_n, [[Value::Int64(4)]], "entries go with their rows");
    }
}

/// A time of the first days of 2024 as text.
fn iso(at: u64) -> String {
    let hours = (at - START_S) / 3600;
    format!("2024-01-{:02}T{:02}:00:00Z", 1 + hours / 24, hours % 24)
}

#[tokio::test]
async fn a_table_rests_between_sweeps_and_large_ones_are_swept_in_parts() {
    let (db, clock) = open(false);
    ask(
        &db,
        "CREATE TABLE t (id Int64, at Int64, PRIMARY KEY (id)) \
         WITH (TTL = Interval('PT1H') ON at AS SECONDS)",
    )
    .await
    .unwrap();
    for chunk in 0..5 {
        let rows: Vec<_> = (chunk * 2000..(chunk + 1) * 2000)
            .map(|id| format!("({id}, {START_S})"))
            .collect();
        let text = format!("UPSERT INTO t VALUES {}", rows.join(","));
        ask(&db, &text).await.unwrap();
    }
    clock.advance(HOUR * 2);
    let first = db.expire().unwrap();
    assert!(first > 1000 && first < 10_000, "{first}");
    assert_eq!(first + db.expire().unwrap(), 10_000);
    ask(&db, &format!("UPSERT INTO t VALUES (1, {START_S})"))
        .await
        .unwrap();
    assert_eq!(db.expire().unwrap(), 0, "it rests");
    clock.advance(Duration::from_secs(61));
    assert_eq!(db.expire().unwrap(), 1);
}

#[tokio::test]
async fn the_background_deletes_by_itself() {
    let (db, clock) = open(true);
    let table = "CREATE TABLE t (id Int64, at Int64, n Int64, PRIMARY KEY (id)) \
                 WITH (TTL = Interval('PT10H') ON at AS SECONDS)";
    fill(&db, table, |at| at.to_string()).await;
    clock.advance(HOUR * 1000);
    while ids(&db).await != [4] {
        tokio::task::yield_now().await;
    }
}
