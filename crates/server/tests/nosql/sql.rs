//! Collections seen from both sides: conversations over HTTP and with PostgreSQL's protocol, in
//! `golden/nosql/*.conversation`. Rewrite the answers with `UPDATE_GOLDEN=1` and read the difference.
//!
//! ```text
//!   > sql SELECT 1              a statement, or a function of the data service with path and body,
//!   > PutItem /users/t/a {}     or a method of HTTP with path and body; lines may follow with `>   `
//!   200                         the answer, up to the next step
//! ```

use std::fmt::Write as _;
use std::sync::mpsc::channel;

use bytes::Bytes;
use futures::SinkExt as _;
use tokio::runtime::Runtime;
use tokio_postgres::{Client as Postgres, SimpleQueryMessage};

use crate::client::{Answer, Client, start};

const METHODS: [&str; 4] = ["GET", "PUT", "DELETE", "HEAD"];

/// Runs the steps of a conversation and writes it down as it went.
fn conversation(written: &str, http: &mut Client, sql: &mut dyn FnMut(&str) -> String) -> String {
    let mut found = String::new();
    let mut lines = written.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(step) = line.strip_prefix("> ") else {
            // Remarks and empty lines stay; answers are written anew.
            if line.starts_with('#') || line.is_empty() {
                writeln!(found, "{line}").unwrap();
            }
            continue;
        };
        writeln!(found, "{line}").unwrap();
        let mut step = step.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with(">   ")) {
            writeln!(found, "{more}").unwrap();
            step.push(' ');
            step.push_str(more.trim_start_matches('>').trim_start());
        }
        let (command, rest) = step.split_once(' ').unwrap();
        found.push_str(&match command {
            "sql" => sql(rest),
            _ => {
                let (path, body) = rest.split_once(' ').unwrap_or((rest, ""));
                shown(&request(http, command, path, body))
            }
        });
    }
    found
}

fn request(http: &mut Client, command: &str, path: &str, body: &str) -> Answer {
    match METHODS.contains(&command) {
        true => http.send(command, path, &[], body.as_bytes()),
        false => {
            let headers = [("X-v3io-function", command)];
            http.send("PUT", path, &headers, body.as_bytes())
        }
    }
}

fn shown(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.status);
    // An item a line.
    let body = answer.text().replace("},{", "},\n {");
    if !body.is_empty() {
        writeln!(text, "{body}").unwrap();
    }
    text
}

async fn rows(client: &Postgres, statement: &str) -> String {
    let mut text = String::new();
    match client.simple_query(statement).await {
        Err(error) => {
            let error = error.as_db_error().expect("the server answers");
            let code = error.code().code();
            writeln!(text, "ERROR {code}: {}", error.message()).unwrap();
        }
        Ok(messages) => {
            for message in messages {
                match message {
                    SimpleQueryMessage::RowDescription(columns) => {
                        let names: Vec<&str> = columns.iter().map(|one| one.name()).collect();
                        writeln!(text, "{}", names.join(" | ")).unwrap();
                    }
                    SimpleQueryMessage::Row(row) => {
                        let values = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL"));
                        let line = values.collect::<Vec<_>>().join(" | ");
                        // Times differ from run to run.
                        let timed = ["Own Time", "Execution Time", "Planning Time"];
                        if !timed.iter().any(|word| line.contains(word)) {
                            writeln!(text, "{line}").unwrap();
                        }
                    }
                    SimpleQueryMessage::CommandComplete(rows) => {
                        writeln!(text, "({rows})").unwrap();
                    }
                    _ => {}
                }
            }
        }
    }
    text
}

fn check(name: &str) {
    let (mut http, server, _data) = start();
    let runtime = Runtime::new().unwrap();
    let client = runtime.block_on(server.connect());
    let path = format!(
        "{}/golden/nosql/{name}.conversation",
        env!("CARGO_MANIFEST_DIR")
    );
    let written = std::fs::read_to_string(&path).unwrap();
    let found = conversation(&written, &mut http, &mut |statement| {
        runtime.block_on(rows(&client, statement))
    });
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
        return;
    }
    assert_eq!(
        found, written,
        "{name}.conversation differs: rewrite it with UPDATE_GOLDEN=1 if that is meant"
    );
}

#[test]
fn items_are_rows() {
    check("rows");
}

#[test]
fn keys_are_ranges() {
    check("keys");
}

#[test]
fn items_are_what_they_say_they_are() {
    check("even");
}

#[test]
fn tables_and_collections_keep_apart() {
    check("guards");
}

#[test]
fn schemas_are_worked_out() {
    check("infer");
}

#[test]
fn partitions_are_columns() {
    check("partitions");
}

#[test]
fn added_columns_are_kept() {
    check("columns");
}

#[test]
fn a_star_is_all_tables_below() {
    check("below");
}

#[test]
fn collections_are_listed_as_tables() {
    check("catalog");
}

