//! YQL's forms that move tokens about, before [`crate::rewrite`] replaces them one by one.
//!
//! ```text
//!   written                              given on
//!   SELECT a, b, FROM t                  SELECT a, b FROM t          a comma before the end of a list
//!   AsStruct(1 AS a)                     AsStruct(1, 'a')            values and names in turn
//!   x IN AsList(1, 2)   x IN [1, 2]      x IN (1, 2)
//!   Nothing(Utf8?)                       CAST(NULL AS Utf8)
//!   CAST(x AS Utf8?)                     CAST(x AS Utf8)             every type has NULL
//!   a ?? b                               one operator `??`           binds tighter than `*`
//!   x MATCH 're'                         x REGEXP '^(?:re)$'         the whole text
//!   a LEFT ONLY JOIN b                   a LEFT ANTI JOIN b
//!   SELECT k FROM t GROUP BY f(a) AS k   SELECT (f(a)) AS k FROM t GROUP BY f(a)
//!   Substring(s, 1, 2)   Length(s)       Yql::Substring …            in texts that speak YQL only
//! ```
//!
//! The last line is where the two languages disagree: YQL counts bytes, from zero, and PostgreSQL
//! counts characters, from one. What a text speaks is decided as it is for double quotes
//! ([`crate::quotes`]).
//!
//! Forms that are left out would read as something else: `FLATTEN`, `EXCLUSION` and `WITHOUT` as an
//! alias. They are refused by name.

use std::collections::VecDeque;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result};
use crate::groups;
use crate::span::Span;
use crate::tokens::{bare_word, is_token, is_word};

/// Functions that YQL and PostgreSQL both have and count differently.
const COUNTED_APART: &[(&str, &str)] =
    &[("substring", "Yql::Substring"), ("length", "Yql::Length")];

/// Functions that make a list, which IN takes without parentheses.
const LISTS: &[&str] = &["aslist", "asset"];

/// Moves the tokens of one statement.
pub(crate) fn forms(
    text: &str,
    tokens: Vec<TokenWithSpan>,
    yql: bool,
) -> Result<Vec<TokenWithSpan>> {
    let tokens = groups::name_groups(tokens);
    let mut mover = Mover {
        text,
        yql,
        out: Vec::with_capacity(tokens.len() + 8),
        open: Vec::new(),
    };
    let mut rest: VecDeque<TokenWithSpan> = tokens.into();
    while let Some(here) = rest.pop_front() {
        mover.step(here, &mut rest)?;
    }
    Ok(mover.out)
}

/// What a parenthesis encloses.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Struct,
    Cast,
    /// A list in brackets after IN, which closes with a parenthesis.
    List,
    Other,
}

struct Mover<'t> {
    text: &'t str,
    yql: bool,
    out: Vec<TokenWithSpan>,
    open: Vec<Open>,
}

