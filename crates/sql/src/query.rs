//! Everything the fast path does not do: DataFusion over our tables.
//!
//! ```text
//!   statement (syntax) ─► DataFusion: plan, optimise ─► physical plan
//!                                                          │ leaf: one stream for each partition
//!                                                          ▼
//!             rows ◄─ batches of columns ◄──────────── Scan at the reader's snapshot
//! ```
//!
//! Filters on key columns become key ranges ([`ranges`]), so only the partitions that can hold rows
//! are read, and of them only those rows. Rows are decoded straight into columns, and only the
//! columns that are asked for ([`columns`]). Each stream comes in key order and says so, so ordering
//! by the key needs no sort.

mod columns;
mod functions;
mod hidden;
mod names;
mod provider;
mod ranges;
mod results;
mod run;

pub use run::ResultColumn;
pub(crate) use run::{PlannedQuery, Queries, QueryRows, result_name};
