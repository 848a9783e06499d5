//! What an expression is, given attributes.
//!
//! What is missing and what does not fit travel as errors up to the next comparison, which then is
//! false, or to the statement of an update, which then fails. Calculations without a result go all
//! the way.

use keys::Array;

use super::arithmetic;
use super::functions;
use super::tree::{Kind, Level, Link, Node, Operator, Sign};
use super::value::{Compared, Value, compare};
use crate::items::expression::error::{Error, Result};

/// Where names are looked up while an expression is worked out.
pub(super) trait Scope {
    fn value(&self, name: &str) -> Result<Option<Value>>;
}

/// A value, or why there is none.
pub(super) type Outcome = std::result::Result<Value, Stop>;

#[derive(Debug)]
pub(super) enum Stop {
    /// The item does not have it. A comparison with it is false.
    Missing { at: usize, name: String },
    /// Values do not go together. A comparison with them is false.
    Mismatch { at: usize, reason: String },
    /// It cannot be worked out at all.
    Failed(Error),
}

impl Stop {
    pub(super) fn mismatch(at: usize, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Mismatch { at, reason }
    }

    pub(super) fn calculation(at: usize, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Failed(Error::Calculation { at, reason })
    }
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Missing { at, name } => Self::Missing { at, name },
            Stop::Mismatch { at, reason } => Self::Mismatch { at, reason },
            Stop::Failed(error) => error,
        }
    }
}

/// Whether a condition may be true where only some attributes are known.
pub(super) fn may_hold(node: &Node, scope: &dyn Scope, known: &dyn Fn(&str) -> bool) -> bool {
    let may = |node: &Node| may_hold(node, scope, known);
    if let Kind::Chain(first, links) = &node.kind {
        let mut operands =
            std::iter::once(first.as_ref()).chain(links.iter().map(|link| &link.operand));
        match links.first().map(|link| link.operator.level()) {
            Some(Level::Or) => return operands.any(may),
            Some(Level::And) => return operands.all(may),
            _ => {}
        }
    }
    // What cannot be worked out is left to those who see the item.
    !node.names_are(known) || truth(node, scope).unwrap_or(true)
}

/// Whether a condition is true.
pub(super) fn holds(node: &Node, scope: &dyn Scope) -> Result<bool> {
    truth(node, scope).map_err(Error::from)
}

pub(super) fn evaluate(node: &Node, scope: &dyn Scope) -> Outcome {
    match &node.kind {
        Kind::Literal(value) => Ok(value.clone()),
        Kind::Name(name) => look_up(node.at, name, scope),
        Kind::Unary(Sign::Not, operand) => Ok(Value::Bool(!truth(operand, scope)?)),
        Kind::Unary(sign, operand) => {
            arithmetic::signed(node.at, *sign, &evaluate(operand, scope)?)
        }
        Kind::Chain(first, links) => chain(first, links, scope),
        Kind::In(needle, list) => within(needle, list, scope).map(Value::Bool),
        Kind::Element(array, index) => element(node, array, index, scope),
        Kind::Slice(array, bounds) => slice(node, array, bounds, scope),
        Kind::Call(function, arguments) => functions::call(node.at, *function, arguments, scope),
    }
}

/// What counts as true; what is missing or does not fit counts as false.
pub(super) fn truth(node: &Node, scope: &dyn Scope) -> std::result::Result<bool, Stop> {
    Ok(present(evaluate(node, scope))?.is_some_and(|value| value.truth()))
}

/// Nothing, for what is missing or does not fit.
pub(super) fn present(outcome: Outcome) -> std::result::Result<Option<Value>, Stop> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Missing { .. } | Stop::Mismatch { .. }) => Ok(None),
        Err(failed) => Err(failed),
    }
}

fn look_up(at: usize, name: &str, scope: &dyn Scope) -> Outcome {
    let value = scope.value(name).map_err(Stop::Failed)?;
    value.ok_or_else(|| Stop::Missing {
        at,
        name: name.to_owned(),
    })
}

