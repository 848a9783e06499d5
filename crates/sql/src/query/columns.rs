//! Rows into columns: what our types are in Arrow, and stored rows decoded into batches.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayBuilder, ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder,
    DurationMicrosecondBuilder, FixedSizeBinaryBuilder, Float32Builder, Float64Builder,
    Int8Builder, Int16Builder, Int32Builder, Int64Builder, RecordBatch, RecordBatchOptions,
    StringBuilder, TimestampMicrosecondBuilder, TimestampSecondBuilder, UInt8Builder,
    UInt16Builder, UInt32Builder, UInt64Builder,
};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use keys::row::Cell;
use keys::{RowView, Type, Value};

use crate::{Error, Result, Schema};

/// The key under which a field remembers our type where Arrow has none of its own.
pub(crate) const TYPE_KEY: &str = "evenkeel.type";

const UUID_BYTES: i32 = 16;

/// Arrow's type for one of ours.
pub(crate) fn data_type(kind: Type) -> DataType {
    match kind {
        Type::Bool => DataType::Boolean,
        Type::Int8 => DataType::Int8,
        Type::Int16 => DataType::Int16,
        Type::Int32 => DataType::Int32,
        Type::Int64 => DataType::Int64,
        Type::Uint8 => DataType::UInt8,
        Type::Uint16 => DataType::UInt16,
        Type::Uint32 => DataType::UInt32,
        Type::Uint64 => DataType::UInt64,
        Type::Float => DataType::Float32,
        Type::Double => DataType::Float64,
        Type::Decimal { precision, scale } => {
            let scale = i8::try_from(scale).expect("a scale is at most 38");
            DataType::Decimal128(precision, scale)
        }
        Type::Utf8 | Type::Json => DataType::Utf8,
        Type::String => DataType::Binary,
        Type::Date => DataType::Date32,
        Type::Datetime => DataType::Timestamp(TimeUnit::Second, None),
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::Interval => DataType::Duration(TimeUnit::Microsecond),
        Type::Uuid => DataType::FixedSizeBinary(UUID_BYTES),
    }
}

/// A table's columns as Arrow fields.
pub(crate) fn arrow_schema(schema: &Schema) -> SchemaRef {
    let field = |column: &crate::Column| {
        let field = Field::new(&column.name, data_type(column.kind), !column.not_null);
        let name = (TYPE_KEY.to_owned(), column.kind.to_string());
        field.with_metadata([name].into())
    };
    let fields: Vec<Field> = schema.columns().iter().map(field).collect();
    Arc::new(datafusion::arrow::datatypes::Schema::new(fields))
}

/// Where a wanted column lies in storage.
#[derive(Clone, Debug)]
enum Source {
    /// The n-th column of the key.
    Key(usize),
    /// The n-th slot of the row, and what older rows have there.
    Rest(usize, Value),
}

/// Which columns are wanted, and where they lie.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    sources: Vec<(Source, Type)>,
    /// How many key columns have to be decoded.
    key_columns: usize,
    schema: SchemaRef,
}

impl Wanted {
    /// The columns of a table at `positions`, whose Arrow fields are `schema`.
    pub(crate) fn new(table: &Schema, positions: &[usize], schema: SchemaRef) -> Self {
        let mut key_columns = 0;
        let mut sources = Vec::with_capacity(positions.len());
        for position in positions {
            let Some(column) = table.columns().get(*position) else {
                continue;
            };
            let source = match table.key_positions().iter().position(|key| key == position) {
                Some(index) => {
                    key_columns = key_columns.max(index + 1);
                    Source::Key(index)
                }
                None => {
                    let missing = table.missing(*position).clone();
                    Source::Rest(table.rest_index(*position), missing)
                }
            };
            sources.push((source, column.kind));
        }
        Self {
            sources,
            key_columns,
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
            .map(|(_, kind)| builder(*kind, rows))
            .collect();
        Batch {
            wanted: self,
            builders,
            rows: 0,
        }
    }
}

/// Rows on their way to become columns.
pub(crate) struct Batch<'w> {
    wanted: &'w Wanted,
    builders: Vec<Box<dyn ArrayBuilder>>,
    rows: usize,
}

