//! Schema and workload in, findings and advice out; never acts.
//!
//! The crate is empty: its place on the ladder is fixed, its code is not written. It will judge
//! primary keys by replaying a workload through the partition decider of `partitions` on a
//! simulated clock, so that advice and database cannot disagree. It will open no file and no
//! engine, and change nothing: `db` acts, on request.
