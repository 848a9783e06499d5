//! Statements of MySQL written as the standard has them, as far as a trace needs them.
//!
//! ```text
//!   INSERT IGNORE INTO t SET a = 1, b = NOW()     INSERT INTO t (a, b) VALUES (1, NOW()) ON CONFLICT DO NOTHING
//!   INSERT … ON DUPLICATE KEY UPDATE a = 2        INSERT … ON CONFLICT DO NOTHING
//!   DATE_SUB(NOW(), INTERVAL 1 DAY)               (NOW() - INTERVAL 1 DAY)
//!   'it\'s', "it's"                               'it''s'
//! ```

/// Words between the first one of a statement and its table that change nothing here.
const MODIFIERS: &[&str] = &["delayed", "high_priority", "low_priority", "quick"];

/// A statement as the standard writes it.
pub(super) fn standard(text: &str) -> String {
    let text = quoted(text);
    let text = intervals(text.trim().trim_end_matches(';'));
    let first = word(&text).to_ascii_lowercase();
    match first.as_str() {
        "insert" | "replace" => inserted(&text).unwrap_or(text),
        "update" | "delete" => {
            let (rest, _) = modified(text.get(first.len()..).unwrap_or_default());
            format!("{first} {rest}")
        }
        _ => text,
    }
}

/// INSERT and REPLACE; nothing if it is none of the forms that differ.
fn inserted(text: &str) -> Option<String> {
    let verb = word(text);
    let (rest, ignores) = modified(text.get(verb.len()..)?);
    let rest = match word(rest).eq_ignore_ascii_case("into") {
        true => rest.get("into".len()..)?.trim_start(),
        false => rest,
    };
    let updates = find(rest, false, |at| starts(at, "on duplicate key update"));
    let (rest, conflict) = match updates {
        Some(at) => (rest.get(..at)?, true),
        None => (rest, ignores),
    };
    let conflict = match conflict && !verb.eq_ignore_ascii_case("replace") {
        true => " ON CONFLICT DO NOTHING",
        false => "",
    };
    let rest = rest.trim_end();
    let body = match find(rest, false, |at| starts(at, "set ")) {
        Some(at) => {
            let (table, pairs) = rest.split_at_checked(at)?;
            let (columns, values) = pairs_of(pairs.get("set ".len()..)?)?;
            format!("{table}({columns}) VALUES ({values})")
        }
        None => rest.to_owned(),
    };
    Some(format!("{verb} INTO {body}{conflict}"))
}

