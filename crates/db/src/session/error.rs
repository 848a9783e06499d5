//! What a session refuses by itself, before or beside the tables.

use crate::{Error, Kind};

/// Why a session refuses.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("the transaction has failed: nothing runs before ROLLBACK")]
    Failed,
    #[error("statements that change tables themselves take effect at once: COMMIT first")]
    Definition,
    #[error("the transaction is read only")]
    ReadOnly,
    #[error("CALL runs outside of transactions: COMMIT first")]
    Call,
    #[error("DISCARD ALL runs outside of transactions: COMMIT first")]
    Discard,
    #[error("VACUUM runs outside of transactions: COMMIT first")]
    Vacuum,
    #[error("{command} is for transactions: BEGIN first")]
    NoTransaction { command: &'static str },
    #[error("there is no savepoint `{name}`")]
    NoSavepoint { name: String },
    #[error(
        "unrecognized configuration parameter `{name}`{}",
        did_you_mean(nearest)
    )]
    NoSetting {
        name: String,
        nearest: Option<String>,
    },
    #[error("prepared statement `{name}` does not exist")]
    NoStatement { name: String },
    #[error("prepared statement `{name}` exists already: DEALLOCATE it first")]
    StatementExists { name: String },
    #[error("more than {limit} prepared statements in one session: DEALLOCATE some")]
    TooManyStatements { limit: usize },
    #[error(
        "more than {} MiB of prepared statements in one session: DEALLOCATE some",
        limit >> 20
    )]
    StatementsTooLong { limit: usize },
    #[error("the prepared statement has {expected} parameters, and {given} were given")]
    ParameterCount { expected: usize, given: usize },
    #[error("setting `{name}` cannot be changed")]
    SettingFixed { name: String },
    #[error("setting `{name}` cannot be `{value}`: {reason}")]
    SettingValue {
        name: String,
        value: String,
        reason: &'static str,
    },
    #[error("setting `{name}` cannot be `{value}`: {reason}")]
    SystemValue {
        name: String,
        value: String,
        reason: String,
    },
    #[error("`{name}` is no setting of the whole database: SET it in a session")]
    NotOfSystem { name: String },
    #[error("setting `{name}` is one of the whole database: ALTER SYSTEM SET {name} = …")]
    OfSystem { name: String },
    #[error("{reason}")]
    CopyOption { reason: String },
    #[error("cursor `{name}` does not exist")]
    NoCursor { name: String },
    #[error("cursor `{name}` exists already: CLOSE it first")]
    CursorExists { name: String },
    #[error("more than {limit} cursors in one session: CLOSE some")]
    TooManyCursors { limit: usize },
    #[error("cursor `{name}` goes forward only: DECLARE it with SCROLL")]
    CursorForward { name: String },
    #[error(
        "the rows that cursor `{name}` keeps or answers with at once may take {} MiB of memory: FETCH \
         fewer of them, and DECLARE it without SCROLL and WITH HOLD",
        limit >> 20
    )]
    CursorTooLarge { name: String, limit: usize },
    #[error("statement cancelled after {ms} ms: statement_timeout allows no more")]
    Timeout { ms: u128 },
    #[error("pg_sleep cannot wait for `{seconds}` seconds")]
    Sleep { seconds: String },
}

impl SessionError {
    pub(crate) fn sqlstate(&self) -> &'static str {
        match self {
            Self::Failed => "25P02",
            Self::Definition | Self::Discard | Self::Vacuum | Self::Call => "25001",
            Self::ReadOnly => "25006",
            Self::NoTransaction { .. } => "25P01",
            Self::NoSavepoint { .. } => "3B001",
            Self::NoSetting { .. } | Self::NotOfSystem { .. } => "42704",
            Self::NoStatement { .. } => "26000",
            Self::StatementExists { .. } => "42P05",
            Self::TooManyStatements { .. } | Self::StatementsTooLong { .. } => "53400",
            Self::ParameterCount { .. } => "42601",
            Self::SettingFixed { .. } | Self::OfSystem { .. } => "55P02",
            Self::SystemValue { .. } => "22023",
            Self::SettingValue { .. } | Self::CopyOption { .. } | Self::Sleep { .. } => "22023",
            Self::NoCursor { .. } => "34000",
            Self::CursorExists { .. } => "42P03",
            Self::TooManyCursors { .. } => "53400",
            Self::CursorForward { .. } => "55000",
            Self::CursorTooLarge { .. } => "54000",
            Self::Timeout { .. } => "57014",
        }
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        Self::new(Kind::Invalid, error)
    }
}

fn did_you_mean(name: &Option<String>) -> String {
    name.as_ref()
        .map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}
