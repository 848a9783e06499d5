//! SHOW CREATE TABLE: a statement that would make the table as it is.

use std::fmt::Write as _;
use std::sync::Arc;

use keys::Type;

use crate::foreign::referenced_columns;
use crate::schema::{Action, Parts};
use crate::{Catalog, Column, Identity, Index, Schema, Table};

impl Schema {
    /// The statement that makes the table as it is, without its partitions and foreign keys.
    pub fn create_statement(&self) -> String {
        create_statement(self, Vec::new())
    }
}

/// The clauses of a table's foreign keys.
pub(crate) fn foreign_keys(catalog: &Catalog, table: &Arc<Table>) -> Vec<String> {
    let parts = table.schema().parts();
    let keys = parts.foreign_keys.iter().filter_map(|key| {
        let parent = match key.parent {
            None => Arc::clone(table),
            Some(id) => catalog.by_id(id)?,
        };
        let referred = referenced_columns(&parent, key.target)?;
        let mut line = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({})",
            quoted(&key.name),
            names(parts, &key.columns),
            quoted(parent.schema().name()),
            names(parent.schema().parts(), &referred)
        );
        for (when, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
            if action != Action::NoAction {
                let _ = write!(line, " ON {when} {}", action.words());
            }
        }
        Some(line + key.checked.words())
    });
    keys.collect()
}

/// The statement that makes the table, with these clauses besides what its schema says.
pub(crate) fn create_statement(schema: &Schema, clauses: Vec<String>) -> String {
    let parts = schema.parts();
    let mut lines = Vec::new();
    for (position, column) in parts.columns.iter().enumerate() {
        if !column.hidden {
            lines.push(column_line(parts, position, column));
        }
    }
    let indexes = parts.indexes.iter();
    lines.extend(indexes.map(|index| index_line(parts, index)));
    if let Some((buckets, key)) = schema.hashed_key() {
        let key = names(parts, key);
        lines.push(format!(
            "PRIMARY KEY ({key}) USING HASH WITH (bucket_count = {buckets})"
        ));
    } else if !schema.has_hidden_columns() {
        lines.push(format!("PRIMARY KEY ({})", names(parts, &parts.key)));
    }
    let checks = parts.checks.iter();
    lines
        .extend(checks.map(|one| format!("CONSTRAINT {} CHECK ({})", quoted(&one.name), one.text)));
    lines.extend(clauses);
    let mut text = format!("CREATE TABLE {} (\n    ", quoted(&parts.name));
    text.push_str(&lines.join(",\n    "));
    text.push_str("\n)");
    let options = parts.options.words(&parts.columns);
    if !options.is_empty() {
        let options = options
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let options: Vec<_> = options.collect();
        text.push_str("\nWITH (\n    ");
        text.push_str(&options.join(",\n    "));
        text.push_str("\n)");
    }
    text
}

fn column_line(parts: &Parts, position: usize, column: &Column) -> String {
    let owns = parts.sequences.iter().any(|owned| owned.column == position);
    let counts = owns && crate::default::sequence_of(column).is_some();
    let name = quoted(&column.name);
    if let (true, Some(identity)) = (counts, column.identity) {
        let when = match identity {
            Identity::Always => "ALWAYS",
            Identity::ByDefault => "BY DEFAULT",
        };
        return format!("{name} {} GENERATED {when} AS IDENTITY", column.kind);
    }
    // Such a type says all of the rest.
    let serial = match column.kind {
        Type::Int16 if counts => Some("Serial2"),
        Type::Int32 if counts => Some("Serial4"),
        Type::Int64 if counts => Some("Serial8"),
        _ => None,
    };
    if let Some(serial) = serial {
        return format!("{name} {serial}");
    }
    let mut line = format!("{name} {}", column.type_name());
    if column.not_null {
        line.push_str(" NOT NULL");
    }
    if let Some(generated) = &column.generated {
        let _ = write!(line, " GENERATED ALWAYS AS ({generated}) STORED");
    }
    if let Some(default) = &column.default {
        line.push_str(" DEFAULT ");
        line.push_str(default);
    }
    line
}

fn index_line(parts: &Parts, index: &Index) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let mut line = format!(
        "INDEX {} GLOBAL {unique}SYNC ON ({})",
        quoted(&index.name),
        names(parts, &index.columns)
    );
    if !index.cover.is_empty() {
        let _ = write!(line, " COVER ({})", names(parts, &index.cover));
    }
    line
}

fn names(parts: &Parts, positions: &[usize]) -> String {
    let columns = positions.iter().filter_map(|at| parts.columns.get(*at));
    let names: Vec<_> = columns.map(|column| quoted(&column.name)).collect();
    names.join(", ")
}

/// In backticks, which are never taken for a string.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
