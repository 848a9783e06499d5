//! The NoSQL web API: typed attributes as JSON, expressions over them, and collections of items.
//!
//! Iguazio's collections are reached over HTTP with JSON bodies. What such a body means is told by
//! functions of text and values; [`db::items`] keeps the items in tables, and [`web`] is what clients
//! see of them.
//!
//! ```text
//!   {"Item": {"a": {"N": "1"}},                  json ─────────► keys::Item
//!    "ConditionExpression": "a < 5",             db::items ────► Condition::holds
//!    "UpdateExpression": "a = a + 1"}            db::items ────► Update::apply
//!
//!   PUT /users/cars/blue.20180602   web ──► db::items ──► table v3io/users
//! ```

pub mod error;
pub mod json;
pub mod web;

pub use error::{Error, Result};
