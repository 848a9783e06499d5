//! From conditions on key columns to the key ranges that can hold the rows.
//!
//! ```text
//!   key (a, b, c)      a = 7 AND b IN (1, 2) AND c > 5        →  /7/1 past /5 …   /7/2 past /5 …
//!                      a = 7 AND c > 5                        →  /7 …             c filters
//!                      a > 5                                  →  past /5 …
//!                      a < 5                                  →  past NULL … /5   NULL < 5 is unknown
//!                      a IS NULL                              →  /NULL …
//!                      b = 1                                  →  everything       a is not bound
//!
//!   a = hash(b)        b IN (1, 2) AND c > 5                  →  /hash(1)/1 past /5 …   and with 2
//!   a = hash(d)        d = 3                                  →  /hash(3) …       d filters
//!   a = hash(c) % 2    b > 5                                  →  /0 past /5 …     /1 past /5 …
//! ```
//!
//! Columns are taken in the order of the key as long as they are bound to values; the first one that is
//! bound to a range ends it. A generated column is bound by what it is worked out from, and one with few
//! values by those, if the column after it is bound. The ranges never miss a row, and may hold rows that
//! do not qualify.

use std::collections::BTreeSet;
use std::sync::Arc;

use keys::{Value, append_key_value, prefix_upper_bound};
use txn::KeyRange;

use crate::Result;
use crate::generated::{Derivation, Rule};

/// How many ranges one statement may read; past that it reads a wider one.
pub(crate) const RANGES_MAX: usize = 4096;

/// What is asked of one key column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// It is one of these; NULL here means `IS NULL`.
    OneOf(Vec<Value>),
    /// It is above the value, or equal to it.
    Above(Value, Inclusive),
    /// It is below the value, or equal to it.
    Below(Value, Inclusive),
}

/// Whether a bound itself qualifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inclusive {
    Yes,
    No,
}

/// Conditions that must all hold, for each key column in the order of the key, and for what else its
/// generated columns are worked out from.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    columns: Vec<Vec<Condition>>,
    key_columns: usize,
    derivation: Option<Arc<Derivation>>,
    /// Up to which column ranges are told apart, and buckets read one by one whatever follows them.
    merged: Option<usize>,
}

/// Ranges that have their first columns in common, in key order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) ranges: Vec<KeyRange>,
    /// How many bytes the first columns take.
    pub(crate) prefix_bytes: usize,
}

/// How a column of the key is bound.
enum Step<'c> {
    /// To these values.
    Values(Vec<Value>),
    /// To what follows from others.
    Derived(&'c Rule),
}

/// The beginning of a key.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Prefix {
    bytes: Vec<u8>,
    /// Where the columns end by which ranges are told apart.
    cut: usize,
}

/// How the first columns of a key are bound, and how many of its columns that are.
struct Plan<'c> {
    steps: Vec<Step<'c>>,
    /// Places besides those of the steps that values are taken from.
    inputs: Vec<usize>,
    /// Whether the column after them may be bound to a range.
    complete: bool,
}

impl Conditions {
    pub(crate) fn new(key_columns: usize, derivation: Option<&Arc<Derivation>>) -> Self {
        let columns = derivation.map_or(key_columns, |one| one.positions.len());
        Self {
            columns: vec![Vec::new(); columns],
            key_columns,
            derivation: derivation.cloned(),
            merged: None,
        }
    }

    pub(crate) fn add(&mut self, key_column: usize, condition: Condition) {
        if let Some(conditions) = self.columns.get_mut(key_column) {
            conditions.push(condition);
        }
    }

    /// Tells the ranges apart by the columns up to this one.
    pub(crate) fn merge(&mut self, key_column: usize) {
        self.merged = Some(key_column);
    }

    /// How many of the first columns are bound to values.
    pub(crate) fn bound_columns(&self) -> usize {
        self.plan().steps.len()
    }

    /// Whether the first columns are bound to more combinations of values than are read one by one.
    pub(crate) fn is_cut(&self) -> bool {
        !self.plan().complete
    }

