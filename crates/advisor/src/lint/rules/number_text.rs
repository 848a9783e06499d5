//! KEY011: numbers or times that are kept as text in a sorted key.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Column, Table};
use crate::lint::nature::is_number_or_time_name;
use crate::lint::rewrite::replace;
use crate::lint::{Finding, Source};

pub(crate) fn key011(_: &Source<'_>, table: &Table) -> Vec<Finding> {
    let mut seen: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for order in &table.orders {
        for column in order.parts.iter().filter_map(|part| table.column_of(part)) {
            let name = column.written.name.value.as_str();
            let text = column.class == Class::Text
                || column.class == Class::Bytes && table.dialect == Dialect::Ydb;
            if text
                && column.written.generated.is_none()
                && is_number_or_time_name(name)
                && !seen.contains(&name)
            {
                seen.push(name);
                findings.push(judge(table, column, &order.title()));
            }
        }
    }
    findings
}

fn judge(table: &Table, column: &Column, order: &str) -> Finding {
    let name = &column.written.name.value;
    let (kind, what) = kind(table.dialect, name);
    let message = format!(
        "`{name}` in the {order} of `{}` is {what} kept as text",
        table.name
    );
    Finding::new(
        "KEY011",
        Severity::Warning,
        &table.name,
        column.written.type_span,
        message,
    )
    .label("sorted as text")
    .why(
        "text sorts by its characters: '10' comes before '9', and times only sort if every \
             writer uses one form \
             and zone, so ranges miss rows; it also takes two to four times the bytes of the \
             number",
    )
    .help(format!("give it the type `{kind}`"))
    .edits(vec![replace(column.written.type_span, kind)])
}

/// The type that a name asks for.
fn kind(dialect: Dialect, name: &str) -> (&'static str, &'static str) {
    let name = name.to_ascii_lowercase();
    let date = name.ends_with("date") || name.ends_with("day");
    let number = [
        "no", "num", "number", "seq", "seqno", "sequence", "count", "amount", "price", "month",
        "year", "age", "rank", "score", "position", "offset", "line", "version",
    ]
    .iter()
    .any(|word| name == *word || name.ends_with(&format!("_{word}")));
    match (dialect, date, number) {
        (Dialect::Ydb, true, _) => ("Date", "a date"),
        (Dialect::Ydb, _, true) => ("Int64", "a number"),
        (Dialect::Ydb, ..) => ("Timestamp", "a time"),
        (_, true, _) => ("DATE", "a date"),
        (Dialect::Spanner, _, true) => ("INT64", "a number"),
        (_, _, true) => ("BIGINT", "a number"),
        (Dialect::Spanner, ..) => ("TIMESTAMP", "a time"),
        (Dialect::Mysql, ..) => ("DATETIME(6)", "a time"),
        _ => ("timestamptz", "a time"),
    }
}
