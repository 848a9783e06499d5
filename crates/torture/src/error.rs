//! What ends a torture run other than its verdict.

/// Why a run could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The server did not start, or ended when it should not have.
    #[error("{0}")]
    Server(String),
    /// The torture of disks could not be carried out.
    #[error("{0}")]
    Disk(String),
    /// A file or a process failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A statement failed with something that no transaction may be told.
    #[error("{statement}: {error}")]
    Statement {
        /// The statement.
        statement: String,
        /// What the server said.
        error: tokio_postgres::Error,
    },
}

/// What can fail here fails with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
