//! INSERT, UPSERT, REPLACE, UPDATE, DELETE: rows worked out or found by reading, changed, put back.
//!
//! ```text
//!   INSERT … VALUES     rows are expressions of ours ─────────────┐
//!   INSERT … SELECT     rows come from a query                    │      ┌ the table's row
//!   UPDATE, DELETE      by key: read, changed row by row ─────────┼─► put ┤
//!                       else: SELECT *, new values … by DataFusion┘      └ its index entries
//! ```
//!
//! Statements are compiled once. Those that name keys and compute with expressions of ours never meet
//! DataFusion; for the others it finds the rows, so that any condition works and only the key ranges
//! that it allows are read. An UPSERT of some columns reads nothing where nothing has to be known of
//! the row ([`patch`]).

mod change;
mod computed;
mod conflict;
mod found;
mod given;
mod insert;
mod patch;
mod returning;
mod rows;

use keys::Value;

use crate::query::PlannedQuery;

pub(crate) use change::{ChangePlan, written_text};
pub(crate) use given::values;
pub(crate) use insert::InsertPlan;
pub use patch::{RowPatching, ensure_row, raise_row};
pub use rows::{delete_row, find_row, insert_row, replace_row};
pub(crate) use rows::{exists, find_key, insert_encoded};

/// One run of a statement.
#[derive(Clone, Copy)]
pub(crate) struct Run<'r> {
    /// The query that finds or makes the rows, if it is planned already.
    pub(crate) query: Option<&'r PlannedQuery>,
    pub(crate) parameters: &'r [Value],
    /// Whether rows may be found without DataFusion.
    pub(crate) fast: bool,
}
