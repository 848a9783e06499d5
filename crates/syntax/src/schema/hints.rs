//! `/*T![auto_rand] AUTO_RANDOM(5) */`: words of TiDB and MySQL that other programs take for comments.
//!
//! What opens and closes such a comment is covered with as many blanks, and so the words in it are
//! read where they stand.

/// The text with what opens and closes hints covered.
pub(crate) fn cover(text: &str) -> String {
    let mut covered = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_hint = false;
    while let Some(first) = rest.chars().next() {
        let opened = hint_start(rest);
        let taken = if opened > 0 {
            in_hint = true;
            blanks(&mut covered, opened);
            opened
        } else if in_hint && rest.starts_with("*/") {
            in_hint = false;
            blanks(&mut covered, 2);
            2
        } else {
            let length = opaque(rest).unwrap_or(first.len_utf8());
            covered.push_str(rest.get(..length).unwrap_or_default());
            length
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    covered
}

fn blanks(covered: &mut String, count: usize) {
    covered.extend(std::iter::repeat_n(' ', count));
}

/// The length of `/*T![feature]`, `/*T!` or `/*!50110` if the text begins with it.
fn hint_start(text: &str) -> usize {
    if let Some(tidb) = text.strip_prefix("/*T!") {
        let feature = match tidb.strip_prefix('[').and_then(|inner| inner.find(']')) {
            Some(end) => end + 2,
            None => 0,
        };
        return 4 + feature;
    }
    text.strip_prefix("/*!").map_or(0, |version| {
        3 + version.bytes().take_while(u8::is_ascii_digit).count()
    })
}

/// The length of a string, name or comment that the text begins with, in which nothing is a hint.
fn opaque(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    if matches!(quote, '\'' | '"' | '`') {
        let mut escaped = false;
        for (at, char) in text.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if char == '\\' && quote != '`' {
                escaped = true;
            } else if char == quote {
                return Some(at + 1);
            }
        }
        return Some(text.len());
    }
    for (open, close) in [("-- ", "\n"), ("#", "\n"), ("/*", "*/")] {
        if let Some(inner) = text.strip_prefix(open) {
            let end = inner.find(close).map(|at| open.len() + at + close.len());
            return Some(end.unwrap_or(text.len()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::cover;

    #[test]
    fn hints_are_read_where_they_stand() {
        let text = "a /*T![auto_rand] AUTO_RANDOM(5) */, /*!50110 x */ /* no */ '/*! no */'";
        let covered = cover(text);
        assert_eq!(
            covered,
            "a                 AUTO_RANDOM(5)   ,          x    /* no */ '/*! no */'"
        );
        // Blank for byte, so that what is found later is found where it stands.
        assert_eq!(covered.len(), text.len());
    }
}
