//! The values of a row that are not in its key, as bytes from which any one column reads alone.
//!
//! ```text
//!   ┌────────┬────────┬─────────────┬──────────────────┬──────────────────────────────┐
//!   │ format │ count  │ null bitmap │ ends             │ payloads                     │
//!   │ 1 B    │ n, 1 B │ ⌈n / 8⌉ B   │ n × width B      │ in the order of the columns  │
//!   └────────┴────────┴─────────────┴──────────────────┴──────────────────────────────┘
//!     │                 │             ╰ where each payload ends, counted from the first,
//!     │                 │               little-endian; a column is [end of the one before, end)
//!     │                 ╰ bit i of byte i / 8 set: column i is NULL, and its payload empty
//!     ╰ high half: version, now 1; low half: width of an end, 1, 2 or 4
//!
//!   (7 as Int32, NULL, "hi")
//!   11 │ 03 │ 02 │ 04 04 06 │ 07 00 00 00  68 69
//!
//!   payload    Bool 00 or 01 · integers, Date and times little-endian, 1 to 8 B · Float 4 B ·
//!              Double 8 B · Decimal 16 B without its scale · Uuid 16 B · Utf8, String, Json as is
//! ```
//!
//! The ends are as narrow as the payloads allow, so a small row pays one byte a column. Payloads
//! are little-endian and unflipped, as Arrow wants them: nothing compares them as bytes.
//!
//! A row does not name its columns: column i is the i-th of the schema. Adding a column to a table
//! rewrites nothing; rows written before answer [`Cell::Missing`] for it, which is not NULL, and the
//! schema says what to read instead. A scale is in the schema too, so it can never change.

use std::borrow::Borrow;

use crate::error::{Error, Result};
use crate::types::Type;
use crate::value::{Decimal, Value};

/// Bytes of the longest value in a row.
pub const CELL_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of a row above which a warning is due.
pub const ROW_BYTES_WARN: usize = 8 * 1024 * 1024;
/// Columns of the widest row.
pub const COLUMNS_MAX: usize = 200;

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 2;

/// Encodes the values of a row.
pub fn encode_row<V: Borrow<Value>>(values: &[V]) -> Result<Vec<u8>> {
    let mut row = Vec::new();
    append_row(&mut row, values)?;
    Ok(row)
}

/// Appends an encoded row to bytes that are already there, which stay as they were on an error.
pub fn append_row<V: Borrow<Value>>(row: &mut Vec<u8>, values: &[V]) -> Result<()> {
    let count = u8::try_from(values.len())
        .ok()
        .filter(|_| values.len() <= COLUMNS_MAX)
        .ok_or_else(|| too_many_columns(values.len()))?;
    let mut payload_bytes = 0;
    for (column, value) in values.iter().enumerate() {
        let bytes = cell_bytes(value.borrow());
        if bytes > CELL_BYTES_MAX {
            return Err(Error::CellTooLong {
                column,
                bytes,
                limit: CELL_BYTES_MAX,
            });
        }
        payload_bytes += bytes;
    }
    let width = Width::for_bytes(payload_bytes);
    row.reserve(
        HEADER_BYTES + values.len().div_ceil(8) + values.len() * width.bytes() + payload_bytes,
    );
    row.extend([VERSION << 4 | width.code(), count]);
    for eight in values.chunks(8) {
        let bits = eight.iter().rev().fold(0, |bits, value| {
            bits << 1 | u8::from(value.borrow().is_null())
        });
        row.push(bits);
    }
    let mut end = 0;
    for value in values {
        end += cell_bytes(value.borrow());
        width.append(row, end);
    }
    for value in values {
        append_cell(row, value.borrow());
    }
    Ok(())
}

/// Encodes a row out of the payloads of others, which are not looked into; what is missing is NULL.
pub fn encode_cells(cells: &[Cell<'_>]) -> Result<Vec<u8>> {
    let count = u8::try_from(cells.len())
        .ok()
        .filter(|_| cells.len() <= COLUMNS_MAX)
        .ok_or_else(|| too_many_columns(cells.len()))?;
    let payload_bytes = cells.iter().map(Cell::bytes).map(<[u8]>::len).sum();
    let width = Width::for_bytes(payload_bytes);
    let mut row = vec![VERSION << 4 | width.code(), count];
    for eight in cells.chunks(8) {
        let bits = eight.iter().rev().fold(0, |bits, cell| {
            bits << 1 | u8::from(!matches!(cell, Cell::Bytes(_)))
        });
        row.push(bits);
    }
    let mut end = 0;
    for cell in cells {
        end += cell.bytes().len();
        width.append(&mut row, end);
    }
    for cell in cells {
        row.extend_from_slice(cell.bytes());
    }
    Ok(row)
}

/// What a row has for one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// The row was written when the table had fewer columns.
    Missing,
    /// NULL.
    Null,
    /// The payload of a value.
    Bytes(&'a [u8]),
}

impl<'a> Cell<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Missing | Self::Null => &[],
        }
    }
}

