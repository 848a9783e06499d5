//! A condition over one row that only DataFusion can work out, as CHECK may have it.
//!
//! It goes the way of a query's conditions up to the physical expression, and so means the same there.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result as DataFusionResult};
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{EmptyRelation, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::sqlparser::ast::ExprWithAlias;
use keys::{Type, Value};

use super::columns::{append, builder, field};
use super::refusals::ours;
use super::{memory, queries, results, rewrite};
use crate::named::build;
use crate::{Error, Fault, Result, Schema};

/// DataFusion without any table.
static STATE: LazyLock<SessionState> =
    LazyLock::new(|| queries::state(Vec::new(), &memory::runtime()));

/// A condition that is ready to be worked out.
#[derive(Debug)]
pub(crate) struct RowCondition {
    /// Where its columns stand in the table, and their types.
    inputs: Vec<(usize, Type)>,
    fields: SchemaRef,
    expr: Arc<dyn PhysicalExpr>,
}

impl RowCondition {
    /// The condition that a text is, over the columns at these positions; its type if that is another
    /// than true or false.
    pub(crate) fn new(
        schema: &Schema,
        inputs: &[usize],
        text: &str,
    ) -> Result<std::result::Result<Self, Type>> {
        let columns = inputs
            .iter()
            .filter_map(|at| Some((*at, schema.columns().get(*at)?)));
        let columns: Vec<_> = columns.collect();
        let fields = columns
            .iter()
            .map(|(_, one)| field(&one.name, one.kind, true));
        let fields: SchemaRef = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let named = DFSchema::try_from(Arc::clone(&fields)).map_err(ours)?;
        let lost = || Error::Internal {
            what: format!("{text} is no column of a query"),
        };
        let query = build::selected(text).ok_or_else(lost)?;
        let understood = queries::understood(&query, &[])?;
        let expr = build::first_item(understood).ok_or_else(lost)?;
        let read = STATE
            .create_logical_expr_from_sql_expr(ExprWithAlias { expr, alias: None }, &named)
            .map_err(ours)?;
        refuse_others(&read)?;
        let nothing = LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: Arc::new(named.clone()),
        });
        let plan = LogicalPlanBuilder::from(nothing).project([read]);
        let plan = plan.and_then(LogicalPlanBuilder::build).map_err(ours)?;
        let LogicalPlan::Projection(typed) = rewrite::rewrite(plan, &[]).map_err(ours)? else {
            return Err(lost());
        };
        let kind = typed
            .schema
            .fields()
            .first()
            .map(|field| results::kind_of(field));
        let kind = kind.ok_or_else(lost)?;
        if kind != Type::Bool {
            return Ok(Err(kind));
        }
        let expr = typed.expr.into_iter().next().ok_or_else(lost)?;
        let expr = physical(expr.unalias(), named).map_err(ours)?;
        let inputs = columns.iter().map(|(at, one)| (*at, one.kind)).collect();
        Ok(Ok(Self {
            inputs,
            fields,
            expr,
        }))
    }

    /// What it is in a row: true, false or NULL.
    pub(crate) fn value(&self, row: &[Value]) -> Result<Value> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.inputs.len());
        for (position, kind) in &self.inputs {
            let mut column = builder(*kind, 1);
            let value = row.get(*position).unwrap_or(&Value::Null);
            append(column.as_mut(), *kind, value)?;
            arrays.push(column.finish());
        }
        let one = RecordBatchOptions::new().with_row_count(Some(1));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.fields), arrays, &one);
        let batch = batch.map_err(|error| ours(error.into()))?;
        let answer = self
            .expr
            .evaluate(&batch)
            .and_then(|answer| answer.into_array(1));
        let answer = answer.map_err(ours)?;
        let known = answer.as_boolean_opt().filter(|_| answer.is_valid(0));
        Ok(known.map_or(Value::Null, |answer| Value::Bool(answer.value(0))))
    }
}

/// The expression that is run. Simplified, as some functions are only names for others, like `coalesce`.
fn physical(expr: Expr, columns: DFSchema) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let columns = Arc::new(columns);
    let context = SimplifyContext::builder()
        .with_schema(Arc::clone(&columns))
        .with_config_options(Arc::clone(STATE.config_options()))
        .build();
    let simplifier = ExprSimplifier::new(context);
    let expr = simplifier.coerce(expr, &columns)?;
    STATE.create_physical_expr(simplifier.simplify(expr)?, &columns)
}

/// Refuses what a row alone does not tell: other rows, and values that come with a statement.
fn refuse_others(expr: &Expr) -> Result<()> {
    let mut what = None;
    let found = expr.exists(|part| {
        what = match part {
            Expr::AggregateFunction(_) => Some("an aggregate function"),
            Expr::WindowFunction(_) => Some("a window function"),
            Expr::Placeholder(_) => Some("a parameter"),
            _ => None,
        };
        Ok(what.is_some())
    });
    match (found.map_err(ours)?, what) {
        (true, Some(what)) => Err(Error::Refused {
            fault: Fault::Grouping,
            what: format!("{what} cannot stand in a CHECK: it is about one row"),
        }),
        _ => Ok(()),
    }
}
