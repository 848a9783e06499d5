//! FOR UPDATE before LIMIT, which PostgreSQL takes as well as after it, and of several tables.
//!
//! ```text
//!   SELECT … FOR UPDATE SKIP LOCKED LIMIT 1     SELECT … LIMIT 1 FOR UPDATE SKIP LOCKED
//!   SELECT … FOR UPDATE OF a, b NOWAIT          SELECT … FOR UPDATE OF a NOWAIT FOR UPDATE OF b NOWAIT
//! ```

use std::ops::Range;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::tokens::{is_token, is_word};

/// Words that a clause begins with which may stand on either side of a lock.
const LIMITS: [&str; 3] = ["limit", "offset", "fetch"];

/// The tokens of one statement with every lock behind the limit of its query.
pub(crate) fn after_limits(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        let lock = lock_end(&tokens, at).filter(|end| limits(&tokens, *end));
        at = match lock {
            Some(end) => {
                let last = query_end(&tokens, end);
                if let Some(both) = tokens.get_mut(at..last) {
                    both.rotate_left(end - at);
                }
                last
            }
            None => at + 1,
        };
    }
    each_table(tokens)
}

/// The same with a lock for each table that one lock names.
fn each_table(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let several = |at: usize| {
        let names = lock_names(&tokens, at)?;
        let written = tokens.get(names.clone())?;
        let comma = |one: &TokenWithSpan| one.token == Token::Comma;
        written.iter().any(comma).then_some((names, written, comma))
    };
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let lock = several(at).zip(lock_end(&tokens, at));
        let Some(((names, written, comma), end)) = lock else {
            out.push(token.clone());
            at += 1;
            continue;
        };
        let before = tokens.get(at..names.start).unwrap_or_default();
        let after = tokens.get(names.end..end).unwrap_or_default();
        for name in written.split(comma) {
            for part in [before, name, after] {
                out.extend_from_slice(part);
            }
        }
        at = end;
    }
    out
}

/// Where the names of a lock stand that begins here.
fn lock_names(tokens: &[TokenWithSpan], at: usize) -> Option<Range<usize>> {
    let end = lock_end(tokens, at)?;
    let of = (at..end).find(|place| is_word(tokens.get(*place), "of"))?;
    let last = (of + 1..end).find(|place| ends_names(tokens, *place));
    Some(of + 1..last.unwrap_or(end))
}

/// Where a lock ends that begins here.
fn lock_end(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let are = |words: &[&str], from: usize| {
        let mut words = words.iter().enumerate();
        words.all(|(place, word)| is_word(tokens.get(from + place), word))
    };
    let strengths: [&[&str]; 4] = [
        &["for", "update"],
        &["for", "share"],
        &["for", "no", "key", "update"],
        &["for", "key", "share"],
    ];
    let strength = strengths.iter().find(|words| are(words, at))?;
    let mut end = at + strength.len();
    if are(&["of"], end) {
        end += 1;
        // Names and the dots and commas between them.
        while tokens.get(end).is_some_and(|_| !ends_names(tokens, end)) {
            end += 1;
        }
    }
    if are(&["nowait"], end) {
        end += 1;
    } else if are(&["skip", "locked"], end) {
        end += 2;
    }
    Some(end)
}

fn ends_names(tokens: &[TokenWithSpan], at: usize) -> bool {
    let here = tokens.get(at);
    let ends = ["nowait", "skip", "for", "returning"];
    limits(tokens, at)
        || is_token(here, &Token::RParen)
        || ends.iter().any(|word| is_word(here, word))
}

fn limits(tokens: &[TokenWithSpan], at: usize) -> bool {
    LIMITS.iter().any(|word| is_word(tokens.get(at), word))
}

/// Where the query ends whose limit begins here, or the next lock begins.
fn query_end(tokens: &[TokenWithSpan], from: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(from) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return place,
            Token::RParen => depth -= 1,
            Token::SemiColon => return place,
            _ if depth == 0 && lock_end(tokens, place).is_some() => return place,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_lock_may_stand_before_the_limit() {
        for (before, after) in [
            (
                "SELECT a FROM t FOR UPDATE SKIP LOCKED LIMIT 1 OFFSET 2",
                "SELECT a FROM t LIMIT 1 OFFSET 2 FOR UPDATE SKIP LOCKED",
            ),
            (
                "SELECT a FROM (SELECT a FROM t FOR SHARE OF t LIMIT (1 + 1)) AS s",
                "SELECT a FROM (SELECT a FROM t LIMIT (1 + 1) FOR SHARE OF t) AS s",
            ),
            (
                "DELETE FROM t WHERE a IN (SELECT a FROM t FOR UPDATE NOWAIT LIMIT 1) RETURNING a",
                "DELETE FROM t WHERE a IN (SELECT a FROM t LIMIT 1 FOR UPDATE NOWAIT) RETURNING a",
            ),
            (
                "SELECT a FROM t, s FOR UPDATE OF t, s SKIP LOCKED LIMIT 1",
                "SELECT a FROM t, s LIMIT 1 FOR UPDATE OF t SKIP LOCKED FOR UPDATE OF s SKIP LOCKED",
            ),
            (
                "SELECT a FROM t, s FOR SHARE OF t, s",
                "SELECT a FROM t, s FOR SHARE OF t FOR SHARE OF s",
            ),
        ] {
            let kind = |text: &str| format!("{:?}", crate::parse(text).unwrap()[0].kind);
            let bare = |text: &str| {
                let places = |letter: char| letter.is_ascii_digit();
                kind(text).replace(places, "")
            };
            assert_eq!(bare(before), bare(after), "{before}");
        }
        assert!(crate::parse("SELECT a FROM t FOR UPDATE LIMIT").is_err());
    }
}
