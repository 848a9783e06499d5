//! The database as one object: tables, transactions, partitions, background work, error kinds.
//!
//! This is also the embedded library:
//!
//! ```
//! use db::{Column, Database, Direction, Range, Schema, Type, Value};
//!
//! # fn main() -> Result<(), db::Error> {
//! let db = Database::memory()?;
//! let columns = vec![
//!     Column::new("userid", Type::Uint64).not_null(),
//!     Column::new("at", Type::Timestamp).not_null(),
//!     Column::new("event", Type::Utf8),
//! ];
//! let events = db.create_table(Schema::new("events", columns, &["userid", "at"])?, &[])?;
//!
//! let mut txn = db.begin();
//! for at in [30, 10, 20] {
//!     let event = Value::Utf8(format!("event at {at}").into());
//!     txn.insert(&events, &[Value::Uint64(7), Value::Timestamp(at), event])?;
//! }
//! txn.commit()?;
//!
//! // One user's events lie together, sorted by time.
//! let of_user = Range::prefix(&[Value::Uint64(7)]);
//! let rows = db.snapshot().scan(&events, &of_user, Direction::Ascending)?;
//! let times: Vec<Value> = rows.map(|row| Ok(row?[1].clone())).collect::<Result<_, db::Error>>()?;
//! assert_eq!(times, [Value::Timestamp(10), Value::Timestamp(20), Value::Timestamp(30)]);
//!
//! // A key that is there already is an error of the kind `Exists`.
//! let mut txn = db.begin();
//! let again = txn.insert(&events, &[Value::Uint64(7), Value::Timestamp(10), Value::Null]);
//! assert_eq!(again.unwrap_err().kind(), db::Kind::Exists);
//! # Ok(())
//! # }
//! ```
//!
//! With a path instead of memory, `Database::open("./data")`, everything that was committed is there
//! again after a crash.
//!
//! # Invariants
//! Background work is started and joined in one place, [`Database::open`] and its drop, and nowhere
//! else in the database is a thread spawned. [`Error`] is the only error that leaves.

mod admin;
mod advice;
mod asks;
mod background;
mod balance;
mod database;
mod errands;
mod error;
mod findings;
pub mod items;
mod jobs;
mod latency;
mod metrics;
mod objects;
mod place;
mod policy;
mod range;
mod reads;
mod record;
mod session;
mod shapes;
mod sqlstate;
mod told;
mod transaction;
mod verify;

pub use admin::PartitionInfo;
pub use asks::{CursorAsk, CursorMotion, cursor_ask};
pub use balance::Balanced;
pub use database::{Database, Options};
pub use error::{Error, Kind, Result};
pub use jobs::{Health, JobStatus};
pub use keys::{Decimal, Declared, Type, Value};
pub use latency::{LATENCY_BOUNDS_US, Latency};
pub use metrics::{Metrics, SHARES_SECONDS, TableMetrics};
pub use policy::Policy;
pub use range::Range;
pub use reads::{Row, Rows, Snapshot};
pub use record::Request;
pub use session::{
    Copy, CopyForm, CopyFormat, CopyHeader, CopyIn, Interrupt, Notice, Recalled, Reply, ReplyRows,
    Session, TransactionState,
};
pub use sql::collection;
pub use sql::{
    Column, Origin, Picked, PickedText, Prepared, Progress, ResultColumn, RowSink, Schema, Table,
    list_elements,
};
pub use storage::{EngineCounters, EngineId, FjallOptions};
pub use syntax::Statement;
pub use transaction::Transaction;
pub use txn::{
    Collected, Committed, Direction, Durability, Fatality, Immortal, PartitionId, Savepoint, Share,
    Step, Timestamp, Timestamps,
};
