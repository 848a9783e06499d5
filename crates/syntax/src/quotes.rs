//! What a double-quoted token is: a name, as in PostgreSQL, or a string, as in YQL.
//!
//! # The rule
//!
//! **`"…"` is a name, unless no name can stand there, or the text speaks YQL: then it is a string.**
//!
//! No name can stand
//!
//! - in the rows of `INSERT`, `UPSERT`, `REPLACE … VALUES (…)`, outside a query nested in them,
//! - in the parentheses of a typed literal: `Timestamp("2026-01-01T00:00:00Z")`,
//! - as the value of an option: `WITH (…)`, `SET (…)`, `FAMILY f (…)`, `PARTITION_AT_KEYS`,
//!   `SPLIT AT (…)`, `MERGE PARTITIONS AT (…)`,
//! - directly after `DEFAULT` in CREATE and ALTER TABLE,
//! - before a suffix that only strings have: `"abc"u`.
//!
//! PostgreSQL refuses a column in each of these places, so none of its statements changes meaning.
//!
//! A text speaks YQL when it holds something PostgreSQL has no form for: a first line `--!syntax_v1`,
//! a name in backticks, a parameter or named expression with a name (`$id`, not `$1`), `PRAGMA`,
//! `DECLARE $…`, or a list written out (`AsList(…)`, `AsStruct(…)`, `AS_TABLE(…)`). There `"…"` is a string everywhere, for YQL quotes names with backticks only.
//!
//! ```text
//!   SELECT "Id" FROM "Orders" WHERE note = 'x'             names
//!   UPSERT INTO "Orders" ("Id", note) VALUES (1, "x")      names, and the string x
//!   SELECT * FROM orders WHERE note = "x"                  a name: column x, not the string
//!   SELECT * FROM `dir/orders` WHERE note = "x"            the string x: there is a backtick
//!   SELECT * FROM orders WHERE id = $id AND note = "x"     the string x: there is $id
//! ```
//!
//! `UPSERT`, `REPLACE` and `Digest::…` do not make a text YQL: whoever reaches this database through
//! PostgreSQL's drivers uses them beside quoted names.
//!
//! # Where a string ends
//!
//! The same for both: at the next `"` that is not doubled. A backslash never hides a quote, because
//! clients that quote names for PostgreSQL rely on that. Once the ends are found, the escapes of C
//! are read in strings that only YQL has, that is in double quotes or before a suffix; a plain
//! `'…'` keeps its backslashes, as in PostgreSQL.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result};
use crate::span::Span;
use crate::tokens::{bare_word, is_token, is_word};

/// Suffixes that only strings have, with the type each gives.
pub(crate) const STRING_SUFFIXES: &[(&str, &str)] =
    &[("u", "Utf8"), ("s", "String"), ("j", "Json")];

/// Functions that only YQL has and that take strings.
const YQL_CALLS: &[&str] = &["as_table", "aslist", "asstruct"];

/// Whether a text holds something that only YQL has a form for; see the module's first page.
pub(crate) fn speaks_yql(text: &str, tokens: &[TokenWithSpan]) -> bool {
    text.trim_start().starts_with("--!syntax")
        || tokens
            .iter()
            .enumerate()
            .any(|(at, token)| match &token.token {
                Token::Word(word) if word.quote_style == Some('`') => true,
                Token::Word(word) if word.quote_style.is_none() => {
                    let begins = at == 0 || is_token(tokens.get(at - 1), &Token::SemiColon);
                    let calls = is_token(tokens.get(at + 1), &Token::LParen);
                    let named = |name: &&str| word.value.eq_ignore_ascii_case(name);
                    begins && named(&"pragma") || calls && YQL_CALLS.iter().any(named)
                }
                Token::Placeholder(name) => is_named(name),
                _ => false,
            })
}

/// Whether a parameter has a name of YQL (`$id`) and not a number of PostgreSQL (`$1`).
pub(crate) fn is_named(placeholder: &str) -> bool {
    placeholder
        .strip_prefix('$')
        .and_then(|name| name.chars().next())
        .is_some_and(|first| !first.is_ascii_digit())
}

/// Turns double-quoted tokens of one statement into strings where the rule says so.
pub(crate) fn decide(text: &str, tokens: &mut [TokenWithSpan], yql: bool) -> Result<()> {
    let mut places = Places::new(tokens);
    for at in 0..tokens.len() {
        places.step(tokens, at);
        let Some(token) = tokens.get(at) else { break };
        let Token::Word(word) = &token.token else {
            continue;
        };
        if word.quote_style != Some('"') || !(yql || places.only_values(tokens, at)) {
            continue;
        }
        let string = unescape(text, Span::from(token.span).start, &word.value)?;
        if let Some(token) = tokens.get_mut(at) {
            token.token = Token::SingleQuotedString(string);
        }
    }
    Ok(())
}

/// What the statement does, as far as places for values depend on it.
#[derive(Clone, Copy, PartialEq)]
enum Verb {
    Define,
    Write,
    Other,
}

/// Follows the parentheses of a statement and knows where only values stand.
struct Places {
    verb: Verb,
    /// For each open parenthesis, whether only values stand in it.
    open: Vec<bool>,
    /// Whether the next parenthesis at the top opens a row of values.
    rows: bool,
}

