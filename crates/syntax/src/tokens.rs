//! Text to tokens: places in bytes, statements apart, limits kept before any parser runs.
//!
//! ```text
//!   text ──sqlparser's tokenizer──► tokens, no white space ──at each `;`──► statements
//!                                      │ places become byte offsets (span)
//!                                      │ double quotes decided              (quotes)
//!                                      ▼ YQL's own forms rewritten          (rewrite)
//!                                   tokens that sqlparser's parser understands
//! ```
//!
//! What a parser builds from tokens can be as deep as the tokens are many (`1+1+1+…` is a tree that
//! leans left), and deep trees overflow the stack when they are dropped or printed. So depth is
//! bounded here, on the tokens: parentheses, brackets and CASE by [`NESTING_MAX`], and the tree as a
//! whole, operators in a row within operators in a row, by [`CHAIN_MAX`]. Prefix operators and nested
//! queries are counted by the parser itself.
//!
//! ```text
//!   x = 1 OR y + 2 = 3 AND z OR …     two OR and, within the deepest operand, one AND and, within
//!     1         1    2                the deepest of its operands, two others: five levels
//! ```

use std::any::TypeId;

use sqlparser::dialect::{Dialect, PostgreSqlDialect};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace, Word};

use crate::ast::Location;
use crate::dialect::EvenKeel;
use crate::error::{Error, Result};
use crate::long_strings;
use crate::span::{Position, Span};

/// Bytes of the longest statement.
pub const STATEMENT_BYTES_MAX: usize = 1 << 20;
/// Bytes of the longest text with several statements.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Levels of parentheses, queries and prefix operators in one statement.
pub const NESTING_MAX: usize = 64;
/// Operators between two commas or parentheses, and those of the deepest parentheses among them:
/// `a OR b OR (c + d)` has three. AND and OR bind least, so that of what stands between them only the
/// longest counts beside them.
pub const CHAIN_MAX: usize = 1024;

/// `INTERVAL` or `ARRAY <` in a row: sqlparser calls itself for each and does not count.
const PREFIX_RUN_MAX: usize = 4;

/// How sqlparser ends what it says about a comment that is not closed.
const OPEN_COMMENT: &str = "while in a multi-line comment";

/// The tokens of a text without white space and comments, their places in bytes.
pub(crate) fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::TooLong {
            at: Position::find(text, 0),
            bytes: text.len(),
            bytes_max: TEXT_BYTES_MAX,
        });
    }
    match tokenize_some(text, &EvenKeel::new(0), None) {
        (tokens, None) => Ok(tokens),
        (_, Some(error)) => Err(error),
    }
}

/// The same in a dialect, up to where the text cannot be read any more, and why it cannot. The places
/// of comments go into `comments` if someone wants them.
pub(crate) fn tokenize_some(
    text: &str,
    dialect: &dyn Dialect,
    mut comments: Option<&mut Vec<Span>>,
) -> (Vec<TokenWithSpan>, Option<Error>) {
    let mut ruler = Ruler::new(text);
    // Where PostgreSQL and YQL are read, `@@` opens a long string; elsewhere it names a variable.
    let ours = dialect.dialect() == TypeId::of::<PostgreSqlDialect>();
    let covered = match ours {
        true => long_strings::cover(text),
        false => None,
    };
    let mut tokens = Vec::new();
    let read = Tokenizer::new(dialect, covered.as_deref().unwrap_or(text))
        .tokenize_with_location_into_buf(&mut tokens);
    let error = read.err().map(|error| {
        let offset = |place| Ruler::new(text).offset(place);
        if error.message.ends_with(OPEN_COMMENT) {
            // It is told where the text ends, and a comment begins where the last token ends.
            let opened = tokens.last().map_or(0, |token| offset(token.span.end));
            return Error::invalid(text, opened, "the comment that begins here is not closed");
        }
        Error::invalid(text, offset(error.location), sentence(&error.message))
    });
    let mut kept = Vec::with_capacity(tokens.len() / 2);
    for token in tokens {
        let start = ruler.offset(token.span.start);
        let end = ruler.offset(token.span.end);
        let span = Span::new(start, end);
        if let Token::Whitespace(
            Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
        ) = &token.token
            && let Some(comments) = &mut comments
        {
            comments.push(span);
        }
        if !matches!(token.token, Token::Whitespace(_) | Token::EOF) {
            let token = match long_strings::content(span.slice(text)) {
                Some(string) if covered.is_some() => Token::SingleQuotedString(string),
                _ => match token.token {
                    // `E'…'` and `U&'…'` are strings like others once their escapes are read.
                    Token::EscapedStringLiteral(string) | Token::UnicodeStringLiteral(string) => {
                        Token::SingleQuotedString(string)
                    }
                    token => token,
                },
            };
            kept.push(TokenWithSpan::new(token, span.encode()));
        }
    }
    if ours {
        ask_of_json(&mut kept);
    }
    (kept, error)
}

