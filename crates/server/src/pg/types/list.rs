//! The binary form of lists, from their text.
//!
//! ```text
//!   ┌────────────┬────────────┬─────────────┬────────┬───────┬──────────────────────┬───
//!   │ dimensions │ NULLs: 0/1 │ element oid │ length │ first │ length, or -1; bytes │ …
//!   └────────────┴────────────┴─────────────┴────────┴───────┴──────────────────────┴───
//!     4            4            4             4        4       4
//! ```
//!
//! A list without elements has no dimension, and so neither length nor first subscript.

use bytes::{BufMut, BytesMut};
use keys::{Type, Value};

use super::{binary, oid, stated, text};
use crate::{Error, Result};

/// PostgreSQL's type of its own numbers.
pub(super) const OID_OID: u32 = 26;

/// The type that elements of ours travel as in a list.
pub(super) fn element_oid(kind: Type) -> u32 {
    match kind {
        Type::Uint32 => OID_OID,
        other => oid(other),
    }
}

/// Appends the binary form of a list that is at hand as text.
pub(super) fn encode(value: &Value, kind: Type, out: &mut BytesMut) -> Result<()> {
    let Value::Utf8(written) = value else {
        return Ok(());
    };
    let elements = db::list_elements(written).ok_or_else(|| Error::OutOfRange {
        value: written.to_string(),
        kind,
    })?;
    let nulls = elements.iter().any(Option::is_none);
    out.put_i32(i32::from(!elements.is_empty()));
    out.put_i32(i32::from(nulls));
    out.put_u32(element_oid(kind));
    if elements.is_empty() {
        return Ok(());
    }
    out.put_u32(u32::try_from(elements.len()).expect("a list is far below four billion"));
    out.put_i32(1);
    for element in elements {
        let Some(element) = element else {
            out.put_i32(-1);
            continue;
        };
        let mut bytes = BytesMut::new();
        let spelled = match (kind, element.as_str()) {
            (Type::Bool, "t") => "true",
            (Type::Bool, "f") => "false",
            (_, other) => other,
        };
        match text::decode(spelled.as_bytes(), kind)? {
            // As PostgreSQL's own numbers, which are of 32 bits without a sign.
            Value::Uint32(number) => bytes.put_u32(number),
            other => binary::encode(&other, &mut bytes)?,
        }
        out.put_u32(u32::try_from(bytes.len()).expect("a value is far below four gigabytes"));
        out.put_slice(&bytes);
    }
    Ok(())
}

/// Reads the binary form of a list of type `oid`, whose elements are of type `of`, into its text.
pub(super) fn decode(bytes: &[u8], oid: u32, of: u32) -> Result<Value> {
    let wrong = || Error::BinaryValue {
        oid,
        bytes: bytes.len(),
        reason: "a list has one dimension and as many elements as it says",
    };
    let mut rest = bytes;
    let mut number = || {
        let (taken, left) = rest.split_first_chunk::<4>()?;
        rest = left;
        Some(i32::from_be_bytes(*taken))
    };
    let dimensions = number().ok_or_else(wrong)?;
    // Whether there are NULLs, and the type of the elements, which is known.
    number().and_then(|_| number()).ok_or_else(wrong)?;
    let length = match dimensions {
        0 => 0,
        1 => {
            let length = number().ok_or_else(wrong)?;
            number().ok_or_else(wrong)?;
            length
        }
        _ => return Err(wrong()),
    };
    let mut written = Vec::new();
    for _ in 0..length {
        let (taken, left) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
        rest = left;
        let Ok(size) = usize::try_from(i32::from_be_bytes(*taken)) else {
            written.push("NULL".to_owned());
            continue;
        };
        let (element, left) = rest.split_at_checked(size).ok_or_else(wrong)?;
        rest = left;
        written.push(spelled(element, of)?);
    }
    Ok(Value::Utf8(format!("{{{}}}", written.join(",")).into()))
}

/// The text of one element, in quotes.
fn spelled(element: &[u8], of: u32) -> Result<String> {
    let value = match (of, <[u8; 4]>::try_from(element)) {
        (OID_OID, Ok(number)) => Value::Uint32(u32::from_be_bytes(number)),
        _ => binary::decode(element, of, stated(of).unwrap_or(Type::Utf8))?,
    };
    let mut out = BytesMut::new();
    text::encode(&value, &mut out)?;
    let plain = String::from_utf8_lossy(&out);
    let escaped = plain.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("\"{escaped}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back() {
        for (kind, written, read) in [
            (Type::Int32, "{7,NULL}", r#"{"7",NULL}"#),
            (Type::Uint32, "{26}", r#"{"26"}"#),
            (Type::Utf8, r#"{"a b","c\"d"}"#, r#"{"a b","c\"d"}"#),
            (Type::Int64, "{}", "{}"),
        ] {
            let mut out = BytesMut::new();
            encode(&Value::Utf8(written.into()), kind, &mut out).unwrap();
            let back = decode(&out, 1, element_oid(kind)).unwrap();
            assert_eq!(back, Value::Utf8(read.into()));
            for cut in 0..out.len() {
                assert!(decode(&out[..cut], 1, element_oid(kind)).is_err());
            }
        }
    }

    #[test]
    fn numbers_are_laid_out_as_postgresql_does() {
        let mut out = BytesMut::new();
        encode(&Value::Utf8("{7,NULL}".into()), Type::Int32, &mut out).unwrap();
        let expected = [
            0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7,
            255, 255, 255, 255,
        ];
        assert_eq!(out.as_ref(), expected);
    }
}
