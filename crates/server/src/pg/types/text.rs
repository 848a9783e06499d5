//! The text forms: ours where PostgreSQL reads them too, its own where the two differ.
//!
//! ```text
//!   what                     we print elsewhere        PostgreSQL prints, and so does this
//!   truth                    true                      t
//!   a time                   2018-06-02T00:00:00.5Z    2018-06-02 00:00:00.5+00
//!   a year past 9999         +12026-01-01              12026-01-01
//!   a year before the first  -0043-03-15, 0000-01-01   0044-03-15 BC, 0001-01-01 BC
//!   an interval              P1DT2H, -PT0.5S           1 day 02:00:00, -00:00:00.5
//! ```

use std::fmt::Write as _;

use bytes::{BufMut, BytesMut};
use keys::{Declared, Type, Value};

use crate::{Error, Result};

const MICROS_PER_DAY: u64 = 86_400_000_000;
const MICROS_PER_SECOND: u64 = 1_000_000;
/// What writing to memory cannot do.
const INFALLIBLE: &str = "a growing buffer takes everything";

/// Appends the text of a value; NULL has none.
pub(super) fn encode(value: &Value, out: &mut BytesMut) -> Result<()> {
    match value {
        Value::Null => {}
        Value::Bool(true) => out.put_u8(b't'),
        Value::Bool(false) => out.put_u8(b'f'),
        Value::Utf8(text) | Value::Json(text) => out.put_slice(text.as_bytes()),
        Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_) => {
            out.put_slice(time_text(&value.to_string(), "+00").as_bytes());
        }
        Value::Interval(micros) => write_interval(*micros, out),
        Value::Int16(number) => put_integer(*number, out),
        Value::Int32(number) => put_integer(*number, out),
        Value::Int64(number) => put_integer(*number, out),
        Value::Uint32(number) => put_integer(*number, out),
        Value::Uint64(number) => put_integer(*number, out),
        plain => write!(out, "{plain}").expect(INFALLIBLE),
    }
    Ok(())
}

fn put_integer(number: impl itoa::Integer, out: &mut BytesMut) {
    out.put_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The same, of a time that has no zone.
pub(super) fn encode_local(value: &Value, out: &mut BytesMut) -> Result<()> {
    match value {
        Value::Datetime(_) | Value::Timestamp(_) => {
            out.put_slice(time_text(&value.to_string(), "").as_bytes());
            Ok(())
        }
        other => encode(other, out),
    }
}

/// Reads text as a time that has no zone: one that stands there is passed over, as PostgreSQL does.
pub(super) fn decode_local(bytes: &[u8]) -> Result<Value> {
    let text = utf8(bytes)?;
    decode_text(Declared::Timestamp(None).cut(text), Type::Timestamp)
}

/// Reads text as a value of the wanted type.
pub(super) fn decode(bytes: &[u8], wanted: Type) -> Result<Value> {
    if wanted == Type::String && !bytes.starts_with(b"\\x") {
        return unescape(bytes).map(|bytes| Value::String(bytes.into()));
    }
    decode_text(utf8(bytes)?, wanted)
}

/// The day of `2024-02-29 +01`.
fn day_before_zone(text: &str) -> Option<&str> {
    let (day, zone) = text.trim().split_once(' ')?;
    zone.starts_with(['+', '-']).then_some(day)
}

/// Reads text that is known to be UTF-8 as a value of the wanted type.
pub(super) fn decode_text(text: &str, wanted: Type) -> Result<Value> {
    // A day has no zone, and Java's driver sends one.
    let day = (wanted == Type::Date).then(|| day_before_zone(text));
    let text = day.flatten().unwrap_or(text);
    let parsed = match wanted {
        Type::String if !text.starts_with("\\x") => {
            return unescape(text.as_bytes()).map(|bytes| Value::String(bytes.into()));
        }
        Type::Date | Type::Datetime | Type::Timestamp => match text.trim().strip_suffix(" BC") {
            Some(before) => Value::parse(wanted, &year_before_first(before, text, wanted)?),
            None => Value::parse(wanted, text),
        },
        _ => Value::parse(wanted, text),
    };
    parsed.map_err(Error::TextValue)
}

/// Text as PostgreSQL has it: UTF-8 without zero bytes.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'));
    text.ok_or(Error::NotUtf8 {
        thing: "a parameter",
    })
}

/// Our canonical text of a day or time as PostgreSQL's.
fn time_text(ours: &str, zone: &str) -> String {
    let (date, time) = match ours.split_once('T') {
        Some((date, time)) => (date, Some(time.trim_end_matches('Z'))),
        None => (ours, None),
    };
    let (year, month_day) = split_year(date).expect("a date has a year, a month and a day");
    let year: i128 = year.parse().expect("a year is a number");
    let (shown, era) = if year > 0 {
        (year, "")
    } else {
        (1 - year, " BC")
    };
    match time {
        Some(time) => format!("{shown:04}{month_day} {time}{zone}{era}"),
        None => format!("{shown:04}{month_day}{era}"),
    }
}

/// Cuts `-0043-03-15` into `-0043` and `-03-15`.
fn split_year(date: &str) -> Option<(&str, &str)> {
    let sign = usize::from(date.starts_with(['-', '+']));
    let at = date.get(sign..)?.find('-')? + sign;
    date.split_at_checked(at)
}

/// Turns `0044-03-15`, meant as a year before the first, into our `-0043-03-15`.
fn year_before_first(before: &str, whole: &str, wanted: Type) -> Result<String> {
    let invalid = || {
        Error::TextValue(keys::Error::TextInvalid {
            kind: wanted,
            text: whole.to_owned(),
            reason: "write a year before the first as 0044-03-15 BC",
        })
    };
    let (year, rest) = split_year(before).ok_or_else(invalid)?;
    let year: i64 = year.parse().map_err(|_| invalid())?;
    match year {
        1 => Ok(format!("0000{rest}")),
        2.. => Ok(format!("-{:04}{rest}", year - 1)),
        _ => Err(invalid()),
    }
}

/// Writes `1 day 02:03:04.5`; the days and the rest each carry the sign.
fn write_interval(micros: i64, out: &mut BytesMut) {
    let sign = if micros < 0 { "-" } else { "" };
    let magnitude = micros.unsigned_abs();
    let (days, rest) = (magnitude / MICROS_PER_DAY, magnitude % MICROS_PER_DAY);
    if days > 0 {
        let plural = if days == 1 && micros > 0 { "" } else { "s" };
        write!(out, "{sign}{days} day{plural}").expect(INFALLIBLE);
        if rest == 0 {
            return;
        }
        out.put_u8(b' ');
    }
    let (seconds, fraction) = (rest / MICROS_PER_SECOND, rest % MICROS_PER_SECOND);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "{sign}{hours:02}:{minutes:02}:{seconds:02}").expect(INFALLIBLE);
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        write!(out, ".{}", digits.trim_end_matches('0')).expect(INFALLIBLE);
    }
}

/// Reads PostgreSQL's older spelling of bytes: `\\` is a backslash and `\101` a byte in octal.
fn unescape(text: &[u8]) -> Result<Vec<u8>> {
    let invalid = || {
        Error::TextValue(keys::Error::TextInvalid {
            kind: Type::String,
            text: String::from_utf8_lossy(text).chars().take(60).collect(),
            reason: "a backslash is followed by another or by three octal digits",
        })
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match after {
            [b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                after @ ..,
            ] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => return Err(invalid()),
        }
    }
    Ok(bytes)
}
