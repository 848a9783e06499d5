//! What the columns of a result are called and of which type they are.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use keys::Type;
use syntax::ast;

use super::{results, unique};
use crate::names::tree_name;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether its values are lists of that type, written as PostgreSQL writes them: `{1,2}`.
    pub list: bool,
}

/// The columns of a result whose fields these are, by these names where there are any.
pub(crate) fn columns<'f>(
    fields: impl Iterator<Item = &'f FieldRef>,
    names: &[Option<String>],
) -> Arc<[ResultColumn]> {
    let column = |(index, field): (usize, &FieldRef)| ResultColumn {
        name: names
            .get(index)
            .cloned()
            .flatten()
            .unwrap_or_else(|| unique::seen(field.name()).to_owned()),
        kind: results::element(field).map_or_else(|| results::kind_of(field), results::kind_of),
        list: results::element(field).is_some(),
    };
    fields.enumerate().map(column).collect()
}

/// What PostgreSQL calls the columns that a query gives no name: a function's own name, or `?column?`.
pub(crate) fn titles(query: &ast::Query) -> Vec<Option<String>> {
    body_titles(query.body.as_ref())
}

fn body_titles(body: &ast::SetExpr) -> Vec<Option<String>> {
    let select = match body {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { left, .. } => return body_titles(left),
        ast::SetExpr::Query(query) => return titles(query),
        _ => return Vec::new(),
    };
    let mut names = Vec::with_capacity(select.projection.len());
    for item in &select.projection {
        names.push(match item {
            ast::SelectItem::UnnamedExpr(expr) => title(expr),
            ast::SelectItem::ExprWithAlias { .. } => None,
            // How many columns a wildcard stands for is not known here.
            _ => return Vec::new(),
        });
    }
    names
}

pub(crate) fn title(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Identifier(name) => Some(tree_name(name)),
        ast::Expr::CompoundIdentifier(parts) => parts.last().map(tree_name),
        ast::Expr::Nested(inner) => title(inner),
        ast::Expr::Cast {
            expr, data_type, ..
        } => match title(expr) {
            Some(name) if name == "?column?" => Some(cast_title(data_type)),
            other => other,
        },
        ast::Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            name.map(tree_name)
        }
        ast::Expr::Case { .. } => Some("case".to_owned()),
        ast::Expr::Extract { .. } => Some("extract".to_owned()),
        ast::Expr::Substring { .. } => Some("substring".to_owned()),
        ast::Expr::Position { .. } => Some("position".to_owned()),
        ast::Expr::Trim { .. } => Some("btrim".to_owned()),
        ast::Expr::Ceil { .. } => Some("ceil".to_owned()),
        ast::Expr::Floor { .. } => Some("floor".to_owned()),
        ast::Expr::Exists { .. } => Some("exists".to_owned()),
        ast::Expr::Array(_) => Some("array".to_owned()),
        ast::Expr::Subquery(query) => titles(query).into_iter().next().flatten(),
        _ => Some("?column?".to_owned()),
    }
}

/// PostgreSQL names a cast value by its type.
fn cast_title(data_type: &ast::DataType) -> String {
    let name = match syntax::cast_type(data_type) {
        Some(Type::Bool) => "bool",
        Some(Type::Int16) => "int2",
        Some(Type::Int32) => "int4",
        Some(Type::Int64) => "int8",
        Some(Type::Float) => "float4",
        Some(Type::Double) => "float8",
        Some(Type::Decimal { .. }) => "numeric",
        Some(Type::Utf8) => "text",
        Some(Type::String) => "bytea",
        Some(Type::Date) => "date",
        Some(Type::Datetime | Type::Timestamp) => "timestamp",
        Some(Type::Interval) => "interval",
        Some(Type::Uuid) => "uuid",
        Some(Type::Json) => "json",
        _ => "?column?",
    };
    name.to_owned()
}
