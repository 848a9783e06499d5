//! A transaction that lost a row to others and is run again gets through, however many they are.

use std::sync::Arc;

use db::{Database, Session};

use crate::session::run;

const ROWS: &str = "INSERT INTO counters VALUES (1, 0), (2, 0)";
const INCREMENT: &str = "UPDATE counters SET n = n + 1 WHERE id = 1";

async fn sessions() -> [Session; 2] {
    let database = Arc::new(Database::memory().unwrap());
    let mut sessions = std::array::from_fn(|_| Session::new(Arc::clone(&database)));
    for text in [
        "CREATE TABLE counters (id bigint PRIMARY KEY, n bigint)",
        ROWS,
    ] {
        run(&mut sessions[0], text).await.unwrap();
    }
    sessions
}

/// Reads a row, lets another change it, and changes it: the commit is refused or comes too late.
async fn lose(one: &mut Session, other: &mut Session, read: &str) {
    run(one, "BEGIN").await.unwrap();
    run(one, read).await.unwrap();
    run(other, INCREMENT).await.unwrap();
    conclude_in_vain(one, INCREMENT).await;
}

/// A change that the transaction is refused for, at once or at its commit.
async fn conclude_in_vain(one: &mut Session, change: &str) {
    let lost = match run(one, change).await {
        Ok(_) => run(one, "COMMIT").await.unwrap_err(),
        Err(lost) => {
            run(one, "ROLLBACK").await.unwrap();
            lost
        }
    };
    assert_eq!(lost.sqlstate(), "40001");
}

/// Whether a statement waits for a lock; it is given up then.
async fn waits(session: &mut Session, text: &str) -> bool {
    run(session, "SET lock_timeout = 1").await.unwrap();
    match run(session, text).await {
        Err(error) if error.sqlstate() == "55P03" => true,
        done => {
            done.unwrap();
            false
        }
    }
}

#[tokio::test]
async fn others_wait_for_one_that_lost_the_row_before() {
    for read in [
        "SELECT n FROM counters WHERE id = 1",
        "SELECT n FROM counters WHERE id < 3",
        "SELECT sum(n) FROM counters",
    ] {
        let [mut one, mut other] = sessions().await;
        lose(&mut one, &mut other, read).await;
        run(&mut one, "BEGIN").await.unwrap();
        assert!(!waits(&mut other, INCREMENT).await, "BEGIN locks nothing");
        run(&mut one, read).await.unwrap();
        assert!(waits(&mut other, INCREMENT).await, "{read}");
        run(&mut one, INCREMENT).await.unwrap();
        run(&mut one, "COMMIT").await.unwrap();
        assert!(!waits(&mut other, INCREMENT).await);
        // It went through, so the next one is like any other.
        run(&mut one, "BEGIN").await.unwrap();
        run(&mut one, read).await.unwrap();
        assert!(!waits(&mut other, INCREMENT).await);
        run(&mut one, "ROLLBACK").await.unwrap();
    }
}

#[tokio::test]
async fn a_row_that_was_lost_is_locked_once() {
    let [mut one, mut other] = sessions().await;
    lose(&mut one, &mut other, "SELECT n FROM counters WHERE id = 1").await;
    // Another transaction than the one that lost: it locks in vain, and that is all.
    let elsewhere = "BEGIN; SELECT n FROM counters WHERE id = 2";
    run(&mut one, elsewhere).await.unwrap();
    assert!(waits(&mut other, INCREMENT).await);
    run(&mut one, "ROLLBACK").await.unwrap();
    run(&mut one, elsewhere).await.unwrap();
    assert!(!waits(&mut other, INCREMENT).await);
    run(&mut one, "ROLLBACK").await.unwrap();
}

#[tokio::test]
async fn two_rows_that_were_lost_one_after_the_other_are_both_locked() {
    let [mut one, mut other] = sessions().await;
    let both = "SELECT n FROM counters WHERE id IN (1, 2)";
    let second = INCREMENT.replace("id = 1", "id = 2");
    lose(&mut one, &mut other, both).await;
    run(&mut one, "BEGIN").await.unwrap();
    run(&mut one, both).await.unwrap();
    run(&mut other, &second).await.unwrap();
    conclude_in_vain(&mut one, &second).await;
    run(&mut one, "BEGIN").await.unwrap();
    run(&mut one, both).await.unwrap();
    assert!(waits(&mut other, INCREMENT).await);
    assert!(waits(&mut other, &second).await);
    run(&mut one, INCREMENT).await.unwrap();
    run(&mut one, &second).await.unwrap();
    run(&mut one, "COMMIT").await.unwrap();
}
