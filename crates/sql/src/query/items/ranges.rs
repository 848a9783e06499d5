//! Which ranges of a container's table hold the items that filters ask for.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::Expr;
use keys::{Order, Value, prefix_upper_bound};
use txn::KeyRange;

use super::pruning::Pruning;
use crate::access::{Access, AccessKind, RANGES_SHOWN_MAX, touched};
use crate::collection::record::sharding_prefix;
use crate::collection::{Collection, Source, Stored, path, sorting_bounds, text};
use crate::conditions::{Condition, Conditions, Inclusive, RANGES_MAX};
use crate::query::ranges::Filters;
use crate::{Result, Table};

/// The ranges, and how they are shown.
pub(crate) struct Ranges {
    pub(crate) ranges: Vec<KeyRange>,
    pub(crate) access: Access,
}

/// Where the items lie that filters, which must all hold, can be true of.
pub(crate) fn ranges(
    table: &Table,
    stored: &Stored,
    filters: &[Expr],
    properties: &ExecutionProps,
) -> Result<Ranges> {
    let Some(items) = table.collection() else {
        return Err(crate::Error::Internal {
            what: "a table that is no collection".to_owned(),
        });
    };
    let schema = table.schema();
    let key: Vec<usize> = [Source::Key, Source::Sorting]
        .into_iter()
        .filter_map(|source| items.position(source))
        .collect();
    let conditions = Filters::new(schema, &key, filters, properties).conditions();
    let pruning = Pruning::new(table, items, filters, properties);
    let mut pruned = false;
    let mut directories = stored.partitions(&items.root, &items.path, |parts| {
        let kept = pruning.keeps(parts, false);
        pruned |= !kept;
        kept
    })?;
    directories.retain(|directory| {
        let parts = path::partition(&items.root, directory).unwrap_or_default();
        let kept = pruning.keeps(&parts, true);
        pruned |= !kept;
        kept
    });
    let mut asked = Asked::new(items, &conditions);
    // A range for each of them is dearer than a look at what lies between.
    if asked.count().saturating_mul(directories.len()) > RANGES_MAX {
        asked.names = None;
    }
    let mut named = Vec::new();
    for directory in &directories {
        asked.add(stored, directory, &mut named)?;
    }
    named.sort_by(|(one, _), (two, _)| one.lower.cmp(&two.lower));
    named.retain(|(range, _)| !range.is_empty());
    let (ranges, mut names): (Vec<KeyRange>, Vec<String>) = named.into_iter().unzip();
    let kind = match &asked.names {
        _ if ranges.is_empty() => AccessKind::Nothing,
        Some(names) if names.points => AccessKind::Points,
        Some(_) => AccessKind::Ranges,
        None if pruned => AccessKind::Ranges,
        None => AccessKind::Full,
    };
    names.truncate(RANGES_SHOWN_MAX);
    let touched = touched(&stored.reader, items.base.id(), &ranges)?;
    let all = stored.reader.extent(items.base.id(), &KeyRange::all())?;
    let reason = (kind == AccessKind::Full).then(|| match key.first() {
        Some(key) => format!(
            "no filter binds `{}`, the sharding key",
            schema.name_at(*key)
        ),
        None => "the schema names no key".to_owned(),
    });
    let buckets = items.layout.buckets.map_or(0, NonZeroU32::get);
    let in_buckets = |names: &Names| !names.points && asked.texts(names).is_none();
    let fans_out = buckets > 0 && asked.names.as_ref().is_some_and(in_buckets);
    let access = Access {
        table: schema.name().to_owned(),
        index: None,
        kind,
        ranges: names,
        ranges_total: ranges.len(),
        partitions: (touched.len(), all.partitions),
        touched,
        reason,
        derived: Vec::new(),
        buckets: fans_out.then(|| format!("{buckets} of each sharding key, and what is in none")),
        merged: None,
    };
    Ok(Ranges { ranges, access })
}

/// What is asked of the names of items.
struct Asked<'c> {
    items: &'c Collection,
    conditions: &'c Conditions,
    /// The names, or the sharding keys, if they are known.
    names: Option<Names>,
}

struct Names {
    keys: BTreeSet<String>,
    /// Sorting keys, if those are known as well.
    sortings: Option<Vec<Value>>,
    /// Whether each range is one item.
    points: bool,
}

impl<'c> Asked<'c> {
    fn new(items: &'c Collection, conditions: &'c Conditions) -> Self {
        let has_key = items.position(Source::Key).is_some();
        let keys = conditions.own(0).filter(|_| has_key);
        let keys: Option<BTreeSet<String>> = keys.and_then(|values| {
            let exact = |value: &Value| match value {
                Value::Utf8(_) | Value::Int64(_) => text(value),
                _ => None,
            };
            values.iter().map(exact).collect()
        });
        let sorted = items.layout.sorting_key.is_some();
        let order = items.layout.order;
        let sortings = conditions.own(1).filter(|values| {
            let mut values = values.iter();
            sorted && values.all(|value| sorting_bounds(order, value).is_some())
        });
        let names = keys.map(|keys| Names {
            keys,
            points: !sorted,
            sortings,
        });
        Self {
            items,
            conditions,
            names,
        }
    }

    /// How many ranges there will be in a directory, about.
    fn count(&self) -> usize {
        let Some(names) = &self.names else {
            return 1;
        };
        let places = self.items.layout.shardings("").len();
        let sortings = names.sortings.as_ref().map_or(1, Vec::len);
        let ranges = names.keys.len().saturating_mul(sortings);
        ranges.saturating_mul(places)
    }

