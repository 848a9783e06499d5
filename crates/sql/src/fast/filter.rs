//! A filter that is a few key ranges, compiled once and bound to parameters at every run.
//!
//! ```text
//!   key (a, b, c)     a = $1 AND b > 5 AND c = 2 AND v < 9
//!                     └─────┬────────┘     └──┬────┘ └─┬─┘
//!                      key ranges        after a range  not in the key
//!                                        └── checked row by row ──┘
//! ```
//!
//! A generated column is bound by what it is worked out from, as [`crate::conditions`] tells.
//!
//! Every row of the ranges for which the rest holds qualifies, and no other. A filter that does not
//! bind the first key column reads everything, which DataFusion does better.

use std::sync::Arc;

use keys::{Type, Value, append_key_value};
use syntax::ast;
use txn::KeyRange;

use super::bounds::{Bound, Key, bounds};
use crate::conditions::{Bucket, Condition, Conditions, RANGES_MAX};
use crate::generated::{Derivation, Rule};
use crate::merge::MERGED_MAX;
use crate::query::list_values;
use crate::scalar::{Given, Scalar, Scope, conjuncts};
use crate::{Result, Schema, number};

/// What a filter asks of the key, and of the rest of the row.
#[derive(Clone, Debug)]
pub(crate) struct KeyFilter {
    /// For each key column in the order of the key, and what else its generated columns are worked
    /// out from.
    columns: Vec<Vec<Bound>>,
    kinds: Vec<Type>,
    key_columns: usize,
    derivation: Option<Arc<Derivation>>,
    /// Up to which column ranges are told apart, to be merged.
    merged: Option<usize>,
    /// Whether one key is named.
    point: bool,
    rest: Vec<Scalar>,
}

