//! Where statements end in a text, and where in it something stands.
//!
//! A statement is whole when the last thing that is neither space nor comment is a semicolon, outside
//! of quotes of any kind. Whether it means anything is for the parser to say.

use unicode_width::UnicodeWidthStr;

/// Whether a text holds nothing but space and comments.
pub(super) fn is_blank(text: &str) -> bool {
    last_token(text) == Last::Nothing
}

/// Whether a text ends with a whole statement.
pub(super) fn is_whole(text: &str) -> bool {
    last_token(text) == Last::Semicolon
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    Semicolon,
    Other,
}

/// What the last thing of a text is.
fn last_token(text: &str) -> Last {
    let mut last = Last::Nothing;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.strip_prefix(first).unwrap_or_default();
        let past = |end: &str| after.split_once(end).map(|(_, past)| past);
        rest = match first {
            '-' if after.starts_with('-') => past("\n").unwrap_or_default(),
            '/' if after.starts_with('*') => match past("*/") {
                Some(past) => past,
                // An open comment: more has to come.
                None => return Last::Other,
            },
            '\'' | '"' | '`' => {
                last = Last::Other;
                // A doubled quote is two quoted parts side by side.
                match past(first.encode_utf8(&mut [0; 4])) {
                    Some(past) => past,
                    None => return Last::Other,
                }
            }
            ';' => {
                last = Last::Semicolon;
                after
            }
            space if space.is_whitespace() => after,
            _ => {
                last = Last::Other;
                after
            }
        };
    }
    last
}

/// The line of the character at `position`, counted from one, and a mark under it.
pub(super) fn place(text: &str, position: usize) -> String {
    let before: String = text.chars().take(position.saturating_sub(1)).collect();
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let head = before.rsplit('\n').next().unwrap_or_default();
    let label = format!("LINE {number}: ");
    let indent = label.len() + head.width();
    format!("{label}{line}\n{:indent$}^", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_whole_at_its_semicolon() {
        for whole in [
            "select 1;",
            "select 1; -- done",
            "select ';';",
            ";",
            "select `a;`; /* ; */ \n",
        ] {
            assert!(is_whole(whole), "{whole}");
        }
        for part in [
            "select 1",
            "select ';",
            "select \";\"",
            "-- ;",
            "/* ;",
            "select 1; select",
            "select 'it''s;",
        ] {
            assert!(!is_whole(part), "{part}");
        }
    }

    #[test]
    fn space_and_comments_are_blank() {
        for blank in ["", " \n", "-- a", "/* a */ -- b\n"] {
            assert!(is_blank(blank), "{blank}");
        }
        assert!(!is_blank(";"));
        assert!(!is_blank("/* open"));
    }

    #[test]
    fn the_mark_stands_under_the_character() {
        assert_eq!(place("select 1\nform t;", 10), "LINE 2: form t;\n        ^");
        assert_eq!(place("é x", 3), "LINE 1: é x\n          ^");
        assert_eq!(place("", 9), "LINE 1: \n        ^");
    }
}
