//! DataFusion's filters as conditions on key columns.

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use keys::Value;

use super::columns::data_type;
use super::results;
use crate::Schema;
use crate::conditions::{Condition, Conditions, Inclusive};

/// What the filters, which must all hold, ask of the key columns.
pub(crate) fn conditions(schema: &Schema, filters: &[Expr]) -> Conditions {
    let mut found = Conditions::new(schema.key_positions().len());
    for filter in filters {
        add(schema, filter, &mut found);
    }
    found
}

fn add(schema: &Schema, filter: &Expr, found: &mut Conditions) {
    match filter {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And,
            right,
        }) => {
            add(schema, left, found);
            add(schema, right, found);
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if let Some((column, value)) = column_and_value(schema, left, right) {
                compare(column, *op, value, found);
            } else if let Some((column, value)) = column_and_value(schema, right, left)
                && let Some(op) = op.swap()
            {
                compare(column, op, value, found);
            }
        }
        Expr::InList(list) if !list.negated => {
            let Some(column) = key_column(schema, &list.expr) else {
                return;
            };
            let values: Option<Vec<Value>> = list
                .list
                .iter()
                .map(|item| literal(schema, column, item))
                .collect();
            if let Some(values) = values {
                let values = values
                    .into_iter()
                    .filter(|value| !value.is_null())
                    .collect();
                found.add(column, Condition::OneOf(values));
            }
        }
        Expr::Between(between) if !between.negated => {
            let Some(column) = key_column(schema, &between.expr) else {
                return;
            };
            if let Some(low) = literal(schema, column, &between.low) {
                compare(column, Operator::GtEq, low, found);
            }
            if let Some(high) = literal(schema, column, &between.high) {
                compare(column, Operator::LtEq, high, found);
            }
        }
        Expr::IsNull(inner) => {
            if let Some(column) = key_column(schema, inner) {
                found.add(column, Condition::OneOf(vec![Value::Null]));
            }
        }
        _ => {}
    }
}

fn compare(column: usize, op: Operator, value: Value, found: &mut Conditions) {
    let unknown = value.is_null() && op != Operator::IsNotDistinctFrom;
    let condition = match op {
        // A comparison with NULL is not true for any row.
        Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq if unknown => {
            Condition::OneOf(Vec::new())
        }
        Operator::Eq | Operator::IsNotDistinctFrom => Condition::OneOf(vec![value]),
        Operator::Lt => Condition::Below(value, Inclusive::No),
        Operator::LtEq => Condition::Below(value, Inclusive::Yes),
        Operator::Gt => Condition::Above(value, Inclusive::No),
        Operator::GtEq => Condition::Above(value, Inclusive::Yes),
        _ => return,
    };
    found.add(column, condition);
}

fn column_and_value(schema: &Schema, column: &Expr, value: &Expr) -> Option<(usize, Value)> {
    let column = key_column(schema, column)?;
    Some((column, literal(schema, column, value)?))
}

/// Which column of the key an expression names.
fn key_column(schema: &Schema, expr: &Expr) -> Option<usize> {
    let Expr::Column(column) = expr else {
        return None;
    };
    schema.key_columns().position(|one| one.name == column.name)
}

/// A literal of exactly the key column's type; anything else is left to the filter.
fn literal(schema: &Schema, column: usize, expr: &Expr) -> Option<Value> {
    let Expr::Literal(scalar, _) = expr else {
        return None;
    };
    let kind = schema.key_columns().nth(column)?.kind;
    if scalar.is_null() {
        return Some(Value::Null);
    }
    let scalar = if scalar.data_type() == data_type(kind) {
        scalar.clone()
    } else {
        exact_cast(scalar, &data_type(kind))?
    };
    let array = scalar.to_array().ok()?;
    results::value_at(&array, 0, kind).ok()
}

/// The scalar in another type, if that loses nothing.
fn exact_cast(
    scalar: &ScalarValue,
    to: &datafusion::arrow::datatypes::DataType,
) -> Option<ScalarValue> {
    let there = scalar.cast_to(to).ok()?;
    let back = there.cast_to(&scalar.data_type()).ok()?;
    (back == *scalar && !there.is_null()).then_some(there)
}
