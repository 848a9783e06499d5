//! Definitions that take long: everybody else goes on, and writers of the table too.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use tempfile::TempDir;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::process::Server;

/// So many rows that validating them takes a while, with a condition that is not the quickest.
const ROWS: usize = 30_000;
const VALIDATE: &str =
    "ALTER TABLE wide ADD CONSTRAINT c CHECK (a >= 0 AND sqrt(abs(a)::double precision) >= 0)";

/// The same beside changes of columns, which end up in the same instant.
const VALIDATE_MIXED: &str =
    "ALTER TABLE wide ADD COLUMN note text DEFAULT 'none', ADD COLUMN b int CHECK (b > 0),
     ADD CONSTRAINT c CHECK (a >= 0 AND sqrt(abs(a)::double precision) >= 0)";

/// The same where the condition speaks of columns by names that come, go and change with it.
const VALIDATE_RENAMED: &str =
    "ALTER TABLE wide RENAME COLUMN a TO amount, ADD COLUMN b int DEFAULT 1, ADD COLUMN a text,
     ADD CONSTRAINT c CHECK (amount >= 0 AND sqrt(abs(amount)::double precision) + b >= 0)";

/// How often a writer tries to break a constraint that is about to come.
const TRIES_MAX: usize = 10_000;

async fn wide(server: &Server) -> Client {
    let client = server.connect().await;
    let fill = format!(
        "CREATE TABLE wide (id bigint PRIMARY KEY, a bigint);
         INSERT INTO wide SELECT n, n FROM generate_series(1, {ROWS}) AS g(n);"
    );
    client.batch_execute(&fill).await.unwrap();
    client
}

/// Whether a future is done, after a look at it.
async fn is_done<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Tries to write a row that breaks the constraint until it is refused: from then on the constraint is
/// kept, and the rows that were there before are validated.
async fn wait_until_kept(writer: &Client) {
    for _ in 0..TRIES_MAX {
        let broken = "BEGIN; INSERT INTO wide VALUES (0, -1)";
        let tried = writer.batch_execute(broken).await;
        writer.batch_execute("ROLLBACK").await.unwrap();
        if let Err(error) = tried {
            assert_eq!(error.code(), Some(&SqlState::CHECK_VIOLATION));
            return;
        }
    }
    panic!("the constraint is never kept");
}

#[tokio::test]
async fn everybody_goes_on_while_rows_are_validated() {
    go_on_beside(VALIDATE).await;
}

#[tokio::test]
async fn everybody_goes_on_while_rows_are_validated_for_columns_that_change_too() {
    let (_data, server) = go_on_beside(VALIDATE_MIXED).await;
    let client = server.connect().await;
    let all = "SELECT count(*) FROM wide WHERE note = 'none' AND b IS NULL";
    let rows: i64 = client.query_one(all, &[]).await.unwrap().get(0);
    assert_eq!(usize::try_from(rows).unwrap(), ROWS + 20);
    let refused = client
        .batch_execute("INSERT INTO wide VALUES (0, 1, 'x', 0)")
        .await;
    assert_eq!(
        refused.unwrap_err().code(),
        Some(&SqlState::CHECK_VIOLATION)
    );
}

#[tokio::test]
async fn everybody_goes_on_while_rows_are_validated_by_names_that_change_too() {
    let (_data, server) = go_on_beside(VALIDATE_RENAMED).await;
    let client = server.connect().await;
    let all = "SELECT count(*) FROM wide WHERE amount >= 0 AND b = 1 AND a IS NULL";
    let rows: i64 = client.query_one(all, &[]).await.unwrap().get(0);
    assert_eq!(usize::try_from(rows).unwrap(), ROWS + 20);
}