impl Mover<'_> {
    fn put(&mut self, token: Token, span: Span) {
        self.out.push(TokenWithSpan::new(token, span.encode()));
    }

    fn refuse(&self, span: Span, what: &str) -> Error {
        Error::invalid(self.text, span.start, format!("{what} is not supported"))
    }

    fn step(&mut self, here: TokenWithSpan, rest: &mut VecDeque<TokenWithSpan>) -> Result<()> {
        let span = Span::from(here.span);
        match &here.token {
            Token::LBracket => {
                self.open.push(Open::Other);
                self.out.push(here);
            }
            Token::LParen => {
                let before = self.out.last();
                let open = match before {
                    _ if is_word(before, "asstruct") => Open::Struct,
                    _ if is_word(before, "cast") => Open::Cast,
                    _ => Open::Other,
                };
                self.open.push(open);
                self.out.push(here);
            }
            Token::RParen | Token::RBracket => match self.open.pop() {
                Some(Open::List) => self.put(Token::RParen, span),
                _ => self.out.push(here),
            },
            Token::Comma => {
                let next = rest.front();
                let ends = next.is_none()
                    || is_token(next, &Token::RParen)
                    || is_token(next, &Token::RBracket)
                    || is_word(next, "from") && self.yql_list();
                if !ends {
                    self.out.push(here);
                }
            }
            token if is_question(token) => match rest.pop_front_if(|next| is_question(&next.token))
            {
                Some(next) => {
                    let whole = span.to(Span::from(next.span));
                    self.put(Token::CustomBinaryOperator("??".to_owned()), whole);
                }
                None if self.open.last() == Some(&Open::Cast) => {}
                None => self.out.push(here),
            },
            Token::Word(word) if word.quote_style.is_none() => {
                let word = word.value.to_ascii_lowercase();
                self.word(&word, here, rest)?;
            }
            _ => self.out.push(here),
        }
        Ok(())
    }

    /// Whether FROM may follow a comma that is left over, and not be a name.
    fn yql_list(&self) -> bool {
        self.open.last() != Some(&Open::Struct)
    }

    fn word(
        &mut self,
        word: &str,
        here: TokenWithSpan,
        rest: &mut VecDeque<TokenWithSpan>,
    ) -> Result<()> {
        let span = Span::from(here.span);
        let qualified = is_token(self.out.last(), &Token::Period);
        let calls = is_token(rest.front(), &Token::LParen);
        self.check(word, span, rest)?;
        match word {
            _ if qualified => self.out.push(here),
            "as" if self.open.last() == Some(&Open::Struct) => self.member(rest, span)?,
            "in" => {
                self.out.push(here);
                self.list(rest);
            }
            "nothing" if calls => self.nothing(here, rest),
            "only" if is_word(rest.front(), "join") && self.after_side() => {
                self.put(Token::make_keyword("ANTI"), span);
            }
            "match" if !calls && !self.out.is_empty() => self.whole_match(here, rest),
            _ => match COUNTED_APART.iter().find(|(name, _)| *name == word) {
                Some((_, name)) if self.yql && calls && !has_from(rest) => {
                    let mut renamed = Token::make_word(name, None);
                    if let Token::Word(word) = &mut renamed {
                        word.keyword = Keyword::NoKeyword;
                    }
                    self.put(renamed, span);
                }
                _ => self.out.push(here),
            },
        }
        Ok(())
    }

    /// The list after IN, in parentheses.
    fn list(&mut self, rest: &mut VecDeque<TokenWithSpan>) {
        let call = LISTS.iter().any(|list| is_word(rest.front(), list))
            && is_token(rest.get(1), &Token::LParen);
        if call {
            rest.pop_front();
        } else if let Some(open) = rest.pop_front_if(|next| next.token == Token::LBracket) {
            self.put(Token::LParen, Span::from(open.span));
            self.open.push(Open::List);
        }
    }

    /// Refuses words that would be read as an alias.
    fn check(&self, word: &str, span: Span, rest: &VecDeque<TokenWithSpan>) -> Result<()> {
        let next = rest.front();
        let any = |words: &[&str]| words.iter().any(|word| is_word(next, word));
        match word {
            "flatten" if any(&["by", "list", "dict", "optional", "columns"]) => {
                Err(self.refuse(span, "FLATTEN"))
            }
            "exclusion" if any(&["join"]) => Err(self.refuse(span, "EXCLUSION JOIN")),
            "without" if is_token(self.out.last(), &Token::Mul) => {
                Err(self.refuse(span, "SELECT * WITHOUT"))
            }
            _ => Ok(()),
        }
    }

    fn after_side(&self) -> bool {
        is_word(self.out.last(), "left") || is_word(self.out.last(), "right")
    }

    /// `AS name` in a struct, as one more argument.
    fn member(&mut self, rest: &mut VecDeque<TokenWithSpan>, span: Span) -> Result<()> {
        let Some(Token::Word(name)) = rest.pop_front().map(|name| name.token) else {
            let reason = "a member of a struct is written AS and its name";
            return Err(Error::invalid(self.text, span.start, reason));
        };
        let name = match name.quote_style {
            Some(_) => name.value,
            None => name.value.to_lowercase(),
        };
        self.put(Token::Comma, span);
        self.put(Token::SingleQuotedString(name), span);
        Ok(())
    }

    /// `Nothing(Type?)`: NULL of a type. With anything else it is a function like any other.
    fn nothing(&mut self, here: TokenWithSpan, rest: &mut VecDeque<TokenWithSpan>) {
        let span = Span::from(here.span);
        let close = closing(rest);
        let inner = rest.iter().take(close).skip(1);
        let bare = !inner.clone().any(|token| is_token(Some(token), &Token::Lt));
        let optional = is_word(rest.get(1), "optional");
        let typed = rest.get(1).is_some_and(|token| match &token.token {
            Token::Word(word) => keys::Type::parse(&word.value).is_ok(),
            _ => false,
        });
        if !(bare && typed || optional) || close < 2 {
            self.out.push(here);
            return;
        }
        let kind: Vec<TokenWithSpan> = inner
            .filter(|token| !matches!(token.token, Token::Lt | Token::Gt))
            .filter(|token| !is_question(&token.token))
            .filter(|token| !is_word(Some(token), "optional"))
            .cloned()
            .collect();
        rest.drain(..=close);
        for token in ["CAST", "(", "NULL", "AS"] {
            let token = match token {
                "(" => Token::LParen,
                word => Token::make_keyword(word),
            };
            self.put(token, span);
        }
        self.out.extend(kind);
        self.put(Token::RParen, span);
    }

    /// `MATCH 're'`: the expression is about the whole text.
    fn whole_match(&mut self, here: TokenWithSpan, rest: &mut VecDeque<TokenWithSpan>) {
        let Some(Token::SingleQuotedString(pattern)) = rest.front().map(|next| &next.token) else {
            self.out.push(here);
            return;
        };
        let pattern = Token::SingleQuotedString(format!("^(?:{pattern})$"));
        let place = rest.pop_front().map_or(here.span, |next| next.span);
        self.put(Token::make_keyword("REGEXP"), Span::from(here.span));
        self.put(pattern, Span::from(place));
    }
}

fn is_question(token: &Token) -> bool {
    matches!(token, Token::Question) || matches!(token, Token::Placeholder(mark) if mark == "?")
}

/// Where the parenthesis closes that opens the rest; 0 if it does not.
fn closing(rest: &VecDeque<TokenWithSpan>) -> usize {
    let mut depth = 0_usize;
    for (at, token) in rest.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    0
}

/// Whether the call that opens the rest is `f(a FROM b)`, which is nobody's but the standard's.
fn has_from(rest: &VecDeque<TokenWithSpan>) -> bool {
    let mut depth = 0_usize;
    for token in rest.iter().take(closing(rest)) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            other if depth == 1 => {
                let word = bare_word(other).map(|word| word.keyword);
                if matches!(word, Some(Keyword::FROM | Keyword::FOR | Keyword::SIMILAR)) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
