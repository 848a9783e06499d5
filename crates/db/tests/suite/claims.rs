//! Several sessions that want the same row: they come one after another, each in its own words.

use std::pin::pin;
use std::sync::Arc;

use db::{Database, Error, Session, Value};

use crate::session::run;

const SESSIONS: usize = 4;
const STEPS: usize = 40;

async fn sessions<const N: usize>(texts: &[&str]) -> [Session; N] {
    let database = Arc::new(Database::memory().unwrap());
    let mut sessions = std::array::from_fn(|_| Session::new(Arc::clone(&database)));
    if let Some(first) = sessions.first_mut() {
        for text in texts {
            run(first, text).await.unwrap();
        }
    }
    sessions
}

fn sqlstate<T: std::fmt::Debug>(outcome: Result<T, Error>) -> &'static str {
    outcome.unwrap_err().sqlstate()
}

const COUNTERS: &str = "CREATE TABLE counters (id bigint PRIMARY KEY, name text, number bigint)";

/// One step of a counter: the statements of a transaction.
async fn count(session: &mut Session, way: &str) -> Result<(), Error> {
    let locked = |lock: &str| format!("SELECT number FROM counters WHERE id = 1 {lock}");
    match way {
        "upsert" => {
            let text = "INSERT INTO counters VALUES (1, 'a', 1)
                        ON CONFLICT (id) DO UPDATE SET number = counters.number + 1";
            run(session, text).await?;
        }
        "update by a value that a query works out" => {
            let text = "UPDATE counters SET number = number + length(repeat('x', 1)) WHERE id = 1";
            run(session, text).await?;
        }
        "upsert in a block" => {
            let text = "INSERT INTO counters VALUES (1, 'a', 1)
                        ON CONFLICT (id) DO UPDATE SET number = counters.number + excluded.number;
                        SELECT number FROM counters WHERE id = 1";
            run(session, "BEGIN").await?;
            run(session, text).await?;
            run(session, "COMMIT").await?;
        }
        "upsert and update" => {
            run(session, "BEGIN").await?;
            let text = "UPSERT INTO counters (id, name) VALUES (1, 'b');
                        UPDATE counters SET number = number + 1 WHERE id = 1";
            run(session, text).await?;
            run(session, "COMMIT").await?;
        }
        "returning" => {
            run(session, "BEGIN").await?;
            let text = "UPSERT INTO counters (id, name) VALUES (1, 'b') RETURNING number";
            let found = run(session, text).await?;
            let Some([Value::Int64(number)]) = found.first().map(Vec::as_slice) else {
                panic!("a counter is {found:?}");
            };
            let text = format!(
                "UPSERT INTO counters (id, number) VALUES (1, {})",
                number + 1
            );
            run(session, &text).await?;
            run(session, "COMMIT").await?;
        }
        "upsert by name" => {
            let text = "INSERT INTO named (name, number) VALUES ('a', 1)
                        ON CONFLICT (name) DO UPDATE SET number = named.number + 1";
            run(session, text).await?;
        }
        "update of what is locked inside" => {
            let text = "WITH one AS (SELECT id FROM counters WHERE name = 'a' FOR UPDATE)
                        UPDATE counters SET number = number + 1 WHERE id IN (SELECT id FROM one)";
            run(session, text).await?;
        }
        lock => {
            run(session, "BEGIN").await?;
            let text = match lock.starts_with("SELECT") {
                true => lock.to_owned(),
                false => locked(lock),
            };
            let found = run(session, &text).await?;
            let Some([Value::Int64(number)]) = found.first().map(Vec::as_slice) else {
                panic!("a counter is {found:?}");
            };
            let number = number + 1;
            let text = format!("UPDATE counters SET number = {number} WHERE id = 1");
            run(session, &text).await?;
            run(session, "COMMIT").await?;
        }
    }
    Ok(())
}