    /// The buckets that are read one by one, if some are: which column has them, and how many.
    pub(crate) fn enumerated(&self) -> Option<(usize, usize)> {
        let steps = self.plan().steps;
        let mut steps = steps.iter().enumerate();
        steps.find_map(|(place, step)| match step {
            Step::Values(values) if self.own(place).is_none() => Some((place, values.len())),
            _ => None,
        })
    }

    /// The columns that are bound because they follow from others.
    pub(crate) fn derived(&self) -> Vec<usize> {
        let steps = self.plan().steps;
        let derived = |place: &usize| matches!(steps.get(*place), Some(Step::Derived(_)));
        (0..steps.len()).filter(derived).collect()
    }

    /// Whether the ranges are merged.
    pub(crate) fn is_merged(&self) -> bool {
        self.merged.is_some()
    }

    /// The ranges, in key order and without overlap.
    pub(crate) fn ranges(&self) -> Result<Vec<KeyRange>> {
        if self.derivation.is_none() {
            return self.plain_ranges();
        }
        let plan = self.plan();
        let prefixes = self.prefixes(&plan)?;
        let ranges = prefixes.iter();
        ranges
            .map(|prefix| self.range(&plan, &prefix.bytes))
            .collect()
    }

    /// The same where no column follows from others.
    fn plain_ranges(&self) -> Result<Vec<KeyRange>> {
        let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
        for conditions in &self.columns {
            let Some(values) = values(conditions) else {
                return prefixes
                    .iter()
                    .map(|prefix| bounded(prefix, conditions))
                    .collect();
            };
            if prefixes.len().saturating_mul(values.len()) > RANGES_MAX {
                break;
            }
            let mut longer = Vec::with_capacity(prefixes.len() * values.len());
            for prefix in &prefixes {
                for value in &values {
                    let mut key = prefix.clone();
                    append_key_value(&mut key, value)?;
                    longer.push(key);
                }
            }
            prefixes = longer;
        }
        Ok(prefixes.iter().map(|prefix| with_prefix(prefix)).collect())
    }

    /// The ranges, together if they have the columns in common that are merged.
    pub(crate) fn buckets(&self) -> Result<Vec<Bucket>> {
        let plan = self.plan();
        let mut buckets: Vec<Bucket> = Vec::new();
        let mut before: Vec<u8> = Vec::new();
        for Prefix { bytes, cut } in self.prefixes(&plan)? {
            let range = self.range(&plan, &bytes)?;
            let first = bytes.get(..cut).unwrap_or_default();
            match buckets.last_mut() {
                Some(bucket) if before == first => bucket.ranges.push(range),
                _ => {
                    before = first.to_vec();
                    buckets.push(Bucket {
                        ranges: vec![range],
                        prefix_bytes: cut,
                    });
                }
            }
        }
        Ok(buckets)
    }

    fn range(&self, plan: &Plan<'_>, prefix: &[u8]) -> Result<KeyRange> {
        let next = self.columns.get(plan.steps.len());
        match next.filter(|_| plan.complete && plan.steps.len() < self.key_columns) {
            Some(conditions) => bounded(prefix, conditions),
            None => Ok(with_prefix(prefix)),
        }
    }

    /// What is asked of a column by itself.
    pub(crate) fn asked(&self, place: usize) -> &[Condition] {
        self.columns.get(place).map_or(&[], Vec::as_slice)
    }

    /// The values that a column is bound to by itself.
    pub(crate) fn own(&self, place: usize) -> Option<Vec<Value>> {
        values(self.columns.get(place)?)
    }

