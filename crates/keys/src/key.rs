//! Keys as bytes that sort as their values do.
//!
//! An encoded key is its columns one after the other, each a tag byte and a payload. Comparing two
//! encoded keys byte by byte gives the order of [`Value::key_cmp`], column after column, and a key
//! that is a prefix of another comes first.
//!
//! ```text
//!   ┌──────┬───────────────┬──────┬───────────────┬─ ─ ─
//!   │ tag  │ payload       │ tag  │ payload       │
//!   │ 1 B  │ by its type   │ 1 B  │ by its type   │
//!   └──────┴───────────────┴──────┴───────────────┴─ ─ ─
//!    ╰───── column 0 ─────╯ ╰───── column 1 ─────╯
//!
//!   tag  type       payload                       tag  type       payload
//!   10   NULL       none                          50   Decimal    scale 1 B, then 16 B, sign flipped
//!   20   Bool       00 or 01                      60   Utf8       escaped bytes, 00 01
//!   31   Int8       1 B, sign flipped             61   String     escaped bytes, 00 01
//!   32   Int16      2 B, sign flipped             70   Date       4 B, sign flipped
//!   34   Int32      4 B, sign flipped             71   Datetime   8 B, sign flipped
//!   38   Int64      8 B, sign flipped             72   Timestamp  8 B, sign flipped
//!   41   Uint8      1 B                           73   Interval   8 B, sign flipped
//!   42   Uint16     2 B                           78   Uuid       16 B, in the order of its text
//!   44   Uint32     4 B
//!   48   Uint64     8 B                           Float, Double and Json are refused.
//! ```
//!
//! Why each choice holds the order:
//!
//! - Numbers are big-endian, so that the first byte that differs decides. Flipping the sign bit
//!   puts negative numbers below zero.
//! - A string ends with `00 01`, and a zero byte inside it is written `00 ff`. The end of a string
//!   is thus below every continuation: `"a"` = `61 00 01` < `"a\0"` = `61 00 ff 00 01` < `"ab"`.
//! - All values of a column share a tag, except NULL, whose tag is the lowest: NULLs come first.
//! - Every tag is below `ff`, so `ff` after whole columns is above every key that begins with them
//!   and below every key that does not and is greater. [`prefix_upper_bound`] is that byte. `00` is
//!   no tag either: a key followed by `00` is the first byte string above it and no other key.
//!
//! The tags make a key decodable and printable without its schema. They cost one byte a column,
//! which the engine's prefix compression mostly takes back. Encoding is also canonical: one list of
//! values has one encoding, and bytes that decode encode to themselves again. Changing any of this
//! changes files on disk; `golden/keys.txt` holds the bytes.

mod column;

pub use column::{KeyColumn, KeyColumns, columns};

use std::borrow::Borrow;

use crate::error::{Error, Result};
use crate::types::Type;
use crate::value::{Value, float_class_bits};

/// Bytes of the longest key.
pub const KEY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a key column above which a warning is due: long keys make every page hold fewer rows.
pub const KEY_COLUMN_BYTES_WARN: usize = 2048;
/// Columns of the widest key.
pub const KEY_COLUMNS_MAX: usize = 20;

const TAG_NULL: u8 = 0x10;
const TAG_BOOL: u8 = 0x20;
const TAG_INT8: u8 = 0x31;
const TAG_INT16: u8 = 0x32;
const TAG_INT32: u8 = 0x34;
const TAG_INT64: u8 = 0x38;
const TAG_UINT8: u8 = 0x41;
const TAG_UINT16: u8 = 0x42;
const TAG_UINT32: u8 = 0x44;
const TAG_UINT64: u8 = 0x48;
const TAG_DECIMAL: u8 = 0x50;
const TAG_UTF8: u8 = 0x60;
const TAG_STRING: u8 = 0x61;
const TAG_DATE: u8 = 0x70;
const TAG_DATETIME: u8 = 0x71;
const TAG_TIMESTAMP: u8 = 0x72;
const TAG_INTERVAL: u8 = 0x73;
const TAG_UUID: u8 = 0x78;

// Never in a key: they only keep hashes of different types apart.
const TAG_FLOAT: u8 = 0x80;
const TAG_DOUBLE: u8 = 0x81;
const TAG_JSON: u8 = 0x82;

