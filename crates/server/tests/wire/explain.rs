//! EXPLAIN as clients see it: one column, in both protocols, with parameters and without.

use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::Type;

use crate::process::Server;

#[tokio::test]
async fn plans_come_over_both_protocols() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE t (a Int64 NOT NULL, v Int64, PRIMARY KEY (a)) \
                  WITH (PARTITION_AT_KEYS = (10, 20))";
    client.batch_execute(create).await.unwrap();

    let asked = "EXPLAIN SELECT v FROM t WHERE a = $1";
    let statement = client.prepare(asked).await.unwrap();
    let column = &statement.columns()[0];
    assert_eq!((column.name(), column.type_()), ("QUERY PLAN", &Type::TEXT));
    let rows = client.query(&statement, &[&15_i64]).await.unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        lines,
        ["Point Lookup on t", "  Key: /15", "  Partitions: 1 of 3"]
    );

    let messages = client.simple_query(asked).await.unwrap();
    let lines: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    assert_eq!(
        lines,
        [
            "Point Lookup on t",
            "  Key: a = $1",
            "  Partitions: decided when run, of 3"
        ]
    );
}

#[tokio::test]
async fn plans_as_json_are_json_and_analyze_writes() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE t (a Int64 NOT NULL, PRIMARY KEY (a))";
    client.batch_execute(create).await.unwrap();

    let asked = "EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO t VALUES ($1)";
    let statement = client.prepare(asked).await.unwrap();
    assert_eq!(statement.columns()[0].type_(), &Type::JSON);
    client.query(&statement, &[&1_i64]).await.unwrap();
    let messages = client
        .simple_query("EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO t VALUES (2)")
        .await
        .unwrap();
    let plan = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let plan = plan.unwrap();
    assert!(plan.contains("\"Kind\": \"single-partition\""), "{plan}");
    assert!(plan.contains("\"Execution Time\""), "{plan}");
    let rows = client.query("SELECT a FROM t", &[]).await.unwrap();
    assert_eq!(rows.len(), 2);
}