#[test]
fn a_hot_counter_refuses_nobody() {
    for way in [
        "upsert",
        "upsert in a block",
        "update by a value that a query works out",
        "upsert by name",
        "upsert and update",
        "returning",
        "FOR UPDATE",
        "FOR NO KEY UPDATE",
        "FOR SHARE",
        "SELECT number FROM counters WHERE name = 'a' FOR UPDATE",
        "SELECT number FROM counters WHERE id < 3 AND number >= 0 ORDER BY id LIMIT 1 FOR SHARE",
        "SELECT number FROM counters WHERE id IN (1, 2, 3) FOR NO KEY UPDATE",
        "SELECT counters.number FROM named JOIN counters USING (name) FOR UPDATE",
        "SELECT counters.number FROM named LEFT JOIN counters USING (name) FOR UPDATE OF named",
        "update of what is locked inside",
    ] {
        let database = Arc::new(Database::memory().unwrap());
        let alone = || {
            tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap()
        };
        let mut session = Session::new(Arc::clone(&database));
        alone().block_on(async {
            run(&mut session, COUNTERS).await.unwrap();
            let named =
                "CREATE TABLE named (id bigserial PRIMARY KEY, name text UNIQUE, number bigint)";
            run(&mut session, named).await.unwrap();
            let text = "INSERT INTO counters VALUES (1, 'a', 0)";
            run(&mut session, text).await.unwrap();
            let text = "INSERT INTO named (name, number) VALUES ('a', 0)";
            run(&mut session, text).await.unwrap();
        });
        std::thread::scope(|scope| {
            for _ in 0..SESSIONS {
                let database = Arc::clone(&database);
                scope.spawn(move || {
                    let mut session = Session::new(database);
                    alone().block_on(async {
                        for _ in 0..STEPS {
                            let counted = count(&mut session, way).await;
                            counted.unwrap_or_else(|error| panic!("{way}: {error}"));
                        }
                    });
                });
            }
        });
        let table = match way {
            "upsert by name" => "named",
            _ => "counters",
        };
        let text = format!("SELECT number FROM {table}");
        let sum = alone().block_on(run(&mut session, &text)).unwrap();
        let expected = i64::try_from(SESSIONS * STEPS).unwrap();
        assert_eq!(sum, [[Value::Int64(expected)]], "{way}");
    }
}

/// Runs `second` while `first` is not committed yet, and tells how that ends.
async fn meet(first: &str, second: &str, end: &str) -> Result<Vec<Vec<Value>>, Error> {
    let unique = "CREATE TABLE boats (id bigint PRIMARY KEY, name text UNIQUE)";
    let [mut one, mut other] = sessions(&[unique]).await;
    run(&mut one, "BEGIN").await.unwrap();
    run(&mut one, first).await.unwrap();
    let mut waits = pin!(run(&mut other, second));
    tokio::select! {
        biased;
        early = &mut waits => panic!("{second} does not wait: {early:?}"),
        () = tokio::task::yield_now() => {}
    }
    run(&mut one, end).await.unwrap();
    waits.await
}

#[tokio::test]
async fn who_inserts_the_same_waits_and_hears_that_it_is_there() {
    let first = "INSERT INTO boats VALUES (1, 'Heron')";
    for second in [
        "INSERT INTO boats VALUES (1, 'Gannet')",
        "INSERT INTO boats VALUES (2, 'Heron')",
        "INSERT INTO boats VALUES (3, 'Gannet'), (1, 'Tern')",
    ] {
        assert_eq!(
            sqlstate(meet(first, second, "COMMIT").await),
            "23505",
            "{second}"
        );
        assert_eq!(meet(first, second, "ROLLBACK").await.unwrap().len(), 0);
    }
    let second = "INSERT INTO boats VALUES (1, 'Gannet') ON CONFLICT DO NOTHING RETURNING id";
    assert_eq!(meet(first, second, "COMMIT").await.unwrap().len(), 0);
    assert_eq!(meet(first, second, "ROLLBACK").await.unwrap().len(), 1);
}

