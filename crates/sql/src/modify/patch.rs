//! UPSERT of some columns, and numbers that are raised, written without a look at the row that is there.
//!
//! ```text
//!   UPSERT INTO t (k, b) VALUES (7, 2)
//!
//!   a patch   ┌──────────────┬─────────┬──────────────┬─────────────┬───────────┐
//!             │ 4 B, length  │ new row │ 4 B, length  │ missing row │ slots     │
//!             └──────────────┴─────────┴──────────────┴─────────────┴───────────┘
//!                              │                        │             ╰ 1 B each: those that are said
//!                              │                        ╰ what rows have in slots they are older than
//!                              ╰ all columns, those that are not said by their default
//!
//!   no row there          the new row
//!   a row there           its slots, but those that are said from the new row
//!
//!   ensure_row            the same, and nothing is said
//!   raise_row             ┌──────────────┬───────────┬─────────────┐
//!                         │ 4 B, zeros   │ 1 B, slot │ 8 B, number │
//!                         └──────────────┴───────────┴─────────────┘
//!   no row there          none
//!   a row there           the number, or one more than it has in the slot if that is more
//! ```
//!
//! The commit makes the row ([`txn::Patching`]). A patch knows places in stored rows and no schema:
//! between the statement and its commit the schema stays, or the commit fails.

use keys::{Cell, RowView, Type, Value, encode_cells, encode_row};
use txn::{Bytes, Patching, TableId, Transaction};

use super::replace_row;
use crate::{Result, Schema, Table};

/// What patches of our tables make of rows.
#[derive(Debug)]
pub struct RowPatching;

impl Patching for RowPatching {
    fn apply(
        &self,
        _table: TableId,
        row: Option<&[u8]>,
        patch: &[u8],
    ) -> std::result::Result<Option<Bytes>, String> {
        let cut_off = || "a patch that is cut off".to_owned();
        let (new, rest) = part(patch).ok_or_else(cut_off)?;
        let patched = match (row, new) {
            (None, []) => return Ok(None),
            (None, new) => return Ok(Some(new.to_vec().into())),
            // No row is that short.
            (Some(row), []) => {
                let (slot, number) = rest.split_first().ok_or_else(cut_off)?;
                let number = <[u8; 8]>::try_from(number).map_err(|_| cut_off())?;
                raise(row, usize::from(*slot), i64::from_le_bytes(number))
            }
            (Some(row), new) => {
                let (missing, said) = part(rest).ok_or_else(cut_off)?;
                merge(row, new, missing, said)
            }
        };
        let patched = patched.map_err(|error| error.to_string())?;
        Ok(Some(patched.into()))
    }
}

/// Writes a row unless there is one with its key. Reads nothing and never conflicts, unless the table has
/// indexes.
pub fn ensure_row(transaction: &mut Transaction, table: &Table, row: &[Value]) -> Result<()> {
    let schema = table.schema();
    let row = schema.complete(row)?;
    let (key, bytes) = schema.encode(&row)?;
    transaction.expect_epoch(table.id(), table.epoch());
    if schema.writes_unseen() {
        let blind = Blind {
            tail: missing(schema)?,
        };
        let patch = blind.patch(&bytes);
        return Ok(transaction.patch(table.id(), key, patch)?);
    }
    match transaction.get(table.id(), &key)? {
        Some(_) => Ok(()),
        None => replace_row(transaction, table, None, &row),
    }
}

/// Raises a number of the row with this key, if there is one, to `number` or by one, whichever is more.
/// Reads nothing and never conflicts, so those who raise the same number do not wait for each other,
/// unless the table has indexes. What the transaction wrote there itself stays as it is.
pub fn raise_row(
    transaction: &mut Transaction,
    table: &Table,
    key: &[Value],
    (column, number): (&str, i64),
) -> Result<()> {
    let schema = table.schema();
    let position = schema.column_position(column)?;
    let key = schema.encode_key(key)?;
    if transaction.wrote(table.id(), &key) {
        return Ok(());
    }
    transaction.expect_epoch(table.id(), table.epoch());
    let slots = schema.parts().slots.iter();
    let slot = slots
        .map(|slot| slot.column)
        .position(|one| one == Some(position));
    let slot = slot.and_then(|slot| u8::try_from(slot).ok());
    if let Some(slot) = slot.filter(|_| schema.writes_unseen()) {
        let mut patch = vec![0; 4];
        patch.push(slot);
        patch.extend_from_slice(&number.to_le_bytes());
        return Ok(transaction.patch(table.id(), key, patch.into())?);
    }
    let Some(found) = transaction.get(table.id(), &key)? else {
        return Ok(());
    };
    let old = schema.decode(&key, &found)?;
    let mut new = old.clone();
    if let Some(Value::Int64(before)) = new.get_mut(position) {
        *before = number.max(before.saturating_add(1));
    }
    replace_row(transaction, table, Some(&old), &new)
}

fn raise(row: &[u8], slot: usize, number: i64) -> keys::Result<Vec<u8>> {
    let row = RowView::new(row)?;
    let before = match row.column(slot, Type::Int64)? {
        Some(Value::Int64(before)) => before.saturating_add(1),
        _ => number,
    };
    let raised = encode_row(&[Value::Int64(number.max(before))])?;
    let raised = RowView::new(&raised)?.cell(0)?;
    let cells = (0..row.columns()).map(|one| match one == slot {
        true => Ok(raised),
        false => row.cell(one),
    });
    encode_cells(&cells.collect::<keys::Result<Vec<_>>>()?)
}