/// `a = 1, b = 2` as `a, b` and `1, 2`.
fn pairs_of(pairs: &str) -> Option<(String, String)> {
    let mut columns = Vec::new();
    let mut values = Vec::new();
    let mut rest = pairs;
    while !rest.trim().is_empty() {
        let end = find(rest, false, |at| at.starts_with(',')).unwrap_or(rest.len());
        let (column, value) = rest.get(..end)?.split_once('=')?;
        columns.push(column.trim());
        values.push(value.trim());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Some((columns.join(", "), values.join(", ")))
}

/// The text behind modifiers, and whether IGNORE is one of them.
fn modified(text: &str) -> (&str, bool) {
    let mut rest = text.trim_start();
    let mut ignores = false;
    loop {
        let next = word(rest).to_ascii_lowercase();
        ignores |= next == "ignore";
        if next != "ignore" && !MODIFIERS.contains(&next.as_str()) {
            return (rest, ignores);
        }
        rest = rest.get(next.len()..).unwrap_or_default().trim_start();
    }
}

/// DATE_SUB and DATE_ADD of a time and an interval as a difference and a sum.
fn intervals(text: &str) -> String {
    let subtracted = folded(text, "date_sub(", '-');
    folded(&subtracted, "date_add(", '+')
}

fn folded(text: &str, name: &str, sign: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find(rest, true, |at| starts(at, name)) {
        let inner = rest.get(at + name.len()..).unwrap_or_default();
        let close = find(inner, false, |at| at.starts_with(')'));
        let comma = find(inner, false, |at| at.starts_with(','));
        let (Some(close), Some(comma)) = (close, comma.filter(|comma| Some(*comma) < close)) else {
            break;
        };
        let time = inner.get(..comma).unwrap_or_default();
        let interval = inner.get(comma + 1..close).unwrap_or_default();
        out.push_str(rest.get(..at).unwrap_or_default());
        out.push_str(&format!("({} {sign} {})", time.trim(), interval.trim()));
        rest = inner.get(close + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The first place outside of strings, and of parentheses unless it may be deep, where something is.
fn find(text: &str, deep: bool, is_it: impl Fn(&str) -> bool) -> Option<usize> {
    let mut quote: Option<char> = None;
    let mut depth = 0_usize;
    let mut in_word = false;
    for (at, char) in text.char_indices() {
        let part = char.is_alphanumeric() || char == '_';
        let here = quote.is_none() && (deep || depth == 0) && !(part && in_word);
        if here && text.get(at..).is_some_and(&is_it) {
            return Some(at);
        }
        in_word = part;
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`') => quote = Some(char),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn starts(text: &str, with: &str) -> bool {
    let beginning = text.get(..with.len());
    beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(with))
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// The same statement with its strings as the standard writes them: in single quotes, without
/// backslashes.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut open: Option<char> = None;
    while let Some(one) = chars.next() {
        match (open, one) {
            (None, '\'' | '"') => {
                open = Some(one);
                out.push('\'');
            }
            (None, '`') => {
                open = Some(one);
                out.push(one);
            }
            (Some(quote), _) if one == quote => {
                open = None;
                out.push(if quote == '`' { quote } else { '\'' });
            }
            (Some('\'' | '"'), '\\') => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('\'') => out.push_str("''"),
                Some(other) => out.push(other),
                None => {}
            },
            (Some('"'), '\'') => out.push_str("''"),
            _ => out.push(one),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_written_as_the_standard_does() {
        let cases = [
            (r#"SELECT "a", 'b'"#, "SELECT 'a', 'b'"),
            (r#"x = "it's""#, "x = 'it''s'"),
            (
                r"x = 'it\'s' AND `c'd` = 'a\\'",
                r"x = 'it''s' AND `c'd` = 'a\'",
            ),
            ("x = 'it''s'", "x = 'it''s'"),
            ("open '", "open '"),
        ];
        for (written, expected) in cases {
            assert_eq!(standard(written), expected);
        }
    }

    #[test]
    fn forms_of_mysql_are_written_as_others_have_them() {
        let cases = [
            (
                "INSERT IGNORE INTO t SET a = 1, `b` = CONCAT('x, y', 'set '), c = NOW();",
                "INSERT INTO t (a, `b`, c) VALUES (1, CONCAT('x, y', 'set '), NOW()) ON CONFLICT DO NOTHING",
            ),
            (
                "insert low_priority t (a) values ('on duplicate key update') on duplicate key update a = values(a)",
                "insert INTO t (a) values ('on duplicate key update') ON CONFLICT DO NOTHING",
            ),
            ("REPLACE t VALUES (1)", "REPLACE INTO t VALUES (1)"),
            (
                "INSERT INTO t SELECT * FROM s WHERE d > DATE_SUB(NOW(), INTERVAL 1 DAY)",
                "INSERT INTO t SELECT * FROM s WHERE d > (NOW() - INTERVAL 1 DAY)",
            ),
            (
                "UPDATE LOW_PRIORITY IGNORE t SET a = 1",
                "update t SET a = 1",
            ),
            (
                "SELECT date_add(date_sub(x, INTERVAL 1 DAY), INTERVAL 2 HOUR), 'date_sub(' FROM t",
                "SELECT ((x - INTERVAL 1 DAY) + INTERVAL 2 HOUR), 'date_sub(' FROM t",
            ),
            ("DATE_SUB(x", "DATE_SUB(x"),
            ("INSERT", "INSERT INTO "),
        ];
        for (written, expected) in cases {
            assert_eq!(standard(written), expected);
        }
    }
}
