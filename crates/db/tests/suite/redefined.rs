//! Tables that change under a transaction that read them: what it read there cannot be proved any more.

use std::sync::Arc;

use db::{Database, Session};

use crate::session::run;

const TABLES: [&str; 5] = [
    "CREATE TABLE t (k bigint PRIMARY KEY, tag bigint, v text NOT NULL)",
    "CREATE INDEX by_tag ON t (tag)",
    "CREATE INDEX covering ON t (tag) INCLUDE (v)",
    "CREATE TABLE u (k bigint PRIMARY KEY, v text NOT NULL)",
    "INSERT INTO t VALUES (1, 1, 'old'), (2, 1, 'old'); INSERT INTO u VALUES (1, 'old')",
];

/// One reads the first table, another changes its definition, a third reads the second table and writes
/// the first, and then the one who began writes the second: the last of them to commit must be refused.
async fn write_skew_beside(read: &str, definition: &[&str]) -> Result<(), db::Error> {
    let database = Arc::new(Database::memory().unwrap());
    let [mut one, mut definer, mut other] =
        std::array::from_fn(|_| Session::new(Arc::clone(&database)));
    for text in TABLES {
        run(&mut one, text).await.unwrap();
    }
    run(&mut one, "BEGIN").await.unwrap();
    run(&mut one, read).await.unwrap();
    for text in definition {
        run(&mut definer, text).await.unwrap();
    }
    let skewed =
        "BEGIN; SELECT v FROM u WHERE k = 1; UPSERT INTO t (k, tag, v) VALUES (3, 1, 'new')";
    run(&mut other, skewed).await.unwrap();
    run(&mut other, "COMMIT").await.unwrap();
    run(&mut one, "UPSERT INTO u (k, v) VALUES (1, 'new')")
        .await
        .unwrap();
    run(&mut one, "COMMIT").await.map(drop)
}

#[tokio::test]
async fn what_was_read_in_a_table_that_nobody_writes_any_more_does_not_commit() {
    let reads = [
        "SELECT k FROM t VIEW by_tag WHERE tag = 1",
        "SELECT k, v FROM t VIEW covering WHERE tag = 1",
        "SELECT k, v FROM t",
        "SELECT v FROM t WHERE k = 3",
    ];
    let recreated: &[&str] = &["DROP TABLE t", TABLES[0]];
    for read in reads {
        // Without any definition it is the textbook's write skew.
        let definitions = [&[][..], &["TRUNCATE t"], recreated];
        for definition in definitions {
            let refused = write_skew_beside(read, definition).await.unwrap_err();
            assert_eq!(refused.sqlstate(), "40001", "{read} beside {definition:?}");
        }
    }
    for (read, index) in reads.iter().zip(["by_tag", "covering"]) {
        let drop = format!("DROP INDEX {index}");
        let refused = write_skew_beside(read, &[&drop]).await.unwrap_err();
        assert_eq!(refused.sqlstate(), "40001", "{read} beside {drop}");
    }
}

#[tokio::test]
async fn what_was_read_elsewhere_commits() {
    let database = Arc::new(Database::memory().unwrap());
    let [mut one, mut definer] = std::array::from_fn(|_| Session::new(Arc::clone(&database)));
    for text in TABLES {
        run(&mut one, text).await.unwrap();
    }
    run(&mut one, "BEGIN; SELECT k, v FROM t WHERE k = 1")
        .await
        .unwrap();
    run(&mut definer, "DROP INDEX by_tag").await.unwrap();
    run(&mut definer, "CREATE INDEX by_tag ON t (tag)")
        .await
        .unwrap();
    run(&mut one, "UPSERT INTO u (k, v) VALUES (1, 'new'); COMMIT")
        .await
        .unwrap();
}
