//! What a client learns of a statement before it runs it, and parameters wherever they may stand.

#![cfg(test)]

use std::sync::Arc;

use db::{Database, Prepared, Reply, Session, Type, Value};

async fn prepare(session: &mut Session, text: &str) -> Prepared {
    let statement = session.parse(text).unwrap().remove(0);
    session.prepare(statement, &[]).await.unwrap()
}

async fn rows(session: &mut Session, text: &str, parameters: &[Value]) -> Vec<Vec<Value>> {
    let prepared = prepare(session, text).await;
    let mut all = Vec::new();
    if let Reply::Rows(mut rows) = session.execute(&prepared, parameters).await.unwrap() {
        while let Some(more) = rows.next().await {
            all.extend(more.unwrap());
        }
    }
    all
}

#[tokio::test]
async fn statements_that_return_rows_say_so_beforehand() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    rows(
        session,
        "CREATE TABLE t (a Int64, b Utf8, PRIMARY KEY (a))",
        &[],
    )
    .await;
    for (text, names) in [
        ("INSERT INTO t VALUES (1, 'x') RETURNING b", Some(vec!["b"])),
        (
            "UPDATE t SET b = $1 WHERE a = $2 RETURNING *",
            Some(vec!["a", "b"]),
        ),
        (
            "DELETE FROM t WHERE a = $1 RETURNING a AS gone",
            Some(vec!["gone"]),
        ),
        ("DELETE FROM t", None),
    ] {
        let prepared = prepare(session, text).await;
        let told = prepared.columns();
        let told = told.map(|all| all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>());
        assert_eq!(told, names, "{text}");
    }
    let update = prepare(session, "UPDATE t SET b = $1 WHERE a = $2").await;
    assert_eq!(update.parameters(), [Type::Utf8, Type::Int64]);
}

#[tokio::test]
async fn a_conflict_is_resolved_with_parameters_and_the_time_of_now() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    rows(
        session,
        "CREATE TABLE t (a Int64, b Utf8, at Timestamp, PRIMARY KEY (a))",
        &[],
    )
    .await;
    rows(session, "INSERT INTO t (a, b) VALUES (1, 'old')", &[]).await;
    let text = "INSERT INTO t (a, b) VALUES ($1, 'new') \
                ON CONFLICT (a) DO UPDATE SET b = $2, at = now() RETURNING b, at";
    let told = prepare(session, text).await;
    assert_eq!(told.parameters(), [Type::Int64, Type::Utf8]);
    let parameters = [Value::Int64(1), Value::from("given")];
    let found = rows(session, text, &parameters).await;
    let [row] = found.as_slice() else {
        panic!("one row, not {found:?}")
    };
    let [b, Value::Timestamp(at)] = row.as_slice() else {
        panic!("{row:?}")
    };
    assert_eq!(*b, Value::from("given"));
    let year_2020_us = 1_577_836_800_000_000;
    assert!(*at > year_2020_us, "now is {at} µs");
}
