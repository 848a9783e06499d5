//! Which types the parts of an expression have: numbers and texts in a statement take the type of what
//! stands beside them, and arithmetic and casts become ours ([`super::checked`]).
//!
//! ```text
//!   k + 1          1 is of k's type, if it fits
//!   day = '…'      the text is read as a day, or refused with PostgreSQL's code for that
//!   1 + 1          Int32, as in PostgreSQL and YQL
//! ```

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result as DataFusionResult};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, Operator};
use datafusion::scalar::ScalarValue;
use keys::{Declared, Type, Value};
use syntax::ast::BinaryOperator;

use super::checked::{Body, Checked};
use super::columns::{data_type, scalar};
use super::json::Question;
use super::origins::declared_in;
use super::provider::external;
use super::results;
use crate::arithmetic::{self, Operation};
use crate::{Error, cast};

/// Types what has types while a statement is read, so that nothing is refused that we can do.
#[derive(Debug)]
pub(crate) struct Typing;

impl ExprPlanner for Typing {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> DataFusionResult<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        if let Some(question) = Question::of(&op) {
            return asked(question, left, right, schema);
        }
        let operation = match op {
            BinaryOperator::Plus => Operation::Add,
            BinaryOperator::Minus => Operation::Subtract,
            BinaryOperator::Multiply => Operation::Multiply,
            BinaryOperator::Divide => Operation::Divide,
            BinaryOperator::Modulo => Operation::Modulo,
            _ => return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right })),
        };
        Ok(match arithmetic(operation, left, right, schema)? {
            Ok(call) => PlannerResult::Planned(call),
            Err((left, right)) => PlannerResult::Original(RawBinaryExpr { op, left, right }),
        })
    }
}

/// An operator on JSON.
fn asked(
    question: Question,
    left: Expr,
    right: Expr,
    schema: &DFSchema,
) -> DataFusionResult<PlannerResult<RawBinaryExpr>> {
    match known(&left, schema) {
        Some(Type::Json) => Ok(PlannerResult::Planned(Checked::call(
            Body::Json(question),
            vec![left, right],
            question.output(),
        ))),
        kind => Err(external(Error::NoSuchOperator {
            operator: question.to_string(),
            left: kind.unwrap_or(Type::Utf8),
            right: known(&right, schema).unwrap_or(Type::Utf8),
        })),
    }
}

/// One expression whose parts are typed already.
pub(crate) fn expression(expr: Expr, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => binary(*left, op, *right, schema),
        Expr::InList(InList {
            expr,
            list,
            negated,
        }) => {
            let kind = known(&expr, schema);
            let list = list.into_iter().map(|item| beside(item, kind));
            let list = list.collect::<DataFusionResult<Vec<_>>>()?;
            Ok(Transformed::yes(Expr::InList(InList::new(
                expr, list, negated,
            ))))
        }
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => {
            let kind = known(&expr, schema);
            let low = Box::new(beside(*low, kind)?);
            let high = Box::new(beside(*high, kind)?);
            Ok(Transformed::yes(Expr::Between(Between::new(
                expr, negated, low, high,
            ))))
        }
        Expr::Negative(inner) => {
            let kind = known(&inner, schema).and_then(arithmetic::negated_type);
            Ok(match kind {
                Some(kind) => Transformed::yes(Checked::call(Body::Negate, vec![*inner], kind)),
                None => Transformed::no(Expr::Negative(inner)),
            })
        }
        Expr::Cast(cast) => cast_call(cast, schema),
        other => Ok(Transformed::no(other)),
    }
}

fn binary(
    left: Expr,
    op: Operator,
    right: Expr,
    schema: &DFSchema,
) -> DataFusionResult<Transformed<Expr>> {
    let operation = match op {
        Operator::Plus => Operation::Add,
        Operator::Minus => Operation::Subtract,
        Operator::Multiply => Operation::Multiply,
        Operator::Divide => Operation::Divide,
        Operator::Modulo => Operation::Modulo,
        Operator::Eq
        | Operator::NotEq
        | Operator::Lt
        | Operator::LtEq
        | Operator::Gt
        | Operator::GtEq
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom => {
            let (left_kind, right_kind) = (known(&left, schema), known(&right, schema));
            let left = beside(left, right_kind)?;
            let right = beside(right, left_kind)?;
            comparable(op, known(&left, schema), known(&right, schema))?;
            return Ok(Transformed::yes(again(left, op, right)));
        }
        _ => return Ok(Transformed::no(again(left, op, right))),
    };
    Ok(match arithmetic(operation, left, right, schema)? {
        Ok(call) => Transformed::yes(call),
        Err((left, right)) => Transformed::no(again(left, op, right)),
    })
}

/// Refuses to compare what has nothing in common, which DataFusion would turn into text.
fn comparable(op: Operator, left: Option<Type>, right: Option<Type>) -> DataFusionResult<()> {
    let class = |kind: Type| match kind {
        kind if kind.is_numeric() => 0,
        Type::Utf8 | Type::Json | Type::String => 1,
        Type::Date | Type::Datetime | Type::Timestamp => 2,
        Type::Interval => 3,
        Type::Uuid => 4,
        _ => 5,
    };
    match (left, right) {
        (Some(left), Some(right)) if class(left) != class(right) => {
            Err(external(Error::NoSuchOperator {
                operator: op.to_string(),
                left,
                right,
            }))
        }
        _ => Ok(()),
    }
}

