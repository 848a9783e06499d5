//! Keys as paths that people read and write: `/orders/1001`.
//!
//! A path is a slash and the values of the key with slashes between them. It needs no schema to
//! print, and the types of the columns to read back.
//!
//! ```text
//!   key                            path
//!   no columns                     /
//!   ("orders", 1001)               /orders/1001
//!   ("50% / day")                  /50%25 %2F day
//!   (NULL, "NULL")                 /<null>/NULL
//!   ("", "é")                      /<empty>/é
//!   (bytes 0a ff)                  /x'0aff'
//!   (2026-01-31, 12.50)            /2026-01-31/12.50
//!   above every key of order 7     /7/<end>
//!   7, then bytes ff 01            /7/<undecodable 0xff01>
//! ```
//!
//! Only text is escaped: slash, percent, quote, angle brackets, control characters and every space
//! that is not the plain one become `%` and two hex digits for each of their UTF-8 bytes. So nothing
//! that text prints as can be taken for a mark in angle brackets, for bytes or for two columns.
//!
//! Bounds of partitions and scans are keys too: an empty one is `/`, a prefix is the path of its
//! columns, and [`crate::prefix_upper_bound`] of a prefix ends in `<end>`.

use std::fmt::{self, Display, Formatter, Write};

use crate::error::{Error, Result};
use crate::key::{self, ABOVE_EVERY_TAG};
use crate::types::Type;
use crate::value::{Value, parse_hex, write_hex};

const NULL: &str = "<null>";
const EMPTY: &str = "<empty>";
const END: &str = "<end>";

/// An encoded key that prints as its path.
#[derive(Clone, Copy, Debug)]
pub struct KeyPath<'a>(pub &'a [u8]);

/// The path of an encoded key; bytes that are no key print as an error mark.
pub fn format_key(key: &[u8]) -> String {
    KeyPath(key).to_string()
}

/// The path of a key that is not encoded, of any values whatever.
pub fn format_values(values: &[Value]) -> String {
    if values.is_empty() {
        return "/".to_owned();
    }
    let mut path = String::new();
    for value in values {
        write!(path, "/{}", Segment(value)).expect("writing to a string cannot fail");
    }
    path
}

/// Reads the path of a key with columns of these types, or of the first few of them.
pub fn parse_key(types: &[Type], path: &str) -> Result<Vec<Value>> {
    let invalid = |reason| Error::PathInvalid {
        path: path.to_owned(),
        reason,
    };
    let rest = path
        .strip_prefix('/')
        .ok_or_else(|| invalid("it begins with a slash"))?;
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let mut types = types.iter();
    rest.split('/')
        .map(|segment| {
            let kind = types
                .next()
                .ok_or_else(|| invalid("the key has fewer columns"))?;
            parse_segment(*kind, segment)?.ok_or_else(|| invalid("a value does not parse"))
        })
        .collect()
}

/// Reads the path of a key bound into its encoding; it may end in `<end>`.
pub fn parse_bound(types: &[Type], path: &str) -> Result<Vec<u8>> {
    match path
        .strip_suffix(END)
        .and_then(|prefix| prefix.strip_suffix('/'))
    {
        Some("") => Ok(key::prefix_upper_bound(&[])),
        Some(prefix) => Ok(key::prefix_upper_bound(&key::encode_key(&parse_key(
            types, prefix,
        )?)?)),
        None => key::encode_key(&parse_key(types, path)?),
    }
}

impl Display for KeyPath<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("/");
        }
        let mut end = 0;
        for column in key::columns(self.0) {
            let Some((column, value)) = column.and_then(|c| Ok((c, c.decode()?))).ok() else {
                let rest = self.0.get(end..).unwrap_or_default();
                if rest == [ABOVE_EVERY_TAG] {
                    return write!(f, "/{END}");
                }
                f.write_str("/<undecodable 0x")?;
                write_hex(f, rest)?;
                return f.write_str(">");
            };
            write!(f, "/{}", Segment(&value))?;
            end = column.end;
        }
        Ok(())
    }
}

/// One value between two slashes.
struct Segment<'a>(&'a Value);

impl Display for Segment<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str(NULL),
            Value::Utf8(text) | Value::Json(text) if text.is_empty() => f.write_str(EMPTY),
            Value::Utf8(text) | Value::Json(text) => write_escaped(f, text),
            Value::String(bytes) => {
                f.write_str("x'")?;
                write_hex(f, bytes)?;
                f.write_str("'")
            }
            other => write!(f, "{other}"),
        }
    }
}

fn write_escaped(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    for character in text.chars() {
        if !is_escaped(character) {
            f.write_char(character)?;
            continue;
        }
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            write!(f, "%{byte:02X}")?;
        }
    }
    Ok(())
}

fn is_escaped(character: char) -> bool {
    matches!(character, '/' | '%' | '\'' | '<' | '>')
        || character.is_control()
        || (character.is_whitespace() && character != ' ')
}

/// Reads one segment; `None` when it is not in the form that segments have.
fn parse_segment(kind: Type, segment: &str) -> Result<Option<Value>> {
    if segment == NULL {
        return Ok(Some(Value::Null));
    }
    Ok(match kind {
        Type::Utf8 => parse_text(segment).map(Value::Utf8),
        Type::Json => parse_text(segment).map(Value::Json),
        Type::String => segment
            .strip_prefix("x'")
            .and_then(|rest| rest.strip_suffix('\''))
            .and_then(parse_hex)
            .map(|bytes| Value::String(bytes.into_boxed_slice())),
        _ => Some(Value::parse(kind, segment)?),
    })
}

fn parse_text(segment: &str) -> Option<Box<str>> {
    match segment {
        "" => return None,
        EMPTY => return Some("".into()),
        _ => {}
    }
    let mut pieces = segment.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, plain) = piece.split_at_checked(2)?;
        bytes.extend(parse_hex(digits)?);
        bytes.extend_from_slice(plain.as_bytes());
    }
    if segment.contains(['<', '>', '\'']) {
        return None;
    }
    String::from_utf8(bytes).ok().map(String::into_boxed_str)
}