#[tokio::test]
async fn who_does_not_want_to_wait_need_not() {
    let row = "INSERT INTO counters VALUES (1, 'a', 7), (2, 'b', 8)";
    let [mut one, mut other] = sessions(&[COUNTERS, row]).await;
    run(&mut one, "BEGIN").await.unwrap();
    let locked = "SELECT number FROM counters WHERE id = 1 FOR UPDATE NOWAIT";
    assert_eq!(run(&mut one, locked).await.unwrap(), [[Value::Int64(7)]]);

    run(&mut other, "BEGIN").await.unwrap();
    assert_eq!(sqlstate(run(&mut other, locked).await), "55P03");
    run(&mut other, "ROLLBACK").await.unwrap();
    let free = "SELECT number FROM counters WHERE id = 2 FOR UPDATE NOWAIT";
    run(&mut other, "BEGIN").await.unwrap();
    assert_eq!(run(&mut other, free).await.unwrap(), [[Value::Int64(8)]]);
    run(&mut other, "ROLLBACK").await.unwrap();
    // Outside of a transaction there is nothing to hold on to.
    assert_eq!(run(&mut other, locked).await.unwrap(), [[Value::Int64(7)]]);

    run(&mut other, "SET lock_timeout = '1ms'").await.unwrap();
    let update = "UPDATE counters SET number = 9 WHERE id = 1";
    let refused = run(&mut other, update).await.unwrap_err();
    assert_eq!(refused.sqlstate(), "55P03", "{refused}");
    assert!(refused.to_string().contains("/1"), "{refused}");
    run(&mut one, "COMMIT").await.unwrap();
    run(&mut other, update).await.unwrap();
    assert_eq!(run(&mut one, locked).await.unwrap(), [[Value::Int64(9)]]);
}

#[tokio::test]
async fn workers_share_a_queue_by_skipping_what_others_have() {
    let jobs = "CREATE TABLE jobs (id bigint PRIMARY KEY, state text, by text);
                INSERT INTO jobs VALUES (1, 'new'), (2, 'done'), (3, 'new'), (4, 'new')";
    let jobs = jobs
        .replace(", 'new')", ", 'new', '')")
        .replace(", 'done')", ", 'done', '')");
    let [mut one, mut two, mut three] = sessions(&[&jobs]).await;
    let next = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
    for (session, job) in [(&mut one, 1), (&mut two, 3), (&mut three, 4)] {
        run(session, "BEGIN").await.unwrap();
        let taken = run(session, next).await.unwrap();
        assert_eq!(taken, [[Value::Int64(job)]]);
    }
    // By key it is the same, and outside of a transaction too.
    let by_key = "SELECT id FROM jobs WHERE id = 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(run(&mut two, by_key).await.unwrap().len(), 0);
    assert_eq!(run(&mut one, by_key).await.unwrap().len(), 1);
    for (session, job) in [(&mut one, 1), (&mut two, 3)] {
        let done = format!("UPDATE jobs SET state = 'done' WHERE id = {job}; COMMIT");
        run(session, &done).await.unwrap();
        assert_eq!(run(session, next).await.unwrap().len(), 0);
    }
    run(&mut three, "ROLLBACK").await.unwrap();
    assert_eq!(run(&mut one, next).await.unwrap(), [[Value::Int64(4)]]);
    let all = "SELECT count(*) FROM jobs WHERE state = 'done'";
    assert_eq!(run(&mut one, all).await.unwrap(), [[Value::Int64(3)]]);
}