/// Lets others read and write while a definition validates the rows of a table.
async fn go_on_beside(validate: &str) -> (TempDir, Server) {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let definer = wide(&server).await;
    let [other, writer, reader] = [
        server.connect().await,
        server.connect().await,
        server.connect().await,
    ];
    let mut definition = pin!(definer.batch_execute(validate));
    let mut waiting = pin!(other.batch_execute("CREATE TABLE later (id bigint PRIMARY KEY)"));
    assert!(is_done(definition.as_mut()).await.is_none());
    wait_until_kept(&writer).await;
    // One more definition than there are threads that serve clients would have stopped everybody.
    assert!(is_done(waiting.as_mut()).await.is_none());
    for n in 0..20_i64 {
        let one = reader.query_one("SELECT 1", &[]).await.unwrap();
        assert_eq!(one.get::<_, i32>(0), 1);
        let insert = format!("INSERT INTO wide VALUES ({}, {n})", 1_000_000 + n);
        writer.batch_execute(&insert).await.unwrap();
    }
    let ended = is_done(definition.as_mut()).await;
    assert!(ended.is_none(), "the definition was over before the reads");
    definition.await.unwrap();
    waiting.await.unwrap();
    let refused = writer
        .batch_execute("INSERT INTO wide VALUES (0, -1)")
        .await;
    assert_eq!(
        refused.unwrap_err().code(),
        Some(&SqlState::CHECK_VIOLATION)
    );
    (data, server)
}

#[tokio::test]
async fn a_validation_that_fails_or_is_cancelled_leaves_no_constraint() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let definer = wide(&server).await;
    let writer = server.connect().await;
    for timeout in [false, true] {
        let token = definer.cancel_token();
        let set = format!("SET statement_timeout = {}", if timeout { 300 } else { 0 });
        definer.batch_execute(&set).await.unwrap();
        let mut definition = pin!(definer.batch_execute(VALIDATE));
        assert!(is_done(definition.as_mut()).await.is_none());
        wait_until_kept(&writer).await;
        if !timeout {
            token.cancel_query(tokio_postgres::NoTls).await.unwrap();
        }
        let ended = definition.await.unwrap_err();
        assert_eq!(ended.code(), Some(&SqlState::QUERY_CANCELED));
        let free = "INSERT INTO wide VALUES (0, -1); DELETE FROM wide WHERE id = 0";
        writer.batch_execute(free).await.unwrap();
    }
    definer
        .batch_execute("SET statement_timeout = 0")
        .await
        .unwrap();
    // The last row is the one that breaks it.
    let broken = format!("INSERT INTO wide VALUES ({}, -1)", ROWS * 2);
    writer.batch_execute(&broken).await.unwrap();
    let refused = definer.batch_execute(VALIDATE).await.unwrap_err();
    assert_eq!(refused.code(), Some(&SqlState::CHECK_VIOLATION));
    writer
        .batch_execute("INSERT INTO wide VALUES (0, -1)")
        .await
        .unwrap();
}

#[tokio::test]
async fn a_column_that_becomes_strict_reads_right_until_it_is() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let definer = wide(&server).await;
    let writer = server.connect().await;
    let nulls = "SELECT count(*) FROM wide WHERE a IS NULL";
    let strict = "ALTER TABLE wide ALTER COLUMN a SET NOT NULL";
    let last = format!("INSERT INTO wide VALUES ({}, NULL)", ROWS * 2);
    writer.batch_execute(&last).await.unwrap();
    let mut definition = pin!(definer.batch_execute(strict));
    let refused = loop {
        if let Some(ended) = is_done(definition.as_mut()).await {
            break ended.unwrap_err();
        }
        let seen: i64 = writer.query_one(nulls, &[]).await.unwrap().get(0);
        assert_eq!(seen, 1);
    };
    assert_eq!(refused.code(), Some(&SqlState::NOT_NULL_VIOLATION));
    writer
        .batch_execute("DELETE FROM wide WHERE a IS NULL")
        .await
        .unwrap();
    definer.batch_execute(strict).await.unwrap();
    let refused = writer
        .batch_execute("INSERT INTO wide VALUES (0, NULL)")
        .await;
    assert_eq!(
        refused.unwrap_err().code(),
        Some(&SqlState::NOT_NULL_VIOLATION)
    );
}
