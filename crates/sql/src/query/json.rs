//! PostgreSQL's operators on JSON.
//!
//! ```text
//!   doc -> 'a'       the member as JSON            doc -> 2         the element, from 0
//!   doc ->> 'a'      the member as text            doc -> -1        the last element
//!   doc #> '{a,2}'   what is at the end of a path  doc #>> '{a,2}'  the same as text
//!   doc @> '{"a":1}' whether the right side is contained in the left
//!   doc ? 'a'        whether there is such a member, or such a text among the elements
//! ```
//!
//! A part of a document is cut out of its text, so that its numbers keep their digits.

use std::fmt;

use keys::{Type, Value};
use serde_json::Value as Json;
use syntax::ast::BinaryOperator;

use super::lists::elements;
use crate::Result;
use crate::cast::integer;

/// What is asked of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    /// `->`
    Member,
    /// `->>`
    MemberText,
    /// `#>`
    Path,
    /// `#>>`
    PathText,
    /// `@>`
    Contains,
    /// `?`
    Has,
}

impl Question {
    pub(crate) fn of(op: &BinaryOperator) -> Option<Self> {
        Some(match op {
            BinaryOperator::Arrow => Self::Member,
            BinaryOperator::LongArrow => Self::MemberText,
            BinaryOperator::HashArrow => Self::Path,
            BinaryOperator::HashLongArrow => Self::PathText,
            BinaryOperator::AtArrow => Self::Contains,
            BinaryOperator::Question => Self::Has,
            _ => return None,
        })
    }

    pub(crate) fn output(self) -> Type {
        match self {
            Self::Member | Self::Path => Type::Json,
            Self::MemberText | Self::PathText => Type::Utf8,
            Self::Contains | Self::Has => Type::Bool,
        }
    }

    /// The answer; NULL if there is no such part.
    pub(crate) fn answer(self, document: &Value, right: &Value) -> Result<Value> {
        let (Value::Json(document) | Value::Utf8(document)) = document else {
            return Ok(Value::Null);
        };
        if self == Self::Contains {
            return contained(document, right);
        }
        if self == Self::Has {
            return Ok(has(document, right));
        }
        let found = match (self, right) {
            (Self::Member | Self::MemberText, Value::Utf8(name)) => member(document, name),
            (Self::Member | Self::MemberText, index) => integer(index)
                .and_then(|index| i64::try_from(index).ok())
                .and_then(|index| element(document, index)),
            (_, Value::Utf8(path)) => at_path(document, path),
            _ => None,
        };
        Ok(match (found, self.output()) {
            (Some(found), Type::Json) => Value::Json(found.into()),
            (Some(found), _) => text(found),
            (None, _) => Value::Null,
        })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Member => "->",
            Self::MemberText => "->>",
            Self::Path => "#>",
            Self::PathText => "#>>",
            Self::Contains => "@>",
            Self::Has => "?",
        })
    }
}

/// The text at the front that is one value, and what follows it.
fn value(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    values.next()?.ok()?;
    text.split_at_checked(values.byte_offset())
}

/// The elements of an array, in order.
fn items(document: &str) -> Option<Vec<&str>> {
    let mut rest = document.trim_start().strip_prefix('[')?.trim_start();
    let mut items = Vec::new();
    while !rest.starts_with(']') {
        let (item, after) = value(rest)?;
        items.push(item);
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    Some(items)
}

/// The last member of that name.
fn member<'d>(document: &'d str, name: &str) -> Option<&'d str> {
    let mut rest = document.trim_start().strip_prefix('{')?.trim_start();
    let mut found = None;
    while !rest.starts_with('}') {
        let (key, after) = value(rest)?;
        let (value, after) = value(after.trim_start().strip_prefix(':')?)?;
        if serde_json::from_str::<String>(key).ok()? == name {
            found = Some(value);
        }
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    found
}

/// The element at an index, from the end if that is negative.
fn element(document: &str, index: i64) -> Option<&str> {
    let items = items(document)?;
    let index = match usize::try_from(index) {
        Ok(index) => index,
        Err(_) => items
            .len()
            .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
    };
    items.get(index).copied()
}

