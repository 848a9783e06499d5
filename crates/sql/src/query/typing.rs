//! Which types the parts of an expression have: numbers and texts in a statement take the type of what
//! stands beside them, and arithmetic and casts become ours ([`super::checked`]).
//!
//! ```text
//!   k + 1          1 is of k's type, if it fits
//!   day = '…'      the text is read as a day, or refused with PostgreSQL's code for that
//!   1 + 1          Int32, as in PostgreSQL and YQL
//!   0.1 + 0.2      exact, as in PostgreSQL; beside a float a decimal is a float
//! ```

use std::sync::Arc;

use datafusion::arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result as DataFusionResult};
use datafusion::logical_expr::expr::{Case, InList, ScalarFunction};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    Between, BinaryExpr, Cast, Expr, ExprSchemable, Operator, ScalarUDF,
};
use datafusion::scalar::ScalarValue;
use keys::types::DECIMAL_PRECISION_MAX;
use keys::{Decimal, Declared, Type, Value};
use syntax::ast::BinaryOperator;

use super::checked::{Body, Checked};
use super::columns::{data_type, scalar};
use super::json::Question;
use super::origins::declared_in;
use super::provider::external;
use super::results;
use crate::arithmetic::{self, Operation};
use crate::{Error, Fault, cast, number};

const DAY_US: i64 = 86_400_000_000;
const NANOS_PER_MICRO: i64 = 1_000;

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
        Expr::ScalarFunction(call) => function(call, schema),
        Expr::Case(case) => choice(case, schema),
        other => Ok(Transformed::no(other)),
    }
}

/// A call, whose arguments may have other types now than when it was read.
fn function(call: ScalarFunction, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    if let Some(Body::Binary(op)) = Checked::body_of(&call) {
        let [left, right] = call.args.as_slice() else {
            return Ok(Transformed::no(Expr::ScalarFunction(call)));
        };
        let again = arithmetic(op, left.clone(), right.clone(), schema)?;
        return Ok(match again {
            Ok(expr) => Transformed::yes(expr),
            Err(_) => Transformed::no(Expr::ScalarFunction(call)),
        });
    }
    let ScalarFunction { func, mut args } = call;
    match func.name() {
        "ceil" | "floor" | "trunc" => {
            if let [arg] = args.as_slice()
                && let Some(Type::Decimal { precision, scale }) = known(arg, schema)
            {
                return Ok(Transformed::yes(whole(
                    func,
                    arg.clone(),
                    (precision, scale),
                )?));
            }
        }
        "coalesce" | "greatest" | "least" => unite(args.iter_mut(), schema)?,
        "nullif" => {
            if let [left, right] = args.as_mut_slice() {
                let kind = known(left, schema);
                *right = beside(right.clone(), kind)?;
            }
        }
        _ => {}
    }
    Ok(Transformed::yes(Expr::ScalarFunction(
        ScalarFunction::new_udf(func, args),
    )))
}

/// What `ceil` and its like make of a decimal has nothing after the point, and may have a digit more.
fn whole(func: Arc<ScalarUDF>, arg: Expr, (precision, scale): (u8, u8)) -> DataFusionResult<Expr> {
    let precision = (precision + 1).min(DECIMAL_PRECISION_MAX);
    let arg = converted(arg, Type::Decimal { precision, scale })?;
    let call = ScalarFunction::new_udf(func, vec![arg]);
    let kind = Type::Decimal {
        precision: (precision - scale).max(1),
        scale: 0,
    };
    Ok(Checked::call(
        Body::Cast(Declared::Usual),
        vec![Expr::ScalarFunction(call)],
        kind,
    ))
}

/// CASE, whose results are all of one type.
fn choice(mut case: Case, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let results = case.when_then_expr.iter_mut().map(|(_, then)| then);
    let results = results.chain(case.else_expr.iter_mut());
    unite(results.map(Box::as_mut), schema)?;
    Ok(Transformed::yes(Expr::Case(case)))
}

