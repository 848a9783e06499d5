//! ALTER TABLE: several changes become one new schema, which takes effect at once.
//!
//! Columns come and go without a row being written. Constraints are validated while others write; a
//! default that differs from row to row, for which the table must be empty, is looked at when writers by
//! the old schema are refused. An index is built after that, while others write. ADD PRIMARY KEY writes every row anew, and SPLIT and MERGE change only
//! partitions; those stand alone.

mod constraint;
mod key;

use std::sync::Arc;

use keys::Value;
use syntax::table::{
    AlterTable, AlterationKind, Column as WrittenColumn, ColumnChange, ColumnType,
    Index as WrittenIndex, OptionValue, TableOption,
};
use syntax::{Ident, Name};
use txn::{Direction, KeyRange, TableId};

use super::columns::{self, NewColumn};
use super::{Ground, constraints, options, partitions, table};
use crate::catalog::{Change, Validation};
use crate::check;
use crate::collection::guard;
use crate::default::{canonical, default_scalar};
use crate::generated::renamed;
use crate::names::{column_name, table_name};
use crate::scalar::Given;
use crate::schema::{Before, Owned, Parts, fitting};
use crate::sequence::Sequence;
use crate::{Column, ConstraintError, Error, Index, Result, Schema, Table};

/// Changes a table; answers with the indexes that are to be built.
pub(super) fn alter(ground: Ground<'_>, alter: &AlterTable) -> Result<Vec<TableId>> {
    let change = ground.catalog.change(ground.store);
    let table = ground.catalog.get(&table_name(&alter.name)?)?;
    if let [alone] = alter.actions.as_slice() {
        match &alone.kind {
            AlterationKind::AddPrimaryKey(key) => {
                guard::refuse(table.schema(), "given another key")?;
                key::add(ground, &change, &table, key)?;
                return Ok(Vec::new());
            }
            AlterationKind::SplitAt(keys) => {
                partitions::split(ground, &table, keys)?;
                return Ok(Vec::new());
            }
            AlterationKind::MergePartitions(merge) => {
                partitions::merge(ground, &table, merge)?;
                return Ok(Vec::new());
            }
            _ => {}
        }
    }
    let mut draft = Draft::new(ground, &change, &table);
    let mut outcome = Ok(());
    for action in &alter.actions {
        outcome = outcome.and_then(|()| draft.apply_noting(&action.kind));
    }
    draft.end(outcome)
}

/// Lists another index in the schema of a table; answers with it, as it is to be built.
pub(super) fn add_index(
    ground: Ground<'_>,
    table: &Name,
    written: &WrittenIndex,
) -> Result<Vec<TableId>> {
    let change = ground.catalog.change(ground.store);
    let table = ground.catalog.get(&table_name(table)?)?;
    let mut draft = Draft::new(ground, &change, &table);
    let outcome = draft.add_index(written);
    draft.end(outcome)
}

/// Gives an index of a table another name.
pub(super) fn rename_index(ground: Ground<'_>, table: &str, from: &str, to: &str) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let table = ground.catalog.get(table)?;
    let mut draft = Draft::new(ground, &change, &table);
    let outcome = draft.rename_index(from, to);
    draft.end(outcome).map(drop)
}

/// A schema on its way from what it is to what it will be.
struct Draft<'d> {
    ground: Ground<'d>,
    change: &'d Change<'d>,
    table: &'d Arc<Table>,
    parts: Parts,
    /// The column for which the table must be empty.
    needs_empty: Option<String>,
    /// Tables that were made, to be dropped if it fails.
    made: Vec<TableId>,
    /// New sequences, to be shown if it succeeds.
    sequences: Vec<Arc<Sequence>>,
    /// Indexes and sequences to be dropped if it succeeds.
    dropped: Vec<TableId>,
    /// Names of constraints that are gone, or were.
    unconstrained: Vec<String>,
}

impl<'d> Draft<'d> {
    fn new(ground: Ground<'d>, change: &'d Change<'d>, table: &'d Arc<Table>) -> Self {
        Self {
            ground,
            change,
            table,
            parts: table.schema().parts().clone(),
            needs_empty: None,
            made: Vec::new(),
            sequences: Vec::new(),
            dropped: Vec::new(),
            unconstrained: Vec::new(),
        }
    }

