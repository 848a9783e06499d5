//! What the victim of a real kill (`src/bin/torture.rs`) and its judge agree on.

use db::Value;

/// How many counters there are.
pub const COUNTERS: u64 = 6;

/// The table that says how far each counter came.
pub const COUNTERS_TABLE: &str = "counters";

/// The table with one row for each number that a counter reached.
pub const ENTRIES_TABLE: &str = "entries";

/// The number in a column; 0 if there is none.
pub fn number(row: &[Value], column: usize) -> u64 {
    match row.get(column) {
        Some(Value::Uint64(number)) => *number,
        _ => 0,
    }
}
