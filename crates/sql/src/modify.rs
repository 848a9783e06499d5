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
//! that it allows are read.

mod change;
mod found;
mod insert;
mod returning;
mod rows;

pub(crate) use change::ChangePlan;
pub(crate) use insert::InsertPlan;
pub(crate) use rows::{delete_row, insert_row, replace_row};