/// Where the rows lie.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Under one key.
    Point(Vec<u8>),
    /// In these ranges, in key order.
    Ranges(Vec<KeyRange>),
    /// In these ranges, which are read side by side and merged.
    Merged(Vec<Bucket>),
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
        let derivation = Derivation::new(schema, key);
        let positions = derivation.as_ref().map_or(key, |one| &one.positions);
        let column = |position: &usize| schema.columns().get(*position);
        let kinds = positions.iter().filter_map(column).map(|one| one.kind);
        let kinds: Vec<Type> = kinds.collect();
        let key = Key {
            positions,
            kinds: &kinds,
            columns: key.len(),
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
        let key_columns = key.columns;
        let asked = columns.iter();
        let asked = asked.map(|column| column.iter().map(|(bound, _)| bound.clone()).collect());
        let mut found = Self {
            columns: asked.collect(),
            key_columns,
            derivation,
            merged: None,
            point: false,
            rest: Vec::new(),
            kinds: Vec::new(),
        };
        let bound = found.valued_columns();
        if filter.is_some() && bound == 0 && columns.first().is_none_or(Vec::is_empty) {
            return Ok(None);
        }
        for (index, column) in columns.iter().enumerate() {
            let exact = |(one, _): &&(Bound, &ast::Expr)| {
                index < key_columns && (index < bound && one.is_value() || index == bound)
            };
            let checked = column.iter().filter(|one| !exact(one));
            rest.extend(checked.map(|(_, part)| *part));
        }
        let Some(rest) = compile_all(&rest, scope)? else {
            return Ok(None);
        };
        found.rest = rest;
        found.kinds = kinds;
        found.point = (0..key_columns).all(|place| found.is_single(place));
        Ok((found.combinations() <= RANGES_MAX).then_some(found))
    }

    /// What is asked of the column at a place.
    fn asked(&self, place: usize) -> &[Bound] {
        self.columns.get(place).map_or(&[], Vec::as_slice)
    }

    /// The rule by which the column at a place follows from others that are bound to values.
    fn derived(&self, place: usize) -> Option<&Rule> {
        let rule = self.derivation.as_ref()?.rule(place)?;
        let bound = |input: &usize| self.asked(*input).iter().any(Bound::is_value);
        rule.inputs.iter().all(bound).then_some(rule)
    }

    /// The buckets of the column at a place, if they are read one by one.
    fn buckets(&self, place: usize) -> Option<&Arc<[Value]>> {
        let merged = self.merged.is_some_and(|merged| place <= merged);
        let next = place + 1 < self.key_columns && !self.asked(place + 1).is_empty();
        let read = self.asked(place).is_empty() && (merged || next);
        self.derivation.as_ref()?.buckets(place).filter(|_| read)
    }

    /// How many of the first key columns are bound to values, by whatever means.
    fn valued_columns(&self) -> usize {
        let valued = |place: &usize| {
            self.asked(*place).iter().any(Bound::is_value)
                || self.derived(*place).is_some()
                || self.buckets(*place).is_some()
        };
        (0..self.key_columns).take_while(valued).count()
    }

    /// Whether the column at a place is bound to one value and to nothing else.
    fn is_single(&self, place: usize) -> bool {
        match (self.asked(place), self.derived(place)) {
            ([Bound::Equal(values)], _) => values.len() == 1,
            ([], Some(rule)) => {
                let mut inputs = rule.inputs.iter();
                rule.ways() == 1 && inputs.all(|input| {
                    matches!(self.asked(*input), [Bound::Equal(values)] if values.len() == 1)
                })
            }
            _ => false,
        }
    }

    /// Whether the key column at a place has one value in all rows that qualify.
    pub(crate) fn is_fixed(&self, place: usize) -> bool {
        let single = |place: usize| {
            self.asked(place).iter().any(|bound| match bound {
                Bound::Equal(values) => values.len() == 1,
                Bound::Null => true,
                _ => false,
            })
        };
        let derived = || {
            let rule = self.derived(place)?;
            let mut inputs = rule.inputs.iter();
            Some(rule.ways() == 1 && inputs.all(|input| single(*input)))
        };
        single(place) || derived() == Some(true)
    }

    /// How much of the key is bound: twice the columns that are bound to values, and one more if the
    /// next is bound to a range. Buckets that are read one by one are worth less than a value.
    pub(crate) fn bound(&self) -> usize {
        let (mut bound, mut buckets) = (0, 0);
        for place in 0..self.key_columns {
            let asked = self.asked(place);
            if asked.iter().any(Bound::is_value) || self.derived(place).is_some() {
                bound += 2;
            } else if self.buckets(place).is_some() {
                buckets = 1;
            } else {
                bound += usize::from(!asked.is_empty());
                break;
            }
        }
        if bound > 1 { bound - buckets } else { bound }
    }

    /// How many ranges the filter asks for, as far as that is known before it is bound.
    fn combinations(&self) -> usize {
        let choices = |place: usize| {
            let choices = self.asked(place).iter().map(|bound| match bound {
                Bound::Equal(values) => values.len().max(1),
                _ => 1,
            });
            choices.min().unwrap_or(1)
        };
        let valued = self.valued_columns();
        let mut product: usize = 1;
        let mut inputs: Vec<usize> = Vec::new();
        for place in 0..valued {
            let own = self.asked(place).iter().any(Bound::is_value);
            product = product.saturating_mul(match (self.derived(place), self.buckets(place)) {
                (Some(rule), _) if !own => {
                    inputs.extend(rule.inputs.iter().filter(|input| **input >= valued));
                    rule.ways()
                }
                (None, Some(buckets)) if !own => buckets.len(),
                _ => choices(place),
            });
        }
        inputs.sort_unstable();
        inputs.dedup();
        let inputs = inputs.into_iter().map(choices);
        inputs.fold(product, usize::saturating_mul)
    }

    /// The same filter with its ranges told apart by the columns up to this one, so that rows come in
    /// the order of the columns after it. `None` if the ranges are not known, or too many.
    pub(crate) fn merged(&self, place: usize) -> Option<Self> {
        let mut merged = self.clone();
        merged.merged = Some(place);
        let listed = |place: usize| {
            let mut asked = self.asked(place).iter();
            asked.any(|bound| matches!(bound, Bound::Listed(_)))
        };
        let known = merged.valued_columns() > place && !(0..self.columns.len()).any(listed);
        let few = known && merged.combinations() <= MERGED_MAX;
        merged.point = false;
        few.then_some(merged)
    }

    /// Up to which column its ranges are told apart, if they are merged.
    pub(crate) fn merged_to(&self) -> Option<usize> {
        self.merged
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

    /// Whether it names one key.
    pub(crate) fn is_point(&self) -> bool {
        self.point
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
        let Some(conditions) = self.conditions(given)? else {
            return Ok(None);
        };
        Ok(Some(match self.merged {
            Some(_) => Keys::Merged(conditions.buckets()?),
            None => Keys::Ranges(conditions.ranges()?),
        }))
    }

    /// What is asked of the key with these values. `None` as in [`Self::bind`].
    pub(crate) fn conditions(&self, given: Given<'_>) -> Result<Option<Conditions>> {
        let mut conditions = Conditions::new(self.key_columns, self.derivation.as_ref());
        if let Some(place) = self.merged {
            conditions.merge(place);
        }
        for (index, (column, kind)) in self.columns.iter().zip(&self.kinds).enumerate() {
            for bound in column {
                let Some(condition) = bind_one(bound, *kind, given)? else {
                    return Ok(None);
                };
                conditions.add(index, condition);
            }
        }
        // Past that the ranges would hold rows that nobody asked for.
        let few = self.listed().next().is_none() || !conditions.is_cut();
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
        for (place, (bounds, position)) in self.columns.iter().zip(key).enumerate() {
            let name = schema.name_at(*position);
            if let (Some(rule), false) = (self.derived(place), bounds.iter().any(Bound::is_value)) {
                let inputs = rule.positions().iter().map(|input| schema.name_at(*input));
                shown.push(format!(
                    "{name} from {}",
                    inputs.collect::<Vec<_>>().join(", ")
                ));
            } else if let Some(buckets) = self.buckets(place) {
                shown.push(format!("{name} in {} buckets", buckets.len()));
            }
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
        if let Some(derivation) = &self.derivation {
            return self.bind_derived(derivation, given);
        }
        let mut key = Vec::new();
        for place in 0..self.key_columns {
            match self.single(place, given)? {
                Single::Value(value) => append_key_value(&mut key, &value)?,
                Single::Null => return Ok(Some(Keys::Ranges(Vec::new()))),
                Single::Open => return Ok(None),
            }
        }
        Ok(Some(Keys::Point(key)))
    }

    /// The same for a key with generated columns.
    fn bind_derived(&self, derivation: &Derivation, given: Given<'_>) -> Result<Option<Keys>> {
        let nothing = || Ok(Some(Keys::Ranges(Vec::new())));
        let mut values = vec![None; self.columns.len()];
        for (place, at) in values.iter_mut().enumerate() {
            if self.is_single(place) && !self.asked(place).is_empty() {
                match self.single(place, given)? {
                    Single::Value(value) => *at = Some(value),
                    Single::Null => return nothing(),
                    Single::Open => return Ok(None),
                }
            }
        }
        let mut key = Vec::new();
        for place in 0..self.key_columns {
            let value = match (values.get(place).cloned().flatten(), self.derived(place)) {
                (None, Some(rule)) => derivation.values(rule, &values).into_iter().next(),
                (value, _) => value,
            };
            match value {
                Some(value) => append_key_value(&mut key, &value)?,
                None => return nothing(),
            }
        }
        Ok(Some(Keys::Point(key)))
    }

    /// The one value that a column is bound to.
    fn single(&self, place: usize, given: Given<'_>) -> Result<Single> {
        let ([Bound::Equal(values)], Some(kind)) = (self.asked(place), self.kinds.get(place))
        else {
            return Ok(Single::Open);
        };
        let [value] = values.as_slice() else {
            return Ok(Single::Open);
        };
        Ok(match exact(value, *kind, given)? {
            None => Single::Open,
            Some(value) if value.is_null() => Single::Null,
            Some(value) => Single::Value(value),
        })
    }
}

/// The one value that a column is bound to.
enum Single {
    Value(Value),
    /// None: it is compared with NULL.
    Null,
    /// One that only DataFusion can compare.
    Open,
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
