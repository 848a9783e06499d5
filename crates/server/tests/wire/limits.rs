//! Too many clients, too much of something, and clients that stop in the middle.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::bytes_by_hand::{dial, greeted, message, receive, round, sqlstate, startup};
use crate::process::Server;

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

/// What a client meets that comes when it may be full: let in, told so, or the door shut.
fn knock(server: &Server) -> (Option<TcpStream>, String) {
    let mut stream = dial(server);
    let mut kind = [0];
    if stream.write_all(&startup()).is_err() || !matches!(stream.read(&mut kind), Ok(1)) {
        return (None, "shut".to_owned());
    }
    let mut rest = [0; 4];
    stream.read_exact(&mut rest).unwrap();
    let mut body = vec![0; usize::try_from(u32::from_be_bytes(rest)).unwrap() - 4];
    stream.read_exact(&mut body).unwrap();
    match kind {
        [b'R'] => {
            round(&mut stream);
            (Some(stream), "in".to_owned())
        }
        _ => (None, sqlstate(&body)),
    }
}

#[test]
fn three_hundred_clients_at_fifty_places_are_told_or_served() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--connections-max", "50"]);
    let met: Vec<_> = std::thread::scope(|scope| {
        let knocks: Vec<_> = (0..300).map(|_| scope.spawn(|| knock(&server))).collect();
        knocks
            .into_iter()
            .map(|knock| knock.join().unwrap())
            .collect()
    });
    let mut inside: Vec<TcpStream> = Vec::new();
    for (stream, word) in met {
        assert!(["in", "53300", "shut"].contains(&word.as_str()), "{word}");
        inside.extend(stream);
    }
    assert_eq!(inside.len(), 50);
    for stream in &mut inside {
        stream.write_all(&query("SELECT 1")).unwrap();
        assert_eq!(round(stream), ("TDCZ".to_owned(), 'I'));
    }
    drop(inside);
    while knock(&server).0.is_none() {}
}

#[test]
fn a_client_that_does_not_read_costs_little_and_holds_nobody_up() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--connections-max", "2"]);
    let mut other = greeted(&server);
    let text = "x".repeat(1_000);
    let rows: Vec<String> = (0..1_000).map(|id| format!("({id}, '{text}')")).collect();
    for statement in [
        "CREATE TABLE t (id Int64 NOT NULL, text Utf8, PRIMARY KEY (id))".to_owned(),
        format!("INSERT INTO t (id, text) VALUES {}", rows.join(", ")),
    ] {
        other.write_all(&query(&statement)).unwrap();
        assert_eq!(round(&mut other), ("CZ".to_owned(), 'I'));
    }
    let before = server.memory_kib_max();
    let mut deaf = greeted(&server);
    // A gigabyte that nobody takes.
    let much = "SELECT a.text, b.id FROM t a CROSS JOIN t b";
    deaf.write_all(&query(&format!(
        "BEGIN; UPDATE t SET text = '' WHERE id = 1; {much}"
    )))
    .unwrap();
    while receive(&mut deaf).0 != b'D' {}
    for id in 0..200 {
        other
            .write_all(&query(&format!("SELECT id FROM t WHERE id = {id}")))
            .unwrap();
        assert_eq!(round(&mut other), ("TDCZ".to_owned(), 'I'));
    }
    let grown = server.memory_kib_max() - before;
    assert!(
        grown < 300 << 10,
        "{grown} KiB for one answer that is not read"
    );
    drop(deaf);
    // Its place is free again, and its transaction is gone.
    while knock(&server).0.is_none() {}
    let written = "UPDATE t SET text = 'mine' WHERE id = 1";
    other.write_all(&query(written)).unwrap();
    assert_eq!(round(&mut other), ("CZ".to_owned(), 'I'));
}

#[test]
fn statements_and_parameters_that_are_kept_have_a_limit() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let filler = "x".repeat(3 << 20);
    let mut refused = None;
    for name in 0..30 {
        let body = format!("s{name}\0SELECT 1 -- {filler}\0\0\0");
        stream
            .write_all(&[message(b'P', body.as_bytes()), message(b'S', b"")].concat())
            .unwrap();
        let (kind, body) = receive(&mut stream);
        if kind == b'E' {
            refused = Some((name, sqlstate(&body)));
            break;
        }
        assert_eq!(round(&mut stream), ("Z".to_owned(), 'I'));
    }
    assert_eq!(refused, Some((21, "53400".to_owned())));
}

