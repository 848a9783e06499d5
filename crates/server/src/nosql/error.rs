//! What can be wrong with attributes in the body of a request.

use db::items;

/// The result of every fallible function of this module.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong, in words that name the attribute.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// JSON that is no typed attribute.
    #[error("attribute `{name}`: expected {expected}, found {found}")]
    AttributeJson {
        /// The attribute.
        name: String,
        /// What should be there.
        expected: &'static str,
        /// What is there, cut when it is long.
        found: String,
    },
    /// A typed attribute whose text is no value of its type.
    #[error("attribute `{name}`: {source}")]
    AttributeValue {
        /// The attribute.
        name: String,
        /// What is wrong with it.
        source: keys::Error,
    },
}

impl From<Error> for items::Error {
    fn from(error: Error) -> Self {
        Self::Invalid(error.to_string())
    }
}
