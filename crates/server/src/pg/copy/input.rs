//! Bytes of a copy as rows, wherever one message ends and the next begins.
//!
//! ```text
//!   data ─► whole lines ─► fields, borrowed ─► values by their column's type ─► one row, used again
//!             │ the rest waits for the next message
//! ```
//!
//! A field is copied only if it has escapes in it. Errors name the line, counted from one, and the
//! column.

use std::sync::Arc;

use db::{CopyForm, CopyFormat, CopyHeader, ResultColumn};
use keys::Value;
use memchr::memchr2;

use super::csv::{self, CsvEnds};
use super::text::{self, Taken, TextEnds};
use super::{binary, binary::Tuple};
use crate::{Error, Result};

/// Bytes of one row that are kept while its end has not come.
const ROW_BYTES_MAX: usize = 64 << 20;

/// What takes each row.
pub(super) type Sink<'s> = dyn FnMut(&mut Vec<Value>) -> db::Result<()> + 's;

/// A copy that comes in.
pub(super) struct Input {
    table: String,
    columns: Arc<[ResultColumn]>,
    form: CopyForm,
    ends: Ends,
    /// The beginning of a row whose end has not come.
    rest: Vec<u8>,
    /// Lines, or rows of the binary form, so far.
    line: u64,
    /// Whether lines end with a carriage return; told by the first.
    carriage_return: Option<bool>,
    /// Whether the mark of the end has come.
    ended: bool,
    /// The row that is being read; its memory is used again.
    row: Vec<Value>,
    /// A field without its escapes.
    field: Vec<u8>,
}

/// Where lines end.
enum Ends {
    Text(TextEnds),
    Csv(CsvEnds),
    /// There are no lines; whether the header has come.
    Binary(bool),
}

impl Input {
    /// A copy into these columns of a table.
    pub(super) fn new(table: &str, columns: Arc<[ResultColumn]>, form: CopyForm) -> Self {
        let ends = match form.format {
            CopyFormat::Text => Ends::Text(TextEnds::default()),
            CopyFormat::Csv => Ends::Csv(CsvEnds::default()),
            CopyFormat::Binary => Ends::Binary(false),
        };
        Self {
            table: table.to_owned(),
            row: Vec::with_capacity(columns.len()),
            columns,
            form,
            ends,
            rest: Vec::new(),
            line: 0,
            carriage_return: None,
            ended: false,
            field: Vec::new(),
        }
    }

    /// Takes some more bytes.
    pub(super) fn feed(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        if self.rest.is_empty() {
            let left = self.take(data, sink)?;
            self.rest.extend_from_slice(left);
        } else {
            let mut whole = std::mem::take(&mut self.rest);
            whole.extend_from_slice(data);
            let left = self.take(&whole, sink)?.len();
            whole.drain(..whole.len() - left);
            self.rest = whole;
        }
        match self.rest.len() > ROW_BYTES_MAX {
            true => Err(self.malformed("a row is longer than 64 MiB", None)),
            false => Ok(()),
        }
    }

