//! The columns of an encoded key, found and decoded one at a time.

use super::{
    TAG_BOOL, TAG_DATE, TAG_DATETIME, TAG_DECIMAL, TAG_INT8, TAG_INT16, TAG_INT32, TAG_INT64,
    TAG_INTERVAL, TAG_NULL, TAG_STRING, TAG_TIMESTAMP, TAG_UINT8, TAG_UINT16, TAG_UINT32,
    TAG_UINT64, TAG_UTF8, TAG_UUID, ZERO, ZERO_THEN_END, ZERO_THEN_ZERO, flip_i8, flip_i16,
    flip_i32, flip_i64, flip_i128,
};
use crate::error::{Error, Result};
use crate::value::{Decimal, Value};

/// Where one column of a key begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct KeyColumn<'a> {
    tag: u8,
    payload: &'a [u8],
    /// The byte of the key at which the column begins.
    pub start: usize,
    /// The byte of the key at which the next column begins.
    pub end: usize,
}

/// The columns of a key from front to back; after an error there are no more.
#[derive(Clone, Debug)]
pub struct KeyColumns<'a> {
    key: &'a [u8],
    start: usize,
}

/// Walks the columns of a key without decoding them; it stops after the first error.
#[inline]
pub fn columns(key: &[u8]) -> KeyColumns<'_> {
    KeyColumns { key, start: 0 }
}

impl<'a> Iterator for KeyColumns<'a> {
    type Item = Result<KeyColumn<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let start = self.start;
        let (tag, rest) = self.key.get(start..)?.split_first()?;
        let Some(payload) = payload_bytes(*tag, rest).and_then(|bytes| rest.get(..bytes)) else {
            self.start = self.key.len();
            let reason = if is_tag(*tag) {
                "it ends in the middle"
            } else {
                "no type has this tag"
            };
            return Some(Err(Error::KeyUndecodable {
                offset: start,
                reason,
            }));
        };
        self.start = start + 1 + payload.len();
        Some(Ok(KeyColumn {
            tag: *tag,
            payload,
            start,
            end: self.start,
        }))
    }
}

impl KeyColumn<'_> {
    /// The value of the column.
    #[inline]
    pub fn decode(&self) -> Result<Value> {
        self.decode_payload()
            .map_err(|reason| Error::KeyUndecodable {
                offset: self.start,
                reason,
            })
    }

    #[inline]
    fn decode_payload(&self) -> std::result::Result<Value, &'static str> {
        Ok(match self.tag {
            TAG_NULL => Value::Null,
            TAG_BOOL => match self.payload {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return Err("a boolean is 0 or 1"),
            },
            TAG_INT8 => Value::Int8(flip_i8(i8::from_be_bytes(self.fixed()?))),
            TAG_INT16 => Value::Int16(flip_i16(i16::from_be_bytes(self.fixed()?))),
            TAG_INT32 => Value::Int32(flip_i32(i32::from_be_bytes(self.fixed()?))),
            TAG_INT64 => Value::Int64(flip_i64(i64::from_be_bytes(self.fixed()?))),
            TAG_UINT8 => Value::Uint8(u8::from_be_bytes(self.fixed()?)),
            TAG_UINT16 => Value::Uint16(u16::from_be_bytes(self.fixed()?)),
            TAG_UINT32 => Value::Uint32(u32::from_be_bytes(self.fixed()?)),
            TAG_UINT64 => Value::Uint64(u64::from_be_bytes(self.fixed()?)),
            TAG_DECIMAL => Value::Decimal(self.decimal()?),
            TAG_UTF8 => {
                let text = String::from_utf8(self.unescaped()?).map_err(|_| "text is not UTF-8")?;
                Value::Utf8(text.into_boxed_str())
            }
            TAG_STRING => Value::String(self.unescaped()?.into_boxed_slice()),
            TAG_DATE => Value::Date(flip_i32(i32::from_be_bytes(self.fixed()?))),
            TAG_DATETIME => Value::Datetime(flip_i64(i64::from_be_bytes(self.fixed()?))),
            TAG_TIMESTAMP => Value::Timestamp(flip_i64(i64::from_be_bytes(self.fixed()?))),
            TAG_INTERVAL => Value::Interval(flip_i64(i64::from_be_bytes(self.fixed()?))),
            TAG_UUID => Value::Uuid(self.fixed()?),
            _ => return Err("no type has this tag"),
        })
    }

    #[inline]
    fn fixed<const N: usize>(&self) -> std::result::Result<[u8; N], &'static str> {
        self.payload.try_into().map_err(|_| "it ends in the middle")
    }

    fn decimal(&self) -> std::result::Result<Decimal, &'static str> {
        let (scale, unscaled) = self.payload.split_first().ok_or("it ends in the middle")?;
        let unscaled = unscaled.try_into().map_err(|_| "it ends in the middle")?;
        Decimal::new(flip_i128(i128::from_be_bytes(unscaled)), *scale)
            .ok_or("a decimal has at most 38 digits")
    }

    /// The bytes of a string, exactly as many as it has.
    fn unescaped(&self) -> std::result::Result<Vec<u8>, &'static str> {
        let body = self
            .payload
            .strip_suffix(&[ZERO, ZERO_THEN_END])
            .unwrap_or_default();
        let zeros = body.iter().filter(|byte| **byte == ZERO).count();
        let mut bytes = Vec::with_capacity(body.len() - zeros);
        let mut runs = body.split(|byte| *byte == ZERO);
        bytes.extend_from_slice(runs.next().unwrap_or_default());
        for run in runs {
            let rest = run
                .strip_prefix(&[ZERO_THEN_ZERO])
                .ok_or("a zero byte is not escaped")?;
            bytes.push(ZERO);
            bytes.extend_from_slice(rest);
        }
        Ok(bytes)
    }
}

/// The length of the payload after this tag, or `None` if the tag or what follows is no column.
#[inline]
fn payload_bytes(tag: u8, rest: &[u8]) -> Option<usize> {
    Some(match tag {
        TAG_NULL => 0,
        TAG_BOOL | TAG_INT8 | TAG_UINT8 => 1,
        TAG_INT16 | TAG_UINT16 => 2,
        TAG_INT32 | TAG_UINT32 | TAG_DATE => 4,
        TAG_INT64 | TAG_UINT64 | TAG_DATETIME | TAG_TIMESTAMP | TAG_INTERVAL => 8,
        TAG_UUID => 16,
        TAG_DECIMAL => 17,
        TAG_UTF8 | TAG_STRING => return escaped_payload_bytes(rest),
        _ => return None,
    })
}

/// The length of an escaped string with its end mark.
fn escaped_payload_bytes(rest: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let zero = from + rest.get(from..)?.iter().position(|byte| *byte == ZERO)?;
        from = zero + 2;
        match *rest.get(zero + 1)? {
            ZERO_THEN_END => return Some(from),
            ZERO_THEN_ZERO => {}
            _ => return None,
        }
    }
}

fn is_tag(tag: u8) -> bool {
    matches!(tag, TAG_UTF8 | TAG_STRING) || payload_bytes(tag, &[]).is_some()
}
