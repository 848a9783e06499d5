//! Clients that do not speak the protocol, or only half of it, and what only bytes can show.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::process::Server;

/// How long a test waits for bytes that must come.
const WAIT: Duration = Duration::from_secs(20);

pub(crate) fn dial(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    stream
}

/// The first message of a client that wants no notices, so that they are not among what it counts.
pub(crate) fn startup() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0ada\0client_min_messages\0warning\0\0";
    let length = u32::try_from(body.len() + 4).unwrap();
    [&length.to_be_bytes()[..], body].concat()
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

/// The next message: its type and body.
pub(crate) fn receive(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 5];
    stream.read_exact(&mut head).unwrap();
    let [kind, length @ ..] = head;
    let mut body = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap() - 4];
    stream.read_exact(&mut body).unwrap();
    (kind, body)
}

/// The types of messages up to the next ReadyForQuery, and the state it tells.
pub(crate) fn round(stream: &mut TcpStream) -> (String, char) {
    let mut kinds = String::new();
    loop {
        let (kind, body) = receive(stream);
        kinds.push(char::from(kind));
        if kind == b'Z' {
            return (kinds, char::from(body[0]));
        }
    }
}

pub(crate) fn greeted(server: &Server) -> TcpStream {
    let mut stream = dial(server);
    stream.write_all(&startup()).unwrap();
    let (kinds, state) = round(&mut stream);
    assert!(kinds.starts_with('R') && kinds.ends_with("KZ"), "{kinds}");
    assert_eq!(state, 'I');
    stream
}

/// The code of an error.
pub(crate) fn sqlstate(body: &[u8]) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let code = fields
        .find(|field| field.first() == Some(&b'C'))
        .expect("errors have codes");
    String::from_utf8(code[1..].to_vec()).unwrap()
}

fn assert_closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[test]
fn garbage_is_refused_and_others_go_on() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut good = greeted(&server);
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 64],
        &[0; 64],
        b"\x16\x03\x01\0\xf4\x01\0\0",
    ] {
        let mut stream = dial(&server);
        stream.write_all(garbage).unwrap();
        assert_closed(&mut stream);
    }
    let mut stream = greeted(&server);
    stream
        .write_all(b"\x01\x02\x03\x04\x05\x06\x07\x08")
        .unwrap();
    let (kind, body) = receive(&mut stream);
    assert_eq!((kind, sqlstate(&body).as_str()), (b'E', "08P01"));
    assert_closed(&mut stream);

    let mut stream = greeted(&server);
    stream.write_all(b"Q\x7f\xff\xff\xff").unwrap();
    let (kind, body) = receive(&mut stream);
    assert_eq!((kind, sqlstate(&body).as_str()), (b'E', "54000"));
    assert_closed(&mut stream);

    // Halves of messages wait for their other halves, and hold nobody else up.
    let mut half = dial(&server);
    half.write_all(&startup()[..7]).unwrap();
    let mut half_query = greeted(&server);
    half_query
        .write_all(&message(b'Q', b"SELECT 1\0")[..9])
        .unwrap();
    good.write_all(&message(b'Q', b"SELECT 1\0")).unwrap();
    assert_eq!(round(&mut good), ("TDCZ".to_owned(), 'I'));
    half.write_all(&startup()[7..]).unwrap();
    assert_eq!(round(&mut half).1, 'I');
    half_query
        .write_all(&message(b'Q', b"SELECT 1\0")[9..])
        .unwrap();
    assert_eq!(round(&mut half_query), ("TDCZ".to_owned(), 'I'));
}

#[test]
fn encryption_is_refused_politely() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = dial(&server);
    for code in [80_877_103_u32, 80_877_104] {
        stream
            .write_all(&[&8_u32.to_be_bytes()[..], &code.to_be_bytes()].concat())
            .unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *b"N");
    }
    stream.write_all(&startup()).unwrap();
    assert_eq!(round(&mut stream).1, 'I');
}

#[test]
fn after_an_error_everything_is_skipped_up_to_sync() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let parse = |text: &str| message(b'P', format!("\0{text}\0\0\0").as_bytes());
    let bind = message(b'B', b"\0\0\0\0\0\0\0\0");
    let execute = message(b'E', b"\0\0\0\0\0");
    let sync = message(b'S', b"");

    let wrong = [
        parse("SELEKT"),
        bind.clone(),
        execute.clone(),
        parse("SELECT 1"),
        sync.clone(),
    ];
    stream.write_all(&wrong.concat()).unwrap();
    assert_eq!(round(&mut stream), ("EZ".to_owned(), 'I'));

    let lying = [
        message(b'B', b"\0\0\0\0\xff\xff"),
        execute.clone(),
        sync.clone(),
    ];
    stream.write_all(&lying.concat()).unwrap();
    assert_eq!(round(&mut stream), ("EZ".to_owned(), 'I'));

    let twice = [
        parse("SELECT 1"),
        bind.clone(),
        execute.clone(),
        parse(""),
        bind,
        execute,
        sync,
    ];
    stream.write_all(&twice.concat()).unwrap();
    assert_eq!(round(&mut stream), ("12DC12IZ".to_owned(), 'I'));

    stream.write_all(&message(b'Q', b"BEGIN\0")).unwrap();
    assert_eq!(round(&mut stream), ("CZ".to_owned(), 'T'));
    stream.write_all(&message(b'Q', b"\xff\0")).unwrap();
    assert_eq!(round(&mut stream), ("EZ".to_owned(), 'E'));
    stream.write_all(&message(b'Q', b"ROLLBACK\0")).unwrap();
    assert_eq!(round(&mut stream), ("CZ".to_owned(), 'I'));
    stream.write_all(&message(b'Q', b" ; \0")).unwrap();
    assert_eq!(round(&mut stream), ("IZ".to_owned(), 'I'));
}

