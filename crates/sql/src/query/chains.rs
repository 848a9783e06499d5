//! Long chains of AND and OR in a form that is planned quickly.
//!
//! ```text
//!   x = 1 OR x = 2 OR … OR y       x IN (1, 2, …) OR y
//!   x <> 1 AND x <> 2 AND …        x NOT IN (1, 2, …)
//!   ((a AND b) AND c) AND d        (a AND b) AND (c AND d)
//! ```
//!
//! The planner looks into every part of an expression from each of its levels, so what is a thousand
//! levels deep takes a million looks. Short chains stay as they are.

use std::ops::ControlFlow;

use syntax::ast::{self, BinaryOperator, Expr, Query, VisitMut, VisitorMut};

/// How many parts a chain has at least that is changed: more than there are levels in the tree that the
/// longest chain becomes.
const PARTS_MIN: usize = 16;

/// Changes the long chains of a query.
pub(super) fn shorten(query: &mut Query) {
    // Nothing in it breaks off.
    let _ = syntax::deep(|| VisitMut::visit(query, &mut Chains));
}

struct Chains;

impl VisitorMut for Chains {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { op, .. } = expr
            && matches!(op, BinaryOperator::And | BinaryOperator::Or)
        {
            let op = op.clone();
            if length(expr, &op) >= PARTS_MIN {
                let null = Expr::Value(ast::Value::Null.into());
                let parts = parts(std::mem::replace(expr, null), &op);
                *expr = balanced(listed(parts, &op), &op);
            }
        }
        ControlFlow::Continue(())
    }
}

/// How many parts a chain has, as far as they stand one after another.
fn length(mut expr: &Expr, chain: &BinaryOperator) -> usize {
    let mut length = 1;
    while let Expr::BinaryOp { left, op, .. } = expr
        && op == chain
    {
        length += 1;
        expr = left;
    }
    length
}

/// The parts of a chain, in order.
fn parts(mut expr: Expr, chain: &BinaryOperator) -> Vec<Expr> {
    let mut parts = Vec::new();
    loop {
        match expr {
            Expr::BinaryOp { left, op, right } if op == *chain => {
                parts.push(*right);
                expr = *left;
            }
            first => {
                parts.push(first);
                parts.reverse();
                return parts;
            }
        }
    }
}

/// The parts with comparisons of one column with several values as one.
fn listed(parts: Vec<Expr>, chain: &BinaryOperator) -> Vec<Expr> {
    let negated = *chain == BinaryOperator::And;
    let mut lists: Vec<(Expr, Vec<Expr>)> = Vec::new();
    let mut rest = Vec::new();
    for part in parts {
        match part {
            Expr::BinaryOp { left, op, right } if is_listed(&left, &op, &right, negated) => {
                match lists.iter_mut().find(|(known, _)| *known == *left) {
                    Some((_, values)) => values.push(*right),
                    None => lists.push((*left, vec![*right])),
                }
            }
            other => rest.push(other),
        }
    }
    let lists = lists.into_iter().map(|(column, list)| Expr::InList {
        expr: Box::new(column),
        list,
        negated,
    });
    lists.chain(rest).collect()
}

/// Whether a comparison is `column = value`, or `column <> value`.
fn is_listed(left: &Expr, op: &BinaryOperator, right: &Expr, negated: bool) -> bool {
    let wanted = match negated {
        true => BinaryOperator::NotEq,
        false => BinaryOperator::Eq,
    };
    *op == wanted && is_column(left) && is_value(right)
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// Whether an expression is a number or a text that is written; types follow from the column alone then.
fn is_value(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(
        value.value,
        ast::Value::Number(..) | ast::Value::SingleQuotedString(_)
    ))
}

/// The parts as a tree that is as flat as can be.
fn balanced(mut parts: Vec<Expr>, op: &BinaryOperator) -> Expr {
    while parts.len() > 1 {
        let mut pairs = Vec::with_capacity(parts.len().div_ceil(2));
        let mut left = parts.into_iter();
        while let Some(first) = left.next() {
            pairs.push(match left.next() {
                Some(second) => Expr::BinaryOp {
                    left: Box::new(first),
                    op: op.clone(),
                    right: Box::new(second),
                },
                None => first,
            });
        }
        parts = pairs;
    }
    let nothing = || Expr::Value(ast::Value::Boolean(*op == BinaryOperator::And).into());
    parts.pop().unwrap_or_else(nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(filter: &str) -> String {
        let text = format!("SELECT 1 FROM t WHERE {filter}");
        let mut statements = syntax::parse(&text).unwrap();
        let syntax::Kind::Query(mut query) = statements.remove(0).kind else {
            panic!("a query");
        };
        shorten(&mut query.query);
        let text = query.query.to_string();
        text.split_once("WHERE ").unwrap().1.to_owned()
    }

    #[test]
    fn long_chains_become_lists_and_short_ones_stay() {
        let short = "x = 1 OR x = 2 OR y";
        assert_eq!(shortened(short), short);
        let equal = ["x = 1", "y = 'a'", "x = 2", "z"].repeat(4).join(" OR ");
        assert_eq!(
            shortened(&equal),
            "x IN (1, 2, 1, 2, 1, 2, 1, 2) OR y IN ('a', 'a', 'a', 'a') OR z OR z OR z OR z"
        );
        let other = ["x <> 1", "x <> NULL", "x <> y", "t.x <> 2"]
            .repeat(4)
            .join(" AND ");
        let rest = ["x <> NULL", "x <> y"].repeat(4).join(" AND ");
        let lists = "x NOT IN (1, 1, 1, 1) AND t.x NOT IN (2, 2, 2, 2)";
        assert_eq!(shortened(&other), format!("{lists} AND {rest}"));
    }

    #[test]
    fn a_long_chain_is_as_deep_as_a_tree() {
        let chain = vec!["x > 1"; 500].join(" AND ");
        let text = format!("SELECT 1 FROM t WHERE {chain}");
        let syntax::Kind::Query(mut query) = syntax::parse(&text).unwrap().remove(0).kind else {
            panic!("a query");
        };
        shorten(&mut query.query);
        let ast::SetExpr::Select(select) = query.query.body.as_ref() else {
            panic!("a select");
        };
        fn depth(expr: &Expr) -> usize {
            match expr {
                Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
                _ => 0,
            }
        }
        // Nine levels of AND, and one for each comparison.
        assert_eq!(depth(select.selection.as_ref().unwrap()), 9 + 1);
    }
}
