//! The tokens of one statement, one after another, for grammars that read loosely.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Dialect, Text};
use crate::error::{Error, Result};
use crate::span::{Position, Span};
use crate::statement::{Ident, Name};
use crate::tokens::{bare_word, is_token, is_word};

/// One statement being read.
pub(crate) struct Cursor<'t> {
    pub(crate) text: &'t str,
    pub(crate) dialect: Dialect,
    tokens: &'t [TokenWithSpan],
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str, tokens: &'t [TokenWithSpan], dialect: Dialect) -> Self {
        Self {
            text,
            dialect,
            tokens,
            at: 0,
        }
    }

    pub(crate) fn peek(&self, ahead: usize) -> Option<&'t TokenWithSpan> {
        self.tokens.get(self.at + ahead)
    }

    pub(crate) fn next(&mut self) -> Option<&'t TokenWithSpan> {
        let token = self.peek(0);
        self.at += usize::from(token.is_some());
        token
    }

    pub(crate) fn is_done(&self) -> bool {
        self.peek(0).is_none()
    }

    /// Where the next token begins, or the last one ends.
    pub(crate) fn start(&self) -> usize {
        self.peek(0)
            .map_or_else(|| self.end(), |token| Span::from(token.span).start)
    }

    /// Where the token that was read last ends.
    pub(crate) fn end(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or(0, |token| Span::from(token.span).end)
    }

    pub(crate) fn since(&self, start: usize) -> Span {
        Span::new(start, self.end().max(start))
    }

    /// The next word in lower case, if it is one without quotes.
    pub(crate) fn word(&self, ahead: usize) -> Option<String> {
        let word = bare_word(&self.peek(ahead)?.token)?;
        Some(word.value.to_ascii_lowercase())
    }

    pub(crate) fn is(&self, words: &str) -> bool {
        words
            .split(' ')
            .enumerate()
            .all(|(ahead, word)| is_word(self.peek(ahead), word))
    }

    pub(crate) fn accept(&mut self, words: &str) -> bool {
        let found = self.is(words);
        if found {
            self.at += words.split(' ').count();
        }
        found
    }

    pub(crate) fn is_token(&self, token: &Token) -> bool {
        is_token(self.peek(0), token)
    }

    pub(crate) fn accept_token(&mut self, token: &Token) -> bool {
        let found = self.is_token(token);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect_token(&mut self, token: &Token) -> Result<()> {
        if self.accept_token(token) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{token}`")))
        }
    }

    pub(crate) fn expect(&mut self, words: &str) -> Result<()> {
        if self.accept(words) {
            Ok(())
        } else {
            Err(self.unexpected(&words.to_ascii_uppercase()))
        }
    }

    /// Whether a parenthesis closes, a comma stands here, or nothing is left.
    pub(crate) fn is_end(&self) -> bool {
        self.is_done() || self.is_token(&Token::Comma) || self.is_token(&Token::RParen)
    }

    pub(crate) fn ident(&mut self) -> Result<Ident> {
        let ident = self.peek(0).and_then(|token| match &token.token {
            Token::Word(word) => Some(Ident {
                value: word.value.clone(),
                quote: word.quote_style,
                span: Span::from(token.span),
            }),
            _ => None,
        });
        match ident {
            Some(ident) => {
                self.at += 1;
                Ok(ident)
            }
            None => Err(self.unexpected("a name")),
        }
    }

    pub(crate) fn name(&mut self) -> Result<Name> {
        let start = self.start();
        let mut parts = vec![self.ident()?];
        while self.accept_token(&Token::Period) {
            parts.push(self.ident()?);
        }
        Ok(Name {
            parts,
            span: self.since(start),
        })
    }

    /// Passes over one token, or over a pair of parentheses with all that is in it.
    pub(crate) fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.next() {
            match token.token {
                Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads an expression: at least one token, up to a comma, a closing parenthesis or where `ends`.
    pub(crate) fn expression(&mut self, ends: impl Fn(&Self) -> bool) -> Result<Text> {
        if self.is_end() {
            return Err(self.unexpected("an expression"));
        }
        let (start, first) = (self.start(), self.at);
        self.skip();
        while !self.is_end() && !ends(self) {
            self.skip();
        }
        let span = self.since(start);
        let tokens = self.tokens.get(first..self.at).unwrap_or_default();
        let words = tokens.iter().filter_map(|token| match &token.token {
            Token::Word(word) => Some(word.value.clone()),
            _ => None,
        });
        Ok(Text {
            text: span.slice(self.text).to_owned(),
            words: words.collect(),
            span,
        })
    }

    pub(crate) fn unexpected(&self, expected: &str) -> Error {
        let found = self.peek(0).map(|token| Span::from(token.span));
        let shown = found.map(|span| format!("`{}`", span.slice(self.text)));
        Error::Unexpected {
            at: Position::find(self.text, self.start()),
            expected: expected.to_owned(),
            found: shown.unwrap_or_else(|| "the end of the statement".to_owned()),
        }
    }
}
