//! CHECK and FOREIGN KEY as a statement describes them, and what they keep others from doing.

use std::sync::Arc;

use syntax::ast;
use syntax::table::Constraint;
use txn::{Direction, KeyRange};

use super::Ground;
use crate::catalog::Change;
use crate::check;
use crate::collection::TABLE_PREFIX;
use crate::default::parse;
use crate::foreign::{Link, check_row, key_columns};
use crate::names::{tree_name, tree_table_name};
use crate::schema::{Action, Before, Check, Checked, ForeignKey, Parts, Target};
use crate::{ConstraintError, Error, Result, Schema, Table};

/// What a foreign key needs, said to somebody who wants to take it away.
const DROP_FIRST: &str = "drop that first";

/// Puts a constraint on a table.
pub(super) fn add(ground: Ground<'_>, parts: &mut Parts, written: &Constraint) -> Result<()> {
    match &written.constraint {
        ast::TableConstraint::Check(check) => {
            let check = self::check(parts, check)?;
            parts.checks.push(check);
        }
        ast::TableConstraint::ForeignKey(foreign) => {
            let foreign = foreign_key(ground, parts, foreign)?;
            parts.foreign_keys.push(foreign);
        }
        _ => {
            return Err(Error::Unsupported {
                what:
                    "a constraint other than PRIMARY KEY, UNIQUE, NOT NULL, CHECK and FOREIGN KEY"
                        .to_owned(),
            });
        }
    }
    Ok(())
}

fn check(parts: &Parts, written: &ast::CheckConstraint) -> Result<Check> {
    if written.enforced == Some(false) {
        return Err(Error::Unsupported {
            what: "a CHECK that is NOT ENFORCED".to_owned(),
        });
    }
    let text = check::canonical(&parts.name, &written.expr);
    let name = match &written.name {
        Some(name) => free_name(parts, tree_name(name))?,
        None => {
            let columns = mentioned(parts, &text);
            let base = match columns.as_slice() {
                [one] => format!("{}_{one}_check", parts.name),
                _ => format!("{}_check", parts.name),
            };
            numbered(parts, &base)
        }
    };
    Ok(Check { name, text })
}

/// The columns that a condition speaks of.
fn mentioned(parts: &Parts, text: &str) -> Vec<String> {
    let names = parts.columns.iter().map(|column| &column.name);
    let Some(expr) = parse(text) else {
        return Vec::new();
    };
    names
        .filter(|name| check::mentions(&expr, name))
        .cloned()
        .collect()
}

fn is_taken(parts: &Parts, name: &str) -> bool {
    let checks = parts.checks.iter().map(|one| &one.name);
    let foreign = parts.foreign_keys.iter().map(|one| &one.name);
    let indexes = parts.indexes.iter().map(|one| &one.name);
    checks.chain(foreign).chain(indexes).any(|one| one == name)
        || name == format!("{}_pkey", parts.name)
}

pub(super) fn free_name(parts: &Parts, name: String) -> Result<String> {
    match is_taken(parts, &name) {
        false => Ok(name),
        true => Err(ConstraintError::Exists {
            table: parts.name.clone(),
            name,
        }
        .into()),
    }
}

fn numbered(parts: &Parts, base: &str) -> String {
    let more = (1_u64..).map(|number| format!("{base}{number}"));
    let mut names = std::iter::once(base.to_owned()).chain(more);
    names
        .find(|name| !is_taken(parts, name))
        .expect("some number is free")
}

