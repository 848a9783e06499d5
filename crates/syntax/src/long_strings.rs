//! `@@…@@`: YQL's strings of several lines, in which nothing is escaped but `@@@@` for `@@`.
//!
//! To the tokenizer such a string is operators and loose quotes. So it is given the text with each of
//! them covered by a plain string of as many characters and the same lines, and the content is taken
//! from the text itself.

/// The text with its long strings covered, if it has any.
pub(crate) fn cover(text: &str) -> Option<String> {
    if !text.contains("@@") {
        return None;
    }
    let mut covered = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        // A string that nothing ends is none, and neither is anything after it.
        if rest.starts_with("@@") && long_end(rest).is_none() {
            covered.push_str(rest);
            break;
        }
        let (piece, long) = piece(rest);
        if long {
            let last = piece.chars().count() - 1;
            for (at, char) in piece.chars().enumerate() {
                covered.push(match char {
                    _ if at == 0 || at == last => '\'',
                    '\n' => '\n',
                    _ => ' ',
                });
            }
        } else {
            covered.push_str(piece);
        }
        rest = rest.get(piece.len()..).unwrap_or_default();
    }
    Some(covered)
}

/// What a long string holds, if the token is one.
pub(crate) fn content(token: &str) -> Option<String> {
    let inner = token.strip_prefix("@@")?.strip_suffix("@@")?;
    Some(inner.replace("@@@@", "@@"))
}

/// The next piece of a text: a long string, a string, a name or comment in which `@@` means nothing,
/// or one character.
fn piece(text: &str) -> (&str, bool) {
    if let Some(piece) = long_end(text).and_then(|end| text.get(..end)) {
        return (piece, true);
    }
    for (open, close) in [
        ("'", "'"),
        ("\"", "\""),
        ("`", "`"),
        ("--", "\n"),
        ("/*", "*/"),
    ] {
        if let Some(inner) = text.strip_prefix(open) {
            let end = inner
                .find(close)
                .map_or(text.len(), |at| open.len() + at + close.len());
            return (text.get(..end).unwrap_or(text), false);
        }
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    (text.get(..first).unwrap_or(text), false)
}

/// Where the long string that begins the text ends, its marks included.
fn long_end(text: &str) -> Option<usize> {
    let mut from = "@@".len();
    if !text.starts_with("@@") {
        return None;
    }
    loop {
        let at = from + text.get(from..)?.find("@@")?;
        if text.get(at..)?.starts_with("@@@@") {
            from = at + 4;
        } else {
            return Some(at + 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_keep_characters_and_lines() {
        let text = "SELECT @@it's\nten \u{20ac}@@, '@@', `@@` -- @@\n, @@a@@@@b@@";
        let covered = cover(text).unwrap();
        assert_eq!(covered.chars().count(), text.chars().count());
        assert_eq!(
            covered,
            "SELECT '     \n      ', '@@', `@@` -- @@\n, '        '"
        );
        assert_eq!(content("@@a@@@@b@@").as_deref(), Some("a@@b"));
        assert_eq!(cover("a @@ b").as_deref(), Some("a @@ b"));
        assert_eq!(cover("a @> b"), None);
        let marks = "@@@".repeat(100_001);
        assert_eq!(
            cover(&marks).map(|covered| covered.len()),
            Some(marks.len())
        );
    }
}
