//! The pure half of the NoSQL web API: typed attributes as JSON, and expressions over them.
//!
//! Iguazio's collections are reached over HTTP with JSON bodies. What such a body means is here, in
//! functions of text and values; the HTTP half stands on it and adds sockets, tables and
//! transactions.
//!
//! ```text
//!   {"Item": {"a": {"N": "1"}},                  json ─────────► keys::Item
//!    "ConditionExpression": "a < 5",             expression ───► Condition::holds
//!    "UpdateExpression": "a = a + 1"}            expression ───► Update::apply
//! ```

pub mod error;
pub mod expression;
pub mod json;

pub use error::{Error, Result};
pub use expression::{Attributes, Condition, Update};
