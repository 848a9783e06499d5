//! Adding constraints to a table that is in use: writers keep them first, then the rows are validated.
//!
//! ```text
//!   1  the table is shown with the constraints, in a new epoch: every writer keeps them
//!   2  the rows are validated, while others write
//!   3  the record                                                               they are there
//! ```
//!
//! What fails is taken back by a third epoch, and after a crash before the record it never was: until
//! then only rows that meet the constraints were written, and no client was told that they are there.
//!
//! An ALTER that changes columns too goes the same way with its constraints, told of the columns as they
//! were ([`Before`]), and then takes effect at once. What is left to validate while writers are refused is
//! what cannot be told so: a new column that is worked out from others, or by a default like `now()`.

use std::sync::Arc;

use txn::Timestamp;

use super::{Change, Table};
use crate::record::{self, Record};
use crate::schema::{Before, Parts};
use crate::{ForeignKey, Result, Schema};

/// What an ALTER asks of the tables and rows that are there.
pub(crate) trait Validation {
    /// The tables that foreign keys of one refer to and those of the other do not.
    fn parents(&self, old: &Schema, new: &Schema) -> Vec<Arc<Table>>;

    /// An error if a row does not meet what the schema says and that of the table did not.
    fn validate(&self, table: &Arc<Table>, schema: &Schema) -> Result<()>;
}

impl Change<'_> {
    /// Gives a table another schema, when its rows meet it. If they do not, nothing changes.
    pub(crate) fn alter_validated(
        &self,
        table: &Arc<Table>,
        schema: Schema,
        validation: &impl Validation,
    ) -> Result<()> {
        let Some(constraints) = constraints_alone(table.schema.parts(), schema.parts()) else {
            return self.alter_at_once(table, schema, validation);
        };
        let only = adds_constraints_only(table.schema.parts(), schema.parts());
        let constraints = match only {
            true => schema.clone(),
            false => Schema::from_parts(constraints)?,
        };
        let constrained = self.constrain(table, &constraints, validation)?;
        let written = match only {
            true => self.accept(&constrained, schema),
            false => self.alter_at_once(&constrained, schema, validation),
        };
        written.or_else(|error| {
            self.take_back(&constrained, table)?;
            Err(error)
        })
    }

    /// Writes the schema down that a table is shown with. Rows of this epoch meet it, so it goes on.
    fn accept(&self, constrained: &Table, schema: Schema) -> Result<()> {
        let record = record::encode(&Record::Table(Box::new(schema.clone())));
        self.store.set_record(constrained.id, record)?;
        let (id, epoch) = (constrained.id, constrained.epoch);
        let shown = Table::new(id, schema, epoch, Some(constrained), Timestamp::default())?;
        self.put([(constrained.schema.name(), &Arc::new(shown))]);
        Ok(())
    }

    /// Shows a table as it was before.
    fn take_back(&self, constrained: &Table, table: &Table) -> Result<()> {
        let before = self.begin_epoch(constrained, table.schema.clone())?;
        self.put([(table.schema.name(), &before)]);
        Ok(())
    }

    /// Changes a table while its writers are refused.
    fn alter_at_once(
        &self,
        table: &Arc<Table>,
        schema: Schema,
        validation: &impl Validation,
    ) -> Result<()> {
        let old_name = table.schema.name();
        let parents = validation.parents(&table.schema, &schema);
        let outcome = self.renew(&parents).and_then(|renewed| {
            let validate = || validation.validate(table, &schema);
            let altered = self.write(table, schema.clone(), Timestamp::default(), validate)?;
            let parents = renewed.iter().map(|one| (one.schema.name(), one));
            self.put(std::iter::once((old_name, &altered)).chain(parents));
            Ok(())
        });
        outcome.inspect_err(|_| self.restore(&parents))
    }

    /// Shows a table with further constraints, and validates its rows while others write.
    fn constrain(
        &self,
        table: &Arc<Table>,
        schema: &Schema,
        validation: &impl Validation,
    ) -> Result<Arc<Table>> {
        let kept = kept_by_writers(table.schema.parts(), schema.parts())?;
        let parents = validation.parents(&table.schema, schema);
        let outcome = self.renew(&parents).and_then(|renewed| {
            let constrained = self.begin_epoch(table, kept)?;
            Ok((constrained, renewed))
        });
        let (constrained, renewed) = outcome.inspect_err(|_| self.restore(&parents))?;
        let all = std::iter::once(&constrained).chain(&renewed);
        self.put(all.map(|one| (one.schema.name(), one)));
        if let Err(error) = validation.validate(table, schema) {
            self.take_back(&constrained, table)?;
            return Err(error);
        }
        Ok(constrained)
    }
}

/// Whether a schema differs from another by further constraints and nothing else.
fn adds_constraints_only(old: &Parts, new: &Parts) -> bool {
    let kept = old.checks.iter().all(|check| new.checks.contains(check))
        && (old.foreign_keys.iter()).all(|key| new.foreign_keys.contains(key));
    let unconstrained = |parts: &Parts| {
        let mut parts = parts.clone();
        parts.checks.clear();
        parts.foreign_keys.clear();
        for column in &mut parts.columns {
            column.not_null = false;
        }
        parts
    };
    let strict = old.columns.iter().zip(&new.columns);
    let mut strict = strict.map(|(old, new)| new.not_null || !old.not_null);
    kept && strict.all(|kept| kept) && unconstrained(old) == unconstrained(new)
}

/// The old schema with the new constraints, as far as they can be told of the columns as they are; none
/// if nothing is new.
fn constraints_alone(old: &Parts, new: &Parts) -> Option<Parts> {
    let before = Before::new(old, new);
    let mut parts = old.clone();
    for check in new.checks.iter().filter(|check| !before.had_check(check)) {
        parts.checks.extend(before.check(check));
        if Schema::from_parts(parts.clone()).is_err() {
            parts.checks.pop();
        }
    }
    let fresh = |key: &&ForeignKey| !before.had_foreign_key(key);
    for key in new.foreign_keys.iter().filter(fresh) {
        parts.foreign_keys.extend(before.foreign_key(key));
    }
    for (position, column) in new.columns.iter().enumerate() {
        let was = before.position(position);
        if let Some(was) = was.and_then(|at| parts.columns.get_mut(at)) {
            was.not_null |= column.not_null;
        }
    }
    (parts != *old).then_some(parts)
}

/// A schema by which writers keep the constraints of `new`, and readers count on no more than those of
/// `old`: a column that is about to be NOT NULL may hold NULLs yet.
fn kept_by_writers(old: &Parts, new: &Parts) -> Result<Schema> {
    let mut parts = new.clone();
    let mut filled = Vec::new();
    for (column, old) in parts.columns.iter_mut().zip(&old.columns) {
        if std::mem::replace(&mut column.not_null, old.not_null) && !old.not_null {
            filled.push(column.name.clone());
        }
    }
    Ok(Schema::from_parts(parts)?.filling(filled))
}
