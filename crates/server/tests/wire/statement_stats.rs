//! What `sys.statement_stats` tells of statements that drivers prepare once and run often.

use std::pin::pin;

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use tokio_postgres::Client;

use crate::process::Server;

/// Calls, errors, rows, most partitions, and the share of calls that touched one.
type Counted = (i64, i64, i64, Option<i64>, Option<f64>);

async fn counted(client: &Client, text: &str) -> Counted {
    let asked = "SELECT Calls::bigint, Errors::bigint, Rows::bigint, MaxPartitions::bigint, \
                 SinglePartitionShare FROM sys.statement_stats WHERE Text = $1";
    let row = client.query_one(asked, &[&text]).await.unwrap();
    (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4))
}

#[tokio::test]
async fn runs_of_prepared_statements_add_up() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = server.connect().await;
    let create = "CREATE TABLE t (a Int64 NOT NULL, v Int64, PRIMARY KEY (a)) \
                  WITH (PARTITION_AT_KEYS = (10, 20));
                  INSERT INTO t (a, v) VALUES (1, 1), (11, 11), (12, 12), (21, 21)";
    client.batch_execute(create).await.unwrap();

    let point = client.prepare("SELECT v FROM t WHERE a = $1").await;
    let point = point.unwrap();
    for key in [1_i64, 2, 21] {
        client.query(&point, &[&key]).await.unwrap();
    }
    let text = "SELECT v FROM t WHERE a = ?";
    let expected = (3, 0, 2, Some(1), Some(1.0));
    assert_eq!(counted(&client, text).await, expected);

    // Of a transaction's reads each counts by itself, also where another has been before.
    let transaction = client.transaction().await.unwrap();
    for key in [1_i64, 11, 1, 11] {
        transaction.query(&point, &[&key]).await.unwrap();
    }
    transaction.commit().await.unwrap();
    let expected = (7, 0, 6, Some(1), Some(1.0));
    assert_eq!(counted(&client, text).await, expected);
    let expected = (1, 0, 0, Some(2), Some(0.0));
    assert_eq!(counted(&client, "COMMIT").await, expected);

    // A scan that stops early touches what it came to.
    let range = "SELECT v FROM t WHERE a >= $1 ORDER BY a LIMIT 2";
    let range = client.prepare(range).await.unwrap();
    for key in [11_i64, 1] {
        assert_eq!(client.query(&range, &[&key]).await.unwrap().len(), 2);
    }
    let text = "SELECT v FROM t WHERE a >= ? ORDER BY a LIMIT ?";
    let expected = (2, 0, 4, Some(2), Some(0.5));
    assert_eq!(counted(&client, text).await, expected);

    let insert = client.prepare("INSERT INTO t VALUES ($1, $1)").await;
    let insert = insert.unwrap();
    client.execute(&insert, &[&2_i64]).await.unwrap();
    client.execute(&insert, &[&2_i64]).await.unwrap_err();
    let expected = (2, 1, 1, Some(1), Some(1.0));
    let text = "INSERT INTO t VALUES (?, …)";
    assert_eq!(counted(&client, text).await, expected);
}

#[tokio::test]
async fn sessions_share_what_is_counted() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let (one, other) = (server.connect().await, server.connect().await);
    let create = "CREATE TABLE t (a Int64 NOT NULL, PRIMARY KEY (a))";
    one.batch_execute(create).await.unwrap();
    one.query("SELECT a FROM t WHERE a = $1", &[&1_i64])
        .await
        .unwrap();
    other
        .simple_query("select a from t where a = 5")
        .await
        .unwrap();
    let text = "SELECT a FROM t WHERE a = ?";
    assert_eq!(counted(&one, text).await, (2, 0, 0, Some(1), Some(1.0)));
    assert_eq!(counted(&other, text).await.0, 2);

    one.simple_query("SELECT pg_stat_statements_reset()")
        .await
        .unwrap();
    other
        .simple_query("SELECT a FROM t WHERE a = 6")
        .await
        .unwrap();
    assert_eq!(counted(&one, text).await.0, 1);
}

/// Copies lines in, and tells whether they were taken.
async fn copy_in(client: &Client, copy: &str, lines: &'static str) -> bool {
    let mut sink = pin!(client.copy_in::<_, Bytes>(copy).await.unwrap());
    sink.send(Bytes::from_static(lines.as_bytes()))
        .await
        .unwrap();
    sink.finish().await.is_ok()
}

#[tokio::test]
async fn a_copy_counts_with_its_rows_and_partitions() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE t (a Int64 NOT NULL, PRIMARY KEY (a)) \
                  WITH (PARTITION_AT_KEYS = (10, 20))";
    client.batch_execute(create).await.unwrap();

    let from = "COPY t FROM STDIN";
    assert!(copy_in(&client, from, "1\n2\n11\n21\n").await);
    assert!(copy_in(&client, from, "3\n").await);
    let expected = (2, 0, 5, Some(3), Some(0.5));
    assert_eq!(counted(&client, from).await, expected);
    // A row that is there already, and one that is no number.
    assert!(!copy_in(&client, from, "3\n").await);
    assert!(!copy_in(&client, from, "three\n").await);
    let expected = (4, 2, 5, Some(3), Some(0.5));
    assert_eq!(counted(&client, from).await, expected);

    client.batch_execute("BEGIN").await.unwrap();
    assert!(copy_in(&client, from, "4\n5\n").await);
    client.batch_execute("COMMIT").await.unwrap();
    let (calls, errors, rows, ..) = counted(&client, from).await;
    assert_eq!((calls, errors, rows), (5, 2, 7));

    let to = "COPY t TO STDOUT";
    let lines = client.copy_out(to).await.unwrap();
    let lines: Vec<Bytes> = lines.try_collect().await.unwrap();
    assert_eq!(lines.concat(), b"1\n2\n3\n4\n5\n11\n21\n");
    let expected = (1, 0, 7, Some(3), Some(0.0));
    assert_eq!(counted(&client, to).await, expected);
    let to = "COPY (SELECT a FROM t WHERE a < 3) TO STDOUT";
    let lines = client.copy_out(to).await.unwrap();
    assert_eq!(lines.try_collect::<Vec<Bytes>>().await.unwrap().len(), 2);
    let text = "COPY (SELECT a FROM t WHERE a < ?) TO STDOUT";
    let expected = (1, 0, 2, Some(1), Some(1.0));
    assert_eq!(counted(&client, text).await, expected);
}
