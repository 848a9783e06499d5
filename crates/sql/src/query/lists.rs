//! Lists as PostgreSQL writes them: `{1,2}`, `{"a b",NULL}`, and its old vectors `1 2`.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use keys::Value;

use super::results::{kind_of, plain, value_or_null};
use crate::{Error, Result};

/// The text of every list of a column.
pub(crate) fn texts(lists: &ArrayRef, vector: bool) -> Result<ArrayRef> {
    let lists = narrow(lists)?;
    let lists = lists.as_list::<i32>();
    let mut texts = StringBuilder::new();
    for list in lists.iter() {
        texts.append_option(list.map(|list| text(&list, vector)).transpose()?);
    }
    Ok(Arc::new(texts.finish()))
}

/// The lists with short offsets, whatever they have.
fn narrow(lists: &ArrayRef) -> Result<ArrayRef> {
    match lists.data_type() {
        DataType::LargeList(inner) => {
            let to = DataType::List(Arc::clone(inner));
            cast(lists, &to).map_err(|error| Error::Internal {
                what: format!("a column of lists: {error}"),
            })
        }
        _ => Ok(ArrayRef::clone(lists)),
    }
}

fn text(list: &ArrayRef, vector: bool) -> Result<String> {
    let kind = kind_of(&Field::new("", list.data_type().clone(), true));
    let list = match list.data_type() {
        DataType::List(_) | DataType::LargeList(_) => texts(list, false)?,
        _ => plain(list, kind)?,
    };
    let mut elements = Vec::with_capacity(list.len());
    for index in 0..list.len() {
        elements.push(match value_or_null(&list, index, kind)? {
            Value::Null => "NULL".to_owned(),
            Value::Bool(true) => "t".to_owned(),
            Value::Bool(false) => "f".to_owned(),
            Value::Utf8(text) if !vector => quoted(&text),
            other => other.to_string(),
        });
    }
    Ok(match vector {
        true => elements.join(" "),
        false => format!("{{{}}}", elements.join(",")),
    })
}

/// An element in quotes if it could be read as something else.
fn quoted(text: &str) -> String {
    let odd =
        |letter: char| matches!(letter, '{' | '}' | ',' | '"' | '\\') || letter.is_whitespace();
    if text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(odd) {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        text.to_owned()
    }
}

/// The elements of a list without lists in it, from its text; `None` for NULL.
pub fn elements(written: &str) -> Option<Vec<Option<String>>> {
    let inside = written.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut letters = inside.trim().chars().peekable();
    let mut elements = Vec::new();
    if letters.peek().is_none() {
        return Some(elements);
    }
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        elements.push(match letters.next_if_eq(&'"') {
            Some(_) => Some(quoted_element(&mut letters)?),
            None => bare_element(&mut letters)?,
        });
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        match letters.next() {
            None => return Some(elements),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

type Letters<'t> = Peekable<Chars<'t>>;

/// The rest of an element in quotes.
fn quoted_element(letters: &mut Letters<'_>) -> Option<String> {
    let mut element = String::new();
    loop {
        match letters.next()? {
            '"' => return Some(element),
            '\\' => element.push(letters.next()?),
            other => element.push(other),
        }
    }
}

/// An element without quotes, of which blanks around it are no part.
fn bare_element(letters: &mut Letters<'_>) -> Option<Option<String>> {
    let (mut element, mut escaped) = (String::new(), false);
    while let Some(letter) = letters.next_if(|letter| *letter != ',') {
        match letter {
            '\\' => {
                escaped = true;
                element.push(letters.next()?);
            }
            '{' | '}' | '"' => return None,
            other => element.push(other),
        }
    }
    element.truncate(element.trim_end().len());
    let null = !escaped && element.eq_ignore_ascii_case("null");
    (!element.is_empty()).then(|| (!null).then_some(element))
}

/// The text of a list with something done to each element; `None` if it is no list.
pub(crate) fn list_with(written: &str, change: impl Fn(&str) -> &str) -> Option<String> {
    let elements = elements(written)?.into_iter().map(|element| match element {
        None => "NULL".to_owned(),
        Some(text) => quoted(change(&text)),
    });
    Some(format!("{{{}}}", elements.collect::<Vec<_>>().join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_as_they_are_written() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(elements("{}"), Some(vec![]));
        let written = r#"{a,"b c",null,"NULL","d\"e\\",""}"#;
        let read = [
            some("a"),
            some("b c"),
            None,
            some("NULL"),
            some("d\"e\\"),
            some(""),
        ];
        assert_eq!(elements(written), Some(read.to_vec()));
        let some = |text: &str| Some(text.to_owned());
        let spaced = Some(vec![some("1"), some("2 3"), None, some("a,b")]);
        assert_eq!(elements(r" { 1, 2 3 ,NULL , a\,b } "), spaced);
        for wrong in [
            "",
            "{",
            "{1",
            "a",
            "1,2",
            "{1,}",
            "{,1}",
            "{{1},{2}}",
            "{a\\",
            r#"{"a"#,
            r#"{"a"b}"#,
            r#"{a"b"}"#,
        ] {
            assert_eq!(elements(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn elements_are_quoted_where_they_must() {
        for (text, expected) in [
            ("a", "a"),
            ("", "\"\""),
            ("null", "\"null\""),
            ("a b", "\"a b\""),
            ("a\"b\\", "\"a\\\"b\\\\\""),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