#[test]
fn rows_are_copied_into_a_collection() {
    let (mut http, server, _data) = start();
    let schema = br#"{"key": "driver", "sortingKey": "day", "hashingBucketNum": 4, "fields": [
        {"name": "driver", "type": "string"}, {"name": "day", "type": "long"},
        {"name": "km", "type": "double"}]}"#;
    http.send("PUT", "/users/rides/.%23schema", &[], schema)
        .done();
    Runtime::new().unwrap().block_on(async {
        let client = server.connect().await;
        let copy = async |statement: &str, lines: &str| {
            let sink = client.copy_in::<_, Bytes>(statement).await?;
            let mut sink = Box::pin(sink);
            sink.send(Bytes::from(lines.to_owned())).await?;
            sink.as_mut().finish().await
        };
        let into = r#"COPY "users/rides" FROM STDIN"#;
        let lines = "ada\t9\t1.5\nada\t10\t\\N\nbob\t7\t3\n";
        assert_eq!(copy(into, lines).await.unwrap(), 3);
        // All or none: the second line is there already.
        let twice = "eve\t1\t0\nada\t10\t2\n";
        let error = copy(into, twice).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23505");
        let short = r#"COPY "users/rides" (driver, km) FROM STDIN (FORMAT csv)"#;
        let error = copy(short, "zoe,1\n").await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23502");
        // Inside of a transaction it goes with the transaction.
        client.batch_execute("BEGIN").await.unwrap();
        let swapped = r#"COPY "users/rides" (day, driver) FROM STDIN (FORMAT csv)"#;
        assert_eq!(copy(swapped, "5,zoe\n6,zoe\n").await.unwrap(), 2);
        client.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(copy(swapped, "8,zoe\n").await.unwrap(), 1);
    });
    let found = request(
        &mut http,
        "GetItems",
        "/users/rides/",
        r#"{"ShardingKey": "ada", "AttributesToGet": "day,km"}"#,
    );
    let items = found.json()["Items"].clone();
    assert_eq!(items[0]["day"]["N"], "9");
    assert_eq!(items[0]["km"]["N"], "1.5");
    assert_eq!(items[1]["day"]["N"], "10");
    assert!(items[1].get("km").is_none(), "{items}");
    for (name, status) in [
        ("bob.7", 200),
        ("zoe.8", 200),
        ("zoe.5", 404),
        ("eve.1", 404),
    ] {
        let path = format!("/users/rides/{name}");
        assert_eq!(
            request(&mut http, "GetItem", &path, "{}").status,
            status,
            "{name}"
        );
    }
}

#[test]
fn the_verifier_of_a_directory_tells_of_changes() {
    let (mut http, server, _data) = start();
    let schema = br#"{"key": "k", "fields": [{"name": "k", "type": "string"}, {"name": "x", "type": "long"}]}"#;
    http.send("PUT", "/users/t/.%23schema", &[], schema).done();
    let client = Runtime::new().unwrap();
    let sql = client.block_on(server.connect());
    let mut seen = Vec::new();
    let mut told = |http: &mut Client, after: &str| {
        let page = request(http, "GetItems", "/users/t/", "{}");
        let verifier = page.header("x-v3io-transaction-verifier").unwrap();
        let again = request(http, "GetItems", "/users/t/", "{}");
        let same = again.header("x-v3io-transaction-verifier").unwrap();
        assert_eq!(verifier, same, "{after}");
        assert!(!seen.contains(&verifier.to_owned()), "{after}");
        seen.push(verifier.to_owned());
    };
    let put = |x: i64| format!(r#"{{"Item": {{"x": {{"N": "{x}"}}}}}}"#);
    told(&mut http, "the schema");
    request(&mut http, "PutItem", "/users/t/a", &put(1)).done();
    told(&mut http, "a new item");
    request(&mut http, "PutItem", "/users/t/b", &put(1)).done();
    told(&mut http, "another");
    request(
        &mut http,
        "UpdateItem",
        "/users/t/a",
        r#"{"UpdateExpression": "x = 2"}"#,
    )
    .done();
    told(&mut http, "a change");
    let gone = http.send("DELETE", "/users/t/a", &[], b"");
    assert_eq!(gone.status, 204);
    told(&mut http, "an item that went");
    for statement in [
        r#"INSERT INTO "users/t" (k, x) VALUES ('c', 1), ('d', 1)"#,
        r#"UPDATE "users/t" SET x = 3 WHERE k = 'c'"#,
        r#"DELETE FROM "users/t" WHERE k = 'c'"#,
        r#"UPDATE "users/t" SET k = 'e' WHERE k = 'd'"#,
    ] {
        client.block_on(sql.batch_execute(statement)).unwrap();
        told(&mut http, statement);
    }
}

#[test]
fn prepared_statements_follow_schemas() {
    let (mut http, server, _data) = start();
    let schema = |kind: &str| {
        format!(
            r#"{{"key": "k", "sortingKey": "n", "fields": [{{"name": "n", "type": "{kind}"}},
                {{"name": "x", "type": "long"}}]}}"#
        )
    };
    let put = |http: &mut Client, kind: &str| {
        let answer = http.send("PUT", "/users/t/.%23schema", &[], schema(kind).as_bytes());
        answer.done();
    };
    put(&mut http, "long");
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let client = server.connect().await;
        let insert = r#"INSERT INTO "users/t" (k, n, x) VALUES ('a', $1, $2)"#;
        let insert = client.prepare(insert).await.unwrap();
        let range = r#"SELECT x FROM "users/t" WHERE k = $1 AND n >= $2 ORDER BY n"#;
        let range = client.prepare(range).await.unwrap();
        for n in [9_i64, 10, 100] {
            client.execute(&insert, &[&n, &(n * 2)]).await.unwrap();
        }
        let rows = client.query(&range, &[&"a", &10_i64]).await.unwrap();
        let found: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(found, [20, 200]);
        // Numbers become texts: the items lie in another order, and the parameter is a text.
        put(&mut http, "string");
        let error = client.query(&range, &[&"a", &10_i64]).await.unwrap_err();
        assert!(error.as_db_error().is_some(), "{error}");
        let again = r#"SELECT x FROM "users/t" WHERE k = 'a' AND n >= '10' ORDER BY n"#;
        let rows = client.query(again, &[]).await.unwrap();
        let found: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(found, [20, 200, 18]);
        // Back again, and the old statement knows what it always knew.
        put(&mut http, "long");
        client.execute(&insert, &[&11_i64, &22_i64]).await.unwrap();
        let rows = client.query(&range, &[&"a", &10_i64]).await.unwrap();
        let found: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(found, [20, 22, 200]);
    });
}