/// Above every tag: no column begins with it.
pub(crate) const ABOVE_EVERY_TAG: u8 = 0xff;

const ZERO: u8 = 0x00;
const ZERO_THEN_END: u8 = 0x01;
const ZERO_THEN_ZERO: u8 = 0xff;

/// Encodes the values of a key, or of the first columns of one.
pub fn encode_key<V: Borrow<Value>>(values: &[V]) -> Result<Vec<u8>> {
    if values.len() > KEY_COLUMNS_MAX {
        return Err(Error::KeyColumnsTooMany {
            columns: values.len(),
            limit: KEY_COLUMNS_MAX,
        });
    }
    let mut bytes = 0;
    for value in values {
        bytes += encoded_bytes(value.borrow())?;
    }
    check_key_bytes(bytes)?;
    let mut key = Vec::with_capacity(bytes);
    for value in values {
        append_encoded(&mut key, value.borrow())?;
    }
    Ok(key)
}

/// Appends one column to an encoded key, which stays as it was if the result would be too long.
pub fn append_key_value(key: &mut Vec<u8>, value: &Value) -> Result<()> {
    let bytes = encoded_bytes(value)?;
    check_key_bytes(key.len() + bytes)?;
    key.reserve(bytes);
    append_encoded(key, value)
}

/// The bytes that a value takes in a key; an error for a type that keys refuse.
pub fn encoded_bytes(value: &Value) -> Result<usize> {
    Ok(match value {
        Value::Null => 1,
        Value::Bool(_) | Value::Int8(_) | Value::Uint8(_) => 2,
        Value::Int16(_) | Value::Uint16(_) => 3,
        Value::Int32(_) | Value::Uint32(_) | Value::Date(_) => 5,
        Value::Int64(_) | Value::Uint64(_) => 9,
        Value::Datetime(_) | Value::Timestamp(_) | Value::Interval(_) => 9,
        Value::Uuid(_) => 17,
        Value::Decimal(_) => 18,
        Value::Utf8(text) => escaped_bytes(text.as_bytes()),
        Value::String(bytes) => escaped_bytes(bytes),
        Value::Float(_) => return Err(Error::KeyTypeRefused { kind: Type::Float }),
        Value::Double(_) => return Err(Error::KeyTypeRefused { kind: Type::Double }),
        Value::Json(_) => return Err(Error::KeyTypeRefused { kind: Type::Json }),
    })
}

fn check_key_bytes(bytes: usize) -> Result<()> {
    if bytes > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong {
            bytes,
            limit: KEY_BYTES_MAX,
        });
    }
    Ok(())
}

fn escaped_bytes(bytes: &[u8]) -> usize {
    bytes.len() + bytes.iter().filter(|byte| **byte == ZERO).count() + 3
}

fn append_encoded(key: &mut Vec<u8>, value: &Value) -> Result<()> {
    match value {
        Value::Null => key.push(TAG_NULL),
        Value::Bool(v) => key.extend([TAG_BOOL, u8::from(*v)]),
        Value::Int8(v) => append_fixed(key, TAG_INT8, flip_i8(*v).to_be_bytes()),
        Value::Int16(v) => append_fixed(key, TAG_INT16, flip_i16(*v).to_be_bytes()),
        Value::Int32(v) => append_fixed(key, TAG_INT32, flip_i32(*v).to_be_bytes()),
        Value::Int64(v) => append_fixed(key, TAG_INT64, flip_i64(*v).to_be_bytes()),
        Value::Uint8(v) => append_fixed(key, TAG_UINT8, v.to_be_bytes()),
        Value::Uint16(v) => append_fixed(key, TAG_UINT16, v.to_be_bytes()),
        Value::Uint32(v) => append_fixed(key, TAG_UINT32, v.to_be_bytes()),
        Value::Uint64(v) => append_fixed(key, TAG_UINT64, v.to_be_bytes()),
        Value::Decimal(v) => {
            key.extend([TAG_DECIMAL, v.scale()]);
            key.extend_from_slice(&flip_i128(v.unscaled()).to_be_bytes());
        }
        Value::Utf8(v) => append_escaped(key, TAG_UTF8, v.as_bytes()),
        Value::String(v) => append_escaped(key, TAG_STRING, v),
        Value::Date(v) => append_fixed(key, TAG_DATE, flip_i32(*v).to_be_bytes()),
        Value::Datetime(v) => append_fixed(key, TAG_DATETIME, flip_i64(*v).to_be_bytes()),
        Value::Timestamp(v) => append_fixed(key, TAG_TIMESTAMP, flip_i64(*v).to_be_bytes()),
        Value::Interval(v) => append_fixed(key, TAG_INTERVAL, flip_i64(*v).to_be_bytes()),
        Value::Uuid(v) => append_fixed(key, TAG_UUID, *v),
        Value::Float(_) => return Err(Error::KeyTypeRefused { kind: Type::Float }),
        Value::Double(_) => return Err(Error::KeyTypeRefused { kind: Type::Double }),
        Value::Json(_) => return Err(Error::KeyTypeRefused { kind: Type::Json }),
    }
    Ok(())
}

