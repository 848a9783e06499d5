//! CREATE, ALTER and DROP SEQUENCE.

use std::sync::Arc;

use keys::Type;
use syntax::Name;
use syntax::statement::{AlterSequence, CreateSequence, Drop, SequenceOptions};

use super::Ground;
use crate::default::{next_text, sequence_of};
use crate::names::{column_name, table_name};
use crate::schema::Owned;
use crate::sequence::{Definition, Sequence, range_of};
use crate::{Error, Result, Schema, Table};

/// Makes a sequence.
pub(super) fn create(ground: Ground<'_>, create: &CreateSequence) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let name = table_name(&create.name)?;
    match change.check_free(&name) {
        Err(Error::TableExists { .. }) => return Err(Error::SequenceExists { name }),
        other => other?,
    }
    let options = &create.options;
    let mut definition = Definition::new(name, options.kind.unwrap_or(Type::Int64));
    bounds(&mut definition, options, true);
    if let Some(start) = options.restart.flatten() {
        definition.start = start;
    }
    definition.check()?;
    let owner = options.owned_by.as_ref().and_then(Option::as_ref);
    let owner = owner.map(|name| owner_of(ground, name)).transpose()?;
    let sequence = change.create_sequence(definition.clone())?;
    if let Some(owner) = owner {
        definition.owned = true;
        let tables = owned_by(ground, &sequence, Some(owner))?;
        change.redefine(&sequence, definition, &tables)?;
    }
    Ok(())
}

/// Puts the options of a statement into a definition. For a new sequence, what is not said follows
/// from the direction.
fn bounds(definition: &mut Definition, options: &SequenceOptions, new: bool) {
    let (least, greatest) = range_of(definition.kind).unwrap_or((i64::MIN, i64::MAX));
    if let Some(increment) = options.increment {
        definition.increment = increment;
    }
    let up = definition.increment > 0;
    let (min, max) = if up { (1, greatest) } else { (least, -1) };
    match options.min {
        Some(said) => definition.min = said.unwrap_or(min),
        None if new => definition.min = min,
        None => {}
    }
    match options.max {
        Some(said) => definition.max = said.unwrap_or(max),
        None if new => definition.max = max,
        None => {}
    }
    match options.start {
        Some(start) => definition.start = start,
        None if new && up => definition.start = definition.min,
        None if new => definition.start = definition.max,
        None => {}
    }
    definition.cache = options.cache.unwrap_or(definition.cache);
    definition.cycle = options.cycle.unwrap_or(definition.cycle);
}

/// Changes a sequence.
pub(super) fn alter(ground: Ground<'_>, alter: &AlterSequence) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let sequence = ground.catalog.sequence(&sequence_name(&alter.name)?)?;
    let options = &alter.options;
    let old = sequence.definition();
    let mut new = old.clone();
    if let Some(kind) = options.kind
        && kind != old.kind
    {
        // Bounds that were those of the type go with it.
        let was = range_of(old.kind);
        let (least, greatest) = range_of(kind).unwrap_or((i64::MIN, i64::MAX));
        if was.is_some_and(|(_, max)| old.max == max) {
            new.max = greatest;
        }
        if was.is_some_and(|(min, _)| old.min == min) {
            new.min = least;
        }
        new.kind = kind;
    }
    bounds(&mut new, options, false);
    if let Some(name) = &alter.rename_to {
        new.name = table_name(name)?;
    }
    new.check()?;
    let restart = options.restart.map(|at| at.unwrap_or(new.start));
    let stands = match restart {
        Some(at) => at,
        None => sequence.standing(ground.store)?.last,
    };
    if !(new.min..=new.max).contains(&stands) {
        return Err(Error::SequenceValue {
            name: new.name,
            value: stands,
            min: new.min,
            max: new.max,
        });
    }
    let tables = match (&options.owned_by, &alter.rename_to) {
        (Some(owner), _) => {
            let owner = owner.as_ref().map(|name| owner_of(ground, name));
            let owner = owner.transpose()?;
            new.owned = owner.is_some();
            owned_by(ground, &sequence, owner)?
        }
        (None, Some(_)) => renamed(ground, &old.name, &new.name)?,
        (None, None) => Vec::new(),
    };
    sequence.settle(ground.store)?;
    change.redefine(&sequence, new, &tables)?;
    match restart {
        Some(at) => sequence.set(ground.store, at, false),
        None => Ok(()),
    }
}

