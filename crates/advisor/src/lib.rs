//! Schema and workload in, findings and advice out; never acts.
//!
//! [`lint`] judges the keys of a schema by what its text says, in five dialects. [`mod@advise`] judges keys
//! by what was really done: it replays a [`trace`] under many of them through the decider that splits
//! real partitions.
//!
//! The crate opens no file and no engine, and changes nothing: text comes in, findings and advice go
//! out, and whoever asked prints them or acts.

pub mod advise;
pub mod error;
pub mod import;
mod joins;
pub mod lint;
pub mod trace;
pub mod work;

pub use advise::{Advice, Options, advise, advise_on};
pub use error::{Error, Result};
