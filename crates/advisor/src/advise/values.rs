//! [`Values`]: every value of a trace once, as the bytes that it has in a key.
//!
//! A row in memory is a few small numbers, one for each column; a key is the bytes of these numbers
//! one after the other. So judging one more key costs copying bytes, and no value is ever parsed,
//! compared or allocated again.
//!
//! ```text
//!   column ts       0 NULL   1 72 80 05…   2 72 80 05…        bytes, back to back, with their ends
//!   column userid   0 NULL   1 48 00 …07   2 48 00 …09
//!   row             ts 2, userid 1   ──►   cells [2, 1]
//! ```

use std::collections::HashMap;

use keys::{Value, key};

use super::number::{at, small};

/// Number 0 of each column: NULL, and what is not known.
pub(crate) const UNKNOWN: u32 = 0;

/// The bytes that are kept of one value at most; longer ones are cut, which keeps their order.
const VALUE_BYTES_MAX: usize = 1024;

/// The values of the columns that a key may have.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// For each column of the table its place among those that are kept.
    places: Vec<Option<u16>>,
    columns: Vec<Column>,
}

#[derive(Debug, Default)]
struct Column {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// The values of integer columns, as hashes take them.
    numbers: Vec<u64>,
    known: HashMap<Box<[u8]>, u32>,
}

impl Values {
    /// Room for these columns, of as many as the table has.
    pub(crate) fn new(table_columns: usize, kept: &[u16]) -> Self {
        let mut values = Self {
            places: vec![None; table_columns],
            columns: Vec::new(),
        };
        for (place, column) in (0..).zip(kept) {
            if let Some(entry) = values.places.get_mut(usize::from(*column)) {
                *entry = Some(place);
                let mut column = Column::default();
                column.add(&Value::Null, &[]);
                values.columns.push(column);
            }
        }
        values
    }

    /// How many cells a row has.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The place of a column's cell in a row.
    pub(crate) fn place(&self, column: u16) -> Option<usize> {
        let place = self.places.get(usize::from(column)).copied().flatten();
        place.map(usize::from)
    }

    /// The number of a value, which is kept if it is new.
    pub(crate) fn intern(&mut self, column: u16, value: &Value, scratch: &mut Vec<u8>) -> u32 {
        let place = self.place(column);
        let Some(column) = place.and_then(|place| self.columns.get_mut(place)) else {
            return UNKNOWN;
        };
        scratch.clear();
        if value.is_null() || key::append_key_value(scratch, value).is_err() {
            return UNKNOWN;
        }
        scratch.truncate(VALUE_BYTES_MAX);
        match column.known.get(scratch.as_slice()) {
            Some(id) => *id,
            None => column.add(value, scratch),
        }
    }

    /// The bytes of a value in a key.
    pub(crate) fn bytes(&self, column: u16, id: u32) -> &[u8] {
        let column = self.place(column).and_then(|place| self.columns.get(place));
        column.map_or(&[], |column| column.get(id))
    }

    /// A value as a hash of numbers takes it.
    pub(crate) fn number(&self, column: u16, id: u32) -> u64 {
        let column = self.place(column).and_then(|place| self.columns.get(place));
        let number = column.and_then(|column| column.numbers.get(at(id)));
        number.copied().unwrap_or_default()
    }

    /// The cell of a column in a row.
    pub(crate) fn cell(&self, row: &[u32], column: u16) -> u32 {
        let place = self.place(column);
        let cell = place.and_then(|place| row.get(place));
        cell.copied().unwrap_or(UNKNOWN)
    }

    /// How many values of a column there are, NULL counted.
    pub(crate) fn distinct(&self, column: u16) -> usize {
        let column = self.place(column).and_then(|place| self.columns.get(place));
        column.map_or(0, |column| column.ends.len())
    }

    /// No more values will come: forgets what only finds them again.
    pub(crate) fn seal(&mut self) {
        for column in &mut self.columns {
            column.known = HashMap::new();
        }
    }
}

impl Column {
    fn add(&mut self, value: &Value, encoded: &[u8]) -> u32 {
        let id = small(self.ends.len());
        if value.is_null() {
            key::append_key_value(&mut self.bytes, value).expect("a key may hold NULL");
        } else {
            self.bytes.extend_from_slice(encoded);
            self.known.insert(encoded.into(), id);
        }
        self.ends.push(small(self.bytes.len()));
        self.numbers.push(number_of(value));
        id
    }

    fn get(&self, id: u32) -> &[u8] {
        let id = at(id);
        let start = match id.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        let end = self.ends.get(id).copied().unwrap_or_default();
        self.bytes.get(at(start)..at(end)).unwrap_or_default()
    }
}

/// An integer in 64 bits, negative ones as their two's complement.
fn number_of(value: &Value) -> u64 {
    match value {
        Value::Int8(v) => i64::from(*v).cast_unsigned(),
        Value::Int16(v) => i64::from(*v).cast_unsigned(),
        Value::Int32(v) => i64::from(*v).cast_unsigned(),
        Value::Int64(v) => v.cast_unsigned(),
        Value::Uint8(v) => u64::from(*v),
        Value::Uint16(v) => u64::from(*v),
        Value::Uint32(v) => u64::from(*v),
        Value::Uint64(v) => *v,
        _ => 0,
    }
}
