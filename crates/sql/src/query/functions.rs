//! Our own functions inside DataFusion: YQL's digests, `Hash` over any columns, and the clock.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use keys::digest::{DigestFunction, FUNCTIONS, Output};
use keys::{Type, Value, hash_values};

use super::columns::{append, builder, data_type};
use super::provider::external;
use super::results;
use super::yql_functions::Plain;
use crate::Result;

/// The time of the statement.
pub(crate) const NOW: &str = "now";

/// The day of the statement.
pub(crate) const TODAY: &str = "current_date";

/// Every function we add.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    let digests = FUNCTIONS.iter().map(|one| Function::new(Body::Digest(one)));
    let plain = Plain::all().map(|one| Function::new(Body::Plain(one)));
    let all = digests.chain([Function::new(Body::Hash)]).chain(plain);
    all.map(ScalarUDF::new_from_impl)
        .chain(Clock::both().map(ScalarUDF::new_from_impl))
        .map(Arc::new)
        .collect()
}

/// `now()` and its like. Calls of it become parameters before anything is run.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Clock {
    name: &'static str,
    aliases: Vec<String>,
    kind: Type,
    signature: Signature,
}

impl Clock {
    fn both() -> [Self; 2] {
        let clock = |name, aliases: &[&str], kind| Self {
            name,
            aliases: aliases.iter().map(|one| (*one).to_owned()).collect(),
            kind,
            signature: Signature::nullary(Volatility::Stable),
        };
        let others = crate::scalar::NOW.into_iter().filter(|name| *name != NOW);
        let others: Vec<&str> = others.collect();
        [
            clock(NOW, &others, Type::Timestamp),
            clock(TODAY, &["currentutcdate"], Type::Date),
        ]
    }
}

impl ScalarUDFImpl for Clock {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        Ok(data_type(self.kind))
    }

    fn invoke_with_args(&self, _call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let error = crate::Error::Internal {
            what: format!("{} was called without a statement", self.name),
        };
        Err(external(error))
    }
}

/// A function over values, run row by row.
#[derive(Debug)]
struct Function {
    name: String,
    body: Body,
    signature: Signature,
}

#[derive(Debug)]
enum Body {
    Digest(&'static DigestFunction),
    Hash,
    Plain(&'static Plain),
}

impl Body {
    /// The type of the answer to arguments of these types.
    fn output(&self, arguments: &[Type]) -> Type {
        match self {
            Self::Hash => Type::Uint64,
            Self::Plain(function) => {
                let first = || arguments.first().copied().unwrap_or(Type::Utf8);
                function.output.unwrap_or_else(first)
            }
            Self::Digest(function) => match function.output() {
                Output::Uint32 => Type::Uint32,
                Output::Uint64 => Type::Uint64,
                Output::Bytes | Output::Pair => Type::String,
            },
        }
    }

    fn call(&self, values: &[Value]) -> Result<Value> {
        match self {
            Self::Hash => Ok(Value::Uint64(hash_values(values))),
            Self::Plain(function) => function.call(values),
            Self::Digest(function) => Ok(function.call(values)?),
        }
    }
}

impl Function {
    fn new(body: Body) -> Self {
        let name = match &body {
            Body::Hash => "hash".to_owned(),
            Body::Plain(function) => function.name.to_owned(),
            // Names without quotes are in lower case by the time they are looked up.
            Body::Digest(function) => format!("digest::{}", function.name.to_lowercase()),
        };
        Self {
            name,
            body,
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Calls a function for each row of its arguments, or once if they are the same for all.
pub(crate) fn row_by_row(
    call: ScalarFunctionArgs,
    output: impl Fn(&[Type]) -> Type,
    body: impl Fn(&[Value]) -> Result<Value>,
) -> DataFusionResult<ColumnarValue> {
    let scalar = call
        .args
        .iter()
        .all(|one| matches!(one, ColumnarValue::Scalar(_)));
    let rows = if scalar { 1 } else { call.number_rows };
    let kinds: Vec<Type> = call
        .arg_fields
        .iter()
        .map(|field| results::kind_of(field))
        .collect();
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(call.args.len());
    for (argument, kind) in call.args.into_iter().zip(&kinds) {
        arrays.push(results::plain(&argument.into_array(rows)?, *kind).map_err(external)?);
    }
    let output = output(&kinds);
    let mut column = builder(output, rows);
    for row in 0..rows {
        let mut values = Vec::with_capacity(arrays.len());
        for (array, kind) in arrays.iter().zip(&kinds) {
            values.push(results::value_or_null(array, row, *kind).map_err(external)?);
        }
        let value = body(&values).map_err(external)?;
        append(column.as_mut(), output, &value).map_err(external)?;
    }
    let array = column.finish();
    Ok(match scalar {
        true => ColumnarValue::Scalar(datafusion::scalar::ScalarValue::try_from_array(&array, 0)?),
        false => ColumnarValue::Array(array),
    })
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> DataFusionResult<DataType> {
        let kind = |kind: &DataType| results::kind_of(&Field::new("", kind.clone(), true));
        let arguments: Vec<Type> = arguments.iter().map(kind).collect();
        Ok(data_type(self.body.output(&arguments)))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let output = |kinds: &[Type]| self.body.output(kinds);
        row_by_row(call, output, |values| self.body.call(values))
    }
}