    /// How the column at a place is bound to values, if it is.
    fn step(&self, place: usize) -> Option<Step<'_>> {
        if let Some(values) = self.own(place) {
            return Some(Step::Values(values));
        }
        let derivation = self.derivation.as_ref()?;
        let rule = derivation.rule(place)?;
        let mut inputs = rule.inputs.iter();
        if inputs.all(|input| self.own(*input).is_some()) {
            return Some(Step::Derived(rule));
        }
        let buckets = derivation.buckets(place)?;
        let free = self.columns.get(place).is_some_and(Vec::is_empty);
        let pays = || {
            let next = self
                .columns
                .get(place + 1)
                .filter(|_| place + 1 < self.key_columns);
            next.is_some_and(|next| !next.is_empty())
        };
        let merged = self.merged.is_some_and(|merged| place <= merged);
        let read = free && (merged || pays());
        read.then(|| Step::Values(buckets.to_vec()))
    }

    fn plan(&self) -> Plan<'_> {
        let mut plan = Plan {
            steps: Vec::new(),
            inputs: Vec::new(),
            complete: true,
        };
        for place in 0..self.key_columns {
            let Some(step) = self.step(place) else {
                break;
            };
            let before = plan.inputs.len();
            match &step {
                Step::Derived(rule) => {
                    for input in &rule.inputs {
                        let known = |one: &usize| one == input;
                        if !plan.inputs.iter().any(known) && *input >= place {
                            plan.inputs.push(*input);
                        }
                    }
                }
                Step::Values(_) => {}
            }
            plan.steps.push(step);
            if self.combinations(&plan) > RANGES_MAX {
                plan.steps.pop();
                plan.inputs.truncate(before);
                plan.complete = false;
                break;
            }
        }
        plan
    }

    /// How many combinations of values the places of a plan have.
    fn combinations(&self, plan: &Plan<'_>) -> usize {
        let steps = plan.steps.iter().enumerate();
        let steps = steps.map(|(place, step)| match step {
            Step::Values(_) if plan.inputs.contains(&place) => 1,
            Step::Values(values) => values.len(),
            Step::Derived(rule) => rule.ways(),
        });
        let inputs = plan.inputs.iter().map(|input| self.own(*input));
        let inputs = inputs.map(|values| values.map_or(1, |values| values.len()));
        steps.chain(inputs).fold(1, usize::saturating_mul)
    }

    /// The beginnings of the keys that a plan leads to, in key order.
    fn prefixes(&self, plan: &Plan<'_>) -> Result<Vec<Prefix>> {
        let mut rows: Vec<Vec<Option<Value>>> = vec![vec![None; self.columns.len()]];
        let steps = plan.steps.iter().enumerate();
        let steps = steps.filter_map(|(place, step)| match step {
            Step::Values(values) => Some((place, values.clone())),
            Step::Derived(_) => None,
        });
        let inputs = plan.inputs.iter();
        let inputs = inputs.filter(|input| **input >= plan.steps.len());
        let inputs = inputs.map(|input| (*input, self.own(*input).unwrap_or_default()));
        for (place, values) in steps.chain(inputs) {
            let longer = rows.iter().flat_map(|row| {
                values.iter().map(move |value| {
                    let mut row = row.clone();
                    if let Some(at) = row.get_mut(place) {
                        *at = Some(value.clone());
                    }
                    row
                })
            });
            rows = longer.collect();
        }
        let mut prefixes = Vec::with_capacity(rows.len());
        for row in &rows {
            prefixes.extend(self.prefix(plan, row)?);
        }
        prefixes.sort_unstable();
        prefixes.dedup();
        Ok(prefixes)
    }

    /// How the keys begin that have these values; none if no row has them.
    fn prefix(&self, plan: &Plan<'_>, row: &[Option<Value>]) -> Result<Vec<Prefix>> {
        let mut prefixes = vec![Prefix {
            bytes: Vec::new(),
            cut: 0,
        }];
        for (place, step) in plan.steps.iter().enumerate() {
            let values = match (step, &self.derivation) {
                (Step::Derived(rule), Some(derivation)) => derivation.values(rule, row),
                _ => row.get(place).cloned().flatten().into_iter().collect(),
            };
            let mut longer = Vec::with_capacity(prefixes.len() * values.len());
            for prefix in &prefixes {
                for value in &values {
                    let mut bytes = prefix.bytes.clone();
                    append_key_value(&mut bytes, value)?;
                    let cut = match self.merged == Some(place) {
                        true => bytes.len(),
                        false => prefix.cut,
                    };
                    longer.push(Prefix { bytes, cut });
                }
            }
            prefixes = longer;
        }
        Ok(prefixes)
    }
}

