//! Queries inside expressions that DataFusion takes in another form.

use std::ops::ControlFlow;

use syntax::ast::{
    BinaryOperator, Expr, Function, FunctionArguments, Query, Select, SelectItem, SetExpr, Value,
    VisitMut, VisitorMut,
};

use super::{call, last_name, take, unnested};

/// `ARRAY(SELECT x …)` as `(SELECT array_agg(x) …)`.
pub(super) fn gathered(function: &Function) -> Option<Expr> {
    let FunctionArguments::Subquery(query) = &function.args else {
        return None;
    };
    if last_name(&function.name)? != "array" {
        return None;
    }
    if let Some(names) = unnested::attribute_names(query) {
        return Some(names);
    }
    aggregated(query, |value| call("array_agg", vec![value]))
}

/// `EXISTS (SELECT …)` among the columns of a SELECT as `(SELECT count(1) …) > 0`.
pub(super) fn count_instead(select: &mut Select) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            let _ = VisitMut::visit(expr, &mut Counted { depth: 0 });
        }
    }
}

struct Counted {
    /// How many queries this is inside of.
    depth: usize,
}

impl VisitorMut for Counted {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Exists { subquery, negated } = expr else {
            return ControlFlow::Continue(());
        };
        let counted = aggregated(subquery, |_| call("count", vec![number("1")]));
        if self.depth == 0
            && let Some(count) = counted
        {
            let op = match negated {
                true => BinaryOperator::Eq,
                false => BinaryOperator::Gt,
            };
            *expr = Expr::Nested(Box::new(Expr::BinaryOp {
                left: Box::new(count),
                op,
                right: Box::new(number("0")),
            }));
        }
        ControlFlow::Continue(())
    }
}

fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.to_owned(), false).into())
}

/// A query of one column with an aggregate of it instead.
fn aggregated(query: &Query, aggregate: impl FnOnce(Expr) -> Expr) -> Option<Expr> {
    let mut query = query.clone();
    query.order_by = None;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    let [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] =
        select.projection.as_mut_slice()
    else {
        return None;
    };
    *value = aggregate(take(value));
    Some(Expr::Subquery(Box::new(query)))
}
