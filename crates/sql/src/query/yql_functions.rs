//! Functions of YQL and PostgreSQL that DataFusion has no twin for, over values.
//!
//! All but `Unwrap` answer NULL to NULL. Places in text are counted from zero, and in bytes, except
//! in `Unicode::`, which counts characters.

mod times;

use keys::{Declared, Type, Value, digest};

use crate::{Error, Result, cast};

/// A function over values.
#[derive(Debug)]
pub(super) struct Plain {
    /// Its name in lower case.
    pub(super) name: &'static str,
    /// The type of what it answers; `None` for that of its first argument.
    pub(super) output: Option<Type>,
    /// Whether it sees NULL.
    sees_null: bool,
    call: fn(&[Value]) -> Option<Value>,
}

impl Plain {
    const fn new(
        name: &'static str,
        output: Option<Type>,
        call: fn(&[Value]) -> Option<Value>,
    ) -> Self {
        Self {
            name,
            output,
            sees_null: false,
            call,
        }
    }

    /// Every function there is.
    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        PLAIN.iter().chain(times::TIMES)
    }

    /// Runs it.
    pub(super) fn call(&self, values: &[Value]) -> Result<Value> {
        if !self.sees_null && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        match self.name {
            "yql::touuid" => one(values, Type::Uuid),
            "yql::tointerval" => one(values, Type::Interval),
            _ => (self.call)(values).ok_or_else(|| self.refusal(values)),
        }
    }

    fn refusal(&self, values: &[Value]) -> Error {
        if self.sees_null {
            return Error::Query {
                what: "Unwrap of NULL".to_owned(),
            };
        }
        let kind = |value: &Value| {
            value
                .value_type()
                .map_or("NULL".to_owned(), |kind| kind.to_string())
        };
        let kinds: Vec<String> = values.iter().map(kind).collect();
        Error::NoSuchFunction {
            name: format!("{}({})", self.name, kinds.join(", ")),
        }
    }
}

fn one(values: &[Value], kind: Type) -> Result<Value> {
    match values {
        [value] => cast(value.clone(), kind),
        _ => Ok(Value::Null),
    }
}

/// The function that fills up a text with blanks, as a `char(n)` comes to clients.
pub(crate) const FILLED: &str = "char::filled";

const PLAIN: &[Plain] = &[
    Plain::new("md5", Some(Type::Utf8), |values| {
        let [text] = values else { return None };
        Some(Value::Utf8(digest::md5_hex(bytes(text)?).into()))
    }),
    Plain::new("sha224", Some(Type::String), |values| {
        hashed(values, digest::sha224)
    }),
    Plain::new("sha256", Some(Type::String), |values| {
        hashed(values, digest::sha256)
    }),
    Plain::new("sha384", Some(Type::String), |values| {
        hashed(values, digest::sha384)
    }),
    Plain::new("sha512", Some(Type::String), |values| {
        hashed(values, digest::sha512)
    }),
    Plain::new("yql::touuid", Some(Type::Uuid), |_| None),
    Plain::new("yql::tointerval", Some(Type::Interval), |_| None),
    Plain {
        name: "unwrap",
        output: None,
        sees_null: true,
        call: |values| values.first().filter(|value| !value.is_null()).cloned(),
    },
    Plain::new(FILLED, Some(Type::Utf8), |values| {
        let [Value::Utf8(text), length] = values else {
            return None;
        };
        let length = u32::try_from(count(length)?).ok()?;
        let blanks = Declared::Char(Some(length)).blanks(text);
        Some(Value::Utf8(format!("{text}{}", " ".repeat(blanks)).into()))
    }),
    Plain::new("yql::length", Some(Type::Uint32), length),
    Plain::new("len", Some(Type::Uint32), length),
    Plain::new("yql::substring", None, substring),
    Plain::new("find", Some(Type::Uint32), |values| {
        place(find(values)?, Value::Uint32)
    }),
    Plain::new("rfind", Some(Type::Uint32), |values| {
        place(find_last(values)?, Value::Uint32)
    }),
    Plain::new("string::find", Some(Type::Int64), |values| {
        Some(Value::Int64(find(values)?.map_or(-1, signed)))
    }),
    Plain::new("string::reversefind", Some(Type::Int64), |values| {
        Some(Value::Int64(find_last(values)?.map_or(-1, signed)))
    }),
    Plain::new("byteat", Some(Type::Uint8), |values| {
        let [text, at] = values else { return None };
        let byte = bytes(text)?.get(count(at)?);
        Some(byte.map_or(Value::Null, |byte| Value::Uint8(*byte)))
    }),
    Plain::new("string::hexencode", Some(Type::Utf8), |values| {
        let [text] = values else { return None };
        let digits = bytes(text)?.iter().map(|byte| format!("{byte:02X}"));
        Some(Value::Utf8(digits.collect::<String>().into()))
    }),
    Plain::new("string::hexdecode", Some(Type::String), |values| {
        let [text] = values else { return None };
        let digits = std::str::from_utf8(bytes(text)?).ok()?;
        Some(Value::parse(Type::String, &format!("\\x{digits}")).unwrap_or(Value::Null))
    }),
    Plain::new("unicode::substring", None, |values| {
        let (Value::Utf8(text), from, length) = slice(values)? else {
            return None;
        };
        let piece: String = text.chars().skip(from).take(length).collect();
        Some(Value::Utf8(piece.into()))
    }),
    Plain::new("unicode::find", Some(Type::Uint64), |values| {
        let (Value::Utf8(text), Value::Utf8(wanted)) = (values.first()?, values.get(1)?) else {
            return None;
        };
        let before = text.find(wanted.as_ref()).and_then(|at| text.get(..at));
        let found = before.map(|before| before.chars().count());
        place(found, Value::Uint64)
    }),
    Plain::new("unicode::isutf", Some(Type::Bool), |values| {
        let [text] = values else { return None };
        Some(Value::Bool(std::str::from_utf8(bytes(text)?).is_ok()))
    }),
];

