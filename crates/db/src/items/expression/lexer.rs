//! Text to tokens: words, names in backticks, strings, numbers, times and signs.

use std::fmt::{self, Display, Formatter};

use crate::items::expression::error::{Error, Result};

/// A token and where it begins, in characters counted from one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) at: usize,
    pub(super) lexeme: Lexeme<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lexeme<'a> {
    /// A word of the language, or a name.
    Word(&'a str),
    /// A name in backticks.
    Quoted(&'a str),
    /// A string without its quotes.
    Text(&'a str),
    Number(&'a str),
    Time(&'a str),
    Sign(&'static str),
    End,
}

/// Longer signs come before those that they begin with.
const SIGNS: [&str; 24] = [
    "==", "!=", "<=", ">=", "<<", ">>", "..", "<", ">", "=", "+", "-", "*", "/", "&", "|", "^",
    "~", "(", ")", "[", "]", ",", ";",
];

/// What people of other languages write, and what it is called here.
const FOREIGN: [(&str, &str); 3] = [("&&", "AND"), ("||", "OR"), ("<>", "!=")];

impl Display for Lexeme<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) | Self::Time(text) => write!(f, "`{text}`"),
            Self::Quoted(name) => write!(f, "the name `{name}`"),
            Self::Text(text) => write!(f, "the string '{text}'"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// All tokens of a text; the last is [`Lexeme::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut at = 1;
    let mut rest = text;
    loop {
        let begin = rest.trim_start();
        at += chars_between(rest, begin);
        let (lexeme, after) = lexeme(begin, at)?;
        tokens.push(Token { at, lexeme });
        if lexeme == Lexeme::End {
            return Ok(tokens);
        }
        at += chars_between(begin, after);
        rest = after;
    }
}

fn chars_between(longer: &str, its_tail: &str) -> usize {
    let (before, _) = longer
        .split_at_checked(longer.len() - its_tail.len())
        .expect("a tail begins at a character");
    before.chars().count()
}

/// The token that a text begins with, and the text after it.
fn lexeme(text: &str, at: usize) -> Result<(Lexeme<'_>, &str)> {
    let Some(first) = text.chars().next() else {
        return Ok((Lexeme::End, text));
    };
    match first {
        '\'' | '"' => enclosed(text, first, at).map(|(inner, rest)| (Lexeme::Text(inner), rest)),
        '`' => enclosed(text, first, at).map(|(inner, rest)| (Lexeme::Quoted(inner), rest)),
        'a'..='z' | 'A'..='Z' | '_' => {
            let word = |char: char| char.is_ascii_alphanumeric() || char == '_';
            let (word, rest) = span(text, word);
            Ok((Lexeme::Word(word), rest))
        }
        _ if begins_number(text) => Ok(number(text)),
        _ => sign(text, first, at),
    }
}

fn enclosed(text: &str, quote: char, at: usize) -> Result<(&str, &str)> {
    let inner = text.strip_prefix(quote).unwrap_or_default();
    inner.split_once(quote).ok_or_else(|| Error::Syntax {
        at,
        expected: format!("a closing {quote}"),
        found: "the end".to_owned(),
    })
}

fn sign(text: &str, first: char, at: usize) -> Result<(Lexeme<'_>, &str)> {
    let foreign = FOREIGN.iter().find(|(sign, _)| text.starts_with(sign));
    if let Some((sign, ours)) = foreign {
        return Err(Error::Syntax {
            at,
            expected: format!("`{ours}`"),
            found: format!("`{sign}`"),
        });
    }
    let sign = SIGNS
        .iter()
        .find_map(|sign| Some((Lexeme::Sign(sign), text.strip_prefix(sign)?)));
    sign.ok_or_else(|| Error::Syntax {
        at,
        expected: match first {
            '!' => "`!=` or `NOT`".to_owned(),
            _ => "a name, a value or an operator".to_owned(),
        },
        found: format!("`{first}`"),
    })
}

fn begins_number(text: &str) -> bool {
    let text = text.strip_prefix('.').unwrap_or(text);
    text.starts_with(|char: char| char.is_ascii_digit())
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|char| !belongs(char)).unwrap_or(text.len());
    text.split_at_checked(end)
        .expect("find answers the beginning of a character")
}

fn digits(text: &str) -> (&str, &str) {
    span(text, |char| char.is_ascii_digit())
}

/// A number or a time. A point that another point follows belongs to a slice: `a[0..4]`.
fn number(text: &str) -> (Lexeme<'_>, &str) {
    let until = |rest: &str| {
        text.split_at_checked(text.len() - rest.len())
            .expect("a tail begins at a character")
    };
    let (whole, mut rest) = digits(text);
    if let Some(nanos) = rest.strip_prefix(':') {
        let (nanos, rest) = digits(nanos.strip_prefix('-').unwrap_or(nanos));
        if !whole.is_empty() && !nanos.is_empty() {
            let (time, rest) = until(rest);
            return (Lexeme::Time(time), rest);
        }
    }
    if let Some(fraction) = rest.strip_prefix('.')
        && !fraction.starts_with('.')
    {
        (_, rest) = digits(fraction);
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let (power, after) = digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
        if !power.is_empty() {
            rest = after;
        }
    }
    let (number, rest) = until(rest);
    (Lexeme::Number(number), rest)
}
