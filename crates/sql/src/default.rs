//! The values of columns that a statement does not give.

use keys::Value;
use syntax::{Kind, ast};

use crate::scalar::{Scalar, Scope};
use crate::{Column, Error, Result};

/// Whether an expression is the word DEFAULT.
pub(crate) fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

/// What a column holds when nothing is said.
pub(crate) fn default_scalar(column: &Column) -> Result<Scalar> {
    let Some(text) = &column.default else {
        return Ok(Scalar::Value(Value::Null));
    };
    let broken = || Error::Internal {
        what: format!("the default `{text}` of column `{}`", column.name),
    };
    let expr = expression(text).ok_or_else(broken)?;
    let scalar = Scope::default().assign(&expr, column.kind)?;
    scalar.ok_or_else(broken)
}

/// An expression that was kept as text.
fn expression(text: &str) -> Option<ast::Expr> {
    let statement = syntax::parse(&format!("SELECT {text}")).ok()?.pop()?;
    let Kind::Query(query) = statement.kind else {
        return None;
    };
    let ast::SetExpr::Select(mut select) = *query.query.body else {
        return None;
    };
    match select.projection.pop()? {
        ast::SelectItem::UnnamedExpr(expr) => Some(expr),
        _ => None,
    }
}
