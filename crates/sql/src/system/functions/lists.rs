//! Functions over lists, and those that answer with one.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;

use super::any_arguments;
use crate::query::TYPE_KEY;
use crate::system::definition::{PG_CATALOG, PUBLIC};

pub(super) const NAMES: &[&str] = &["current_schemas", "subscripts", "places", "array_upper"];

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    [
        Which::CurrentSchemas,
        Which::Subscripts,
        Which::Places,
        Which::Upper,
    ]
    .into_iter()
    .map(|which| {
        Arc::new(ScalarUDF::new_from_impl(Lists {
            which,
            signature: any_arguments(),
        }))
    })
    .collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Lists {
    which: Which,
    signature: Signature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Which {
    /// The schemas that are searched; the implicit one too if the argument is true.
    CurrentSchemas,
    /// The subscripts of a list, from 1; those of a vector count from 0.
    Subscripts,
    /// The places of a list or vector, from 1.
    Places,
    /// The last subscript.
    Upper,
}

impl ScalarUDFImpl for Lists {
    fn name(&self) -> &str {
        match self.which {
            Which::CurrentSchemas => "current_schemas",
            Which::Subscripts => "subscripts",
            Which::Places => "places",
            Which::Upper => "array_upper",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        let list = |inner| DataType::List(Arc::new(Field::new_list_field(inner, true)));
        Ok(match self.which {
            Which::CurrentSchemas => list(DataType::Utf8),
            Which::Subscripts | Which::Places => list(DataType::Int32),
            Which::Upper => DataType::Int64,
        })
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = call.number_rows;
        let vector = call
            .arg_fields
            .first()
            .is_some_and(|field| field.metadata().contains_key(TYPE_KEY));
        let first = match call.args.into_iter().next() {
            Some(argument) => argument,
            None => ColumnarValue::Scalar(ScalarValue::Null),
        };
        if self.which == Which::CurrentSchemas {
            let implicit = matches!(
                &first,
                ColumnarValue::Scalar(ScalarValue::Boolean(Some(true)))
            );
            let list = schemas(implicit);
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &list, 0,
            )?));
        }
        let constant = matches!(&first, ColumnarValue::Scalar(_));
        let lists = first.into_array(if constant { 1 } else { rows })?;
        let from = if vector && self.which != Which::Places {
            0
        } else {
            1
        };
        let answers = match self.which {
            Which::Upper => uppers(&lists, from),
            _ => subscripts(&lists, from),
        };
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?),
            false => ColumnarValue::Array(answers),
        })
    }
}

fn schemas(implicit: bool) -> ArrayRef {
    let mut list = ListBuilder::new(StringBuilder::new());
    if implicit {
        list.values().append_value(PG_CATALOG.0);
    }
    list.values().append_value(PUBLIC.0);
    list.append(true);
    Arc::new(list.finish())
}

/// How many elements the list at a place has; none if there is no list.
fn length(lists: &ArrayRef, row: usize) -> Option<i32> {
    let list = lists.as_list_opt::<i32>()?;
    (!list.is_null(row)).then(|| list.value_length(row))
}

fn subscripts(lists: &ArrayRef, from: i32) -> ArrayRef {
    let mut out = ListBuilder::new(Int32Builder::new());
    for row in 0..lists.len() {
        let length = length(lists, row);
        for index in 0..length.unwrap_or(0) {
            out.values().append_value(from + index);
        }
        out.append(length.is_some());
    }
    Arc::new(out.finish())
}

fn uppers(lists: &ArrayRef, from: i32) -> ArrayRef {
    let mut out = Int64Builder::new();
    for row in 0..lists.len() {
        let length = length(lists, row).filter(|length| *length > 0);
        out.append_option(length.map(|length| i64::from(from + length - 1)));
    }
    Arc::new(out.finish())
}
