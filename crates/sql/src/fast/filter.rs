//! A filter that is a few key ranges, compiled once and bound to parameters at every run.
//!
//! ```text
//!   key (a, b, c)     a = $1 AND b > 5 AND c = 2 AND v < 9
//!                     └─────┬────────┘     └──┬────┘ └─┬─┘
//!                      key ranges        after a range  not in the key
//!                                        └── checked row by row ──┘
//! ```
//!
//! Every row of the ranges for which the rest holds qualifies, and no other. A filter that does not
//! bind the first key column reads everything, which DataFusion does better.

use keys::{Type, Value, append_key_value};
use syntax::ast;
use txn::KeyRange;

use crate::conditions::{Condition, Conditions, Inclusive, RANGES_MAX};
use crate::names::tree_name;
use crate::query::{list_element, list_values};
use crate::scalar::{Comparison, Given, Scalar, Scope, conjuncts};
use crate::{Result, Schema, number};

/// What a filter asks of the key, and of the rest of the row.
#[derive(Clone, Debug)]
pub(crate) struct KeyFilter {
    /// For each key column in the order of the key.
    columns: Vec<Vec<Bound>>,
    kinds: Vec<Type>,
    /// Whether one key is named.
    point: bool,
    rest: Vec<Scalar>,
}

/// The columns of a key.
struct Key<'k> {
    /// Where they stand in the table, in the order of the key.
    positions: &'k [usize],
    kinds: &'k [Type],
}

/// What is asked of one key column.
#[derive(Clone, Debug)]
enum Bound {
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
    fn is_value(&self) -> bool {
        matches!(self, Self::Equal(_) | Self::Listed(_) | Self::Null)
    }

    fn shown(&self, name: &str, schema: &Schema) -> String {
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

/// Where the rows lie.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Under one key.
    Point(Vec<u8>),
    /// In these ranges, in key order.
    Ranges(Vec<KeyRange>),
}

impl KeyFilter {
    /// The filter as ranges of a key over these columns, if such ranges and expressions of ours are
    /// all it takes.
    pub(crate) fn new(
        schema: &Schema,
        key: &[usize],
        filter: Option<&ast::Expr>,
        scope: &mut Scope<'_>,
    ) -> Result<Option<Self>> {
        let column = |position: &usize| schema.columns().get(*position);
        let kinds: Vec<Type> = key.iter().filter_map(column).map(|one| one.kind).collect();
        let key = Key {
            positions: key,
            kinds: &kinds,
        };
        let mut columns: Vec<Vec<(Bound, &ast::Expr)>> = kinds.iter().map(|_| Vec::new()).collect();
        let mut rest = Vec::new();
        for part in filter.map(conjuncts).unwrap_or_default() {
            match bounds(&key, part, scope) {
                Some((column, bounds)) => {
                    if let Some(place) = columns.get_mut(column) {
                        place.extend(bounds.into_iter().map(|bound| (bound, part)));
                    }
                }
                None => rest.push(part),
            }
        }
        let is_value = |(bound, _): &(Bound, &ast::Expr)| bound.is_value();
        let bound = columns
            .iter()
            .take_while(|column| column.iter().any(is_value))
            .count();
        if filter.is_some() && columns.first().is_none_or(Vec::is_empty) {
            return Ok(None);
        }
        for (index, column) in columns.iter().enumerate() {
            let exact = |one| (index < bound && is_value(one)) || index == bound;
            rest.extend(
                column
                    .iter()
                    .filter(|one| !exact(one))
                    .map(|(_, part)| *part),
            );
        }
        let columns: Vec<Vec<Bound>> = columns
            .into_iter()
            .map(|column| column.into_iter().map(|(bound, _)| bound).collect())
            .collect();
        let Some(rest) = compile_all(&rest, scope)? else {
            return Ok(None);
        };
        let single = |column: &Vec<Bound>| match column.as_slice() {
            [Bound::Equal(values)] => values.len() == 1,
            _ => false,
        };
        let point = columns.iter().all(single);
        Ok(combinations(&columns).then_some(Self {
            columns,
            kinds,
            point,
            rest,
        }))
    }

    /// How many of the first key columns are bound to one value.
    pub(crate) fn fixed_columns(&self) -> usize {
        let single = |column: &&Vec<Bound>| {
            column.iter().any(|bound| match bound {
                Bound::Equal(values) => values.len() == 1,
                Bound::Null => true,
                _ => false,
            })
        };
        self.columns.iter().take_while(single).count()
    }

    /// How much of the key is bound: twice the columns that are bound to values, and one more if the
    /// next is bound to a range.
    pub(crate) fn bound(&self) -> usize {
        let mut bound = 0;
        for column in &self.columns {
            match column.iter().any(Bound::is_value) {
                true => bound += 2,
                false => return bound + usize::from(!column.is_empty()),
            }
        }
        bound
    }

