//! Statements sent before answers come: everything up to Sync is one transaction.

use std::io::Write;
use std::net::TcpStream;

use crate::bytes_by_hand::{greeted, message, receive, round, sqlstate};
use crate::process::Server;

/// Parse, bind and execute of a statement.
fn run(text: &str) -> Vec<u8> {
    [
        message(b'P', format!("\0{text}\0\0\0").as_bytes()),
        message(b'B', b"\0\0\0\0\0\0\0\0"),
        message(b'E', b"\0\0\0\0\0"),
    ]
    .concat()
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

fn send(stream: &mut TcpStream, parts: &[Vec<u8>]) -> (String, char) {
    stream.write_all(&parts.concat()).unwrap();
    round(stream)
}

/// How many rows there are.
fn count(stream: &mut TcpStream) -> String {
    let query = message(b'Q', b"SELECT count(*) FROM t\0");
    stream.write_all(&query).unwrap();
    let mut found = String::new();
    loop {
        match receive(stream) {
            (b'D', body) => found = String::from_utf8(body[6..].to_vec()).unwrap(),
            (b'Z', _) => return found,
            _ => {}
        }
    }
}

fn insert(id: u32) -> Vec<u8> {
    run(&format!("INSERT INTO t (id) VALUES ({id})"))
}

#[test]
fn what_comes_before_sync_happens_together_or_not_at_all() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let create = message(
        b'Q',
        b"CREATE TABLE t (id Int64 NOT NULL, PRIMARY KEY (id))\0",
    );
    assert_eq!(send(&mut stream, &[create]).0, "CZ");

    let twice = [insert(1), insert(2), insert(1), insert(3), sync()];
    assert_eq!(send(&mut stream, &twice), ("12C12C12EZ".to_owned(), 'I'));
    assert_eq!(count(&mut stream), "0");

    let both = [insert(1), insert(2), sync()];
    assert_eq!(send(&mut stream, &both), ("12C12CZ".to_owned(), 'I'));
    assert_eq!(count(&mut stream), "2");

    // Others see nothing of it before Sync, also when the answers are there already.
    stream
        .write_all(&[insert(3), message(b'H', b"")].concat())
        .unwrap();
    let kinds: Vec<u8> = (0..3).map(|_| receive(&mut stream).0).collect();
    assert_eq!(kinds, b"12C");
    let mut other = greeted(&server);
    assert_eq!(count(&mut other), "2");
    assert_eq!(send(&mut stream, &[sync()]), ("Z".to_owned(), 'I'));
    assert_eq!(count(&mut other), "3");

    // BEGIN takes the transaction over, and COMMIT in the middle ends it.
    let begun = [insert(4), run("BEGIN"), insert(5), sync()];
    assert_eq!(send(&mut stream, &begun), ("12C12C12CZ".to_owned(), 'T'));
    assert_eq!(count(&mut other), "3");
    let ended = [insert(6), run("COMMIT"), insert(7), insert(7), sync()];
    assert_eq!(send(&mut stream, &ended), ("12C12C12C12EZ".to_owned(), 'I'));
    assert_eq!(count(&mut other), "6");
}

#[test]
fn a_pipeline_that_lost_a_race_is_told_at_sync() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let create = message(
        b'Q',
        b"CREATE TABLE t (id Int64 NOT NULL, n Int64, PRIMARY KEY (id))\0",
    );
    assert_eq!(send(&mut stream, &[create]).0, "CZ");
    stream
        .write_all(&[insert(1), message(b'H', b"")].concat())
        .unwrap();
    let kinds: Vec<u8> = (0..3).map(|_| receive(&mut stream).0).collect();
    assert_eq!(kinds, b"12C");
    let mut other = greeted(&server);
    // An INSERT would wait for the pipeline to end.
    let upsert = message(b'Q', b"UPSERT INTO t (id, n) VALUES (1, 1)\0");
    assert_eq!(send(&mut other, &[upsert]).0, "CZ");
    stream.write_all(&sync()).unwrap();
    let (kind, body) = receive(&mut stream);
    assert_eq!((kind, sqlstate(&body).as_str()), (b'E', "40001"));
    assert_eq!(round(&mut stream), ("Z".to_owned(), 'I'));
    assert_eq!(send(&mut stream, &[insert(2), sync()]).0, "12CZ");
}

#[test]
fn whoever_leaves_before_sync_leaves_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let create = message(
        b'Q',
        b"CREATE TABLE t (id Int64 NOT NULL, PRIMARY KEY (id))\0",
    );
    assert_eq!(send(&mut stream, &[create]).0, "CZ");
    for begin in [Vec::new(), run("BEGIN")] {
        let mut leaving = greeted(&server);
        leaving
            .write_all(&[begin, insert(1), message(b'H', b"")].concat())
            .unwrap();
        while receive(&mut leaving).0 != b'C' {}
        drop(leaving);
        assert_eq!(count(&mut stream), "0");
    }
    assert_eq!(send(&mut stream, &[insert(1), sync()]).0, "12CZ");
}
