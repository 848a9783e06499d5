//! What a schema says about a table beyond a trace: columns that nobody recorded values of, which
//! another key's CREATE TABLE must have all the same.

use keys::Type;

use crate::lint::Source;
use crate::trace::{Column, Table};
use crate::{Error, Result};

/// The columns of a table in a text of CREATE TABLE statements, in any dialect that the linter reads.
pub fn columns(text: &str, table: &str) -> Result<Vec<Column>> {
    let source = Source::read(text, None);
    let named = |one: &&crate::lint::model::Table| one.name.eq_ignore_ascii_case(table);
    let Some(found) = source.tables.iter().find(named) else {
        let reason = match source.errors.first() {
            Some(error) => format!("it has no table {table}, and could not be read at {error}"),
            None => format!("it has no table {table}"),
        };
        return Err(Error::Schema { reason });
    };
    found
        .columns
        .iter()
        .map(|column| {
            let written = &column.written;
            let name = written.name.value.clone();
            let kind = kind(&written.type_name, written.type_span.slice(text));
            let kind = kind.ok_or_else(|| Error::Schema {
                reason: format!(
                    "the type of column {name}, {}, is none of this database",
                    written.type_name
                ),
            })?;
            let generated = written.generated.as_ref();
            Ok(Column {
                kind,
                not_null: !column.nullable,
                generated: generated.map(|text| text.text.clone()),
                counted: written.counts.is_some() || written.type_name.contains("serial"),
                name,
            })
        })
        .collect()
}

fn kind(name: &str, written: &str) -> Option<Type> {
    match name {
        "smallserial" | "serial2" => Some(Type::Int16),
        "serial" | "serial4" => Some(Type::Int32),
        "bigserial" | "serial8" => Some(Type::Int64),
        _ => Type::parse(written).ok(),
    }
}

/// Adds to a table of a trace what a schema says besides.
pub(super) fn complete(table: &mut Table, columns: &[Column]) {
    for column in columns {
        let known = table
            .columns
            .iter_mut()
            .find(|one| one.name.eq_ignore_ascii_case(&column.name));
        match known {
            Some(known) => {
                known.not_null |= column.not_null;
                known.counted |= column.counted;
                if known.generated.is_none() {
                    known.generated.clone_from(&column.generated);
                }
            }
            None => table.columns.push(column.clone()),
        }
    }
}
