//! System tables whose rows those above this crate work out: what the advisor finds, what was recorded.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use keys::Value;

use super::rows::{Cell, Rows};

/// Somebody above who knows the rows of some system tables.
pub trait Outside: Debug + Send + Sync {
    /// The rows of a table of `sys` as they are now, with a value for each column of its line in
    /// `sys.txt`; none if the table is nothing of its own.
    fn rows(&self, table: &str) -> Vec<Vec<Value>>;
}

/// Who that is, once it has said so.
#[derive(Debug, Default)]
pub(crate) struct Guest(OnceLock<Arc<dyn Outside>>);

impl Guest {
    pub(crate) fn come(&self, outside: Arc<dyn Outside>) {
        // The first stays.
        let _ = self.0.set(outside);
    }

    /// Fills a table, and tells whether it is known there.
    pub(super) fn fill(&self, table: &str, rows: &mut Rows) {
        let Some(outside) = self.0.get() else { return };
        for row in outside.rows(table) {
            rows.push_whole(row.into_iter().map(cell));
        }
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Bool(value) => value.into(),
        Value::Int64(value) => value.into(),
        Value::Uint64(value) => value.into(),
        Value::Double(value) => Cell::Float(value),
        Value::Timestamp(us) => Cell::Time(us),
        Value::Null => Cell::Null,
        Value::Utf8(text) => Cell::Text(text.to_string()),
        other => Cell::Text(other.to_string()),
    }
}
