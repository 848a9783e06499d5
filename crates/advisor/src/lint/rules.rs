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

/// All that the rules say about a table.
pub(crate) fn judge(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(source, table)).collect()
}
