//! Rows of a system table on their way to DataFusion.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, new_empty_array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result as DataFusionResult;
use datafusion::datasource::MemTable;
use datafusion::scalar::ScalarValue;

use super::definition::Definition;

/// A value of a system table; its column says which width it has.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Number(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    /// Microseconds since 1970.
    Time(i64),
    Numbers(Vec<i64>),
}

macro_rules! cell_from {
    ($($from:ty => $variant:ident),* $(,)?) => {
        $(impl From<$from> for Cell {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

cell_from! {
    bool => Bool,
    i64 => Number,
    i32 => Number,
    u64 => Unsigned,
    String => Text,
    &str => Text,
    Vec<i64> => Numbers,
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Rows being gathered.
#[derive(Debug)]
pub(crate) struct Rows {
    definition: &'static Definition,
    /// One list for each column.
    columns: Vec<Vec<ScalarValue>>,
}

impl Rows {
    pub(crate) fn new(definition: &'static Definition) -> Self {
        let columns = definition.columns.iter().map(|_| Vec::new()).collect();
        Self {
            definition,
            columns,
        }
    }

    /// Adds a row. A column that is not named is NULL where it may be, or zero, false, empty.
    pub(crate) fn push<const N: usize>(&mut self, given: [(&str, Cell); N]) {
        let fields = self.definition.fields().fields().iter();
        let columns = self.definition.columns.iter().zip(&mut self.columns);
        for (field, (column, values)) in fields.zip(columns) {
            let cell = given.iter().find(|(name, _)| *name == column.name);
            values.push(match cell {
                Some((_, cell)) => scalar(cell, field.data_type()),
                None if column.nullable => scalar(&Cell::Null, field.data_type()),
                None => zero(field.data_type()),
            });
        }
        for (name, _) in &given {
            let known = self
                .definition
                .columns
                .iter()
                .any(|column| column.name == *name);
            debug_assert!(known, "{} has no {name}", self.definition.name);
        }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn push_whole(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let fields = self.definition.fields().fields().iter();
        let mut cells = cells.into_iter();
        for (field, values) in fields.zip(&mut self.columns) {
            let cell = cells.next().unwrap_or(Cell::Null);
            values.push(scalar(&cell, field.data_type()));
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.iter().all(Vec::is_empty)
    }

    /// The table.
    pub(crate) fn finish(self) -> DataFusionResult<MemTable> {
        let schema = Arc::clone(self.definition.fields());
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (field, values) in schema.fields().iter().zip(self.columns) {
            arrays.push(match values.is_empty() {
                true => new_empty_array(field.data_type()),
                false => ScalarValue::iter_to_array(values)?,
            });
        }
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
        MemTable::try_new(schema, vec![vec![batch]])
    }
}

fn zero(kind: &DataType) -> ScalarValue {
    let cell = match kind {
        DataType::Boolean => Cell::Bool(false),
        DataType::Utf8 => Cell::Text(String::new()),
        DataType::List(_) => Cell::Numbers(Vec::new()),
        DataType::Timestamp(..) => Cell::Time(0),
        _ => Cell::Number(0),
    };
    scalar(&cell, kind)
}

/// A cell as a value of its column; what does not fit there is NULL.
fn scalar(cell: &Cell, kind: &DataType) -> ScalarValue {
    let plain = match cell {
        Cell::Null => ScalarValue::Null,
        Cell::Bool(value) => ScalarValue::Boolean(Some(*value)),
        Cell::Number(value) => ScalarValue::Int64(Some(*value)),
        Cell::Unsigned(value) => ScalarValue::UInt64(Some(*value)),
        Cell::Float(value) => ScalarValue::Float64(Some(*value)),
        Cell::Text(value) => ScalarValue::Utf8(Some(value.clone())),
        Cell::Time(value) => ScalarValue::TimestampMicrosecond(Some(*value), None),
        Cell::Numbers(values) => {
            let values: Vec<_> = values
                .iter()
                .map(|value| ScalarValue::Int64(Some(*value)))
                .collect();
            let list = ScalarValue::new_list_nullable(&values, &DataType::Int64);
            ScalarValue::List(list)
        }
    };
    let none = || ScalarValue::try_from(kind).unwrap_or(ScalarValue::Null);
    plain.cast_to(kind).unwrap_or_else(|_| none())
}
