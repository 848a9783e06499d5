//! Whether text is JSON (RFC 8259). The text itself is what is kept, so nothing is built here.

/// Arrays and objects inside one another: deeper documents are refused.
const DEPTH_MAX: usize = 128;

/// Whether the text is one JSON value with nothing but space around it.
pub(super) fn is_json(text: &str) -> bool {
    after_value(skip_space(text.as_bytes()), DEPTH_MAX)
        .is_some_and(|rest| skip_space(rest).is_empty())
}

/// What follows one value; `None` if there is none.
fn after_value(text: &[u8], depth: usize) -> Option<&[u8]> {
    match text {
        [b'"', rest @ ..] => after_string(rest),
        [b'[', rest @ ..] => after_items(rest, b']', depth.checked_sub(1)?, after_value),
        [b'{', rest @ ..] => after_items(rest, b'}', depth.checked_sub(1)?, after_member),
        [b't', ..] => text.strip_prefix(b"true"),
        [b'f', ..] => text.strip_prefix(b"false"),
        [b'n', ..] => text.strip_prefix(b"null"),
        _ => after_number(text),
    }
}

/// What follows the items of an array or object and the bracket that closes it.
fn after_items<'a>(
    text: &'a [u8],
    close: u8,
    depth: usize,
    after_item: fn(&'a [u8], usize) -> Option<&'a [u8]>,
) -> Option<&'a [u8]> {
    let mut text = skip_space(text);
    if let Some(rest) = text.strip_prefix(&[close]) {
        return Some(rest);
    }
    loop {
        text = skip_space(after_item(text, depth)?);
        match text.split_first()? {
            (b',', rest) => text = skip_space(rest),
            (end, rest) => return (*end == close).then_some(rest),
        }
    }
}

fn after_member(text: &[u8], depth: usize) -> Option<&[u8]> {
    let name = after_string(text.strip_prefix(b"\"")?)?;
    after_value(skip_space(skip_space(name).strip_prefix(b":")?), depth)
}

/// What follows a string whose opening quote is gone.
fn after_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = match text {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', b'u', a, b, c, d, rest @ ..] => [a, b, c, d]
                .iter()
                .all(|digit| digit.is_ascii_hexdigit())
                .then_some(rest)?,
            [
                b'\\',
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                rest @ ..,
            ] => rest,
            [0..0x20 | b'\\', ..] => return None,
            [_, rest @ ..] => rest,
            [] => return None,
        }
    }
}

fn after_number(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let mut text = match text {
        [b'0', rest @ ..] => rest,
        _ => after_digits(text)?,
    };
    if let [b'.', rest @ ..] = text {
        text = after_digits(rest)?;
    }
    match text {
        [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => after_digits(rest),
        _ => Some(text),
    }
}

/// What follows one digit or more.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        None
    } else {
        text.get(digits..)
    }
}

fn skip_space(text: &[u8]) -> &[u8] {
    let spaces = text
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        .count();
    text.get(spaces..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_told_from_other_text() {
        for json in [
            "null",
            " true ",
            "-0",
            "10.25e-3",
            r#""""#,
            r#""é\u00e9\n\"""#,
            "[]",
            "[ 1 , [2], {} ]",
            r#"{"a": {"b" : [null]}, "a": 1}"#,
        ] {
            assert!(is_json(json), "{json}");
        }
        for text in [
            "",
            "nul",
            "nulls",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "'a'",
            "\"a",
            "\"\t\"",
            r#""\x""#,
            r#""\u12g4""#,
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":1,}",
            "{]",
            "1 2",
        ] {
            assert!(!is_json(text), "{text}");
        }
    }

    #[test]
    fn deep_documents_are_refused() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_json(&nested(DEPTH_MAX)));
        assert!(!is_json(&nested(DEPTH_MAX + 1)));
        assert!(!is_json(&"[".repeat(1_000_000)));
    }
}
