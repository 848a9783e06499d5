//! Writes the rewritten statements into the text.
//!
//! Edits of one finding go together or not at all. Two findings may want the same place, so what
//! overlaps waits for the next round, in which the text as it is then is read anew.

use super::rewrite::apply;
use super::{Dialect, Edit, Finding, Source, Span};

/// Rounds in which a text may change.
const ROUNDS_MAX: usize = 16;

/// The text with all findings mended that `wanted` picks and that can be, and how many these were.
pub fn fix(text: &str, dialect: Dialect, wanted: impl Fn(&Finding) -> bool) -> (String, usize) {
    let mut text = text.to_owned();
    let mut mended = 0;
    for _ in 0..ROUNDS_MAX {
        let findings = Source::read(&text, Some(dialect)).findings();
        let mut taken: Vec<&Edit> = Vec::new();
        for finding in findings.iter().filter(|finding| wanted(finding)) {
            let free = |edit: &Edit| taken.iter().all(|other| !overlap(edit.span, other.span));
            if !finding.edits.is_empty() && finding.edits.iter().all(free) {
                taken.extend(&finding.edits);
                mended += 1;
            }
        }
        if taken.is_empty() {
            break;
        }
        text = apply(&text, Span::new(0, text.len()), &taken);
    }
    (text, mended)
}

/// Whether two edits want the same place; two insertions at one place do.
fn overlap(one: Span, other: Span) -> bool {
    one.start <= other.end && other.start <= one.end
}
