//! What can be wrong with an expression.

/// The result of every fallible function of this module.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong, in words that name the place in the expression.
///
/// Places in expressions are characters, counted from one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A name, a bound or stored bytes.
    #[error(transparent)]
    Keys(#[from] keys::Error),

    /// An expression above the limit.
    #[error("expression of {bytes} bytes is above the limit of {limit} bytes")]
    ExpressionTooLong {
        /// Bytes of the expression.
        bytes: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// An expression with too many operators and functions.
    #[error("expression has more than {limit} operators and functions")]
    OperatorsTooMany {
        /// How many there may be.
        limit: usize,
    },
    /// Parentheses inside of parentheses, too many of them.
    #[error("expression, character {at}: nested deeper than {limit} levels")]
    TooDeep {
        /// Where it becomes too deep.
        at: usize,
        /// How deep it may be.
        limit: usize,
    },
    /// Text that is no expression.
    #[error("expression, character {at}: expected {expected}, found {found}")]
    Syntax {
        /// Where.
        at: usize,
        /// What could stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// An attribute that cannot be changed.
    #[error("expression, character {at}: {source}")]
    Target {
        /// Where it is named.
        at: usize,
        /// What is wrong with the name.
        source: keys::Error,
    },
    /// An update needs what the item does not have.
    #[error("expression, character {at}: `{name}` does not exist in the item")]
    Missing {
        /// Where it is named.
        at: usize,
        /// The attribute or element.
        name: String,
    },
    /// Values that an operator or function cannot take.
    #[error("expression, character {at}: {reason}")]
    Mismatch {
        /// Where the operator or function stands.
        at: usize,
        /// What it takes and what it got.
        reason: String,
    },
    /// A calculation without a result.
    #[error("expression, character {at}: {reason}")]
    Calculation {
        /// Where the operator or function stands.
        at: usize,
        /// Why there is none.
        reason: String,
    },
}