impl Places {
    fn new(tokens: &[TokenWithSpan]) -> Self {
        let verb = tokens
            .iter()
            .find_map(
                |token| match bare_word(&token.token)?.value.to_ascii_lowercase().as_str() {
                    "create" | "alter" => Some(Verb::Define),
                    "insert" | "upsert" | "replace" | "update" | "delete" => Some(Verb::Write),
                    "select" | "with" | "from" => Some(Verb::Other),
                    _ => None,
                },
            )
            .unwrap_or(Verb::Other);
        Self {
            verb,
            open: Vec::new(),
            rows: false,
        }
    }

    fn step(&mut self, tokens: &[TokenWithSpan], at: usize) {
        let token = tokens.get(at);
        if is_token(token, &Token::LParen) {
            let values = self.opens_values(tokens, at);
            self.open.push(values);
        } else if is_token(token, &Token::RParen) {
            self.open.pop();
        } else if self.open.is_empty()
            && let Some(word) = token.and_then(|token| bare_word(&token.token))
        {
            self.rows = match self.verb {
                Verb::Write => word.value.eq_ignore_ascii_case("values"),
                Verb::Define => word.value.eq_ignore_ascii_case("at"),
                Verb::Other => false,
            };
        }
    }

    fn opens_values(&self, tokens: &[TokenWithSpan], at: usize) -> bool {
        let next = tokens.get(at + 1);
        if is_word(next, "select") || is_word(next, "with") {
            return false;
        }
        if let Some(values) = self.open.last()
            && *values
        {
            return true;
        }
        if self.open.is_empty() && self.rows {
            return true;
        }
        let before = |back: usize| at.checked_sub(back).and_then(|place| tokens.get(place));
        self.verb == Verb::Define
            && (is_word(before(1), "with")
                || is_word(before(1), "set")
                || is_word(before(2), "family"))
    }

    /// Whether the double-quoted token at this place cannot be a name.
    fn only_values(&self, tokens: &[TokenWithSpan], at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).and_then(|place| tokens.get(place));
        let next = tokens.get(at + 1);
        if is_token(next, &Token::Period) || is_token(before(1), &Token::Period) {
            return false;
        }
        let in_values = self.open.last().copied().unwrap_or(false)
            && !is_token(next, &Token::Eq)
            && !is_word(before(1), "on");
        let is_default = self.verb == Verb::Define && is_word(before(1), "default");
        in_values
            || is_default
            || is_typed_literal(tokens, at)
            || string_suffix(tokens, at).is_some()
    }
}

/// Whether `Type ( here )` or `Type ( here , …` stands in the tokens.
fn is_typed_literal(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(open) = at.checked_sub(1) else {
        return false;
    };
    let Some(word) = at.checked_sub(2).and_then(|place| tokens.get(place)) else {
        return false;
    };
    let closes = is_token(tokens.get(at + 1), &Token::RParen);
    let continues = is_token(tokens.get(at + 1), &Token::Comma);
    is_token(tokens.get(open), &Token::LParen)
        && bare_word(&word.token).is_some_and(|word| {
            let is_type = keys::Type::parse(&word.value).is_ok();
            is_type && (closes || continues && word.value.eq_ignore_ascii_case("decimal"))
        })
}

/// The type that a suffix right after the string at this place gives it.
pub(crate) fn string_suffix(tokens: &[TokenWithSpan], at: usize) -> Option<&'static str> {
    let (string, suffix) = (tokens.get(at)?, tokens.get(at + 1)?);
    if string.span.end != suffix.span.start {
        return None;
    }
    let written = bare_word(&suffix.token)?;
    STRING_SUFFIXES
        .iter()
        .find(|(name, _)| written.value.eq_ignore_ascii_case(name))
        .map(|(_, kind)| *kind)
}

/// Reads the escapes of C in a string of YQL that begins at `start`.
pub(crate) fn unescape(text: &str, start: usize, written: &str) -> Result<String> {
    if !written.contains('\\') {
        return Ok(written.to_owned());
    }
    let mut read = String::with_capacity(written.len());
    let mut chars = written.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            read.push(char);
            continue;
        }
        let escape = match chars.next() {
            Some(plain @ ('\\' | '\'' | '"' | '`' | '/')) => Some(plain),
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('a') => Some('\x07'),
            Some('b') => Some('\x08'),
            Some('f') => Some('\x0c'),
            Some('v') => Some('\x0b'),
            Some('0') => Some('\0'),
            Some('x') => hex(&mut chars, 2).filter(char::is_ascii),
            Some('u') => hex(&mut chars, 4),
            Some('U') => hex(&mut chars, 8),
            _ => None,
        };
        read.push(escape.ok_or_else(|| {
            let reason = "a backslash in this string begins no escape that is known: \
                          double it, and write a quote inside the string twice";
            Error::invalid(text, start, reason)
        })?);
    }
    Ok(read)
}

fn hex(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let mut code = 0_u32;
    for _ in 0..digits {
        code = code.checked_mul(16)? + chars.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}