/// Gives numbers of which one is a float or a decimal the type that holds them all. DataFusion would
/// make decimals of floats.
fn unite<'e>(exprs: impl Iterator<Item = &'e mut Expr>, schema: &DFSchema) -> DataFusionResult<()> {
    let mut exprs: Vec<&mut Expr> = exprs.collect();
    let kinds = exprs.iter().filter_map(|expr| known(expr, schema));
    let Some(common) = common(kinds) else {
        return Ok(());
    };
    for expr in &mut exprs {
        if known(expr, schema).is_some_and(|kind| kind.is_numeric() && kind != common) {
            **expr = converted(expr.clone(), common)?;
        }
    }
    Ok(())
}

/// The type that holds numbers of all these types, if one of them is a float or a decimal and all are
/// numbers.
fn common(kinds: impl Iterator<Item = Type>) -> Option<Type> {
    let kinds: Vec<Type> = kinds.collect();
    let (first, rest) = kinds.split_first()?;
    let special = |kind: &Type| kind.is_numeric() && !kind.is_integer();
    if !kinds.iter().all(|kind| kind.is_numeric()) || !kinds.iter().any(special) {
        return None;
    }
    let mut common = *first;
    for kind in rest {
        common = match (common, *kind) {
            (known, kind) if known == kind => known,
            (known, kind) => arithmetic::union_type(known, kind),
        };
    }
    Some(common)
}

/// An expression in another type; a literal at once.
fn converted(expr: Expr, kind: Type) -> DataFusionResult<Expr> {
    match decimal(&expr) {
        Some(value) => literal_of(&value, kind),
        None => Ok(Checked::call(Body::Cast(Declared::Usual), vec![expr], kind)),
    }
}

/// A decimal as a statement writes it.
fn decimal(expr: &Expr) -> Option<Value> {
    let Expr::Literal(ScalarValue::Decimal128(Some(unscaled), _, scale), None) = expr else {
        return None;
    };
    let scale = u8::try_from(*scale).ok()?;
    Decimal::new(*unscaled, scale).map(Value::Decimal)
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
            // A day is 24 hours here as it is there; only beside a time is it a day of the calendar.
            let (left, right) = (span(left), span(right));
            let (left_kind, right_kind) = (known(&left, schema), known(&right, schema));
            let left = beside(left, right_kind)?;
            let right = beside(right, left_kind)?;
            let (left_kind, right_kind) = (known(&left, schema), known(&right, schema));
            comparable(op, left_kind, right_kind)?;
            let (left, right) = match (left_kind, right_kind) {
                (Some(Type::Decimal { .. }), Some(Type::Float | Type::Double)) => {
                    (converted(left, Type::Double)?, right)
                }
                (Some(Type::Float | Type::Double), Some(Type::Decimal { .. })) => {
                    (left, converted(right, Type::Double)?)
                }
                _ => (left, right),
            };
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
    let (left, right) = match op {
        Operation::Multiply | Operation::Divide => (span(left), span(right)),
        _ => (left, right),
    };
    if matches!(op, Operation::Add | Operation::Subtract)
        && let Some((left, right)) = within_day(&left, &right, schema)
    {
        return Ok(Err((left, right)));
    }
    if let Some(scaled) = scaled(op, &left, &right, schema)? {
        return Ok(Ok(scaled));
    }
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

/// A day and a written span with hours or less, as a time and the span: a day cannot hold them.
fn within_day(left: &Expr, right: &Expr, schema: &DFSchema) -> Option<(Expr, Expr)> {
    let fine = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(span)), None) => span.nanoseconds != 0,
        _ => false,
    };
    let time = |expr: &Expr| {
        let day = known(expr, schema) == Some(Type::Date);
        let body = Body::Cast(Declared::Timestamp(None));
        day.then(|| Checked::call(body, vec![expr.clone()], Type::Timestamp))
    };
    match (fine(left), fine(right)) {
        (false, true) => time(left).map(|left| (left, right.clone())),
        (true, false) => time(right).map(|right| (left.clone(), right)),
        _ => None,
    }
}

