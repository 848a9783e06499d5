//! Transactions that end in odd ways: given up while they wait, dropped in the middle, caught in a circle
//! of rows, advisory locks and foreign keys, or with very many savepoints. A clear SQLSTATE, and nothing
//! stays locked.

use std::sync::Arc;
use std::time::Duration;

use db::{Database, Error, Session, Value};
use tokio::time::timeout;

use crate::session::run;

const TABLES: &str = "CREATE TABLE parents (id bigint PRIMARY KEY, n bigint);
    CREATE TABLE children (id bigint PRIMARY KEY, n bigint, parent bigint REFERENCES parents);
    INSERT INTO parents VALUES (1, 0), (2, 0);
    INSERT INTO children VALUES (1, 0, 1), (2, 0, 2)";

/// Whoever waits longer than this waits for ever.
const FOR_EVER: Duration = Duration::from_secs(30);

/// What a session may be told that met others.
const RETRIED: [&str; 2] = ["40001", "40P01"];

async fn sessions<const N: usize>() -> [Session; N] {
    let database = Arc::new(Database::memory().unwrap());
    let mut sessions = std::array::from_fn(|_| Session::new(Arc::clone(&database)));
    for text in TABLES.split(';') {
        run(&mut sessions[0], text).await.unwrap();
    }
    sessions
}

/// Fails unless all rows and locks can be had at once.
async fn check_nothing_is_locked(session: &mut Session) {
    for text in [
        "SET lock_timeout = 1",
        "BEGIN",
        "UPDATE parents SET n = n + 1 WHERE id = 1",
        "UPDATE parents SET n = n + 1 WHERE id = 2",
        "UPDATE children SET n = n + 1 WHERE id = 1",
        "UPDATE children SET n = n + 1 WHERE id = 2",
        "SELECT pg_advisory_xact_lock(7)",
        "SELECT pg_advisory_xact_lock(8)",
        "ROLLBACK",
    ] {
        let done = timeout(FOR_EVER, run(session, text)).await;
        done.expect("it waits for ever").unwrap();
    }
}

/// Runs a transaction of several steps to its end.
async fn transaction(session: &mut Session, steps: &[&str]) -> Result<(), Error> {
    for step in ["BEGIN"].iter().chain(steps).chain(&["COMMIT"]) {
        if let Err(error) = run(session, step).await {
            run(session, "ROLLBACK").await?;
            return Err(error);
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[tokio::test]
async fn a_circle_of_rows_advisory_locks_and_foreign_keys_ends() {
    let circles: [[&[&str]; 3]; 2] = [
        [
            &[
                "UPDATE parents SET n = n + 1 WHERE id = 1",
                "SELECT pg_advisory_xact_lock(7)",
            ],
            &[
                "SELECT pg_advisory_xact_lock(7)",
                "UPDATE children SET n = n + 1 WHERE id = 1",
            ],
            &[
                "UPDATE children SET n = n + 1 WHERE id = 1",
                "DELETE FROM parents WHERE id = 1",
            ],
        ],
        [
            &[
                "DELETE FROM children WHERE id = 2",
                "DELETE FROM parents WHERE id = 2",
            ],
            &[
                "UPDATE parents SET n = 1 WHERE id = 2",
                "INSERT INTO children VALUES (3, 0, 2)",
            ],
            &[
                "INSERT INTO children VALUES (4, 0, 2)",
                "UPDATE parents SET n = 2 WHERE id = 2",
            ],
        ],
    ];
    for [one, two, three] in circles {
        let [mut first, mut second, mut third, mut last] = sessions().await;
        let work = async {
            tokio::join!(
                transaction(&mut first, one),
                transaction(&mut second, two),
                transaction(&mut third, three),
            )
        };
        let (one, two, three) = timeout(FOR_EVER, work).await.expect("they wait for ever");
        let ended = [one, two, three];
        assert!(ended.iter().any(Result::is_ok), "nobody got through");
        for error in ended.into_iter().filter_map(Result::err) {
            let state = error.sqlstate();
            assert!(
                RETRIED.contains(&state) || state == "23503",
                "{state}: {error}"
            );
        }
        let orphans = "SELECT count(*) FROM children LEFT JOIN parents ON parents.id = parent
                       WHERE parents.id IS NULL";
        assert_eq!(run(&mut last, orphans).await.unwrap(), [[Value::Int64(0)]]);
        run(&mut last, "UPSERT INTO parents VALUES (1, 0), (2, 0)")
            .await
            .unwrap();
        check_nothing_is_locked(&mut last).await;
    }
}

#[tokio::test]
async fn sessions_that_end_in_the_middle_leave_nothing_locked() {
    let [mut holder, mut waiter, mut last] = sessions().await;
    let hold = "BEGIN; UPDATE parents SET n = n + 1 WHERE id = 1; SELECT pg_advisory_lock(7)";
    run(&mut holder, hold).await.unwrap();
    run(
        &mut waiter,
        "BEGIN; UPDATE children SET n = n + 1 WHERE id = 2",
    )
    .await
    .unwrap();
    // Given up in the middle of a wait, first for a row and then for a lock.
    for wait in [
        "UPDATE parents SET n = n + 1 WHERE id = 1",
        "SELECT pg_advisory_lock(7)",
    ] {
        let given_up = timeout(Duration::from_millis(20), run(&mut waiter, wait)).await;
        assert!(given_up.is_err(), "{wait} does not wait");
    }
    drop(waiter);
    drop(holder);
    check_nothing_is_locked(&mut last).await;
}

#[tokio::test]
async fn waits_that_are_cancelled_or_take_too_long_have_their_sqlstate() {
    let [mut holder, mut waiter, mut last] = sessions().await;
    let hold = "BEGIN; UPDATE parents SET n = n + 1 WHERE id = 1";
    run(&mut holder, hold).await.unwrap();
    let wait = "UPDATE parents SET n = n + 1 WHERE id = 1";
    for (setting, state) in [("statement_timeout", "57014"), ("lock_timeout", "55P03")] {
        run(&mut waiter, &format!("SET {setting} = 10"))
            .await
            .unwrap();
        let ended = timeout(FOR_EVER, run(&mut waiter, wait)).await;
        let error = ended.expect("it waits for ever").unwrap_err();
        assert_eq!(error.sqlstate(), state);
        run(&mut waiter, &format!("SET {setting} = 0"))
            .await
            .unwrap();
    }
    run(&mut holder, "ROLLBACK").await.unwrap();
    check_nothing_is_locked(&mut last).await;
}

#[tokio::test]
async fn ten_thousand_savepoints_are_kept_and_taken_back() {
    let [mut session, mut last] = sessions().await;
    run(&mut session, "BEGIN").await.unwrap();
    for n in 0..10_000 {
        let text = format!(
            "SAVEPOINT s{n}; UPSERT INTO parents VALUES ({}, {n})",
            n % 100 + 10
        );
        run(&mut session, &text).await.unwrap();
    }
    run(&mut session, "RELEASE s9999; ROLLBACK TO s5000")
        .await
        .unwrap();
    let missing = run(&mut session, "ROLLBACK TO s9999").await.unwrap_err();
    assert_eq!(missing.sqlstate(), "3B001");
    run(&mut session, "ROLLBACK TO s5000; COMMIT")
        .await
        .unwrap();
    let newest = "SELECT max(n) FROM parents";
    assert_eq!(
        run(&mut last, newest).await.unwrap(),
        [[Value::Int64(4_999)]]
    );
    check_nothing_is_locked(&mut last).await;
}