    /// The ranges of one directory, and what they are called.
    fn add(
        &self,
        stored: &Stored,
        directory: &str,
        ranges: &mut Vec<(KeyRange, String)>,
    ) -> Result<()> {
        let layout = &self.items.layout;
        let names = match &self.names {
            Some(names) if self.items.keeps_order(stored, directory)? => names,
            _ => {
                ranges.push((stored.directory(directory)?, format!("/{directory}*")));
                return Ok(());
            }
        };
        for key in &names.keys {
            if names.points {
                for place in layout.keys(directory, key) {
                    let called = format!("/{directory}{key}");
                    ranges.push((prefix(stored, &place.values())?, called));
                }
                continue;
            }
            if key.contains('.') {
                // It would end before the period.
                continue;
            }
            if let Some(sortings) = self.texts(names) {
                for sorting in sortings {
                    let called = format!("{key}.{sorting}");
                    for place in layout.keys(directory, &called) {
                        let range = prefix(stored, &place.values())?;
                        ranges.push((range, format!("/{directory}{called}")));
                    }
                }
                continue;
            }
            for sharding in layout.shardings(key) {
                let values = sharding_prefix(directory, &sharding);
                let mut add = |conditions: &[Condition]| -> Result<()> {
                    // As its items are shown, with their bucket.
                    let sharding = sharding.replace('/', "_");
                    let called = format!("/{directory}{sharding}.{}", self.called(conditions));
                    ranges.push((self.bounded(stored, &values, conditions)?, called));
                    Ok(())
                };
                match &names.sortings {
                    Some(sortings) => {
                        for sorting in sortings {
                            add(&[Condition::OneOf(vec![sorting.clone()])])?;
                        }
                    }
                    None => add(self.conditions.asked(1))?,
                }
            }
        }
        Ok(())
    }

    /// The sorting keys that are asked for, if each value is one of them: then they tell the bucket too.
    fn texts<'n>(&self, names: &'n Names) -> Option<Vec<&'n str>> {
        if self.items.layout.order != Order::Text {
            return None;
        }
        let text = |value: &'n Value| match value {
            Value::Utf8(text) => Some(&**text),
            _ => None,
        };
        names.sortings.as_ref()?.iter().map(text).collect()
    }

    /// The items of one sharding key whose sorting keys meet conditions.
    fn bounded(
        &self,
        stored: &Stored,
        sharding: &[Value],
        conditions: &[Condition],
    ) -> Result<KeyRange> {
        let mut range = prefix(stored, sharding)?;
        let with = |sorting: Vec<u8>| {
            let mut values = sharding.to_vec();
            values.push(Value::String(sorting.into()));
            stored.prefix(&values)
        };
        for condition in conditions {
            let (lower, upper) = match self.bounds(condition) {
                Some(bounds) => bounds,
                None => continue,
            };
            if let Some(lower) = lower {
                range.lower = range.lower.max(with(lower)?);
            }
            if let Some(upper) = upper {
                let upper = with(upper)?;
                range.upper = Some(range.upper.map_or(upper.clone(), |known| known.min(upper)));
            }
        }
        Ok(range)
    }

    /// What sorting keys that meet conditions are called, as far as those bind them.
    fn called(&self, conditions: &[Condition]) -> String {
        let mut words = vec!["*".to_owned()];
        for condition in conditions.iter().filter(|one| self.bounds(one).is_some()) {
            words.push(match condition {
                Condition::OneOf(values) => {
                    return values.iter().filter_map(text).collect();
                }
                Condition::Above(value, Inclusive::Yes) => format!("from {value}"),
                Condition::Above(value, Inclusive::No) => format!("after {value}"),
                Condition::Below(value, Inclusive::Yes) => format!("to {value}"),
                Condition::Below(value, Inclusive::No) => format!("below {value}"),
            });
        }
        words.join(" ")
    }

    /// The least sorting key that meets a condition, and the least after all that do; nothing if the
    /// condition says nothing of where they lie.
    #[expect(
        clippy::type_complexity,
        reason = "two bounds, each of which may be open"
    )]
    fn bounds(&self, condition: &Condition) -> Option<(Option<Vec<u8>>, Option<Vec<u8>>)> {
        self.items.layout.sorting_key.as_ref()?;
        let order = self.items.layout.order;
        Some(match condition {
            Condition::OneOf(values) => {
                let [value] = values.as_slice() else {
                    return None;
                };
                let (from, past) = sorting_bounds(order, value)?;
                (Some(from), past)
            }
            Condition::Above(value, inclusive) => {
                let (from, past) = sorting_bounds(order, value)?;
                match inclusive {
                    Inclusive::Yes => (Some(from), None),
                    Inclusive::No => (past, None),
                }
            }
            Condition::Below(value, inclusive) => {
                let (from, past) = sorting_bounds(order, value)?;
                match inclusive {
                    Inclusive::Yes => (None, past),
                    Inclusive::No => (None, Some(from)),
                }
            }
        })
    }
}

/// All keys that begin with these values.
fn prefix(stored: &Stored, values: &[Value]) -> Result<KeyRange> {
    let lower = stored.prefix(values)?;
    let upper = Some(prefix_upper_bound(&lower).into());
    Ok(KeyRange { lower, upper })
}
