//! What can be wrong with collections: their schemas, and rows that should be items.

/// The result of what needs no transaction.
pub type Result<T> = std::result::Result<T, ItemError>;

/// What was wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ItemError {
    /// A schema that means nothing, or an item that contradicts it.
    #[error("{0}")]
    Invalid(String),
    /// A name, an attribute, or stored bytes.
    #[error(transparent)]
    Keys(#[from] keys::Error),
    /// The table of a container was changed by other means and its rows are no items any more.
    #[error("the table of the container has other columns than items need: bring them back")]
    Columns,
    /// A collection whose columns nobody knows.
    #[error(
        "collection `{collection}` has no schema, so it has no columns: CALL \
         infer_schema('{container}', '{path}') makes one from its items"
    )]
    NoSchema {
        /// What it was called.
        collection: String,
        /// Its container.
        container: String,
        /// Its directory.
        path: String,
    },
    /// A value for what the server works out.
    #[error("column `{column}` of collection `{collection}` is kept by the server: leave it out")]
    Kept {
        /// The collection.
        collection: String,
        /// The column.
        column: String,
    },
    /// The list of a large object's parts is not what was written.
    #[error("the list of the object's parts is damaged: {0}")]
    Manifest(&'static str),
    /// A schema that changed between a statement and its plan or commit.
    #[error("the schema of collection `{collection}` is changing: run the transaction again")]
    Changing {
        /// The collection.
        collection: String,
        /// Its container.
        container: String,
        /// The directory whose items must be moved before, if that is the reason.
        moving: Option<String>,
    },
    /// A name for a table that would hide what a container has.
    #[error(
        "`{name}` is a collection: choose another name for the table, or first DELETE {place} over HTTP, \
         with what is in it"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// What it would hide, as the web API calls it.
        place: String,
    },
    /// A directory that nobody could see in SQL.
    #[error(
        "table `{table}` has the name of this directory and hides it from SQL: choose another \
         directory, or ALTER TABLE \"{table}\" RENAME TO something else"
    )]
    Hidden {
        /// The table.
        table: String,
    },
    /// A change of a container's table that would take the container away.
    #[error(
        "`{table}` is a container with all its collections and cannot be {changed}: to remove it DELETE \
         its directories and then /{container}/ over HTTP"
    )]
    Container {
        /// The table.
        table: String,
        /// Its container.
        container: String,
        /// What was asked for.
        changed: &'static str,
    },
    /// A table with the name of a container, made for something else.
    #[error(
        "`{table}` is the name of a container, which is made when the first item is put into it over \
         HTTP: choose another name for the table"
    )]
    NoContainer {
        /// The table.
        table: String,
    },
}
