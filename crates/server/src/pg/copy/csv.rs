//! COPY's CSV form: fields between commas, quotes around what means something, nothing for NULL.
//!
//! ```text
//!   1,"first, or
//!   second line",⏎        a field in quotes may hold the end of a line
//!   2,"say ""no""",""⏎    a quote in quotes is doubled; "" is an empty text, nothing at all is NULL
//!   3,ab"cd"ef,x⏎         quotes may begin and end inside of a field, as in PostgreSQL
//! ```

use bytes::{BufMut, BytesMut};
use db::CopyForm;
use memchr::memchr2;

use super::text::{Field, Taken};

/// Where lines of the CSV form end, and how far was looked already.
#[derive(Default)]
pub(super) struct CsvEnds {
    looked: usize,
    quoted: bool,
    escaped: bool,
}

impl CsvEnds {
    /// Where the first line ends. If it does not, the same bytes and more come next time.
    pub(super) fn find(&mut self, bytes: &[u8], form: &CopyForm) -> Option<usize> {
        let CopyForm { quote, escape, .. } = *form;
        let unseen = bytes.get(self.looked..).unwrap_or_default();
        for (at, byte) in unseen.iter().enumerate() {
            match *byte {
                b'\n' if !self.quoted => {
                    let end = self.looked + at;
                    *self = Self::default();
                    return Some(end);
                }
                _ if self.escaped => self.escaped = false,
                byte if byte == escape && escape != quote && self.quoted => self.escaped = true,
                byte if byte == quote => self.quoted = !self.quoted,
                _ => {}
            }
        }
        self.looked = bytes.len();
        None
    }

    /// Whether a quote is open.
    pub(super) fn is_quoted(&self) -> bool {
        self.quoted
    }
}

/// Takes the first field off a line, for the column at `column`.
pub(super) fn take<'l>(
    line: &'l str,
    form: &CopyForm,
    column: usize,
    buffer: &mut Vec<u8>,
) -> Taken<'l> {
    let meant = memchr2(form.delimiter, form.quote, line.as_bytes());
    if meant.is_none_or(|at| line.as_bytes().get(at) == Some(&form.delimiter)) {
        return Taken::plain(line, form, column);
    }
    let left = unquote(line, form, buffer);
    let forced = form.force_null.get(column).copied().unwrap_or(false);
    let null = buffer == form.null.as_bytes() && forced;
    let value = (!null).then_some(Field::Buffered);
    Taken { value, left }
}

/// Fills the buffer with the first field without its quotes, and gives back the line after it.
fn unquote<'l>(line: &'l str, form: &CopyForm, buffer: &mut Vec<u8>) -> Option<&'l str> {
    buffer.clear();
    let mut quoted = false;
    let mut bytes = line.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let next = bytes.peek().map(|(_, next)| *next);
        let literal = quoted && byte == form.escape;
        match next.filter(|next| literal && (*next == form.quote || *next == form.escape)) {
            Some(next) => {
                buffer.push(next);
                bytes.next();
            }
            None if byte == form.quote => quoted = !quoted,
            None if byte == form.delimiter && !quoted => return line.get(at + 1..),
            None => buffer.push(byte),
        }
    }
    None
}

/// Appends a field with the quotes it needs, for the column at `column` of so many.
pub(super) fn put_field(field: &[u8], form: &CopyForm, place: (usize, usize), out: &mut BytesMut) {
    let (column, columns) = place;
    let meant = |byte: &u8| {
        *byte == form.delimiter || *byte == form.quote || matches!(*byte, b'\n' | b'\r')
    };
    let needed = form.force_quote.get(column).copied().unwrap_or(false)
        || field == form.null.as_bytes()
        || (columns == 1 && field == b"\\.")
        || field.iter().any(meant);
    if !needed {
        return out.put_slice(field);
    }
    out.put_u8(form.quote);
    for byte in field {
        if *byte == form.quote || *byte == form.escape {
            out.put_u8(form.escape);
        }
        out.put_u8(*byte);
    }
    out.put_u8(form.quote);
}
