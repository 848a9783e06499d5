//! Values on PostgreSQL's wire: which of its types ours are, and their text and binary forms.
//!
//! PostgreSQL has no unsigned integers and no integer of one byte; those of ours travel as the next
//! wider type that holds them all:
//!
//! ```text
//!   ours                   PostgreSQL's    oid   bytes   binary form
//!   Bool                   bool             16     1     0 or 1
//!   Int8, Uint8, Int16     int2             21     2     big endian, as all that follow
//!   Int32, Uint16          int4             23     4
//!   Int64, Uint32          int8             20     8
//!   Uint64                 numeric        1700     –     see `numeric`
//!   Decimal(p,s)           numeric(p,s)   1700     –     see `numeric`
//!   Float                  float4          700     4     IEEE 754
//!   Double                 float8          701     8     IEEE 754
//!   Utf8                   text             25     –     UTF-8
//!   String                 bytea            17     –     the bytes
//!   Date                   date           1082     4     days since 2000-01-01
//!   Datetime, Timestamp    timestamptz    1184     8     microseconds since 2000-01-01
//!   Interval               interval       1186    16     microseconds, days, months
//!   Uuid                   uuid           2950    16     in the order of its text
//!   Json                   json            114     –     UTF-8
//! ```
//!
//! What a column was declared as goes before that: `varchar`, `char`, `timestamp` and `jsonb` travel as
//! themselves ([`keys::declared`]).
//!
//! A client may state another type for a parameter than the statement wants: an `int4` for a column
//! of Uint64, a `text` for a Uuid. In binary its bytes are then laid out as the type it stated, and
//! [`decode`] reads them so before it makes of them what is wanted.

mod binary;
mod list;
mod numeric;
mod text;

use bytes::{BufMut, BytesMut};
use keys::{Declared, Type, Value};

use crate::{Error, Result};

pub(crate) const OID_BOOL: u32 = 16;
pub(crate) const OID_BYTEA: u32 = 17;
pub(crate) const OID_NAME: u32 = 19;
pub(crate) const OID_INT8: u32 = 20;
pub(crate) const OID_INT2: u32 = 21;
pub(crate) const OID_INT4: u32 = 23;
pub(crate) const OID_TEXT: u32 = 25;
pub(crate) const OID_JSON: u32 = 114;
pub(crate) const OID_FLOAT4: u32 = 700;
pub(crate) const OID_FLOAT8: u32 = 701;
pub(crate) const OID_UNKNOWN: u32 = 705;
pub(crate) const OID_BPCHAR: u32 = 1042;
pub(crate) const OID_VARCHAR: u32 = 1043;
pub(crate) const OID_DATE: u32 = 1082;
pub(crate) const OID_TIMESTAMP: u32 = 1114;
pub(crate) const OID_TIMESTAMPTZ: u32 = 1184;
pub(crate) const OID_INTERVAL: u32 = 1186;
pub(crate) const OID_NUMERIC: u32 = 1700;
pub(crate) const OID_UUID: u32 = 2950;
pub(crate) const OID_JSONB: u32 = 3802;

const OID_TEXT_LIST: u32 = 1009;
/// PostgreSQL's types of lists, and what they are lists of.
const LISTS: [(u32, u32); 19] = [
    (199, OID_JSON),
    (1000, OID_BOOL),
    (1001, OID_BYTEA),
    (1005, OID_INT2),
    (1007, OID_INT4),
    (OID_TEXT_LIST, OID_TEXT),
    (1014, OID_BPCHAR),
    (1015, OID_VARCHAR),
    (1016, OID_INT8),
    (1021, OID_FLOAT4),
    (1022, OID_FLOAT8),
    (1028, list::OID_OID),
    (1115, OID_TIMESTAMP),
    (1182, OID_DATE),
    (1185, OID_TIMESTAMPTZ),
    (1187, OID_INTERVAL),
    (1231, OID_NUMERIC),
    (2951, OID_UUID),
    (3807, OID_JSONB),
];

/// How a value is written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As people read it.
    Text,
    /// As machines do.
    Binary,
    /// As machines do, for a list of this type, which is at hand as its text.
    BinaryList(Type),
    /// As machines do, a document as `jsonb`.
    BinaryJson,
    /// As people read it, a time as one without a zone.
    TextLocal,
    /// As people read it, and so many characters of it: blanks follow what is shorter.
    TextFilled(u32),
    /// The same where machines read it.
    BinaryFilled(u32),
}

impl Format {
    /// The format that a code of the protocol stands for.
    pub fn from_code(code: i16) -> Result<Self> {
        match code {
            0 => Ok(Self::Text),
            1 => Ok(Self::Binary),
            _ => Err(Error::FormatUnknown(code)),
        }
    }

    /// The protocol's code.
    pub fn code(self) -> i16 {
        match self {
            Self::Text | Self::TextLocal | Self::TextFilled(_) => 0,
            Self::Binary | Self::BinaryList(_) | Self::BinaryJson | Self::BinaryFilled(_) => 1,
        }
    }
}

/// PostgreSQL's number of the type that ours travels as.
pub fn oid(kind: Type) -> u32 {
    match kind {
        Type::Bool => OID_BOOL,
        Type::Int8 | Type::Uint8 | Type::Int16 => OID_INT2,
        Type::Int32 | Type::Uint16 => OID_INT4,
        Type::Int64 | Type::Uint32 => OID_INT8,
        Type::Uint64 | Type::Decimal { .. } => OID_NUMERIC,
        Type::Float => OID_FLOAT4,
        Type::Double => OID_FLOAT8,
        Type::Utf8 => OID_TEXT,
        Type::String => OID_BYTEA,
        Type::Date => OID_DATE,
        Type::Datetime | Type::Timestamp => OID_TIMESTAMPTZ,
        Type::Interval => OID_INTERVAL,
        Type::Uuid => OID_UUID,
        Type::Json => OID_JSON,
    }
}

