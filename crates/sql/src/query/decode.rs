//! Stored rows into batches of columns: only the wanted columns, straight from bytes to builders.
//!
//! A scan spends most of its time here and in the engine, so nothing is boxed or copied on the way: a
//! payload goes from the row's bytes into the column's buffer.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder,
    DurationMicrosecondBuilder, FixedSizeBinaryBuilder, Float32Builder, Float64Builder,
    Int8Builder, Int16Builder, Int32Builder, Int64Builder, RecordBatch, RecordBatchOptions,
    StringArray, TimestampMicrosecondBuilder, TimestampSecondBuilder, UInt8Builder, UInt16Builder,
    UInt32Builder, UInt64Builder,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use keys::row::Cell;
use keys::{RowView, Type, Value};

use super::columns::data_type;
use crate::{Error, Result, Schema};

const UUID_BYTES: i32 = 16;

/// Where a wanted column lies in storage.
#[derive(Clone, Debug)]
enum Source {
    /// The key.
    Key,
    /// The n-th slot of the row, and what rows have there that are older than it.
    Rest(usize, Value),
}

/// Which columns are wanted, and where they lie.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    sources: Vec<(Source, Type)>,
    /// Which outputs each column of the key goes to, up to the last one that is wanted.
    key_outputs: Vec<Vec<usize>>,
    /// Whether anything lies outside of the key.
    needs_row: bool,
    schema: SchemaRef,
}

impl Wanted {
    /// The columns of a table at `positions`, whose Arrow fields are `schema`.
    pub(crate) fn new(table: &Schema, positions: &[usize], schema: SchemaRef) -> Self {
        let mut key_outputs: Vec<Vec<usize>> = Vec::new();
        let mut sources = Vec::with_capacity(positions.len());
        for position in positions {
            let Some(column) = table.columns().get(*position) else {
                continue;
            };
            let source = match table.key_positions().iter().position(|key| key == position) {
                Some(index) => {
                    if key_outputs.len() <= index {
                        key_outputs.resize(index + 1, Vec::new());
                    }
                    if let Some(outputs) = key_outputs.get_mut(index) {
                        outputs.push(sources.len());
                    }
                    Source::Key
                }
                None => {
                    let missing = table.missing(*position).clone();
                    Source::Rest(table.rest_index(*position), missing)
                }
            };
            sources.push((source, column.kind));
        }
        let needs_row = sources
            .iter()
            .any(|(source, _)| matches!(source, Source::Rest(..)));
        Self {
            sources,
            key_outputs,
            needs_row,
            schema,
        }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// An empty batch to push rows into.
    pub(crate) fn batch(&self, rows: usize) -> Batch<'_> {
        let builders = self
            .sources
            .iter()
            .map(|(_, kind)| Builder::new(*kind, rows))
            .collect();
        Batch {
            wanted: self,
            builders,
            rows: 0,
            first: Vec::new(),
        }
    }
}

/// Rows on their way to become columns.
pub(crate) struct Batch<'w> {
    wanted: &'w Wanted,
    builders: Vec<Builder>,
    rows: usize,
    /// The key of the first row.
    first: Vec<u8>,
}

impl Batch<'_> {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a stored row.
    #[inline]
    pub(crate) fn push(&mut self, table: &Schema, (key, row): (&[u8], &[u8])) -> Result<()> {
        self.decode(key, row)
            .map_err(|error| table.damaged(key, error.to_string()))?;
        if self.rows == 0 {
            self.first = key.to_vec();
        }
        self.rows += 1;
        Ok(())
    }

    #[inline]
    fn decode(&mut self, key: &[u8], row: &[u8]) -> keys::Result<()> {
        let mut columns = keys::key::columns(key);
        for outputs in &self.wanted.key_outputs {
            let column = columns.next().ok_or(TOO_SHORT)??;
            for output in outputs {
                if let Some(builder) = self.builders.get_mut(*output) {
                    builder.append_value(&column.decode()?)?;
                }
            }
        }
        if !self.wanted.needs_row {
            return Ok(());
        }
        let view = RowView::new(row)?;
        for ((source, kind), builder) in self.wanted.sources.iter().zip(&mut self.builders) {
            if let Source::Rest(index, missing) = source {
                match view.cell(*index)? {
                    Cell::Bytes(bytes) => builder.append_cell(bytes, *kind)?,
                    Cell::Null => builder.append_null(),
                    Cell::Missing => builder.append_value(missing)?,
                }
            }
        }
        Ok(())
    }

    /// The columns.
    pub(crate) fn finish(self, table: &Schema) -> Result<RecordBatch> {
        let arrays = self.builders.into_iter().map(Builder::finish);
        let arrays: std::result::Result<Vec<ArrayRef>, _> = arrays.collect();
        let arrays = arrays.map_err(|error| {
            let near = "it, or one of those that follow it";
            table.damaged(&self.first, format!("{near}, holds wrong bytes: {error}"))
        })?;
        // A batch without columns still says how many rows there are: `count(*)` asks for that.
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let schema = Arc::clone(&self.wanted.schema);
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|error| {
            Error::Internal {
                what: format!("columns do not fit their schema: {error}"),
            }
        })
    }
}

