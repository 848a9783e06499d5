//! The values of columns that a statement does not give.

use keys::Value;
use syntax::ast;

use crate::scalar::Scalar;
use crate::{Catalog, Column, Result};

/// Whether an expression is the word DEFAULT.
pub(crate) fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

/// What a column holds when nothing is said.
pub(crate) fn default_scalar(_catalog: &Catalog, _column: &Column) -> Result<Scalar> {
    Ok(Scalar::Value(Value::Null))
}