/// PostgreSQL's number of what is declared so and stored as this type.
pub fn declared_oid(kind: Type, declared: Declared) -> u32 {
    declared.oid().unwrap_or_else(|| oid(kind))
}

/// PostgreSQL's number of the type that a list of ours travels as.
pub fn list_oid(kind: Type) -> u32 {
    let element = list::element_oid(kind);
    let known = LISTS.iter().find(|(_, of)| *of == element);
    known.map_or(OID_TEXT_LIST, |(list, _)| *list)
}

/// The number of the type that a list of this type is a list of.
fn listed_oid(oid: u32) -> Option<u32> {
    let known = LISTS.iter().find(|(list, _)| *list == oid);
    known.map(|(_, of)| *of)
}

/// Bytes of every value of the type in PostgreSQL, or -1 where they differ.
pub fn size(kind: Type) -> i16 {
    match kind {
        Type::Bool => 1,
        Type::Int8 | Type::Uint8 | Type::Int16 => 2,
        Type::Int32 | Type::Uint16 | Type::Float | Type::Date => 4,
        Type::Int64 | Type::Uint32 | Type::Double | Type::Datetime | Type::Timestamp => 8,
        Type::Interval | Type::Uuid => 16,
        Type::Uint64 | Type::Decimal { .. } | Type::Utf8 | Type::String | Type::Json => -1,
    }
}

/// PostgreSQL's modifier of the type: precision and scale of a decimal, the length of characters, and
/// -1 for all others.
pub fn modifier(kind: Type, declared: Declared) -> i32 {
    match kind {
        _ if declared != Declared::Usual => declared.modifier(),
        // Four is the size of a header that PostgreSQL's numbers once had.
        Type::Decimal { precision, scale } => (i32::from(precision) << 16 | i32::from(scale)) + 4,
        _ => -1,
    }
}

/// Which of our types a client means that states this one, if that says anything.
///
/// `numeric` says nothing: it may be a Uint64 or a decimal of any scale.
pub fn stated(oid: u32) -> Option<Type> {
    Some(match oid {
        OID_BOOL => Type::Bool,
        OID_INT2 => Type::Int16,
        OID_INT4 => Type::Int32,
        OID_INT8 => Type::Int64,
        OID_FLOAT4 => Type::Float,
        OID_FLOAT8 => Type::Double,
        OID_TEXT | OID_VARCHAR | OID_BPCHAR | OID_NAME => Type::Utf8,
        OID_BYTEA => Type::String,
        OID_DATE => Type::Date,
        OID_TIMESTAMP | OID_TIMESTAMPTZ => Type::Timestamp,
        OID_INTERVAL => Type::Interval,
        OID_UUID => Type::Uuid,
        OID_JSON | OID_JSONB => Type::Json,
        _ => return None,
    })
}

/// Appends a value in the form its format asks for; NULL has none and appends nothing.
pub fn encode(value: &Value, format: Format, out: &mut BytesMut) -> Result<()> {
    match format {
        Format::Text => text::encode(value, out),
        Format::Binary => binary::encode(value, out),
        Format::BinaryList(kind) => list::encode(value, kind, out),
        Format::BinaryJson => binary::encode_jsonb(value, out),
        Format::TextLocal => text::encode_local(value, out),
        Format::TextFilled(_) | Format::BinaryFilled(_) => match value {
            Value::Utf8(text) => {
                encode_text(text, format, out);
                Ok(())
            }
            other => text::encode(other, out),
        },
    }
}

/// Appends text, or a document, in the form its format asks for.
pub fn encode_text(text: &str, format: Format, out: &mut BytesMut) {
    if format == Format::BinaryJson {
        out.put_u8(binary::JSONB_VERSION);
    }
    out.put_slice(text.as_bytes());
    if let Format::TextFilled(length) | Format::BinaryFilled(length) = format {
        out.put_bytes(b' ', Declared::Char(Some(length)).blanks(text));
    }
}

/// Reads text that is known to be UTF-8 without zero bytes into a value.
pub(crate) fn decode_text(text: &str, wanted: Type) -> Result<Value> {
    text::decode_text(text, wanted)
}

/// The same for a time that has no zone.
pub(crate) fn decode_local(text: &str) -> Result<Value> {
    text::decode_local(text.as_bytes())
}

/// Reads a parameter that the client stated as type `oid` into the type the statement wants.
pub fn decode(bytes: &[u8], format: Format, oid: u32, wanted: Type) -> Result<Value> {
    // A statement takes a list as its text.
    if let (Some(of), Format::Binary, Type::Utf8) = (listed_oid(oid), format, wanted) {
        return list::decode(bytes, oid, of);
    }
    match format {
        Format::Text | Format::TextLocal | Format::TextFilled(_)
            if oid == OID_TIMESTAMP && wanted == Type::Timestamp =>
        {
            text::decode_local(bytes)
        }
        Format::Text | Format::TextLocal | Format::TextFilled(_) => text::decode(bytes, wanted),
        Format::Binary | Format::BinaryList(_) | Format::BinaryJson | Format::BinaryFilled(_) => {
            binary::decode(bytes, oid, wanted)
        }
    }
}
