//! Columns back into rows of values, for whoever asked.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DurationMicrosecondArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, DurationMicrosecondType, Field, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, TimeUnit, TimestampMicrosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use keys::{Decimal, Type, Value};

use super::columns::{TYPE_KEY, data_type};
use super::{ResultColumn, lists};
use crate::{Error, Result};

/// Our type for a result column. What we have no type for comes as text.
pub(crate) fn kind_of(field: &Field) -> Type {
    if let Some(kind) = field
        .metadata()
        .get(TYPE_KEY)
        .and_then(|name| Type::parse(name).ok())
        && data_type(kind) == *field.data_type()
    {
        return kind;
    }
    match field.data_type() {
        DataType::Boolean => Type::Bool,
        DataType::Int8 => Type::Int8,
        DataType::Int16 => Type::Int16,
        DataType::Int32 => Type::Int32,
        DataType::Int64 => Type::Int64,
        DataType::UInt8 => Type::Uint8,
        DataType::UInt16 => Type::Uint16,
        DataType::UInt32 => Type::Uint32,
        DataType::UInt64 => Type::Uint64,
        DataType::Float32 => Type::Float,
        DataType::Float64 => Type::Double,
        DataType::Decimal128(precision, scale) => match u8::try_from(*scale) {
            Ok(scale) => Type::Decimal {
                precision: *precision,
                scale,
            },
            Err(_) => Type::Utf8,
        },
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::String,
        DataType::FixedSizeBinary(16) => Type::Uuid,
        DataType::Date32 => Type::Date,
        DataType::Timestamp(TimeUnit::Second, _) => Type::Datetime,
        DataType::Timestamp(_, _) => Type::Timestamp,
        DataType::Duration(_) | DataType::Interval(_) => Type::Interval,
        _ => Type::Utf8,
    }
}

/// What a list is a list of, if the field is one that is shown as a list.
pub(crate) fn element(field: &Field) -> Option<&Field> {
    match field.data_type() {
        DataType::List(inner) | DataType::LargeList(inner) if !is_vector(field) => Some(inner),
        _ => None,
    }
}

/// Whether a list is shown as PostgreSQL shows its old vectors: numbers with spaces between.
fn is_vector(field: &Field) -> bool {
    field.metadata().contains_key(TYPE_KEY)
}

/// The rows of a batch, whose columns are of these types.
pub(crate) fn rows(batch: &RecordBatch, columns: &[ResultColumn]) -> Result<Vec<Vec<Value>>> {
    let mut rows: Vec<Vec<Value>> = (0..batch.num_rows())
        .map(|_| Vec::with_capacity(batch.num_columns()))
        .collect();
    let schema = batch.schema();
    let fields = schema.fields().iter();
    for ((column, field), array) in columns.iter().zip(fields).zip(batch.columns()) {
        let (array, kind) = match field.data_type() {
            DataType::List(_) | DataType::LargeList(_) => {
                (lists::texts(array, is_vector(field))?, Type::Utf8)
            }
            _ => (plain(array, column.kind)?, column.kind),
        };
        for (index, row) in rows.iter_mut().enumerate() {
            row.push(value_or_null(&array, index, kind)?);
        }
    }
    Ok(rows)
}

/// The array in the form of its type that [`value_at`] reads.
pub(crate) fn plain(array: &ArrayRef, kind: Type) -> Result<ArrayRef> {
    let to = data_type(kind);
    let textual = matches!(
        array.data_type(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..)
    );
    // What we have no type for is shown as text, value by value.
    if *array.data_type() == to || (kind == Type::Utf8 && !textual) {
        return Ok(ArrayRef::clone(array));
    }
    if let (Type::Interval, DataType::Interval(_)) = (kind, array.data_type()) {
        return spans(array);
    }
    cast(array, &to).map_err(|error| Error::Internal {
        what: format!("a result column: {error}"),
    })
}

/// Spans of months, days and nanoseconds as microseconds, a month being 30 days as in PostgreSQL.
fn spans(array: &ArrayRef) -> Result<ArrayRef> {
    let wide = |error| Error::Internal {
        what: format!("an interval: {error}"),
    };
    let array = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano)).map_err(wide)?;
    let array = array.as_primitive::<IntervalMonthDayNanoType>();
    let span = |one: IntervalMonthDayNano| {
        let days = i64::from(one.months) * 30 + i64::from(one.days);
        days * 86_400_000_000 + one.nanoseconds / 1000
    };
    let spans: DurationMicrosecondArray = array.iter().map(|one| one.map(span)).collect();
    Ok(Arc::new(spans))
}