/// `doc ? 'a'` asks a document of JSON for a member: a mark that stands by itself and before a text is
/// that operator, where it would be a parameter in other languages and ends a type in YQL.
fn ask_of_json(tokens: &mut [TokenWithSpan]) {
    for at in 1..tokens.len().saturating_sub(1) {
        let Some([before, mark, after]) = tokens.get_mut(at - 1..=at + 1) else {
            return;
        };
        let is_mark = |token: &Token| matches!(token, Token::Placeholder(mark) if mark == "?");
        let alone = is_mark(&mark.token) && !is_mark(&before.token);
        let asks = match &after.token {
            Token::SingleQuotedString(_) => true,
            Token::Placeholder(name) => name.starts_with('$'),
            _ => false,
        };
        if alone && asks {
            mark.token = Token::Question;
        }
    }
}

/// A message of sqlparser as a sentence of ours: lower case, no full stop.
pub(crate) fn sentence(message: &str) -> String {
    let message = message.trim().trim_end_matches('.');
    let message = &message.replace("EOF", "the end of the text");
    let mut chars = message.chars();
    let second_is_lower = message.chars().nth(1).is_some_and(char::is_lowercase);
    match chars.next() {
        Some(first) if second_is_lower => first.to_lowercase().chain(chars).collect(),
        _ => message.clone(),
    }
}

/// Turns growing lines and columns into bytes in one walk over the text.
struct Ruler<'t> {
    rest: std::str::Chars<'t>,
    bytes: usize,
    line: u64,
    column: u64,
}

impl<'t> Ruler<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            rest: text.chars(),
            bytes: 0,
            line: 1,
            column: 1,
        }
    }

    fn offset(&mut self, place: Location) -> usize {
        while (self.line, self.column) < (place.line, place.column) {
            let Some(char) = self.rest.next() else { break };
            self.bytes += char.len_utf8();
            if char == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.bytes
    }
}

/// The tokens of each statement; empty ones (`;;`) are left out.
pub(crate) fn statements(tokens: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    let mut all = Vec::new();
    let mut current = Vec::new();
    for token in tokens {
        if token.token != Token::SemiColon {
            current.push(token);
        } else if !current.is_empty() {
            all.push(std::mem::take(&mut current));
        }
    }
    if !current.is_empty() {
        all.push(current);
    }
    all
}

/// The bytes from the first of these tokens to the last.
pub(crate) fn span_of(tokens: &[TokenWithSpan]) -> Span {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => Span::from(first.span).to(Span::from(last.span)),
        _ => Span::default(),
    }
}

/// Words that no table is called without quotes, as they go on with a statement after FROM.
const NO_TABLES: [Keyword; 7] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::ORDER,
    Keyword::HAVING,
    Keyword::LIMIT,
    Keyword::UNION,
];

/// Refuses a FROM that nothing follows.
pub(crate) fn check_from(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    for (token, next) in tokens.iter().zip(tokens.iter().skip(1)) {
        let (Token::Word(from), Token::Word(word)) = (&token.token, &next.token) else {
            continue;
        };
        let bare = from.quote_style.is_none() && word.quote_style.is_none();
        if bare && from.keyword == Keyword::FROM && NO_TABLES.contains(&word.keyword) {
            return Err(Error::Unexpected {
                at: Position::find(text, Span::from(next.span).start),
                expected: "a table".to_owned(),
                found: word.value.clone(),
            });
        }
    }
    Ok(())
}

