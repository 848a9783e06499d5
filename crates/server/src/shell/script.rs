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

/// The statements of a text, each without its semicolon.
pub(super) fn statements(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some((token, bytes)) = token(text.get(at..).unwrap_or_default()) {
        if token == Token::Semicolon {
            found.extend(text.get(start..at));
            start = at + bytes;
        }
        at += bytes;
    }
    found.extend(text.get(start..));
    found.retain(|statement| !is_blank(statement));
    found
}

/// The first two words of a statement, in capitals.
pub(super) fn first_words(statement: &str) -> (String, String) {
    let mut words = [String::new(), String::new()];
    let mut rest = statement;
    for word in &mut words {
        while let Some((kind, bytes)) = token(rest) {
            match kind {
                Token::Space | Token::Comment if word.is_empty() => {}
                Token::Other => word.push_str(rest.get(..bytes).unwrap_or_default()),
                _ => break,
            }
            rest = rest.get(bytes..).unwrap_or_default();
        }
    }
    let [first, second] = words.map(|word| word.to_uppercase());
    (first, second)
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
    while let Some((token, bytes)) = token(rest) {
        last = match token {
            Token::Space | Token::Comment => last,
            Token::Semicolon => Last::Semicolon,
            // Something is open: more has to come.
            Token::Open => return Last::Other,
            Token::Quoted | Token::Other => Last::Other,
        };
        rest = rest.get(bytes..).unwrap_or_default();
    }
    last
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Space,
    Comment,
    /// A part in quotes; a doubled quote is two of them side by side.
    Quoted,
    Semicolon,
    /// A quote or comment without an end.
    Open,
    /// Any other character.
    Other,
}

/// What a text begins with, and how many bytes that takes.
fn token(text: &str) -> Option<(Token, usize)> {
    let first = text.chars().next()?;
    let after = text.strip_prefix(first).unwrap_or_default();
    let through = |end: &str| {
        let found = after.find(end)?;
        Some(first.len_utf8() + found + end.len())
    };
    let closed = |token, end: Option<usize>| match end {
        Some(bytes) => (token, bytes),
        None => (Token::Open, text.len()),
    };
    Some(match first {
        '-' if after.starts_with('-') => (Token::Comment, through("\n").unwrap_or(text.len())),
        '/' if after.starts_with('*') => closed(Token::Comment, through("*/")),
        '\'' | '"' | '`' => closed(Token::Quoted, through(first.encode_utf8(&mut [0; 4]))),
        ';' => (Token::Semicolon, 1),
        space if space.is_whitespace() => (Token::Space, space.len_utf8()),
        other => (Token::Other, other.len_utf8()),
    })
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
    fn texts_are_cut_at_their_semicolons() {
        let text = "select ';' -- one;\n; ;/* ; */update t set a = 1; select `x;`";
        let expected = [
            "select ';' -- one;\n",
            "/* ; */update t set a = 1",
            " select `x;`",
        ];
        assert_eq!(statements(text), expected);
        let [_, update, _] = expected;
        assert_eq!(first_words(update), ("UPDATE".to_owned(), "T".to_owned()));
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
