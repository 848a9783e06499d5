//! From conditions on key columns to the key ranges that can hold the rows.
//!
//! ```text
//!   key (a, b, c)      a = 7 AND b IN (1, 2) AND c > 5        →  /7/1 past /5 …   /7/2 past /5 …
//!                      a = 7 AND c > 5                        →  /7 …             c filters
//!                      a > 5                                  →  past /5 …
//!                      a < 5                                  →  past NULL … /5   NULL < 5 is unknown
//!                      a IS NULL                              →  /NULL …
//!                      b = 1                                  →  everything       a is not bound
//! ```
//!
//! Columns are taken in the order of the key as long as they are bound to values; the first one that is
//! bound to a range ends it. The ranges never miss a row, and may hold rows that do not qualify.

use std::collections::BTreeSet;

use keys::{Value, append_key_value, prefix_upper_bound};
use txn::KeyRange;

use crate::Result;

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

/// Conditions that must all hold, for each key column in the order of the key.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    columns: Vec<Vec<Condition>>,
}

impl Conditions {
    pub(crate) fn new(key_columns: usize) -> Self {
        Self {
            columns: vec![Vec::new(); key_columns],
        }
    }

    pub(crate) fn add(&mut self, key_column: usize, condition: Condition) {
        if let Some(conditions) = self.columns.get_mut(key_column) {
            conditions.push(condition);
        }
    }

    /// How many of the first columns are bound to values.
    pub(crate) fn bound_columns(&self) -> usize {
        self.columns
            .iter()
            .take_while(|conditions| values(conditions).is_some())
            .count()
    }

    /// How many combinations of values the first columns are bound to.
    pub(crate) fn combinations(&self) -> usize {
        let bound = self.columns.iter().map_while(|one| values(one));
        bound.fold(1, |product, values| product.saturating_mul(values.len()))
    }

    /// The ranges, in key order and without overlap.
    pub(crate) fn ranges(&self) -> Result<Vec<KeyRange>> {
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
            let mut conditions = Conditions::new(3);
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