fn foreign_key(
    ground: Ground<'_>,
    parts: &Parts,
    written: &ast::ForeignKeyConstraint,
) -> Result<ForeignKey> {
    let columns: Vec<String> = written.columns.iter().map(tree_name).collect();
    let name = match &written.name {
        Some(name) => free_name(parts, tree_name(name))?,
        None => numbered(parts, &format!("{}_{}_fkey", parts.name, columns.join("_"))),
    };
    let fault = |reason: String| {
        ConstraintError::BadForeignKey {
            table: parts.name.clone(),
            foreign_key: name.clone(),
            reason,
        }
        .into()
    };
    let parent_name = tree_table_name(&written.foreign_table)?;
    let (parent, schema) = match parent_name == parts.name {
        true => (None, Schema::from_parts(parts.clone())?),
        false => {
            let parent = ground.catalog.get(&parent_name)?;
            (Some(parent.id()), parent.schema().clone())
        }
    };
    refuse_kinds(&parts.name, &schema).map_err(fault)?;
    let referred = written.referred_columns.iter().map(tree_name);
    let (target, order) = target(&schema, &referred.collect::<Vec<_>>()).map_err(fault)?;
    let mut positions = Vec::with_capacity(columns.len());
    for column in &columns {
        let mut known = parts.columns.iter();
        let found = known.position(|one| one.name == *column && !one.hidden);
        positions.push(found.ok_or_else(|| Error::NoSuchColumn {
            table: parts.name.clone(),
            column: column.clone(),
        })?);
    }
    if positions.len() != order.len() {
        return Err(fault(
            "it has another number of columns than it refers to".to_owned(),
        ));
    }
    let mut sorted = vec![0; positions.len()];
    for (position, (place, at)) in positions.into_iter().zip(order) {
        check_types(parts, position, &schema, at).map_err(fault)?;
        if let Some(slot) = sorted.get_mut(place) {
            *slot = position;
        }
    }
    let match_kind = written.match_kind;
    if !matches!(
        match_kind,
        None | Some(ast::ConstraintReferenceMatchKind::Simple)
    ) && sorted.len() > 1
    {
        return Err(Error::Unsupported {
            what: "MATCH FULL or PARTIAL".to_owned(),
        });
    }
    Ok(ForeignKey {
        name: name.clone(),
        columns: sorted,
        parent,
        target,
        on_delete: action(written.on_delete),
        on_update: action(written.on_update),
        checked: checked(written.characteristics.as_ref())?,
    })
}

/// Tables whose rows come and go in ways that a foreign key does not see.
fn refuse_kinds(child: &str, parent: &Schema) -> std::result::Result<(), String> {
    for name in [child, parent.name()] {
        if name.starts_with(TABLE_PREFIX) {
            return Err(format!(
                "`{name}` holds items of the web API, which keep no foreign keys"
            ));
        }
    }
    match parent.options().ttl {
        Some(_) => Err(format!(
            "rows of `{}` expire by themselves, whoever refers to them: RESET (TTL) first",
            parent.name()
        )),
        None => Ok(()),
    }
}

/// What columns of a parent stand for, and for each of them its place among those of the target and its
/// position in the table.
fn target(
    parent: &Schema,
    columns: &[String],
) -> std::result::Result<(Target, Vec<(usize, usize)>), String> {
    let place = |of: &[usize]| -> Option<Vec<(usize, usize)>> {
        if columns.is_empty() {
            return Some(of.iter().copied().enumerate().collect());
        }
        let found = columns.iter().map(|name| {
            let place = of.iter().position(|at| parent.name_at(*at) == name)?;
            Some((place, *of.get(place)?))
        });
        let found: Vec<_> = found.collect::<Option<_>>()?;
        let all = (0..of.len()).all(|place| found.iter().any(|one| one.0 == place));
        (all && found.len() == of.len()).then_some(found)
    };
    let key = key_columns(parent);
    if let Some(order) = place(&key).filter(|_| !key.is_empty()) {
        return Ok((Target::Key, order));
    }
    let unique = parent
        .indexes()
        .iter()
        .filter(|one| one.unique && one.ready);
    for index in unique.filter(|_| !columns.is_empty()) {
        if let Some(order) = place(&index.columns) {
            return Ok((Target::Index(index.id), order));
        }
    }
    let name = parent.name();
    Err(match columns {
        [] => format!("`{name}` has no primary key: name the columns of a unique index of it"),
        columns => format!(
            "`{name}` has no primary key or unique index over ({})",
            columns.join(", ")
        ),
    })
}

