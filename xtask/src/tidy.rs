//! What rustfmt and clippy cannot see: who may use whom, where text lies, what the documents promise.
//!
//! A check is a pure function from a [`Tree`] of texts to [`Finding`]s:
//!
//! ```text
//!   the repository ──read──► Tree ──check──► findings     tests/tidy.rs wants none
//!   golden/tidy.txt ─parse─► Tree ──check──► findings     tests/tidy.rs wants the ones written there
//! ```
//!
//! so every check is shown a small tree that it must refuse: a check that cannot fail keeps nothing.
//! A finding says what to do, because whoever reads it did not come to learn the rules.
//!
//! Sources are read by line, not parsed: a comment ends the code of a line, and nothing else is
//! understood. That is enough for rules about names, and keeps the checks readable.

mod documents;
mod ladder;
mod manifest;
mod sources;
mod tree;

pub use tree::{Finding, Tree};

/// A rule: its name, and the function that finds what breaks it.
pub type Check = (&'static str, fn(&Tree) -> Vec<Finding>);

/// Every rule, in the order in which findings are best mended.
pub const CHECKS: &[Check] = &[
    ("ladder", ladder::ladder),
    ("outside-names", ladder::outside_names),
    ("first-line", sources::first_line),
    ("file-length", sources::file_length),
    ("file-names", sources::file_names),
    ("unfinished", sources::unfinished),
    ("whitespace", sources::whitespace),
    ("code-map", documents::code_map),
    ("decisions", documents::decisions),
    ("readme", documents::readme),
];
