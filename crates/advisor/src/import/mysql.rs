//! MySQL's general log.
//!
//! ```text
//!   2024-05-01T12:00:00.123456Z<tab>    8 Query<tab>SELECT * FROM t
//!     WHERE id = 5                                    a statement goes on until the next time
//! ```

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
    let mut entries = 0_u64;
    for (number, line) in (1_u64..).zip(input.split(b'\n')) {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        gather.report.lines += 1;
        match (entry(number, line), &mut open) {
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

fn entry(line: u64, text: &str) -> Option<Entry> {
    let (time, rest) = text.split_once(['\t', ' '])?;
    let at_us = match Value::parse(Type::Timestamp, time) {
        Ok(Value::Timestamp(us)) if time.contains('T') => u64::try_from(us).ok()?,
        _ => return None,
    };
    let (session, rest) = rest.trim_start().split_once(' ')?;
    session.parse::<u64>().ok()?;
    let (command, text) = rest.split_once('\t').unwrap_or((rest, ""));
    Some(Entry {
        line,
        at_us,
        session: session.to_owned(),
        command: command.trim().to_owned(),
        text: text.to_owned(),
    })
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
    let text = standard(&entry.text);
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

/// The same statement with its strings as the standard writes them: in single quotes, without
/// backslashes.
fn standard(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut open: Option<char> = None;
    while let Some(one) = chars.next() {
        match (open, one) {
            (None, '\'' | '"') => {
                open = Some(one);
                out.push('\'');
            }
            (None, '`') => {
                open = Some(one);
                out.push(one);
            }
            (Some(quote), _) if one == quote => {
                open = None;
                out.push(if quote == '`' { quote } else { '\'' });
            }
            (Some('\'' | '"'), '\\') => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('\'') => out.push_str("''"),
                Some(other) => out.push(other),
                None => {}
            },
            (Some('"'), '\'') => out.push_str("''"),
            _ => out.push(one),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_written_as_the_standard_does() {
        let cases = [
            (r#"SELECT "a", 'b'"#, "SELECT 'a', 'b'"),
            (r#"x = "it's""#, "x = 'it''s'"),
            (
                r"x = 'it\'s' AND `c'd` = 'a\\'",
                r"x = 'it''s' AND `c'd` = 'a\'",
            ),
            ("x = 'it''s'", "x = 'it''s'"),
            ("open '", "open '"),
        ];
        for (written, expected) in cases {
            assert_eq!(standard(written), expected);
        }
    }
}
