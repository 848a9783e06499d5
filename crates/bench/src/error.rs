//! Why a bench could not be run to its end.

/// The outcome of a step of a bench.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Our side failed.
    #[error("our side: {0}")]
    Ours(#[from] db::Error),
    /// The engine by itself failed.
    #[error("the raw side: {0}")]
    Raw(#[from] fjall::Error),
    /// A value that cannot be encoded.
    #[error("encoding: {0}")]
    Encoding(#[from] keys::Error),
    /// The operating system refused something.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// A process that was started to measure something ended badly or said something odd.
    #[error("a child process: {0}")]
    Child(String),
    /// A statement that a bench sends by itself failed.
    #[error("a statement: {0}")]
    Statement(#[from] tokio_postgres::Error),
    /// Both sides should have answered the same.
    #[error("wrong answer: {0}")]
    Wrong(String),
}