impl Batch<'_> {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a stored row.
    pub(crate) fn push(&mut self, table: &Schema, key: &[u8], row: &[u8]) -> Result<()> {
        let damaged = |error: keys::Error| table.damaged(key, error.to_string());
        let wanted_keys = self.wanted.key_columns;
        let keys = match wanted_keys {
            0 => Vec::new(),
            _ => {
                keys::decode_key_prefix(key, wanted_keys)
                    .map_err(damaged)?
                    .0
            }
        };
        let view = RowView::new(row).map_err(damaged)?;
        for ((source, kind), builder) in self.wanted.sources.iter().zip(&mut self.builders) {
            match source {
                Source::Key(index) => {
                    let value = keys.get(*index).unwrap_or(&Value::Null);
                    append(builder.as_mut(), *kind, value)?;
                }
                Source::Rest(index, missing) => {
                    let bytes = match view.cell(*index).map_err(damaged)? {
                        Cell::Bytes(bytes) => Some(bytes),
                        Cell::Null => None,
                        Cell::Missing => {
                            append(builder.as_mut(), *kind, missing)?;
                            continue;
                        }
                    };
                    append_cell(builder.as_mut(), *kind, bytes).map_err(damaged)?;
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The columns.
    pub(crate) fn finish(mut self) -> Result<RecordBatch> {
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(|one| one.finish()).collect();
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

/// A builder for values of a type.
pub(crate) fn builder(kind: Type, rows: usize) -> Box<dyn ArrayBuilder> {
    match kind {
        Type::Bool => Box::new(BooleanBuilder::with_capacity(rows)),
        Type::Int8 => Box::new(Int8Builder::with_capacity(rows)),
        Type::Int16 => Box::new(Int16Builder::with_capacity(rows)),
        Type::Int32 => Box::new(Int32Builder::with_capacity(rows)),
        Type::Int64 => Box::new(Int64Builder::with_capacity(rows)),
        Type::Uint8 => Box::new(UInt8Builder::with_capacity(rows)),
        Type::Uint16 => Box::new(UInt16Builder::with_capacity(rows)),
        Type::Uint32 => Box::new(UInt32Builder::with_capacity(rows)),
        Type::Uint64 => Box::new(UInt64Builder::with_capacity(rows)),
        Type::Float => Box::new(Float32Builder::with_capacity(rows)),
        Type::Double => Box::new(Float64Builder::with_capacity(rows)),
        Type::Decimal { .. } => {
            Box::new(Decimal128Builder::with_capacity(rows).with_data_type(data_type(kind)))
        }
        Type::Utf8 | Type::Json => Box::new(StringBuilder::new()),
        Type::String => Box::new(BinaryBuilder::new()),
        Type::Date => Box::new(Date32Builder::with_capacity(rows)),
        Type::Datetime => Box::new(TimestampSecondBuilder::with_capacity(rows)),
        Type::Timestamp => Box::new(TimestampMicrosecondBuilder::with_capacity(rows)),
        Type::Interval => Box::new(DurationMicrosecondBuilder::with_capacity(rows)),
        Type::Uuid => Box::new(FixedSizeBinaryBuilder::with_capacity(rows, UUID_BYTES)),
    }
}

/// The builder that [`builder`] made for a type.
fn typed<B: ArrayBuilder>(builder: &mut dyn ArrayBuilder) -> &mut B {
    builder
        .as_any_mut()
        .downcast_mut()
        .expect("a column's builder was made for its type")
}

/// Adds a cell without making a value of it where that would copy it.
fn append_cell(
    builder: &mut dyn ArrayBuilder,
    kind: Type,
    bytes: Option<&[u8]>,
) -> std::result::Result<(), keys::Error> {
    match (kind, bytes) {
        (Type::String, bytes) => typed::<BinaryBuilder>(builder).append_option(bytes),
        (Type::Utf8 | Type::Json, Some(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => typed::<StringBuilder>(builder).append_value(text),
            Err(_) => return keys::row::decode_cell(bytes, kind).map(|_| ()),
        },
        (kind, bytes) => {
            let value = bytes
                .map(|bytes| keys::row::decode_cell(bytes, kind))
                .transpose()?;
            append(builder, kind, value.as_ref().unwrap_or(&Value::Null)).map_err(|_| {
                keys::Error::RowUndecodable {
                    reason: "a value of another type",
                }
            })?;
        }
    }
    Ok(())
}

/// Adds a value to the builder of its type.
pub(crate) fn append(builder: &mut dyn ArrayBuilder, kind: Type, value: &Value) -> Result<()> {
    macro_rules! push {
        ($builder:ty, $variant:ident) => {{
            let builder = typed::<$builder>(builder);
            match value {
                Value::$variant(inner) => builder.append_value(*inner),
                Value::Null => builder.append_null(),
                _ => return Err(wrong(kind, value)),
            }
        }};
    }
    match kind {
        Type::Bool => push!(BooleanBuilder, Bool),
        Type::Int8 => push!(Int8Builder, Int8),
        Type::Int16 => push!(Int16Builder, Int16),
        Type::Int32 => push!(Int32Builder, Int32),
        Type::Int64 => push!(Int64Builder, Int64),
        Type::Uint8 => push!(UInt8Builder, Uint8),
        Type::Uint16 => push!(UInt16Builder, Uint16),
        Type::Uint32 => push!(UInt32Builder, Uint32),
        Type::Uint64 => push!(UInt64Builder, Uint64),
        Type::Float => push!(Float32Builder, Float),
        Type::Double => push!(Float64Builder, Double),
        Type::Date => push!(Date32Builder, Date),
        Type::Datetime => push!(TimestampSecondBuilder, Datetime),
        Type::Timestamp => push!(TimestampMicrosecondBuilder, Timestamp),
        Type::Interval => push!(DurationMicrosecondBuilder, Interval),
        Type::Decimal { .. } => match value {
            Value::Decimal(decimal) => {
                typed::<Decimal128Builder>(builder).append_value(decimal.unscaled());
            }
            Value::Null => typed::<Decimal128Builder>(builder).append_null(),
            _ => return Err(wrong(kind, value)),
        },
        Type::Utf8 | Type::Json => match value {
            Value::Utf8(text) | Value::Json(text) => {
                typed::<StringBuilder>(builder).append_value(text);
            }
            Value::Null => typed::<StringBuilder>(builder).append_null(),
            _ => return Err(wrong(kind, value)),
        },
        Type::String => match value {
            Value::String(bytes) => typed::<BinaryBuilder>(builder).append_value(bytes),
            Value::Null => typed::<BinaryBuilder>(builder).append_null(),
            _ => return Err(wrong(kind, value)),
        },
        Type::Uuid => match value {
            Value::Uuid(bytes) => typed::<FixedSizeBinaryBuilder>(builder)
                .append_value(bytes)
                .map_err(|_| wrong(kind, value))?,
            Value::Null => typed::<FixedSizeBinaryBuilder>(builder).append_null(),
            _ => return Err(wrong(kind, value)),
        },
    }
    Ok(())
}

fn wrong(kind: Type, value: &Value) -> Error {
    let from = value
        .value_type()
        .map_or("NULL".to_owned(), |kind| kind.to_string());
    Error::CannotCast {
        value: value.to_string(),
        from,
        to: kind,
    }
}