/// One value of an array, or NULL.
pub(crate) fn value_or_null(array: &ArrayRef, index: usize, kind: Type) -> Result<Value> {
    // An array of nothing but NULL has no bits to say so.
    if array.is_null(index) || *array.data_type() == DataType::Null {
        Ok(Value::Null)
    } else {
        value_at(array, index, kind)
    }
}

/// One value of an array that is not NULL there.
pub(crate) fn value_at(array: &ArrayRef, index: usize, kind: Type) -> Result<Value> {
    Ok(match (kind, array.data_type()) {
        (Type::Bool, _) => Value::Bool(array.as_boolean().value(index)),
        (Type::Int8, _) => Value::Int8(array.as_primitive::<Int8Type>().value(index)),
        (Type::Int16, _) => Value::Int16(array.as_primitive::<Int16Type>().value(index)),
        (Type::Int32, _) => Value::Int32(array.as_primitive::<Int32Type>().value(index)),
        (Type::Int64, _) => Value::Int64(array.as_primitive::<Int64Type>().value(index)),
        (Type::Uint8, _) => Value::Uint8(array.as_primitive::<UInt8Type>().value(index)),
        (Type::Uint16, _) => Value::Uint16(array.as_primitive::<UInt16Type>().value(index)),
        (Type::Uint32, _) => Value::Uint32(array.as_primitive::<UInt32Type>().value(index)),
        (Type::Uint64, _) => Value::Uint64(array.as_primitive::<UInt64Type>().value(index)),
        (Type::Float, _) => Value::Float(array.as_primitive::<Float32Type>().value(index)),
        (Type::Double, _) => Value::Double(array.as_primitive::<Float64Type>().value(index)),
        (Type::Decimal { scale, .. }, _) => {
            let unscaled = array.as_primitive::<Decimal128Type>().value(index);
            let wide = || Error::Internal {
                what: format!("a decimal of {unscaled} at {scale}"),
            };
            Value::Decimal(Decimal::new(unscaled, scale).ok_or_else(wide)?)
        }
        (Type::Utf8, DataType::Utf8) => Value::Utf8(array.as_string::<i32>().value(index).into()),
        (Type::Json, _) => Value::Json(array.as_string::<i32>().value(index).into()),
        (Type::String, _) => Value::String(array.as_binary::<i32>().value(index).into()),
        (Type::Date, _) => Value::Date(array.as_primitive::<Date32Type>().value(index)),
        (Type::Datetime, _) => {
            Value::Datetime(array.as_primitive::<TimestampSecondType>().value(index))
        }
        (Type::Timestamp, _) => Value::Timestamp(
            array
                .as_primitive::<TimestampMicrosecondType>()
                .value(index),
        ),
        (Type::Interval, _) => {
            Value::Interval(array.as_primitive::<DurationMicrosecondType>().value(index))
        }
        (Type::Uuid, _) => {
            let bytes = array.as_fixed_size_binary().value(index);
            let odd = || Error::Internal {
                what: "a UUID that is not 16 bytes".to_owned(),
            };
            Value::Uuid(bytes.try_into().map_err(|_| odd())?)
        }
        (Type::Utf8, DataType::List(element)) => {
            let list = array.as_list::<i32>().value(index);
            Value::Utf8(list_text(&list, kind_of(element))?.into())
        }
        (Type::Utf8, _) => {
            let shown = ArrayFormatter::try_new(array, &FormatOptions::default());
            let shown = shown.map_err(|error| Error::Internal {
                what: error.to_string(),
            })?;
            Value::Utf8(shown.value(index).to_string().into())
        }
    })
}

/// A list as PostgreSQL writes one: `{1,2}`.
fn list_text(list: &ArrayRef, kind: Type) -> Result<String> {
    let list = plain(list, kind)?;
    let mut text = String::from("{");
    for index in 0..list.len() {
        if index > 0 {
            text.push(',');
        }
        let value = value_or_null(&list, index, kind)?;
        let shown = value.to_string();
        let quoted = !value.is_null()
            && (shown.is_empty()
                || shown.eq_ignore_ascii_case("null")
                || shown.contains(['{', '}', ',', '"', '\\', ' ']));
        match quoted {
            true => {
                let escaped = shown.replace('\\', "\\\\").replace('"', "\\\"");
                text.push_str(&format!("\"{escaped}\""));
            }
            false => text.push_str(&shown),
        }
    }
    text.push('}');
    Ok(text)
}
