//! Literals and types in sqlparser's trees, as values and types of ours.
//!
//! A literal with a type (`1001ul`, `Timestamp("…")`, `'a'::text`, `DATE '2026-01-01'`) is a cast of
//! a plain one in the tree; these functions see through it.

use keys::{Type, Value};

use crate::ast;

/// The value of an expression that is a literal with a type: `1001ul`, `Uuid("…")`, `'1'::bigint`.
///
/// A plain `1` or `'a'` has no type of its own, and what it becomes is decided where it is used: for
/// those, and for text that the type does not accept, there is no value.
pub fn literal(expr: &ast::Expr) -> Option<Value> {
    match literal_text(expr)? {
        (Some(kind), text) => Some(rounded(expr, Value::parse(kind, &text).ok()?)),
        (None, _) => None,
    }
}

/// A time with the digits that the casts around its text leave to it.
fn rounded(expr: &ast::Expr, value: Value) -> Value {
    match expr {
        ast::Expr::Nested(inner) => rounded(inner, value),
        ast::Expr::Cast {
            expr, data_type, ..
        } => cast_declared(data_type).taken(rounded(expr, value)),
        ast::Expr::TypedString(typed) => cast_declared(&typed.data_type).taken(value),
        _ => value,
    }
}

/// The text of a literal, and its type if it states one; a sign in front of a number is part of it.
pub fn literal_text(expr: &ast::Expr) -> Option<(Option<Type>, String)> {
    match expr {
        ast::Expr::Nested(inner) => literal_text(inner),
        ast::Expr::Value(value) => Some((None, plain_text(&value.value)?)),
        ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            expr,
        } => {
            let (kind, text) = literal_text(expr)?;
            let unsigned = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
            unsigned.then(|| (kind, format!("-{text}")))
        }
        ast::Expr::Cast {
            expr, data_type, ..
        } => {
            let kind = cast_type(data_type)?;
            let text = literal_text(expr)?.1;
            Some((Some(kind), cast_declared(data_type).cut(&text).to_owned()))
        }
        ast::Expr::TypedString(typed) => {
            let kind = cast_type(&typed.data_type)?;
            Some((Some(kind), plain_text(&typed.value.value)?))
        }
        _ => None,
    }
}

fn plain_text(value: &ast::Value) -> Option<String> {
    match value {
        ast::Value::Number(digits, _) => Some(digits.clone()),
        ast::Value::Boolean(value) => Some(value.to_string()),
        ast::Value::SingleQuotedString(text) => Some(text.clone()),
        ast::Value::DollarQuotedString(quoted) => Some(quoted.value.clone()),
        _ => None,
    }
}

/// What PostgreSQL calls the type that a cast names, if that says more than the type.
pub fn cast_declared(data_type: &ast::DataType) -> keys::Declared {
    keys::Declared::parse(&data_type.to_string())
}

/// The type of ours that a cast names, if there is one.
pub fn cast_type(data_type: &ast::DataType) -> Option<Type> {
    Type::parse(&data_type.to_string()).ok()
}
