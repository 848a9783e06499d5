//! Functions of texts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keys::Attribute;
use keys::attribute::ATTRIBUTE_BYTES_MAX;
use regex::{Regex, RegexBuilder};

use super::{Failure, Found, Function, calculation};
use crate::items::expression::value::Value;

/// Bytes that the program of a regular expression may take.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

pub(super) fn call(function: Function, values: &[Value]) -> Found {
    let texts: Option<Vec<&str>> = values.iter().map(text).collect();
    Some(match (function, texts?.as_slice()) {
        (Function::Starts, [text, start]) => Ok(Value::Bool(text.starts_with(start))),
        (Function::Ends, [text, end]) => Ok(Value::Bool(text.ends_with(end))),
        (Function::Contains, [text, part]) => Ok(Value::Bool(text.contains(part))),
        (Function::Blob, [text]) => match STANDARD.decode(text) {
            Ok(bytes) => Ok(Value::from(Attribute::Bytes(bytes))),
            Err(error) => Err(calculation(format!("blob() takes Base64: {error}"))),
        },
        (Function::RegexpInstr, [text, pattern]) => {
            pattern_of(pattern).map(|pattern| Value::Integer(position(text, &pattern)))
        }
        (Function::RegexpReplace, [text, pattern, by]) => {
            pattern_of(pattern).and_then(|pattern| replace(text, &pattern, by))
        }
        _ => return None,
    })
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn pattern_of(pattern: &str) -> Result<Regex, Failure> {
    RegexBuilder::new(pattern)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| {
            let error = error.to_string();
            let last = error.lines().last().unwrap_or_default();
            calculation(format!("no regular expression: {last}"))
        })
}

/// Where the first match begins, in characters counted from one; zero if there is none.
fn position(text: &str, pattern: &Regex) -> i64 {
    let before = pattern
        .find(text)
        .and_then(|found| text.get(..found.start()));
    let chars = before.map_or(0, |before| before.chars().count() + 1);
    i64::try_from(chars).unwrap_or(i64::MAX)
}

/// All matches replaced, one by one, so that what would fit in no attribute is refused in time.
fn replace(text: &str, pattern: &Regex, by: &str) -> Result<Value, Failure> {
    let mut replaced = String::new();
    let mut end = 0;
    for captures in pattern.captures_iter(text) {
        let Some(found) = captures.get(0) else {
            continue;
        };
        replaced.push_str(text.get(end..found.start()).unwrap_or_default());
        captures.expand(by, &mut replaced);
        end = found.end();
        if replaced.len() > ATTRIBUTE_BYTES_MAX {
            return Err(calculation("the result fits in no attribute"));
        }
    }
    replaced.push_str(text.get(end..).unwrap_or_default());
    Ok(Value::Text(replaced))
}
