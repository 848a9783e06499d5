//! SIMILAR TO as a regular expression.
//!
//! ```text
//!   name SIMILAR TO 'a%(b|c)_'      name ~ '^(?s:a.*(?:b|c).)$'
//! ```
//!
//! A pattern is about the whole text. `%` and `_` are those of LIKE; bars, repetitions, parentheses and
//! brackets are those of regular expressions; everything else is itself.

use std::iter::Peekable;
use std::str::Chars;

/// The regular expression of a pattern; `None` if it ends in the middle of something.
pub(super) fn regular(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut out = String::from("^(?s:");
    let mut rest = pattern.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            one if Some(one) == escape => literal(&mut out, rest.next()?),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            ')' | '|' | '*' | '+' | '?' | '{' | '}' => out.push(one),
            '[' => class(&mut out, &mut rest)?,
            one => literal(&mut out, one),
        }
    }
    out.push_str(")$");
    Some(out)
}

/// A list of letters in brackets, which is the same in both.
fn class(out: &mut String, rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    loop {
        match rest.next()? {
            ']' => break,
            // Classes such as [:digit:] stand in brackets of their own.
            '[' if rest.peek() == Some(&':') => {
                out.push('[');
                for one in rest.by_ref() {
                    out.push(one);
                    if one == ']' {
                        break;
                    }
                }
            }
            one @ ('\\' | '[' | '&' | '~') => out.extend(['\\', one]),
            one => out.push(one),
        }
    }
    out.push(']');
    Some(())
}

fn literal(out: &mut String, one: char) {
    if one.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_regular_expressions() {
        for (pattern, expected) in [
            ("a%(b|c)_", Some(r"^(?s:a.*(?:b|c).)$")),
            ("1.5$", Some(r"^(?s:1\.5\$)$")),
            (r"a\%b", Some(r"^(?s:a\%b)$")),
            ("[^a-c[:digit:]]+", Some("^(?s:[^a-c[:digit:]]+)$")),
            ("x{2}", Some("^(?s:x{2})$")),
            ("[a", None),
            (r"a\", None),
        ] {
            let found = regular(pattern, Some('\\'));
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }
}
