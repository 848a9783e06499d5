//! Text as values: everything [`Value`] prints, and the other spellings people use.

use std::str::FromStr;

use super::{Decimal, Value, calendar, json};
use crate::error::{Error, Result};
use crate::types::Type;

/// Characters of a bad text that an error repeats.
const TEXT_SHOWN_CHARS_MAX: usize = 60;
/// What is wrong with text that is no integer of its type.
const INTEGER: &str = "write a whole number in its range";
/// The largest exponent of a decimal: past it every number is zero or too wide anyway.
const EXPONENT_MAX: i32 = 1000;

impl Value {
    /// Reads the text of a value of this type.
    ///
    /// Text is taken as it is, and JSON too if it is JSON. A String that begins with `\x` is hexadecimal and any
    /// other is the bytes of the text itself. Space around anything but text is ignored. The text
    /// `NULL` is no NULL here: that is for the language around it to say.
    pub fn parse(kind: Type, text: &str) -> Result<Self> {
        let trimmed = text.trim();
        let parsed = match kind {
            Type::Utf8 => return Ok(Self::Utf8(text.into())),
            Type::Json if json::is_json(text) => Ok(Self::Json(text.into())),
            Type::Json => Err("not a JSON document"),
            Type::String => parse_bytes(text).map(Self::String),
            Type::Bool => parse_bool(trimmed).map(Self::Bool),
            Type::Int8 => integer(text).map(Self::Int8),
            Type::Int16 => integer(text).map(Self::Int16),
            Type::Int32 => integer(text).map(Self::Int32),
            Type::Int64 => integer(text).map(Self::Int64),
            Type::Uint8 => integer(text).map(Self::Uint8),
            Type::Uint16 => integer(text).map(Self::Uint16),
            Type::Uint32 => integer(text).map(Self::Uint32),
            Type::Uint64 => integer(text).map(Self::Uint64),
            Type::Float => trimmed.parse().map(Self::Float).map_err(|_| "not a number"),
            Type::Double => trimmed
                .parse()
                .map(Self::Double)
                .map_err(|_| "not a number"),
            Type::Decimal { precision, scale } => {
                parse_decimal(trimmed, precision, scale).map(Self::Decimal)
            }
            Type::Date => parse_day(trimmed).map(Self::Date),
            Type::Datetime => parse_instant(trimmed, 1_000_000).map(Self::Datetime),
            Type::Timestamp => parse_instant(trimmed, 1).map(Self::Timestamp),
            Type::Interval => parse_span(trimmed).map(Self::Interval),
            Type::Uuid => parse_uuid(trimmed).map(Self::Uuid),
        };
        parsed.map_err(|reason| text_invalid(kind, text, reason))
    }
}

fn text_invalid(kind: Type, text: &str, reason: &'static str) -> Error {
    let mut shown: String = text.chars().take(TEXT_SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    Error::TextInvalid {
        kind,
        text: shown,
        reason,
    }
}

/// Blanks around a number are rare, and looking for them takes longer than reading it.
fn integer<I: FromStr>(text: &str) -> std::result::Result<I, &'static str> {
    let parsed = text.parse().or_else(|_| text.trim().parse());
    parsed.map_err(|_| INTEGER)
}

fn parse_bool(text: &str) -> std::result::Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Ok(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Ok(false),
        _ => Err("write true or false"),
    }
}

fn parse_bytes(text: &str) -> std::result::Result<Box<[u8]>, &'static str> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex)
            .map(Vec::into_boxed_slice)
            .ok_or("not pairs of hex digits"),
        None => Ok(text.as_bytes().into()),
    }
}

/// Reads pairs of hexadecimal digits.
pub(crate) fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some(hex_digit(*high)? << 4 | hex_digit(*low)?))
        .collect()
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn parse_uuid(text: &str) -> std::result::Result<[u8; 16], &'static str> {
    const REASON: &str = "write 32 hex digits as 8-4-4-4-12";
    let bare = text
        .strip_prefix('{')
        .and_then(|t| t.strip_suffix('}'))
        .unwrap_or(text);
    let hyphens_in_place = match bare.len() {
        32 => true,
        36 => bare
            .bytes()
            .enumerate()
            .all(|(at, b)| (b == b'-') == matches!(at, 8 | 13 | 18 | 23)),
        _ => false,
    };
    if !hyphens_in_place {
        return Err(REASON);
    }
    let digits: String = bare.chars().filter(|c| *c != '-').collect();
    parse_hex(&digits)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(REASON)
}

