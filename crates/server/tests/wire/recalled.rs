//! The second and third time that a client sends a statement it is not read; the bytes of the answer are
//! the same.

use std::io::Write;
use std::net::TcpStream;

use crate::bytes_by_hand::{greeted, message, receive};
use crate::process::Server;

/// How often each text is sent: it is read, made ready for others of its shape, and recalled.
const TIMES: usize = 3;

/// Everything up to the next ReadyForQuery.
fn answer(stream: &mut TcpStream, sent: &[u8]) -> Vec<(char, String)> {
    stream.write_all(sent).unwrap();
    let mut all = Vec::new();
    loop {
        let (kind, body) = receive(stream);
        let text = String::from_utf8_lossy(&body).into_owned();
        all.push((char::from(kind), text));
        if kind == b'Z' {
            return all;
        }
    }
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

/// Parse without a name, bind, describe, execute, sync.
fn extended(text: &str, value: &str) -> Vec<u8> {
    let length = u32::try_from(value.len()).unwrap().to_be_bytes();
    let bound = [&b"\0\0\0\0\0\x01"[..], &length, value.as_bytes(), b"\0\0"];
    [
        message(b'P', format!("\0{text}\0\0\0").as_bytes()),
        message(b'B', &bound.concat()),
        message(b'D', b"P\0"),
        message(b'E', b"\0\0\0\0\0"),
        message(b'S', b""),
    ]
    .concat()
}

fn served(test: impl FnOnce(&mut TcpStream)) {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let tables = "CREATE TABLE t (id bigint PRIMARY KEY, n integer, d integer, word varchar(5), \
        at timestamp); INSERT INTO t VALUES (1, 10, 0, 'one', '2026-01-01 00:00:00')";
    let made = answer(&mut stream, &query(tables));
    assert!(made.iter().all(|(kind, _)| *kind != 'E'), "{made:?}");
    test(&mut stream);
}

/// Asks some times, and looks at the kinds of messages and that all of them are the same.
fn same_each_time(text: &str, kinds: &str, mut ask: impl FnMut() -> Vec<(char, String)>) {
    let first = ask();
    let told: String = first.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(told, kinds, "{text}: {first:?}");
    for time in 1..TIMES {
        assert_eq!(ask(), first, "{text}, {time}");
    }
}

#[test]
fn a_text_is_answered_as_if_it_were_read() {
    served(|stream| {
        for (text, kinds) in [
            ("SELECT * FROM t WHERE id = 1", "TDCZ"),
            ("SELECT word, id FROM t WHERE id = 2;", "TCZ"),
            (
                "SELECT id FROM t WHERE id >= 0 ORDER BY id DESC LIMIT 5",
                "TDCZ",
            ),
            (
                "INSERT INTO t (id, word) VALUES (7, 'seven') RETURNING *",
                "TDCZ",
            ),
            ("INSERT INTO t (id, word) VALUES (7, 'it''s')", "CZ"),
            ("INSERT INTO t (id) VALUES (1)", "EZ"),
            ("INSERT INTO t (id) VALUES (NULL)", "EZ"),
            ("INSERT INTO t (id, word) VALUES (7, 'sixteen')", "EZ"),
            ("INSERT INTO t (id, n) VALUES (7, 3000000000)", "EZ"),
            ("INSERT INTO t (id, at) VALUES (7, 'when')", "EZ"),
            ("UPDATE t SET n = n + 5 WHERE id = 1", "CZ"),
            ("UPDATE t SET n = n + 2147483647 WHERE id = 1", "EZ"),
            ("UPDATE t SET n = n / d WHERE id = 1", "EZ"),
            ("DELETE FROM t WHERE id = 1", "CZ"),
            ("SELECT count(*), max(word) FROM t WHERE n > 5", "TDCZ"),
            ("SELECT n / d FROM t", "TEZ"),
            ("SELECT current_user", "TDCZ"),
            ("SELECT nothing FROM t WHERE id = 1", "EZ"),
            ("SELECT id FROM nowhere WHERE id = 1", "EZ"),
        ] {
            same_each_time(text, kinds, || {
                answer(stream, &query("BEGIN"));
                let this = answer(stream, &query(text));
                answer(stream, &query("ROLLBACK"));
                this
            });
        }
    });
}

#[test]
fn an_unnamed_statement_is_answered_as_if_it_were_read() {
    served(|stream| {
        for (text, value, kinds) in [
            ("SELECT * FROM t WHERE id = $1", "1", "12TDCZ"),
            ("SELECT word FROM t WHERE id = $1", "9", "12TCZ"),
            ("SELECT word FROM t WHERE id = $1", "nine", "1EZ"),
            ("UPDATE t SET word = $1 WHERE id = 1", "two", "12nCZ"),
            ("UPDATE t SET word = $1 WHERE id = 1", "too long", "12nEZ"),
            ("SELECT count(*) FROM t WHERE n > $1", "5", "12TDCZ"),
            ("SELECT $1 FROM t WHERE ide = 1", "1", "EZ"),
        ] {
            let sent = extended(text, value);
            same_each_time(text, kinds, || answer(stream, &sent));
        }
    });
}

#[test]
fn what_is_known_of_a_table_ends_with_it() {
    served(|stream| {
        let read = |stream: &mut TcpStream| answer(stream, &query("SELECT * FROM t WHERE id = 1"));
        let columns = |answer: &[(char, String)]| answer[0].1.contains("more");
        for _ in 0..TIMES {
            assert!(!columns(&read(stream)));
        }
        answer(stream, &query("ALTER TABLE t ADD COLUMN more text"));
        for _ in 0..TIMES {
            assert!(columns(&read(stream)));
        }
        answer(stream, &query("DROP TABLE t"));
        for _ in 0..TIMES {
            assert_eq!(read(stream)[0].0, 'E');
        }
    });
}
