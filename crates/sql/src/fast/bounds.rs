//! What single parts of a filter ask of key columns.

use keys::{Type, Value};
use syntax::ast;

use crate::conditions::Inclusive;
use crate::names::tree_name;
use crate::query::list_element;
use crate::scalar::{Comparison, Scalar, Scope, spelled_out};
use crate::{Schema, number};

/// The columns of a key.
pub(super) struct Key<'k> {
    /// Where they stand in the table, in the order of the key, and after them what else generated
    /// ones are worked out from.
    pub(super) positions: &'k [usize],
    pub(super) kinds: &'k [Type],
    /// How many of them are the key's.
    pub(super) columns: usize,
}

/// What is asked of one key column.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    /// It equals one of these; NULL equals nothing.
    Equal(Vec<Scalar>),
    /// It equals an element of a list, which is a parameter.
    Listed(usize),
    Null,
    Above(Scalar, Inclusive),
    Below(Scalar, Inclusive),
}

impl Bound {
    /// Whether it binds the column to values, and not to a range of them.
    pub(super) fn is_value(&self) -> bool {
        matches!(self, Self::Equal(_) | Self::Listed(_) | Self::Null)
    }

    pub(super) fn shown(&self, name: &str, schema: &Schema) -> String {
        let sign = |inclusive: &Inclusive| match inclusive {
            Inclusive::Yes => "=",
            Inclusive::No => "",
        };
        match self {
            Self::Equal(values) => match values.as_slice() {
                [value] => format!("{name} = {}", value.shown(schema)),
                values => {
                    let values = values.iter().map(|value| value.shown(schema).to_string());
                    format!("{name} IN ({})", values.collect::<Vec<_>>().join(", "))
                }
            },
            Self::Listed(parameter) => format!("{name} = ANY (${})", parameter + 1),
            Self::Null => format!("{name} IS NULL"),
            Self::Above(value, inclusive) => {
                format!("{name} >{} {}", sign(inclusive), value.shown(schema))
            }
            Self::Below(value, inclusive) => {
                format!("{name} <{} {}", sign(inclusive), value.shown(schema))
            }
        }
    }
}

/// What a part of a filter asks of one key column, if that is all it asks.
pub(super) fn bounds(
    key: &Key<'_>,
    part: &ast::Expr,
    scope: &mut Scope<'_>,
) -> Option<(usize, Vec<Bound>)> {
    match part {
        ast::Expr::BinaryOp { left, op, right } => {
            let comparison = Comparison::new(op)?;
            if let Some(column) = key_column(key, left, scope) {
                let value = key_value(key, column, right, scope)?;
                return Some((column, vec![compared(comparison, value)?]));
            }
            let column = key_column(key, right, scope)?;
            let value = key_value(key, column, left, scope)?;
            Some((column, vec![compared(comparison.swapped(), value)?]))
        }
        ast::Expr::InList {
            expr,
            list,
            negated: false,
        } => {
            let column = key_column(key, expr, scope)?;
            let values = list.iter().map(|item| key_value(key, column, item, scope));
            Some((column, vec![Bound::Equal(values.collect::<Option<_>>()?)]))
        }
        ast::Expr::AnyOp {
            left,
            compare_op: ast::BinaryOperator::Eq,
            right,
            ..
        } => {
            if let Some(plain) = spelled_out(part) {
                return bounds(key, &plain, scope);
            }
            let column = key_column(key, left, scope).filter(|column| *column < key.columns)?;
            let list = match right.as_ref() {
                ast::Expr::Cast {
                    expr, data_type, ..
                } if holds(*key.kinds.get(column)?, list_element(data_type)?) => expr,
                other => other,
            };
            Some((column, vec![Bound::Listed(scope.list(list)?)]))
        }
        ast::Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => {
            let column = key_column(key, expr, scope)?;
            let low = key_value(key, column, low, scope)?;
            let high = key_value(key, column, high, scope)?;
            let low = Bound::Above(low, Inclusive::Yes);
            Some((column, vec![low, Bound::Below(high, Inclusive::Yes)]))
        }
        ast::Expr::IsNull(inner) => Some((key_column(key, inner, scope)?, vec![Bound::Null])),
        ast::Expr::IsNotDistinctFrom(left, right) => {
            let column = key_column(key, left, scope)?;
            match key_value(key, column, right, scope)? {
                Scalar::Value(Value::Null) => Some((column, vec![Bound::Null])),
                Scalar::Value(value) => {
                    Some((column, vec![Bound::Equal(vec![Scalar::Value(value)])]))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether every value of type `other` is one of type `kind`, written alike.
fn holds(kind: Type, other: Type) -> bool {
    kind == other
        || matches!(
            (kind, other),
            (Type::Int64, Type::Int16 | Type::Int32) | (Type::Int32, Type::Int16)
        )
}

fn compared(comparison: Comparison, value: Scalar) -> Option<Bound> {
    Some(match comparison {
        Comparison::Equal => Bound::Equal(vec![value]),
        Comparison::Less => Bound::Below(value, Inclusive::No),
        Comparison::LessOrEqual => Bound::Below(value, Inclusive::Yes),
        Comparison::Greater => Bound::Above(value, Inclusive::No),
        Comparison::GreaterOrEqual => Bound::Above(value, Inclusive::Yes),
        Comparison::NotEqual => return None,
    })
}

/// Which column of the key an expression names.
fn key_column(key: &Key<'_>, expr: &ast::Expr, scope: &mut Scope<'_>) -> Option<usize> {
    let plain = matches!(
        expr,
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
    );
    match scope.compile(expr, None).ok()?.filter(|_| plain)? {
        Scalar::Column(position, _) => key.positions.iter().position(|at| *at == position),
        _ => None,
    }
}

/// A value to compare a key column with. What would have to be rounded or does not fit is compared by
/// DataFusion.
fn key_value(
    key: &Key<'_>,
    column: usize,
    expr: &ast::Expr,
    scope: &mut Scope<'_>,
) -> Option<Scalar> {
    let kind = *key.kinds.get(column)?;
    let scalar = scope.compile(expr, Some(number::beside(kind))).ok()??;
    if !scalar.is_fixed() {
        return None;
    }
    match (scalar.kind(), &scalar) {
        (None, Scalar::Value(_)) => Some(scalar),
        (None, _) => None,
        (Some(known), _) if known == kind => Some(scalar),
        (Some(known), Scalar::Value(value))
            if number::is_exact(known) && number::is_exact(kind) =>
        {
            number::whole(value, kind).map(Scalar::Value)
        }
        (Some(known), _) if number::is_exact(known) && number::is_exact(kind) => Some(scalar),
        _ => None,
    }
}

/// The name of a column that an expression is.
pub(crate) fn plain_column(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Identifier(name) => Some(tree_name(name)),
        ast::Expr::CompoundIdentifier(parts) => parts.last().map(tree_name),
        _ => None,
    }
}