fn chain(first: &Node, links: &[Link], scope: &dyn Scope) -> Outcome {
    let level = links.first().map(|link| link.operator.level());
    match level {
        Some(Level::Or) => logic(true, first, links, scope),
        Some(Level::And) => logic(false, first, links, scope),
        _ => {
            let mut left = evaluate(first, scope);
            for link in links {
                let right = evaluate(&link.operand, scope);
                left = match link.operator.level() {
                    Level::Comparison => compared(link.operator, left, right),
                    _ => arithmetic::operate(link.at, link.operator, left?, right?),
                };
            }
            left
        }
    }
}

/// OR ends at the first that is true, AND at the first that is false.
fn logic(end: bool, first: &Node, links: &[Link], scope: &dyn Scope) -> Outcome {
    let operands = links.iter().map(|link| &link.operand);
    for operand in std::iter::once(first).chain(operands) {
        if truth(operand, scope)? == end {
            return Ok(Value::Bool(end));
        }
    }
    Ok(Value::Bool(!end))
}

fn compared(operator: Operator, left: Outcome, right: Outcome) -> Outcome {
    let (Some(left), Some(right)) = (present(left)?, present(right)?) else {
        return Ok(Value::Bool(false));
    };
    Ok(Value::Bool(match compare(&left, &right) {
        Compared::Never => false,
        Compared::Unequal => operator == Operator::Unequal,
        Compared::Ordered(ordering) => match operator {
            Operator::Equal => ordering.is_eq(),
            Operator::Unequal => ordering.is_ne(),
            Operator::Less => ordering.is_lt(),
            Operator::LessOrEqual => ordering.is_le(),
            Operator::Greater => ordering.is_gt(),
            _ => ordering.is_ge(),
        },
    }))
}

fn within(needle: &Node, list: &[Node], scope: &dyn Scope) -> std::result::Result<bool, Stop> {
    let Some(needle) = present(evaluate(needle, scope))? else {
        return Ok(false);
    };
    for node in list {
        let value = present(evaluate(node, scope))?;
        let equal = value.is_some_and(|value| {
            compare(&needle, &value) == Compared::Ordered(std::cmp::Ordering::Equal)
        });
        if equal {
            return Ok(true);
        }
    }
    Ok(false)
}

fn element(node: &Node, array: &Node, index: &Node, scope: &dyn Scope) -> Outcome {
    let array = array_of(array, scope)?;
    let index = index_of(index, scope)?;
    let element = match &array {
        Array::Integers(elements) => elements.get(index).copied().map(Value::Integer),
        Array::Doubles(elements) => elements.get(index).copied().map(Value::Double),
    };
    element.ok_or_else(|| Stop::Missing {
        at: node.at,
        name: node.to_string(),
    })
}

fn slice(node: &Node, array: &Node, bounds: &[Node; 2], scope: &dyn Scope) -> Outcome {
    let array = array_of(array, scope)?;
    let [from, to] = bounds;
    let (from, to) = (index_of(from, scope)?, index_of(to, scope)?);
    if from > to {
        let reason = format!("[{from}..{to}] ends before it begins");
        return Err(Stop::mismatch(node.at, reason));
    }
    let slice = match &array {
        Array::Integers(elements) => {
            let slice = elements.get(from..=to);
            slice.map(|slice| Array::Integers(slice.to_vec()))
        }
        Array::Doubles(elements) => {
            let slice = elements.get(from..=to);
            slice.map(|slice| Array::Doubles(slice.to_vec()))
        }
    };
    slice.map(Value::Array).ok_or_else(|| Stop::Missing {
        at: node.at,
        name: node.to_string(),
    })
}

fn array_of(node: &Node, scope: &dyn Scope) -> std::result::Result<Array, Stop> {
    match evaluate(node, scope)? {
        Value::Array(array) => Ok(array),
        other => Err(Stop::mismatch(
            node.at,
            format!("`{node}` is {}, not an array", other.kind()),
        )),
    }
}

/// An index counted from zero.
pub(super) fn index_of(node: &Node, scope: &dyn Scope) -> std::result::Result<usize, Stop> {
    let value = evaluate(node, scope)?;
    let index = match &value {
        Value::Integer(index) => usize::try_from(*index).ok(),
        _ => None,
    };
    index.ok_or_else(|| {
        let brief = value.brief();
        let reason = format!("an index is an integer from 0 on, and `{node}` is {brief}");
        Stop::mismatch(node.at, reason)
    })
}
