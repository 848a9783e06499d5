//! Schema and workload in, findings and advice out; never acts.
//!
//! [`lint`] judges the keys of a schema by what its text says, in five dialects. Judging keys by
//! replaying a workload through the partition decider of `partitions` is not written yet.
//!
//! The crate opens no file and no engine, and changes nothing: text comes in, findings go out, and
//! whoever asked prints them or acts.

pub mod lint;
