//! A column, key or index as a statement describes it.

use syntax::table::{Column as Written, ColumnType, Index as WrittenIndex, KeyPart, KeyPartKind};
use txn::TableId;

use super::Ground;
use crate::catalog::Change;
use crate::default::{canonical, next_text};
use crate::names::column_name;
use crate::sequence::{Definition, range_of};
use crate::{Column, Error, Identity, Index, Result};

/// A column, and the sequence to be made for it if it counts by itself.
pub(super) struct NewColumn {
    pub(super) column: Column,
    pub(super) sequence: Option<Definition>,
}

/// Reads a column of the table called `table`.
pub(super) fn column(
    ground: Ground<'_>,
    change: &Change<'_>,
    table: &str,
    written: &Written,
) -> Result<NewColumn> {
    let name = column_name(&written.name);
    let unsupported = |what: String| Error::Unsupported { what };
    let (kind, counts) = match &written.kind {
        ColumnType::Plain(kind) => (*kind, written.identity.is_some()),
        ColumnType::Serial(serial) => (serial.value_type(), true),
        ColumnType::Other(other) => {
            return Err(unsupported(format!("the type {other} of column `{name}`")));
        }
    };
    let mut column = Column::new(name, kind).declared(written.declared.of(kind));
    column.not_null = written.not_null.is_some();
    column.identity = written.identity.map(|identity| match identity.always {
        true => Identity::Always,
        false => Identity::ByDefault,
    });
    if let Some(generated) = &written.generated {
        if counts || written.default.is_some() {
            return Err(Error::Generated {
                table: table.to_owned(),
                column: column.name,
                reason: "it cannot have a default, or count, as well".to_owned(),
            });
        }
        column.generated = Some(generated.expr.to_string());
    }
    if counts {
        return counting(change, table, column, written.default.is_some());
    }
    if let Some(default) = &written.default {
        column.default = Some(canonical(table, &column, &default.expr, ground.catalog)?);
    }
    Ok(NewColumn {
        column,
        sequence: None,
    })
}

/// A column with a sequence of its own.
fn counting(
    change: &Change<'_>,
    table: &str,
    mut column: Column,
    has_default: bool,
) -> Result<NewColumn> {
    let fault = |reason: String| Error::Default {
        table: table.to_owned(),
        column: column.name.clone(),
        reason,
    };
    if has_default {
        return Err(fault("the column counts by itself".to_owned()));
    }
    if range_of(column.kind).is_none() {
        let kind = column.kind;
        return Err(fault(format!("{kind} cannot count: choose an integer")));
    }
    let name = change.free_name(&format!("{table}_{}_seq", column.name));
    column.not_null = true;
    column.default = Some(next_text(&name));
    let sequence = Some(Definition::new(name, column.kind));
    Ok(NewColumn { column, sequence })
}

/// The columns that parts of a key or index name.
pub(super) fn part_names(parts: &[KeyPart], of: &str) -> Result<Vec<String>> {
    let name = |part: &KeyPart| match &part.kind {
        KeyPartKind::Column(column) if !part.descending => Ok(column_name(column)),
        _ => Err(Error::Unsupported {
            what: format!("an expression or DESC in {of}"),
        }),
    };
    parts.iter().map(name).collect()
}

/// Reads an index over these columns; its number is given when it is made. `taken` are the names of
/// the table's other indexes.
pub(super) fn index(
    table: &str,
    columns: &[Column],
    taken: &[Index],
    written: &WrittenIndex,
) -> Result<Index> {
    if !written.options.is_empty() {
        let what = "WITH (…) of an index".to_owned();
        return Err(Error::Unsupported { what });
    }
    let names = part_names(&written.columns, "an index")?;
    let position = |name: &String| {
        let found = columns.iter().position(|column| column.name == *name);
        found.ok_or_else(|| Error::NoSuchColumn {
            table: table.to_owned(),
            column: name.clone(),
        })
    };
    let cover: Vec<String> = written.cover.iter().map(column_name).collect();
    Ok(Index {
        name: index_name(table, &names, taken, written),
        id: TableId(0),
        unique: written.unique,
        columns: names.iter().map(position).collect::<Result<_>>()?,
        cover: cover.iter().map(position).collect::<Result<_>>()?,
        ready: true,
    })
}

/// The name given, or one made of the table's and the columns'.
fn index_name(table: &str, columns: &[String], taken: &[Index], written: &WrittenIndex) -> String {
    if let Some(name) = &written.name {
        return column_name(name);
    }
    let suffix = if written.unique { "key" } else { "idx" };
    let base = format!("{table}_{}_{suffix}", columns.join("_"));
    let mut name = base.clone();
    let mut number = 0;
    while taken.iter().any(|index| index.name == name) {
        number += 1;
        name = format!("{base}{number}");
    }
    name
}
