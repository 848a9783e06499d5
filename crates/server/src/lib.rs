//! Adapters from the network and the terminal to the database.
//!
//! ```text
//!   psql, drivers ── PostgreSQL's protocol ──► pg ────┐
//!                                                     ├──► db::Session
//!   a terminal, a file, a pipe ──────────────► shell ─┘
//!   Prometheus, load balancers ── HTTP ──────► http ─────► db::Database, to look
//!   clients of v3io ── the NoSQL web API ────► nosql ────► db::Database, its tables
//! ```
//!
//! [`lint`] reads schema files and prints what the advisor finds in them, and [`advise`] reads a trace and
//! prints which key a table should have, both with no database at all.
//!
//! [`record`] prints what was recorded of transactions.
//!
//! Everything a statement means is decided behind [`db::Session`]; here is only how it comes in and
//! how its answer goes out. The binary `evenkeel` adds the command line.

pub mod advise;
pub mod error;
pub mod http;
pub mod lint;
pub mod nosql;
pub mod pg;
pub mod record;
pub mod serve;
pub mod shell;

pub use error::{Error, Result};