    /// Makes it so if all went well, and otherwise leaves nothing behind.
    fn end(self, outcome: Result<()>) -> Result<Vec<TableId>> {
        let (change, made) = (self.change, self.made.clone());
        let outcome = outcome.and_then(|()| self.finish());
        outcome.inspect_err(|_| change.discard(made))
    }

    /// Applies an action, and notes which constraints went with it.
    fn apply_noting(&mut self, action: &AlterationKind) -> Result<()> {
        let before = constraint_names(&self.parts);
        self.apply(action)?;
        let after = constraint_names(&self.parts);
        let gone = before.into_iter().filter(|name| !after.contains(name));
        self.unconstrained.extend(gone);
        Ok(())
    }

    fn apply(&mut self, action: &AlterationKind) -> Result<()> {
        match action {
            AlterationKind::AddColumn {
                column,
                if_not_exists,
            } => self.add_column(column, *if_not_exists),
            AlterationKind::DropColumn {
                name,
                if_exists,
                cascade,
            } => match self.position(name) {
                Err(Error::NoSuchColumn { .. }) if *if_exists => Ok(()),
                Err(error) => Err(error),
                Ok(position) => self.drop_column(position, *cascade),
            },
            AlterationKind::RenameColumn { from, to } => self.rename_column(from, to),
            AlterationKind::AlterColumn { name, change } => self.alter_column(name, change),
            AlterationKind::AddIndex(index) => self.add_index(index),
            AlterationKind::DropIndex(name) => self.drop_index(&column_name(name)),
            AlterationKind::RenameIndex { from, to } => {
                self.rename_index(&column_name(from), &column_name(to))
            }
            AlterationKind::DropConstraint {
                name, if_exists, ..
            } => match self.drop_constraint(&column_name(name)) {
                Err(Error::Constraint(ConstraintError::Unknown { .. })) if *if_exists => Ok(()),
                other => other,
            },
            AlterationKind::RenameConstraint { from, to } => {
                self.rename_constraint(&column_name(from), column_name(to))
            }
            AlterationKind::Set(written) => {
                let is_count =
                    |option: &&TableOption| option.name.value.eq_ignore_ascii_case("bucket_count");
                if let Some(option) = written.iter().find(is_count) {
                    self.set_bucket_count(&option.value)?;
                }
                let schema = Schema::from_parts(self.parts.clone())?;
                let written: Vec<_> = written.iter().filter(|one| !is_count(one)).collect();
                options::apply(&schema, &mut self.parts.options, &written, false)
            }
            AlterationKind::Reset(names) => {
                let schema = Schema::from_parts(self.parts.clone())?;
                for name in names {
                    options::reset(&schema, &mut self.parts.options, &name.value)?;
                }
                Ok(())
            }
            AlterationKind::RenameTo(name) => {
                self.parts.name = table_name(name)?;
                match self.parts.name == self.table.schema().name() {
                    true => Ok(()),
                    false => self.change.check_new(&self.parts.name),
                }
            }
            AlterationKind::AddConstraint(one) => {
                constraints::add(self.ground, &mut self.parts, one)
            }
            AlterationKind::AlterIndex { .. } => unsupported("the options of an index"),
            AlterationKind::AddPrimaryKey(_)
            | AlterationKind::SplitAt(_)
            | AlterationKind::MergePartitions(_) => {
                unsupported("ADD PRIMARY KEY, SPLIT or MERGE together with other changes")
            }
        }
    }

    fn finish(self) -> Result<Vec<TableId>> {
        let schema = Schema::from_parts(self.parts)?;
        guard::check_altered(self.table.schema(), &schema)?;
        constraints::refuse_ttl(self.ground, self.table, &schema)?;
        let validation = Rows {
            ground: self.ground,
            needs_empty: self.needs_empty,
            unconstrained: self.unconstrained,
        };
        self.change
            .alter_validated(self.table, schema.clone(), &validation)?;
        self.change.show_sequences(self.sequences);
        self.change.hide_sequences(&self.dropped);
        self.change.discard(self.dropped);
        let unfinished = schema.indexes().iter();
        let unfinished = unfinished.map(|index| index.id);
        Ok(unfinished.filter(|id| self.made.contains(id)).collect())
    }

