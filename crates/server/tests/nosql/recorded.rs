//! What clients that are not run here write: their requests as bytes, in `golden/nosql/*.requests`.
//! Rewrite the answers with `UPDATE_GOLDEN=1` and read the difference.
//!
//! ```text
//!   > GET /bigdata/o HTTP/1.1     the request, line by line; after a line with nothing its body
//!   > Host: localhost
//!   < 200                         the answer: status, the headers that clients read, and body
//!   < Content-Type: application/octet-stream
//!   <
//!   < vegans are better
//! ```
//!
//! Moments differ from run to run and are written `<moment>`.

use std::fmt::Write as _;
use std::path::Path;

use crate::client::{Answer, Client, start};

/// The headers that clients read.
const HEADERS: [&str; 5] = [
    "Content-Type",
    "Content-Length",
    "Content-Range",
    "Last-Modified",
    "X-V3io-Transaction-Verifier",
];

/// What stands around a moment.
const MOMENTS: [(&str, &str); 10] = [
    ("<LastModified>", "<"),
    ("<AccessTime>", "<"),
    ("<CreatingTime>", "<"),
    ("<CreationDate>", "<"),
    ("time_secs\":{\"N\":\"", "\""),
    ("time_nsecs\":{\"N\":\"", "\""),
    ("Last-Modified: ", "\n"),
    ("mtime_secs==", " "),
    ("mtime_nsecs==", "\n"),
    ("Date: ", "\n"),
];

/// Runs the requests of a file and writes it down with their answers.
fn replayed(written: &str, client: &mut Client) -> String {
    let mut found = String::new();
    let mut lines = written.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('<') {
            continue;
        }
        writeln!(found, "{line}").unwrap();
        let Some(first) = line.strip_prefix("> ") else {
            continue;
        };
        let mut request = format!("{first}\r\n");
        while let Some(more) = lines.next_if(|line| line.starts_with('>')) {
            writeln!(found, "{more}").unwrap();
            request.push_str(more.trim_start_matches('>').trim_start());
            request.push_str("\r\n");
        }
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or((&request, ""));
        let body = body.trim_end_matches("\r\n");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        assert_eq!(body.len(), length, "the length of the body of {first}");
        let request = format!("{}\r\n\r\n{body}", head.trim_end());
        let answer = client.send_bytes(request.as_bytes(), first.starts_with("HEAD"));
        for line in shown(&answer).lines() {
            writeln!(found, "{}", format!("< {line}").trim_end()).unwrap();
        }
    }
    found
}

fn shown(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.status);
    let kind = answer.header("content-type").unwrap_or_default();
    let has_moments = kind.ends_with("json") || kind.ends_with("xml");
    for name in HEADERS {
        // Some of them are longer than others.
        if name == "Content-Length" && has_moments {
            continue;
        }
        if let Some(value) = answer.header(&name.to_lowercase()) {
            assert!(
                answer.as_written.iter().any(|written| written == name),
                "{name}"
            );
            writeln!(text, "{name}: {value}").unwrap();
        }
    }
    let body = answer.text();
    if !body.is_empty() {
        let body = body.replace("},{", "},\n{");
        let body = ["<Contents>", "<CommonPrefixes>", "<Bucket>"]
            .into_iter()
            .fold(body, |body, tag| body.replace(tag, &format!("\n{tag}")));
        writeln!(text, "\n{body}").unwrap();
    }
    for (before, after) in MOMENTS {
        text = without_moments(&text, before, after);
    }
    text
}

fn without_moments(text: &str, before: &str, after: &str) -> String {
    let mut pieces = text.split(before);
    let mut found = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(after).unwrap_or(piece.len());
        found.push_str(before);
        found.push_str("<moment>");
        found.push_str(&piece[end..]);
    }
    found
}

fn check(name: &str) {
    let (mut client, _server, _data) = start();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("golden/nosql").join(name);
    let written = std::fs::read_to_string(&path).unwrap();
    let found = replayed(&written, &mut client);
    match std::env::var_os("UPDATE_GOLDEN") {
        Some(_) => std::fs::write(&path, found).unwrap(),
        None => assert_eq!(found, written, "{name}: read the difference"),
    }
}

#[test]
fn v3io_go() {
    check("v3io-go.requests");
}
