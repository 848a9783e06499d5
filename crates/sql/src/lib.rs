//! Tables over transactions: the catalog and typed rows now; plan, fast path and DataFusion next.
//!
//! A [`Schema`] says what a table's columns are and which of them form the primary key. It turns rows
//! of values into the key and row bytes that [`txn`] stores, and back. The [`Catalog`] knows every
//! table by name; it lives in the database itself, one record for each table, written in the same
//! instant as the table's partitions.
//!
//! Deliberately absent: partitions and engines. This crate asks `txn` and never looks below it.

mod access;
mod advisory;
mod arithmetic;
mod call;
mod cast;
mod catalog;
mod check;
pub mod collection;
mod conditions;
mod copy;
mod counted;
mod ddl;
mod default;
mod error;
mod execute;
mod expire;
mod explain;
mod fast;
mod foreign;
mod generated;
mod index;
mod interrupt;
mod locking;
mod merge;
mod modify;
pub mod named;
mod names;
mod number;
mod operators;
mod options;
mod prepare;
mod query;
mod rebucket;
mod record;
mod scalar;
mod schema;
mod sequence;
mod shape;
mod statements;
mod system;
mod warnings;
mod watched;

pub use advisory::{AdvisoryPlan, LockCall, Locked};
pub use cast::cast;
pub use catalog::{Catalog, Table, nearest};
pub use copy::{COPY_BYTES_MAX, Copied, CopyTarget, copy_query};
pub use error::{ConstraintError, Error, Fault, Result};
pub use execute::{Answer, AnswerRows, Executor};
pub use explain::{Explained, Measured, Ran, Touched};
pub use fast::{Picked, PickedText, RowSink};
pub use foreign::ConstraintModes;
pub use index::Progress;
pub use interrupt::Interrupt;
pub use modify::{
    RowPatching, delete_row, ensure_row, find_row, insert_row, raise_row, replace_row,
};
pub use options::{ReadReplicas, TableOptions, Ttl};
pub use prepare::Prepared;
pub use query::{Origin, ResultColumn, list_elements};
pub use rebucket::Move;
pub use schema::{
    Action, CONSTRAINTS_MAX, Check, Checked, Column, DEFAULT_BYTES_MAX, ForeignKey, INDEXES_MAX,
    Identity, Index, NAME_CHARS_MAX, Schema, Target,
};
pub use sequence::{Definition, Sequence, Standing};
pub use shape::Shape;
pub use statements::{Call, Reach, STATEMENTS_MAX, Statements, Tally};
pub use system::{Outside, Personal, Personalised, configured, personalise, postgres_type, sleeps};
pub use warnings::Warning;
pub use watched::{Few, shortened};