fn merge(row: &[u8], new: &[u8], missing: &[u8], said: &[u8]) -> keys::Result<Vec<u8>> {
    let (row, new) = (RowView::new(row)?, RowView::new(new)?);
    let missing = RowView::new(missing)?;
    let mut cells = Vec::with_capacity(new.columns());
    for slot in 0..new.columns().max(row.columns()) {
        let is_said = said.iter().any(|one| usize::from(*one) == slot);
        let cell = match is_said {
            true => new.cell(slot)?,
            false => row.cell(slot)?,
        };
        cells.push(match cell {
            Cell::Missing => missing.cell(slot)?,
            there => there,
        });
    }
    encode_cells(&cells)
}

/// Bytes that their length stands before, and what follows them.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// The parts of a statement's patches that are the same for all its rows.
#[derive(Debug)]
pub(super) struct Blind {
    tail: Vec<u8>,
}

impl Blind {
    /// For a statement that gives the columns `positions`, from which those in `said` follow; `None` if
    /// a row cannot be written unseen.
    pub(super) fn new(table: &Table, said: &[usize], positions: &[usize]) -> Result<Option<Self>> {
        let schema = table.schema();
        let key = schema.key_positions();
        // What is generated from columns some of which are said depends on the row that is there.
        let mixed = schema.generated().iter().any(|one| {
            let mut inputs = one.inputs.iter().filter(|input| !key.contains(input));
            !said.contains(&one.position) && inputs.any(|input| positions.contains(input))
                || positions.contains(&one.position) && !one.follows(positions)
        });
        let (all, said) = (said.len() == schema.columns().len(), |position: &usize| {
            said.contains(position) || key.contains(position)
        });
        let mut unsaid = schema.columns().iter().enumerate();
        let filled = unsaid.all(|(position, column)| {
            said(&position) || !column.not_null || column.default.is_some()
        });
        let checked = !schema.conditions().is_empty();
        let kept = table.collection().is_some() || !schema.writes_unseen();
        if !filled || mixed || all || checked || kept {
            return Ok(None);
        }
        let slots = &schema.parts().slots;
        let mut tail = missing(schema)?;
        for (number, slot) in slots.iter().enumerate() {
            if slot.column.as_ref().is_some_and(said) {
                let Ok(number) = u8::try_from(number) else {
                    return Ok(None);
                };
                tail.push(number);
            }
        }
        Ok(Some(Self { tail }))
    }

    /// The patch that a row is written by.
    pub(super) fn patch(&self, new: &[u8]) -> Bytes {
        let mut patch = Vec::with_capacity(4 + new.len() + self.tail.len());
        append(&mut patch, new);
        patch.extend_from_slice(&self.tail);
        patch.into()
    }
}

/// What rows have in slots they are older than.
fn missing(schema: &Schema) -> Result<Vec<u8>> {
    let slots = schema.parts().slots.iter();
    let missing: Vec<Value> = slots.map(|slot| slot.missing.clone()).collect();
    let mut part = Vec::new();
    append(&mut part, &encode_row(&missing)?);
    Ok(part)
}

fn append(out: &mut Vec<u8>, row: &[u8]) {
    let length = u32::try_from(row.len()).expect("200 columns of 16 MiB are below 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(row);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(count: usize) -> impl Strategy<Value = Vec<Value>> {
        let value = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::Int64)];
        proptest::collection::vec(value, count)
    }

    fn decoded(row: &[u8], count: usize) -> Vec<Value> {
        let mut values = Vec::new();
        let kinds = (0..count).map(|_| Type::Int64);
        RowView::new(row)
            .unwrap()
            .decode_into(kinds, &mut values)
            .unwrap();
        values
    }

    proptest! {
        #[test]
        fn what_is_said_is_new_and_the_rest_stays(
            old in (0_usize..6).prop_flat_map(values),
            new in values(6),
            missing in values(6),
            said in proptest::collection::btree_set(0_u8..6, 0..6),
        ) {
            let mut tail = Vec::new();
            append(&mut tail, &encode_row(&missing).unwrap());
            tail.extend(&said);
            let patch = Blind { tail }.patch(&encode_row(&new).unwrap());
            let apply = |row: Option<&[u8]>| {
                let applied = RowPatching.apply(TableId(1), row, &patch);
                applied.unwrap().unwrap()
            };
            prop_assert_eq!(decoded(&apply(None), 6), new.clone());
            let found = decoded(&apply(Some(&encode_row(&old).unwrap())), 6);
            for (slot, value) in found.iter().enumerate() {
                let expected = match said.contains(&u8::try_from(slot).unwrap()) {
                    true => &new[slot],
                    false => old.get(slot).unwrap_or(&missing[slot]),
                };
                prop_assert_eq!(value, expected);
            }
        }

        #[test]
        fn what_is_raised_grows_and_the_rest_stays(
            old in values(6),
            slot in 0_u8..6,
            number: i64,
        ) {
            let patch = [&[0; 4], [slot].as_slice(), &number.to_le_bytes()].concat();
            let apply = |row: Option<&[u8]>| RowPatching.apply(TableId(1), row, &patch).unwrap();
            prop_assert_eq!(apply(None), None);
            let found = decoded(&apply(Some(&encode_row(&old).unwrap())).unwrap(), 6);
            for (place, (found, old)) in found.iter().zip(&old).enumerate() {
                match (place == usize::from(slot), old) {
                    (true, Value::Int64(i64::MAX)) => {}
                    (true, _) => prop_assert!(found > old && *found >= Value::Int64(number)),
                    (false, _) => prop_assert_eq!(found, old),
                }
            }
        }

        #[test]
        fn no_bytes_panic(row: Vec<u8>, patch: Vec<u8>) {
            let _ = RowPatching.apply(TableId(1), Some(&row), &patch);
        }
    }
}
