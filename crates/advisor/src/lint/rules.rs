//! The rules, each a function from a table to findings.

mod content;
mod few;
mod growing;
mod hashed;
mod long;
mod null;
mod number_text;
mod parts;
mod queries;
mod time_cut;
mod uuid_order;

use super::model::Table;
use super::{Finding, Source};

pub(crate) use queries::judge_queries;

type Rule = fn(&Source<'_>, &Table) -> Vec<Finding>;

/// The rules over one table; KEY008, which needs queries, is apart.
const RULES: &[Rule] = &[
    growing::key001,
    few::key002,
    null::key003,
    long::key004,
    content::key005,
    hashed::key006,
    hashed::key007,
    few::key009,
    parts::key010,
    number_text::key011,
    parts::key012,
    uuid_order::key013,
    time_cut::key014,
];

/// Rules about where in the order of the key new rows belong.
const ABOUT_ORDER: &[&str] = &["KEY001", "KEY002", "KEY007", "KEY009", "KEY014"];

/// All that the rules say about a table.
pub(crate) fn judge(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let found = RULES.iter().flat_map(|rule| rule(source, table));
    // YDB deals rows of a column store out by a hash, and sorts by the key only within that.
    let hashed = parts::is_column_store(table);
    found
        .filter(|finding| !(hashed && ABOUT_ORDER.contains(&finding.code)))
        .collect()
}
