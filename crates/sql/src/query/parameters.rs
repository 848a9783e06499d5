//! Parameters inside a plan that is kept: calls of a function that reads the values of the run.
//!
//! ```text
//!   statement      … WHERE k = $1 AND at < now()
//!   optimised      … k = $1, at < $now                    opaque and typed, so filters still move
//!   planned        … k = parameter($1), …                 one slot for each copy of the plan
//!   run            slot ← (5, 2026-01-31T12:00:00Z)
//! ```
//!
//! The optimiser sees placeholders, which it neither folds nor refuses to push down. Only the finished
//! plan gets the calls. A plan that would need a value while it is made finds the slot empty: that is
//! how a statement is found out that has to be planned anew for each run.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::Result as DataFusionResult;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use parking_lot::RwLock;

/// The placeholder that stands for the time of the statement.
pub(crate) const NOW: &str = "$now";

/// The placeholder that stands for the day of the statement.
pub(crate) const TODAY: &str = "$today";

const NAME: &str = "parameter";

/// The values of one run, by the name of their placeholder.
pub(crate) type Values = HashMap<String, ScalarValue>;

/// Where a plan finds the values of its run; empty while it is made and while nobody runs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Arc<RwLock<Option<Arc<Values>>>>);

impl Slot {
    pub(crate) fn set(&self, values: Option<Arc<Values>>) {
        *self.0.write() = values;
    }
}

/// The plan with calls in the place of its placeholders, which read this slot.
pub(crate) fn with_calls(plan: LogicalPlan, slot: &Slot) -> DataFusionResult<LogicalPlan> {
    let call = |expr: Expr| match expr {
        Expr::Placeholder(placeholder) => Ok(Transformed::yes(Parameter::call(
            placeholder,
            slot.clone(),
        )?)),
        other => Ok(Transformed::no(other)),
    };
    plan.transform_up_with_subqueries(|node| {
        let names = datafusion::logical_expr::expr_rewriter::NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(call)?;
            Ok(changed.update_data(|expr| name.restore(expr)))
        })
    })
    .data()
}

/// Whether an expression is the call of a parameter.
pub(crate) fn is_parameter(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(function) if function.func.name() == NAME)
}

/// A placeholder of a known type.
pub(crate) fn typed(id: &str, kind: DataType) -> Expr {
    let field = Arc::new(Field::new(id, kind, true));
    Expr::Placeholder(Placeholder::new_with_field(id.to_owned(), Some(field)))
}

/// The type of the time of a statement.
pub(crate) fn now_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

/// The value of one parameter.
#[derive(Debug)]
struct Parameter {
    id: String,
    field: FieldRef,
    slot: Slot,
    signature: Signature,
}

impl Parameter {
    fn call(placeholder: Placeholder, slot: Slot) -> DataFusionResult<Expr> {
        let Placeholder { id, field } = placeholder;
        let field = field.unwrap_or_else(|| Arc::new(Field::new(&id, DataType::Utf8, true)));
        let function = ScalarUDF::new_from_impl(Self {
            id,
            field,
            slot,
            signature: Signature::nullary(Volatility::Volatile),
        });
        let call = ScalarFunction::new_udf(Arc::new(function), Vec::new());
        Ok(Expr::ScalarFunction(call))
    }
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.field == other.field && Arc::ptr_eq(&self.slot.0, &other.slot.0)
    }
}

impl Eq for Parameter {}

impl Hash for Parameter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl ScalarUDFImpl for Parameter {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        Ok(self.field.data_type().clone())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(self.field.as_ref().clone().with_name(&self.id)))
    }

    fn display_name(&self, _args: &[Expr]) -> DataFusionResult<String> {
        Ok(self.id.clone())
    }

    fn schema_name(&self, _args: &[Expr]) -> DataFusionResult<String> {
        Ok(self.id.clone())
    }

    fn invoke_with_args(&self, _call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let values = self.slot.0.read().clone();
        let missing = || {
            let error = crate::Error::NoSuchParameter {
                name: self.id.clone(),
            };
            DataFusionError::External(Box::new(error))
        };
        let values = values.ok_or_else(missing)?;
        let value = values.get(&self.id).ok_or_else(missing)?;
        let kind = self.field.data_type();
        let value = match value.data_type() == *kind {
            true => value.clone(),
            false => value.cast_to(kind)?,
        };
        Ok(ColumnarValue::Scalar(value))
    }
}
