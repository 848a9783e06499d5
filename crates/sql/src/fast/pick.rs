//! The columns that a read answers with, taken from stored bytes without the others.

use keys::row::Cell;
use keys::{RowView, Type, Value};

use crate::{Result, Schema};

/// Which columns are wanted, and where they lie.
#[derive(Debug)]
pub(crate) struct Pick {
    /// Where the columns of the key go, up to the last one that is wanted.
    key: Vec<Vec<usize>>,
    slots: Vec<Slot>,
    width: usize,
}

/// A wanted column outside of the key.
#[derive(Debug)]
struct Slot {
    /// Where it goes.
    to: usize,
    index: usize,
    kind: Type,
    /// What rows have that are older than it.
    missing: Value,
}

impl Pick {
    /// The columns at these positions.
    pub(crate) fn new(schema: &Schema, positions: &[usize]) -> Self {
        let (mut key, mut slots) = (Vec::new(), Vec::new());
        for (to, position) in positions.iter().enumerate() {
            let in_key = schema
                .key_positions()
                .iter()
                .position(|one| one == position);
            match (in_key, schema.columns().get(*position)) {
                (Some(index), _) => {
                    if key.len() <= index {
                        key.resize(index + 1, Vec::new());
                    }
                    if let Some(places) = key.get_mut(index) {
                        places.push(to);
                    }
                }
                (None, Some(column)) => slots.push(Slot {
                    to,
                    index: schema.rest_index(*position),
                    kind: column.kind,
                    missing: schema.missing(*position).clone(),
                }),
                (None, None) => {}
            }
        }
        Self {
            key,
            slots,
            width: positions.len(),
        }
    }

    /// The wanted columns of a stored row.
    pub(crate) fn row(&self, schema: &Schema, key: &[u8], row: &[u8]) -> Result<Vec<Value>> {
        let picked = self.pick(key, row);
        picked.map_err(|error| schema.damaged(key, error.to_string()))
    }

    fn pick(&self, key: &[u8], row: &[u8]) -> keys::Result<Vec<Value>> {
        let mut values = vec![Value::Null; self.width];
        let mut place = |to: usize, value: Value| {
            if let Some(place) = values.get_mut(to) {
                *place = value;
            }
        };
        for (places, column) in self.key.iter().zip(keys::key::columns(key)) {
            let column = column?;
            for to in places {
                place(*to, column.decode()?);
            }
        }
        if !self.slots.is_empty() {
            let view = RowView::new(row)?;
            for slot in &self.slots {
                match view.cell(slot.index)? {
                    Cell::Null => {}
                    Cell::Missing => place(slot.to, slot.missing.clone()),
                    Cell::Bytes(bytes) => place(slot.to, keys::row::decode_cell(bytes, slot.kind)?),
                }
            }
        }
        Ok(values)
    }
}