#[test]
fn ten_thousand_statements_are_kept_and_no_more() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    // An empty text is a statement too, and costs nothing to plan.
    let parse = |name: usize| message(b'P', format!("s{name}\0\0\0\0").as_bytes());
    for hundred in 0..100 {
        let mut batch: Vec<u8> = (0..100)
            .flat_map(|one| parse(hundred * 100 + one))
            .collect();
        batch.extend(message(b'S', b""));
        stream.write_all(&batch).unwrap();
        let done = format!("{}Z", "1".repeat(100));
        assert_eq!(round(&mut stream), (done, 'I'));
    }
    let one_more = [parse(10_000), message(b'S', b"")].concat();
    stream.write_all(&one_more).unwrap();
    let (kind, body) = receive(&mut stream);
    assert_eq!((kind, sqlstate(&body).as_str()), (b'E', "53400"));
    let text = String::from_utf8_lossy(&body).into_owned();
    assert!(text.contains("DEALLOCATE"), "{text}");
    assert_eq!(round(&mut stream), ("Z".to_owned(), 'I'));
    // One that is closed makes room for one, and all that are let go for many.
    let close = message(b'C', b"Ss7\0");
    stream.write_all(&[close, one_more].concat()).unwrap();
    assert_eq!(round(&mut stream), ("31Z".to_owned(), 'I'));
    stream.write_all(&query("DEALLOCATE ALL")).unwrap();
    assert_eq!(round(&mut stream), ("CZ".to_owned(), 'I'));
    let again = [parse(1), parse(2), message(b'S', b"")].concat();
    stream.write_all(&again).unwrap();
    assert_eq!(round(&mut stream), ("11Z".to_owned(), 'I'));
}

#[tokio::test]
async fn a_thousand_conditions_and_ten_thousand_values_are_not_too_many() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let rows: Vec<String> = (0..2_000).map(|id| format!("({id}, {id})")).collect();
    let create = "CREATE TABLE t (k bigint PRIMARY KEY, v bigint)";
    client.batch_execute(create).await.unwrap();
    let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
    client.batch_execute(&insert).await.unwrap();
    let joined = |joint: &str, term: &dyn Fn(usize) -> String| {
        (0..1_000).map(term).collect::<Vec<_>>().join(joint)
    };
    let list: Vec<String> = (0..10_000).map(|value| (value * 2).to_string()).collect();
    let list = list.join(", ");
    for (filter, expected) in [
        (joined(" OR ", &|one| format!("k = {one}")), 1_000),
        (joined(" OR ", &|one| format!("t.v = {one} + 0")), 1_000),
        (
            joined(" OR ", &|one| format!("v BETWEEN {one} AND {one}")),
            1_000,
        ),
        (joined(" AND ", &|one| format!("v <> {one} * 2 + 1")), 1_000),
        (
            joined(" OR ", &|one| format!("k = {one} AND v = {one}")),
            1_000,
        ),
        (format!("k IN ({list})"), 1_000),
        (format!("v IN ({list})"), 1_000),
        (format!("v NOT IN ({list})"), 1_000),
    ] {
        let text = format!("SELECT count(*) FROM t WHERE {filter}");
        let start: String = filter.chars().take(40).collect();
        let found = client.query_one(&text, &[]).await;
        let found: i64 = found
            .unwrap_or_else(|error| panic!("{start}: {error}"))
            .get(0);
        assert_eq!(found, expected, "{start}");
    }
    let filter = joined(" OR ", &|one| format!("k = {one}"));
    for text in [
        format!("UPDATE t SET v = -1 WHERE {filter}"),
        format!("DELETE FROM t WHERE k IN ({list})"),
    ] {
        assert_eq!(client.execute(&text, &[]).await.unwrap(), 1_000);
    }
}

#[tokio::test]
async fn a_text_that_is_too_deep_is_refused_and_nobody_falls() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let add = |inner: String, _| format!("({inner}{})", " + 1".repeat(1000));
    let nested = (0..60).fold("1".to_owned(), add);
    for text in [
        format!("SELECT {nested}"),
        vec!["SELECT 1, 2"; 30_000].join(" UNION ALL "),
        format!("INSERT INTO t SELECT {nested} FOR UPDATE"),
    ] {
        let refused = client.batch_execute(&text).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "54001");
    }
    client.batch_execute("SELECT 1").await.unwrap();
}
