//! KEY003: a key column that may be NULL.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::{Column, Order, OrderKind, Table};
use crate::lint::rewrite::{insert, replace};
use crate::lint::{Finding, Source, Span};

pub(crate) fn key003(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let nullable_keys = matches!(table.dialect, Dialect::Ydb | Dialect::Spanner);
    let mut findings = Vec::new();
    for order in &table.orders {
        for column in order.parts.iter().filter_map(|part| table.column_of(part)) {
            let finding = match &order.kind {
                // Elsewhere a key column refuses NULL by itself.
                OrderKind::Key | OrderKind::InlineKey if nullable_keys => {
                    in_key((source.text, table), order, column)
                }
                OrderKind::Index { unique: true, .. } if !nullable_keys => {
                    in_unique((source.text, table), order, column)
                }
                _ => None,
            };
            findings.extend(finding);
        }
    }
    findings
}

fn is_open(column: &Column) -> bool {
    column.nullable
        && column.written.generated.is_none()
        && !column.written.type_name.contains("serial")
}

fn in_key((text, table): (&str, &Table), order: &Order, column: &Column) -> Option<Finding> {
    // YQL's PRIMARY KEY at a column says NOT NULL in our reading of it, and in nobody else's.
    if !is_open(column) || order.kind == OrderKind::InlineKey {
        return None;
    }
    let name = &column.written.name.value;
    let message = format!("the key column `{name}` of `{}` may be NULL", table.name);
    Some(finding((text, table), column, message).why(
        "rows whose key is NULL are skipped by every comparison, `<>` included, and NULL \
             equals NULL in a key: \
             a second such row overwrites the first",
    ))
}

fn in_unique((text, table): (&str, &Table), order: &Order, column: &Column) -> Option<Finding> {
    let in_key = table
        .key()
        .is_some_and(|key| key.names().contains(&column.written.name.value.as_str()));
    if !is_open(column) || in_key {
        return None;
    }
    let name = &column.written.name.value;
    let message = format!(
        "`{name}` of the {} of `{}` may be NULL",
        order.title(),
        table.name
    );
    Some(finding((text, table), column, message).why(
        "NULLs are never equal here, so any number of rows with NULL pass as unique, and a \
              lookup by `=` misses them",
    ))
}

fn finding((text, table): (&str, &Table), column: &Column, message: String) -> Finding {
    let written = &column.written;
    // It says NULL, or said NOT NULL until a later statement took that back.
    let explicit = written.not_null.is_some();
    let edits = if explicit {
        Vec::new()
    } else {
        match default_null(text, column) {
            Some(span) => vec![replace(span, " NOT NULL")],
            None => vec![insert(written.type_span.end, " NOT NULL")],
        }
    };
    Finding::new("KEY003", Severity::Note, &table.name, written.span, message)
        .label("NOT NULL is missing")
        .help("say NOT NULL, and write a value of your own where none is known")
        .edits(edits)
}

/// Where ` DEFAULT NULL` stands, which does not go with NOT NULL.
fn default_null(text: &str, column: &Column) -> Option<Span> {
    let default = column.written.default.as_ref()?;
    let null = default.words.first()?.eq_ignore_ascii_case("null");
    let before = text.get(..default.span.start)?.trim_end();
    let start = before.len().checked_sub("default".len())?;
    let word = before.get(start..)?.eq_ignore_ascii_case("default");
    let start = before.get(..start)?.trim_end().len();
    (null && word).then(|| Span::new(start, default.span.end))
}