    /// Takes what is left when no more will come.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() || self.ended {
            return Ok(());
        }
        match &self.ends {
            Ends::Csv(ends) if ends.is_quoted() => {
                self.line += 1;
                Err(self.malformed("a quoted field has no end", None))
            }
            Ends::Text(_) | Ends::Csv(_) => self.line(&rest, sink),
            Ends::Binary(_) => Err(self.malformed("the data ends in the middle of a row", None)),
        }
    }

    /// Takes the whole rows off the front, and gives back what is left.
    fn take<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Result<&'d [u8]> {
        if let Ends::Binary(_) = self.ends {
            return self.take_tuples(data, sink);
        }
        let mut left = data;
        while !self.ended {
            let end = match &mut self.ends {
                Ends::Text(ends) => ends.find(left),
                Ends::Csv(ends) => ends.find(left, &self.form),
                Ends::Binary(_) => None,
            };
            let Some((line, after)) = end.and_then(|end| left.split_at_checked(end)) else {
                return Ok(left);
            };
            left = after.get(1..).unwrap_or_default();
            let ends_so = line.last() == Some(&b'\r');
            if *self.carriage_return.get_or_insert(ends_so) != ends_so {
                self.line += 1;
                let reason = "lines end in different ways: escape or quote a carriage return";
                return Err(self.malformed(reason, None));
            }
            let line = match ends_so {
                true => line.split_last().map_or(line, |(_, line)| line),
                false => line,
            };
            self.line(line, sink)?;
        }
        Ok(&[])
    }

    /// Takes one line, without its end.
    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        self.line += 1;
        if line == b"\\." {
            self.ended = true;
            return Ok(());
        }
        // What takes the meaning from a delimiter or an end of line. Few lines have any.
        let lifts = match self.form.format {
            CopyFormat::Csv => self.form.quote,
            _ => b'\\',
        };
        let plain = memchr2(lifts, 0, line).is_none();
        let text = std::str::from_utf8(line).ok();
        let Some(text) = text.filter(|_| plain || !line.contains(&0)) else {
            let thing = "data of COPY";
            return Err(self.place(Error::NotUtf8 { thing }, None));
        };
        if self.line == 1 && self.form.header != CopyHeader::None {
            return self.header(text);
        }
        self.row.clear();
        let mut left = Some(text);
        while let Some(fields) = left {
            let column = self.row.len();
            let Some(expected) = self.columns.get(column) else {
                return Err(self.malformed("there is data after the last column", None));
            };
            let taken = match self.form.format {
                _ if plain => Taken::plain(fields, &self.form, column),
                CopyFormat::Csv => csv::take(fields, &self.form, column, &mut self.field),
                _ => text::take(fields, &self.form, &mut self.field),
            };
            let value = match taken.value {
                Some(field) => field.decode(&self.field, expected),
                None => Ok(Value::Null),
            };
            match value {
                Ok(value) => self.row.push(value),
                Err(error) => return Err(self.place(error, Some(column))),
            }
            left = taken.left;
        }
        if self.row.len() < self.columns.len() {
            return Err(self.malformed("data for this column is missing", Some(self.row.len())));
        }
        sink(&mut self.row).map_err(|error| self.place(error.into(), None))
    }

    /// Takes the first line, which names the columns.
    fn header(&mut self, line: &str) -> Result<()> {
        if self.form.header != CopyHeader::Match {
            return Ok(());
        }
        let mut left = Some(line);
        for (column, expected) in self.columns.iter().enumerate() {
            let taken = left.map(|fields| match self.form.format {
                CopyFormat::Csv => csv::take(fields, &self.form, column, &mut self.field),
                _ => text::take(fields, &self.form, &mut self.field),
            });
            let named = taken
                .as_ref()
                .and_then(|taken| taken.value.as_ref())
                .is_some_and(|field| field.bytes(&self.field) == expected.name.as_bytes());
            if !named {
                return Err(self.malformed("the header does not name this column", Some(column)));
            }
            left = taken.and_then(|taken| taken.left);
        }
        match left {
            Some(_) => Err(self.malformed("the header names more columns than there are", None)),
            None => Ok(()),
        }
    }

    fn take_tuples<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Result<&'d [u8]> {
        let mut left = data;
        if let Ends::Binary(false) = self.ends {
            match binary::take_header(left).map_err(|reason| self.malformed(reason, None))? {
                Some(after) => left = after,
                None => return Ok(left),
            }
            self.ends = Ends::Binary(true);
        }
        while !left.is_empty() {
            self.row.clear();
            if self.ended {
                return Err(self.malformed("there is data after the mark of the end", None));
            }
            match binary::take_tuple(left, &self.columns, &mut self.row) {
                Ok(Tuple::Incomplete) => return Ok(left),
                Ok(Tuple::End(after)) => {
                    self.ended = true;
                    left = after;
                }
                Ok(Tuple::Row(after)) => {
                    self.line += 1;
                    sink(&mut self.row).map_err(|error| self.place(error.into(), None))?;
                    left = after;
                }
                Err(error) => {
                    self.line += 1;
                    let column = Some(self.row.len()).filter(|_| !error.is_copy_format());
                    return Err(self.place(error, column));
                }
            }
        }
        Ok(left)
    }

    fn malformed(&self, reason: &'static str, column: Option<usize>) -> Error {
        self.place(Error::CopyFormat { reason }, column)
    }

    /// An error with the place it is about.
    fn place(&self, error: Error, column: Option<usize>) -> Error {
        let column = column.and_then(|column| self.columns.get(column));
        Error::CopyPlace {
            table: self.table.clone(),
            line: self.line,
            column: column.map_or(String::new(), |column| format!(", column {}", column.name)),
            source: Box::new(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Buf, BytesMut};
    use keys::Type;
    use proptest::prelude::*;

    use super::super::output::Output;
    use super::*;

    const KINDS: [Type; 6] = [
        Type::Int64,
        Type::Utf8,
        Type::String,
        Type::Double,
        Type::Bool,
        Type::Timestamp,
    ];

    fn columns(kinds: &[Type]) -> Arc<[ResultColumn]> {
        let named = |(at, kind): (usize, &Type)| ResultColumn::new(format!("c{at}"), *kind);
        kinds.iter().enumerate().map(named).collect()
    }

    fn form(format: CopyFormat) -> CopyForm {
        let csv = format == CopyFormat::Csv;
        CopyForm {
            format,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { "" } else { "\\N" }.to_owned(),
            header: CopyHeader::None,
            quote: b'"',
            escape: b'"',
            force_quote: vec![false; KINDS.len()],
            force_null: vec![false; KINDS.len()],
            force_not_null: vec![false; KINDS.len()],
        }
    }

    /// Reads data that comes in pieces of so many bytes.
    fn read(kinds: &[Type], form: CopyForm, data: &[u8], piece: usize) -> Result<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        let mut sink = |row: &mut Vec<Value>| {
            rows.push(std::mem::take(row));
            Ok(())
        };
        let mut input = Input::new("t", columns(kinds), form);
        for piece in data.chunks(piece.max(1)) {
            input.feed(piece, &mut sink)?;
        }
        input.finish(&mut sink)?;
        Ok(rows)
    }

    /// The bytes of all CopyData messages.
    fn written(form: CopyForm, kinds: &[Type], rows: &[Vec<Value>]) -> Vec<u8> {
        let mut out = BytesMut::new();
        let mut output = Output::new(form);
        output.open(&columns(kinds), &mut out).unwrap();
        for row in rows {
            output.row(row, &mut out).unwrap();
        }
        output.close(&mut out).unwrap();
        let mut data = Vec::new();
        while out.has_remaining() {
            assert_eq!(out.get_u8(), b'd');
            let length = usize::try_from(out.get_u32()).unwrap() - 4;
            data.extend_from_slice(&out.split_to(length));
        }
        data
    }

    fn text(data: &str) -> String {
        let read = read(
            &[Type::Int64, Type::Utf8],
            form(CopyFormat::Text),
            data.as_bytes(),
            3,
        );
        shown(read)
    }

    fn csv(data: &str) -> String {
        let read = read(
            &[Type::Int64, Type::Utf8],
            form(CopyFormat::Csv),
            data.as_bytes(),
            3,
        );
        shown(read)
    }

    fn shown(read: Result<Vec<Vec<Value>>>) -> String {
        match read {
            Err(error) => format!("{} {error}", error.sqlstate()),
            Ok(rows) => {
                let row = |row: &Vec<Value>| {
                    let values: Vec<_> = row.iter().map(|value| format!("{value:?}")).collect();
                    values.join(" ")
                };
                rows.iter().map(row).collect::<Vec<_>>().join("; ")
            }
        }
    }

    #[test]
    fn text_is_read_as_postgresql_reads_it() {
        assert_eq!(text(""), "");
        assert_eq!(
            text("1\ta\n2\t\\N\n"),
            "Int64(1) Utf8(\"a\"); Int64(2) Null"
        );
        assert_eq!(
            text("1\ta\r\n2\tb\r\n"),
            "Int64(1) Utf8(\"a\"); Int64(2) Utf8(\"b\")"
        );
        assert_eq!(text("1\t\n\\.\nnonsense"), "Int64(1) Utf8(\"\")");
        assert_eq!(text("1\tlast"), "Int64(1) Utf8(\"last\")");
        assert_eq!(
            text("1\ta\\tb\\\\n\\x41\\101\\q\\\tc"),
            "Int64(1) Utf8(\"a\\tb\\\\nAAq\\tc\")"
        );
        assert_eq!(text("1\ta\\\nb\n"), "Int64(1) Utf8(\"a\\nb\")");
        assert_eq!(text("1\t\\\\N\n"), "Int64(1) Utf8(\"\\\\N\")");
    }

    #[test]
    fn errors_name_line_and_column() {
        let missing = "22P04 data for this column is missing (COPY t, line 2, column c1)";
        assert_eq!(text("1\ta\n2\n"), missing);
        let extra = "22P04 there is data after the last column (COPY t, line 1)";
        assert_eq!(text("1\ta\tb\n"), extra);
        assert!(text("1\ta\nx\tb\n").starts_with("22P02 "));
        assert!(text("1\ta\nx\tb\n").ends_with("(COPY t, line 2, column c0)"));
        assert!(text("1\ta\n2\tb\r\n").starts_with("22P04 lines end in different ways"));
        assert!(text("1\ta\0b\n").starts_with("22021 "));
        assert!(csv("1,\"open\n").starts_with("22P04 a quoted field has no end"));
        let unread = read(&[Type::Utf8], form(CopyFormat::Text), b"\xff\n", 9);
        assert!(shown(unread).starts_with("22021 "));
        let foreign = read(&[Type::Utf8], form(CopyFormat::Binary), b"1\ta\n", 9);
        assert!(shown(foreign).starts_with("22P04 the signature"));
    }

    #[test]
    fn csv_is_read_as_postgresql_reads_it() {
        assert_eq!(
            csv("1,a\n2,\n3,\"\"\n"),
            "Int64(1) Utf8(\"a\"); Int64(2) Null; Int64(3) Utf8(\"\")"
        );
        assert_eq!(
            csv("1,\"a,\"\"b\"\"\nc\"\r\n"),
            "Int64(1) Utf8(\"a,\\\"b\\\"\\nc\")"
        );
        assert_eq!(csv("1,a\"b,\"c\n"), "Int64(1) Utf8(\"ab,c\")");
        assert_eq!(csv("1,\\N\n\\.\nx"), "Int64(1) Utf8(\"\\\\N\")");
        let mut odd = form(CopyFormat::Csv);
        odd.escape = b'\\';
        let rows = read(&[Type::Utf8], odd, b"\"a\\\"b\\\\\"\n\"c\\d\"\n", 1);
        assert_eq!(shown(rows), "Utf8(\"a\\\"b\\\\\"); Utf8(\"c\\\\d\")");
    }

    #[test]
    fn forced_columns_and_headers() {
        let mut forced = form(CopyFormat::Csv);
        forced.header = CopyHeader::Match;
        forced.force_null = vec![true, false];
        forced.force_not_null = vec![false, true];
        let kinds = [Type::Utf8, Type::Utf8];
        let rows = read(&kinds, forced.clone(), b"c0,\"c1\"\n\"\",\n", 2);
        assert_eq!(shown(rows), "Null Utf8(\"\")");
        let wrong = shown(read(&kinds, forced.clone(), b"c0,d\n", 2));
        assert!(
            wrong.starts_with("22P04 the header does not name this column"),
            "{wrong}"
        );
        forced.header = CopyHeader::Names;
        forced.force_quote = vec![true, false];
        let row = vec![vec![Value::from("x"), Value::from("y")]];
        assert_eq!(written(forced, &kinds, &row), b"\"c0\",c1\n\"x\",y\n");
    }

    fn value(kind: Type) -> BoxedStrategy<Value> {
        let some = match kind {
            Type::Int64 => any::<i64>().prop_map(Value::Int64).boxed(),
            Type::Utf8 => "[\\PC\t\r\n\\\\\"',;.N|]{0,12}"
                .prop_map(Value::from)
                .boxed(),
            Type::String => any::<Vec<u8>>().prop_map(Value::from).boxed(),
            Type::Double => any::<f64>().prop_map(Value::Double).boxed(),
            Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
            _ => (-1_000_000_000_000_000..4_000_000_000_000_000_i64)
                .prop_map(Value::Timestamp)
                .boxed(),
        };
        prop_oneof![1 => Just(Value::Null), 4 => some].boxed()
    }

    fn row() -> impl Strategy<Value = Vec<Value>> {
        KINDS.map(value).to_vec()
    }

    proptest! {
        #[test]
        fn rows_survive_every_form(
            rows in proptest::collection::vec(row(), 0..8),
            piece in 1_usize..40,
            delimiter in prop::sample::select(b"\t|;,A ".to_vec()),
        ) {
            for format in [CopyFormat::Text, CopyFormat::Csv, CopyFormat::Binary] {
                let mut form = form(format);
                form.delimiter = delimiter;
                let data = written(form.clone(), &KINDS, &rows);
                let back = read(&KINDS, form, &data, piece);
                prop_assert_eq!(back.unwrap(), rows.clone(), "{:?}", format);
            }
        }

        #[test]
        fn no_bytes_panic(data in any::<Vec<u8>>(), piece in 1_usize..9) {
            for format in [CopyFormat::Text, CopyFormat::Csv, CopyFormat::Binary] {
                let _ = read(&KINDS, form(format), &data, piece);
                let signed = [&b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0"[..], &data].concat();
                let _ = read(&KINDS, form(format), &signed, piece);
            }
        }
    }
}