    fn position(&self, name: &Ident) -> Result<usize> {
        let name = column_name(name);
        let mut columns = self.parts.columns.iter();
        let found = columns.position(|column| column.name == name && !column.hidden);
        found.ok_or_else(|| Error::NoSuchColumn {
            table: self.parts.name.clone(),
            column: name,
        })
    }

    fn column(&mut self, name: &Ident) -> Result<&mut Column> {
        let position = self.position(name)?;
        let column = self.parts.columns.get_mut(position);
        Ok(column.expect("a position of a column that was found"))
    }

    fn check_free(&self, name: &str) -> Result<()> {
        let mut columns = self.parts.columns.iter();
        match columns.any(|column| column.name == name) {
            false => Ok(()),
            true => Err(Error::ColumnExists {
                table: self.parts.name.clone(),
                column: name.to_owned(),
            }),
        }
    }

    fn add_column(&mut self, written: &WrittenColumn, if_not_exists: bool) -> Result<()> {
        match self.check_free(&column_name(&written.name)) {
            Err(_) if if_not_exists => return Ok(()),
            other => other?,
        }
        let NewColumn { column, sequence } =
            columns::column(self.ground, self.change, &self.parts.name, written)?;
        if let Some(definition) = sequence {
            let mut definition = definition;
            definition.owned = true;
            let sequence = self.change.make_sequence(definition)?;
            self.made.push(sequence.id());
            self.parts.sequences.push(Owned {
                sequence: sequence.id(),
                column: self.parts.columns.len(),
            });
            self.sequences.push(sequence);
            self.needs_empty = Some(column.name.clone());
            self.parts.add_column(column, Value::Null);
            return Ok(());
        }
        let default = default_scalar(&column)?;
        let missing = match default.is_fixed() && column.generated.is_none() {
            true => default.value(Given::at(self.ground.now_us()))?,
            false => {
                self.needs_empty = Some(column.name.clone());
                Value::Null
            }
        };
        let missing = fitting(&self.parts.name, &column, missing)?;
        self.parts.add_column(column, missing);
        Ok(())
    }

    fn drop_column(&mut self, position: usize, cascade: bool) -> Result<()> {
        let in_use = |reason: String| {
            let column = self.parts.columns.get(position);
            Err(Error::ColumnInUse {
                table: self.parts.name.clone(),
                column: column.map(|one| one.name.clone()).unwrap_or_default(),
                reason,
            })
        };
        if self.parts.key.contains(&position) {
            return in_use("it is part of the primary key".to_owned());
        }
        let schema = Schema::from_parts(self.parts.clone())?;
        let mut generated = schema.generated().iter();
        if let Some(other) = generated.find(|one| one.inputs.contains(&position)) {
            let name = schema.name_at(other.position);
            return in_use(format!(
                "column `{name}` is generated from it; drop that first"
            ));
        }
        if self
            .parts
            .options
            .ttl
            .is_some_and(|ttl| ttl.column == position)
        {
            return in_use("rows expire by it; RESET (TTL) first".to_owned());
        }
        let uses = |index: &Index| {
            index
                .columns
                .iter()
                .chain(&index.cover)
                .any(|at| *at == position)
        };
        if let Some(index) = self.parts.indexes.iter().find(|index| uses(index)) {
            constraints::refuse_index(self.ground, self.table, &index.name)?;
            if !cascade {
                let name = &index.name;
                return in_use(format!(
                    "index `{name}` has it; drop that first, or CASCADE"
                ));
            }
            let gone = self.parts.indexes.iter().filter(|index| uses(index));
            self.dropped.extend(gone.map(|index| index.id));
            self.parts.indexes.retain(|index| !uses(index));
        }
        // As in PostgreSQL, constraints go with a column that they speak of.
        let conditions: Vec<bool> = schema
            .conditions()
            .iter()
            .map(|one| one.inputs.contains(&position))
            .collect();
        let mut gone = conditions.into_iter();
        self.parts.checks.retain(|_| !gone.next().unwrap_or(false));
        let foreign = &mut self.parts.foreign_keys;
        foreign.retain(|key| !key.columns.contains(&position));
        let owned = self.parts.sequences.iter();
        let owned = owned.filter(|owned| owned.column == position);
        self.dropped.extend(owned.map(|owned| owned.sequence));
        self.parts.drop_column(position);
        Ok(())
    }

