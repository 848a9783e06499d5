//! What can be wrong with a request to collections.

use sql::collection::ItemError;

use super::expression;

/// The result of every fallible function of this module.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong; each kind is answered in its own way.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An expression that means nothing.
    #[error(transparent)]
    Expression(#[from] expression::Error),
    /// A name or an attribute that means nothing.
    #[error(transparent)]
    Keys(#[from] keys::Error),
    /// A request that contradicts itself or asks for what there is not.
    #[error("{0}")]
    Invalid(String),
    /// No such container, directory or item.
    #[error("No such file or directory")]
    NotFound,
    /// No such container, and none that is made by the first write.
    #[error("Container not found")]
    NoContainer,
    /// A directory or container that was to be deleted, and has something in it.
    #[error("Directory not empty: to delete it with all that is in it, add ?recursive=1")]
    NotEmpty,
    /// A condition that is not true of the item, so that nothing happened.
    #[error("the condition is false")]
    ConditionFalse,
    /// An item that was to be new.
    #[error("the item exists already")]
    ItemExists,
    /// More bytes than there is room for.
    #[error("{what} of more than {limit} bytes")]
    TooLarge {
        /// What is too long.
        what: &'static str,
        /// How long it may be.
        limit: u64,
    },
    /// A large object whose parts are not what was written.
    #[error(
        "object `{object}` is damaged: {cause}; restore the data directory from a backup, or put it again"
    )]
    Damaged {
        /// The path of the object.
        object: String,
        /// What is wrong.
        cause: String,
    },
    /// Others changed the same item again and again.
    #[error("others changed the item each time: try again")]
    Busy,
    /// The table of a container was changed by other means and its rows are no items any more.
    #[error("the table of the container has other columns than items need: bring them back")]
    Columns,
    /// The database refused.
    #[error(transparent)]
    Database(#[from] crate::Error),
}

impl Error {
    /// Whether the same transaction may succeed when it runs again.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Database(error) if error.kind() == crate::Kind::Conflict)
    }
}

impl From<ItemError> for Error {
    fn from(error: ItemError) -> Self {
        match error {
            ItemError::Keys(error) => error.into(),
            ItemError::Columns => Self::Columns,
            other => Self::Invalid(other.to_string()),
        }
    }
}