    /// Whether the row, which lies in the ranges, qualifies.
    pub(crate) fn holds(&self, given: Given<'_>) -> Result<bool> {
        for part in &self.rest {
            if !part.holds(given)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether every row of the ranges qualifies.
    pub(crate) fn is_exact(&self) -> bool {
        self.rest.is_empty()
    }

    /// The columns that are looked at row by row.
    pub(crate) fn rest_columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        for part in &self.rest {
            part.collect_columns(&mut columns);
        }
        columns
    }

    /// Where the rows lie. `None` if a value does not fit its column's type, so that only DataFusion
    /// can compare it.
    pub(crate) fn bind(&self, given: Given<'_>) -> Result<Option<Keys>> {
        if self.point {
            return self.bind_point(given);
        }
        let conditions = self.conditions(given)?;
        let ranges = conditions.map(|conditions| conditions.ranges());
        Ok(ranges.transpose()?.map(Keys::Ranges))
    }

    /// What is asked of the key with these values. `None` as in [`Self::bind`].
    pub(crate) fn conditions(&self, given: Given<'_>) -> Result<Option<Conditions>> {
        let mut conditions = Conditions::new(self.columns.len());
        for (index, (column, kind)) in self.columns.iter().zip(&self.kinds).enumerate() {
            for bound in column {
                let Some(condition) = bind_one(bound, *kind, given)? else {
                    return Ok(None);
                };
                conditions.add(index, condition);
            }
        }
        // Past that the ranges would hold rows that nobody asked for.
        let few = self.listed().next().is_none() || conditions.combinations() <= RANGES_MAX;
        Ok(few.then_some(conditions))
    }

    /// The parameters that are lists, by their place from 0, and what they are lists of.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (usize, Type)> {
        let columns = self.columns.iter().zip(&self.kinds);
        columns.flat_map(|(bounds, kind)| {
            bounds.iter().filter_map(|bound| match bound {
                Bound::Listed(parameter) => Some((*parameter, *kind)),
                _ => None,
            })
        })
    }

    /// What is asked of the key, as a person would write it; `key` are the positions of its columns.
    pub(crate) fn shown(&self, schema: &Schema, key: &[usize]) -> Vec<String> {
        let mut shown = Vec::new();
        for (bounds, position) in self.columns.iter().zip(key) {
            let column = schema.columns().get(*position);
            let name = column.map_or("", |column| column.name.as_str());
            shown.extend(bounds.iter().map(|bound| bound.shown(name, schema)));
        }
        shown
    }

    /// What is checked row by row, as a person would write it.
    pub(crate) fn rest_shown(&self, schema: &Schema) -> Vec<String> {
        let shown = |part: &Scalar| part.shown(schema).to_string();
        self.rest.iter().map(shown).collect()
    }

    fn bind_point(&self, given: Given<'_>) -> Result<Option<Keys>> {
        let mut key = Vec::new();
        for (column, kind) in self.columns.iter().zip(&self.kinds) {
            let [Bound::Equal(values)] = column.as_slice() else {
                continue;
            };
            for value in values {
                let Some(value) = exact(value, *kind, given)? else {
                    return Ok(None);
                };
                if value.is_null() {
                    return Ok(Some(Keys::Ranges(Vec::new())));
                }
                append_key_value(&mut key, &value)?;
            }
        }
        Ok(Some(Keys::Point(key)))
    }
}

/// Whether there are few enough combinations of values to read each by itself.
fn combinations(columns: &[Vec<Bound>]) -> bool {
    let mut product: usize = 1;
    for column in columns {
        let choices = column.iter().map(|bound| match bound {
            Bound::Equal(values) => values.len().max(1),
            _ => 1,
        });
        product = product.saturating_mul(choices.min().unwrap_or(1));
    }
    product <= RANGES_MAX
}

fn compile_all(parts: &[&ast::Expr], scope: &mut Scope<'_>) -> Result<Option<Vec<Scalar>>> {
    let mut compiled = Vec::with_capacity(parts.len());
    for part in parts {
        match scope.compile(part, Some(Type::Bool))? {
            Some(scalar) if scalar.kind() == Some(Type::Bool) => compiled.push(scalar),
            _ => return Ok(None),
        }
    }
    Ok(Some(compiled))
}

fn bind_one(bound: &Bound, kind: Type, given: Given<'_>) -> Result<Option<Condition>> {
    Ok(match bound {
        Bound::Null => Some(Condition::OneOf(vec![Value::Null])),
        Bound::Listed(parameter) => {
            let text = Scalar::Parameter(*parameter, Some(Type::Utf8)).value(given)?;
            let mut values = match &text {
                Value::Utf8(text) => list_values(text, kind)?,
                _ => Vec::new(),
            };
            values.retain(|value| !value.is_null());
            Some(Condition::OneOf(values))
        }
        Bound::Equal(scalars) => {
            let mut values = Vec::with_capacity(scalars.len());
            for scalar in scalars {
                match exact(scalar, kind, given)? {
                    None => return Ok(None),
                    Some(value) if value.is_null() => {}
                    Some(value) => values.push(value),
                }
            }
            Some(Condition::OneOf(values))
        }
        Bound::Above(scalar, inclusive) => exact(scalar, kind, given)?
            .map(|value| bounded(value, |value| Condition::Above(value, *inclusive))),
        Bound::Below(scalar, inclusive) => exact(scalar, kind, given)?
            .map(|value| bounded(value, |value| Condition::Below(value, *inclusive))),
    })
}

/// A comparison with NULL is not true for any row.
fn bounded(value: Value, condition: impl FnOnce(Value) -> Condition) -> Condition {
    if value.is_null() {
        Condition::OneOf(Vec::new())
    } else {
        condition(value)
    }
}

/// The value in exactly the column's type, or NULL; `None` if it does not fit.
fn exact(scalar: &Scalar, kind: Type, given: Given<'_>) -> Result<Option<Value>> {
    let value = scalar.value(given)?;
    if value.is_null() || value.type_matches(kind) {
        return Ok(Some(value));
    }
    Ok(number::whole(&value, kind))
}

/// What a part of a filter asks of one key column, if that is all it asks.
fn bounds(key: &Key<'_>, part: &ast::Expr, scope: &mut Scope<'_>) -> Option<(usize, Vec<Bound>)> {
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
            let column = key_column(key, left, scope)?;
            let list = match right.as_ref() {
                ast::Expr::Cast {
                    expr, data_type, ..
                } if list_element(data_type) == key.kinds.get(column).copied() => expr,
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
