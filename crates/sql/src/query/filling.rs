//! Blanks of values that are of several lengths: what is a `char(4)` or a `char(8)` comes with the blanks
//! of the one that it is.
//!
//! ```text
//!   SELECT a4 FROM t UNION ALL SELECT a8 FROM u       bpchar: 'ab  ' and 'ab      '
//!   CASE WHEN … THEN a4 ELSE a8 END                   the same
//! ```
//!
//! Blanks at the end mean nothing to anything that compares, so values have none until they leave. A
//! column that says how long each value is to be goes with them from where the lengths meet to the top of
//! the plan, where the blanks are put on:
//!
//! ```text
//!   Projection: filled(x, length)
//!     Aggregate: by x, min(length)          UNION: of values that are equal one stays
//!       Union
//!         Projection: a4 AS x, 4 AS length
//!         Projection: a8 AS x, 8 AS length
//! ```

use std::sync::Arc;

use datafusion::common::{Column, Result as DataFusionResult};
use datafusion::functions_aggregate::expr_fn::min;
use datafusion::logical_expr::{
    Case, Distinct, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Union, lit,
};
use keys::Declared;

use super::origins::{self, Told};
use super::{FILLED, functions};

/// The plan of a query that somebody is shown, with blanks where lengths differ.
pub(super) fn filled(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let told = origins::told(&plan);
    let columns: Vec<Expr> = all_columns(&plan);
    let mut lengths = vec![None; told.len()];
    let mut lengthened = plan.clone();
    for (index, (told, length)) in told.iter().zip(&mut lengths).enumerate() {
        if told.declared == Declared::Char(None)
            && let Some((with, name)) = with_length(&lengthened, index)?
        {
            (lengthened, *length) = (with, Some(name));
        }
    }
    let all = functions::all();
    let function = all.into_iter().find(|one| one.name() == FILLED);
    let Some(function) = function.filter(|_| lengths.iter().any(Option::is_some)) else {
        return Ok(plan);
    };
    let shown = columns.into_iter().zip(lengths).zip(plan.schema().iter());
    let shown = shown.map(|((column, length), (qualifier, field))| match length {
        Some(length) => {
            let call = function.call(vec![column, length]);
            call.alias_qualified(qualifier.cloned(), field.name())
        }
        None => column,
    });
    let shown: Vec<Expr> = shown.collect();
    project(lengthened, shown)
}

/// Every column of a plan.
fn all_columns(plan: &LogicalPlan) -> Vec<Expr> {
    let columns = plan.schema().iter();
    columns.map(|one| Expr::Column(Column::from(one))).collect()
}

fn project(plan: LogicalPlan, columns: Vec<Expr>) -> DataFusionResult<LogicalPlan> {
    Projection::try_new(columns, Arc::new(plan)).map(LogicalPlan::Projection)
}

/// The plan with one column more, at its end: how long the values of the column at `index` are to be.
/// `None` if they are of no lengths that differ, or nobody knows which.
fn with_length(plan: &LogicalPlan, index: usize) -> DataFusionResult<Option<(LogicalPlan, Expr)>> {
    match plan {
        LogicalPlan::Projection(node) => {
            let Some(expr) = node.expr.get(index) else {
                return Ok(None);
            };
            let (input, length) = match expr.clone().unalias() {
                Expr::Column(column) => {
                    let Some(below) = node.input.schema().maybe_index_of_column(&column) else {
                        return Ok(None);
                    };
                    match with_length(&node.input, below)? {
                        Some(found) => found,
                        None => return Ok(None),
                    }
                }
                chosen => match chosen_length(&chosen, &node.input) {
                    Some(length) => (node.input.as_ref().clone(), length),
                    None => return Ok(None),
                },
            };
            let mut columns = node.expr.clone();
            columns.push(named(length, index));
            project(input, columns).map(with_last)
        }
        LogicalPlan::Union(node) => {
            let mut inputs = Vec::with_capacity(node.inputs.len());
            for input in &node.inputs {
                inputs.push(Arc::new(branch(input, index)?));
            }
            let union = Union::try_new_with_loose_types(inputs)?;
            Ok(with_last(LogicalPlan::Union(union)))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => match with_length(input, index)? {
            Some((below, length)) => {
                let groups = all_columns(input);
                let length = named(min(length), index);
                let builder = LogicalPlanBuilder::from(below);
                Ok(with_last(builder.aggregate(groups, vec![length])?.build()?))
            }
            None => Ok(None),
        },
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_) => {
            let inputs = plan.inputs();
            let [input] = inputs.as_slice() else {
                return Ok(None);
            };
            match with_length(input, index)? {
                Some((below, _)) => {
                    let over = plan.with_new_exprs(plan.expressions(), vec![below])?;
                    Ok(with_last(over))
                }
                None => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// One side of a union, with a column more.
fn branch(input: &LogicalPlan, index: usize) -> DataFusionResult<LogicalPlan> {
    let mut columns = all_columns(input);
    let (input, length) = match with_length(input, index)? {
        Some(found) => found,
        None => {
            let told = origins::output(input, index);
            (input.clone(), length_of(told))
        }
    };
    columns.push(named(length, index));
    project(input, columns)
}

/// How long a value is to be that one of several expressions gives.
fn chosen_length(expr: &Expr, input: &LogicalPlan) -> Option<Expr> {
    let length = |expr: &Expr| Box::new(length_of(origins::of(expr, input)));
    match expr {
        Expr::Case(case) => {
            let branches = case.when_then_expr.iter();
            let branches = branches.map(|(when, then)| (when.clone(), length(then)));
            Some(Expr::Case(Case::new(
                case.expr.clone(),
                branches.collect(),
                case.else_expr.as_ref().map(|one| length(one)),
            )))
        }
        Expr::ScalarFunction(call) if call.name() == "coalesce" => {
            let branches = call.args.iter();
            let branches = branches.map(|one| (Box::new(one.clone().is_not_null()), length(one)));
            Some(Expr::Case(Case::new(None, branches.collect(), None)))
        }
        _ => None,
    }
}

/// A length as a literal; what has none is left as it is.
fn length_of(told: Told) -> Expr {
    match told.declared {
        Declared::Char(Some(length)) => lit(i64::from(length)),
        _ => lit(0_i64),
    }
}

fn named(length: Expr, index: usize) -> Expr {
    length.alias(format!("length {index}"))
}

/// A plan and its last column.
fn with_last(plan: LogicalPlan) -> Option<(LogicalPlan, Expr)> {
    let last = plan.schema().iter().last()?;
    let last = Expr::Column(Column::from(last));
    Some((plan, last))
}
