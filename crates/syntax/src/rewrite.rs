//! YQL's forms as tokens that sqlparser understands.
//!
//! sqlparser reads some of YQL's forms as something else without a word: `Digest::NumericHash(1)` as
//! a cast, `1ul` and `'a'u` as a value with an alias, `t VIEW ix` as a table with an alias. Each is
//! replaced here, before the parser, by a form that means the same and that its trees can hold:
//!
//! ```text
//!   written                        given to the parser            in the tree
//!   Digest::NumericHash(1)         one word, then (1)             a call of `Digest::NumericHash`
//!   1001ul   1.5f   'a'u           CAST(1001 AS Uint64) …         a cast of a literal
//!   Timestamp("…")  Uuid("…")      CAST('…' AS TIMESTAMPTZ) …     a cast of a literal
//!   Decimal("1.5", 22, 9)          CAST('1.5' AS Decimal(22, 9))  a cast of a literal
//!   0x1F  0o17  0b11               31  15  3                      a number
//!   CAST(x AS Int8), x::Float      … AS TINYINT), x::REAL         the type YQL means, see `keys`
//!   x::Timestamp                   x::TIMESTAMPTZ                 an instant, see `keys::declared`
//!   FROM t VIEW ix AS a            FROM t AS a USE INDEX (ix)     the table's index hint
//!   FROM t VIEW PRIMARY KEY        FROM t                         a table
//!   FROM $q                        FROM `$q`                      a table named $q
//!   x IN $list                     x IN ($list)                   a list of one parameter
//!   FOR NO KEY UPDATE              FOR UPDATE                     a lock; FOR KEY SHARE as FOR SHARE
//!   `.sys/partition_stats`         sys.partition_stats            a name of two parts
//!   TABLE t                        SELECT * FROM t                a query
//!   WHERE CURRENT OF c             WHERE "current of"('c')        a call that no function answers
//! ```
//!
//! `word::word(` is a call unless the second word is a type that takes parameters, so that
//! `price::numeric(10, 2)` stays the cast it is in PostgreSQL. A word that touches a number or a
//! string and is neither a suffix nor a keyword is an error, never an alias. The tokens put in carry
//! the place of what they replace.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result};
use crate::quotes::{is_named, string_suffix, unescape};
use crate::span::Span;
use crate::tokens::{bare_word, is_token, is_word};

/// What WHERE CURRENT OF calls in the tree.
pub const CURRENT_OF: &str = "current of";

/// Suffixes of numbers, with the type each gives.
const NUMBER_SUFFIXES: &[(&str, &str)] = &[
    ("l", "Int64"),
    ("s", "Int16"),
    ("t", "TINYINT"),
    ("u", "Uint32"),
    ("ul", "Uint64"),
    ("us", "Uint16"),
    ("ut", "Uint8"),
    ("f", "REAL"),
];

/// Types of PostgreSQL that take parameters and that `keys` does not know.
const OTHER_PARAMETRIC_TYPES: &[&str] = &["bit", "varbit", "time", "timetz", "varchar2", "nchar"];

/// Words after which `view` is a name and not the word that chooses an index.
const BEFORE_NAMES: &[Keyword] = &[
    Keyword::AND,
    Keyword::AS,
    Keyword::BY,
    Keyword::DISTINCT,
    Keyword::FROM,
    Keyword::INTO,
    Keyword::JOIN,
    Keyword::NOT,
    Keyword::ON,
    Keyword::OR,
    Keyword::SELECT,
    Keyword::SET,
    Keyword::UPDATE,
    Keyword::WHERE,
];

/// Rewrites the tokens of one statement.
pub(crate) fn rewrite(text: &str, tokens: &[TokenWithSpan]) -> Result<Vec<TokenWithSpan>> {
    let mut rewriter = Rewriter {
        text,
        tokens,
        out: Vec::with_capacity(tokens.len() + 8),
        casts: Vec::new(),
        reads: reads(tokens),
    };
    let mut at = rewriter.table();
    while at < tokens.len() {
        at += rewriter.step(at)?;
    }
    Ok(rewriter.out)
}

/// Whether the statement reads or writes rows, so that VIEW after a table names an index.
fn reads(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens
        .iter()
        .filter_map(|token| bare_word(&token.token))
        .map(|word| word.value.to_ascii_lowercase())
        .find(|word| {
            !matches!(
                word.as_str(),
                "explain" | "analyze" | "verbose" | "format" | "json"
            )
        });
    !first.is_some_and(|word| matches!(word.as_str(), "create" | "alter" | "drop" | "comment"))
}

