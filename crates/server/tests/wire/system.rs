//! System tables and lists, as a driver sees them.

use crate::process::Server;

/// A table with a column of every type.
const EVERY_TYPE: &str = "
    CREATE TABLE kinds (id Int64 NOT NULL, a Bool, b Int8, c Uint8, d Int16, e Uint16, f Int32,
        g Uint32, h Uint64, i Float, j Double, k Decimal(22, 9), l Utf8, m String, n Date,
        o Datetime, p Timestamp, q Interval, r Uuid, s Json, PRIMARY KEY (id))";

#[tokio::test]
async fn columns_have_the_types_that_rows_travel_as() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.batch_execute(EVERY_TYPE).await.unwrap();
    let travels = client.prepare("SELECT * FROM kinds").await.unwrap();
    let listed = client
        .query(
            "SELECT attname, atttypid, t.typname FROM pg_attribute a \
             JOIN pg_type t ON t.oid = a.atttypid \
             WHERE attrelid = 'kinds'::regclass ORDER BY attnum",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(listed.len(), travels.columns().len());
    for (row, column) in listed.iter().zip(travels.columns()) {
        assert_eq!(row.get::<_, &str>(0), column.name());
        assert_eq!(row.get::<_, i64>(1), i64::from(column.type_().oid()));
        assert_eq!(row.get::<_, &str>(2), column.type_().name());
    }
}

#[tokio::test]
async fn lists_go_both_ways() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client
        .batch_execute(
            "CREATE TABLE t (id Int64 NOT NULL, name Utf8, PRIMARY KEY (id));
             INSERT INTO t (id, name) VALUES (1, 'a b'), (2, 'c\"d'), (3, NULL)",
        )
        .await
        .unwrap();
    let names = "SELECT array_agg(name ORDER BY id), array_agg(id ORDER BY id), array_agg(id > 1 ORDER BY id) FROM t";
    let row = client.query_one(names, &[]).await.unwrap();
    let expected = [Some("a b".to_owned()), Some("c\"d".to_owned()), None];
    assert_eq!(row.get::<_, Vec<Option<String>>>(0), expected);
    assert_eq!(row.get::<_, Vec<i64>>(1), [1, 2, 3]);
    assert_eq!(row.get::<_, Vec<bool>>(2), [false, true, true]);

    let find = "SELECT id FROM t WHERE id = ANY ($1::bigint[]) ORDER BY id";
    let found = client.query(find, &[&vec![3_i64, 1, 7]]).await.unwrap();
    let ids: Vec<i64> = found.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [1, 3]);
    let find = "SELECT id FROM t WHERE name = ANY ($1::text[])";
    let found = client.query(find, &[&vec!["c\"d", "x"]]).await.unwrap();
    let ids: Vec<i64> = found.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [2]);
}

#[tokio::test]
async fn functions_know_who_asks() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let asked = "SELECT current_user, session_user, current_database(), current_schema()";
    let row = client.query_one(asked, &[]).await.unwrap();
    let answers: Vec<&str> = (0..4).map(|index| row.get(index)).collect();
    assert_eq!(answers, ["ada", "ada", "boats", "public"]);
}

/// What pools send when a connection comes back.
#[tokio::test]
async fn a_connection_can_be_reset() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let reset = "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;";
    client.batch_execute(reset).await.unwrap();
    client
        .batch_execute("DEALLOCATE ALL; DISCARD ALL")
        .await
        .unwrap();
}
