//! Replies as bytes, gathered in one buffer until they are worth writing.

use bytes::{BufMut, BytesMut};
use db::{Notice, Picked, ResultColumn, RowSink, TransactionState};
use keys::{Declared, Value};
use pgwire::messages::Message;
use pgwire::messages::data::{FieldDescription, ParameterDescription, RowDescription};
use pgwire::messages::response::{ErrorResponse, NoticeResponse, ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::ParameterStatus;

use super::frontend::Codes;
use super::types::{self, Format};
use crate::{Error, Result};

/// The longest tag and the like that pgwire encodes; all of ours are far shorter.
const SHORT: &str = "no reply of ours is longer than the protocol allows";

/// The schema that all tables are in.
const SCHEMA: &str = "public";

/// The routine of PostgreSQL's that finds a stale statement: drivers know it, and prepare again.
const STALE_ROUTINE: &str = "RevalidateCachedQuery";

/// Appends a message.
pub(super) fn put(out: &mut BytesMut, message: &impl Message) {
    message.encode(out).expect(SHORT);
}

/// Appends the tag of a finished command.
///
/// ```text
///   ┌───┬────────┬─────────────────────┐
///   │ C │ length │ command, rows, zero │
///   └───┴────────┴─────────────────────┘
///     1   4
/// ```
pub(super) fn put_done(out: &mut BytesMut, command: &str, rows: Option<u64>) {
    out.put_u8(b'C');
    let at = out.len();
    out.put_u32(0);
    out.put_slice(command.as_bytes());
    if let Some(rows) = rows {
        // The zero was once the number of the row.
        out.put_slice(if command == "INSERT" { b" 0 " } else { b" " });
        out.put_slice(itoa::Buffer::new().format(rows).as_bytes());
    }
    out.put_u8(0);
    set_length(out, at, 4);
}

/// Appends what lets the client send the next thing.
pub(super) fn put_ready(out: &mut BytesMut, state: TransactionState) {
    let status = match state {
        TransactionState::Idle => TransactionStatus::Idle,
        TransactionState::Open => TransactionStatus::Transaction,
        TransactionState::Failed => TransactionStatus::Error,
    };
    put(out, &ReadyForQuery::new(status));
}

/// Appends settings that the client is told about.
pub(super) fn put_reports(out: &mut BytesMut, settings: Vec<(&'static str, String)>) {
    for (name, value) in settings {
        // A zero byte would end the value early.
        let value = value.replace('\0', "\u{fffd}");
        put(out, &ParameterStatus::new(name.to_owned(), value));
    }
}

/// Appends an error with its fields.
pub(super) fn put_error(out: &mut BytesMut, error: &Error) {
    let severity = if error.is_fatal() { "FATAL" } else { "ERROR" };
    let mut fields = fields(severity, error.sqlstate(), &error.to_string());
    if let Some(position) = error.position() {
        fields.push((b'P', position.to_string()));
    }
    if let Some(error) = error.database() {
        let table = error.table().map(str::to_owned);
        let named = [
            (b'D', error.detail().map(str::to_owned)),
            (b's', table.as_ref().map(|_| SCHEMA.to_owned())),
            (b't', table),
            (b'c', error.column().map(str::to_owned)),
            (b'n', error.constraint()),
            (b'R', error.is_stale().then(|| STALE_ROUTINE.to_owned())),
        ];
        let there = named
            .into_iter()
            .filter_map(|(code, text)| Some((code, text?)));
        // A zero byte would end the field early.
        fields.extend(there.map(|(code, text)| (code, text.replace('\0', "\u{fffd}"))));
    }
    put(out, &ErrorResponse::new(fields));
}

/// Appends messages for the person at the other end.
pub(super) fn put_notices(out: &mut BytesMut, notices: Vec<Notice>) {
    for notice in notices {
        let mut fields = fields(notice.severity, notice.code, &notice.text);
        let more = [(b'D', notice.detail), (b'H', notice.hint)];
        let there = more
            .into_iter()
            .filter_map(|(code, text)| Some((code, text?)));
        fields.extend(there.map(|(code, text)| (code, text.replace('\0', "\u{fffd}"))));
        put(out, &NoticeResponse::new(fields));
    }
}

fn fields(severity: &str, code: &str, message: &str) -> Vec<(u8, String)> {
    vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', code.to_owned()),
        // A zero byte would end the field early.
        (b'M', message.replace('\0', "\u{fffd}")),
    ]
}

/// Appends the types of a statement's parameters.
pub(super) fn put_parameters(out: &mut BytesMut, oids: &[u32]) {
    put(out, &ParameterDescription::new(oids.to_vec()));
}

/// Appends what the columns of an answer are.
pub(super) fn put_columns(out: &mut BytesMut, columns: &[ResultColumn], formats: &Formats) {
    let describe = |(position, column): (usize, &ResultColumn)| {
        let (oid, size, modifier) = match column.list {
            true => (types::list_oid(column.kind), -1, -1),
            false => (
                types::declared_oid(column.kind, column.declared),
                types::size(column.kind),
                types::modifier(column.kind, column.declared),
            ),
        };
        let (table, number) = match column.origin {
            Some(origin) => (
                i32::from_ne_bytes(origin.table.to_ne_bytes()),
                origin.column,
            ),
            None => (0, 0),
        };
        FieldDescription::new(
            column.name.replace('\0', "\u{fffd}"),
            table,
            number,
            oid,
            size,
            modifier,
            formats.of(position).code(),
        )
    };
    let fields = columns.iter().enumerate().map(describe).collect();
    put(out, &RowDescription::new(fields));
}

/// Appends one row.
///
/// ```text
///   ┌───┬────────┬─────────┬────────────────────┬───
///   │ D │ length │ columns │ length, or -1 │ … │ …
///   └───┴────────┴─────────┴────────────────────┴───
///     1   4        2         4
/// ```
pub(super) fn put_row(out: &mut BytesMut, row: &[Value], formats: &Formats) -> Result<()> {
    let start = out.len();
    out.put_u8(b'D');
    let done = with_length(out, 4, |out| put_cells(out, row, |at| formats.of(at)));
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// Appends rows value by value, as they come from storage.
pub(super) struct SentRows<'o> {
    out: &'o mut BytesMut,
    formats: &'o Formats,
    /// Where the row begins.
    start: usize,
    /// The values that it has so far.
    values: usize,
    /// What went wrong first.
    failed: Option<Error>,
}

impl<'o> SentRows<'o> {
    pub(super) fn new(out: &'o mut BytesMut, formats: &'o Formats) -> Self {
        let start = out.len();
        Self {
            out,
            formats,
            start,
            values: 0,
            failed: None,
        }
    }

    /// Appends a value of any kind in any format.
    fn put(&mut self, value: Picked<'_>, format: Format) {
        let written = with_length(self.out, 0, |out| match value {
            Picked::Value(value) => types::encode(&value, format, out),
            Picked::Text(text) => {
                types::encode_text(text.as_str(), format, out);
                Ok(())
            }
        });
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    /// Takes back a row that is not whole. An error if a value could not be written.
    pub(super) fn finish(self) -> Result<()> {
        self.out.truncate(self.start);
        self.failed.map_or(Ok(()), Err)
    }
}

impl RowSink for SentRows<'_> {
    fn begin(&mut self, values: usize) {
        self.values = 0;
        let values = u16::try_from(values).expect("an answer has at most 65,535 columns");
        let [high, low] = values.to_be_bytes();
        // Inlined, unlike `put_slice`.
        self.out.extend_from_slice(&[b'D', 0, 0, 0, 0, high, low]);
    }

    #[inline]
    fn value(&mut self, value: Picked<'_>) {
        let format = self.formats.of(self.values);
        self.values += 1;
        match (value, format) {
            (Picked::Value(Value::Null), _) => self.out.put_i32(-1),
            // What most values are, without a look back at their length.
            (Picked::Text(text), Format::Text) => put_counted(self.out, text.as_bytes()),
            (Picked::Value(Value::Int64(number)), Format::Text) => {
                put_counted(self.out, itoa::Buffer::new().format(number).as_bytes());
            }
            (Picked::Value(Value::Int32(number)), Format::Text) => {
                put_counted(self.out, itoa::Buffer::new().format(number).as_bytes());
            }
            (value, format) => self.put(value, format),
        }
    }

    fn end(&mut self) {
        if self.failed.is_some() {
            return;
        }
        set_length(self.out, self.start + 1, 4);
        self.start = self.out.len();
    }
}

/// Appends the number of values and each after its length.
pub(super) fn put_cells(
    out: &mut BytesMut,
    row: &[Value],
    format: impl Fn(usize) -> Format,
) -> Result<()> {
    out.put_u16(u16::try_from(row.len()).expect("an answer has at most 65,535 columns"));
    for (position, value) in row.iter().enumerate() {
        match value {
            Value::Null => out.put_i32(-1),
            value => with_length(out, 0, |out| types::encode(value, format(position), out))?,
        }
    }
    Ok(())
}

/// Appends bytes after their length.
#[inline]
fn put_counted(out: &mut BytesMut, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a value is far below four gigabytes");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends something after its length, to which `own` is added.
pub(super) fn with_length(
    out: &mut BytesMut,
    own: u32,
    write: impl FnOnce(&mut BytesMut) -> Result<()>,
) -> Result<()> {
    let at = out.len();
    out.put_u32(0);
    write(out)?;
    set_length(out, at, own);
    Ok(())
}

/// Sets the length at `at` to what follows it up to the end, and `own`.
fn set_length(out: &mut BytesMut, at: usize, own: u32) {
    let length = u32::try_from(out.len() - at - 4).expect("a row is far below four gigabytes");
    let field = out
        .get_mut(at..at + 4)
        .expect("the length was put there before");
    field.copy_from_slice(&(length + own).to_be_bytes());
}

/// The formats of an answer's columns.
#[derive(Clone, Debug)]
pub(super) enum Formats {
    /// All alike.
    All(Format),
    /// One for each.
    Each(Vec<Format>),
}

impl Formats {
    /// Reads the codes of a bind: none, one for all, or one for each of `columns`.
    pub(super) fn read(codes: Codes<'_>, things: &'static str, columns: usize) -> Result<Self> {
        let mut each = codes.iter().map(Format::from_code);
        match (codes.len(), each.next()) {
            (1, Some(all)) => all.map(Self::All),
            (_, None) => Ok(Self::All(Format::Text)),
            (found, Some(first)) if found == columns => {
                let each: Result<Vec<Format>> = std::iter::once(first).chain(each).collect();
                each.map(Self::Each)
            }
            (found, Some(_)) => Err(Error::BindCount {
                things,
                found,
                expected: columns,
            }),
        }
    }

    /// The same, knowing which of the columns have a form of their own.
    pub(super) fn for_columns(self, columns: &[ResultColumn]) -> Self {
        let special = |column: &ResultColumn| {
            column.list
                || matches!(
                    column.declared,
                    Declared::Timestamp(_) | Declared::Jsonb | Declared::Char(Some(_))
                )
        };
        if !columns.iter().any(special) {
            return self;
        }
        let format =
            |(position, column): (usize, &ResultColumn)| match (self.of(position), column.declared)
            {
                (Format::Binary, _) if column.list => Format::BinaryList(column.kind),
                (Format::Binary, Declared::Jsonb) => Format::BinaryJson,
                (Format::Text, Declared::Timestamp(_)) => Format::TextLocal,
                (_, Declared::Char(_)) if column.list => self.of(position),
                (Format::Text, Declared::Char(Some(length))) => Format::TextFilled(length),
                (Format::Binary, Declared::Char(Some(length))) => Format::BinaryFilled(length),
                (other, _) => other,
            };
        Self::Each(columns.iter().enumerate().map(format).collect())
    }

    pub(super) fn of(&self, position: usize) -> Format {
        match self {
            Self::All(format) => *format,
            Self::Each(formats) => formats.get(position).copied().unwrap_or(Format::Text),
        }
    }
}
