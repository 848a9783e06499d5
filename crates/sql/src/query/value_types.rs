//! Types for what has none by itself: parameters, texts and NULL in the columns of VALUES, and
//! parameters that are columns of a result.
//!
//! ```text
//!   VALUES ($1, 1::bigint), ($2::date, $3)     VALUES ($1::date, 1::bigint), ($2::date, $3::bigint)
//!   VALUES ($1)                                VALUES ($1::text), if the client did not state a type
//!   SELECT $1                                  SELECT $1::bigint, if the client stated that
//! ```
//!
//! The types are written into the statement, so that everything above such a column is planned with
//! the type that its values will have.

use std::ops::ControlFlow;

use keys::{Type, Value};
use syntax::ast::{self, Expr, Query, SelectItem, SetExpr, VisitMut, VisitorMut};

use crate::number;

/// Writes types where nothing else tells them. `hints` are the types that the client stated.
pub(super) fn write(query: &mut Query, hints: &[Option<Type>]) {
    let _: ControlFlow<()> = VisitMut::visit(query, &mut Writes { hints });
}

struct Writes<'a> {
    hints: &'a [Option<Type>],
}

impl VisitorMut for Writes<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.body(query.body.as_mut());
        ControlFlow::Continue(())
    }
}

impl Writes<'_> {
    fn body(&self, body: &mut SetExpr) {
        match body {
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            SetExpr::Values(values) => self.values(values),
            SetExpr::Select(select) => {
                for item in &mut select.projection {
                    if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } =
                        item
                        && let Some(kind) = self.stated(expr)
                    {
                        cast(expr, kind);
                    }
                }
            }
            _ => {}
        }
    }

    fn values(&self, values: &mut ast::Values) {
        let columns = values.rows.iter().map(|row| row.content.len()).max();
        for column in 0..columns.unwrap_or_default() {
            let cells = || {
                let rows = values.rows.iter();
                rows.filter_map(|row| row.content.get(column))
            };
            let kinds = cells().filter_map(|cell| self.kind(cell));
            let known = kinds.max_by_key(|kind| width(*kind));
            let parameters = cells().any(|cell| placeholder(cell).is_some());
            let unknown = cells().all(|cell| untyped(cell) || self.stated(cell).is_some());
            let kind = match known {
                Some(kind) => kind,
                None if parameters && unknown => Type::Utf8,
                None => continue,
            };
            for row in &mut values.rows {
                let Some(cell) = row.content.get_mut(column) else {
                    continue;
                };
                if let Some(own) = self.stated(cell).or_else(|| self.whole_number(cell)) {
                    cast(cell, own);
                } else if untyped(cell) {
                    let kind = kind_of(cell, kind);
                    cast(cell, kind);
                }
            }
        }
    }

    /// The type that the client stated for a parameter.
    fn stated(&self, expr: &Expr) -> Option<Type> {
        let index = placeholder(expr)?.strip_prefix('$')?;
        let index = index.parse::<usize>().ok()?.checked_sub(1)?;
        *self.hints.get(index)?
    }

    /// The type of a whole number that the statement writes.
    fn whole_number(&self, expr: &Expr) -> Option<Type> {
        match inside(expr) {
            Expr::UnaryOp { expr, .. } => self.whole_number(expr),
            Expr::Value(_) => self.kind(inside(expr)).filter(|kind| kind.is_integer()),
            _ => None,
        }
    }

    /// The type that an expression says it has.
    fn kind(&self, expr: &Expr) -> Option<Type> {
        match expr {
            Expr::Nested(inner) => self.kind(inner),
            Expr::Cast { data_type, .. } => syntax::cast_type(data_type),
            Expr::TypedString(text) => syntax::cast_type(&text.data_type),
            Expr::UnaryOp { expr, .. } => self.kind(expr),
            Expr::Value(value) => match &value.value {
                ast::Value::Number(digits, _) => Some(match number::written(digits).ok()? {
                    Value::Decimal(decimal) => number::narrowest(decimal),
                    other => other.value_type()?,
                }),
                ast::Value::Boolean(_) => Some(Type::Bool),
                _ => self.stated(expr),
            },
            _ => None,
        }
    }
}

fn inside(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

fn placeholder(expr: &Expr) -> Option<&str> {
    match inside(expr) {
        Expr::Value(value) => match &value.value {
            ast::Value::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression takes the type of what stands in the other rows.
fn untyped(expr: &Expr) -> bool {
    let Expr::Value(value) = inside(expr) else {
        return false;
    };
    matches!(
        value.value,
        ast::Value::Placeholder(_) | ast::Value::SingleQuotedString(_) | ast::Value::Null
    )
}

/// The type of a cell among others of type `kind`: a decimal in it keeps its own digits.
fn kind_of(cell: &Expr, kind: Type) -> Type {
    if !matches!(kind, Type::Decimal { .. }) {
        return kind;
    }
    match inside(cell) {
        Expr::Value(value) => match &value.value {
            ast::Value::Placeholder(_) => number::beside(kind),
            ast::Value::SingleQuotedString(text) => {
                number::exact(text).map_or(kind, number::narrowest)
            }
            _ => kind,
        },
        _ => kind,
    }
}

/// Which of several types of one column holds the values of the others.
fn width(kind: Type) -> u8 {
    match kind {
        Type::Double => 12,
        Type::Float => 11,
        Type::Decimal { .. } => 10,
        Type::Int64 | Type::Uint64 => 9,
        Type::Int32 | Type::Uint32 => 8,
        Type::Int16 | Type::Uint16 => 7,
        Type::Timestamp => 6,
        Type::Datetime => 5,
        Type::Utf8 => 0,
        _ => 1,
    }
}

fn cast(expr: &mut Expr, kind: Type) {
    let (name, modifiers) = match kind {
        Type::Decimal { precision, scale } => (
            "Decimal".to_owned(),
            vec![precision.to_string(), scale.to_string()],
        ),
        other => (other.to_string(), Vec::new()),
    };
    let name = ast::ObjectName::from(vec![ast::Ident::new(name)]);
    let null = Expr::Value(ast::Value::Null.into());
    *expr = Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(std::mem::replace(expr, null)),
        data_type: ast::DataType::Custom(name, modifiers),
        array: false,
        format: None,
    };
}
