//! Expressions that are worked out row by row, without DataFusion.
//!
//! ```text
//!   abalance + $1     ─ compile ─►   Arithmetic(+, Column 2, Parameter 0)     ─ value ─►   Int32(17)
//!   'a', 7, now()                    Value, Value, Now
//!   excluded.v                       Excluded 1                      in ON CONFLICT DO UPDATE
//! ```
//!
//! They serve statements that touch few rows: keys in a filter, rows of VALUES, SET, DEFAULT,
//! RETURNING. What is not here is not an error: [`Scope::compile`] answers `None`, and the statement
//! is DataFusion's. What is here means the same in both.
//!
//! Compiling works out the types of parameters: `$1` has the type of what it is compared with,
//! assigned to or added to.

mod compile;
mod function;
mod listed;
mod shown;

use std::sync::Arc;

use keys::{Declared, Type, Value};
use syntax::ast::BinaryOperator;

pub(crate) use compile::{Scope, conjuncts, written_as};
pub(crate) use function::{Function, NOW};
pub(crate) use listed::{compares, spelled_out};

use crate::arithmetic::{self, Operation};
use crate::{Error, Executor, Result, cast, number};

/// An expression that is ready to be worked out.
#[derive(Clone, Debug)]
pub(crate) enum Scalar {
    /// A constant.
    Value(Value),
    /// `$n`, counted from 0, and the type it was given.
    Parameter(usize, Option<Type>),
    /// A column of the row.
    Column(usize, Type),
    /// A column of the row that was to be inserted.
    Excluded(usize, Type),
    /// The value as one of another type.
    Cast(Box<Self>, Type),
    /// `+ - * / %`.
    Arithmetic(Operation, Box<Self>, Box<Self>),
    /// `= <> < <= > >=`.
    Compare(Comparison, Box<Self>, Box<Self>),
    /// AND.
    And(Vec<Self>),
    /// OR.
    Or(Vec<Self>),
    /// NOT.
    Not(Box<Self>),
    /// IS NULL.
    IsNull(Box<Self>),
    /// IS DISTINCT FROM.
    Distinct(Box<Self>, Box<Self>),
    /// A function of any number of values.
    Call(Function, Arc<[Self]>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(crate) fn new(op: &BinaryOperator) -> Option<Self> {
        Some(match op {
            BinaryOperator::Eq => Self::Equal,
            BinaryOperator::NotEq => Self::NotEqual,
            BinaryOperator::Lt => Self::Less,
            BinaryOperator::LtEq => Self::LessOrEqual,
            BinaryOperator::Gt => Self::Greater,
            BinaryOperator::GtEq => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The same comparison with its sides changed.
    pub(crate) fn swapped(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// What an expression is worked out from.
#[derive(Clone, Copy)]
pub(crate) struct Given<'g> {
    /// The values of `$1`, `$2`, ….
    pub(crate) parameters: &'g [Value],
    /// The time of the transaction, in microseconds since 1970.
    pub(crate) now_us: i64,
    /// The row.
    pub(crate) row: &'g [Value],
    /// The row that was to be inserted.
    pub(crate) excluded: &'g [Value],
    /// Where sequences and chance come from, if anywhere.
    pub(crate) executor: Option<&'g Executor>,
}

impl<'g> Given<'g> {
    /// Nothing but the time.
    pub(crate) fn at(now_us: i64) -> Self {
        Self {
            parameters: &[],
            now_us,
            row: &[],
            excluded: &[],
            executor: None,
        }
    }

    /// The same, with this row.
    pub(crate) fn with_row(self, row: &'g [Value]) -> Self {
        Self { row, ..self }
    }
}

impl Scalar {
    /// The type of its values, if it has one: NULL and an unused parameter have none.
    pub(crate) fn kind(&self) -> Option<Type> {
        match self {
            Self::Value(Value::Decimal(decimal)) => Some(number::narrowest(*decimal)),
            Self::Value(value) => value.value_type(),
            Self::Parameter(_, kind) => *kind,
            Self::Column(_, kind) | Self::Excluded(_, kind) | Self::Cast(_, kind) => Some(*kind),
            Self::Arithmetic(op, left, right) => {
                arithmetic::result_type(*op, left.kind()?, right.kind()?)
            }
            Self::Compare(..)
            | Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::IsNull(_)
            | Self::Distinct(..) => Some(Type::Bool),
            Self::Call(function, arguments) => function.kind(arguments),
        }
    }

    /// Its value.
    pub(crate) fn value(&self, given: Given<'_>) -> Result<Value> {
        Ok(match self {
            Self::Value(value) => value.clone(),
            Self::Parameter(index, kind) => {
                let value = given.parameters.get(*index).cloned();
                let value = value.ok_or_else(|| Error::NoSuchParameter {
                    name: format!("${}", index + 1),
                })?;
                match kind {
                    Some(kind) => cast(value, *kind)?,
                    None => value,
                }
            }
            Self::Column(position, _) => given.row.get(*position).cloned().unwrap_or(Value::Null),
            Self::Excluded(position, _) => {
                let value = given.excluded.get(*position);
                value.cloned().unwrap_or(Value::Null)
            }
            Self::Cast(inner, kind) => cast(inner.value(given)?, *kind)?,
            Self::Arithmetic(op, left, right) => {
                arithmetic::apply(*op, &left.value(given)?, &right.value(given)?)?
            }
            Self::Compare(comparison, left, right) => {
                compare(*comparison, &left.value(given)?, &right.value(given)?)
            }
            Self::And(parts) => fold(parts, false, given)?,
            Self::Or(parts) => fold(parts, true, given)?,
            Self::Not(inner) => match inner.value(given)? {
                Value::Bool(yes) => Value::Bool(!yes),
                _ => Value::Null,
            },
            Self::IsNull(inner) => Value::Bool(inner.value(given)?.is_null()),
            Self::Distinct(left, right) => {
                Value::Bool(order(&left.value(given)?, &right.value(given)?).is_ne())
            }
            Self::Call(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments.iter() {
                    values.push(argument.value(given)?);
                }
                function.call(values, given)?
            }
        })
    }

    /// Whether it is the same for every row of a statement.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Self::Value(_) | Self::Parameter(..) => true,
            Self::Column(..) | Self::Excluded(..) => false,
            Self::Cast(inner, _) | Self::Not(inner) | Self::IsNull(inner) => inner.is_fixed(),
            Self::Arithmetic(_, left, right)
            | Self::Compare(_, left, right)
            | Self::Distinct(left, right) => left.is_fixed() && right.is_fixed(),
            Self::And(parts) | Self::Or(parts) => parts.iter().all(Self::is_fixed),
            Self::Call(function, arguments) => {
                function.is_steady() && arguments.iter().all(Self::is_fixed)
            }
        }
    }

    /// Whether it depends on nothing but the columns of the row.
    pub(crate) fn is_pure(&self) -> bool {
        match self {
            Self::Value(_) | Self::Column(..) => true,
            Self::Parameter(..) | Self::Excluded(..) => false,
            Self::Cast(inner, _) | Self::Not(inner) | Self::IsNull(inner) => inner.is_pure(),
            Self::Arithmetic(_, left, right)
            | Self::Compare(_, left, right)
            | Self::Distinct(left, right) => left.is_pure() && right.is_pure(),
            Self::And(parts) | Self::Or(parts) => parts.iter().all(Self::is_pure),
            Self::Call(function, arguments) => {
                let steady = function.is_steady() && !matches!(function, Function::Now);
                steady && arguments.iter().all(Self::is_pure)
            }
        }
    }

    /// Adds the columns of the row that it needs.
    pub(crate) fn collect_columns(&self, columns: &mut Vec<usize>) {
        match self {
            Self::Value(_) | Self::Parameter(..) | Self::Excluded(..) => {}
            Self::Column(position, _) => columns.push(*position),
            Self::Cast(inner, _) | Self::Not(inner) | Self::IsNull(inner) => {
                inner.collect_columns(columns);
            }
            Self::Arithmetic(_, left, right)
            | Self::Compare(_, left, right)
            | Self::Distinct(left, right) => {
                left.collect_columns(columns);
                right.collect_columns(columns);
            }
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.collect_columns(columns));
            }
            Self::Call(_, arguments) => {
                let arguments = arguments.iter();
                arguments.for_each(|argument| argument.collect_columns(columns));
            }
        }
    }

    /// Whether it is true; NULL is not.
    pub(crate) fn holds(&self, given: Given<'_>) -> Result<bool> {
        Ok(self.value(given)? == Value::Bool(true))
    }

    /// The same, cut to the length or rounded to the digits that a cast names; a constant at once.
    fn cut_to(self, declared: Declared) -> Self {
        match self {
            whole if !declared.limits() => whole,
            Self::Value(value) => Self::Value(declared.taken(value)),
            whole => Self::Call(Function::Cut(declared), [whole].into()),
        }
    }

    /// The same expression as one of type `kind`; a constant is cast at once.
    pub(crate) fn cast_to(self, kind: Type) -> Result<Self> {
        if let Self::Value(value) = self {
            return Ok(Self::Value(cast(value, kind)?));
        }
        Ok(match self.kind() {
            Some(known) if known == kind => self,
            _ => Self::Cast(Box::new(self), kind),
        })
    }
}

/// The value of an expression that needs no row, as one of type `kind`. `None` if it takes more than
/// this to know.
pub(crate) fn constant(expr: &syntax::ast::Expr, kind: Type, now_us: i64) -> Result<Option<Value>> {
    let scalar = Scope::default().assign(expr, kind)?;
    scalar
        .map(|scalar| scalar.value(Given::at(now_us)))
        .transpose()
}

/// AND (`absorbing` is false) or OR (true): the absorbing value wins, then NULL.
fn fold(parts: &[Scalar], absorbing: bool, given: Given<'_>) -> Result<Value> {
    let mut unknown = false;
    for part in parts {
        match part.value(given)? {
            Value::Bool(value) if value == absorbing => return Ok(Value::Bool(absorbing)),
            Value::Bool(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown {
        Value::Null
    } else {
        Value::Bool(!absorbing)
    })
}

fn compare(comparison: Comparison, left: &Value, right: &Value) -> Value {
    if left.is_null() || right.is_null() {
        return Value::Null;
    }
    Value::Bool(comparison.holds(order(left, right)))
}

/// Whole numbers and decimals are compared as numbers; other values are of one type.
pub(crate) fn order(left: &Value, right: &Value) -> std::cmp::Ordering {
    number::compare(left, right).unwrap_or_else(|| left.cmp(right))
}

/// Whether values of the two types are ordered here as DataFusion orders them.
pub(crate) fn comparable(left: Type, right: Type) -> bool {
    let ordered = !matches!(left, Type::Float | Type::Double | Type::Json);
    (number::is_exact(left) && number::is_exact(right)) || (left == right && ordered)
}
