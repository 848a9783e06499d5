//! Settings at start-up, by SET, and what clients are told of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;

use crate::bytes_by_hand::{dial, greeted, message, receive, sqlstate};
use crate::process::Server;

/// The settings told up to the next ReadyForQuery, and the first cells of rows.
fn told(stream: &mut TcpStream) -> (BTreeMap<String, String>, Vec<String>) {
    let mut settings = BTreeMap::new();
    let mut cells = Vec::new();
    loop {
        let (kind, body) = receive(stream);
        match kind {
            b'S' => {
                let text = String::from_utf8(body).unwrap();
                let mut parts = text.split('\0');
                let [name, value] = [(); 2].map(|()| parts.next().unwrap());
                settings.insert(name.to_owned(), value.to_owned());
            }
            b'D' => cells.push(String::from_utf8(body[6..].to_vec()).unwrap()),
            b'E' => cells.push(sqlstate(&body)),
            b'Z' => return (settings, cells),
            _ => {}
        }
    }
}

fn ask(stream: &mut TcpStream, text: &str) -> (BTreeMap<String, String>, Vec<String>) {
    stream
        .write_all(&message(b'Q', format!("{text}\0").as_bytes()))
        .unwrap();
    told(stream)
}

fn one(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = b"\0\x03\0\0".to_vec();
    for (name, value) in parameters {
        body.extend(format!("{name}\0{value}\0").bytes());
    }
    body.push(0);
    let length = u32::try_from(body.len() + 4).unwrap();
    [&length.to_be_bytes()[..], &body].concat()
}

#[test]
fn settings_of_the_start_are_taken_and_told() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = dial(&server);
    let hello = startup(&[
        ("user", "ada"),
        ("database", "boats"),
        ("application_name", "loader"),
        ("client_encoding", "utf-8"),
        ("DateStyle", "ISO"),
        ("TimeZone", "Europe/Berlin"),
        (
            "options",
            "-c search_path=harbour -c default_transaction_read_only=on",
        ),
    ]);
    stream.write_all(&hello).unwrap();
    let (settings, _) = told(&mut stream);
    for (name, value) in [
        ("application_name", "loader"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"),
        ("TimeZone", "Europe/Berlin"),
        ("default_transaction_read_only", "on"),
        ("session_authorization", "ada"),
        ("is_superuser", "on"),
        ("standard_conforming_strings", "on"),
        ("integer_datetimes", "on"),
        ("server_encoding", "UTF8"),
    ] {
        assert_eq!(
            settings.get(name).map(String::as_str),
            Some(value),
            "{name}"
        );
    }
    assert!(settings["server_version"].starts_with("15.0 (EvenKeel "));
    assert_eq!(ask(&mut stream, "SHOW search_path").1, ["harbour"]);
    let refused = ask(&mut stream, "CREATE TABLE t (a Int64, PRIMARY KEY (a))").1;
    assert_eq!(refused, ["25006"]);
    let begun = ask(&mut stream, "BEGIN; SHOW transaction_read_only; COMMIT").1;
    assert_eq!(begun, ["on"]);
    let (settings, _) = ask(&mut stream, "SET TimeZone = 'UTC'; RESET ALL");
    assert_eq!(settings, BTreeMap::new());

    let mut foreign = dial(&server);
    foreign
        .write_all(&startup(&[("user", "ada"), ("client_encoding", "LATIN1")]))
        .unwrap();
    let (kind, body) = receive(&mut foreign);
    assert_eq!((kind, sqlstate(&body).as_str()), (b'E', "22023"));
}

#[test]
fn clients_are_told_when_a_setting_changes() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let set = ask(&mut stream, "SET application_name = 'one'").0;
    assert_eq!(set, one("application_name", "one"));
    assert_eq!(ask(&mut stream, "SET work_mem = '1MB'").0, BTreeMap::new());
    let set = ask(&mut stream, "BEGIN; SET LOCAL application_name TO two").0;
    assert_eq!(set, one("application_name", "two"));
    let (set, shown) = ask(
        &mut stream,
        "SHOW application_name; COMMIT; SHOW application_name",
    );
    assert_eq!(
        (set, shown),
        (
            one("application_name", "one"),
            vec!["two".into(), "one".into()]
        )
    );
    let set = ask(&mut stream, "BEGIN; SET TIME ZONE 'Asia/Tokyo'").0;
    assert_eq!(set, one("TimeZone", "Asia/Tokyo"));
    assert_eq!(ask(&mut stream, "ROLLBACK").0, one("TimeZone", "UTC"));
    let set = ask(&mut stream, "DISCARD ALL").0;
    assert_eq!(set, one("application_name", ""));
    for wrong in [
        "SET client_encoding = 'LATIN1'",
        "SET standard_conforming_strings = off",
        "SET DateStyle = 'SQL, DMY'",
    ] {
        let (set, code) = ask(&mut stream, wrong);
        assert_eq!(
            (set, code),
            (BTreeMap::new(), vec!["22023".to_owned()]),
            "{wrong}"
        );
    }
    assert_eq!(ask(&mut stream, "SET server_version = '16'").1, ["55P02"]);
}