    fn rename_column(&mut self, from: &Ident, to: &Ident) -> Result<()> {
        let name = column_name(to);
        if column_name(from) == name {
            return self.position(from).map(|_| ());
        }
        self.position(from)?;
        self.check_free(&name)?;
        let from_name = column_name(from);
        for column in &mut self.parts.columns {
            if let Some(text) = &column.generated {
                column.generated = renamed(text, &from_name, &name);
            }
            if let Some(text) = &column.former {
                column.former = renamed(text, &from_name, &name);
            }
        }
        check::rename_column(&mut self.parts.checks, &from_name, &name);
        self.column(from)?.name = name;
        Ok(())
    }

    /// Spreads the rows of a key USING HASH over another number of buckets: new ones at once, those
    /// that are there in the background.
    fn set_bucket_count(&mut self, value: &OptionValue) -> Result<()> {
        let schema = Schema::from_parts(self.parts.clone())?;
        let fault = |reason: &str| Error::TableOption {
            table: schema.name().to_owned(),
            option: "bucket_count".to_owned(),
            reason: reason.to_owned(),
        };
        let OptionValue::Number(count) = value else {
            return Err(fault("it takes a whole number"));
        };
        let Some((before, key)) = schema.hashed_key() else {
            return Err(fault("the primary key is not USING HASH"));
        };
        let names: Vec<String> = key
            .iter()
            .map(|at| schema.name_at(*at).to_owned())
            .collect();
        // The new column is made only to check the number.
        let bucket = table::bucket(schema.name(), schema.columns(), &names, *count)?;
        if usize::try_from(*count) == Ok(before) {
            return Ok(());
        }
        if schema.moves() {
            return Err(fault(
                "rows are still being moved for the last change: see sys.bucket_moves",
            ));
        }
        let first = self.parts.key.first().copied();
        if let Some(column) = first.and_then(|at| self.parts.columns.get_mut(at)) {
            column.former = std::mem::replace(&mut column.generated, bucket.generated);
        }
        Ok(())
    }

    fn alter_column(&mut self, name: &Ident, change: &ColumnChange) -> Result<()> {
        let table = self.parts.name.clone();
        let catalog = self.ground.catalog;
        let column = self.column(name)?;
        match change {
            ColumnChange::SetNotNull => column.not_null = true,
            ColumnChange::DropNotNull => column.not_null = false,
            ColumnChange::SetDefault(_) if column.generated.is_some() => {
                return Err(Error::Generated {
                    table,
                    column: column.name.clone(),
                    reason: "it cannot have a default".to_owned(),
                });
            }
            ColumnChange::SetDefault(default) => {
                let text = canonical(&table, column, &default.expr, catalog)?;
                column.default = Some(text);
            }
            ColumnChange::DropDefault => column.default = None,
            ColumnChange::SetType { kind, declared, .. } => {
                if *kind != ColumnType::Plain(column.kind) {
                    return unsupported("another type for a column that exists");
                }
                if !declared.admits(column.declared) {
                    return unsupported(match declared.digits() {
                        Some(_) => "a smaller precision for a column that exists",
                        None => "a shorter length for a column that exists",
                    });
                }
                column.declared = *declared;
            }
        }
        Ok(())
    }

    fn add_index(&mut self, written: &WrittenIndex) -> Result<()> {
        let Parts {
            name,
            columns,
            indexes,
            ..
        } = &self.parts;
        let mut index = columns::index(name, columns, indexes, written)?;
        self.check_free_index(&index.name)?;
        index.ready = false;
        index.id = self.change.create_index(self.table.id(), &index.name)?;
        self.made.push(index.id);
        self.parts.indexes.push(index);
        Ok(())
    }

    fn check_free_index(&self, name: &str) -> Result<()> {
        let mut indexes = self.parts.indexes.iter();
        match indexes.any(|index| index.name == name) {
            false => Ok(()),
            true => Err(Error::IndexExists {
                table: self.parts.name.clone(),
                index: name.to_owned(),
            }),
        }
    }

