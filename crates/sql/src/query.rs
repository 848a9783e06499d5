//! Everything the fast path does not do: DataFusion over our tables.
//!
//! ```text
//!   statement ─► phrases ─► DataFusion's plan ─► rewrite, typing ─► optimised, parameters open   kept
//!                                                                        │ parameters
//!                                                                        ▼
//!   rows ◄─ batches of columns ◄─ streams ◄─ pieces of key ranges ◄─ physical plan, a copy a run
//! ```
//!
//! A statement is planned once and run many times ([`planned`]): a plan holds no reader and no values.
//! Both come with each run ([`context`], [`parameters`]), and only then are filters on key columns turned
//! into key ranges ([`ranges`]) and the ranges into pieces that the streams of a scan share ([`scan`],
//! [`pieces`]), of the table or of an index that narrows them further ([`through`], [`views`]). Rows are
//! decoded straight into columns, and only the columns that are asked for ([`decode`]). Each stream of a
//! table comes in key order and says so, so ordering by the key needs no sort, and none backwards either
//! ([`backwards`]).
//!
//! Scans and joins let others work in between, so a query without end can be ended ([`turns`]).
//!
//! Collections of items are read the same way, as far as their names tell ([`items`]).
//!
//! DataFusion computes as Arrow does, which wraps and cuts; arithmetic, casts and sums are ours instead
//! ([`typing`], [`checked`], [`sums`]). Its words for errors become our errors with PostgreSQL's codes
//! ([`refusals`]).

mod backwards;
mod chains;
mod checked;
mod columns;
mod context;
mod counting;
mod decode;
mod explain;
mod filling;
mod formats;
mod functions;
mod hidden;
mod items;
mod json;
mod list_parameters;
mod lists;
mod memory;
mod names;
mod numbers;
mod origins;
mod parameters;
mod patterns;
mod phrases;
mod pieces;
mod planned;
mod provider;
mod queries;
mod ranges;
mod refusals;
mod results;
mod rewrite;
mod row_condition;
mod scan;
mod shelf;
mod singles;
mod sums;
#[cfg(test)]
mod tests;
mod through;
mod titles;
mod turns;
mod typing;
mod unique;
mod value_types;
mod views;
mod yql;
mod yql_functions;

pub(crate) use columns::{TYPE_KEY, data_type, field};
pub(crate) use explain::PlanNode;
pub(crate) use functions::row_by_row;
pub(crate) use list_parameters::{element as list_element, values as list_values};
pub use lists::elements as list_elements;
pub(crate) use lists::list_with;
pub(crate) use planned::{PlannedQuery, QueryRows, Wanted};
pub(crate) use queries::Queries;
pub(crate) use row_condition::RowCondition;
pub(crate) use titles::title;
pub use titles::{Origin, ResultColumn};
pub(crate) use yql_functions::FILLED;
