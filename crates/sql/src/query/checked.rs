//! Arithmetic and casts inside DataFusion by the rules of [`crate::arithmetic`] and [`crate::cast`].
//!
//! DataFusion's own arithmetic wraps and its casts cut; ours refuse. Whole columns go through Arrow's
//! checked kernels where those mean the same; everything else, and every column that a kernel refuses,
//! goes value by value, which also finds the words for the error.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Datum, Decimal128Array, Scalar, new_null_array,
};
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result as DataFusionResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::scalar::ScalarValue;
use keys::types::DECIMAL_PRECISION_MAX;
use keys::{Declared, Type, Value};

use super::columns::{append, builder, data_type, field};
use super::json::Question;
use super::provider::external;
use super::results;
use crate::arithmetic::{self, Operation};
use crate::{Result, cast};

/// Computations inside each other up to which a name is written out each time it is asked for.
const NAMED_LEVELS_MAX: usize = 16;

/// Bytes of the longest name that is kept.
const NAME_BYTES_MAX: usize = 256;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Body {
    /// Something with two values.
    Binary(Operation),
    /// The value with the other sign.
    Negate,
    /// The value in another type, and what PostgreSQL calls that.
    Cast(Declared),
    /// Something about a document and a part of it.
    Json(Question),
}

/// A computation that refuses what does not fit.
#[derive(Debug)]
pub(crate) struct Checked {
    body: Body,
    output: Type,
    signature: Signature,
    /// How many computations stand inside each other, this one included.
    levels: usize,
    /// Its name, if there are many of them. DataFusion asks each part of an expression for its name, and
    /// asks again from every level above: of a sum of hundreds that would be millions of names.
    name: Option<String>,
}

impl PartialEq for Checked {
    fn eq(&self, other: &Self) -> bool {
        self.body == other.body && self.output == other.output && self.signature == other.signature
    }
}

impl Eq for Checked {}

impl Hash for Checked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.body.hash(state);
        self.output.hash(state);
    }
}

