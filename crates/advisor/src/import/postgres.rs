//! PostgreSQL's logs: CSV, and lines of JSON.
//!
//! ```text
//!   statement: SELECT …                                    a statement
//!   execute S_1: SELECT … $1 …      DETAIL parameters: $1 = '7'
//!   duration: 0.04 ms  statement: … the same, and how long it took
//!   parse S_1: …, bind S_1: …       passed over: execute follows
//! ```

use std::io::BufRead;

use keys::{Type, Value};
use serde_json::Value as Json;

use super::STATEMENT_BYTES_MAX;
use super::csv::Records;
use super::gather::{Gather, Said};
use crate::Result;

/// Fields of csvlog, counted from zero.
const TIME: usize = 0;
const SESSION: usize = 5;
const SEVERITY: usize = 11;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
/// So many fields the oldest csvlog has.
const FIELDS_MIN: usize = 23;

/// What is looked at of a line, in any form.
struct Entry<'e> {
    line: u64,
    time: &'e str,
    session: &'e str,
    severity: &'e str,
    message: &'e str,
    detail: &'e str,
}

pub(super) fn read_csv(input: impl BufRead, gather: &mut Gather) -> Result<()> {
    let mut records = Records::new(input);
    while let Some(record) = records.next()? {
        gather.report.lines += 1;
        let field = |at: usize| record.fields.get(at).map_or("", String::as_str);
        if record.fields.len() < FIELDS_MIN {
            let count = record.fields.len();
            let reason = match count {
                0 => "a field in quotes does not end".to_owned(),
                _ => format!("a line of csvlog has {FIELDS_MIN} fields or more, and this {count}"),
            };
            gather.report.flaw(record.line, reason);
            continue;
        }
        let entry = Entry {
            line: record.line,
            time: field(TIME),
            session: field(SESSION),
            severity: field(SEVERITY),
            message: field(MESSAGE),
            detail: field(DETAIL),
        };
        take(gather, &entry);
    }
    Ok(())
}

pub(super) fn read_json(input: impl BufRead, gather: &mut Gather) -> Result<()> {
    for (number, line) in (1_u64..).zip(input.split(b'\n')) {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        gather.report.lines += 1;
        let json: Json = match serde_json::from_slice(&line) {
            Ok(json) => json,
            Err(error) => {
                let reason = format!("it is no JSON: {error}");
                gather.report.flaw(number, reason);
                continue;
            }
        };
        let field = |name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default();
        if field("timestamp").is_empty() {
            gather.report.flaw(number, "it has no timestamp");
            continue;
        }
        let entry = Entry {
            line: number,
            time: field("timestamp"),
            session: field("session_id"),
            severity: field("error_severity"),
            message: field("message"),
            detail: field("detail"),
        };
        take(gather, &entry);
    }
    Ok(())
}

fn take(gather: &mut Gather, entry: &Entry<'_>) {
    if matches!(entry.severity, "ERROR" | "FATAL" | "PANIC") {
        return gather.failed(entry.session);
    }
    if entry.message.starts_with("disconnection:") {
        return gather.left(entry.session);
    }
    let Some((busy_us, text)) = statement(entry.message) else {
        return;
    };
    if text.len() > STATEMENT_BYTES_MAX {
        return gather.report.flaw(entry.line, "the statement is too long");
    }
    let Some(at_us) = time(entry.time) else {
        let reason = format!("`{}` is no time", entry.time);
        return gather.report.flaw(entry.line, reason);
    };
    let parameters = parameters(entry.detail);
    let said = Said {
        line: entry.line,
        session: entry.session,
        at_us,
        text,
        busy_us,
        rows: None,
    };
    gather.statement(&said, &parameters.as_slice());
}

/// The statement of a message, and how long it took.
fn statement(message: &str) -> Option<(Option<u64>, &str)> {
    let (busy_us, rest) = match message.strip_prefix("duration: ") {
        Some(rest) => {
            let (ms, rest) = rest.split_once(" ms")?;
            (microseconds(ms), rest.trim_start())
        }
        None => (None, message),
    };
    let text = match rest.strip_prefix("statement: ") {
        Some(text) => text,
        None => rest.strip_prefix("execute ")?.split_once(": ")?.1,
    };
    Some((busy_us, text))
}

/// Milliseconds with a point, as microseconds.
fn microseconds(ms: &str) -> Option<u64> {
    let (whole, part) = ms.split_once('.').unwrap_or((ms, ""));
    let part = format!("{part:0<3}");
    let part: u64 = part.get(..3)?.parse().ok()?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(1_000)?;
    whole.checked_add(part)
}

/// The values behind `parameters: $1 = '7', $2 = NULL`.
fn parameters(detail: &str) -> Vec<Value> {
    let mut values = Vec::new();
    let text = detail.strip_prefix("parameters: ");
    let mut rest = text.or(detail.strip_prefix("Parameters: ")).unwrap_or("");
    while let Some((_, given)) = rest.split_once(" = ") {
        let (value, behind) = match given.strip_prefix('\'') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (_, behind) = given.split_once(", ").unwrap_or((given, ""));
                (Value::Null, behind)
            }
        };
        values.push(value);
        rest = behind;
    }
    values
}

/// A text up to its closing quote, and what stands behind that.
fn unquoted(quoted: &str) -> (Value, &str) {
    let mut text = String::new();
    let mut rest = quoted;
    while let Some((part, behind)) = rest.split_once('\'') {
        text.push_str(part);
        rest = behind;
        match rest.strip_prefix('\'') {
            Some(more) => {
                text.push('\'');
                rest = more;
            }
            None => break,
        }
    }
    (Value::Utf8(text.into()), rest)
}

/// A time of the log, in microseconds. Its zone is the same in all lines, and only differences count.
fn time(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let (day, clock) = (words.next()?, words.next()?);
    match Value::parse(Type::Timestamp, &format!("{day}T{clock}Z")) {
        Ok(Value::Timestamp(us)) => u64::try_from(us).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_statements_and_durations() {
        let cases = [
            ("statement: SELECT 1", Some((None, "SELECT 1"))),
            ("execute <unnamed>: SELECT $1", Some((None, "SELECT $1"))),
            (
                "duration: 12.3456 ms  execute S: a",
                Some((Some(12_345), "a")),
            ),
            ("duration: 3 ms  statement: b", Some((Some(3_000), "b"))),
            ("duration: 0.015 ms", None),
            ("duration: 0.1 ms  bind S: SELECT $1", None),
            ("checkpoint starting: time", None),
        ];
        for (message, expected) in cases {
            assert_eq!(statement(message), expected, "{message}");
        }
    }

    #[test]
    fn parameters_keep_their_quotes_and_nulls() {
        let text = |text: &str| Value::Utf8(text.into());
        let said = "parameters: $1 = '7', $2 = NULL, $3 = 'it''s, $4 = ''x''', $4 = ''";
        let expected = [text("7"), Value::Null, text("it's, $4 = 'x'"), text("")];
        assert_eq!(parameters(said), expected);
        assert_eq!(parameters(""), []);
    }
}