/// An encoded row, read in place.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    columns: usize,
    width: Width,
    nulls: &'a [u8],
    ends: &'a [u8],
    payloads: &'a [u8],
}

impl<'a> RowView<'a> {
    /// Looks at an encoded row, checking its header and its length but not its values.
    #[inline]
    pub fn new(row: &'a [u8]) -> Result<Self> {
        let (&[format, count], rest) = row
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or_else(|| undecodable("it ends in its header"))?;
        if format >> 4 != VERSION {
            return Err(Error::RowVersionUnknown {
                found: format >> 4,
                known: VERSION,
            });
        }
        let width = Width::of_code(format & 0x0f)
            .ok_or_else(|| undecodable("no offsets have this width"))?;
        let columns = usize::from(count);
        if columns > COLUMNS_MAX {
            return Err(too_many_columns(columns));
        }
        let (nulls, rest) = rest
            .split_at_checked(columns.div_ceil(8))
            .ok_or_else(|| undecodable("it ends in its header"))?;
        let (ends, payloads) = rest
            .split_at_checked(columns * width.bytes())
            .ok_or_else(|| undecodable("it ends in its header"))?;
        let view = Self {
            columns,
            width,
            nulls,
            ends,
            payloads,
        };
        let end = columns
            .checked_sub(1)
            .map_or(Some(0), |last| view.end(last));
        if end != Some(payloads.len()) {
            return Err(undecodable("its values are cut off or go on"));
        }
        Ok(view)
    }

    /// Columns the table had when the row was written.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What the row has for column `i`, undecoded.
    #[inline]
    pub fn cell(&self, i: usize) -> Result<Cell<'a>> {
        if i >= self.columns {
            return Ok(Cell::Missing);
        }
        if self
            .nulls
            .get(i / 8)
            .is_some_and(|bits| bits >> (i % 8) & 1 == 1)
        {
            return Ok(Cell::Null);
        }
        let start = i.checked_sub(1).map_or(Some(0), |before| self.end(before));
        let payload = start
            .zip(self.end(i))
            .and_then(|(start, end)| self.payloads.get(start..end));
        payload
            .map(Cell::Bytes)
            .ok_or_else(|| undecodable("its offsets cross"))
    }

    /// The value of column `i`, which has this type; `None` if the row is older than the column.
    pub fn column(&self, i: usize, kind: Type) -> Result<Option<Value>> {
        Ok(match self.cell(i)? {
            Cell::Missing => None,
            Cell::Null => Some(Value::Null),
            Cell::Bytes(bytes) => Some(decode_cell(bytes, kind)?),
        })
    }

    /// Decodes the columns from the first on, in one pass; NULL for those that the row is older than.
    #[inline]
    pub fn decode_into(
        &self,
        kinds: impl Iterator<Item = Type>,
        values: &mut Vec<Value>,
    ) -> Result<()> {
        let mut start = 0;
        for (i, kind) in kinds.enumerate() {
            if i >= self.columns {
                values.push(Value::Null);
                continue;
            }
            let end = self
                .end(i)
                .ok_or_else(|| undecodable("its offsets cross"))?;
            let bits = self.nulls.get(i / 8).copied().unwrap_or_default();
            values.push(match bits >> (i % 8) & 1 {
                1 => Value::Null,
                _ => {
                    let payload = self.payloads.get(start..end);
                    let payload = payload.ok_or_else(|| undecodable("its offsets cross"))?;
                    decode_cell(payload, kind)?
                }
            });
            start = end;
        }
        Ok(())
    }

    /// The payload of column `i`; `None` for NULL and for columns that the row is older than.
    #[inline]
    pub fn raw(&self, i: usize) -> Result<Option<&'a [u8]>> {
        Ok(match self.cell(i)? {
            Cell::Missing | Cell::Null => None,
            Cell::Bytes(bytes) => Some(bytes),
        })
    }

    #[inline]
    fn end(&self, i: usize) -> Option<usize> {
        self.width.end(self.ends, i)
    }
}

#[cold]
fn undecodable(reason: &'static str) -> Error {
    Error::RowUndecodable { reason }
}

#[cold]
fn too_many_columns(columns: usize) -> Error {
    Error::RowColumnsTooMany {
        columns,
        limit: COLUMNS_MAX,
    }
}

/// Decodes the payload of one column of this type.
#[inline]
pub fn decode_cell(bytes: &[u8], kind: Type) -> Result<Value> {
    let failed = |reason| Error::CellUndecodable {
        kind,
        bytes: bytes.len(),
        reason,
    };
    decode_payload(bytes, kind).map_err(failed)
}

