//! Sessions that take advisory locks from each other: nobody waits longer than needed, or for ever.

use std::pin::Pin;
use std::sync::Arc;

use db::{Database, Error, Session, Value};

use crate::session::run;

type Answer = Result<Vec<Vec<Value>>, Error>;

async fn sessions<const N: usize>() -> [Session; N] {
    let database = Arc::new(Database::memory().unwrap());
    let mut sessions = std::array::from_fn(|_| Session::new(Arc::clone(&database)));
    if let Some(first) = sessions.first_mut() {
        let table = "CREATE TABLE t (a bigint PRIMARY KEY, b bigint); INSERT INTO t VALUES (1, 1)";
        run(first, table).await.unwrap();
    }
    sessions
}

/// Fails if it does not wait.
async fn waits(what: &mut Pin<Box<impl Future<Output = Answer>>>) {
    tokio::select! {
        biased;
        early = what => panic!("it does not wait: {early:?}"),
        () = tokio::task::yield_now() => {}
    }
}

/// Whether another session could have a lock now.
async fn is_free(other: &mut Session, call: &str) -> bool {
    let text = format!("SELECT pg_try_advisory_{call}");
    run(other, &text).await.unwrap() == [[Value::Bool(true)]]
}

#[tokio::test]
async fn who_waits_gets_a_lock_when_it_is_given_back_as_often_as_it_was_taken() {
    let [mut one, mut other, mut third] = sessions().await;
    let twice = "SELECT pg_advisory_lock(7); SELECT pg_advisory_lock(7)";
    run(&mut one, twice).await.unwrap();
    let mut second = Box::pin(run(&mut other, "SELECT pg_advisory_lock(7)"));
    waits(&mut second).await;
    let mut later = Box::pin(run(&mut third, "SELECT pg_advisory_lock(7)"));
    waits(&mut later).await;
    run(&mut one, "SELECT pg_advisory_unlock(7)").await.unwrap();
    waits(&mut second).await;
    run(&mut one, "SELECT pg_advisory_unlock(7)").await.unwrap();
    second.await.unwrap();
    waits(&mut later).await;
    drop(other);
    later.await.unwrap();
    assert!(!is_free(&mut one, "lock(7)").await);
    assert!(is_free(&mut one, "lock(0, 7)").await);
}

#[tokio::test]
async fn shared_locks_go_together_and_do_not_pass_who_waits_for_all_of_them() {
    let [mut one, mut other, mut third, mut fourth] = sessions().await;
    run(&mut one, "SELECT pg_advisory_lock_shared(1, 2)")
        .await
        .unwrap();
    assert!(is_free(&mut other, "lock_shared(1, 2)").await);
    assert!(!is_free(&mut other, "lock(1, 2)").await);
    let mut alone = Box::pin(run(&mut third, "SELECT pg_advisory_lock(1, 2)"));
    waits(&mut alone).await;
    assert!(!is_free(&mut fourth, "lock_shared(1, 2)").await);
    drop(one);
    waits(&mut alone).await;
    drop(other);
    alone.await.unwrap();
}

#[tokio::test]
async fn locks_of_a_transaction_end_with_it_and_others_stay() {
    let [mut one, mut other] = sessions().await;
    let both = "SELECT pg_advisory_xact_lock(1), pg_advisory_lock(2)";
    for end in ["COMMIT", "ROLLBACK"] {
        run(&mut one, &format!("BEGIN; {both}")).await.unwrap();
        assert!(!is_free(&mut other, "xact_lock(1)").await);
        run(&mut one, end).await.unwrap();
        assert!(is_free(&mut other, "xact_lock(1)").await, "{end}");
        assert!(!is_free(&mut other, "xact_lock(2)").await, "{end}");
    }
    run(&mut one, both).await.unwrap();
    assert!(is_free(&mut other, "xact_lock(1)").await);

    let marked = "BEGIN; SELECT pg_advisory_xact_lock(3); SAVEPOINT s; \
                  SELECT pg_advisory_xact_lock(3), pg_advisory_xact_lock(4); ROLLBACK TO s";
    run(&mut one, marked).await.unwrap();
    assert!(is_free(&mut other, "xact_lock(4)").await);
    assert!(!is_free(&mut other, "xact_lock(3)").await);
    run(&mut one, "ROLLBACK; SELECT pg_advisory_unlock_all()")
        .await
        .unwrap();
    assert!(is_free(&mut other, "xact_lock(2)").await);
}

