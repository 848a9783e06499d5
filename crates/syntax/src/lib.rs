//! Text to statements: YQL, PostgreSQL and the dialects the linter reads, with spans.
//!
//! The crate is empty: its place on the ladder is fixed, its code is not written. It will turn text
//! into statements that remember where in the text they came from, so that an error or a finding
//! can point at a column. It will be the only crate that names sqlparser, and will know nothing of
//! which tables exist.
