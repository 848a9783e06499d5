//! What keeps the advisor from giving advice.

use std::io;

use crate::advise::TXNS_MIN;

/// The result of asking for advice.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no advice, named for the situation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The trace cannot be read at all.
    #[error("cannot read the trace: {0}")]
    Io(#[from] io::Error),
    /// A file that does not begin as a trace does.
    #[error("this is no trace: line 1 should be {{\"evenkeel_trace\":1,…}}, and {reason}")]
    NotATrace {
        /// What stands there instead.
        reason: String,
    },
    /// A trace of a later version than this program knows.
    #[error(
        "the trace has version {version}, and this program reads versions up to {known}: use the \
         evenkeel that recorded it, {made_by}, or a later one"
    )]
    TraceNewer {
        /// The version of the trace.
        version: u64,
        /// The latest version that is read.
        known: u64,
        /// Who wrote it.
        made_by: String,
    },
    /// A text that is not of the form it is said to be.
    #[error("this cannot be imported: {reason}")]
    NotALog {
        /// What is wrong with it.
        reason: String,
    },

    /// A schema that does not help.
    #[error("the schema cannot be used: {reason}")]
    Schema {
        /// Why not.
        reason: String,
    },
    /// A table that the trace does not have.
    #[error("the trace has no table {table}; {}", tables(known))]
    NoSuchTable {
        /// The name.
        table: String,
        /// The tables of the trace.
        known: Vec<String>,
    },
    /// A table without a key.
    #[error("table {table} has no primary key in the trace, so there is nothing to compare with")]
    NoKey {
        /// The table.
        table: String,
    },
    /// Too little was recorded to rank anything.
    #[error(
        "{found} recorded transactions touch table {table}, and {needed} are needed to rank its \
         keys: record for longer, or sample more"
    )]
    TooFew {
        /// The table.
        table: String,
        /// How many there are.
        found: usize,
        /// How many it takes.
        needed: usize,
    },
}

fn tables(known: &[String]) -> String {
    match known {
        [] => format!(
            "it has none at all: nothing is recorded yet, and {TXNS_MIN} transactions are needed to \
             rank the keys of a table"
        ),
        known => format!("it has {}", known.join(", ")),
    }
}
