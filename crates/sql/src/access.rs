//! How a statement reaches the rows of a table: by key, by ranges of keys, or by reading everything.
//!
//! Both executors read the same way, so both explain themselves with an [`Access`].

use std::fmt;

use keys::{format_key, prefix_upper_bound};
use txn::{KeyRange, Reader, TableId};

use crate::conditions::Conditions;
use crate::index::IndexTable;
use crate::{Result, Schema, Table};

/// How many ranges are told one by one.
const RANGES_SHOWN_MAX: usize = 16;

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
    /// Why everything is read, if it is.
    pub(crate) reason: Option<String>,
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
            Self::Nothing => "no rows can qualify",
        })
    }
}

impl Access {
    /// How rows of `table` that meet these conditions are found.
    pub(crate) fn new(table: &Table, conditions: &Conditions, reader: &Reader) -> Result<Self> {
        Self::of(table.id(), table.schema(), conditions, reader)
    }

    /// The same, through an index.
    pub(crate) fn through(
        table: &Table,
        index: &IndexTable,
        conditions: &Conditions,
        reader: &Reader,
    ) -> Result<Self> {
        let access = Self::of(index.id, index.schema(), conditions, reader)?;
        Ok(Self {
            table: table.schema().name().to_owned(),
            index: Some(index.name.clone()),
            ..access
        })
    }

    fn of(id: TableId, schema: &Schema, conditions: &Conditions, reader: &Reader) -> Result<Self> {
        let mut ranges = conditions.ranges()?;
        ranges.retain(|range| !range.is_empty());
        let whole = |range: &KeyRange| range.lower.is_empty() && range.upper.is_none();
        let kind = if ranges.is_empty() {
            AccessKind::Nothing
        } else if ranges.iter().any(whole) {
            AccessKind::Full
        } else if conditions.bound_columns() == schema.key_positions().len() {
            AccessKind::Points
        } else {
            AccessKind::Ranges
        };
        let reason = (kind == AccessKind::Full).then(|| {
            let first = schema.key_columns().next();
            let name = first.map_or("", |column| column.name.as_str());
            format!("no filter binds `{name}`, the first key column")
        });
        let mut touched = std::collections::BTreeSet::new();
        let mut partitions = 0;
        for range in &ranges {
            let extent = reader.extent(id, range)?;
            partitions = extent.partitions;
            touched.extend(extent.tiles.into_iter().map(|tile| tile.partition));
        }
        if ranges.is_empty() {
            partitions = reader.extent(id, &KeyRange::all())?.partitions;
        }
        Ok(Self {
            table: schema.name().to_owned(),
            index: None,
            kind,
            ranges: ranges
                .iter()
                .take(RANGES_SHOWN_MAX)
                .map(|range| shown(range, kind))
                .collect(),
            ranges_total: ranges.len(),
            partitions: (touched.len(), partitions),
            reason,
        })
    }
}

/// A range as a person would write it.
fn shown(range: &KeyRange, kind: AccessKind) -> String {
    let lower = format_key(&range.lower);
    let from = match past(&lower) {
        _ if range.lower.is_empty() => None,
        Some(key) => Some(format!("after {key}")),
        None => Some(format!("from {lower}")),
    };
    let to = range.upper.as_ref().map(|upper| {
        let upper = format_key(upper);
        match past(&upper) {
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
