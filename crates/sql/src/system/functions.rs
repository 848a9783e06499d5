//! The functions that clients call on system tables, as DataFusion's.
//!
//! They are run row by row over values; what is there is looked at once for a batch of rows. A
//! function that PostgreSQL answers with NULL for a database like ours is in a list of its own.

mod bodies;
mod lists;
mod names;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use keys::{Type, Value};
use txn::Store;

use super::objects::Objects;
use crate::query::{data_type, field, row_by_row};
use crate::{Catalog, Statements};

/// Every function of ours over system tables.
pub(crate) fn all(
    catalog: &Arc<Catalog>,
    store: &Arc<Store>,
    statements: &Arc<Statements>,
) -> Vec<Arc<ScalarUDF>> {
    let world = Arc::new(World {
        catalog: Arc::clone(catalog),
        store: Arc::clone(store),
        statements: Arc::clone(statements),
        started_us: i64::try_from(store.now_us()).unwrap_or(i64::MAX),
    });
    let entries = bodies::ENTRIES.iter().copied();
    let nulls = bodies::NULLS
        .iter()
        .map(|name| (*name, Type::Utf8, bodies::null as Body));
    let truths = bodies::TRUTHS
        .iter()
        .map(|name| (*name, Type::Bool, bodies::truth as Body));
    let plain = entries.chain(nulls).chain(truths);
    let mut all: Vec<_> = plain
        .map(|(name, output, body)| {
            Arc::new(ScalarUDF::new_from_impl(Function {
                name,
                output,
                body,
                world: Arc::clone(&world),
                signature: match name {
                    // What it does must wait until it is run.
                    bodies::RESET => Signature::nullary(Volatility::Volatile),
                    _ => any_arguments(),
                },
            }))
        })
        .collect();
    all.extend(lists::all());
    all.push(names::function(&world));
    all
}

/// Whether a function is one of those above.
pub(super) fn is_known(name: &str) -> bool {
    bodies::ENTRIES.iter().any(|(known, ..)| *known == name)
        || bodies::NULLS.contains(&name)
        || bodies::TRUTHS.contains(&name)
        || lists::NAMES.contains(&name)
        || name == names::NAME
}

/// None, or any.
pub(super) fn any_arguments() -> Signature {
    let either = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
    Signature::one_of(either, Volatility::Stable)
}

/// What a function can look at.
struct World {
    catalog: Arc<Catalog>,
    store: Arc<Store>,
    statements: Arc<Statements>,
    started_us: i64,
}

/// What a function does with one row of arguments.
type Body = fn(&Call<'_>) -> Value;

/// One call, or one row of it.
struct Call<'c> {
    world: &'c World,
    objects: &'c OnceLock<Objects>,
    values: &'c [Value],
}

impl Call<'_> {
    fn objects(&self) -> &Objects {
        self.objects
            .get_or_init(|| Objects::new(&self.world.catalog, &self.world.store))
    }

    fn number(&self, index: usize) -> Option<i64> {
        match self.values.get(index)? {
            Value::Int16(value) => Some(i64::from(*value)),
            Value::Int32(value) => Some(i64::from(*value)),
            Value::Int64(value) => Some(*value),
            Value::Uint32(value) => Some(i64::from(*value)),
            Value::Uint64(value) => i64::try_from(*value).ok(),
            Value::Utf8(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn text(&self, index: usize) -> Option<&str> {
        match self.values.get(index)? {
            Value::Utf8(text) => Some(text),
            _ => None,
        }
    }
}

/// A function over values.
struct Function {
    name: &'static str,
    output: Type,
    body: Body,
    world: Arc<World>,
    signature: Signature,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .finish_non_exhaustive()
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

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        Ok(data_type(self.output))
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(field(self.name, self.output, true)))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let objects = OnceLock::new();
        let answer = |values: &[Value]| {
            Ok((self.body)(&Call {
                world: &self.world,
                objects: &objects,
                values,
            }))
        };
        row_by_row(call, |_| self.output, answer)
    }
}
