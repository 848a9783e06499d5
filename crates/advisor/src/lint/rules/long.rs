//! KEY004: a key column that nothing keeps below 2 KB.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Column, Table};
use crate::lint::rewrite::replace;
use crate::lint::{Edit, Finding, Source};

/// Bytes up to which a key column costs little.
const KEY_COLUMN_BYTES_MAX: u64 = 2048;

pub(crate) fn key004(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let Some(key) = table.key() else {
        return Vec::new();
    };
    let long = key.parts.iter().filter_map(|part| {
        let column = table.column_of(part)?;
        let texts = matches!(column.class, Class::Text | Class::Bytes | Class::Json);
        let bytes = part
            .prefix
            .map(|chars| chars.saturating_mul(4))
            .or(column.bytes_max);
        let passes = bytes.is_none_or(|bytes| bytes > KEY_COLUMN_BYTES_MAX);
        (texts && passes && column.written.generated.is_none()).then_some((column, bytes))
    });
    long.map(|(column, bytes)| judge((source, table), column, bytes))
        .collect()
}

fn judge((source, table): (&Source<'_>, &Table), column: &Column, bytes: Option<u64>) -> Finding {
    let name = &column.written.name.value;
    let (severity, label) = match bytes {
        Some(bytes) => (Severity::Warning, format!("up to {bytes} bytes")),
        None => (Severity::Note, "no bound".to_owned()),
    };
    let message = format!("the key column `{name}` of `{}` may pass 2 KB", table.name);
    let help = match table.dialect {
        Dialect::Ydb if source.ours => {
            "give it the bound that its values have, varchar(n), or key by a hash of it"
        }
        Dialect::Ydb => {
            "YDB's types have no bound: check the length where rows are written, or key by a hash \
             of it"
        }
        _ => "give it the bound that its values have, or key by a hash of it",
    };
    Finding::new(
        "KEY004",
        severity,
        &table.name,
        column.written.type_span,
        message,
    )
    .label(label)
    .why(
        "a key stands in every index entry and bound of a partition, and in memory for each: \
             past 2 KB a \
             column slows all reads and writes of the table, past 1 MB (YDB) or 8 KB (Spanner) it \
             is refused",
    )
    .help(help)
    .edits(bound(table, column))
}

fn bound(table: &Table, column: &Column) -> Vec<Edit> {
    let text = match (table.dialect, column.class) {
        (Dialect::Postgres | Dialect::Mysql, Class::Text) => "varchar(255)",
        (Dialect::Cockroach | Dialect::Spanner, Class::Text) => "STRING(255)",
        (Dialect::Spanner, Class::Bytes) => "BYTES(255)",
        (Dialect::Mysql, Class::Bytes) => "varbinary(255)",
        _ => return Vec::new(),
    };
    vec![replace(column.written.type_span, text)]
}
