//! What the columns of a result are called and of which type they are.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use keys::{Declared, Type};
use syntax::ast;
use txn::TableId;

use super::origins::Told;
use super::{results, unique};
use crate::Table;
use crate::names::tree_name;
use crate::system::table_oid;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether its values are lists of that type, written as PostgreSQL writes them: `{1,2}`.
    pub list: bool,
    /// What PostgreSQL calls its type, if that is not the usual name for it.
    pub declared: Declared,
    /// The column of a table that it is, unchanged.
    pub origin: Option<Origin>,
}

/// A column of a table, by PostgreSQL's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The table's number in `pg_class`.
    pub table: u32,
    /// The column's number in `pg_attribute`.
    pub column: i16,
}

impl Origin {
    /// The number of a table.
    pub fn table_number(table: &Table) -> Option<u32> {
        u32::try_from(table_oid(table.id())).ok()
    }

    /// The column at this position of a table.
    pub(crate) fn new(table: TableId, position: usize) -> Option<Self> {
        let number = i16::try_from(position).ok()?.checked_add(1)?;
        Some(Self {
            table: u32::try_from(table_oid(table)).ok()?,
            column: number,
        })
    }
}

impl ResultColumn {
    /// A column that comes from nowhere in particular.
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self {
            name: name.into(),
            kind,
            list: false,
            declared: Declared::Usual,
            origin: None,
        }
    }

    /// The column at this position of a table.
    pub(crate) fn of(table: &Table, position: usize) -> Option<Self> {
        let column = table.schema().columns().get(position)?;
        Some(Self {
            declared: column.declared,
            origin: Origin::new(table.id(), position),
            ..Self::new(&column.name, column.kind)
        })
    }
}

/// The columns of a result whose fields these are, by these names where there are any.
pub(crate) fn columns<'f>(
    fields: impl Iterator<Item = &'f FieldRef>,
    names: &[Option<String>],
    told: &[Told],
) -> Arc<[ResultColumn]> {
    let column = |(index, field): (usize, &FieldRef)| {
        let name = names.get(index).cloned().flatten();
        let list = results::element(field);
        let told = told.get(index).copied().filter(|_| list.is_none());
        let told = told.unwrap_or_default();
        let kind = match results::kind_of(list.unwrap_or(field)) {
            Type::Utf8 if told.json => Type::Json,
            kind => kind,
        };
        let declared = match kind {
            Type::Decimal { .. } if !told.exact && list.is_none() => Declared::Numeric,
            _ => told.declared.of(kind),
        };
        ResultColumn {
            name: name.unwrap_or_else(|| unique::seen(field.name()).to_owned()),
            kind,
            list: list.is_some(),
            declared,
            origin: told.origin,
        }
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
    let declared = syntax::cast_declared(data_type);
    let name = match syntax::cast_type(data_type) {
        Some(Type::Bool) => "bool",
        Some(Type::Int16) => "int2",
        Some(Type::Int32) => "int4",
        Some(Type::Int64) => "int8",
        Some(Type::Float) => "float4",
        Some(Type::Double) => "float8",
        Some(Type::Decimal { .. }) => "numeric",
        Some(Type::Utf8) => match declared {
            Declared::Varchar(_) => "varchar",
            Declared::Char(_) => "bpchar",
            _ => "text",
        },
        Some(Type::String) => "bytea",
        Some(Type::Date) => "date",
        Some(Type::Datetime) => "timestamp",
        Some(Type::Timestamp) => match declared {
            Declared::Timestamp(_) => "timestamp",
            _ => "timestamptz",
        },
        Some(Type::Interval) => "interval",
        Some(Type::Uuid) => "uuid",
        Some(Type::Json) => match declared {
            Declared::Jsonb => "jsonb",
            _ => "json",
        },
        _ => "?column?",
    };
    name.to_owned()
}
