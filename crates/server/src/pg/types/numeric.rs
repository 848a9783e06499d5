//! PostgreSQL's `numeric` in binary: digits to the base ten thousand.
//!
//! ```text
//!   ┌─────────┬────────┬──────────────┬───────┬─────────┬─────────┬───
//!   │ count   │ weight │ sign         │ scale │ digit 0 │ digit 1 │ …    two bytes each
//!   └─────────┴────────┴──────────────┴───────┴─────────┴─────────┴───
//!   value = ± Σ digit(i) × 10,000^(weight - i);  0x0000 is +, 0x4000 is -, 0xC000 is NaN
//!
//!   12345.6   2 digits after the point make one group:  1 │ 2345 │ 6000
//!             count 3, weight 1, scale 1
//! ```
//!
//! Zeros at either end are left out. Reading goes through a decimal text with an exponent, because
//! what is wanted may be a decimal of another scale, an integer or a float.

use bytes::{Buf, BufMut, BytesMut};
use keys::{Decimal, Type, Value};

use super::OID_NUMERIC;
use crate::{Error, Result};

const BASE: u128 = 10_000;
const BASE_DIGITS: u8 = 4;
const SIGN_POSITIVE: u16 = 0x0000;
const SIGN_NEGATIVE: u16 = 0x4000;
const SIGN_NAN: u16 = 0xC000;
const SIGN_INFINITY: u16 = 0xD000;
const SIGN_MINUS_INFINITY: u16 = 0xF000;
/// What holds for numbers of at most 39 digits.
const FEW_GROUPS: &str = "a number of 128 bits has at most eleven groups";

/// Appends `±magnitude × 10^-scale`.
pub(super) fn encode(negative: bool, magnitude: u128, scale: u8, out: &mut BytesMut) {
    let mut groups = Vec::with_capacity(11);
    let mut rest = magnitude;
    // The last group after the point is filled up with zeros.
    let odd = scale % BASE_DIGITS;
    if odd > 0 {
        let filling = 10_u128.pow(u32::from(BASE_DIGITS - odd));
        let kept = 10_u128.pow(u32::from(odd));
        groups.push(rest % kept * filling);
        rest /= kept;
    }
    while rest > 0 {
        groups.push(rest % BASE);
        rest /= BASE;
    }
    let behind_point = i16::from(scale.div_ceil(BASE_DIGITS));
    let weight = i16::try_from(groups.len()).expect(FEW_GROUPS) - behind_point - 1;
    groups.reverse();
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let leading = groups.iter().take_while(|group| **group == 0).count();
    let groups = groups.get(leading..).unwrap_or_default();
    let leading = i16::try_from(leading).expect(FEW_GROUPS);

    out.put_i16(i16::try_from(groups.len()).expect(FEW_GROUPS));
    out.put_i16(if groups.is_empty() {
        0
    } else {
        weight - leading
    });
    out.put_u16(if negative && magnitude > 0 {
        SIGN_NEGATIVE
    } else {
        SIGN_POSITIVE
    });
    out.put_i16(i16::from(scale));
    for group in groups {
        out.put_i16(i16::try_from(*group).expect("a group is below ten thousand"));
    }
}

/// Reads a number as what is wanted.
pub(super) fn decode(mut bytes: &[u8], wanted: Type) -> Result<Value> {
    let given = bytes.len();
    let invalid = |reason| Error::BinaryValue {
        oid: OID_NUMERIC,
        bytes: given,
        reason,
    };
    if bytes.remaining() < 8 {
        return Err(invalid("a number begins with eight bytes"));
    }
    let count = bytes.get_u16();
    let weight = bytes.get_i16();
    let sign = bytes.get_u16();
    let scale = bytes.get_u16();
    if bytes.remaining() != usize::from(count) * 2 {
        return Err(invalid("its length is not that of its digits"));
    }
    let mut text = String::with_capacity(usize::from(count) * 4 + 8);
    match sign {
        SIGN_POSITIVE => {}
        SIGN_NEGATIVE => text.push('-'),
        SIGN_NAN => return special("NaN", wanted),
        SIGN_INFINITY => return special("Infinity", wanted),
        SIGN_MINUS_INFINITY => return special("-Infinity", wanted),
        _ => return Err(invalid("its sign is none")),
    }
    if count == 0 {
        text.push('0');
    }
    while bytes.has_remaining() {
        let group = bytes.get_u16();
        if u128::from(group) >= BASE {
            return Err(invalid("a digit is ten thousand or more"));
        }
        // The first digit of a number needs no zeros before it.
        let width = if text.ends_with(|c: char| c.is_ascii_digit()) {
            4
        } else {
            1
        };
        text.push_str(&format!("{group:0width$}"));
    }
    let exponent = (i32::from(weight) + 1 - i32::from(count)) * i32::from(BASE_DIGITS);
    text.push_str(&format!("e{exponent}"));
    make(&text, scale, wanted)
}

/// What is wanted, from digits with an exponent.
fn make(text: &str, scale: u16, wanted: Type) -> Result<Value> {
    let out_of_range = |_| Error::OutOfRange {
        value: text.to_owned(),
        kind: wanted,
    };
    let decimal = |scale| {
        let all = Type::Decimal {
            precision: 38,
            scale,
        };
        Value::parse(all, text).map_err(out_of_range)
    };
    match wanted {
        Type::Decimal { .. } => Value::parse(wanted, text).map_err(out_of_range),
        Type::Float | Type::Double => Value::parse(wanted, text).map_err(Error::TextValue),
        _ if wanted.is_integer() => super::binary::fit(decimal(0)?, wanted),
        _ => {
            let shown = decimal(u8::try_from(scale).unwrap_or(u8::MAX).min(38))?;
            super::binary::fit(shown, wanted)
        }
    }
}

/// A number that only floats have.
fn special(text: &str, wanted: Type) -> Result<Value> {
    match wanted {
        Type::Float | Type::Double | Type::Utf8 => {
            Value::parse(wanted, text).map_err(Error::TextValue)
        }
        _ => Err(Error::OutOfRange {
            value: text.to_owned(),
            kind: wanted,
        }),
    }
}

/// Appends a decimal.
pub(super) fn encode_decimal(decimal: Decimal, out: &mut BytesMut) {
    let unscaled = decimal.unscaled();
    encode(unscaled < 0, unscaled.unsigned_abs(), decimal.scale(), out);
}