#[tokio::test]
async fn workers_share_a_queue_over_joins_and_for_each_row_around() {
    let work = "CREATE TABLE queues (id bigint PRIMARY KEY, name text);
                CREATE TABLE work (id bigint PRIMARY KEY, queue bigint, state text);
                INSERT INTO queues VALUES (1, 'mail'), (2, 'print');
                INSERT INTO work VALUES (10, 1, ''), (11, 1, ''), (12, 1, ''), (20, 2, ''), (21, 2, '')";
    let [mut one, mut two, mut three] = sessions(&[work]).await;
    let ids = |rows: Vec<Vec<Value>>| -> Vec<String> {
        let ids = rows.iter().map(|row| row[0].to_string());
        ids.collect()
    };
    let next = "SELECT w.id, q.name FROM work w JOIN queues q ON q.id = w.queue
                ORDER BY w.id LIMIT 2 FOR UPDATE OF w SKIP LOCKED";
    for (session, expected) in [(&mut one, ["10", "11"]), (&mut two, ["12", "20"])] {
        run(session, "BEGIN").await.unwrap();
        assert_eq!(ids(run(session, next).await.unwrap()), expected);
    }
    // Nobody has the queues, so all of them are looked at, and of each the first row that is free.
    run(&mut three, "BEGIN").await.unwrap();
    let each = "SELECT j.id FROM queues q CROSS JOIN LATERAL
                (SELECT id FROM work WHERE queue = q.id ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) AS j";
    assert_eq!(ids(run(&mut three, each).await.unwrap()), ["21"]);
    let any = "UPDATE work SET state = 'late' WHERE id IN
               (SELECT w.id FROM work w JOIN queues q ON q.id = w.queue FOR UPDATE SKIP LOCKED)";
    let mut four = three;
    run(&mut one, "COMMIT").await.unwrap();
    // The rows of the first are free, and so are the queues, which it did not lock.
    run(&mut four, any).await.unwrap();
    run(&mut four, "COMMIT").await.unwrap();
    run(&mut two, "ROLLBACK").await.unwrap();
    let late = "SELECT id FROM work WHERE state = 'late' ORDER BY id";
    let late = ids(run(&mut one, late).await.unwrap());
    assert_eq!(late, ["10", "11", "21"]);
}

#[tokio::test]
async fn nowait_fails_where_any_row_of_a_query_is_held() {
    let rows = "CREATE TABLE a (id bigint PRIMARY KEY, b bigint);
                CREATE TABLE b (id bigint PRIMARY KEY, v bigint);
                INSERT INTO a VALUES (1, 10), (2, 20), (3, 20); INSERT INTO b VALUES (10, 0), (20, 0)";
    let [mut one, mut two, _] = sessions(&[rows]).await;
    run(&mut one, "BEGIN").await.unwrap();
    let locked = "SELECT id FROM b WHERE id = 20 FOR UPDATE";
    run(&mut one, locked).await.unwrap();
    let range = "SELECT id FROM b WHERE id > 5 ORDER BY id FOR UPDATE NOWAIT";
    assert_eq!(sqlstate(run(&mut two, range).await), "55P03");
    let joined = "SELECT a.id FROM a JOIN b ON b.id = a.b WHERE a.id < 3 FOR UPDATE NOWAIT";
    assert_eq!(sqlstate(run(&mut two, joined).await), "55P03");
    let inside = "DELETE FROM a WHERE b IN (SELECT id FROM b WHERE v = 0 FOR UPDATE NOWAIT)";
    assert_eq!(sqlstate(run(&mut two, inside).await), "55P03");
    // Rows that nobody asks for are none of its business, nor are tables that the lock is not about.
    for free in [
        "SELECT a.id FROM a JOIN b ON b.id = a.b WHERE a.id < 2 FOR UPDATE NOWAIT",
        "SELECT a.id FROM a JOIN b ON b.id = a.b WHERE a.id = 2 FOR UPDATE OF a NOWAIT",
        "SELECT id FROM b ORDER BY id LIMIT 1 FOR UPDATE NOWAIT",
    ] {
        assert_eq!(run(&mut two, free).await.unwrap().len(), 1, "{free}");
    }
    run(&mut one, "ROLLBACK").await.unwrap();
    assert_eq!(run(&mut two, range).await.unwrap().len(), 2);
}

