//! Where in the text something stands: byte spans for machines, lines and columns for people.
//!
//! sqlparser counts lines and columns in characters. Turning those back into bytes for every name a
//! linter asks about would mean walking the line each time, so it is done once, in [`crate::tokens`]:
//! each token's place is rewritten before the parser sees it, and whatever the parser builds carries
//! bytes from then on.
//!
//! ```text
//!   text                SELECT à,␊b          b is the eleventh byte (offset 11, from 0)
//!   sqlparser's place   line 2, column 1
//!   the place we give   line 1, column 12    always line 1; column = offset + 1
//! ```
//!
//! Hence [`Span::from`] on a span of [`crate::ast`] is a subtraction. A span that sqlparser left
//! empty (line 0) becomes the empty span at 0, which [`Span::is_known`] tells apart.

use std::fmt;

use crate::ast;

/// A range of bytes of the text: `start` in, `end` out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The span of anything sqlparser built.
    pub fn of(part: &impl ast::Spanned) -> Self {
        Self::from(part.span())
    }

    /// The bytes of `text` that this span covers, or nothing if it does not fit the text.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// Whether this span points at something; sqlparser gives some parts no place.
    pub fn is_known(self) -> bool {
        self.end > self.start
    }

    /// This span as sqlparser holds it: all on line 1, columns counted in bytes.
    pub(crate) fn encode(self) -> ast::Span {
        ast::Span::new(location(self.start), location(self.end))
    }
}

impl From<ast::Span> for Span {
    fn from(span: ast::Span) -> Self {
        Self::new(offset(span.start), offset(span.end))
    }
}

fn location(offset: usize) -> ast::Location {
    ast::Location::new(
        1,
        u64::try_from(offset).map_or(u64::MAX, |offset| offset + 1),
    )
}

fn offset(location: ast::Location) -> usize {
    usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// One place of the text, as a person finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// Bytes before it.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its character in that line, from 1.
    pub column: usize,
}

impl Position {
    /// The place `offset` bytes into `text`; an offset inside a character or past the end is moved
    /// back to the nearest place there is.
    pub fn find(text: &str, offset: usize) -> Self {
        let before = (0..=offset.min(text.len()))
            .rev()
            .find_map(|end| text.get(..end))
            .unwrap_or_default();
        // A mark of byte order is in no column that an editor shows.
        let mark = before.chars().next().filter(|first| *first == '\u{feff}');
        let first = mark.map_or(0, char::len_utf8);
        let line_start = before.rfind('\n').map_or(first, |newline| newline + 1);
        Self {
            offset: before.len(),
            line: before.matches('\n').count() + 1,
            column: before
                .get(line_start..)
                .map_or(0, |line| line.chars().count())
                + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