#[tokio::test]
async fn who_would_wait_in_a_circle_is_refused() {
    let [mut one, mut other, mut third] = sessions().await;
    run(&mut one, "SELECT pg_advisory_lock(1)").await.unwrap();
    run(&mut other, "SELECT pg_advisory_lock(2)").await.unwrap();
    run(&mut third, "SELECT pg_advisory_lock_shared(3)")
        .await
        .unwrap();
    let mut first = Box::pin(run(&mut one, "SELECT pg_advisory_lock(2)"));
    waits(&mut first).await;
    let mut second = Box::pin(run(&mut other, "SELECT pg_advisory_lock(3)"));
    waits(&mut second).await;
    let closed = run(&mut third, "SELECT pg_advisory_lock(1)").await;
    assert_eq!(closed.unwrap_err().sqlstate(), "40P01");
    drop(third);
    second.await.unwrap();
    drop(other);
    first.await.unwrap();
}

#[tokio::test]
async fn two_who_share_a_lock_and_both_want_it_alone_do_not_wait_for_ever() {
    let [mut one, mut other] = sessions().await;
    for session in [&mut one, &mut other] {
        run(session, "SELECT pg_advisory_lock_shared(1)")
            .await
            .unwrap();
    }
    let mut first = Box::pin(run(&mut one, "SELECT pg_advisory_lock(1)"));
    waits(&mut first).await;
    let closed = run(&mut other, "SELECT pg_advisory_lock(1)").await;
    assert_eq!(closed.unwrap_err().sqlstate(), "40P01");
    run(&mut other, "SELECT pg_advisory_unlock_shared(1)")
        .await
        .unwrap();
    first.await.unwrap();
}

#[tokio::test]
async fn a_circle_through_rows_and_locks_is_found_from_both_sides() {
    let change = "UPDATE t SET b = b + 1 WHERE a = 1";
    // The lock closes it.
    let [mut one, mut other] = sessions().await;
    run(&mut one, "BEGIN; SELECT pg_advisory_lock(1)")
        .await
        .unwrap();
    run(&mut other, &format!("BEGIN; {change}")).await.unwrap();
    {
        let mut row = Box::pin(run(&mut one, change));
        waits(&mut row).await;
        let closed = run(&mut other, "SELECT pg_advisory_lock(1)").await;
        assert_eq!(closed.unwrap_err().sqlstate(), "40P01");
        run(&mut other, "ROLLBACK").await.unwrap();
        row.await.unwrap();
    }
    run(&mut one, "COMMIT; SELECT pg_advisory_unlock(1)")
        .await
        .unwrap();
    // The row closes it: it is changed without waiting, and who commits first wins.
    run(&mut one, "BEGIN; SELECT pg_advisory_xact_lock(1)")
        .await
        .unwrap();
    run(&mut other, &format!("BEGIN; {change}")).await.unwrap();
    let mut lock = Box::pin(run(&mut other, "SELECT pg_advisory_lock(1)"));
    waits(&mut lock).await;
    run(&mut one, change).await.unwrap();
    run(&mut one, "COMMIT").await.unwrap();
    lock.await.unwrap();
    let lost = run(&mut other, "COMMIT").await;
    assert_eq!(lost.unwrap_err().sqlstate(), "40001");
}

#[tokio::test]
async fn a_wait_ends_when_its_time_is_over_and_leaves_no_place_in_line() {
    let [mut one, mut other, mut third] = sessions().await;
    run(&mut one, "SELECT pg_advisory_lock_shared(1)")
        .await
        .unwrap();
    for (setting, code) in [("lock_timeout", "55P03"), ("statement_timeout", "57014")] {
        run(&mut other, &format!("SET {setting} = '20ms'"))
            .await
            .unwrap();
        let late = run(&mut other, "SELECT pg_advisory_lock(1)").await;
        assert_eq!(late.unwrap_err().sqlstate(), code);
        run(&mut other, &format!("RESET {setting}")).await.unwrap();
        assert!(is_free(&mut third, "xact_lock_shared(1)").await);
    }
    {
        // Those behind who gives up go on.
        let mut alone = Box::pin(run(&mut other, "SELECT pg_advisory_lock(1)"));
        waits(&mut alone).await;
        let mut shared = Box::pin(run(&mut third, "SELECT pg_advisory_lock_shared(1)"));
        waits(&mut shared).await;
        drop(alone);
        shared.await.unwrap();
    }
    assert!(!is_free(&mut other, "lock(1)").await);
}
