//! What a statement does that its author may not have meant.
//!
//! | code | what |
//! | --- | --- |
//! | 01K02 | a key column of a row has more than 2 KB |
//! | 01K03 | a row has more than 8 MB |
//! | 01K04 | a statement reads every partition of a table that has many |
//!
//! Nothing is refused for these reasons; the hard limits are in `keys`. What the linter finds about the
//! key of a table is told by `db`, as 01K01 and 01K05.

use std::sync::Arc;

use keys::Value;
use syntax::Kind;
use txn::Reader;

use crate::access::AccessKind;
use crate::explain::accesses_of;
use crate::names::table_name;
use crate::prepare::Plan;
use crate::{Executor, Prepared, Result, Schema, Table};

/// How many bytes a key column should have at most.
const KEY_COLUMN_BYTES: usize = 2 << 10;

/// How many bytes a row should have at most.
const ROW_BYTES: usize = 8 << 20;

/// How many partitions a table may have for reading all of them to be nothing to speak of.
const FEW_PARTITIONS: usize = 4;

/// A warning: its SQLSTATE and its text.
pub type Warning = (&'static str, String);

/// Warnings about a row that is written.
fn of_row(schema: &Schema, row: &[Value]) -> Vec<Warning> {
    let mut found = Vec::new();
    let bytes: usize = row.iter().map(bytes_of).sum();
    if bytes <= KEY_COLUMN_BYTES {
        return found;
    }
    for position in schema.key_positions() {
        let bytes = row.get(*position).map_or(0, bytes_of);
        if bytes > KEY_COLUMN_BYTES {
            let (table, column) = (schema.name(), schema.name_at(*position));
            let text = format!(
                "key column `{column}` of table `{table}` has {bytes} bytes in a row: keys should \
                 have no more than {KEY_COLUMN_BYTES} a column"
            );
            found.push(("01K02", text));
        }
    }
    if bytes > ROW_BYTES {
        let text = format!(
            "a row of table `{}` has {bytes} bytes: rows should have no more than {ROW_BYTES}",
            schema.name()
        );
        found.push(("01K03", text));
    }
    found
}

/// How many bytes a value takes, about.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Utf8(text) | Value::Json(text) => text.len(),
        Value::String(bytes) => bytes.len(),
        Value::Null => 0,
        _ => 8,
    }
}

/// Notes what a row that is written should be warned of, once for each reason.
pub(crate) fn note(warnings: &mut Vec<Warning>, schema: &Schema, row: &[Value]) {
    for (code, text) in of_row(schema, row) {
        if !warnings.iter().any(|(known, _)| *known == code) {
            warnings.push((code, text));
        }
    }
}

impl Executor {
    /// Notes what a row that a statement writes should be warned of.
    pub(crate) fn warn_of_row(&self, schema: &Schema, row: &[Value]) {
        let found = of_row(schema, row);
        if !found.is_empty() {
            note(&mut self.warnings().lock(), schema, row);
        }
    }

    /// Warnings of statements since the last call.
    pub fn take_warnings(&self) -> Vec<Warning> {
        let mut warnings = self.warnings().lock();
        std::mem::take(&mut *warnings)
    }

    /// The table whose columns, key or indexes a statement defines, if it is there.
    pub fn defined(&self, kind: &Kind) -> Option<Arc<Table>> {
        let name = match kind {
            Kind::CreateTable(create) => &create.name,
            Kind::AlterTable(alter) => &alter.name,
            Kind::CreateIndex(create) => &create.table,
            _ => return None,
        };
        self.catalog().find(&table_name(name).ok()?)
    }

    /// Warnings about tables of many partitions of which a statement reads every one.
    pub async fn whole_reads(
        &self,
        reader: &Reader,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Vec<Warning>> {
        let mut found = Vec::new();
        for access in accesses_of(self, reader, prepared, parameters).await? {
            let (read, total) = access.partitions;
            if access.kind == AccessKind::Full && read == total && total > FEW_PARTITIONS {
                let reason = access.reason.unwrap_or_default();
                let text = format!(
                    "this statement reads all {total} partitions of table `{}`: {reason}; SET \
                     evenkeel.full_scan_notice = off silences this",
                    access.table
                );
                found.push(("01K04", text));
            }
        }
        Ok(found)
    }
}

impl Prepared {
    /// Whether it may read every partition of a table; a read by key does not.
    pub fn may_read_all(&self) -> bool {
        let by_path = |path: &crate::fast::Path| path.filter.bound() == 0;
        match self.plan() {
            Plan::Read(plan) => plan.limit.is_none() && by_path(&plan.path),
            Plan::Wait(plan) => plan.bare.may_read_all(),
            Plan::Advisory(plan) => plan.bare().may_read_all(),
            Plan::Lock(_) | Plan::Skip(_) | Plan::Nested(_) | Plan::Count(_) | Plan::Explain(_) => {
                false
            }
            Plan::Change(plan) => plan.path.as_ref().is_none_or(by_path),
            Plan::Insert(plan) => plan.query().is_some(),
            Plan::Plain => self.query().is_some(),
        }
    }
}
