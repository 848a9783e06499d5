//! What we change in a plan as DataFusion first makes it: parameters get types, the clock becomes a
//! parameter.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result as DataFusionResult};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Union, cast};
use keys::{Declared, Type};
use syntax::ast;

use super::columns::{DECLARED_KEY, cast_field, field};
use super::parameters::{self, NOW, TODAY, Values};
use super::{functions, results, typing};
use crate::number;

/// A plan with typed parameters, whose clock is one of them.
pub(crate) fn rewrite(plan: LogicalPlan, hints: &[Option<Type>]) -> DataFusionResult<LogicalPlan> {
    let mut kinds = noted_types(&plan, number::beside)?;
    for (index, hint) in hints.iter().enumerate() {
        if let (Some(place), Some(hint)) = (kinds.get_mut(index), hint) {
            *place = Some(*hint);
        }
    }
    // The columns of a recursive query keep the types that DataFusion gave them on both sides.
    let recursive = plan.exists(|node| Ok(matches!(node, LogicalPlan::RecursiveQuery(_))))?;
    plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        let schema = schema_of(&node)?;
        let plain = matches!(node, LogicalPlan::Projection(_)) && !recursive;
        let changed = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(|expr| {
                one(expr, &kinds).transform_data(|expr| typing::expression(expr, &schema))
            })?;
            let changed = match plain {
                true => changed.update_data(output),
                false => changed,
            };
            Ok(changed.update_data(|expr| name.restore(expr)))
        })?;
        let changed = match changed.transformed || tells_casts(&changed.data) {
            true => changed.map_data(again)?,
            false => changed,
        };
        match changed.data {
            LogicalPlan::Window(_) => changed.map_data(signed_ranks),
            _ => Ok(changed),
        }
    })
    .data()
}

/// Whether some columns of a node are said to be casts, which may have become ours below it.
fn tells_casts(node: &LogicalPlan) -> bool {
    let mut fields = node.schema().fields().iter();
    fields.any(|field| field.metadata().contains_key(DECLARED_KEY))
}

/// A node over parts that have changed. DataFusion leaves what it once said of a union.
fn again(node: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    match node {
        LogicalPlan::Union(union) => {
            let inputs = union.inputs;
            Union::try_new_with_loose_types(inputs).map(LogicalPlan::Union)
        }
        other => other.recompute_schema(),
    }
}

/// Ranks and row numbers count in signed numbers, as everything that counts rows does.
fn signed_ranks(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let LogicalPlan::Window(window) = &plan else {
        return Ok(plan);
    };
    let inputs = window.input.schema().fields().len();
    let unsigned = |field: &FieldRef| *field.data_type() == DataType::UInt64;
    let ranks = |expr: &Expr| {
        let names = ["row_number", "rank", "dense_rank", "ntile"];
        let expr = expr.clone().unalias_nested().data;
        matches!(&expr, Expr::WindowFunction(call) if names.contains(&call.fun.name()))
    };
    if !window.window_expr.iter().any(ranks) {
        return Ok(plan);
    }
    let mut columns = Vec::new();
    for (index, (qualifier, field)) in plan.schema().iter().enumerate() {
        let column = Expr::Column(Column::from((qualifier, field)));
        let rank = index
            .checked_sub(inputs)
            .and_then(|index| window.window_expr.get(index))
            .is_some_and(ranks);
        columns.push(match rank && unsigned(field) {
            true => cast(column, DataType::Int64).alias(field.name()),
            false => column,
        });
    }
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// The columns that the expressions of a node may name.
pub(super) fn schema_of(node: &LogicalPlan) -> DataFusionResult<DFSchema> {
    if let LogicalPlan::TableScan(scan) = node {
        let schema = scan.source.schema();
        return DFSchema::try_from_qualified_schema(scan.table_name.clone(), &schema);
    }
    Ok(merge_schema(&node.inputs()))
}

/// A number that is a column of a result has the type that it has by itself.
fn output(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(mut alias) => {
            alias.expr = Box::new(typing::natural(*alias.expr));
            Expr::Alias(alias)
        }
        other => typing::natural(other),
    }
}

