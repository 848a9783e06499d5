//! What CHECKs and foreign keys refuse, and what is wrong with them.

/// What a constraint forbids.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// A CHECK that cannot be.
    #[error("the CHECK `{check}` of table `{table}`: {reason}")]
    BadCheck {
        /// The table.
        table: String,
        /// The constraint.
        check: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A row that a CHECK forbids.
    #[error("new row for table `{table}` violates check constraint `{check}`")]
    Unchecked {
        /// The table.
        table: String,
        /// The constraint.
        check: String,
        /// The row, in PostgreSQL's words.
        detail: String,
    },
    /// Rows that a new CHECK forbids.
    #[error(
        "check constraint `{check}` of table `{table}` is violated by row {key}: UPDATE it first"
    )]
    RowsUnchecked {
        /// The table.
        table: String,
        /// The constraint.
        check: String,
        /// The key of one of them, as a path.
        key: String,
    },
    /// A foreign key that cannot be.
    #[error("foreign key `{foreign_key}` of table `{table}`: {reason}")]
    BadForeignKey {
        /// The table.
        table: String,
        /// The constraint.
        foreign_key: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A row that refers to one that is not there.
    #[error("insert or update on table `{table}` violates foreign key constraint `{foreign_key}`")]
    NoParent {
        /// The table.
        table: String,
        /// The constraint.
        foreign_key: String,
        /// The values and where they are missing, in PostgreSQL's words.
        detail: String,
    },
    /// A row that goes while others refer to it.
    #[error(
        "update or delete on table `{parent}` violates foreign key constraint `{foreign_key}` on \
         table `{table}`"
    )]
    StillReferenced {
        /// The table of those that refer to it.
        table: String,
        /// The constraint.
        foreign_key: String,
        /// The table that the row is in.
        parent: String,
        /// The values and where they are, in PostgreSQL's words.
        detail: String,
    },
    /// Something that a foreign key needs.
    #[error("{what} is needed by foreign key `{foreign_key}` of table `{table}`: {advice}")]
    Referenced {
        /// What would have to go.
        what: String,
        /// The table of the foreign key.
        table: String,
        /// The constraint.
        foreign_key: String,
        /// What to do.
        advice: &'static str,
    },
    /// A foreign key that no table has.
    #[error("constraint `{name}` does not exist")]
    NotFound {
        /// The name that was asked for.
        name: String,
    },
    /// A foreign key that never waits.
    #[error("foreign key `{foreign_key}` of table `{table}` is not DEFERRABLE")]
    NotDeferrable {
        /// The table.
        table: String,
        /// The constraint.
        foreign_key: String,
    },
    /// A constraint that a table has already.
    #[error("table `{table}` has a constraint `{name}` already")]
    Exists {
        /// The table.
        table: String,
        /// The constraint.
        name: String,
    },
    /// A constraint that a table does not have.
    #[error("table `{table}` has no constraint `{name}`{known}")]
    Unknown {
        /// The table.
        table: String,
        /// The name that was asked for.
        name: String,
        /// Which ones it has, as the end of a sentence.
        known: String,
    },
}