/// What comes of `second` if `first` has begun and ends with `end` while `second` waits.
async fn wait(first: &str, second: &str, end: &str) -> Vec<Vec<Value>> {
    let rows = "CREATE TABLE queues (id bigint PRIMARY KEY, open boolean);
                CREATE TABLE work (id bigint PRIMARY KEY, queue bigint, state text);
                INSERT INTO queues VALUES (1, true), (2, true);
                INSERT INTO work VALUES (10, 1, 'new'), (11, 1, 'new'), (20, 2, 'new')";
    let [mut one, mut other] = sessions(&[rows]).await;
    run(&mut one, "BEGIN").await.unwrap();
    run(&mut one, first).await.unwrap();
    run(&mut other, "BEGIN").await.unwrap();
    let found = {
        let mut waits = pin!(run(&mut other, second));
        // A query that does not wait is done after some steps, however many those are.
        for _ in 0..1_000 {
            tokio::select! {
                biased;
                early = &mut waits => panic!("{second} does not wait: {early:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
        run(&mut one, end).await.unwrap();
        waits.await.unwrap()
    };
    // Nobody can have changed what it has now.
    run(&mut other, "UPDATE work SET state = 'late' WHERE id < 20")
        .await
        .unwrap();
    run(&mut other, "COMMIT").await.unwrap();
    found
}

#[tokio::test]
async fn a_range_is_locked_before_it_is_read() {
    let locked = "SELECT id, state FROM work WHERE queue = 1 AND state = 'new' FOR UPDATE";
    let row = |id: i64| vec![Value::Int64(id), Value::from("new")];
    let taken = "UPDATE work SET state = 'done' WHERE id = 10; COMMIT";
    assert_eq!(wait(locked, locked, taken).await, [row(11)]);
    assert_eq!(wait(locked, locked, "ROLLBACK").await, [row(10), row(11)]);

    // Whoever waits looks again: what it waited for may not be what it gets.
    let next = "SELECT id, state FROM work WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE";
    assert_eq!(wait(next, next, taken).await, [row(11)]);
    let more = "UPDATE work SET state = 'done' WHERE id = 10;
                INSERT INTO work VALUES (5, 1, 'new'); COMMIT";
    assert_eq!(wait(next, next, more).await, [row(5)]);

    // By key, by range and by join are the same row.
    let key = "SELECT id FROM work WHERE id = 10 FOR UPDATE";
    let joined = "SELECT w.id, w.state FROM work w JOIN queues q ON q.id = w.queue
                  WHERE q.id = 1 ORDER BY w.id FOR SHARE";
    assert_eq!(wait(key, joined, "COMMIT").await, [row(10), row(11)]);
    let queue = "SELECT id FROM queues WHERE open FOR UPDATE";
    assert_eq!(wait(queue, joined, "COMMIT").await, [row(10), row(11)]);
    let range = "SELECT id, state FROM work WHERE id BETWEEN 10 AND 11 FOR NO KEY UPDATE";
    assert_eq!(wait(joined, range, "COMMIT").await, [row(10), row(11)]);
}

#[tokio::test]
async fn what_a_lock_is_not_about_is_free() {
    let rows = "CREATE TABLE queues (id bigint PRIMARY KEY, open boolean);
                CREATE TABLE work (id bigint PRIMARY KEY, queue bigint, state text);
                INSERT INTO queues VALUES (1, true), (2, true);
                INSERT INTO work VALUES (10, 1, 'new'), (11, 1, 'new'), (20, 2, 'new')";
    let [mut one, mut other] = sessions(&[rows]).await;
    let locked = "BEGIN; SELECT w.id FROM work w JOIN queues q ON q.id = w.queue
                  WHERE w.id < 20 ORDER BY w.id LIMIT 1 FOR UPDATE OF w";
    run(&mut one, locked).await.unwrap();
    for (free, count) in [
        ("SELECT id FROM queues FOR UPDATE NOWAIT", 2),
        ("SELECT id FROM work WHERE id > 10 FOR UPDATE NOWAIT", 2),
        ("SELECT id FROM work WHERE id > 10 FOR UPDATE", 2),
        // Outside of a transaction nothing is held, so nobody is waited for.
        ("SELECT id FROM work FOR UPDATE", 3),
    ] {
        let found = run(&mut other, free).await.unwrap();
        assert_eq!(found.len(), count, "{free}");
    }
    let held = "SELECT id FROM work FOR UPDATE NOWAIT";
    assert_eq!(sqlstate(run(&mut other, held).await), "55P03");
    run(&mut other, "SET lock_timeout = '1ms'; BEGIN")
        .await
        .unwrap();
    let range = "SELECT id FROM work WHERE state = 'new' FOR UPDATE";
    assert_eq!(sqlstate(run(&mut other, range).await), "55P03");
    run(&mut other, "ROLLBACK").await.unwrap();
}