fn one(expr: Expr, kinds: &[Option<Type>]) -> Transformed<Expr> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == functions::NOW => {
            Transformed::yes(parameters::typed(NOW, parameters::now_type()))
        }
        Expr::ScalarFunction(call) if call.func.name() == functions::TODAY => {
            Transformed::yes(parameters::typed(TODAY, DataType::Date32))
        }
        Expr::Placeholder(placeholder) => {
            let kind = number(&placeholder.id).and_then(|index| *kinds.get(index)?);
            let kind = kind.unwrap_or(Type::Utf8);
            let field = Arc::new(field(&placeholder.id, kind, true));
            Transformed::yes(Expr::Placeholder(Placeholder::new_with_field(
                placeholder.id,
                Some(field),
            )))
        }
        other => Transformed::no(other),
    }
}

/// The types of `$1`, `$2`, …, where the plan tells.
pub(crate) fn parameter_types(plan: &LogicalPlan) -> DataFusionResult<Vec<Option<Type>>> {
    noted_types(plan, |kind| kind)
}

/// The types of parameters, each as `beside` makes it of the type that stands beside it.
fn noted_types(
    plan: &LogicalPlan,
    beside: fn(Type) -> Type,
) -> DataFusionResult<Vec<Option<Type>>> {
    let mut kinds: Vec<Option<Type>> = Vec::new();
    let mut note = |placeholder: &Placeholder, limit: bool, stated: bool| {
        let Some(index) = number(&placeholder.id) else {
            return;
        };
        if kinds.len() <= index {
            kinds.resize(index + 1, None);
        }
        if let (Some(place), Some(field)) = (kinds.get_mut(index), &placeholder.field)
            && !field.data_type().is_null()
        {
            let kind = results::kind_of(field);
            place.get_or_insert(match stated {
                true => kind,
                false => beside(kind),
            });
        } else if limit && let Some(place) = kinds.get_mut(index) {
            place.get_or_insert(Type::Int64);
        }
    };
    plan.apply_with_subqueries(|node| {
        let limit = matches!(node, LogicalPlan::Limit(_));
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::Placeholder(placeholder) => note(placeholder, limit, false),
                    // `$1::bigint` says what it is.
                    Expr::Cast(cast) => {
                        if let Expr::Placeholder(placeholder) = cast.expr.as_ref() {
                            let field = Some(Arc::clone(&cast.field));
                            let typed = Placeholder::new_with_field(placeholder.id.clone(), field);
                            note(&typed, limit, true);
                        }
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(kinds)
}

/// The plan with these values in the place of its parameters.
pub(crate) fn with_values(plan: LogicalPlan, values: &Values) -> DataFusionResult<LogicalPlan> {
    let literal = |expr: Expr| match expr {
        Expr::Placeholder(placeholder) => {
            let Some(value) = values.get(&placeholder.id) else {
                return Ok(Transformed::no(Expr::Placeholder(placeholder)));
            };
            let value = match &placeholder.field {
                Some(field) => value.cast_to(field.data_type())?,
                None => value.clone(),
            };
            Ok(Transformed::yes(Expr::Literal(value, None)))
        }
        other => Ok(Transformed::no(other)),
    };
    plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(literal)?;
            Ok(changed.update_data(|expr| name.restore(expr)))
        })
    })
    .data()
}

/// The index of `$n` among the parameters.
pub(super) fn number(id: &str) -> Option<usize> {
    id.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

/// YQL's names of types in a cast.
#[derive(Debug)]
pub(crate) struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> DataFusionResult<Option<FieldRef>> {
        let Some(kind) = syntax::cast_type(sql_type) else {
            return Ok(None);
        };
        let declared = match kind {
            Type::Decimal { .. } if !sql_type.to_string().contains('(') => Declared::Numeric,
            _ => syntax::cast_declared(sql_type).of(kind),
        };
        Ok(Some(Arc::new(cast_field(kind, declared))))
    }
}
