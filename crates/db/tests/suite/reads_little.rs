//! A statement that names a key reads that key and no more, whichever executor runs it.

use std::sync::Arc;

use db::{Database, Prepared, Session, Value};

/// How often it is looked whether rows are counted.
const LOOKS_MAX: usize = 1_000_000;

async fn run(session: &mut Session, text: &str, parameters: &[Value]) {
    let prepared = prepare(session, text).await;
    execute(session, &prepared, parameters).await;
}

async fn prepare(session: &mut Session, text: &str) -> Prepared {
    let mut statements = session.parse(text).unwrap();
    session.prepare(statements.remove(0), &[]).await.unwrap()
}

async fn execute(session: &mut Session, prepared: &Prepared, parameters: &[Value]) {
    if let db::Reply::Rows(mut rows) = session.execute(prepared, parameters).await.unwrap() {
        while let Some(more) = rows.next().await {
            more.unwrap();
        }
    }
}

/// Rows gone over since the last call.
fn rows_read(database: &Database, before: &mut u64) -> u64 {
    let table = database.table("t").unwrap();
    let parts = database.describe(&table).unwrap();
    let all: u64 = parts
        .iter()
        .map(|one| one.heat.scanned_rows + one.heat.reads)
        .sum();
    let since = all - *before;
    *before = all;
    since
}

#[tokio::test]
async fn statements_by_key_read_one_row() {
    let database = Arc::new(Database::memory().unwrap());
    let mut session = Session::new(Arc::clone(&database));
    let session = &mut session;
    run(
        session,
        "CREATE TABLE t (a Int64, b Int64, PRIMARY KEY (a))",
        &[],
    )
    .await;
    let rows: Vec<_> = (0..500).map(|row| format!("({row}, 0)")).collect();
    run(
        session,
        &format!("UPSERT INTO t VALUES {}", rows.join(",")),
        &[],
    )
    .await;
    let mut seen = 0;
    rows_read(&database, &mut seen);
    let key = [Value::Int64(77)];
    for (text, parameters) in [
        ("SELECT b FROM t WHERE a = 77", [].as_slice()),
        ("SELECT b FROM t WHERE a = $1", key.as_slice()),
        ("SELECT b + 1 FROM t WHERE a = 77", [].as_slice()),
        ("SELECT b + 1 FROM t WHERE a = $1", key.as_slice()),
        ("UPDATE t SET b = b + 1 WHERE a = 77", [].as_slice()),
        ("UPDATE t SET b = b + 1 WHERE a = $1", key.as_slice()),
        ("DELETE FROM t WHERE a = $1", key.as_slice()),
    ] {
        run(session, text, parameters).await;
        let read = rows_read(&database, &mut seen);
        assert_eq!(read, 1, "{text} reads {read} rows");
    }
    run(
        session,
        "SELECT sum(b) FROM t WHERE a >= $1 AND a < 110",
        &[Value::Int64(100)],
    )
    .await;
    assert_eq!(rows_read(&database, &mut seen), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_its_table_has_outgrown_is_made_anew() {
    let database = Arc::new(Database::memory().unwrap());
    let mut session = Session::new(Arc::clone(&database));
    let session = &mut session;
    let create = "CREATE TABLE t (a Int64, b Int64, PRIMARY KEY (a))";
    run(session, create, &[]).await;
    run(session, "INSERT INTO t VALUES (1, 1), (2, 2)", &[]).await;
    let text = "SELECT a FROM t WHERE b = $1 ORDER BY a DESC LIMIT 10";
    let read = prepare(session, text).await;
    let seven = [Value::Int64(7)];
    execute(session, &read, &seven).await;
    let grow = "INSERT INTO t SELECT i, i % 10 FROM generate_series(3, 40000) AS s (i)";
    run(session, grow, &[]).await;
    let mut seen = 0;
    rows_read(&database, &mut seen);
    for _ in 0..3 {
        execute(session, &read, &seven).await;
    }
    // What streams read that are not needed any more is counted when they notice.
    let mut read = 0;
    for _ in 0..LOOKS_MAX {
        read += rows_read(&database, &mut seen);
        if read >= 300 {
            break;
        }
        tokio::task::yield_now().await;
    }
    // The tenth lies in the first hundred; rows are read by the batch, and in two streams.
    assert!((300..6_000).contains(&read), "{read}");
}
