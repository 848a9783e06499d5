//! A statement that names a key reads that key and no more, whichever executor runs it.

#![cfg(test)]

use std::sync::Arc;

use db::{Database, Session, Value};

async fn run(session: &mut Session, text: &str, parameters: &[Value]) {
    let mut statements = session.parse(text).unwrap();
    let prepared = session.prepare(statements.remove(0), &[]).await.unwrap();
    if let db::Reply::Rows(mut rows) = session.execute(&prepared, parameters).await.unwrap() {
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
