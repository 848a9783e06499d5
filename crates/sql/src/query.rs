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

mod backwards;
mod checked;
mod columns;
mod context;
mod decode;
mod explain;
mod functions;
mod hidden;
mod memory;
mod names;
mod parameters;
mod phrases;
mod pieces;
mod planned;
mod provider;
mod queries;
mod ranges;
mod refusals;
mod results;
mod rewrite;
mod scan;
mod sums;
mod titles;
mod typing;

pub(crate) use explain::PlanNode;
pub(crate) use planned::{PlannedQuery, QueryRows};
pub(crate) use queries::Queries;
pub use titles::ResultColumn;
pub(crate) use titles::title;