/// A span of time as a statement writes it, as one of ours, so that it can be multiplied. One with months
/// is none: how long those are is known only beside a day.
fn span(expr: Expr) -> Expr {
    let Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(span)), None) = &expr else {
        return expr;
    };
    let days_us = i64::from(span.days).checked_mul(DAY_US);
    let whole = days_us.and_then(|days| days.checked_add(span.nanoseconds / NANOS_PER_MICRO));
    match whole.filter(|_| span.months == 0) {
        Some(us) => Expr::Literal(ScalarValue::DurationMicrosecond(Some(us)), None),
        None => expr,
    }
}

/// A span by NULL, which is NULL, or a span with months by a number. That number has to be written: a
/// span that is computed has microseconds and no months.
fn scaled(
    op: Operation,
    left: &Expr,
    right: &Expr,
    schema: &DFSchema,
) -> DataFusionResult<Option<Expr>> {
    let with_months = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(span)), None) => Some(*span),
        _ => None,
    };
    let is_span =
        |expr: &Expr| with_months(expr).is_some() || known(expr, schema) == Some(Type::Interval);
    let (span, by) = match op {
        Operation::Multiply | Operation::Divide if is_span(left) => (left, right),
        Operation::Multiply if is_span(right) => (right, left),
        _ => return Ok(None),
    };
    let times = |span: IntervalMonthDayNano, by: i64| {
        Some(ScalarValue::new_interval_mdn(
            span.months.checked_mul(i32::try_from(by).ok()?)?,
            span.days.checked_mul(i32::try_from(by).ok()?)?,
            span.nanoseconds.checked_mul(by)?,
        ))
    };
    let value = match (with_months(span), by, op) {
        (_, Expr::Literal(ScalarValue::Null, _), _) => Some(ScalarValue::DurationMicrosecond(None)),
        (None, ..) => return Ok(None),
        (Some(span), Expr::Literal(ScalarValue::Int64(Some(by)), None), Operation::Multiply) => {
            times(span, *by)
        }
        _ => None,
    };
    let refused = || Error::Refused {
        fault: Fault::Feature,
        what: "an interval with months can be multiplied only by a whole number that is written: \
               a computed one counts microseconds, and months differ in length; write days instead"
            .to_owned(),
    };
    let value = value.ok_or_else(|| external(refused()))?;
    Ok(Some(Expr::Literal(value, None)))
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
                | ScalarValue::Decimal128(Some(_), ..)
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

/// A literal of a type.
fn literal_of(value: &Value, kind: Type) -> DataFusionResult<Expr> {
    let value = cast(value.clone(), kind).map_err(external)?;
    let value = scalar(&value).map_err(external)?;
    Ok(Expr::Literal(value.cast_to(&data_type(kind))?, None))
}

/// The text beside a value of type `other`; a decimal keeps all its digits.
fn read(text: &str, other: Type) -> DataFusionResult<Expr> {
    match (other, number::exact(text)) {
        (Type::Decimal { .. }, Some(exact)) => {
            literal_of(&Value::Decimal(exact), number::narrowest(exact))
        }
        _ => literal_of(&Value::from(text), other),
    }
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
        ScalarValue::Decimal128(Some(_), ..) if matches!(other, Type::Float | Type::Double) => {
            decimal(&expr).map_or(Ok(expr), |value| literal_of(&value, Type::Double))
        }
        ScalarValue::Utf8(Some(text)) if other.is_numeric() => read(text, other),
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
            read(text, other)
        }
        Expr::Literal(ScalarValue::Decimal128(..), None) if other.is_integer() => {
            let whole = decimal(&expr).and_then(|value| number::whole(&value, other));
            whole.map_or(Ok(expr), |value| literal(&value))
        }
        Expr::Literal(ScalarValue::Decimal128(..), None) => beside_number(expr, other),
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
    if let (Some(value), Type::Double) = (decimal(&cast.expr), to) {
        return literal_of(&value, to).map(Transformed::yes);
    }
    let declared = declared_in(&cast.field);
    let other = |from: Type| from != to && !theirs(from);
    // Nobody else knows how to cut a text or round a time.
    let cuts = match declared {
        Declared::Timestamp(None) => from.is_none_or(|from| from == Type::Utf8),
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
