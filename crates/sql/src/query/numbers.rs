//! Numbers with a point as DataFusion reads them.
//!
//! ```text
//!   12.50              12.50                     an exact decimal, as DataFusion reads it
//!   1e3                1000.                     the same, without an exponent
//!   1e300              CAST('1e300' AS Double)   too long for a decimal
//!   sqrt(2.25)         sqrt(CAST(2.25 AS Double))
//! ```
//!
//! Most functions of numbers are functions of floats. Those that give back what they are given, or
//! count it, get what is written ([`EXACT`]).

use std::ops::ControlFlow;

use keys::Type;
use syntax::ast::{self, Expr, Query, VisitMut, VisitorMut};

use crate::named::build;
use crate::number;

/// Functions that take decimals as they are.
const EXACT: &[&str] = &[
    "abs",
    "any_value",
    "array_agg",
    "array_append",
    "array_cat",
    "array_contains",
    "array_position",
    "array_prepend",
    "array_remove",
    "avg",
    "ceil",
    "ceiling",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "first_value",
    "floor",
    "greatest",
    "hash",
    "if",
    "just",
    "lag",
    "last_value",
    "lead",
    "least",
    "make_array",
    "max",
    "maxof",
    "min",
    "minof",
    "nth_value",
    "nullif",
    "round",
    "sum",
    "to_char",
    "to_json",
    "trunc",
];

/// Spells the numbers of a query so that DataFusion reads what is meant.
pub(super) fn spell(query: &mut Query) {
    // Nothing in it breaks off.
    let _ = syntax::deep(|| VisitMut::visit(query, &mut Numbers));
}

struct Numbers;

impl VisitorMut for Numbers {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if !is_exact(function) => floats(function),
            Expr::Value(value) => {
                if let ast::Value::Number(digits, _) = &value.value
                    && let Some(spelled) = spelled(digits)
                {
                    *expr = spelled;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_exact(function: &ast::Function) -> bool {
    let [ast::ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
        return false;
    };
    EXACT
        .iter()
        .any(|exact| name.value.eq_ignore_ascii_case(exact))
}

/// Makes floats of the decimals among the arguments of a call.
fn floats(function: &mut ast::Function) {
    let ast::FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    for argument in &mut list.args {
        if let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument
            && is_decimal(expr)
        {
            *expr = build::cast(expr.clone(), Type::Double);
        }
    }
}

fn is_decimal(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => is_decimal(inner),
        Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => has_point(digits),
            _ => false,
        },
        _ => false,
    }
}

fn has_point(digits: &str) -> bool {
    digits.contains(['.', 'e', 'E'])
}

/// Another way to write a number, if it takes one.
fn spelled(digits: &str) -> Option<Expr> {
    let plain = digits.bytes().all(|one| one.is_ascii_digit());
    if digits.contains('_') || (plain && digits.len() < 20) {
        return None;
    }
    let written = match number::exact(digits) {
        None => {
            let text = ast::Value::SingleQuotedString(digits.to_owned());
            return Some(build::cast(build::value(text), Type::Double));
        }
        Some(_) if !digits.contains(['e', 'E']) => return None,
        Some(decimal) if decimal.scale() == 0 => format!("{decimal}."),
        Some(decimal) => decimal.to_string(),
    };
    Some(build::value(ast::Value::Number(written, false)))
}
