//! How a statement reaches the rows of a table: by key, by ranges of keys, or by reading everything.
//!
//! Both executors read the same way, so both explain themselves with an [`Access`].

use std::collections::BTreeSet;
use std::fmt;

use keys::{format_key, prefix_upper_bound};
use txn::{KeyRange, PartitionId, Reader, TableId};

use crate::conditions::Conditions;
use crate::index::IndexTable;
use crate::{Result, Schema, Table};

/// How many ranges are told one by one.
pub(crate) const RANGES_SHOWN_MAX: usize = 16;

/// How the rows of one table are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) table: String,
    /// The index by which they are found, whose keys the ranges are of.
    pub(crate) index: Option<String>,
    pub(crate) kind: AccessKind,
    /// The key ranges, as paths; the first ones if there are many.
    pub(crate) ranges: Vec<String>,
    /// How many ranges there are.
    pub(crate) ranges_total: usize,
    /// How many partitions are read, and how many there are.
    pub(crate) partitions: (usize, usize),
    /// The partitions that are read.
    pub(crate) touched: BTreeSet<PartitionId>,
    /// Why everything is read, if it is.
    pub(crate) reason: Option<String>,
    /// Which key columns follow from what others, as a person would say it.
    pub(crate) derived: Vec<String>,
    /// The buckets that are read one by one.
    pub(crate) buckets: Option<String>,
    /// How many ranges are read side by side, if they are merged.
    pub(crate) merged: Option<usize>,
}

/// What kind of read it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// Single keys.
    Points,
    /// Ranges of keys.
    Ranges,
    /// The whole table.
    Full,
    /// Nothing: no row can qualify.
    Nothing,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Points => "point lookup",
            Self::Ranges => "range scan",
            Self::Full => "full scan",
            Self::Nothing => "empty scan",
        })
    }
}

/// Keys that are read: those of a table, or of an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'t> {
    name: &'t str,
    index: Option<&'t str>,
    id: TableId,
    schema: &'t Schema,
    /// Where the columns of the key stand in the table.
    key: &'t [usize],
}

impl<'t> Target<'t> {
    /// The rows of a table.
    pub(crate) fn table(table: &'t Table) -> Self {
        let schema = table.schema();
        Self {
            name: schema.name(),
            index: None,
            id: table.id(),
            schema,
            key: schema.key_positions(),
        }
    }

    /// The entries of an index, which are read for the table's sake.
    pub(crate) fn index(table: &'t Table, index: &'t IndexTable) -> Self {
        let schema = table.schema();
        Self {
            name: schema.name(),
            index: Some(&index.name),
            id: index.id,
            schema,
            key: &index.key,
        }
    }

    /// All its partitions.
    pub(crate) fn partitions(&self, reader: &Reader) -> Result<BTreeSet<PartitionId>> {
        touched(reader, self.id, &[KeyRange::all()])
    }

    /// Why everything is read.
    fn reason(&self) -> String {
        let first = self.name_of(0);
        match self.inputs(0) {
            Some(inputs) => format!(
                "no filter binds `{first}`, the first key column, or {inputs}, from which it is \
                 worked out"
            ),
            None => format!("no filter binds `{first}`, the first key column"),
        }
    }

    fn name_of(&self, place: usize) -> &'t str {
        let position = self.key.get(place);
        position.map_or("", |position| self.schema.name_at(*position))
    }

    /// The columns that the one at a place of the key is worked out from, if it is.
    fn inputs(&self, place: usize) -> Option<String> {
        let generated = self.schema.generated_at(*self.key.get(place)?)?;
        let inputs = generated.inputs.iter();
        let inputs = inputs.map(|input| format!("`{}`", self.schema.name_at(*input)));
        Some(inputs.collect::<Vec<_>>().join(" and "))
    }
}

/// The partitions that hold these ranges.
pub(crate) fn touched(
    reader: &Reader,
    id: TableId,
    ranges: &[KeyRange],
) -> Result<BTreeSet<PartitionId>> {
    let mut touched = BTreeSet::new();
    for range in ranges {
        let extent = reader.extent(id, range)?;
        touched.extend(extent.tiles.into_iter().map(|tile| tile.partition));
    }
    Ok(touched)
}