struct Rewriter<'t> {
    text: &'t str,
    tokens: &'t [TokenWithSpan],
    out: Vec<TokenWithSpan>,
    /// For each open parenthesis, whether CAST opened it.
    casts: Vec<bool>,
    reads: bool,
}

impl Rewriter<'_> {
    fn get(&self, at: usize) -> Option<&TokenWithSpan> {
        self.tokens.get(at)
    }

    fn previous(&self, at: usize) -> Option<&TokenWithSpan> {
        at.checked_sub(1).and_then(|before| self.tokens.get(before))
    }

    fn put(&mut self, token: Token, span: Span) {
        self.out.push(TokenWithSpan::new(token, span.encode()));
    }

    /// Puts `CAST ( value AS type )` with one place for all of it.
    fn put_cast(&mut self, value: Token, kind: impl IntoIterator<Item = Token>, span: Span) {
        let mut tokens = vec![Token::make_keyword("CAST"), Token::LParen, value];
        tokens.push(Token::make_keyword("AS"));
        tokens.extend(kind);
        tokens.push(Token::RParen);
        for token in tokens {
            self.put(token, span);
        }
    }

    /// A statement that is nothing but TABLE and a name.
    fn table(&mut self) -> usize {
        let first = self
            .tokens
            .first()
            .filter(|one| is_word(Some(one), "table"));
        let Some(span) = first.map(|first| Span::from(first.span)) else {
            return 0;
        };
        self.put(Token::make_keyword("SELECT"), span);
        self.put(Token::Mul, span);
        self.put(Token::make_keyword("FROM"), span);
        1
    }

    /// Rewrites what stands at `at` and answers how many tokens that took.
    fn step(&mut self, at: usize) -> Result<usize> {
        let Some(here) = self.get(at).cloned() else {
            return Ok(1);
        };
        let span = Span::from(here.span);
        match &here.token {
            Token::Number(digits, long) => self.number(at, digits.replace('_', ""), *long, span),
            Token::HexStringLiteral(digits) if span.slice(self.text).starts_with("0x") => {
                let decimal = self.decimal(digits, 16, span)?;
                self.number(at, decimal, false, span)
            }
            Token::SingleQuotedString(string) => self.string(at, string, span),
            Token::Placeholder(name) => Ok(self.placeholder(at, name, span)),
            Token::Word(_) => Ok(self.word(at, here)),
            token => {
                match token {
                    Token::LParen => self.casts.push(is_word(self.previous(at), "cast")),
                    Token::RParen => {
                        self.casts.pop();
                    }
                    _ => {}
                }
                self.out.push(here);
                Ok(1)
            }
        }
    }

    fn number(&mut self, at: usize, digits: String, long: bool, span: Span) -> Result<usize> {
        if long {
            self.put_cast(Token::Number(digits, false), [kind("Int64")], span);
            return Ok(1);
        }
        let Some(word) = self.touching(at) else {
            self.put(Token::Number(digits, false), span);
            return Ok(1);
        };
        let suffix = word.to_ascii_lowercase();
        let whole = span.to(self.get(at + 1).map_or(span, |next| Span::from(next.span)));
        let radix = match suffix.chars().next() {
            Some('o') => Some(8),
            Some('b') => Some(2),
            _ => None,
        };
        if let (Some(radix), "0") = (radix, digits.as_str()) {
            let decimal = self.decimal(suffix.get(1..).unwrap_or_default(), radix, span)?;
            self.put(Token::Number(decimal, false), whole);
            return Ok(2);
        }
        let Some((_, name)) = NUMBER_SUFFIXES.iter().find(|(name, _)| *name == suffix) else {
            self.refuse_suffix(at, "the number")?;
            self.put(Token::Number(digits, false), span);
            return Ok(1);
        };
        self.put_cast(Token::Number(digits, false), [kind(name)], whole);
        Ok(2)
    }

    fn decimal(&self, digits: &str, radix: u32, span: Span) -> Result<String> {
        let plain: String = digits.chars().filter(|digit| *digit != '_').collect();
        match u64::from_str_radix(&plain, radix) {
            Ok(number) => Ok(number.to_string()),
            Err(_) => Err(Error::invalid(
                self.text,
                span.start,
                format!("this is not a number in base {radix} of at most 64 bits"),
            )),
        }
    }

    /// The word that touches the end of the token at `at`.
    fn touching(&self, at: usize) -> Option<String> {
        let (token, next) = (self.get(at)?, self.get(at + 1)?);
        let word = bare_word(&next.token)?;
        (token.span.end == next.span.start).then(|| word.value.clone())
    }

    /// What a word means that touches a literal and is no suffix: the next clause, or a mistake.
    fn refuse_suffix(&self, at: usize, what: &str) -> Result<()> {
        let next = self.get(at + 1);
        let word = next.and_then(|token| bare_word(&token.token));
        match (self.get(at), word) {
            (Some(literal), Some(word)) if word.keyword == Keyword::NoKeyword => {
                let word = &word.value;
                let reason = format!(
                    "{what} is followed by `{word}`, which is no suffix: put a space between"
                );
                Err(Error::invalid(
                    self.text,
                    Span::from(literal.span).start,
                    reason,
                ))
            }
            _ => Ok(()),
        }
    }

    fn string(&mut self, at: usize, string: &str, span: Span) -> Result<usize> {
        let Some(name) = string_suffix(self.tokens, at) else {
            if self.touching(at).is_some() {
                self.refuse_suffix(at, "the string")?;
            }
            self.put(Token::SingleQuotedString(string.to_owned()), span);
            return Ok(1);
        };
        // A double-quoted string was unescaped when it became one.
        let value = if span.slice(self.text).starts_with('\'') {
            unescape(self.text, span.start, string)?
        } else {
            string.to_owned()
        };
        let whole = span.to(self.get(at + 1).map_or(span, |next| Span::from(next.span)));
        self.put_cast(Token::SingleQuotedString(value), [kind(name)], whole);
        Ok(2)
    }

    fn placeholder(&mut self, at: usize, name: &str, span: Span) -> usize {
        let previous = self.previous(at);
        if is_named(name) && (is_word(previous, "from") || is_word(previous, "join")) {
            self.put(Token::make_word(name, Some('`')), span);
        } else if is_word(previous, "in") {
            self.put(Token::LParen, span);
            self.put(Token::Placeholder(name.to_owned()), span);
            self.put(Token::RParen, span);
        } else {
            self.put(Token::Placeholder(name.to_owned()), span);
        }
        1
    }

    fn word(&mut self, at: usize, here: TokenWithSpan) -> usize {
        let span = Span::from(here.span);
        if let Token::Word(word) = &here.token
            && word.quote_style == Some('`')
            && let Some(view) = word.value.strip_prefix(".sys/")
        {
            let plain = view
                .chars()
                .all(|char| matches!(char, 'a'..='z' | '0'..='9' | '_'));
            self.put(Token::make_word("sys", None), span);
            self.put(Token::Period, span);
            self.put(Token::make_word(view, (!plain).then_some('`')), span);
            return 1;
        }
        let Some(word) = bare_word(&here.token).map(|word| word.value.clone()) else {
            self.out.push(here);
            return 1;
        };
        let qualified = is_token(self.previous(at), &Token::Period);
        let rewritten = if qualified {
            None
        } else {
            self.module_call(at, &word)
                .or_else(|| self.typed_literal(at, &word))
                .or_else(|| self.view(at, &word))
                .or_else(|| self.weak_lock(at))
                .or_else(|| self.current_of(at))
        };
        rewritten.unwrap_or_else(|| {
            match yql_spelling(&word).filter(|_| self.is_type_place(at)) {
                Some(name) => self.put(kind(name), span),
                None => self.out.push(here),
            }
            1
        })
    }

    /// NO KEY and KEY after FOR, which say how little a lock is to lock.
    fn weak_lock(&mut self, at: usize) -> Option<usize> {
        if !is_word(self.previous(at), "for") {
            return None;
        }
        let is = |place: usize, word: &str| is_word(self.get(place), word);
        let no_key_update = is(at, "no") && is(at + 1, "key") && is(at + 2, "update");
        let key_share = is(at, "key") && is(at + 1, "share");
        match (no_key_update, key_share) {
            (true, _) => Some(2),
            (_, true) => Some(1),
            _ => None,
        }
    }

    /// WHERE CURRENT OF and a cursor's name.
    fn current_of(&mut self, at: usize) -> Option<usize> {
        let follows = is_word(self.previous(at), "where") && is_word(self.get(at), "current");
        if !follows || !is_word(self.get(at + 1), "of") {
            return None;
        }
        let cursor = self.get(at + 2)?;
        let Token::Word(name) = &cursor.token else {
            return None;
        };
        let name = Token::SingleQuotedString(name.value.clone());
        let span = Span::from(self.get(at)?.span).to(Span::from(cursor.span));
        let call = Token::make_word(CURRENT_OF, Some('"'));
        for token in [call, Token::LParen, name, Token::RParen] {
            self.put(token, span);
        }
        Some(3)
    }

    fn module_call(&mut self, at: usize, word: &str) -> Option<usize> {
        if !is_token(self.get(at + 1), &Token::DoubleColon)
            || !is_token(self.get(at + 3), &Token::LParen)
        {
            return None;
        }
        let function = self.get(at + 2)?;
        let name = bare_word(&function.token)?.value.clone();
        if takes_parameters(&name) {
            return None;
        }
        let span = Span::from(self.get(at)?.span).to(Span::from(function.span));
        let mut joined = Token::make_word(&format!("{word}::{name}"), None);
        if let Token::Word(word) = &mut joined {
            word.keyword = Keyword::NoKeyword;
        }
        self.put(joined, span);
        Some(3)
    }

    fn typed_literal(&mut self, at: usize, word: &str) -> Option<usize> {
        if !is_token(self.get(at + 1), &Token::LParen) || is_word(self.previous(at), "as") {
            return None;
        }
        let Token::SingleQuotedString(string) = &self.get(at + 2)?.token else {
            return None;
        };
        let string = Token::SingleQuotedString(string.clone());
        let kept = yql_spelling(word).unwrap_or(word);
        keys::Type::parse(word).ok()?;
        let mut parameters = Vec::new();
        let mut taken = 4;
        if word.eq_ignore_ascii_case("decimal") && is_token(self.get(at + 3), &Token::Comma) {
            let wanted = self.tokens.get(at + 4..at + 7)?;
            parameters.push(Token::LParen);
            parameters.extend(wanted.iter().map(|token| token.token.clone()));
            parameters.push(Token::RParen);
            taken = 8;
        }
        let close = self.get(at + taken - 1)?;
        if close.token != Token::RParen {
            return None;
        }
        let span = Span::from(self.get(at)?.span).to(Span::from(close.span));
        let name = std::iter::once(kind(kept)).chain(parameters);
        self.put_cast(string, name, span);
        Some(taken)
    }

    fn view(&mut self, at: usize, word: &str) -> Option<usize> {
        let after_name = match &self.previous(at)?.token {
            Token::Word(word) => !BEFORE_NAMES.contains(&word.keyword),
            _ => false,
        };
        if !self.reads || !after_name || !word.eq_ignore_ascii_case("view") {
            return None;
        }
        let index = self.get(at + 1)?.clone();
        if is_word(Some(&index), "primary") && is_word(self.get(at + 2), "key") {
            return Some(3);
        }
        let Token::Word(name) = &index.token else {
            return None;
        };
        if name.quote_style.is_none() && name.keyword != Keyword::NoKeyword {
            return None;
        }
        let mut taken = 2;
        if is_word(self.get(at + 2), "as") {
            taken += 2;
        } else if let Some(Token::Word(alias)) = self.get(at + 2).map(|token| &token.token)
            && (alias.quote_style.is_some() || alias.keyword == Keyword::NoKeyword)
        {
            taken += 1;
        }
        let alias = self.tokens.get(at + 2..at + taken)?;
        self.out.extend_from_slice(alias);
        let span = Span::from(index.span);
        self.put(Token::make_keyword("USE"), span);
        self.put(Token::make_keyword("INDEX"), span);
        self.put(Token::LParen, span);
        self.out.push(index);
        self.put(Token::RParen, span);
        Some(taken)
    }

    /// Whether a type stands at this place: after `::`, or after AS in a cast.
    fn is_type_place(&self, at: usize) -> bool {
        // WITH TIME ZONE is PostgreSQL's, however the word before it is spelled.
        let zone = ["with", "without"].map(|word| is_word(self.get(at + 1), word));
        if zone.contains(&true) {
            return false;
        }
        is_token(self.previous(at), &Token::DoubleColon)
            || is_word(self.previous(at), "as") && self.casts.last().copied().unwrap_or(false)
    }
}

/// The unambiguous name of a type whose YQL spelling means another type in PostgreSQL.
fn yql_spelling(word: &str) -> Option<&'static str> {
    match word {
        "Int8" => Some("TINYINT"),
        "Float" => Some("REAL"),
        "Timestamp" => Some("TIMESTAMPTZ"),
        _ => None,
    }
}

fn kind(name: &str) -> Token {
    Token::make_word(name, None)
}

fn takes_parameters(name: &str) -> bool {
    keys::Type::parse(&format!("{name}(1)")).is_ok()
        || OTHER_PARAMETRIC_TYPES
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other))
}
