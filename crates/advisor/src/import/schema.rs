//! The tables of a schema, as a trace describes them.

use keys::Type;

use crate::lint::model::{OrderKind, Table as Linted};
use crate::lint::{Dialect, Source};
use crate::trace::{Column, Index, Table};

/// The tables that a text of CREATE TABLE statements makes, in a dialect that is guessed when none is
/// named; and what of it was not understood, in words.
pub fn tables(text: &str, dialect: Option<Dialect>) -> (Vec<Table>, Vec<String>) {
    let source = Source::read(text, dialect);
    let mut complaints: Vec<String> = source.errors.iter().map(ToString::to_string).collect();
    let mut tables = Vec::new();
    for (id, linted) in (1_u32..).zip(&source.tables) {
        tables.push(table(id, text, linted, &mut complaints));
    }
    (tables, complaints)
}

fn table(id: u32, text: &str, linted: &Linted, complaints: &mut Vec<String>) -> Table {
    let mut columns = Vec::new();
    for column in &linted.columns {
        let written = &column.written;
        let name = written.name.value.clone();
        let Some(kind) = kind(&written.type_name, written.type_span.slice(text)) else {
            complaints.push(format!(
                "column {name} of {} has the type {}, which is not known here: it is left out",
                linted.name, written.type_name
            ));
            continue;
        };
        let generated = written.generated.as_ref();
        columns.push(Column {
            name,
            kind,
            not_null: !column.nullable,
            generated: generated.map(|text| text.text.clone()),
            counted: written.counts.is_some() || written.type_name.contains("serial"),
        });
    }
    let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let unique = linted
        .orders
        .iter()
        .filter(|order| matches!(order.kind, OrderKind::Index { unique: true, .. }));
    let indexes = linted.orders.iter().filter_map(|order| match &order.kind {
        OrderKind::Index { name, unique } => Some(Index {
            name: name.clone().unwrap_or_default(),
            columns: names(order.names()),
            cover: Vec::new(),
            unique: *unique,
        }),
        OrderKind::Key | OrderKind::InlineKey => None,
    });
    let has = |name: &String| columns.iter().any(|column: &Column| column.name == *name);
    let indexes = indexes.filter(|index| index.columns.iter().all(has));
    let indexes = indexes.collect();
    Table {
        id,
        name: linted.name.clone(),
        columns,
        key: linted.key().map_or(Vec::new(), |key| names(key.names())),
        unique: unique.map(|order| names(order.names())).collect(),
        indexes,
        partitions: 1,
        ..Table::default()
    }
}

/// The type of ours that a type of any dialect is kept as.
fn kind(name: &str, written: &str) -> Option<Type> {
    if let Ok(kind) = Type::parse(written) {
        return Some(kind);
    }
    let unsigned = written.to_lowercase().contains("unsigned");
    let word = name.split(|char: char| !char.is_alphanumeric()).next()?;
    Some(match (word, unsigned) {
        ("smallserial" | "serial2" | "smallint", false) => Type::Int16,
        ("smallint", true) => Type::Uint16,
        ("tinyint", false) => Type::Int8,
        ("tinyint", true) => Type::Uint8,
        ("serial" | "serial4" | "int" | "integer" | "mediumint", false) => Type::Int32,
        ("int" | "integer" | "mediumint", true) => Type::Uint32,
        ("bigserial" | "serial8" | "bigint" | "int64", false) => Type::Int64,
        ("bigint", true) => Type::Uint64,
        ("datetime" | "timestamp" | "timestamptz", _) => Type::Timestamp,
        ("char" | "character" | "varchar" | "text" | "string" | "enum", _) => Type::Utf8,
        ("tinytext" | "mediumtext" | "longtext" | "citext", _) => Type::Utf8,
        ("binary" | "varbinary" | "blob" | "bytes" | "bytea", _) => Type::String,
        ("float" | "real" | "double" | "float64", _) => Type::Double,
        ("bool" | "boolean" | "bit", _) => Type::Bool,
        ("json" | "jsonb", _) => Type::Json,
        _ => return None,
    })
}