/// Refuses a statement that is too long or too deep to be worked on safely, and answers its depth.
pub(crate) fn check_limits(text: &str, tokens: &[TokenWithSpan]) -> Result<usize> {
    let span = span_of(tokens);
    let bytes = span.end - span.start;
    if bytes > STATEMENT_BYTES_MAX {
        return Err(Error::TooLong {
            at: Position::find(text, span.start),
            bytes,
            bytes_max: STATEMENT_BYTES_MAX,
        });
    }
    // One chain of operators for each level of parentheses that is open.
    let mut chains = vec![Chain::default()];
    let mut run = 0;
    let mut depth = 0;
    let mut after_operand = false;
    for token in tokens {
        let too_deep = |depth_max| Error::TooDeep {
            at: Position::find(text, Span::from(token.span).start),
            depth_max,
        };
        run = match &token.token {
            Token::Word(word) if matches!(word.keyword, Keyword::INTERVAL | Keyword::ARRAY) => {
                run + 1
            }
            Token::Lt => run,
            _ => 0,
        };
        if run > PREFIX_RUN_MAX {
            return Err(too_deep(PREFIX_RUN_MAX));
        }
        nest(&mut chains, &token.token);
        depth = depth.max(chains.len());
        if chains.len() > NESTING_MAX + 1 {
            return Err(too_deep(NESTING_MAX));
        }
        if let Some(chain) = chains.last_mut() {
            if lengthens_chain(&token.token) {
                chain.add(&token.token, after_operand);
            }
            if chain.depth() > CHAIN_MAX {
                return Err(too_deep(CHAIN_MAX));
            }
        }
        after_operand = ends_operand(&token.token);
    }
    Ok(depth)
}

/// Opens or closes a level of parentheses, or ends a part of one.
fn nest(chains: &mut Vec<Chain>, token: &Token) {
    let in_case = chains.last().is_some_and(|chain| chain.case);
    match token {
        Token::LParen | Token::LBracket | Token::LBrace => chains.push(Chain::default()),
        Token::RParen | Token::RBracket | Token::RBrace => {
            // A CASE that is not closed here is an error for the parser.
            while close(chains).is_some_and(|chain| chain.case) {}
        }
        Token::Comma => {
            if let Some(chain) = chains.last_mut() {
                chain.end();
            }
        }
        token if is_keyword(token, Keyword::CASE) => chains.push(Chain {
            case: true,
            ..Chain::default()
        }),
        token if in_case && is_keyword(token, Keyword::END) => {
            close(chains);
        }
        _ => {}
    }
    if chains.is_empty() {
        chains.push(Chain::default());
    }
}

/// Closes a level of parentheses, which is as deep as what is in it.
fn close(chains: &mut Vec<Chain>) -> Option<Chain> {
    let closed = chains.pop()?;
    if let Some(outer) = chains.last_mut() {
        outer.inner_max = outer.inner_max.max(closed.depth() + 1);
    }
    Some(closed)
}

/// The operators of one level of parentheses, or between CASE and END.
#[derive(Default)]
struct Chain {
    /// What joins queries and tables.
    queries: usize,
    /// How deep the deepest of the parts is that ended: at a comma, WHERE, HAVING, or another query.
    parts_max: usize,
    /// OR, which binds least.
    ors: usize,
    /// AND between two OR, and where there are most of them.
    ands: usize,
    ands_max: usize,
    /// Other operators between two AND or OR, and where there are most of them.
    operators: usize,
    operators_max: usize,
    /// How deep the deepest parentheses are.
    inner_max: usize,
    /// BETWEEN whose AND is still to come.
    betweens: usize,
    /// Whether it is between CASE and END.
    case: bool,
}

impl Chain {
    /// How deep the tree of it is at most.
    fn depth(&self) -> usize {
        self.queries + self.parts_max.max(self.part())
    }

