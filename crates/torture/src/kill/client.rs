//! Answers that a client may get while its server is being killed.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::findings::Finding;

/// What a failed request means.
#[derive(Debug)]
pub(super) enum Failure {
    /// The transaction was rolled back for others' sake: it may be tried again.
    Retry,
    /// The connection ended: nobody knows what became of the transaction.
    Gone,
    /// The server said something that it has no reason to say.
    Wrong(Finding),
}

/// Takes an error for what it means; `what` is what was asked for.
pub(super) fn failure(error: &Error, what: &str) -> Failure {
    match error.code() {
        None => Failure::Gone,
        Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => Failure::Retry,
        Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => Failure::Retry,
        Some(code) => {
            let message = error.as_db_error().map_or("", |error| error.message());
            Failure::Wrong(Finding::Anomaly(format!(
                "{what} was refused with {}: {message}",
                code.code()
            )))
        }
    }
}