    fn rename_index(&mut self, from: &str, to: &str) -> Result<()> {
        let at = self.index(from)?;
        if from != to {
            self.check_free_index(to)?;
        }
        if let Some(index) = self.parts.indexes.get_mut(at) {
            to.clone_into(&mut index.name);
        }
        Ok(())
    }

    fn index(&self, name: &str) -> Result<usize> {
        let mut indexes = self.parts.indexes.iter();
        let found = indexes.position(|index| index.name == name);
        found.ok_or_else(|| match Schema::from_parts(self.parts.clone()) {
            Ok(schema) => Error::no_such_index(&schema, name),
            Err(error) => error,
        })
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        let at = self.index(name)?;
        constraints::refuse_index(self.ground, self.table, name)?;
        self.dropped.push(self.parts.indexes.remove(at).id);
        Ok(())
    }
}

fn constraint_names(parts: &Parts) -> Vec<String> {
    let checks = parts.checks.iter().map(|check| &check.name);
    let foreign = parts.foreign_keys.iter().map(|key| &key.name);
    checks.chain(foreign).cloned().collect()
}

/// The rows of a table, as an ALTER looks at them.
struct Rows<'d> {
    ground: Ground<'d>,
    /// The column for which there must be none.
    needs_empty: Option<String>,
    /// Names of constraints that others may have now.
    unconstrained: Vec<String>,
}

impl Validation for Rows<'_> {
    fn parents(&self, old: &Schema, new: &Schema) -> Vec<Arc<Table>> {
        constraints::parents(self.ground, old.foreign_keys(), new.foreign_keys())
    }

    fn validate(&self, table: &Arc<Table>, schema: &Schema) -> Result<()> {
        let strict = newly_strict(table.schema(), schema);
        let needs_empty = self.needs_empty.as_deref();
        check_rows(self.ground, table, schema, &strict, needs_empty)?;
        constraints::check_rows(self.ground, table, schema, &self.unconstrained)
    }
}

fn unsupported<T>(what: &str) -> Result<T> {
    Err(Error::Unsupported {
        what: what.to_owned(),
    })
}

fn is_empty(ground: Ground<'_>, table: &Table) -> Result<bool> {
    let view = ground.store.view();
    let mut rows = view.scan(table.id(), &KeyRange::all(), Direction::Ascending)?;
    Ok(rows.next().transpose()?.is_none())
}

/// Positions of the columns that refuse NULL and did not, or were not there.
fn newly_strict(old: &Schema, new: &Schema) -> Vec<usize> {
    let before = Before::new(old.parts(), new.parts());
    let was_strict = |column: usize| {
        let was = before.position(column);
        let was = was.and_then(|at| old.columns().get(at));
        was.is_some_and(|was| was.not_null || old.fills(&was.name))
    };
    let columns = new.columns().iter().enumerate();
    let strict = columns.filter(|(column, is)| is.not_null && !was_strict(*column));
    strict.map(|(column, _)| column).collect()
}

/// Looks through the rows for what the new schema forbids.
fn check_rows(
    ground: Ground<'_>,
    table: &Table,
    schema: &Schema,
    strict: &[usize],
    needs_empty: Option<&str>,
) -> Result<()> {
    if let Some(column) = needs_empty
        && !is_empty(ground, table)?
    {
        return Err(Error::NeedsNewTable {
            table: table.schema().name().to_owned(),
            what: format!("ADD COLUMN `{column}` on a table that has rows"),
            reason: "each of them would need a value of its own",
        });
    }
    if strict.is_empty() {
        return Ok(());
    }
    let view = ground.store.view();
    let rows = view.scan(table.id(), &KeyRange::all(), Direction::Ascending)?;
    for (number, pair) in rows.enumerate() {
        ground.check_interrupt(number)?;
        let (key, row) = pair?;
        let values = schema.decode(&key, &row)?;
        for position in strict {
            if !values.get(*position).is_some_and(Value::is_null) {
                continue;
            }
            let column = schema.columns().get(*position);
            let path = keys::format_key(&key);
            return Err(Error::NullsThere {
                table: schema.name().to_owned(),
                column: column.map(|one| one.name.clone()).unwrap_or_default(),
                reason: format!("row {path} has NULL there; UPDATE it first, or give a DEFAULT"),
            });
        }
    }
    Ok(())
}