    /// The same of the part that is not at its end.
    fn part(&self) -> usize {
        self.ors + self.ands_max + self.operators_max + self.inner_max
    }

    /// Ends a part.
    fn end(&mut self) {
        *self = Self {
            queries: self.queries,
            parts_max: self.parts_max.max(self.part()),
            case: self.case,
            ..Self::default()
        };
    }

    /// Adds an operator. One that does not follow an operand may be a name, such as `or` in `t.or`.
    fn add(&mut self, token: &Token, after_operand: bool) {
        let keyword = match token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match keyword {
            Keyword::AND if self.betweens > 0 => self.betweens -= 1,
            Keyword::OR if after_operand => {
                self.ors += 1;
                (self.ands, self.operators) = (0, 0);
            }
            Keyword::AND if after_operand => {
                self.ands += 1;
                self.operators = 0;
            }
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT if after_operand => {
                self.queries += 1;
                self.end();
            }
            Keyword::WHERE | Keyword::HAVING if after_operand => self.end(),
            Keyword::MINUS | Keyword::PIVOT | Keyword::UNPIVOT | Keyword::JOIN => {
                self.queries += 1;
            }
            Keyword::BETWEEN => {
                self.betweens += 1;
                self.operators += 1;
            }
            _ => self.operators += 1,
        }
        self.ands_max = self.ands_max.max(self.ands);
        self.operators_max = self.operators_max.max(self.operators);
    }
}

fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    bare_word(token).is_some_and(|word| word.keyword == keyword)
}

/// Whether a tree may grow by one level at this token, an operator, sign, bracket pair or a word that
/// joins what stands on both its sides; or whether it ends what is before it.
fn lengthens_chain(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            word.quote_style.is_none()
                && matches!(
                    word.keyword,
                    Keyword::AND
                        | Keyword::OR
                        | Keyword::XOR
                        | Keyword::NOT
                        | Keyword::IS
                        | Keyword::NOTNULL
                        | Keyword::LIKE
                        | Keyword::ILIKE
                        | Keyword::SIMILAR
                        | Keyword::REGEXP
                        | Keyword::RLIKE
                        | Keyword::IN
                        | Keyword::BETWEEN
                        | Keyword::COLLATE
                        | Keyword::AT
                        | Keyword::OVERLAPS
                        | Keyword::OPERATOR
                        | Keyword::DIV
                        | Keyword::MEMBER
                        | Keyword::UNION
                        | Keyword::EXCEPT
                        | Keyword::MINUS
                        | Keyword::INTERSECT
                        | Keyword::PIVOT
                        | Keyword::UNPIVOT
                        | Keyword::JOIN
                        | Keyword::WHERE
                        | Keyword::HAVING
                )
        }
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_)
        | Token::LParen
        | Token::LBracket
        | Token::LBrace
        | Token::Comma
        | Token::EOF => false,
        _ => true,
    }
}

/// Whether a token is surely the end of an operand: a name, a literal, or what closes one. Of keywords
/// few are, since others may have an operand after them: in `x AT TIME ZONE or` the last is a name.
fn ends_operand(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            word.quote_style.is_some()
                || matches!(
                    word.keyword,
                    Keyword::NoKeyword
                        | Keyword::NULL
                        | Keyword::TRUE
                        | Keyword::FALSE
                        | Keyword::END
                )
        }
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_)
        | Token::RParen
        | Token::RBracket
        | Token::RBrace => true,
        _ => false,
    }
}

/// The word of a token that is one and is not quoted.
pub(crate) fn bare_word(token: &Token) -> Option<&Word> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word),
        _ => None,
    }
}

/// Whether a token is this word, in any case and not quoted.
pub(crate) fn is_word(token: Option<&TokenWithSpan>, expected: &str) -> bool {
    token
        .and_then(|token| bare_word(&token.token))
        .is_some_and(|word| word.value.eq_ignore_ascii_case(expected))
}

/// Whether a token is this piece of punctuation.
pub(crate) fn is_token(token: Option<&TokenWithSpan>, expected: &Token) -> bool {
    token.is_some_and(|token| token.token == *expected)
}