fn check_types(
    parts: &Parts,
    position: usize,
    parent: &Schema,
    at: usize,
) -> std::result::Result<(), String> {
    let (Some(one), Some(other)) = (parts.columns.get(position), parent.columns().get(at)) else {
        return Ok(());
    };
    if one.kind == other.kind || one.kind.is_integer() && other.kind.is_integer() {
        return Ok(());
    }
    Err(format!(
        "`{}` is {} and `{}` of `{}` is {}: they must be of one type",
        one.name,
        one.type_name(),
        other.name,
        parent.name(),
        other.type_name()
    ))
}

fn action(written: Option<ast::ReferentialAction>) -> Action {
    match written {
        None | Some(ast::ReferentialAction::NoAction) => Action::NoAction,
        Some(ast::ReferentialAction::Restrict) => Action::Restrict,
        Some(ast::ReferentialAction::Cascade) => Action::Cascade,
        Some(ast::ReferentialAction::SetNull) => Action::SetNull,
        Some(ast::ReferentialAction::SetDefault) => Action::SetDefault,
    }
}

fn checked(written: Option<&ast::ConstraintCharacteristics>) -> Result<Checked> {
    let Some(written) = written else {
        return Ok(Checked::Always);
    };
    if written.enforced == Some(false) {
        return Err(Error::Unsupported {
            what: "a foreign key that is NOT ENFORCED".to_owned(),
        });
    }
    let deferred = written.initially == Some(ast::DeferrableInitial::Deferred);
    Ok(match (written.deferrable, deferred) {
        (_, true) => Checked::Deferred,
        (Some(true), false) => Checked::Immediate,
        _ => Checked::Always,
    })
}

/// The tables that foreign keys of `new` refer to and those of `old` do not: their writers have to know.
pub(super) fn parents(
    ground: Ground<'_>,
    old: &[ForeignKey],
    new: &[ForeignKey],
) -> Vec<Arc<Table>> {
    let mut parents = Vec::new();
    let fresh = new.iter().filter(|key| !old.contains(key));
    for parent in fresh.filter_map(|key| ground.catalog.by_id(key.parent?)) {
        super::push_once(&mut parents, parent);
    }
    parents
}

/// Looks through the rows of a table for those that new constraints forbid. One whose name is among those
/// `dropped` has taken the place of another.
pub(super) fn check_rows(
    ground: Ground<'_>,
    table: &Arc<Table>,
    schema: &Schema,
    dropped: &[String],
) -> Result<()> {
    let (old, new) = (table.schema().parts(), schema.parts());
    let before = Before::new(old, new);
    let stays = |name: &String, before: &String| name == before && !dropped.contains(name);
    let fresh_check = |check: &Check| {
        let mut names = old.checks.iter().map(|one| &one.name);
        !before.had_check(check) && !names.any(|name| stays(&check.name, name))
    };
    let fresh_key = |key: &ForeignKey| {
        let mut names = old.foreign_keys.iter().map(|one| &one.name);
        !before.had_foreign_key(key) && !names.any(|name| stays(&key.name, name))
    };
    let checks = new.checks.iter().zip(schema.conditions());
    let checks: Vec<_> = checks.filter(|(check, _)| fresh_check(check)).collect();
    let keys: Vec<_> = new
        .foreign_keys
        .iter()
        .filter(|key| fresh_key(key))
        .collect();
    let mut links = Vec::new();
    for key in &keys {
        let parent = key
            .parent
            .map_or_else(|| Some(Arc::clone(table)), |id| ground.catalog.by_id(id));
        if let Some(parent) = parent {
            links.push(Arc::new(Link::new(key, table, &parent)?));
        }
    }
    if checks.is_empty() && links.is_empty() {
        return Ok(());
    }
    let columns = checks.iter().flat_map(|(_, condition)| &condition.inputs);
    let mut columns = columns.chain(keys.iter().flat_map(|key| &key.columns));
    let rows_max = match columns.all(|column| before.is_alike(*column)) {
        true => 1,
        false => usize::MAX,
    };
    // Rows that are written from now on meet the constraints, or no writer can commit at all.
    let mut transaction = ground.store.begin();
    let rows = transaction.scan(table.id(), &KeyRange::all(), Direction::Ascending)?;
    for (number, pair) in rows.take(rows_max).enumerate() {
        ground.check_interrupt(number)?;
        let (key, row) = pair?;
        let row = schema.decode(&key, &row)?;
        for (check, condition) in &checks {
            condition.check(schema, &row).map_err(|error| match error {
                Error::Constraint(ConstraintError::Unchecked { table, .. }) => {
                    ConstraintError::RowsUnchecked {
                        table,
                        check: check.name.clone(),
                        key: keys::format_key(&key),
                    }
                    .into()
                }
                other => other,
            })?;
        }
        for link in &links {
            check_row(&mut transaction, link, &row)?;
        }
    }
    Ok(())
}