impl Checked {
    /// The call of it, with a result of type `output`.
    pub(crate) fn call(body: Body, arguments: Vec<Expr>, output: Type) -> Expr {
        let inside = arguments.iter().filter_map(Self::of);
        let levels = 1 + inside.map(|one| one.levels).max().unwrap_or_default();
        let mut function = Self {
            body,
            output,
            signature: Signature::any(arguments.len(), Volatility::Immutable),
            levels,
            name: None,
        };
        if levels > NAMED_LEVELS_MAX {
            let names = arguments.iter().map(|one| one.schema_name().to_string());
            let name = function.words(&names.collect::<Vec<_>>());
            function.name = Some(short(name));
        }
        let function = Arc::new(ScalarUDF::new_from_impl(function));
        Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments))
    }

    /// The type of the result, if an expression is such a call.
    pub(crate) fn output_of(expr: &Expr) -> Option<Type> {
        Self::of(expr).map(|checked| checked.output)
    }

    fn of(expr: &Expr) -> Option<&Self> {
        let Expr::ScalarFunction(call) = expr else {
            return None;
        };
        call.func.inner().downcast_ref()
    }

    /// What a call computes, if it is one of these.
    pub(crate) fn body_of(call: &ScalarFunction) -> Option<Body> {
        let checked = call.func.inner().downcast_ref::<Self>();
        checked.map(|checked| checked.body)
    }

    /// What the target is called, if an expression is a cast.
    pub(crate) fn cast_of(expr: &Expr) -> Option<Declared> {
        let Expr::ScalarFunction(call) = expr else {
            return None;
        };
        match call.func.inner().downcast_ref::<Self>()?.body {
            Body::Cast(declared) => Some(declared),
            _ => None,
        }
    }

    fn one(&self, values: &[Value]) -> Result<Value> {
        match (self.body, values) {
            (Body::Binary(op), [left, right]) => {
                let value = arithmetic::apply(op, left, right)?;
                // A literal may have been given a wider type than its value has by itself.
                cast(value, self.output)
            }
            (Body::Negate, [value]) => arithmetic::negate(value),
            (Body::Cast(declared), [value]) => {
                let value = match (declared, value) {
                    // A zone in a text says nothing about a time without one.
                    (Declared::Timestamp(_), Value::Utf8(text)) => Value::from(declared.cut(text)),
                    (_, value) => value.clone(),
                };
                Ok(declared.taken(cast(value, self.output)?))
            }
            (Body::Json(question), [document, part]) => question.answer(document, part),
            _ => Ok(Value::Null),
        }
    }

    fn words(&self, arguments: &[String]) -> String {
        match (self.body, arguments) {
            (Body::Binary(op), [left, right]) => format!("{left} {op} {right}"),
            (Body::Json(question), [left, right]) => format!("{left} {question} {right}"),
            (Body::Negate, [value]) => format!("(- {value})"),
            (Body::Cast(declared), [value]) if declared.limits() => {
                format!("CAST({value} AS {declared})")
            }
            (_, [value]) => format!("CAST({value} AS {})", self.output),
            _ => String::new(),
        }
    }

    /// Whole columns at once, where Arrow does the same.
    fn columns(&self, arguments: &[ColumnarValue]) -> Option<ArrayRef> {
        match (self.body, arguments) {
            (Body::Binary(op), [left, right]) => {
                let to = data_type(self.output);
                match self.output {
                    kind if kind.is_integer() => {
                        let (left, right) = (same(left, &to)?, same(right, &to)?);
                        kernel(op, left.as_ref(), right.as_ref()).ok()
                    }
                    Type::Float | Type::Double => {
                        let (left, right) = (same(left, &to)?, same(right, &to)?);
                        let result = kernel(op, left.as_ref(), right.as_ref()).ok()?;
                        finite(&result).then_some(result)
                    }
                    Type::Decimal { precision, scale } => {
                        exact_decimals(op, left, right, (precision, scale))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn rows(&self, call: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
        let failed = |error: datafusion::error::DataFusionError| crate::Error::Internal {
            what: error.to_string(),
        };
        let mut arrays = Vec::with_capacity(call.args.len());
        for (argument, field) in call.args.iter().zip(&call.arg_fields) {
            let array = argument.clone().into_array(rows).map_err(failed)?;
            let kind = results::kind_of(field);
            arrays.push((results::plain(&array, kind)?, kind));
        }
        let mut column = builder(self.output, rows);
        for row in 0..rows {
            let mut values = Vec::with_capacity(arrays.len());
            for (array, kind) in &arrays {
                values.push(results::value_or_null(array, row, *kind)?);
            }
            append(column.as_mut(), self.output, &self.one(&values)?)?;
        }
        Ok(column.finish())
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.body {
            Body::Binary(Operation::Add) => "checked_add",
            Body::Binary(Operation::Subtract) => "checked_subtract",
            Body::Binary(Operation::Multiply) => "checked_multiply",
            Body::Binary(Operation::Divide) => "checked_divide",
            Body::Binary(Operation::Modulo) => "checked_modulo",
            Body::Negate => "checked_negate",
            Body::Cast(_) => "checked_cast",
            Body::Json(_) => "json_part",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        Ok(data_type(self.output))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let nullable = matches!(self.body, Body::Json(_))
            || arguments.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(field(self.name(), self.output, nullable)))
    }

    fn display_name(&self, arguments: &[Expr]) -> DataFusionResult<String> {
        let names: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        Ok(self.words(&names))
    }

    fn schema_name(&self, arguments: &[Expr]) -> DataFusionResult<String> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let names = arguments.iter().map(|one| one.schema_name().to_string());
        Ok(self.words(&names.collect::<Vec<_>>()))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let scalar = call
            .args
            .iter()
            .all(|one| matches!(one, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { call.number_rows };
        let quick = match scalar {
            true => None,
            false => self.columns(&call.args),
        };
        let array = match quick {
            Some(array) => array,
            None => self.rows(&call, rows).map_err(external)?,
        };
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
            false => ColumnarValue::Array(array),
        })
    }
}

/// A name that ends in a number in the place of what is too long.
fn short(name: String) -> String {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let places = name.char_indices().map(|(at, _)| at);
    let half = places.take_while(|at| *at <= NAME_BYTES_MAX / 2).last();
    let (kept, _) = name.split_at(half.unwrap_or_default());
    format!("{kept}…{:016x}", hasher.finish())
}

/// One side of a computation as Arrow takes it, in a type that holds all its values.
fn same(value: &ColumnarValue, to: &DataType) -> Option<Box<dyn Datum>> {
    let convert = |array: &ArrayRef| -> Option<ArrayRef> {
        if array.data_type() == to {
            return Some(ArrayRef::clone(array));
        }
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        cast_with_options(array, to, &options).ok()
    };
    Some(match value {
        ColumnarValue::Array(array) => Box::new(convert(array)?),
        ColumnarValue::Scalar(scalar) if scalar.is_null() => {
            Box::new(Scalar::new(new_null_array(to, 1)))
        }
        ColumnarValue::Scalar(scalar) => Box::new(Scalar::new(convert(&scalar.to_array().ok()?)?)),
    })
}

fn kernel(
    op: Operation,
    left: &dyn Datum,
    right: &dyn Datum,
) -> std::result::Result<ArrayRef, ArrowError> {
    match op {
        Operation::Add => numeric::add(left, right),
        Operation::Subtract => numeric::sub(left, right),
        Operation::Multiply => numeric::mul(left, right),
        Operation::Divide => numeric::div(left, right),
        Operation::Modulo => numeric::rem(left, right),
    }
}

/// Whether no result is infinite or no number: those are looked at one by one.
fn finite(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            values.iter().all(|one| one.is_finite())
        }
        _ => {
            let values = array.as_primitive::<Float64Type>().values();
            values.iter().all(|one| one.is_finite())
        }
    }
}

/// Sums and products of decimals, which Arrow computes exactly.
fn exact_decimals(
    op: Operation,
    left: &ColumnarValue,
    right: &ColumnarValue,
    (precision, scale): (u8, u8),
) -> Option<ArrayRef> {
    if !matches!(
        op,
        Operation::Add | Operation::Subtract | Operation::Multiply
    ) {
        return None;
    }
    let side = |value: &ColumnarValue| match value.data_type() {
        DataType::Decimal128(precision, scale) => {
            same(value, &DataType::Decimal128(precision, scale))
        }
        DataType::UInt64 => same(value, &DataType::Decimal128(20, 0)),
        _ => same(value, &DataType::Decimal128(19, 0)),
    };
    let (left, right) = (side(left)?, side(right)?);
    let result = kernel(op, left.as_ref(), right.as_ref()).ok()?;
    let result: &Decimal128Array = result.as_any().downcast_ref()?;
    let scale = i8::try_from(scale).ok()?;
    if result.scale() != scale {
        return None;
    }
    result
        .validate_decimal_precision(DECIMAL_PRECISION_MAX)
        .ok()?;
    let typed = result.clone().with_precision_and_scale(precision, scale);
    Some(Arc::new(typed.ok()?))
}