/// Appends any value, even one that keys refuse, so that equal values append equal bytes.
pub(crate) fn append_hashable(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Float(v) => {
            append_fixed(
                bytes,
                TAG_FLOAT,
                float_class_bits(f64::from(*v)).to_be_bytes(),
            );
        }
        Value::Double(v) => append_fixed(bytes, TAG_DOUBLE, float_class_bits(*v).to_be_bytes()),
        Value::Json(v) => append_escaped(bytes, TAG_JSON, v.as_bytes()),
        other => append_encoded(bytes, other).expect("the refused types are above"),
    }
}

fn append_fixed<const N: usize>(key: &mut Vec<u8>, tag: u8, payload: [u8; N]) {
    key.push(tag);
    key.extend_from_slice(&payload);
}

fn append_escaped(key: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    key.push(tag);
    let mut runs = bytes.split(|byte| *byte == ZERO);
    // A split has at least one run, the one before the first zero.
    key.extend_from_slice(runs.next().unwrap_or_default());
    for run in runs {
        key.extend([ZERO, ZERO_THEN_ZERO]);
        key.extend_from_slice(run);
    }
    key.extend([ZERO, ZERO_THEN_END]);
}

fn flip_i8(value: i8) -> i8 {
    value ^ i8::MIN
}

fn flip_i16(value: i16) -> i16 {
    value ^ i16::MIN
}

fn flip_i32(value: i32) -> i32 {
    value ^ i32::MIN
}

fn flip_i64(value: i64) -> i64 {
    value ^ i64::MIN
}

fn flip_i128(value: i128) -> i128 {
    value ^ i128::MIN
}

/// Decodes every column of a key.
pub fn decode_key(key: &[u8]) -> Result<Vec<Value>> {
    let (values, end) = decode_key_prefix(key, KEY_COLUMNS_MAX)?;
    if end < key.len() {
        return Err(Error::KeyColumnsTooMany {
            columns: columns(key).count(),
            limit: KEY_COLUMNS_MAX,
        });
    }
    Ok(values)
}

/// Decodes at most this many columns from the front; the second part is the byte they end at.
pub fn decode_key_prefix(key: &[u8], columns_max: usize) -> Result<(Vec<Value>, usize)> {
    let mut values = Vec::new();
    let mut end = 0;
    for column in columns(key).take(columns_max) {
        let column = column?;
        values.push(column.decode()?);
        end = column.end;
    }
    Ok((values, end))
}

/// The first byte string above every key that begins with these whole columns.
pub fn prefix_upper_bound(prefix: &[u8]) -> Vec<u8> {
    let mut bound = Vec::with_capacity(prefix.len() + 1);
    bound.extend_from_slice(prefix);
    bound.push(ABOVE_EVERY_TAG);
    bound
}

/// The shortest run of whole columns of `b` that is above `a`, or `None` unless `a < b`.
///
/// It is at most `b`, so cutting there sends `a` left and `b` right. Bytes that are no key are not
/// shortened: the answer is then `b` itself.
pub fn separator(a: &[u8], b: &[u8]) -> Option<Vec<u8>> {
    if a >= b {
        return None;
    }
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    // A prefix of `b` is above `a` exactly when it reaches the byte where they part.
    let end = columns(b)
        .map_while(|column| column.ok().map(|column| column.end))
        .find(|end| *end > common)
        .unwrap_or(b.len());
    b.get(..end).map(<[u8]>::to_vec)
}
