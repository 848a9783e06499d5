//! What is wrong, to be counted and printed.

use std::fmt;

/// Findings that are printed in full; the rest is counted.
const PRINTED_MAX: usize = 20;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// An acknowledged transaction is missing, wholly or in part.
    Lost(String),
    /// Anything else.
    Anomaly(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(what) => write!(f, "LOST: {what}"),
            Self::Anomaly(what) => write!(f, "ANOMALY: {what}"),
        }
    }
}

/// Prints what was found, as far as a person reads it.
pub(super) fn print(findings: &[Finding], when: &str) {
    for finding in findings.iter().take(PRINTED_MAX) {
        println!("{when}: {finding}");
    }
    if let Some(more) = findings
        .len()
        .checked_sub(PRINTED_MAX)
        .filter(|more| *more > 0)
    {
        println!("{when}: and {more} more");
    }
}
