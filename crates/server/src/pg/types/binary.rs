//! The binary forms, and making of what a client stated what a statement wants.

use bytes::{BufMut, BytesMut};
use keys::{Type, Value};

use super::{
    OID_BOOL, OID_BPCHAR, OID_BYTEA, OID_DATE, OID_FLOAT4, OID_FLOAT8, OID_INT2, OID_INT4,
    OID_INT8, OID_INTERVAL, OID_JSON, OID_JSONB, OID_NAME, OID_NUMERIC, OID_TEXT, OID_TIMESTAMP,
    OID_TIMESTAMPTZ, OID_UNKNOWN, OID_UUID, OID_VARCHAR, numeric, text,
};
use crate::{Error, Result};

/// Days from 1970-01-01, where we begin to count, to 2000-01-01, where PostgreSQL does.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = 946_684_800_000_000;
const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400_000_000;
/// The first byte of `jsonb`; there is no other version.
pub(super) const JSONB_VERSION: u8 = 1;

/// Appends the binary form of a value; NULL has none.
pub(super) fn encode(value: &Value, out: &mut BytesMut) -> Result<()> {
    let out_of_range = || Error::OutOfRange {
        value: value.to_string(),
        kind: value.value_type().unwrap_or(Type::Timestamp),
    };
    match value {
        Value::Null => {}
        Value::Bool(v) => out.put_u8(u8::from(*v)),
        Value::Int8(v) => out.put_i16(i16::from(*v)),
        Value::Uint8(v) => out.put_i16(i16::from(*v)),
        Value::Int16(v) => out.put_i16(*v),
        Value::Uint16(v) => out.put_i32(i32::from(*v)),
        Value::Int32(v) => out.put_i32(*v),
        Value::Uint32(v) => out.put_i64(i64::from(*v)),
        Value::Int64(v) => out.put_i64(*v),
        Value::Uint64(v) => numeric::encode(false, u128::from(*v), 0, out),
        Value::Decimal(v) => numeric::encode_decimal(*v, out),
        Value::Float(v) => out.put_f32(*v),
        Value::Double(v) => out.put_f64(*v),
        Value::Utf8(v) | Value::Json(v) => out.put_slice(v.as_bytes()),
        Value::String(v) => out.put_slice(v),
        Value::Uuid(v) => out.put_slice(v),
        Value::Date(v) => out.put_i32(v.checked_sub(EPOCH_DAYS).ok_or_else(out_of_range)?),
        Value::Datetime(v) => {
            let micros = v.checked_mul(MICROS_PER_SECOND).ok_or_else(out_of_range)?;
            out.put_i64(micros.checked_sub(EPOCH_MICROS).ok_or_else(out_of_range)?);
        }
        Value::Timestamp(v) => {
            out.put_i64(v.checked_sub(EPOCH_MICROS).ok_or_else(out_of_range)?);
        }
        Value::Interval(v) => {
            let days = i32::try_from(v / MICROS_PER_DAY)
                .expect("64 bits of microseconds are days of 32 bits");
            out.put_i64(v % MICROS_PER_DAY);
            out.put_i32(days);
            out.put_i32(0);
        }
    }
    Ok(())
}

/// Appends the binary form of a document that is declared as `jsonb`.
pub(super) fn encode_jsonb(value: &Value, out: &mut BytesMut) -> Result<()> {
    if !value.is_null() {
        out.put_u8(JSONB_VERSION);
    }
    encode(value, out)
}

/// Reads bytes laid out as PostgreSQL's type `oid` into a value of the wanted type.
pub(super) fn decode(bytes: &[u8], oid: u32, wanted: Type) -> Result<Value> {
    let value = match oid {
        OID_NUMERIC => return numeric::decode(bytes, wanted),
        OID_BOOL => match fixed::<1>(bytes, oid)? {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return Err(invalid(bytes, oid, "a truth is 0 or 1")),
        },
        OID_INT2 => Value::Int16(i16::from_be_bytes(fixed(bytes, oid)?)),
        OID_INT4 => Value::Int32(i32::from_be_bytes(fixed(bytes, oid)?)),
        OID_INT8 => Value::Int64(i64::from_be_bytes(fixed(bytes, oid)?)),
        OID_FLOAT4 => Value::Float(f32::from_be_bytes(fixed(bytes, oid)?)),
        OID_FLOAT8 => Value::Double(f64::from_be_bytes(fixed(bytes, oid)?)),
        OID_BYTEA => Value::String(bytes.into()),
        OID_TEXT | OID_VARCHAR | OID_BPCHAR | OID_NAME | OID_UNKNOWN => {
            return text::decode(bytes, wanted);
        }
        OID_JSON => return text::decode(bytes, wanted),
        OID_JSONB => match bytes.split_first() {
            Some((&JSONB_VERSION, document)) => return text::decode(document, wanted),
            _ => return Err(invalid(bytes, oid, "it does not begin with version 1")),
        },
        OID_DATE => decode_date(bytes, oid)?,
        OID_TIMESTAMP | OID_TIMESTAMPTZ => decode_timestamp(bytes, oid)?,
        OID_INTERVAL => decode_interval(bytes, oid)?,
        OID_UUID => Value::Uuid(fixed(bytes, oid)?),
        _ => {
            return Err(invalid(
                bytes,
                oid,
                "this type is not known: send it as text",
            ));
        }
    };
    fit(value, wanted)
}

