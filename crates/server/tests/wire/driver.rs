//! A driver's view: statements, transactions, errors, portals, pipelines.

use std::time::Duration;

use server::pg::types::Format;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::process::Server;
use crate::values::Raw;

async fn counters(client: &Client) {
    client
        .batch_execute("CREATE TABLE counters (id Int64 NOT NULL, n Int64, PRIMARY KEY (id))")
        .await
        .unwrap();
}

fn code(error: &tokio_postgres::Error) -> &str {
    error
        .code()
        .map_or_else(|| panic!("{error} has no SQLSTATE"), |code| code.code())
}

#[tokio::test]
async fn a_transaction_is_whole_or_not_there() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = server.connect().await;
    let other = server.connect().await;
    counters(&client).await;
    let count = "SELECT id FROM counters";

    let transaction = client.transaction().await.unwrap();
    transaction
        .execute("INSERT INTO counters (id, n) VALUES (1, 1)", &[])
        .await
        .unwrap();
    assert_eq!(transaction.query(count, &[]).await.unwrap().len(), 1);
    assert_eq!(other.query(count, &[]).await.unwrap().len(), 0);
    transaction.rollback().await.unwrap();
    assert_eq!(client.query(count, &[]).await.unwrap().len(), 0);

    let transaction = client.transaction().await.unwrap();
    transaction
        .execute("INSERT INTO counters (id, n) VALUES (1, 1)", &[])
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(other.query(count, &[]).await.unwrap().len(), 1);

    let transaction = client.transaction().await.unwrap();
    let again = transaction
        .execute("INSERT INTO counters (id, n) VALUES (1, 2)", &[])
        .await;
    assert_eq!(code(&again.unwrap_err()), "23505");
    let refused = transaction.query(count, &[]).await;
    assert_eq!(code(&refused.unwrap_err()), "25P02");
    transaction.rollback().await.unwrap();
    assert_eq!(client.query(count, &[]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn clients_that_lock_what_they_read_lose_nothing_and_are_not_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let fill = "CREATE TABLE owners (id bigint PRIMARY KEY, name text);
                CREATE TABLE accounts (id bigint PRIMARY KEY, owner bigint, amount bigint NOT NULL);
                INSERT INTO owners VALUES (1, 'a'), (2, 'b');
                INSERT INTO accounts VALUES (10, 1, 0), (11, 1, 0), (20, 2, 0)";
    client.batch_execute(fill).await.unwrap();
    let by_range = "SELECT id, amount FROM accounts WHERE owner = $1 ORDER BY id FOR UPDATE";
    let by_join = "SELECT accounts.id, amount FROM owners JOIN accounts ON owner = owners.id
                   WHERE owners.id = $1 ORDER BY accounts.id FOR NO KEY UPDATE OF accounts";
    let mut workers = Vec::new();
    for text in [by_range, by_join, by_range] {
        let mut client = server.connect().await;
        workers.push(tokio::spawn(async move {
            for _ in 0..20 {
                let transaction = client.transaction().await.unwrap();
                for row in transaction.query(text, &[&1_i64]).await.unwrap() {
                    // What was read is what is changed, as programs do that work out the rest.
                    let (id, amount): (i64, i64) = (row.get(0), row.get(1));
                    let update = "UPDATE accounts SET amount = $1 WHERE id = $2";
                    let more = amount + 1;
                    transaction.execute(update, &[&more, &id]).await.unwrap();
                }
                transaction.commit().await.unwrap();
            }
        }));
    }
    for worker in workers {
        worker.await.unwrap();
    }
    let rows = client
        .query("SELECT amount FROM accounts ORDER BY id", &[])
        .await
        .unwrap();
    let amounts: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(amounts, [60, 60, 0]);
}

#[tokio::test]
async fn workers_that_share_a_queue_never_take_the_same_job() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let jobs: Vec<String> = (0..40).map(|id| format!("({id}, 'new')")).collect();
    let fill = format!(
        "CREATE TABLE jobs (id bigint PRIMARY KEY, state text, worker text);
         INSERT INTO jobs (id, state) VALUES {}",
        jobs.join(", ")
    );
    client.batch_execute(&fill).await.unwrap();
    let by_list = "UPDATE jobs SET state = 'done', worker = $1 WHERE id IN (SELECT id FROM jobs
        WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id";
    let by_join = "WITH job AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY id
        FOR UPDATE SKIP LOCKED LIMIT 1)
        UPDATE jobs SET state = 'done', worker = $1 FROM job WHERE jobs.id = job.id
        RETURNING jobs.id";

    // While one has a job in an open transaction the other gets the next one.
    let (mut first, second) = (server.connect().await, server.connect().await);
    let open = first.transaction().await.unwrap();
    let taken = open.query(by_list, &[&"first"]).await.unwrap();
    assert_eq!(taken[0].get::<_, i64>(0), 0);
    for (text, id) in [(by_list, 1), (by_join, 2)] {
        let next = second.query(text, &[&"second"]).await.unwrap();
        assert_eq!(next[0].get::<_, i64>(0), id, "{text}");
    }
    open.commit().await.unwrap();

    let mut workers = Vec::new();
    for (worker, text) in [
        ("a", by_list),
        ("b", by_join),
        ("c", by_list),
        ("d", by_join),
    ] {
        let client = server.connect().await;
        workers.push(tokio::spawn(async move {
            let mut taken: Vec<i64> = Vec::new();
            loop {
                match client.query(text, &[&worker]).await {
                    Ok(rows) if rows.is_empty() => return taken,
                    Ok(rows) => taken.extend(rows.iter().map(|row| row.get::<_, i64>(0))),
                    // Another was faster in between; nothing was taken.
                    Err(error) => assert_eq!(code(&error), "40001", "{error}"),
                }
            }
        }));
    }
    let mut all = vec![0, 1, 2];
    for worker in workers {
        all.extend(worker.await.unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, (0..40).collect::<Vec<i64>>());
    let left = client
        .query_one("SELECT count(*) FROM jobs WHERE state = 'new'", &[])
        .await
        .unwrap();
    assert_eq!(left.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_dropped_client_leaves_no_transaction_behind() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    counters(&client).await;
    let gone = server.connect().await;
    gone.batch_execute("BEGIN; INSERT INTO counters (id, n) VALUES (1, 1)")
        .await
        .unwrap();
    drop(gone);
    client
        .execute("INSERT INTO counters (id, n) VALUES (1, 2)", &[])
        .await
        .unwrap();
    let row = client
        .query_one("SELECT n FROM counters WHERE id = 1", &[])
        .await
        .unwrap();
    assert_eq!(row.get::<_, i64>(0), 2);
}

#[tokio::test]
async fn errors_have_codes_and_places_and_the_client_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    counters(&client).await;
    for (statement, expected) in [
        ("SELECT * FROM nowhere", "42P01"),
        ("CREATE VIEW few AS SELECT 1", "0A000"),
        ("SELEKT 1", "42601"),
        ("SELECT n FROM counters WHERE id = $1; SELECT 1", "42601"),
        ("INSERT INTO counters (id, n) VALUES (NULL, 1)", "23502"),
    ] {
        let simple = client.batch_execute(statement).await;
        let simple = simple.err().map(|error| code(&error).to_owned());
        if !statement.contains('$') {
            assert_eq!(simple.as_deref(), Some(expected), "{statement}, simple");
        }
        let extended = client.query(statement, &[]).await;
        let extended = extended.err().map(|error| code(&error).to_owned());
        assert_eq!(extended.as_deref(), Some(expected), "{statement}, extended");
    }
    let unbound = client
        .batch_execute("SELECT n FROM counters WHERE id = $1")
        .await;
    assert_eq!(code(&unbound.unwrap_err()), "42P02");

    let error = client
        .batch_execute("SELECT 'ü' form counters")
        .await
        .unwrap_err();
    let place = error
        .as_db_error()
        .and_then(|error| error.position().cloned());
    assert_eq!(
        place,
        Some(tokio_postgres::error::ErrorPosition::Original(17)),
        "{error}"
    );

    let select = client
        .prepare("SELECT n FROM counters WHERE id = $1")
        .await
        .unwrap();
    let bad = Raw {
        format: Format::Text,
        bytes: Some(b"seven".to_vec()),
    };
    assert_eq!(
        code(&client.query(&select, &[&bad]).await.unwrap_err()),
        "22P02"
    );
    let bad = Raw {
        format: Format::Binary,
        bytes: Some(vec![7]),
    };
    assert_eq!(
        code(&client.query(&select, &[&bad]).await.unwrap_err()),
        "22P03"
    );
    assert!(client.query(&select, &[&7_i64]).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_place_of_an_unknown_name_is_that_of_the_name() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    counters(&client).await;
    for (text, place) in [
        ("SELECT 'nope' AS nope, nope FROM counters", 24),
        (
            "/* nope */ SELECT n FROM counters WHERE counters.nope = 1",
            50,
        ),
        (
            "SELECT n FROM counters; SELECT 'ü' AS nope, nope FROM counters",
            45,
        ),
        ("SELECT 'none' FROM none", 20),
        ("UPDATE counters SET nope = 'nope'", 21),
        ("INSERT INTO counters (id, nope) VALUES (1, 'nope')", 27),
    ] {
        let error = client.batch_execute(text).await.unwrap_err();
        let found = error
            .as_db_error()
            .and_then(|error| error.position().cloned());
        let expected = tokio_postgres::error::ErrorPosition::Original(place);
        assert_eq!(found, Some(expected), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_portal_gives_its_rows_some_at_a_time() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = server.connect().await;
    counters(&client).await;
    let rows: Vec<String> = (0..25).map(|id| format!("({id}, {id})")).collect();
    let insert = format!("INSERT INTO counters (id, n) VALUES {}", rows.join(", "));
    client.batch_execute(&insert).await.unwrap();
    for select in [
        "SELECT id FROM counters",
        "SELECT id + 0 FROM counters ORDER BY id",
    ] {
        let transaction = client.transaction().await.unwrap();
        let portal = transaction.bind(select, &[]).await.unwrap();
        let mut ids: Vec<i64> = Vec::new();
        let mut sizes = Vec::new();
        loop {
            let some = transaction.query_portal(&portal, 10).await.unwrap();
            sizes.push(some.len());
            ids.extend(some.iter().map(|row| row.get::<_, i64>(0)));
            if some.len() < 10 {
                break;
            }
        }
        assert_eq!(sizes, [10, 10, 5], "{select}");
        assert_eq!(ids, (0..25).collect::<Vec<i64>>(), "{select}");
        transaction.commit().await.unwrap();
    }
}

#[tokio::test]
async fn statements_may_be_sent_before_answers_come() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    counters(&client).await;
    let insert = client
        .prepare("UPSERT INTO counters (id, n) VALUES ($1, $2)")
        .await
        .unwrap();
    let select = client
        .prepare("SELECT n FROM counters WHERE id = $1")
        .await
        .unwrap();
    let bad = Raw {
        format: Format::Binary,
        bytes: Some(vec![7]),
    };
    let wrong: [&(dyn ToSql + Sync); 1] = [&bad];
    let (first, second, wrong, third, fourth) = tokio::join!(
        client.execute_raw(&insert, [1_i64, 10]),
        client.query_one(&select, &[&1_i64]),
        client.query(&select, &wrong),
        client.execute_raw(&insert, [1_i64, 20]),
        client.query_one(&select, &[&1_i64]),
    );
    assert_eq!(first.unwrap(), 1);
    assert_eq!(second.unwrap().get::<_, i64>(0), 10);
    assert_eq!(code(&wrong.unwrap_err()), "22P03");
    assert_eq!(third.unwrap(), 1);
    assert_eq!(fourth.unwrap().get::<_, i64>(0), 20);
}

/// How long a test waits for what should happen at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// A statement that takes longer than anyone waits.
const ENDLESS: &str = "SELECT count(*) FROM counters a CROSS JOIN counters b CROSS JOIN counters c \
     CROSS JOIN counters d CROSS JOIN counters e CROSS JOIN counters f CROSS JOIN counters g \
     WHERE a.n + b.n + c.n + d.n + e.n + f.n + g.n = -1";

async fn hundred_counters(client: &Client) {
    counters(client).await;
    let rows: Vec<String> = (0..100).map(|id| format!("({id}, {id})")).collect();
    let insert = format!("INSERT INTO counters (id, n) VALUES {}", rows.join(", "));
    client.batch_execute(&insert).await.unwrap();
}

#[tokio::test]
async fn a_cancelled_statement_ends_and_its_client_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    hundred_counters(&client).await;
    let token = client.cancel_token();
    for simple in [true, false] {
        let run = async {
            match simple {
                true => client.batch_execute(ENDLESS).await,
                false => client.query(ENDLESS, &[]).await.map(|_| ()),
            }
        };
        // A request that comes before the statement runs does nothing, so it is made again.
        let cancel = async {
            loop {
                token.cancel_query(tokio_postgres::NoTls).await.unwrap();
            }
        };
        let ended = tokio::select! {
            ended = run => ended,
            () = cancel => unreachable!("it asks for ever"),
        };
        assert_eq!(code(&ended.unwrap_err()), "57014");
    }
    assert_eq!(
        client
            .query("SELECT id FROM counters", &[])
            .await
            .unwrap()
            .len(),
        100
    );
}

#[tokio::test]
async fn statements_without_end_leave_time_for_others_and_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    hundred_counters(&client).await;
    let threads = std::thread::available_parallelism().unwrap().get();
    // The second time there would be no thread left, if the first had left anything running.
    for _ in 0..2 {
        let mut busy = Vec::new();
        for _ in 0..2 * threads {
            let client = server.connect().await;
            let token = client.cancel_token();
            let run = tokio::spawn(async move { client.batch_execute(ENDLESS).await });
            busy.push((token, run));
        }
        let others = async {
            for (id, _) in busy.iter().enumerate() {
                let other = server.connect().await;
                let id = i64::try_from(id).unwrap();
                let select = "SELECT n FROM counters WHERE id = $1";
                let row = other.query_one(select, &[&id]).await.unwrap();
                assert_eq!(row.get::<_, i64>(0), id);
            }
        };
        tokio::time::timeout(PATIENCE, others)
            .await
            .expect("others get their turn");
        for (token, run) in busy {
            let ended = tokio::time::timeout(PATIENCE, async {
                while !run.is_finished() {
                    token.cancel_query(tokio_postgres::NoTls).await.unwrap();
                }
                run.await.unwrap()
            });
            let ended = ended.await.expect("what is cancelled ends");
            assert_eq!(code(&ended.unwrap_err()), "57014");
        }
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_frees_its_place() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--connections-max", "1"]);
    let client = server.connect().await;
    hundred_counters(&client).await;
    let config = format!("host=127.0.0.1 port={} user=ada", server.port);
    drop(client);
    let mut connected = tokio_postgres::connect(&config, tokio_postgres::NoTls).await;
    while connected.is_err() {
        connected = tokio_postgres::connect(&config, tokio_postgres::NoTls).await;
    }
    let (client, connection) = connected.unwrap();
    let connection = tokio::spawn(connection);
    let mut endless = std::pin::pin!(client.batch_execute(ENDLESS));
    assert!(
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(endless.as_mut().poll(context).is_pending())
        })
        .await
    );
    let refused = server.try_connect().await.map(|_| ()).unwrap_err();
    assert_eq!(code(&refused), "53300");
    connection.abort();
    let last = loop {
        match server.try_connect().await {
            Ok(client) => break client,
            Err(error) => assert_eq!(code(&error), "53300"),
        }
    };
    last.batch_execute("SELECT 1").await.unwrap();
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--connections-max", "2"]);
    let first = server.connect().await;
    let second = server.connect().await;
    let refused = server.try_connect().await.map(|_| ()).unwrap_err();
    assert_eq!(code(&refused), "53300");
    first.batch_execute("SELECT 1").await.unwrap();
    second.batch_execute("SELECT 1").await.unwrap();
}

#[tokio::test]
async fn what_was_committed_is_there_after_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    counters(&client).await;
    for id in 0..20_i64 {
        client
            .execute("INSERT INTO counters (id, n) VALUES ($1, $1)", &[&id])
            .await
            .unwrap();
    }
    client
        .batch_execute("BEGIN; INSERT INTO counters (id, n) VALUES (99, 99)")
        .await
        .unwrap();
    server.kill();

    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let rows = client.query("SELECT id FROM counters", &[]).await.unwrap();
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, (0..20).collect::<Vec<i64>>());
}

#[tokio::test]
async fn sigterm_ends_it_cleanly_and_tells_clients() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let config = format!("host=127.0.0.1 port={} user=ada", server.port);
    let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls)
        .await
        .unwrap();
    let (status, said) = server.terminate();
    assert!(status.success());
    assert_eq!(said, "evenkeel: stopped\n");
    assert_eq!(code(&connection.await.unwrap_err()), "57P01");
    assert!(client.is_closed());
}
