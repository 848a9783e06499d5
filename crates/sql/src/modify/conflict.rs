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
use txn::{Reader, Transaction};

use super::change::{assigned_column, new_value, refuse_always};
use super::computed::Computed;
use super::{find_row, replace_row};
use crate::default::is_default;
use crate::index::IndexTable;
use crate::names::{tree_name, tree_table_name};
use crate::query::PlannedQuery;
use crate::scalar::{Given, Scalar, Scope};
use crate::{Error, Fault, Result, Table, cast};

/// A row to be inserted, and the one that stands in its way.
pub(super) struct Met {
    pub(super) old: Vec<Value>,
    pub(super) row: Vec<Value>,
}

impl Met {
    fn given<'g>(&'g self, given: Given<'g>) -> Given<'g> {
        Given {
            row: &self.old,
            excluded: &self.row,
            ..given
        }
    }
}

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
    assigned: Vec<(usize, New)>,
    filter: Option<New>,
    /// What works out the values that are not ours to work out.
    computed: Option<Computed>,
}

/// A new value.
#[derive(Debug)]
enum New {
    Scalar(Scalar),
    /// One of those that are worked out elsewhere, and its type.
    Computed(usize, Type),
}

impl New {
    fn value(&self, given: Given<'_>, computed: &[Value]) -> Result<Value> {
        match self {
            Self::Scalar(scalar) => scalar.value(given),
            Self::Computed(place, kind) => {
                cast(computed.get(*place).cloned().unwrap_or(Value::Null), *kind)
            }
        }
    }
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
    fn assigned(&self) -> Vec<usize> {
        let update = self.update.iter();
        let assigned = update.flat_map(|update| &update.assigned);
        assigned.map(|(position, _)| *position).collect()
    }

    /// Whether some values are not ours to work out.
    pub(super) fn is_computed(&self) -> bool {
        let update = self.update.as_ref();
        update.is_some_and(|update| update.computed.is_some())
    }

    /// Works those out, for [`Self::merge`].
    pub(super) async fn compute(
        &self,
        reader: Reader,
        met: &Met,
        given: Given<'_>,
        planned: &mut Option<PlannedQuery>,
    ) -> Result<Vec<Value>> {
        let update = self.update.as_ref();
        match update.and_then(|update| update.computed.as_ref()) {
            Some(computed) => computed.values(reader, met.given(given), planned).await,
            None => Ok(Vec::new()),
        }
    }

    /// Writes what becomes of a row that was met; `None` if nothing does.
    pub(super) fn merge(
        &self,
        transaction: &mut Transaction,
        table: &Table,
        met: &Met,
        (given, computed): (Given<'_>, &[Value]),
    ) -> Result<Option<Vec<Value>>> {
        let Some(mut row) = self.resolve(met.given(given), computed)? else {
            return Ok(None);
        };
        table.schema().fit(&mut row)?;
        table.schema().generate(&mut row, &self.assigned())?;
        replace_row(transaction, table, Some(&met.old), &row)?;
        Ok(Some(row))
    }

    /// What becomes of the old row in `given` and the one that was to be inserted; `None` if nothing
    /// does.
    fn resolve(&self, given: Given<'_>, computed: &[Value]) -> Result<Option<Vec<Value>>> {
        let Some(update) = &self.update else {
            return Ok(None);
        };
        if let Some(filter) = &update.filter
            && filter.value(given, computed)? != Value::Bool(true)
        {
            return Ok(None);
        }
        let mut row = given.row.to_vec();
        for (position, new) in &update.assigned {
            if let Some(place) = row.get_mut(*position) {
                *place = new.value(given, computed)?;
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
    let schema = table.schema();
    let mut elsewhere: Vec<&ast::Expr> = Vec::new();
    let mut assigned = Vec::with_capacity(update.assignments.len());
    for assignment in &update.assignments {
        let position = assigned_column(schema, assignment)?;
        if !is_default(&assignment.value) {
            refuse_always(schema, position)?;
        }
        let kind = schema.columns().get(position).map(|column| column.kind);
        let value = new_value(schema, position, &assignment.value, scope)?;
        let kind = kind.unwrap_or(Type::Utf8);
        assigned.push((
            position,
            new(value, (&assignment.value, kind), &mut elsewhere),
        ));
    }
    let filter = match &update.selection {
        None => None,
        Some(expr) => {
            let filter = scope.compile(expr, Some(Type::Bool))?;
            Some(new(filter, (expr, Type::Bool), &mut elsewhere))
        }
    };
    let computed = match elsewhere.is_empty() {
        true => None,
        false => Some(Computed::new(schema, &elsewhere, scope)?),
    };
    Ok(Some(Update {
        assigned,
        filter,
        computed,
    }))
}

/// A value that is ours to work out, or else one of those that are worked out elsewhere.
fn new<'e>(
    scalar: Option<Scalar>,
    (expr, kind): (&'e ast::Expr, Type),
    elsewhere: &mut Vec<&'e ast::Expr>,
) -> New {
    match scalar {
        Some(scalar) => New::Scalar(scalar),
        None => {
            elsewhere.push(expr);
            New::Computed(elsewhere.len() - 1, kind)
        }
    }
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