const TOO_SHORT: keys::Error = keys::Error::RowUndecodable {
    reason: "its key has too few columns",
};

const OTHER_TYPE: keys::Error = keys::Error::RowUndecodable {
    reason: "a value of another type",
};

/// The types whose payload is a fixed number of little-endian bytes.
macro_rules! fixed_types {
    ($each:ident) => {
        $each! {
            Int8, Int8Builder, i8; Int16, Int16Builder, i16; Int32, Int32Builder, i32;
            Int64, Int64Builder, i64; Uint8, UInt8Builder, u8; Uint16, UInt16Builder, u16;
            Uint32, UInt32Builder, u32; Uint64, UInt64Builder, u64; Float, Float32Builder, f32;
            Double, Float64Builder, f64; Date, Date32Builder, i32;
            Datetime, TimestampSecondBuilder, i64; Timestamp, TimestampMicrosecondBuilder, i64;
            Interval, DurationMicrosecondBuilder, i64
        }
    };
}

macro_rules! builders {
    ($($name:ident, $builder:ident, $native:ident);*) => {
        /// A column that grows, of one of our types.
        enum Builder {
            $($name($builder),)*
            Bool(BooleanBuilder),
            Decimal(Decimal128Builder),
            /// Looked at when the column is whole, which is much faster than value by value.
            Text(BinaryBuilder),
            Bytes(BinaryBuilder),
            Uuid(FixedSizeBinaryBuilder),
        }

        impl Builder {
            fn new(kind: Type, rows: usize) -> Self {
                match kind {
                    $(Type::$name => Self::$name($builder::with_capacity(rows)),)*
                    Type::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
                    Type::Decimal { .. } => {
                        let builder = Decimal128Builder::with_capacity(rows);
                        Self::Decimal(builder.with_data_type(data_type(kind)))
                    }
                    Type::Utf8 | Type::Json => Self::Text(BinaryBuilder::new()),
                    Type::String => Self::Bytes(BinaryBuilder::new()),
                    Type::Uuid => Self::Uuid(FixedSizeBinaryBuilder::with_capacity(rows, UUID_BYTES)),
                }
            }

            fn finish(self) -> std::result::Result<ArrayRef, ArrowError> {
                Ok(match self {
                    $(Self::$name(mut builder) => Arc::new(builder.finish()),)*
                    Self::Bool(mut builder) => Arc::new(builder.finish()),
                    Self::Decimal(mut builder) => Arc::new(builder.finish()),
                    Self::Text(mut builder) => {
                        Arc::new(StringArray::try_from_binary(builder.finish())?)
                    }
                    Self::Bytes(mut builder) => Arc::new(builder.finish()),
                    Self::Uuid(mut builder) => Arc::new(builder.finish()),
                })
            }

            fn append_null(&mut self) {
                match self {
                    $(Self::$name(builder) => builder.append_null(),)*
                    Self::Bool(builder) => builder.append_null(),
                    Self::Decimal(builder) => builder.append_null(),
                    Self::Text(builder) => builder.append_null(),
                    Self::Bytes(builder) => builder.append_null(),
                    Self::Uuid(builder) => builder.append_null(),
                }
            }

            /// Adds the payload of a column of a row.
            #[inline]
            fn append_cell(&mut self, bytes: &[u8], kind: Type) -> keys::Result<()> {
                match self {
                    $(Self::$name(builder) => match bytes.try_into() {
                        Ok(bytes) => builder.append_value($native::from_le_bytes(bytes)),
                        Err(_) => return keys::row::decode_cell(bytes, kind).map(|_| ()),
                    },)*
                    Self::Text(builder) | Self::Bytes(builder) => builder.append_value(bytes),
                    other => {
                        let value = keys::row::decode_cell(bytes, kind)?;
                        other.append_value(&value)?;
                    }
                }
                Ok(())
            }

            /// Adds a value of the column's type, or NULL.
            #[inline]
            fn append_value(&mut self, value: &Value) -> keys::Result<()> {
                match (self, value) {
                    (builder, Value::Null) => builder.append_null(),
                    $((Self::$name(builder), Value::$name(value)) => builder.append_value(*value),)*
                    (Self::Bool(builder), Value::Bool(value)) => builder.append_value(*value),
                    (Self::Decimal(builder), Value::Decimal(value)) => {
                        builder.append_value(value.unscaled());
                    }
                    (Self::Text(builder), Value::Utf8(text) | Value::Json(text)) => {
                        builder.append_value(text.as_bytes());
                    }
                    (Self::Bytes(builder), Value::String(bytes)) => builder.append_value(bytes),
                    (Self::Uuid(builder), Value::Uuid(bytes)) => {
                        builder.append_value(bytes).map_err(|_| OTHER_TYPE)?;
                    }
                    _ => return Err(OTHER_TYPE),
                }
                Ok(())
            }
        }
    };
}

fixed_types!(builders);