#[test]
fn flush_brings_replies_before_sync() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let parse = message(b'P', b"s\0SELECT 1\0\0\0");
    let describe = message(b'D', b"Ss\0");
    stream
        .write_all(&[parse, describe, message(b'H', b"")].concat())
        .unwrap();
    let kinds: Vec<u8> = (0..3).map(|_| receive(&mut stream).0).collect();
    assert_eq!(kinds, b"1tT");
    stream
        .write_all(&[message(b'C', b"Ss\0"), message(b'S', b"")].concat())
        .unwrap();
    assert_eq!(round(&mut stream), ("3Z".to_owned(), 'I'));
}

/// Runs one statement by the simple protocol: the first value of each row, and the tag or the code.
fn ask(stream: &mut TcpStream, text: &str) -> (Vec<String>, String) {
    let query = [text.as_bytes(), b"\0"].concat();
    stream.write_all(&message(b'Q', &query)).unwrap();
    let (mut values, mut end) = (Vec::new(), String::new());
    loop {
        let (kind, body) = receive(stream);
        match kind {
            b'D' => values.push(String::from_utf8(body[6..].to_vec()).unwrap()),
            b'C' => end = String::from_utf8(body[..body.len() - 1].to_vec()).unwrap(),
            b'E' => end = sqlstate(&body),
            b'Z' => return (values, end),
            _ => {}
        }
    }
}

#[test]
fn sql_names_the_portals_of_the_protocol() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let rows = b"\0SELECT * FROM (VALUES (1), (2), (3), (4), (5)) AS v(n) ORDER BY n\0\0\0";
    for (first, taken) in [(b"\0\0\0\x01", "12DsZ"), (b"\0\0\0\x05", "12DDDDDsZ")] {
        assert_eq!(ask(&mut stream, "BEGIN").1, "BEGIN");
        let messages = [
            message(b'P', rows),
            message(b'B', b"boat\0\0\0\0\0\0\0\0"),
            message(b'E', &[&b"boat\0"[..], first].concat()),
            message(b'S', b""),
        ];
        stream.write_all(&messages.concat()).unwrap();
        assert_eq!(round(&mut stream), (taken.to_owned(), 'T'));
        let left = 5 - i32::from(first[3]);
        let passed = format!("MOVE {}", left.min(2));
        assert_eq!(ask(&mut stream, "MOVE FORWARD 2 FROM boat").1, passed);
        let (values, end) = ask(&mut stream, "FETCH boat");
        match left {
            0 => assert_eq!((values, end.as_str()), (vec![], "FETCH 0")),
            _ => assert_eq!((values, end.as_str()), (vec!["4".to_owned()], "FETCH 1")),
        }
        assert_eq!(ask(&mut stream, "CLOSE boat").1, "CLOSE CURSOR");
        assert_eq!(ask(&mut stream, "MOVE boat").1, "34000");
        assert_eq!(ask(&mut stream, "ROLLBACK").1, "ROLLBACK");
    }
}

#[test]
fn a_portal_that_nobody_executed_can_be_moved_and_none_goes_back() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    ask(&mut stream, "BEGIN");
    let messages = [
        message(
            b'P',
            b"\0SELECT * FROM (VALUES (1), (2), (3)) AS v(n) ORDER BY n\0\0\0",
        ),
        message(b'B', b"boat\0\0\0\0\0\0\0\0"),
        message(b'P', b"move\0MOVE 2 boat\0\0\0"),
        message(b'B', b"\0move\0\0\0\0\0\0\0"),
        message(b'E', b"\0\0\0\0\0"),
        message(b'S', b""),
    ];
    stream.write_all(&messages.concat()).unwrap();
    assert_eq!(round(&mut stream), ("1212CZ".to_owned(), 'T'));
    assert_eq!(ask(&mut stream, "FETCH ALL boat").0, ["3"]);
    assert_eq!(ask(&mut stream, "FETCH BACKWARD 1 boat").1, "55000");
}
