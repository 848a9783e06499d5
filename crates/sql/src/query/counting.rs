//! `nextval` and its like beside the rows of a query, and `gen_random_uuid`.
//!
//! A plan is made for whoever asks, and what a session took from a sequence belongs to the session. So
//! a call in a plan finds the session that runs it in a place of its own, as parameters find their
//! values; it is called once for each row.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result as DataFusionResult;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use keys::{Type, Value};
use parking_lot::RwLock;

use super::columns::{append, builder, data_type};
use super::functions::row_by_row;
use super::provider::external;
use crate::counted::Counter;
use crate::{Error, Result};

/// Where a plan finds the sequences of the session that runs it; empty while nobody does.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters(Arc<RwLock<Option<Counter>>>);

impl Counters {
    pub(super) fn set(&self, counter: Option<Counter>) {
        *self.0.write() = counter;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    Next,
    Current,
    Last,
    Set,
    Uuid,
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Self::Next => "nextval",
            Self::Current => "currval",
            Self::Last => "lastval",
            Self::Set => "setval",
            Self::Uuid => "gen_random_uuid",
        }
    }

    /// The type of its answer.
    fn kind(self) -> Type {
        match self {
            Self::Uuid => Type::Uuid,
            _ => Type::Int64,
        }
    }
}

/// The functions, not bound to any run.
pub(super) fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let all = [Call::Next, Call::Current, Call::Last, Call::Set, Call::Uuid];
    all.into_iter()
        .map(|call| Counting::function(call, Counters::default()))
}

/// The plan with calls that look for their session here.
pub(super) fn bound(plan: LogicalPlan, counters: &Counters) -> DataFusionResult<LogicalPlan> {
    let bind = |expr: Expr| match expr {
        Expr::ScalarFunction(mut call) => {
            let found = call.func.inner().downcast_ref::<Counting>();
            Ok(match found.map(|found| found.call) {
                Some(found) => {
                    call.func = Counting::function(found, counters.clone());
                    Transformed::yes(Expr::ScalarFunction(call))
                }
                None => Transformed::no(Expr::ScalarFunction(call)),
            })
        }
        other => Ok(Transformed::no(other)),
    };
    plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(bind)?;
            Ok(changed.update_data(|expr| name.restore(expr)))
        })
    })
    .data()
}

/// A function over sequences.
#[derive(Debug)]
struct Counting {
    call: Call,
    counters: Counters,
    signature: Signature,
    aliases: Vec<String>,
}

impl Counting {
    fn function(call: Call, counters: Counters) -> Arc<ScalarUDF> {
        let signature = match call {
            Call::Last => Signature::nullary(Volatility::Volatile),
            // YQL gives it an argument that means nothing.
            Call::Uuid => Signature::one_of(
                vec![TypeSignature::Nullary, TypeSignature::VariadicAny],
                Volatility::Volatile,
            ),
            _ => Signature::variadic_any(Volatility::Volatile),
        };
        let aliases: &[&str] = match call {
            Call::Uuid => &["uuid_generate_v4", "randomuuid"],
            _ => &[],
        };
        Arc::new(ScalarUDF::new_from_impl(Self {
            call,
            counters,
            signature,
            aliases: aliases.iter().map(|one| (*one).to_owned()).collect(),
        }))
    }

    fn value(&self, arguments: &[Value]) -> Result<Value> {
        let counter = self.counters.0.read().clone();
        let counter = counter.ok_or_else(|| Error::Internal {
            what: format!("{} was called without a session", self.call.name()),
        })?;
        match self.call {
            Call::Next => counter.next_value(arguments),
            Call::Current => counter.current_value(arguments),
            Call::Last => counter.last_value(),
            Call::Set => counter.set_value(arguments),
            Call::Uuid => Ok(counter.random_uuid()),
        }
    }
}

impl PartialEq for Counting {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call && Arc::ptr_eq(&self.counters.0, &other.counters.0)
    }
}

impl Eq for Counting {}

impl Hash for Counting {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.call.hash(state);
    }
}

impl ScalarUDFImpl for Counting {
    fn name(&self) -> &str {
        self.call.name()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        Ok(data_type(self.call.kind()))
    }

    fn invoke_with_args(&self, mut call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        if self.call == Call::Uuid {
            // It has no arguments that tell how often it is called.
            let mut column = builder(Type::Uuid, call.number_rows);
            for _ in 0..call.number_rows {
                let value = self.value(&[]).map_err(external)?;
                append(column.as_mut(), Type::Uuid, &value).map_err(external)?;
            }
            return Ok(ColumnarValue::Array(column.finish()));
        }
        // An argument that is the same for all rows is no reason to count once.
        for argument in &mut call.args {
            if let ColumnarValue::Scalar(value) = argument {
                *argument = ColumnarValue::Array(value.to_array_of_size(call.number_rows)?);
            }
        }
        let value = |arguments: &[Value]| self.value(arguments);
        row_by_row(call, |_| Type::Int64, value)
    }
}
