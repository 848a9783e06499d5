//! The parts of a schema together, to be taken apart and changed.

use keys::Value;

use super::{Check, Column, ForeignKey, Index, Owned, Slot};
use crate::options::TableOptions;

/// What a schema is made of, to be taken apart and put together again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// Positions of the key columns, in the order of the key.
    pub(crate) key: Vec<usize>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) options: TableOptions,
    pub(crate) sequences: Vec<Owned>,
    pub(crate) checks: Vec<Check>,
    pub(crate) foreign_keys: Vec<ForeignKey>,
}

impl Parts {
    /// A new table, with a slot for each column outside of the key.
    pub(crate) fn new(name: String, columns: Vec<Column>, key: Vec<usize>) -> Self {
        let slot = |(position, column): (usize, &Column)| Slot {
            column: Some(position),
            kind: column.kind,
            missing: Value::Null,
        };
        let rest = columns.iter().enumerate();
        let slots = rest
            .filter(|(position, _)| !key.contains(position))
            .map(slot)
            .collect();
        Self {
            name,
            columns,
            key,
            slots,
            indexes: Vec::new(),
            options: TableOptions::default(),
            sequences: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        }
    }

    /// Adds a column, which has `missing` in the rows that are there.
    pub(crate) fn add_column(&mut self, column: Column, missing: Value) {
        self.slots.push(Slot {
            column: Some(self.columns.len()),
            kind: column.kind,
            missing,
        });
        self.columns.push(column);
    }

    /// Takes away a column that nothing else names. Its slot stays, and the columns behind it move up.
    pub(crate) fn drop_column(&mut self, position: usize) {
        if position >= self.columns.len() {
            return;
        }
        self.columns.remove(position);
        let up = |at: &mut usize| *at -= usize::from(*at > position);
        for slot in &mut self.slots {
            match &mut slot.column {
                Some(column) if *column == position => {
                    slot.column = None;
                    slot.missing = Value::Null;
                }
                Some(column) => up(column),
                None => {}
            }
        }
        self.key.iter_mut().for_each(up);
        for index in &mut self.indexes {
            index
                .columns
                .iter_mut()
                .chain(&mut index.cover)
                .for_each(up);
        }
        for foreign in &mut self.foreign_keys {
            foreign.columns.iter_mut().for_each(up);
        }
        if let Some(ttl) = &mut self.options.ttl {
            up(&mut ttl.column);
        }
        self.sequences.retain(|owned| owned.column != position);
        for owned in &mut self.sequences {
            up(&mut owned.column);
        }
    }
}
