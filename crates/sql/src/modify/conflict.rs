//! ON CONFLICT: which rows stand in the way of a new one, and what becomes of them.
//!
//! ```text
//!   ON CONFLICT DO …                    the primary key and, if nothing is done, every unique index
//!   ON CONFLICT (columns) DO …          the primary key or unique index over these columns
//!   ON CONFLICT ON CONSTRAINT name DO … t_pkey, or the unique index of that name
//! ```

use std::sync::Arc;

use keys::{Type, Value};
use syntax::ast;
use txn::Transaction;

use super::change::{assigned_column, new_value, refuse_always};
use super::find_row;
use crate::default::is_default;
use crate::index::IndexTable;
use crate::names::{tree_name, tree_table_name};
use crate::scalar::{Given, Scalar, Scope};
use crate::{Error, Fault, Result, Table};

/// What happens when a row is there.
#[derive(Debug)]
pub(super) struct Conflict {
    /// Whether a row with the same key counts.
    key: bool,
    /// The unique indexes that count.
    indexes: Vec<Arc<IndexTable>>,
    /// What the old row becomes; `None` leaves it alone.
    update: Option<Update>,
}

#[derive(Debug)]
struct Update {
    assigned: Vec<(usize, Scalar)>,
    filter: Option<Scalar>,
}

impl Conflict {
    /// Whether the old row is changed, and not left alone.
    pub(super) fn updates(&self) -> bool {
        self.update.is_some()
    }

    pub(super) fn new(
        table: &Table,
        clause: &ast::OnConflict,
        scope: &mut Scope<'_>,
    ) -> Result<Self> {
        let update = update(table, &clause.action, scope)?;
        let (key, indexes) = match &clause.conflict_target {
            None if update.is_some() => (true, Vec::new()),
            None => {
                let unique = table.indexes().iter().filter(|index| index.unique);
                (true, unique.cloned().collect())
            }
            Some(ast::ConflictTarget::Columns(names)) => over(table, names)?,
            Some(ast::ConflictTarget::OnConstraint(name)) => called(table, name)?,
        };
        Ok(Self {
            key,
            indexes,
            update,
        })
    }

    /// The row that stands in the way of this one.
    pub(super) fn find(
        &self,
        transaction: &Transaction,
        table: &Table,
        row: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        if self.key {
            let found = find_row(transaction, table, row)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        for index in &self.indexes {
            let found = index.find(transaction, table, row)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The columns that the update of an old row sets.
    pub(super) fn assigned(&self) -> Vec<usize> {
        let update = self.update.iter();
        let assigned = update.flat_map(|update| &update.assigned);
        assigned.map(|(position, _)| *position).collect()
    }

    /// What becomes of the old row and the one that was to be inserted; `None` if nothing does.
    pub(super) fn resolve(
        &self,
        old: &[Value],
        excluded: &[Value],
        given: Given<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let Some(Update { assigned, filter }) = &self.update else {
            return Ok(None);
        };
        let given = Given {
            row: old,
            excluded,
            ..given
        };
        if let Some(filter) = filter
            && !filter.holds(given)?
        {
            return Ok(None);
        }
        let mut row = old.to_vec();
        for (position, scalar) in assigned {
            if let Some(place) = row.get_mut(*position) {
                *place = scalar.value(given)?;
            }
        }
        Ok(Some(row))
    }
}

fn update(
    table: &Table,
    action: &ast::OnConflictAction,
    scope: &mut Scope<'_>,
) -> Result<Option<Update>> {
    let ast::OnConflictAction::DoUpdate(update) = action else {
        return Ok(None);
    };
    let unsupported = |expr: &ast::Expr| Error::Unsupported {
        what: format!("{expr} in DO UPDATE"),
    };
    let schema = table.schema();
    let mut assigned = Vec::with_capacity(update.assignments.len());
    for assignment in &update.assignments {
        let position = assigned_column(schema, assignment)?;
        if !is_default(&assignment.value) {
            refuse_always(schema, position)?;
        }
        let value = new_value(schema, position, &assignment.value, scope)?;
        assigned.push((
            position,
            value.ok_or_else(|| unsupported(&assignment.value))?,
        ));
    }
    let filter = match &update.selection {
        None => None,
        Some(expr) => {
            let filter = scope.compile(expr, Some(Type::Bool))?;
            Some(filter.ok_or_else(|| unsupported(expr))?)
        }
    };
    Ok(Some(Update { assigned, filter }))
}

/// The primary key or unique index over these columns, in any order. Generated columns of the key may
/// be left out if they follow from the others: they tell no two rows apart.
fn over(table: &Table, names: &[ast::Ident]) -> Result<(bool, Vec<Arc<IndexTable>>)> {
    let schema = table.schema();
    let names: Vec<String> = names.iter().map(tree_name).collect();
    let mut positions = Vec::with_capacity(names.len());
    for name in &names {
        positions.push(schema.column_position(name)?);
    }
    if table
        .collection()
        .is_some_and(|items| items.is_key(&positions))
    {
        return Ok((true, Vec::new()));
    }
    let key = schema.key_positions();
    let follows = |one: &usize| {
        let generated = schema.generated_at(*one);
        generated.is_some_and(|one| one.inputs.iter().all(|input| key.contains(input)))
    };
    let named = |one: &usize| positions.contains(one);
    if key.iter().all(|one| named(one) || follows(one))
        && positions.iter().all(|one| key.contains(one))
    {
        return Ok((true, Vec::new()));
    }
    let mut unique = table
        .indexes()
        .iter()
        .filter(|index| index.unique && index.ready);
    match unique.find(|index| index.is_over(&positions)) {
        Some(index) => Ok((false, vec![Arc::clone(index)])),
        None => Err(Error::NoSuchConstraint {
            table: schema.name().to_owned(),
            columns: names.join(", "),
        }),
    }
}

/// The primary key or unique index of this name.
fn called(table: &Table, name: &ast::ObjectName) -> Result<(bool, Vec<Arc<IndexTable>>)> {
    let schema = table.schema();
    let name = tree_table_name(name)?;
    if name == format!("{}_pkey", schema.name()) {
        return Ok((true, Vec::new()));
    }
    let mut indexes = table.indexes().iter();
    match indexes.find(|index| index.name == name) {
        Some(index) if index.unique && index.ready => Ok((false, vec![Arc::clone(index)])),
        Some(_) => Err(Error::Refused {
            fault: Fault::Position,
            what: format!("index `{name}` is not unique: name one that is in ON CONFLICT"),
        }),
        None => Err(Error::no_such_index(schema, &name)),
    }
}