#[inline]
fn decode_payload(bytes: &[u8], kind: Type) -> std::result::Result<Value, &'static str> {
    Ok(match kind {
        Type::Bool => match bytes {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return Err("a boolean is 0 or 1"),
        },
        Type::Int8 => Value::Int8(i8::from_le_bytes(fixed(bytes)?)),
        Type::Int16 => Value::Int16(i16::from_le_bytes(fixed(bytes)?)),
        Type::Int32 => Value::Int32(i32::from_le_bytes(fixed(bytes)?)),
        Type::Int64 => Value::Int64(i64::from_le_bytes(fixed(bytes)?)),
        Type::Uint8 => Value::Uint8(u8::from_le_bytes(fixed(bytes)?)),
        Type::Uint16 => Value::Uint16(u16::from_le_bytes(fixed(bytes)?)),
        Type::Uint32 => Value::Uint32(u32::from_le_bytes(fixed(bytes)?)),
        Type::Uint64 => Value::Uint64(u64::from_le_bytes(fixed(bytes)?)),
        Type::Float => Value::Float(f32::from_le_bytes(fixed(bytes)?)),
        Type::Double => Value::Double(f64::from_le_bytes(fixed(bytes)?)),
        Type::Decimal { scale, .. } => {
            let decimal = Decimal::new(i128::from_le_bytes(fixed(bytes)?), scale);
            Value::Decimal(decimal.ok_or("a decimal has at most 38 digits")?)
        }
        Type::Utf8 => Value::Utf8(text(bytes)?),
        Type::String => Value::String(bytes.into()),
        Type::Date => Value::Date(i32::from_le_bytes(fixed(bytes)?)),
        Type::Datetime => Value::Datetime(i64::from_le_bytes(fixed(bytes)?)),
        Type::Timestamp => Value::Timestamp(i64::from_le_bytes(fixed(bytes)?)),
        Type::Interval => Value::Interval(i64::from_le_bytes(fixed(bytes)?)),
        Type::Uuid => Value::Uuid(fixed(bytes)?),
        Type::Json => Value::Json(text(bytes)?),
    })
}

fn fixed<const N: usize>(bytes: &[u8]) -> std::result::Result<[u8; N], &'static str> {
    bytes
        .try_into()
        .map_err(|_| "its length is not that of its type")
}

fn text(bytes: &[u8]) -> std::result::Result<Box<str>, &'static str> {
    std::str::from_utf8(bytes)
        .map(Box::from)
        .map_err(|_| "text is not UTF-8")
}

fn cell_bytes(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) | Value::Int8(_) | Value::Uint8(_) => 1,
        Value::Int16(_) | Value::Uint16(_) => 2,
        Value::Int32(_) | Value::Uint32(_) | Value::Float(_) | Value::Date(_) => 4,
        Value::Int64(_) | Value::Uint64(_) | Value::Double(_) => 8,
        Value::Datetime(_) | Value::Timestamp(_) | Value::Interval(_) => 8,
        Value::Decimal(_) | Value::Uuid(_) => 16,
        Value::Utf8(text) | Value::Json(text) => text.len(),
        Value::String(bytes) => bytes.len(),
    }
}

fn append_cell(row: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => {}
        Value::Bool(v) => row.push(u8::from(*v)),
        Value::Int8(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Int16(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Int32(v) | Value::Date(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Int64(v) | Value::Datetime(v) | Value::Timestamp(v) | Value::Interval(v) => {
            row.extend_from_slice(&v.to_le_bytes());
        }
        Value::Uint8(v) => row.push(*v),
        Value::Uint16(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Uint32(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Uint64(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Float(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Double(v) => row.extend_from_slice(&v.to_le_bytes()),
        Value::Decimal(v) => row.extend_from_slice(&v.unscaled().to_le_bytes()),
        Value::Utf8(v) | Value::Json(v) => row.extend_from_slice(v.as_bytes()),
        Value::String(v) => row.extend_from_slice(v),
        Value::Uuid(v) => row.extend_from_slice(v),
    }
}

/// How many bytes one end takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Width {
    One,
    Two,
    Four,
}

impl Width {
    pub(crate) fn for_bytes(payload_bytes: usize) -> Self {
        if u8::try_from(payload_bytes).is_ok() {
            Self::One
        } else if u16::try_from(payload_bytes).is_ok() {
            Self::Two
        } else {
            Self::Four
        }
    }

    #[inline]
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    #[inline]
    pub(crate) fn bytes(self) -> usize {
        usize::from(self.code())
    }

    pub(crate) fn append(self, row: &mut Vec<u8>, end: usize) {
        let end = u32::try_from(end).expect("rows and items end below 4 GiB");
        let little_endian = end.to_le_bytes();
        row.extend(little_endian.into_iter().take(self.bytes()));
    }

    /// The end at place `i` of a list of ends.
    #[inline]
    pub(crate) fn end(self, ends: &[u8], i: usize) -> Option<usize> {
        let at = i * self.bytes();
        let end = ends.get(at..at + self.bytes())?;
        match *end {
            [a] => Some(usize::from(a)),
            [a, b] => Some(usize::from(u16::from_le_bytes([a, b]))),
            [a, b, c, d] => usize::try_from(u32::from_le_bytes([a, b, c, d])).ok(),
            _ => None,
        }
    }
}
