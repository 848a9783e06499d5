//! What our types are in Arrow, and values as Arrow's.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder,
    DurationMicrosecondBuilder, FixedSizeBinaryBuilder, Float32Builder, Float64Builder,
    Int8Builder, Int16Builder, Int32Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder, TimestampSecondBuilder, UInt8Builder, UInt16Builder,
    UInt32Builder, UInt64Builder,
};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use datafusion::scalar::ScalarValue;
use keys::{Declared, Type, Value};

use crate::{Error, Result, Schema};

/// The key under which a field remembers our type where Arrow has none of its own.
pub(crate) const TYPE_KEY: &str = "evenkeel.type";

/// The key under which the target of a cast remembers what PostgreSQL calls it.
pub(crate) const DECLARED_KEY: &str = "evenkeel.declared";

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

/// A field of one of our types.
pub(crate) fn field(name: &str, kind: Type, nullable: bool) -> Field {
    let field = Field::new(name, data_type(kind), nullable);
    match kind {
        // Arrow has text only, so the field remembers.
        Type::Json => field.with_metadata([(TYPE_KEY.to_owned(), kind.to_string())].into()),
        _ => field,
    }
}

/// The target of a cast.
pub(crate) fn cast_field(kind: Type, declared: Declared) -> Field {
    let target = field("", kind, true);
    if declared == Declared::Usual {
        return target;
    }
    let mut metadata = target.metadata().clone();
    metadata.insert(DECLARED_KEY.to_owned(), declared.to_string());
    target.with_metadata(metadata)
}

/// A table's columns as Arrow fields.
pub(crate) fn arrow_schema(schema: &Schema) -> SchemaRef {
    let field = |column: &crate::Column| field(&column.name, column.kind, !column.not_null);
    let fields: Vec<Field> = schema.columns().iter().map(field).collect();
    Arc::new(datafusion::arrow::datatypes::Schema::new(fields))
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

/// A value as DataFusion's.
pub(crate) fn scalar(value: &Value) -> Result<ScalarValue> {
    let Some(kind) = value.value_type() else {
        return Ok(ScalarValue::Null);
    };
    let mut builder = builder(kind, 1);
    append(builder.as_mut(), kind, value)?;
    ScalarValue::try_from_array(&builder.finish(), 0).map_err(|error| Error::Internal {
        what: format!("a value that is no scalar: {error}"),
    })
}