fn at_path<'d>(document: &'d str, path: &str) -> Option<&'d str> {
    let mut part = document.trim();
    for step in elements(path)? {
        let step = step?;
        part = match part.starts_with('[') {
            true => element(part, step.trim().parse().ok()?)?,
            false => member(part, &step)?,
        };
    }
    Some(part)
}

/// A part as text: a string without its quotes, and null as NULL.
fn text(part: &str) -> Value {
    match serde_json::from_str(part) {
        Ok(Json::Null) => Value::Null,
        Ok(Json::String(text)) => Value::Utf8(text.into()),
        _ => Value::Utf8(part.into()),
    }
}

fn contained(document: &str, right: &Value) -> Result<Value> {
    let part = match crate::cast(right.clone(), Type::Json)? {
        Value::Json(part) => part,
        _ => return Ok(Value::Null),
    };
    let both = serde_json::from_str(document)
        .ok()
        .zip(serde_json::from_str(&part).ok());
    Ok(both.map_or(Value::Null, |(whole, part): (Json, Json)| {
        let listed = matches!(&whole, Json::Array(items) if items.contains(&part));
        Value::Bool(contains(&whole, &part) || listed)
    }))
}

/// Whether a text is the name of a member, an element, or all there is.
fn has(document: &str, name: &Value) -> Value {
    let Value::Utf8(name) = name else {
        return Value::Null;
    };
    let is = |one: &Json| one.as_str() == Some(name);
    Value::Bool(match serde_json::from_str(document) {
        Ok(Json::Object(members)) => members.contains_key(&**name),
        Ok(Json::Array(items)) => items.iter().any(is),
        Ok(other) => is(&other),
        Err(_) => return Value::Null,
    })
}

/// Whether every member and element of a part is somewhere in the whole.
fn contains(whole: &Json, part: &Json) -> bool {
    match (whole, part) {
        (Json::Object(whole), Json::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part))),
        (Json::Array(whole), Json::Array(part)) => part
            .iter()
            .all(|part| whole.iter().any(|whole| contains(whole, part))),
        (Json::Number(whole), Json::Number(part)) => {
            whole == part || whole.as_f64() == part.as_f64()
        }
        (whole, part) => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(question: Question, document: &str, right: Value) -> String {
        let answer = question.answer(&Value::Json(document.into()), &right);
        answer.unwrap().to_string()
    }

    #[test]
    fn parts_keep_their_text() {
        let document =
            r#" {"a": 1.50, "b" :[1, {"c":null}, "x\ny"], "a":12345678901234567890.10} "#;
        let name = |name: &str| Value::from(name);
        assert_eq!(
            ask(Question::Member, document, name("a")),
            "12345678901234567890.10"
        );
        assert_eq!(ask(Question::Member, document, name("z")), "NULL");
        assert_eq!(
            ask(Question::Path, document, name("{b,1}")),
            r#"{"c":null}"#
        );
        assert_eq!(ask(Question::PathText, document, name("{b,-1}")), "x\ny");
        assert_eq!(ask(Question::PathText, document, name("{b,1,c}")), "NULL");
        assert_eq!(ask(Question::Member, "[1,2,3]", Value::Int32(-1)), "3");
        assert_eq!(ask(Question::Member, "[1,2,3]", Value::Int32(-4)), "NULL");
        assert_eq!(ask(Question::Member, "7", name("a")), "NULL");
    }

    #[test]
    fn names_are_found_where_they_are_and_not_deeper() {
        for (document, expected) in [
            (r#"{"a":null}"#, "true"),
            (r#"{"b":{"a":1}}"#, "false"),
            (r#"["b","a"]"#, "true"),
            (r#"[["a"]]"#, "false"),
            (r#""a""#, "true"),
            ("1", "false"),
        ] {
            let answer = ask(Question::Has, document, Value::from("a"));
            assert_eq!(answer, expected, "{document}");
        }
    }

    #[test]
    fn a_part_is_contained_wherever_its_members_are() {
        let document = r#"{"a":[1,2,{"b":3,"c":4}],"d":1.0}"#;
        for (part, expected) in [
            (r#"{"a":[{"b":3}]}"#, "true"),
            (r#"{"a":[3]}"#, "false"),
            (r#"{"d":1}"#, "true"),
            ("{}", "true"),
        ] {
            assert_eq!(
                ask(Question::Contains, document, Value::from(part)),
                expected,
                "{part}"
            );
        }
    }
}