/// An error if a foreign key of a table that stays refers to one of these.
pub(super) fn refuse_referenced(
    ground: Ground<'_>,
    tables: &[Arc<Table>],
    advice: &'static str,
) -> Result<()> {
    for table in tables {
        for (child, key) in ground.catalog.referring(table.id()) {
            if !tables.iter().any(|one| one.id() == child.id()) {
                return Err(ConstraintError::Referenced {
                    what: format!("table `{}`", table.schema().name()),
                    table: child.schema().name().to_owned(),
                    foreign_key: key.name,
                    advice,
                }
                .into());
            }
        }
    }
    Ok(())
}

/// An error if rows are to expire that foreign keys refer to.
pub(super) fn refuse_ttl(ground: Ground<'_>, table: &Table, schema: &Schema) -> Result<()> {
    if schema.options().ttl.is_none() {
        return Ok(());
    }
    match ground.catalog.referring(table.id()).into_iter().next() {
        None => Ok(()),
        Some((child, key)) => Err(ConstraintError::Referenced {
            what: format!("every row of `{}`", schema.name()),
            table: child.schema().name().to_owned(),
            foreign_key: key.name,
            advice: DROP_FIRST,
        }
        .into()),
    }
}

/// An error if a foreign key refers to an index of a table.
pub(super) fn refuse_index(ground: Ground<'_>, table: &Table, name: &str) -> Result<()> {
    let mut indexes = table.schema().indexes().iter();
    let Some(index) = indexes.find(|index| index.name == name) else {
        return Ok(());
    };
    let referring = ground.catalog.referring(table.id()).into_iter();
    let mut referring = referring.filter(|(_, key)| key.target == Target::Index(index.id));
    match referring.next() {
        None => Ok(()),
        Some((child, key)) => Err(ConstraintError::Referenced {
            what: format!("index `{name}`"),
            table: child.schema().name().to_owned(),
            foreign_key: key.name,
            advice: DROP_FIRST,
        }
        .into()),
    }
}

/// Takes the foreign keys away by which tables refer to one that goes, before it does: after a crash none
/// may refer to nothing.
pub(super) fn let_go(ground: Ground<'_>, change: &Change<'_>, tables: &[Arc<Table>]) -> Result<()> {
    let goes = |id| tables.iter().any(|table| table.id() == id);
    for child in ground.catalog.all() {
        let mut parts = child.schema().parts().clone();
        let before = parts.foreign_keys.len();
        parts
            .foreign_keys
            .retain(|key| !key.parent.is_some_and(goes));
        if parts.foreign_keys.len() < before {
            change.alter(&child, Schema::from_parts(parts)?)?;
        }
    }
    Ok(())
}

/// The tables and all that refer to them, and to those.
pub(super) fn with_referring(ground: Ground<'_>, tables: &[Arc<Table>]) -> Vec<Arc<Table>> {
    let mut all = tables.to_vec();
    let mut next = 0;
    while let Some(table) = all.get(next).cloned() {
        for (child, _) in ground.catalog.referring(table.id()) {
            super::push_once(&mut all, child);
        }
        next += 1;
    }
    all
}