fn length(values: &[Value]) -> Option<Value> {
    let [text] = values else { return None };
    place(Some(bytes(text)?.len()), Value::Uint32)
}

fn substring(values: &[Value]) -> Option<Value> {
    let (text, from, length) = slice(values)?;
    let piece = bytes(text)?.get(from..).unwrap_or_default();
    let piece = piece.get(..length).unwrap_or(piece);
    Some(match text {
        Value::Utf8(_) => match std::str::from_utf8(piece) {
            Ok(piece) => Value::Utf8(piece.into()),
            // A character that was cut apart is no text.
            Err(_) => Value::Null,
        },
        _ => Value::String(piece.into()),
    })
}

/// The arguments of a function that takes a piece: a text, where it begins and how long it is.
fn slice(values: &[Value]) -> Option<(&Value, usize, usize)> {
    match values {
        [text] => Some((text, 0, usize::MAX)),
        [text, from] => Some((text, count(from)?, usize::MAX)),
        [text, from, length] => Some((text, count(from)?, count(length)?)),
        _ => None,
    }
}

/// Where a text begins in another, from a place on.
fn find(values: &[Value]) -> Option<Option<usize>> {
    let (text, wanted, from) = match values {
        [text, wanted] => (bytes(text)?, bytes(wanted)?, 0),
        [text, wanted, from] => (bytes(text)?, bytes(wanted)?, count(from)?),
        _ => return None,
    };
    let places = (from..=text.len()).find(|at| starts_at(text, wanted, *at));
    Some(places)
}

/// Where a text begins in another for the last time, up to a place.
fn find_last(values: &[Value]) -> Option<Option<usize>> {
    let (text, wanted, to) = match values {
        [text, wanted] => (bytes(text)?, bytes(wanted)?, usize::MAX),
        [text, wanted, to] => (bytes(text)?, bytes(wanted)?, count(to)?),
        _ => return None,
    };
    let last = to.min(text.len());
    Some((0..=last).rev().find(|at| starts_at(text, wanted, *at)))
}

fn starts_at(text: &[u8], wanted: &[u8], at: usize) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(wanted))
}

fn hashed<const N: usize>(values: &[Value], hash: fn(&[u8]) -> [u8; N]) -> Option<Value> {
    let [text] = values else { return None };
    Some(Value::String(hash(bytes(text)?).to_vec().into()))
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Utf8(text) | Value::Json(text) => Some(text.as_bytes()),
        Value::String(bytes) => Some(bytes),
        _ => None,
    }
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(cast::integer(value)?).ok()
}

fn signed(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

fn place<T: TryFrom<usize>>(place: Option<usize>, make: fn(T) -> Value) -> Option<Value> {
    Some(match place {
        Some(place) => T::try_from(place).ok().map_or(Value::Null, make),
        None => Value::Null,
    })
}
