//! The tables of a simulated database: how many keys each has, and what it is there for.
//!
//! ```text
//!   t0, t1    24 keys      few, so that transactions meet
//!   t2       120 keys      most there from the beginning: enough rows for pages of the range cache
//!   t3         8 keys      parents
//!   t4        24 keys      children, three of each parent: /0 /1 /2 refer to /0 of t3, and so on
//! ```
//!
//! Keys begin at 0. A child is written only while its parent is there, and a parent is deleted only
//! while it has no child, both as SQL's foreign keys do it: `foreign.rs`.

use db::Value;

use crate::edits::Cells;
use crate::error::{Checked, Wrong};
use crate::model::Spot;

/// How many tables there are.
pub(crate) const TABLES: usize = 5;

/// The table with rows enough for cached pages.
pub(crate) const WIDE: usize = 2;

/// The table that others refer to.
pub(crate) const PARENTS: usize = 3;

/// The table that refers to the parents.
pub(crate) const CHILDREN: usize = 4;

/// How many children a parent can have.
const CHILDREN_EACH: u64 = 3;

/// How often an action concerns each table.
pub(crate) const SHARES: &[(u64, usize)] =
    &[(3, 0), (3, 1), (5, WIDE), (3, PARENTS), (4, CHILDREN)];

/// The keys of a table are below this.
pub(crate) fn keys_of(table: usize) -> u64 {
    match table {
        WIDE => 120,
        PARENTS => 8,
        CHILDREN => 8 * CHILDREN_EACH,
        _ => 24,
    }
}

/// Every place there is.
pub(crate) fn all_spots() -> impl Iterator<Item = Spot> {
    (0..TABLES).flat_map(|table| (0..keys_of(table)).map(move |key| (table, key)))
}

/// The parent of a child.
pub(crate) fn parent_of((table, key): Spot) -> Option<Spot> {
    (table == CHILDREN).then_some((PARENTS, key / CHILDREN_EACH))
}

/// The keys of a parent's children: from the first up to, not including, the second.
pub(crate) fn children_of((table, key): Spot) -> Option<(u64, u64)> {
    let first = key * CHILDREN_EACH;
    (table == PARENTS).then_some((first, first + CHILDREN_EACH))
}

/// Whether a place is in a table with foreign keys.
pub(crate) fn is_related((table, _): &Spot) -> bool {
    matches!(*table, PARENTS | CHILDREN)
}

/// The column that patches raise.
pub(crate) const NUMBER: &str = "number";

/// The key of a row and what stands behind it.
pub(crate) fn cells_of(row: &[Value]) -> Checked<(u64, Cells)> {
    match row {
        [Value::Uint64(key), Value::Utf8(text), Value::Int64(number)] => {
            let text = text.to_string();
            let number = *number;
            Ok((*key, Cells { text, number }))
        }
        other => Err(Wrong(format!("a row came back as {other:?}"))),
    }
}

/// The values of a row.
pub(crate) fn values_of(key: u64, cells: &Cells) -> [Value; 3] {
    [
        Value::Uint64(key),
        Value::Utf8(cells.text.as_str().into()),
        Value::Int64(cells.number),
    ]
}