/// The value as one of the wanted type, where that means the same.
pub(super) fn fit(value: Value, wanted: Type) -> Result<Value> {
    if value.type_matches(wanted) {
        return Ok(value);
    }
    let whole: Option<i128> = match &value {
        Value::Int16(v) => Some((*v).into()),
        Value::Int32(v) => Some((*v).into()),
        Value::Int64(v) => Some((*v).into()),
        Value::Decimal(v) if v.scale() == 0 => Some(v.unscaled()),
        _ => None,
    };
    match (whole, &value) {
        (Some(whole), _) if wanted.is_integer() => integer(whole, wanted),
        // Both count the same instants, and the text of one is no text of the other.
        (_, Value::Timestamp(micros)) if wanted == Type::Datetime => {
            Ok(Value::Datetime(micros.div_euclid(MICROS_PER_SECOND)))
        }
        _ => Value::parse(wanted, &value.to_string()).map_err(Error::TextValue),
    }
}

fn integer(whole: i128, wanted: Type) -> Result<Value> {
    let fitted = match wanted {
        Type::Int8 => i8::try_from(whole).map(Value::Int8),
        Type::Int16 => i16::try_from(whole).map(Value::Int16),
        Type::Int32 => i32::try_from(whole).map(Value::Int32),
        Type::Int64 => i64::try_from(whole).map(Value::Int64),
        Type::Uint8 => u8::try_from(whole).map(Value::Uint8),
        Type::Uint16 => u16::try_from(whole).map(Value::Uint16),
        Type::Uint32 => u32::try_from(whole).map(Value::Uint32),
        _ => u64::try_from(whole).map(Value::Uint64),
    };
    fitted.map_err(|_| Error::OutOfRange {
        value: whole.to_string(),
        kind: wanted,
    })
}

fn decode_date(bytes: &[u8], oid: u32) -> Result<Value> {
    let days = i32::from_be_bytes(fixed(bytes, oid)?);
    if matches!(days, i32::MIN | i32::MAX) {
        return Err(invalid(bytes, oid, "infinity is no date here"));
    }
    let days = days.checked_add(EPOCH_DAYS);
    Ok(Value::Date(
        days.ok_or_else(|| invalid(bytes, oid, "out of range"))?,
    ))
}

fn decode_timestamp(bytes: &[u8], oid: u32) -> Result<Value> {
    let micros = i64::from_be_bytes(fixed(bytes, oid)?);
    if matches!(micros, i64::MIN | i64::MAX) {
        return Err(invalid(bytes, oid, "infinity is no time here"));
    }
    let micros = micros.checked_add(EPOCH_MICROS);
    Ok(Value::Timestamp(
        micros.ok_or_else(|| invalid(bytes, oid, "out of range"))?,
    ))
}

fn decode_interval(bytes: &[u8], oid: u32) -> Result<Value> {
    let all: [u8; 16] = fixed(bytes, oid)?;
    let all = u128::from_be_bytes(all);
    let part = |shift: u32| i32::from_be_bytes(low_bytes(all >> shift));
    let (days, months) = (part(32), part(0));
    if months != 0 {
        return Err(invalid(
            bytes,
            oid,
            "an interval has no months or years here",
        ));
    }
    let micros = i64::from_be_bytes(low_bytes(all >> 64));
    let total = i64::from(days)
        .checked_mul(MICROS_PER_DAY)
        .and_then(|days| days.checked_add(micros));
    Ok(Value::Interval(
        total.ok_or_else(|| invalid(bytes, oid, "out of range"))?,
    ))
}

/// The last bytes of a number.
fn low_bytes<const N: usize>(number: u128) -> [u8; N] {
    let bytes = number.to_be_bytes();
    let (_, low) = bytes
        .split_last_chunk()
        .expect("no part is wider than the whole");
    *low
}

/// Exactly so many bytes.
fn fixed<const N: usize>(bytes: &[u8], oid: u32) -> Result<[u8; N]> {
    bytes
        .try_into()
        .map_err(|_| invalid(bytes, oid, "values of this type have another length"))
}

fn invalid(bytes: &[u8], oid: u32, reason: &'static str) -> Error {
    Error::BinaryValue {
        oid,
        bytes: bytes.len(),
        reason,
    }
}