fn parse_day(text: &str) -> std::result::Result<i32, &'static str> {
    let days = match calendar::parse_date(text) {
        Some(days) => days,
        None => calendar::parse_timestamp(text)
            .ok_or("write a date as 2026-01-31")?
            .div_euclid(86_400_000_000),
    };
    i32::try_from(days).map_err(|_| "out of range")
}

fn parse_instant(text: &str, unit_micros: i128) -> std::result::Result<i64, &'static str> {
    let micros = calendar::parse_timestamp(text).ok_or("write a time as 2026-01-31T12:00:00Z")?;
    i64::try_from(micros.div_euclid(unit_micros)).map_err(|_| "out of range")
}

fn parse_span(text: &str) -> std::result::Result<i64, &'static str> {
    let micros = calendar::parse_interval(text)
        .or_else(|| parse_worded_span(text))
        .ok_or("write an interval as P1DT2H or as 1 day 02:00:00, without months or years")?;
    i64::try_from(micros).map_err(|_| "out of range")
}

/// Reads PostgreSQL's spelling: `1 day 02:03:04`, `-1 days +2:03:04`, `-3 hours`, `90 min`.
fn parse_worded_span(text: &str) -> Option<i128> {
    let mut words = text
        .split_whitespace()
        .map(|word| word.trim_end_matches(','))
        .peekable();
    let mut micros = 0_i128;
    words.peek()?;
    while let Some(word) = words.next() {
        let (sign, number) = match word.as_bytes().first()? {
            b'-' => (-1, word.get(1..)?),
            b'+' => (1, word.get(1..)?),
            _ => (1, word),
        };
        micros += sign
            * if number.contains(':') {
                calendar::parse_clock(number)?
            } else {
                let amount = calendar::parse_decimal_micros(number)?;
                amount.checked_mul(unit_micros(words.next()?)?)? / 1_000_000
            };
    }
    Some(micros)
}

fn unit_micros(name: &str) -> Option<i128> {
    let name = name.to_ascii_lowercase();
    Some(match name.trim_end_matches('s') {
        "week" | "w" => 604_800_000_000,
        "day" | "d" => 86_400_000_000,
        "hour" | "hr" | "h" => 3_600_000_000,
        "minute" | "min" | "m" => 60_000_000,
        "second" | "sec" | "" => 1_000_000,
        "millisecond" | "msec" => 1000,
        "microsecond" | "usec" | "u" => 1,
        _ => return None,
    })
}

/// Reads digits with an optional sign, point and exponent, and rounds half away from zero.
fn parse_decimal(
    text: &str,
    precision: u8,
    scale: u8,
) -> std::result::Result<Decimal, &'static str> {
    const SYNTAX: &str = "write digits with at most one point";
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| SYNTAX)?),
        None => (text, 0),
    };
    let (negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|b| b.is_ascii_digit()) {
        return Err(SYNTAX);
    }
    let exponent = exponent.clamp(-EXPONENT_MAX, EXPONENT_MAX);
    let kept =
        i64::try_from(whole.len()).map_err(|_| SYNTAX)? + i64::from(exponent) + i64::from(scale);
    let magnitude = round_digits(digits(), kept).ok_or("more digits than its precision")?;
    let decimal = Decimal::new(if negative { -magnitude } else { magnitude }, scale);
    decimal
        .filter(|decimal| decimal.digits() <= precision)
        .ok_or("more digits than its precision")
}

/// The number that the first `kept` digits make, with zeros after them where there are fewer.
fn round_digits(digits: impl Iterator<Item = u8>, kept: i64) -> Option<i128> {
    if kept < 0 {
        return Some(0);
    }
    let mut digits = digits.map(|digit| i128::from(digit - b'0'));
    let mut number = 0_i128;
    for _ in 0..kept {
        let Some(digit) = digits.next() else {
            if number == 0 {
                return Some(0);
            }
            number = number.checked_mul(10)?;
            continue;
        };
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if digits.next().is_some_and(|digit| digit >= 5) {
        number + 1
    } else {
        number
    })
}
