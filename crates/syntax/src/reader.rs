//! One statement being read: sqlparser's parser, our words, and errors with places.
//!
//! The parser does the reading; this wraps it so that a grammar of ours asks for words by name
//! (many of YQL's are no keywords to sqlparser), learns the place of what it read, and turns
//! sqlparser's messages into [`Error`]s of ours.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast;
use crate::dialect::EvenKeel;
use crate::error::{Error, Result};
use crate::span::{Position, Span};
use crate::statement::{Expression, Ident, Name};
use crate::tokens::{NESTING_MAX, is_word, sentence, span_of};

/// Calls of the parser into itself: a level of parentheses may take three.
const PARSER_DEPTH_MAX: usize = 3 * NESTING_MAX;
/// Characters of what was found that an error repeats.
const FOUND_CHARS_MAX: usize = 40;

/// One statement being read.
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    pub(crate) span: Span,
    count: usize,
    dialect: &'t EvenKeel,
    parser: Parser<'t>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str, dialect: &'t EvenKeel, tokens: Vec<TokenWithSpan>) -> Self {
        Self {
            text,
            span: span_of(&tokens),
            count: tokens.len(),
            dialect,
            parser: Parser::new(dialect)
                .with_recursion_limit(PARSER_DEPTH_MAX)
                .with_tokens_with_locations(tokens),
        }
    }

    /// The same statement from the beginning.
    pub(crate) fn again(self) -> Self {
        Self::new(self.text, self.dialect, self.parser.into_tokens())
    }

    /// What is not read yet, as a statement of its own.
    pub(crate) fn rest(self) -> Self {
        let read = self.parser.index();
        let tokens = self.parser.into_tokens();
        Self::new(
            self.text,
            self.dialect,
            tokens.into_iter().skip(read).collect(),
        )
    }

    fn token(&self, index: usize) -> Option<&TokenWithSpan> {
        (index < self.count).then(|| self.parser.token_at(index))
    }

    /// The token `ahead` of the next.
    pub(crate) fn peek(&self, ahead: usize) -> Option<&TokenWithSpan> {
        self.token(self.parser.index() + ahead)
    }

    /// Where the next token begins.
    pub(crate) fn start(&self) -> usize {
        self.peek(0)
            .map_or(self.span.end, |token| Span::from(token.span).start)
    }

    /// The bytes from `start` to the end of what was read last.
    pub(crate) fn since(&self, start: usize) -> Span {
        let last = self.parser.index().checked_sub(1);
        let last = last.and_then(|index| self.token(index));
        Span::new(
            start,
            last.map_or(start, |token| Span::from(token.span).end),
        )
    }

    /// Whether everything was read.
    pub(crate) fn is_done(&self) -> bool {
        self.parser.index() >= self.count
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        is_word(self.peek(0), word)
    }

    /// Whether the next words are these, which may be several with blanks between.
    pub(crate) fn are(&self, words: &str) -> bool {
        words
            .split(' ')
            .enumerate()
            .all(|(ahead, word)| is_word(self.peek(ahead), word))
    }

    /// Takes these words out of the statement if they stand before any of `ends`, outside of
    /// parentheses.
    pub(crate) fn take_out(&mut self, words: &str, ends: &[&str]) -> bool {
        let words: Vec<&str> = words.split(' ').collect();
        let (mut ahead, mut depth) = (0_usize, 0_usize);
        while let Some(token) = self.peek(ahead) {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                _ if ends.iter().any(|end| is_word(Some(token), end)) => return false,
                _ => {
                    let mut each = words.iter().enumerate();
                    if each.all(|(place, word)| is_word(self.peek(ahead + place), word)) {
                        self.remove(ahead, words.len());
                        return true;
                    }
                }
            }
            ahead += 1;
        }
        false
    }

    /// Removes tokens that are not read yet.
    fn remove(&mut self, ahead: usize, count: usize) {
        let read = self.parser.index();
        let parser = std::mem::replace(&mut self.parser, Parser::new(self.dialect));
        let mut tokens = parser.into_tokens();
        tokens.drain(read + ahead..read + ahead + count);
        self.count = tokens.len();
        self.parser = Parser::new(self.dialect)
            .with_recursion_limit(PARSER_DEPTH_MAX)
            .with_tokens_with_locations(tokens);
        for _ in 0..read {
            self.parser.advance_token();
        }
    }

    /// Reads these words if they are next.
    pub(crate) fn accept(&mut self, words: &str) -> bool {
        let found = self.are(words);
        if found {
            for _ in words.split(' ') {
                self.parser.advance_token();
            }
        }
        found
    }

    pub(crate) fn expect(&mut self, words: &str) -> Result<()> {
        if self.accept(words) {
            Ok(())
        } else {
            Err(self.unexpected(&words.to_ascii_uppercase()))
        }
    }

    pub(crate) fn accept_token(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    pub(crate) fn expect_token(&mut self, token: &Token) -> Result<()> {
        if self.accept_token(token) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{token}`")))
        }
    }

    /// Reads one token, whatever it is.
    pub(crate) fn next(&mut self) -> Option<TokenWithSpan> {
        let token = self.peek(0).cloned();
        self.parser.advance_token();
        token
    }

    /// Reads `( item, item, … )`.
    pub(crate) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect_token(&Token::LParen)?;
        let items = self.items(&mut item)?;
        self.expect_token(&Token::RParen)?;
        Ok(items)
    }

    /// Reads `item, item, …`.
    pub(crate) fn items<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.accept_token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(crate) fn ident(&mut self) -> Result<Ident> {
        match self.peek(0).map(|token| &token.token) {
            Some(Token::Word(_)) => {
                let ident = self.run(Parser::parse_identifier)?;
                Ok(convert_ident(&ident))
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    pub(crate) fn name(&mut self) -> Result<Name> {
        let mut parts = vec![self.ident()?];
        while self.accept_token(&Token::Period) {
            parts.push(self.ident()?);
        }
        Ok(name_of(parts))
    }

    pub(crate) fn expression(&mut self) -> Result<Expression> {
        let start = self.start();
        let expr = self.run(Parser::parse_expr)?;
        Ok(Expression {
            expr,
            span: self.since(start),
        })
    }

    /// Reads a whole number with an optional sign.
    pub(crate) fn integer(&mut self) -> Result<i64> {
        let start = self.start();
        let negative = self.accept_token(&Token::Minus);
        let Some(Token::Number(digits, _)) = self.peek(0).map(|token| token.token.clone()) else {
            return Err(self.unexpected("a whole number"));
        };
        self.parser.advance_token();
        let sign = if negative { "-" } else { "" };
        format!("{sign}{digits}")
            .parse()
            .map_err(|_| Error::invalid(self.text, start, "this is not a whole number of 64 bits"))
    }

    /// Lets sqlparser read something.
    pub(crate) fn run<T>(
        &mut self,
        read: impl FnOnce(&mut Parser<'t>) -> std::result::Result<T, ParserError>,
    ) -> Result<T> {
        read(&mut self.parser).map_err(|error| self.translate(error))
    }

    /// The end of the statement, or an error at what is left.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.is_done() {
            Ok(())
        } else {
            Err(self.unexpected("the end of the statement"))
        }
    }

    /// An error at the next token.
    pub(crate) fn unexpected(&self, expected: &str) -> Error {
        self.unexpected_at(self.start(), expected)
    }

    pub(crate) fn invalid(&self, offset: usize, reason: impl Into<String>) -> Error {
        Error::invalid(self.text, offset, reason)
    }

    fn unexpected_at(&self, offset: usize, expected: &str) -> Error {
        let token = (0..self.count)
            .filter_map(|index| self.token(index))
            .map(|token| Span::from(token.span))
            .find(|span| span.start == offset && offset < self.span.end);
        let found = match token {
            Some(span) => {
                let mut chars = span.slice(self.text).chars();
                let mut shown: String = chars.by_ref().take(FOUND_CHARS_MAX).collect();
                if chars.next().is_some() {
                    shown.push('…');
                }
                format!("`{shown}`")
            }
            None => "the end of the statement".to_owned(),
        };
        Error::Unexpected {
            at: Position::find(self.text, offset),
            expected: expected.to_owned(),
            found,
        }
    }

    /// sqlparser says `Expected: x, found: y at Line: 1, Column: n`, where n is our offset.
    fn translate(&self, error: ParserError) -> Error {
        let message = match error {
            ParserError::RecursionLimitExceeded if self.dialect.gave_up() => {
                let reason = "this statement is too tangled to read: look for an error inside \
                              nested expressions, or write it more simply";
                return self.invalid(self.start(), reason);
            }
            ParserError::RecursionLimitExceeded => {
                return Error::TooDeep {
                    at: Position::find(self.text, self.start()),
                    depth_max: NESTING_MAX,
                };
            }
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
        };
        let (message, offset) = match message.rsplit_once(" at Line: 1, Column: ") {
            Some((message, column)) => {
                let offset = column.trim().parse::<usize>().ok();
                (message, offset.map(|column| column.saturating_sub(1)))
            }
            None => (message.as_str(), None),
        };
        let expected = message
            .strip_prefix("Expected: ")
            .and_then(|rest| rest.rsplit_once(", found: "));
        match expected {
            Some((expected, "EOF")) => self.unexpected_at(self.span.end, &plainly(expected)),
            Some((expected, _)) => {
                self.unexpected_at(offset.unwrap_or(self.start()), &plainly(expected))
            }
            None => self.invalid(offset.unwrap_or(self.start()), sentence(message)),
        }
    }
}

/// sqlparser's word for what it expected, as we would say it.
fn plainly(expected: &str) -> String {
    match expected {
        "identifier" => "a name".to_owned(),
        "an SQL statement" => "a statement".to_owned(),
        "end of statement" => "the end of the statement".to_owned(),
        "data type" => "a type".to_owned(),
        other => sentence(other),
    }
}

pub(crate) fn convert_ident(ident: &ast::Ident) -> Ident {
    Ident {
        value: ident.value.clone(),
        quote: ident.quote_style,
        span: Span::from(ident.span),
    }
}

/// The way back, without its place.
pub(crate) fn tree_ident(ident: &Ident) -> ast::Ident {
    match ident.quote {
        Some(quote) => ast::Ident::with_quote(quote, &ident.value),
        None => ast::Ident::new(&ident.value),
    }
}

pub(crate) fn name_of(parts: Vec<Ident>) -> Name {
    let span = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => Span::default(),
    };
    Name { parts, span }
}

/// A name of sqlparser as ours; parts that are calls are left out, PostgreSQL has none.
pub(crate) fn convert_name(name: &ast::ObjectName) -> Name {
    let parts = name.0.iter().filter_map(ast::ObjectNamePart::as_ident);
    name_of(parts.map(convert_ident).collect())
}
