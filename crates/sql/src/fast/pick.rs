//! The columns that a read answers with, handed on from stored bytes without a detour.
//!
//! Whoever sends rows to a client takes them value by value: text goes from the block it was read
//! into to the client's buffer, and nothing is made for the columns that nobody asked for.

use keys::row::Cell;
use keys::{RowView, Type, Value};

use crate::{Result, Schema};

/// One value of a row, which may still lie in storage.
#[derive(Debug)]
pub enum Picked<'s> {
    /// Text, or a document as its text.
    Text(PickedText<'s>),
    /// Any other value, or NULL.
    Value(Value),
}

/// Text as it lies in storage. Whoever sends it wants its bytes, and to look whether all of them are
/// ASCII is several times faster than to make a `str` of them.
#[derive(Clone, Copy, Debug)]
pub struct PickedText<'s>(&'s [u8]);

impl<'s> PickedText<'s> {
    /// These bytes, if they are UTF-8.
    #[inline]
    fn new(bytes: &'s [u8]) -> Option<Self> {
        let right = bytes.is_ascii() || std::str::from_utf8(bytes).is_ok();
        right.then_some(Self(bytes))
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(self) -> &'s [u8] {
        self.0
    }

    /// The text.
    pub fn as_str(self) -> &'s str {
        std::str::from_utf8(self.0).expect("it was looked at when it was picked")
    }
}

impl Picked<'_> {
    /// The value by itself, if its column has this type.
    pub(crate) fn into_value(self, kind: Type) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Text(text) if kind == Type::Json => Value::Json(text.as_str().into()),
            Self::Text(text) => Value::Utf8(text.as_str().into()),
        }
    }
}

/// Takes rows, value by value.
pub trait RowSink {
    /// A row begins, of so many values.
    fn begin(&mut self, values: usize);
    /// The next value of the row.
    fn value(&mut self, value: Picked<'_>);
    /// The row is whole.
    fn end(&mut self);
}

/// Which columns are wanted, and where they lie.
#[derive(Debug)]
pub(crate) struct Pick {
    columns: Vec<Place>,
    /// Whether anything lies outside of the key.
    needs_row: bool,
}

#[derive(Debug)]
struct Place {
    kind: Type,
    at: At,
}

#[derive(Debug)]
enum At {
    /// A column of the key.
    Key(usize),
    /// A slot of the row, and what rows have there that are older than it.
    Slot(usize, Value),
}

impl Pick {
    /// The columns at these positions.
    pub(crate) fn new(schema: &Schema, positions: &[usize]) -> Self {
        let place = |position: &usize| {
            let kind = schema.columns().get(*position)?.kind;
            let mut key = schema.key_positions().iter();
            let at = match key.position(|one| one == position) {
                Some(index) => At::Key(index),
                None => {
                    let missing = schema.missing(*position).clone();
                    At::Slot(schema.rest_index(*position), missing)
                }
            };
            Some(Place { kind, at })
        };
        let columns: Vec<Place> = positions.iter().filter_map(place).collect();
        let needs_row = columns.iter().any(|one| matches!(one.at, At::Slot(..)));
        Self { columns, needs_row }
    }

    /// Hands on the wanted columns of a stored row.
    pub(crate) fn send(
        &self,
        schema: &Schema,
        (key, row): (&[u8], &[u8]),
        sink: &mut impl RowSink,
    ) -> Result<()> {
        let view = self.needs_row.then(|| RowView::new(row)).transpose();
        let sent = view.and_then(|view| self.send_columns(key, view.as_ref(), sink));
        sent.map_err(|error| schema.damaged(key, error.to_string()))
    }

    fn send_columns(
        &self,
        key: &[u8],
        row: Option<&RowView<'_>>,
        sink: &mut impl RowSink,
    ) -> keys::Result<()> {
        sink.begin(self.columns.len());
        // Mostly columns of the key are asked for in its order, and one walk finds them all.
        let (mut walk, mut passed) = (keys::key::columns(key), 0);
        for Place { kind, at } in &self.columns {
            sink.value(match at {
                At::Key(index) => {
                    if *index < passed {
                        (walk, passed) = (keys::key::columns(key), 0);
                    }
                    let column = walk.nth(*index - passed).ok_or(TOO_SHORT)??;
                    passed = *index + 1;
                    Picked::Value(column.decode()?)
                }
                At::Slot(index, missing) => {
                    match (row.map_or(Ok(Cell::Missing), |row| row.cell(*index))?, kind) {
                        (Cell::Null, _) => Picked::Value(Value::Null),
                        (Cell::Missing, _) => Picked::Value(missing.clone()),
                        (Cell::Bytes(bytes), Type::Utf8 | Type::Json) => {
                            Picked::Text(PickedText::new(bytes).ok_or(NOT_TEXT)?)
                        }
                        (Cell::Bytes(bytes), kind) => {
                            Picked::Value(keys::row::decode_cell(bytes, *kind)?)
                        }
                    }
                }
            });
        }
        sink.end();
        Ok(())
    }
}

const TOO_SHORT: keys::Error = keys::Error::RowUndecodable {
    reason: "its key has too few columns",
};

const NOT_TEXT: keys::Error = keys::Error::RowUndecodable {
    reason: "its text is not UTF-8",
};