/// Drops sequences.
pub(super) fn drop(ground: Ground<'_>, drop: &Drop) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    for name in &drop.names {
        let sequence = match ground.catalog.sequence(&sequence_name(name)?) {
            Err(Error::NoSuchSequence { .. }) if drop.if_exists => continue,
            other => other?,
        };
        let name = sequence.definition().name;
        if !drop.cascade {
            check_unused(ground, &name)?;
        }
        for table in ground.catalog.all() {
            let mut parts = table.schema().parts().clone();
            for column in &mut parts.columns {
                if sequence_of(column).is_some_and(|used| used == name) {
                    column.default = None;
                }
            }
            parts
                .sequences
                .retain(|owned| owned.sequence != sequence.id());
            if parts != *table.schema().parts() {
                change.alter(&table, Schema::from_parts(parts)?)?;
            }
        }
        change.remove_sequence(&sequence)?;
    }
    Ok(())
}

/// An error if a column counts by the sequence.
fn check_unused(ground: Ground<'_>, sequence: &str) -> Result<()> {
    for table in ground.catalog.all() {
        let mut columns = table.schema().columns().iter();
        let counts = columns.find(|one| sequence_of(one).is_some_and(|used| used == sequence));
        if let Some(column) = counts {
            let (table, column) = (table.schema().name(), &column.name);
            let reason = format!(
                "it is the default of column `{column}` of table `{table}`; drop that first, or CASCADE"
            );
            let name = sequence.to_owned();
            return Err(Error::SequenceInUse { name, reason });
        }
    }
    Ok(())
}

fn sequence_name(name: &Name) -> Result<String> {
    let no_such = |_| Error::NoSuchSequence {
        name: name
            .parts
            .iter()
            .map(column_name)
            .collect::<Vec<_>>()
            .join("."),
        nearest: None,
    };
    table_name(name).map_err(no_such)
}

/// The column that `table.column` names.
fn owner_of(ground: Ground<'_>, name: &Name) -> Result<(Arc<Table>, usize)> {
    let unclear = || Error::Unsupported {
        what: "OWNED BY something that is not table.column".to_owned(),
    };
    let (column, of) = name.parts.split_last().ok_or_else(unclear)?;
    if of.is_empty() {
        return Err(unclear());
    }
    let of = Name {
        parts: of.to_vec(),
        span: name.span,
    };
    let table = ground.catalog.get(&table_name(&of)?)?;
    let position = table.schema().column_position(&column_name(column))?;
    Ok((table, position))
}

/// The tables that change when a sequence goes to another column, or to none.
fn owned_by(
    ground: Ground<'_>,
    sequence: &Sequence,
    owner: Option<(Arc<Table>, usize)>,
) -> Result<Vec<(Arc<Table>, Schema)>> {
    let mut changed = Vec::new();
    for table in ground.catalog.all() {
        let mut parts = table.schema().parts().clone();
        parts
            .sequences
            .retain(|owned| owned.sequence != sequence.id());
        if let Some((owner, column)) = &owner
            && owner.id() == table.id()
        {
            parts.sequences.push(Owned {
                sequence: sequence.id(),
                column: *column,
            });
        }
        if parts != *table.schema().parts() {
            changed.push((table, Schema::from_parts(parts)?));
        }
    }
    Ok(changed)
}

/// The tables whose defaults name a sequence, with its new name.
fn renamed(ground: Ground<'_>, old: &str, new: &str) -> Result<Vec<(Arc<Table>, Schema)>> {
    let mut changed = Vec::new();
    for table in ground.catalog.all() {
        let mut parts = table.schema().parts().clone();
        for column in &mut parts.columns {
            if sequence_of(column).is_some_and(|used| used == old) {
                column.default = Some(next_text(new));
            }
        }
        if parts != *table.schema().parts() {
            changed.push((table, Schema::from_parts(parts)?));
        }
    }
    Ok(changed)
}
