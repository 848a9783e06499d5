//! Comparisons with a list that is written, without the list.
//!
//! ```text
//!   id = ANY ('{1,2}')                id IN ('1', '2')      the elements take the type of the left side
//!   id = ANY ('{1,2}'::bigint[])      id IN ('1'::bigint, '2'::bigint)
//!   id = ANY (ARRAY[1, 2])            id IN (1, 2)
//!   id <> ALL ('{1,NULL}')            id NOT IN ('1', NULL)
//!   n > ALL ('{1,2}')                 n > '1' AND n > '2'
//!   id = ANY ('{}')                   false               ALL of nothing is true
//!   t LIKE ANY ('{a%,b%}')            t LIKE 'a%' OR t LIKE 'b%'
//! ```
//!
//! So keys are found by their values, whoever reads them. A text that is no list stays where it is:
//! whoever reads it as one says what is wrong with it.

use syntax::ast::{self, BinaryOperator};

use crate::named::build;
use crate::query::{list_element, list_elements};

/// The comparison without its list; `None` if it is something else, or its list is not written.
pub(crate) fn spelled_out(expr: &ast::Expr) -> Option<ast::Expr> {
    if let ast::Expr::Like {
        any: true, pattern, ..
    }
    | ast::Expr::ILike {
        any: true, pattern, ..
    } = expr
    {
        let each = written(pattern)?.into_iter().map(|one| like(expr, one));
        return Some(joined(each, &BinaryOperator::Or));
    }
    let (left, op, right, all) = match expr {
        ast::Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => (left, compare_op, right, false),
        ast::Expr::AllOp {
            left,
            compare_op,
            right,
        } => (left, compare_op, right, true),
        _ => return None,
    };
    if !compares(op) {
        return None;
    }
    let list = written(right)?;
    if list.is_empty() {
        return Some(build::value(ast::Value::Boolean(all)));
    }
    let in_list = |negated| ast::Expr::InList {
        expr: left.clone(),
        list: list.clone(),
        negated,
    };
    match (op, all) {
        (BinaryOperator::Eq, false) => Some(in_list(false)),
        (BinaryOperator::NotEq, true) => Some(in_list(true)),
        _ => Some(chain(left, op, list, all)),
    }
}

/// One comparison for each element, and whether one or all of them hold.
fn chain(left: &ast::Expr, op: &BinaryOperator, list: Vec<ast::Expr>, all: bool) -> ast::Expr {
    let compared = list.into_iter().map(|one| ast::Expr::BinaryOp {
        left: Box::new(left.clone()),
        op: op.clone(),
        right: Box::new(one),
    });
    match all {
        true => joined(compared, &BinaryOperator::And),
        false => joined(compared, &BinaryOperator::Or),
    }
}

/// Conditions with AND or OR between them; of none, OR is false and AND is true.
fn joined(each: impl Iterator<Item = ast::Expr>, both: &BinaryOperator) -> ast::Expr {
    let chained = each.reduce(|left, right| ast::Expr::BinaryOp {
        left: Box::new(left),
        op: both.clone(),
        right: Box::new(right),
    });
    match chained {
        Some(chained) => ast::Expr::Nested(Box::new(chained)),
        None => build::value(ast::Value::Boolean(*both == BinaryOperator::And)),
    }
}

/// LIKE with one pattern in the place of several.
fn like(several: &ast::Expr, one: ast::Expr) -> ast::Expr {
    let mut single = several.clone();
    if let ast::Expr::Like { any, pattern, .. } | ast::Expr::ILike { any, pattern, .. } =
        &mut single
    {
        (*any, **pattern) = (false, one);
    }
    single
}

/// The elements of a list that is written.
fn written(list: &ast::Expr) -> Option<Vec<ast::Expr>> {
    match list {
        ast::Expr::Nested(inner) => written(inner),
        ast::Expr::Value(_) => {
            let (None, text) = syntax::literal_text(list)? else {
                return None;
            };
            let elements = list_elements(&text)?.into_iter();
            Some(elements.map(element).collect())
        }
        ast::Expr::Cast {
            expr,
            data_type:
                kind @ ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(inner, None)),
            kind: cast,
            ..
        } if list_element(kind).is_some() && syntax::cast_type(inner).is_some() => {
            let typed = |one: ast::Expr| ast::Expr::Cast {
                kind: cast.clone(),
                expr: Box::new(one),
                data_type: inner.as_ref().clone(),
                array: false,
                format: None,
            };
            Some(written(expr)?.into_iter().map(typed).collect())
        }
        ast::Expr::Array(list) if list.elem.iter().all(is_plain) => Some(list.elem.clone()),
        _ => None,
    }
}

fn element(text: Option<String>) -> ast::Expr {
    build::value(match text {
        Some(text) => ast::Value::SingleQuotedString(text),
        None => ast::Value::Null,
    })
}

/// Whether an element is a number or a text.
fn is_plain(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::UnaryOp { expr, .. } => is_plain(expr),
        ast::Expr::Value(value) => matches!(
            value.value,
            ast::Value::Number(..) | ast::Value::SingleQuotedString(_) | ast::Value::Null
        ),
        _ => false,
    }
}

/// Whether an operator compares its sides.
pub(crate) fn compares(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}
