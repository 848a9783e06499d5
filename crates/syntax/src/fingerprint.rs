//! One name for all runs of a statement: literals and parameters gone, white space folded.
//!
//! ```text
//!   select *  from t where id = 7 AND name IN ('a', 'b')    SELECT * FROM t WHERE id = ? AND name IN (?, …)
//!   SELECT * FROM t WHERE id=$1 and name in ($2)            SELECT * FROM t WHERE id = ? AND name IN (?)
//!   UPSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')          UPSERT INTO t (a, b) VALUES (?, …)
//! ```
//!
//! A minus before a number is part of it where it cannot subtract. Of several values in a list and of several rows that look the same only the first is kept, so that
//! batches of different sizes count as one statement. The words that shape a statement are written in capitals; names are left
//! as they are, since two that differ in case may be two tables. A text that cannot be cut into
//! tokens is folded as it stands.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::outline::BEFORE_SIGN;
use crate::span::Span;
use crate::tokens;

/// Words that are written in capitals, sorted.
const SHAPING_WORDS: &[&str] = &[
    "ADD",
    "ALL",
    "ALTER",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CASE",
    "COMMIT",
    "CONFLICT",
    "COPY",
    "CREATE",
    "CROSS",
    "DELETE",
    "DESC",
    "DISCARD",
    "DISTINCT",
    "DO",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NOTHING",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "REPLACE",
    "RETURNING",
    "RIGHT",
    "ROLLBACK",
    "SELECT",
    "SET",
    "TABLE",
    "THEN",
    "UNION",
    "UPDATE",
    "UPSERT",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WITH",
];

/// The number and the text that all runs of a statement share.
pub fn fingerprint(text: &str) -> (u64, String) {
    let folded = match tokens::tokenize(text) {
        Ok(tokens) => render(&collapse(words(text, &tokens))),
        Err(_) => text.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let hash = keys::hash_values(&[keys::Value::Utf8(folded.clone().into())]);
    (hash, folded)
}

/// Each token as it will be printed: `?` for what varies between runs.
fn words(text: &str, tokens: &[TokenWithSpan]) -> Vec<String> {
    let mut words: Vec<String> = Vec::with_capacity(tokens.len());
    let mut literal_end = None;
    for token in tokens {
        let span = Span::from(token.span);
        let word = match &token.token {
            // A suffix belongs to the literal that it touches.
            Token::Word(word) if word.quote_style.is_none() && literal_end == Some(span.start) => {
                let shaping = shaping_word(&word.value);
                match shaping {
                    Some(shaping) => shaping.to_owned(),
                    None => continue,
                }
            }
            Token::Word(word) if word.quote_style.is_none() => {
                shaping_word(&word.value).map_or_else(|| word.value.clone(), str::to_owned)
            }
            Token::SemiColon => continue,
            other if is_literal(other) => {
                literal_end = Some(span.end);
                if ends_with_sign(&words) {
                    words.pop();
                }
                "?".to_owned()
            }
            _ => span.slice(text).to_owned(),
        };
        words.push(word);
    }
    words
}

/// Whether the last word is a minus that belongs to the number behind it, and subtracts from nothing.
fn ends_with_sign(words: &[String]) -> bool {
    let [.., before, minus] = words else {
        return false;
    };
    let last = before.bytes().last();
    minus == "-" && last.is_some_and(|last| BEFORE_SIGN.contains(&last))
}

fn shaping_word(word: &str) -> Option<&'static str> {
    SHAPING_WORDS
        .iter()
        .find(|shaping| word.eq_ignore_ascii_case(shaping))
        .copied()
}

fn is_literal(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::NationalStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Placeholder(_)
    )
}

/// Cuts `?, ?, ?` to `?, …`, and rows that look the same to the first of them.
fn collapse(words: Vec<String>) -> Vec<String> {
    rows(&values(words))
}

fn values(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        if word == "?" && ends_with(&kept, &["?", ","]) {
            kept.push("…".to_owned());
        } else if word == "?" && ends_with(&kept, &["…", ","]) {
            kept.pop();
        } else {
            kept.push(word);
        }
    }
    kept
}

fn rows(words: &[String]) -> Vec<String> {
    let ends = closing(words);
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    // The rows that are open or just closed, with the place after each.
    let mut open: Vec<(usize, usize)> = Vec::new();
    while let Some(word) = words.get(at) {
        kept.push(word.clone());
        if let Some(Some(end)) = ends.get(at) {
            open.push((at, *end));
        }
        at += 1;
        if let Some((start, end)) = open.last().copied()
            && end == at
        {
            open.pop();
            let row = words.get(start..end).unwrap_or_default();
            while words.get(at).is_some_and(|word| word == ",")
                && words
                    .get(at + 1..)
                    .is_some_and(|rest| rest.starts_with(row))
            {
                at += 1 + row.len();
            }
        }
    }
    kept
}

/// For each `(`, the place after the `)` that closes it.
fn closing(words: &[String]) -> Vec<Option<usize>> {
    let mut ends = vec![None; words.len()];
    let mut open = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if word == "(" {
            open.push(at);
        } else if word == ")"
            && let Some(start) = open.pop()
            && let Some(end) = ends.get_mut(start)
        {
            *end = Some(at + 1);
        }
    }
    ends
}

fn ends_with(words: &[String], expected: &[&str]) -> bool {
    words.len() >= expected.len()
        && words
            .iter()
            .rev()
            .zip(expected.iter().rev())
            .all(|(word, expected)| word == expected)
}

/// The words with one blank between them, but for punctuation and the parenthesis of a call.
fn render(words: &[String]) -> String {
    let mut text = String::new();
    let mut before: Option<&str> = None;
    for word in words {
        let glued = matches!(before, None | Some("(" | "[" | "." | "::"))
            || matches!(word.as_str(), ")" | "]" | "," | "." | "::" | "[");
        if !glued {
            text.push(' ');
        }
        text.push_str(word);
        before = Some(word);
    }
    text
}
