//! Queries over tables that are always empty.
//!
//! PostgreSQL has policies, publications, statistics objects and more that this database has not;
//! clients ask for them with the most elaborate of their queries. A SELECT that joins such a table has
//! no rows whatever else it says, so its elaborate columns may as well be NULL, and a list of what it
//! finds is empty.

use std::ops::ControlFlow;

use syntax::ast::{
    Array, CastKind, DataType, Expr, Function, FunctionArguments, GroupByExpr, JoinOperator, Query,
    Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Visit, VisitMut, Visitor, VisitorMut,
};

use super::{last_name, null, system_table};
use crate::system::tables;

/// Makes the elaborate parts of a query plain that cannot matter.
pub(super) fn settle(query: &mut Query) {
    settle_body(&mut query.body);
}

fn settle_body(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => settle_select(select),
        SetExpr::SetOperation { left, right, .. } => {
            settle_body(left);
            settle_body(right);
        }
        _ => {}
    }
}

fn settle_select(select: &mut Select) {
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let empty = is_empty(select);
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            continue;
        };
        if empty && !grouped && is_elaborate(expr) {
            *expr = null();
        } else {
            let _ = VisitMut::visit(expr, &mut Lists);
        }
    }
}

/// Whether a SELECT reads a table that is always empty, so that it has no rows.
fn is_empty(select: &Select) -> bool {
    select.from.iter().any(is_empty_join)
}

fn is_empty_join(join: &TableWithJoins) -> bool {
    let inner = join.joins.iter().filter(|join| {
        matches!(
            join.join_operator,
            JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_)
        )
    });
    let mut factors = std::iter::once(&join.relation).chain(inner.map(|join| &join.relation));
    factors.any(is_empty_factor)
}

fn is_empty_factor(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table {
            name, args: None, ..
        } => system_table(name).is_some_and(|one| !tables::has_rows(one)),
        // No table has options.
        TableFactor::Table {
            name,
            args: Some(list),
            ..
        } => {
            let options = list
                .args
                .iter()
                .any(|argument| argument.to_string().ends_with("reloptions"));
            options && last_name(name).as_deref() == Some("unnest")
        }
        TableFactor::UNNEST { array_exprs, .. } => array_exprs
            .iter()
            .any(|list| list.to_string().ends_with("reloptions")),
        _ => false,
    }
}

/// Whether an expression holds a query of its own, or calls what there is not.
fn is_elaborate(expr: &Expr) -> bool {
    Visit::visit(expr, &mut Elaborate).is_break()
}

struct Elaborate;

impl Visitor for Elaborate {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if last_name(&function.name).as_deref() == Some("format") => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Makes `ARRAY(SELECT …)` an empty list where the query has no rows.
struct Lists;

impl VisitorMut for Lists {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let Some(query) = listed(function)
            && let SetExpr::Select(select) = query.body.as_ref()
            && is_empty(select)
        {
            let elem = Vec::new();
            *expr = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(Expr::Array(Array { elem, named: true })),
                data_type: DataType::Array(syntax::ast::ArrayElemTypeDef::SquareBracket(
                    Box::new(DataType::Text),
                    None,
                )),
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    }
}

/// The query inside `ARRAY(…)`.
fn listed(function: &Function) -> Option<&Query> {
    match &function.args {
        FunctionArguments::Subquery(query) if last_name(&function.name)? == "array" => Some(query),
        _ => None,
    }
}