impl Access {
    /// How rows that meet these conditions are found.
    pub(crate) fn new(
        target: Target<'_>,
        conditions: &Conditions,
        reader: &Reader,
    ) -> Result<Self> {
        let mut ranges = conditions.ranges()?;
        ranges.retain(|range| !range.is_empty());
        let whole = |range: &KeyRange| range.lower.is_empty() && range.upper.is_none();
        let kind = if ranges.is_empty() {
            AccessKind::Nothing
        } else if ranges.iter().any(whole) {
            AccessKind::Full
        } else if conditions.bound_columns() == target.key.len() {
            AccessKind::Points
        } else {
            AccessKind::Ranges
        };
        let touched = touched(reader, target.id, &ranges)?;
        let total = reader.extent(target.id, &KeyRange::all())?.partitions;
        let follows = |place: usize| {
            let inputs = target.inputs(place).unwrap_or_default();
            format!("`{}` from {inputs}", target.name_of(place))
        };
        let enumerated = conditions.enumerated();
        let reason = match enumerated {
            _ if kind == AccessKind::Full => Some(target.reason()),
            Some((place, count)) if total > 1 && touched.len() == total => Some(format!(
                "no filter binds {}, from which `{}` is worked out: each of its {count} buckets is \
                 read",
                target.inputs(place).unwrap_or_default(),
                target.name_of(place)
            )),
            _ => None,
        };
        let buckets =
            enumerated.map(|(place, count)| format!("{count} of `{}`", target.name_of(place)));
        let merged = conditions.is_merged().then_some(ranges.len());
        Ok(Self {
            derived: conditions.derived().into_iter().map(follows).collect(),
            buckets,
            merged,
            table: target.name.to_owned(),
            index: target.index.map(str::to_owned),
            kind,
            ranges: ranges
                .iter()
                .take(RANGES_SHOWN_MAX)
                .map(|range| shown(range, kind))
                .collect(),
            ranges_total: ranges.len(),
            partitions: (touched.len(), total),
            touched,
            reason,
        })
    }

    /// The same while values are open.
    pub(crate) fn open(target: Target<'_>, kind: AccessKind, reader: &Reader) -> Result<Self> {
        let touched = target.partitions(reader)?;
        Ok(Self {
            table: target.name.to_owned(),
            index: target.index.map(str::to_owned),
            kind,
            ranges: Vec::new(),
            ranges_total: 0,
            partitions: (touched.len(), touched.len()),
            touched,
            reason: (kind == AccessKind::Full).then(|| target.reason()),
            derived: Vec::new(),
            buckets: None,
            merged: None,
        })
    }

    /// Whether which partitions are read depends on values that are not there.
    pub(crate) fn is_open(&self) -> bool {
        self.ranges_total == 0 && matches!(self.kind, AccessKind::Points | AccessKind::Ranges)
    }
}

/// A range as a person would write it.
fn shown(range: &KeyRange, kind: AccessKind) -> String {
    let lower = format_key(&range.lower);
    let from = match past(&lower) {
        _ if range.lower.is_empty() => None,
        // NULL is the least key, and no comparison is true for it.
        Some("/<null>") if range.upper.is_some() => None,
        Some(key) => Some(format!("after {key}")),
        None => Some(format!("from {lower}")),
    };
    let to = range.upper.as_ref().map(|upper| {
        let upper = format_key(upper);
        match past(&upper) {
            Some(key) if lower.starts_with(&format!("{key}/")) => format!("to the end of {key}"),
            Some(key) => format!("to {key}"),
            None => format!("below {upper}"),
        }
    });
    let prefix = prefix_upper_bound(&range.lower);
    match (from, to) {
        (None, None) => "all keys".to_owned(),
        _ if range.upper.as_deref() == Some(prefix.as_slice()) => match kind {
            AccessKind::Points => lower,
            _ => format!("{lower}/*"),
        },
        (Some(one), None) | (None, Some(one)) => one,
        (Some(from), Some(to)) => format!("{from} {to}"),
    }
}

/// The key that a bound lies just past of, with everything that begins with it.
fn past(path: &str) -> Option<&str> {
    let key = path.strip_suffix("/<end>")?;
    Some(if key.is_empty() { "/" } else { key })
}
