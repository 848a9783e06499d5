//! COPY's text form: fields between tabs, `\N` for NULL, backslashes before what means something.
//!
//! ```text
//!   1⇥first\tline⇥\N⏎      \b \f \n \r \t \v   control characters
//!   2⇥⇥C:\\temp⏎           \101  \x41          a byte in octal, in hexadecimal
//!   \.⏎                    \ and anything else  that itself, also a tab or the end of a line
//! ```

use bytes::{BufMut, BytesMut};
use db::{CopyForm, ResultColumn};
use keys::{Declared, Value};
use memchr::memchr;

use crate::Result;
use crate::pg::types;

/// Where lines of the text form end, and how far was looked already.
#[derive(Default)]
pub(super) struct TextEnds {
    looked: usize,
}

impl TextEnds {
    /// Where the first line ends. If it does not, the same bytes and more come next time.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        loop {
            let unseen = bytes.get(self.looked..).unwrap_or_default();
            let Some(at) = memchr(b'\n', unseen).map(|at| at + self.looked) else {
                self.looked = bytes.len();
                return None;
            };
            if is_escaped(bytes, at) {
                self.looked = at + 1;
                continue;
            }
            self.looked = 0;
            return Some(at);
        }
    }
}

/// A field, and the line after it.
pub(super) struct Taken<'l> {
    /// `None` is NULL.
    pub(super) value: Option<Field<'l>>,
    /// The other fields; `None` if it was the last.
    pub(super) left: Option<&'l str>,
}

impl<'l> Taken<'l> {
    /// Takes the first field off a line in which nothing is escaped or quoted.
    pub(super) fn plain(line: &'l str, form: &CopyForm, column: usize) -> Self {
        let (field, left) = match memchr(form.delimiter, line.as_bytes()) {
            Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..)),
            None => (line, None),
        };
        let forced = form.force_not_null.get(column).copied().unwrap_or(false);
        let null = field == form.null && !forced;
        let value = (!null).then_some(Field::Plain(field));
        Self { value, left }
    }
}

/// The text of a field.
pub(super) enum Field<'l> {
    /// As it stands in the line.
    Plain(&'l str),
    /// Without its escapes, in the buffer that the field was taken with.
    Buffered,
}

impl Field<'_> {
    /// The value of a field.
    pub(super) fn decode(&self, buffer: &[u8], column: &ResultColumn) -> Result<Value> {
        let kind = column.kind;
        match (self, column.declared) {
            (Self::Plain(text), Declared::Timestamp(_)) => types::decode_local(text),
            (Self::Plain(text), _) => types::decode_text(text, kind),
            (Self::Buffered, declared) => {
                let oid = types::declared_oid(kind, declared);
                types::decode(buffer, types::Format::Text, oid, kind)
            }
        }
    }

    /// The bytes of a field.
    pub(super) fn bytes<'b>(&'b self, buffer: &'b [u8]) -> &'b [u8] {
        match self {
            Self::Plain(text) => text.as_bytes(),
            Self::Buffered => buffer,
        }
    }
}

/// Takes the first field off a line.
pub(super) fn take<'l>(line: &'l str, form: &CopyForm, buffer: &mut Vec<u8>) -> Taken<'l> {
    let (field, left) = split(line, form.delimiter);
    if field == form.null {
        return Taken { value: None, left };
    }
    if !field.as_bytes().contains(&b'\\') {
        let value = Some(Field::Plain(field));
        return Taken { value, left };
    }
    unescape(field.as_bytes(), buffer);
    let value = Some(Field::Buffered);
    Taken { value, left }
}

/// Cuts a line at the first delimiter that has no backslash before it.
fn split(line: &str, delimiter: u8) -> (&str, Option<&str>) {
    let mut from = 0;
    while let Some(found) = line
        .get(from..)
        .and_then(|rest| memchr(delimiter, rest.as_bytes()))
    {
        let at = from + found;
        if !is_escaped(line.as_bytes(), at) {
            return (line.get(..at).unwrap_or_default(), line.get(at + 1..));
        }
        from = at + 1;
    }
    (line, None)
}

/// Whether the byte at `at` has an odd number of backslashes before it.
fn is_escaped(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\');
    backslashes.count() % 2 == 1
}

/// Fills the buffer with a field without its escapes.
fn unescape(field: &[u8], buffer: &mut Vec<u8>) {
    buffer.clear();
    let mut left = field;
    while let Some(at) = memchr(b'\\', left) {
        let (plain, escape) = left.split_at_checked(at).unwrap_or_default();
        buffer.extend_from_slice(plain);
        let after = escape.get(1..).unwrap_or_default();
        let (byte, used) = escaped(after);
        buffer.push(byte);
        left = after.get(used..).unwrap_or_default();
    }
    buffer.extend_from_slice(left);
}

/// The byte that an escape stands for, and how many bytes after the backslash it takes.
fn escaped(after: &[u8]) -> (u8, usize) {
    let Some(first) = after.first() else {
        return (b'\\', 0);
    };
    match first {
        b'b' => (8, 1),
        b'f' => (12, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (11, 1),
        b'0'..=b'7' => digits(after, 8, 3),
        b'x' if after.get(1).is_some_and(u8::is_ascii_hexdigit) => {
            let (byte, used) = digits(after.get(1..).unwrap_or_default(), 16, 2);
            (byte, used + 1)
        }
        other => (*other, 1),
    }
}

/// Up to `most` digits as a byte; what does not fit is cut off, as in PostgreSQL.
fn digits(bytes: &[u8], radix: u32, most: usize) -> (u8, usize) {
    let found = bytes
        .iter()
        .take(most)
        .map_while(|byte| char::from(*byte).to_digit(radix));
    let (number, used) = found.fold((0, 0), |(number, used), digit| {
        (number * radix + digit, used + 1)
    });
    let [.., byte] = number.to_be_bytes();
    (byte, used)
}

/// Appends a field with the escapes it needs.
pub(super) fn put_field(field: &[u8], form: &CopyForm, out: &mut BytesMut) {
    let mut left = field;
    let meant = |byte: &u8| *byte == b'\\' || *byte == form.delimiter || (8..=13).contains(byte);
    while let Some(at) = left.iter().position(meant) {
        let (plain, escape) = left.split_at_checked(at).unwrap_or_default();
        out.put_slice(plain);
        let Some((byte, after)) = escape.split_first() else {
            break;
        };
        let letter = match byte {
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            11 => b'v',
            12 => b'f',
            b'\r' => b'r',
            other => *other,
        };
        out.put_slice(&[b'\\', letter]);
        left = after;
    }
    out.put_slice(left);
}