#[test]
fn counters_that_both_sides_raise_lose_nothing() {
    const EACH: i64 = 100;
    let (mut http, server, _data) = start();
    let schema = br#"{"key": "k", "fields": [{"name": "k", "type": "string"}, {"name": "x", "type": "long"}]}"#;
    http.send("PUT", "/users/t/.%23schema", &[], schema).done();
    request(
        &mut http,
        "PutItem",
        "/users/t/a",
        r#"{"Item": {"x": {"N": "0"}}}"#,
    )
    .done();
    std::thread::scope(|scope| {
        let mut http = Client::connect(&server);
        scope.spawn(move || {
            for _ in 0..EACH {
                let body = r#"{"UpdateExpression": "x = x + 1"}"#;
                request(&mut http, "UpdateItem", "/users/t/a", body).done();
            }
        });
        Runtime::new().unwrap().block_on(async {
            let client = server.connect().await;
            let raise = r#"UPDATE "users/t" SET x = x + 1 WHERE k = 'a'"#;
            let mut raised = 0;
            while raised < EACH {
                match client.execute(raise, &[]).await {
                    Ok(rows) => {
                        assert_eq!(rows, 1);
                        raised += 1;
                    }
                    Err(error) => assert_eq!(error.code().unwrap().code(), "40001"),
                }
            }
        });
    });
    let found = request(&mut http, "GetItem", "/users/t/a", "{}");
    assert_eq!(found.json()["Item"]["x"]["N"], (2 * EACH).to_string());
}

#[test]
fn what_sql_writes_while_the_order_changes_is_found() {
    const ITEMS: usize = 60;
    let (mut http, server, _data) = start();
    let schema = |kind: &str| {
        format!(
            r#"{{"key": "k", "sortingKey": "n", "fields": [{{"name": "n", "type": "{kind}"}}]}}"#
        )
    };
    let put = |http: &mut Client, kind: &str| {
        let answer = http.send("PUT", "/users/t/.%23schema", &[], schema(kind).as_bytes());
        answer.done();
    };
    put(&mut http, "long");
    let (inserted, insertions) = channel();
    std::thread::scope(|scope| {
        // One change for each insertion, while the next ones go on.
        scope.spawn(|| {
            let mut http = Client::connect(&server);
            for n in insertions {
                put(&mut http, if n % 2 == 0 { "string" } else { "long" });
            }
            put(&mut http, "long");
        });
        Runtime::new().unwrap().block_on(async {
            let client = server.connect().await;
            for n in 0..ITEMS {
                let insert = format!(r#"INSERT INTO "users/t" (k, n) VALUES ('a', '{n}')"#);
                while let Err(error) = client.simple_query(&insert).await {
                    assert_eq!(error.code().unwrap().code(), "40001", "{error}");
                }
                inserted.send(n).unwrap();
            }
            drop(inserted);
        });
    });
    let mut http = Client::connect(&server);
    for n in 0..ITEMS {
        let found = request(&mut http, "GetItem", &format!("/users/t/a.{n}"), "{}");
        assert_eq!(found.status, 200, "a.{n} is lost");
    }
    let names = http.names("/users/t/", &serde_json::json!({"ShardingKey": "a"}));
    let expected: Vec<String> = (0..ITEMS).map(|n| format!("a.{n}")).collect();
    assert_eq!(names, expected);
}