fn again(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// The two sides back if this is not for us.
type Computed = Result<Expr, (Expr, Expr)>;

fn arithmetic(
    op: Operation,
    left: Expr,
    right: Expr,
    schema: &DFSchema,
) -> DataFusionResult<Computed> {
    let (Some(left_kind), Some(right_kind)) = (known(&left, schema), known(&right, schema)) else {
        return Ok(Err((left, right)));
    };
    let (left, right) = match (untyped(&left), untyped(&right)) {
        (true, true) => {
            let (left, right) = (natural(left), natural(right));
            let kinds = (known(&left, schema), known(&right, schema));
            let left = kinds
                .1
                .map_or(Ok(left.clone()), |kind| beside_number(left, kind))?;
            let right = kinds
                .0
                .map_or(Ok(right.clone()), |kind| beside_number(right, kind))?;
            (left, right)
        }
        (true, false) => (beside_number(left, right_kind)?, right),
        (false, true) => (left, beside_number(right, left_kind)?),
        (false, false) => (left, right),
    };
    let kinds = known(&left, schema).zip(known(&right, schema));
    let output = kinds.and_then(|(left, right)| arithmetic::result_type(op, left, right));
    Ok(match output {
        Some(kind) => Ok(Checked::call(Body::Binary(op), vec![left, right], kind)),
        None => Err((left, right)),
    })
}

/// Our type of an expression, if it is exactly one of ours.
fn known(expr: &Expr, schema: &DFSchema) -> Option<Type> {
    // DataFusion would ask every part of a long sum again, and write out its name each time.
    if let Some(kind) = Checked::output_of(expr) {
        return Some(kind);
    }
    let (_, field) = expr.to_field(schema).ok()?;
    let kind = results::kind_of(&field);
    (data_type(kind) == *field.data_type()).then_some(kind)
}

/// Whether an expression is a number or a text as a statement writes it.
fn untyped(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Literal(
            ScalarValue::Int64(Some(_))
                | ScalarValue::UInt64(Some(_))
                | ScalarValue::Float64(Some(_))
                | ScalarValue::Utf8(Some(_)),
            None
        )
    )
}

/// A whole number in the type that it has by itself.
pub(crate) fn natural(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), None) => match i32::try_from(number) {
            Ok(number) => Expr::Literal(ScalarValue::Int32(Some(number)), None),
            Err(_) => Expr::Literal(ScalarValue::Int64(Some(number)), None),
        },
        other => other,
    }
}

fn literal(value: &Value) -> DataFusionResult<Expr> {
    Ok(Expr::Literal(scalar(value).map_err(external)?, None))
}

/// A literal as it counts in arithmetic with a value of type `other`.
fn beside_number(expr: Expr, other: Type) -> DataFusionResult<Expr> {
    let Expr::Literal(value, None) = &expr else {
        return Ok(expr);
    };
    match value {
        ScalarValue::Int64(Some(number)) => {
            match arithmetic::literal_beside(&Value::Int64(*number), other) {
                Some(value) => literal(&value),
                None => Ok(natural(expr)),
            }
        }
        ScalarValue::UInt64(Some(number)) => {
            match arithmetic::literal_beside(&Value::Uint64(*number), other) {
                Some(value) => literal(&value),
                None => Ok(expr),
            }
        }
        // What is written with a point is exact beside an exact number.
        ScalarValue::Float64(Some(number)) if matches!(other, Type::Decimal { .. }) => {
            let digits = number.to_string();
            let scale = digits.split_once('.').map_or(0, |(_, after)| after.len());
            let exact = u8::try_from(scale).ok().and_then(|scale| {
                let kind = Type::Decimal {
                    precision: keys::types::DECIMAL_PRECISION_MAX,
                    scale,
                };
                Value::parse(kind, &digits).ok()
            });
            exact.map_or(Ok(expr), |value| literal(&value))
        }
        ScalarValue::Utf8(Some(text)) if other.is_numeric() => {
            let value = cast(Value::from(text.as_str()), other).map_err(external)?;
            literal(&value)
        }
        _ => Ok(expr),
    }
}

/// A literal as it counts in a comparison with a value of type `other`.
fn beside(expr: Expr, other: Option<Type>) -> DataFusionResult<Expr> {
    let (Some(other), true) = (other, untyped(&expr)) else {
        return Ok(expr);
    };
    match &expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), None)
            if !matches!(other, Type::Utf8 | Type::Json) =>
        {
            let value = cast(Value::from(text.as_str()), other).map_err(external)?;
            literal(&value)
        }
        Expr::Literal(ScalarValue::Int64(_) | ScalarValue::UInt64(_), None)
            if other.is_integer() =>
        {
            beside_number(expr, other)
        }
        _ => Ok(expr),
    }
}

fn cast_call(cast: Cast, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let from = known(&cast.expr, schema);
    let to = results::kind_of(&cast.field);
    let ours = data_type(to) == *cast.field.data_type();
    // Arrow casts integers as we do, and DataFusion can look through its own casts.
    let theirs = |from: Type| from.is_integer() && (to.is_integer() || to == Type::Double);
    let declared = declared_in(&cast.field);
    let other = |from: Type| from != to && !theirs(from);
    // Nobody else knows how to cut a text.
    let cuts = match declared {
        Declared::Timestamp => from.is_none_or(|from| from == Type::Utf8),
        declared => declared.limits(),
    };
    match from {
        from if ours && (cuts || from.is_some_and(other)) => Ok(Transformed::yes(Checked::call(
            Body::Cast(declared),
            vec![*cast.expr],
            to,
        ))),
        _ => Ok(Transformed::no(Expr::Cast(cast))),
    }
}
