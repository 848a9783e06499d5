//! KEY005: a row that may pass 8 MB.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Column, Table};
use crate::lint::nature::is_content_name;
use crate::lint::{Finding, Source};

/// Bytes up to which a row is read and written well.
const ROW_BYTES_MAX: u64 = 8 << 20;

pub(crate) fn key005(_: &Source<'_>, table: &Table) -> Vec<Finding> {
    let sum: u64 = table
        .columns
        .iter()
        .filter_map(|column| column.bytes_max)
        .fold(0, u64::saturating_add);
    let largest = table
        .columns
        .iter()
        .max_by_key(|column| column.bytes_max.unwrap_or(0));
    let mut findings: Vec<Finding> = table
        .columns
        .iter()
        .filter(|column| is_unbounded_content(table.dialect, column))
        .map(|column| judge(table, column, "no bound".to_owned()))
        .collect();
    if let Some(column) = largest
        && sum > ROW_BYTES_MAX
    {
        findings.push(judge(
            table,
            column,
            format!("the columns together: up to {sum} bytes"),
        ));
    }
    findings
}

/// Whether a column is for bytes or texts of any length: by its type, or where a type tells nothing
/// by its name.
fn is_unbounded_content(dialect: Dialect, column: &Column) -> bool {
    if column.bytes_max.is_some() {
        return false;
    }
    match column.class {
        Class::Bytes if dialect != Dialect::Ydb => true,
        Class::Text | Class::Json | Class::Bytes => is_content_name(&column.written.name.value),
        _ => false,
    }
}

fn judge(table: &Table, column: &Column, label: String) -> Finding {
    let name = &column.written.name.value;
    let message = format!(
        "a row of `{}` may pass 8 MB, most of it in `{name}`",
        table.name
    );
    Finding::new(
        "KEY005",
        Severity::Note,
        &table.name,
        column.written.span,
        message,
    )
    .label(label)
    .why(
        "a row is read, locked and written as a whole: at 8 MB one row is as much work as \
             tens of thousands of \
             usual ones, and 250 of them fill a partition of 2 GB",
    )
    .help(format!(
        "bound `{name}`, cut it into numbered pieces in a table of its own, or keep it in \
             object storage and its \
             address here"
    ))
}
