//! UPSERT of some columns of a row reads nothing: two of them at once both stay.

use std::sync::Arc;

use db::{Database, Kind, Session};

/// Runs statements; the rows of the last one as text.
async fn run(session: &mut Session, text: &str) -> Result<String, db::Error> {
    let mut out = String::new();
    for statement in session.parse(text)? {
        let prepared = session.prepare(statement, &[]).await?;
        out.clear();
        if let db::Reply::Rows(mut rows) = session.execute(&prepared, &[]).await? {
            while let Some(more) = rows.next().await {
                for row in more? {
                    let values: Vec<_> = row.iter().map(ToString::to_string).collect();
                    out += &format!("({})", values.join(", "));
                }
            }
        }
    }
    Ok(out)
}

async fn sessions(create: &str) -> [Session; 2] {
    let database = Arc::new(Database::memory().unwrap());
    let mut sessions = [(); 2].map(|()| Session::new(Arc::clone(&database)));
    run(&mut sessions[0], create).await.unwrap();
    sessions
}

/// Both begin, both write, both commit: what became of the second.
async fn together(
    sessions: &mut [Session; 2],
    first: &str,
    second: &str,
) -> Result<String, db::Error> {
    let [one, other] = sessions;
    run(one, "BEGIN").await.unwrap();
    run(other, "BEGIN").await.unwrap();
    run(one, first).await.unwrap();
    run(other, second).await.unwrap();
    run(one, "COMMIT").await.unwrap();
    run(other, "COMMIT").await
}

#[tokio::test]
async fn columns_of_one_row_are_written_at_once() {
    let mut both =
        sessions("CREATE TABLE t (k Int32, a Int32, b Int32 DEFAULT 5, PRIMARY KEY (k))").await;
    for before in ["", "UPSERT INTO t VALUES (1, 0, 0)"] {
        run(&mut both[0], "DELETE FROM t").await.unwrap();
        run(&mut both[0], before).await.unwrap();
        let (a, b) = (
            "UPSERT INTO t (k, a) VALUES (1, 7)",
            "UPSERT INTO t (k, b) VALUES (1, 8)",
        );
        together(&mut both, a, b).await.unwrap();
        let rows = run(&mut both[0], "SELECT * FROM t").await.unwrap();
        assert_eq!(rows, "(1, 7, 8)", "after {before:?}");
    }
}

#[tokio::test]
async fn a_patch_is_seen_by_its_own_transaction_and_counts_as_a_read_then() {
    let mut both = sessions("CREATE TABLE t (k Int32, a Int32, b Int32, PRIMARY KEY (k))").await;
    run(&mut both[0], "UPSERT INTO t VALUES (1, 0, 0)")
        .await
        .unwrap();
    let seen = "UPSERT INTO t (k, b) VALUES (1, 8); SELECT * FROM t WHERE k = 1";
    let [one, _] = &mut both;
    run(one, "BEGIN").await.unwrap();
    assert_eq!(run(one, seen).await.unwrap(), "(1, 0, 8)");
    run(one, "ROLLBACK").await.unwrap();
    let refused = together(&mut both, "UPSERT INTO t (k, a) VALUES (1, 7)", seen).await;
    assert_eq!(refused.unwrap_err().kind(), Kind::Conflict);
}

#[tokio::test]
async fn what_needs_the_row_still_reads_it() {
    for create in [
        "CREATE TABLE t (k Int32, a Int32, b Int32, c Int32 NOT NULL, PRIMARY KEY (k))",
        "CREATE TABLE t (k Int32, a Int32, b Int32, c Int32, PRIMARY KEY (k), INDEX i GLOBAL ON (a))",
    ] {
        let mut both = sessions(create).await;
        run(&mut both[0], "UPSERT INTO t VALUES (1, 0, 0, 0)")
            .await
            .unwrap();
        let [one, other] = &mut both;
        run(one, "BEGIN; UPSERT INTO t (k, a) VALUES (1, 7)")
            .await
            .unwrap();
        // Whoever reads a row in order to change it waits for those who do.
        let b = "SET lock_timeout = 10; UPSERT INTO t (k, b) VALUES (1, 8)";
        let refused = run(other, b).await;
        assert_eq!(refused.unwrap_err().sqlstate(), "55P03", "{create}");
        run(one, "COMMIT").await.unwrap();
        run(other, b).await.unwrap();
        let rows = run(one, "SELECT * FROM t").await.unwrap();
        assert_eq!(rows, "(1, 7, 8, 0)", "{create}");
    }
    let mut both =
        sessions("CREATE TABLE t (k Int32, c Int32 NOT NULL, d Int32, PRIMARY KEY (k))").await;
    let refused = run(&mut both[0], "UPSERT INTO t (k, d) VALUES (1, 1)").await;
    assert_eq!(refused.unwrap_err().sqlstate(), "23502");
}

#[tokio::test]
async fn rows_that_are_older_than_a_column_keep_what_they_have_there() {
    let create = "CREATE TABLE t (k Int32, a Int32, PRIMARY KEY (k)); UPSERT INTO t VALUES (1, 1);
        ALTER TABLE t ADD COLUMN old Int32 DEFAULT 5; ALTER TABLE t ALTER COLUMN old SET DEFAULT 6;
        ALTER TABLE t ADD COLUMN new Int32; ALTER TABLE t DROP COLUMN a";
    let [mut one, _] = sessions(create).await;
    run(&mut one, "UPSERT INTO t (k, new) VALUES (1, 9), (2, 9)")
        .await
        .unwrap();
    let rows = run(&mut one, "SELECT k, old, new FROM t ORDER BY k")
        .await
        .unwrap();
    assert_eq!(rows, "(1, 5, 9)(2, 6, 9)");
}