/// The values a column may have, in key order, if it is bound to any.
fn values(conditions: &[Condition]) -> Option<Vec<Value>> {
    let mut allowed: Option<BTreeSet<Value>> = None;
    for condition in conditions {
        if let Condition::OneOf(values) = condition {
            let values: BTreeSet<Value> = values.iter().cloned().collect();
            allowed = Some(match allowed {
                None => values,
                Some(before) => before.intersection(&values).cloned().collect(),
            });
        }
    }
    Some(allowed?.into_iter().collect())
}

/// Every key that begins with the prefix.
fn with_prefix(prefix: &[u8]) -> KeyRange {
    match prefix {
        [] => KeyRange::all(),
        _ => KeyRange::new(prefix.to_vec(), Some(prefix_upper_bound(prefix).into())),
    }
}

/// The keys with the prefix whose next column lies between the bounds of the conditions.
fn bounded(prefix: &[u8], conditions: &[Condition]) -> Result<KeyRange> {
    let mut range = with_prefix(prefix);
    let longer = |value: &Value| -> Result<Vec<u8>> {
        let mut key = prefix.to_vec();
        append_key_value(&mut key, value)?;
        Ok(key)
    };
    if !conditions.is_empty() {
        // A comparison with NULL is not true, so no NULL qualifies.
        range.lower = prefix_upper_bound(&longer(&Value::Null)?).into();
    }
    for condition in conditions {
        match condition {
            Condition::Above(value, inclusive) => {
                let key = longer(value)?;
                let lower = match inclusive {
                    Inclusive::Yes => key,
                    Inclusive::No => prefix_upper_bound(&key),
                };
                range.lower = range.lower.max(lower.into());
            }
            Condition::Below(value, inclusive) => {
                let key = longer(value)?;
                let upper = match inclusive {
                    Inclusive::No => key,
                    Inclusive::Yes => prefix_upper_bound(&key),
                };
                let upper = txn::Bytes::from(upper);
                range.upper = Some(match range.upper {
                    Some(known) => known.min(upper),
                    None => upper,
                });
            }
            Condition::OneOf(_) => {}
        }
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn int(number: i64) -> Value {
        Value::Int64(number)
    }

    fn condition() -> impl Strategy<Value = Condition> {
        let value = || (-3_i64..4).prop_map(int);
        let or_null = prop_oneof![4 => value(), 1 => Just(Value::Null)];
        let inclusive = prop_oneof![Just(Inclusive::Yes), Just(Inclusive::No)];
        prop_oneof![
            proptest::collection::vec(or_null, 0..4).prop_map(Condition::OneOf),
            (value(), inclusive.clone()).prop_map(|(value, yes)| Condition::Above(value, yes)),
            (value(), inclusive).prop_map(|(value, yes)| Condition::Below(value, yes)),
        ]
    }

    fn holds(condition: &Condition, value: &Value) -> bool {
        match condition {
            Condition::OneOf(values) => values.contains(value),
            _ if value.is_null() => false,
            Condition::Above(bound, Inclusive::Yes) => value >= bound,
            Condition::Above(bound, Inclusive::No) => value > bound,
            Condition::Below(bound, Inclusive::Yes) => value <= bound,
            Condition::Below(bound, Inclusive::No) => value < bound,
        }
    }

    proptest! {
        #[test]
        fn ranges_miss_no_row_and_do_not_overlap(
            asked in proptest::collection::vec((0_usize..3, condition()), 0..5)
        ) {
            let mut conditions = Conditions::new(3, None);
            for (column, condition) in &asked {
                conditions.add(*column, condition.clone());
            }
            let ranges = conditions.ranges().unwrap();
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].is_empty() || pair[1].is_empty()
                    || pair[0].upper.as_ref().is_some_and(|upper| *upper <= pair[1].lower));
            }
            let domain: Vec<Value> =
                std::iter::once(Value::Null).chain((-4..5).map(int)).collect();
            for a in &domain {
                for b in &domain {
                    for c in &domain {
                        let row = [a.clone(), b.clone(), c.clone()];
                        let qualifies = asked.iter().all(|(column, one)| holds(one, &row[*column]));
                        let key = keys::encode_key(&row).unwrap();
                        let read = ranges.iter().filter(|range| range.contains(&key)).count();
                        prop_assert!(read <= 1);
                        prop_assert!(!qualifies || read == 1, "{row:?} is missed");
                    }
                }
            }
        }
    }
}
