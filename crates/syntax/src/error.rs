//! What can be wrong with a text: each error names the place, what stood there and what would fit.

use thiserror::Error;

use crate::span::Position;

/// Why a text is not a statement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// Something stands where something else should.
    #[error("{at}: expected {expected}, found {found}")]
    Unexpected {
        /// Where it stands.
        at: Position,
        /// What would fit there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The form is right and the content is not.
    #[error("{at}: {reason}")]
    Invalid {
        /// Where it stands.
        at: Position,
        /// What is wrong with it, and what to write instead.
        reason: String,
    },
    /// One statement, or the text with all of them, passes its limit.
    #[error("{at}: the text from here is {bytes} bytes long, the limit is {bytes_max}: split it")]
    TooLong {
        /// Where it begins.
        at: Position,
        /// Its length.
        bytes: usize,
        /// The length that is still accepted.
        bytes_max: usize,
    },
    /// Expressions or queries are nested, or chained by operators, past the limit.
    #[error("{at}: nested too deeply: at most {depth_max} levels are accepted")]
    TooDeep {
        /// Where the limit is passed.
        at: Position,
        /// The depth that is still accepted.
        depth_max: usize,
    },
}

impl Error {
    /// Where in the text the error is.
    pub fn position(&self) -> Position {
        match self {
            Self::Unexpected { at, .. }
            | Self::Invalid { at, .. }
            | Self::TooLong { at, .. }
            | Self::TooDeep { at, .. } => *at,
        }
    }

    pub(crate) fn invalid(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        Self::Invalid {
            at: Position::find(text, offset),
            reason: reason.into(),
        }
    }
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
