//! MySQL's general log, and those of MariaDB and TiDB.
//!
//! ```text
//!   2024-05-01T12:00:00.123456Z<tab>    8 Query<tab>SELECT * FROM t
//!     WHERE id = 5                                    a statement goes on until the next time
//!
//!   240501 12:00:00<tab>    8 Query<tab>SELECT 1      MariaDB, and MySQL before 5.7
//!   <tab><tab>    9 Query<tab>SELECT 2                the same second
//!
//!   [2024/05/01 12:00:00.123 +00:00] [INFO] [session.go:1] [GENERAL_LOG] [conn=8] … [sql="SELECT 1"]
//! ```

mod forms;
mod tidb;

use std::io::BufRead;

use keys::{Type, Value};

use super::STATEMENT_BYTES_MAX;
use super::gather::{Gather, Said};
use crate::Result;

/// A line that begins with a time, and those behind it that do not.
struct Entry {
    line: u64,
    at_us: u64,
    session: String,
    command: String,
    text: String,
}

pub(super) fn read(input: impl BufRead, gather: &mut Gather) -> Result<()> {
    let mut open: Option<Entry> = None;
    let mut clock = Clock::default();
    let mut entries = 0_u64;
    for (number, line) in (1_u64..).zip(input.split(b'\n')) {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        gather.report.lines += 1;
        match (entry(number, line, &mut clock), &mut open) {
            (Some(next), _) => {
                entries += 1;
                if let Some(whole) = open.replace(next) {
                    take(gather, &whole);
                }
            }
            (None, Some(open)) if open.text.len() <= STATEMENT_BYTES_MAX => {
                open.text.push('\n');
                open.text.push_str(line);
            }
            // What stands before the first time is what the server says of itself.
            (None, _) => {}
        }
    }
    if let Some(whole) = open {
        take(gather, &whole);
    }
    if gather.report.lines > 0 && entries == 0 {
        let reason = "no line begins as those of a general log do: time, number, command";
        gather.report.flaw(1, reason);
    }
    Ok(())
}

/// The time of the last line that had one, for those that have none.
#[derive(Debug, Default)]
struct Clock {
    last_us: Option<u64>,
}

fn entry(line: u64, text: &str, clock: &mut Clock) -> Option<Entry> {
    if let Some(said) = tidb::said(text) {
        return Some(Entry {
            line,
            at_us: said.at_us,
            session: said.session,
            command: said.text.as_ref().map_or("", |_| "Query").to_owned(),
            text: said.text.unwrap_or_default(),
        });
    }
    let (at_us, rest) = match text.strip_prefix("\t\t") {
        Some(rest) => (clock.last_us?, rest),
        None => dated(text).or_else(|| short_dated(text))?,
    };
    let (session, rest) = rest.trim_start().split_once(' ')?;
    session.parse::<u64>().ok()?;
    let (command, text) = rest.split_once('\t').unwrap_or((rest, ""));
    clock.last_us = Some(at_us);
    Some(Entry {
        line,
        at_us,
        session: session.to_owned(),
        command: command.trim().to_owned(),
        text: text.to_owned(),
    })
}

/// `2024-05-01T12:00:00.123456Z`, and what follows.
fn dated(text: &str) -> Option<(u64, &str)> {
    let (time, rest) = text.split_once(['\t', ' '])?;
    let at_us = moment(time).filter(|_| time.contains('T'))?;
    Some((at_us, rest))
}

/// `240501  9:00:00`, and what follows.
fn short_dated(text: &str) -> Option<(u64, &str)> {
    let (date, rest) = text.split_once(' ')?;
    let (time, rest) = rest.trim_start().split_once('\t')?;
    let digits = date.len() == 6 && date.bytes().all(|byte| byte.is_ascii_digit());
    let (year, month, day) = (date.get(..2)?, date.get(2..4)?, date.get(4..)?);
    let at_us = moment(&format!("20{year}-{month}-{day}T{time:0>8}Z"))?;
    digits.then_some((at_us, rest))
}

fn moment(text: &str) -> Option<u64> {
    match Value::parse(Type::Timestamp, text) {
        Ok(Value::Timestamp(us)) => u64::try_from(us).ok(),
        _ => None,
    }
}

fn take(gather: &mut Gather, entry: &Entry) {
    match entry.command.as_str() {
        "Query" | "Execute" => {}
        "Quit" => return gather.left(&entry.session),
        _ => return,
    }
    if entry.text.len() > STATEMENT_BYTES_MAX {
        return gather.report.flaw(entry.line, "the statement is too long");
    }
    let text = forms::standard(&entry.text);
    let none: &[Value] = &[];
    let said = Said {
        line: entry.line,
        session: &entry.session,
        at_us: entry.at_us,
        text: text.trim(),
        busy_us: None,
        rows: None,
    };
    gather.statement(&said, &none);
}
