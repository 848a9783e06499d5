//! What `sys.statement_stats` tells of statements that drivers prepare once and run often.

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
