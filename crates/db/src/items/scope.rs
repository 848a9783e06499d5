//! Which items of a directory a scan is of, and where its pages end.

use std::num::NonZeroU32;

use keys::item_name::slice;
use keys::{Attribute, ItemName, SLICES};

use super::error::Result;
use super::layout::Layout;
use super::marker::Marker;
use super::path;
use super::record::Record;

/// What a partition is called that has no value.
const NULL_PARTITION: &str = "null";

/// Which items of a directory are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Whole,
    /// One part of so many.
    Segment(u16, u16),
    /// Those of one sharding key, from a sorting key on and up to another.
    Sharding {
        /// The sharding key.
        key: String,
        /// The first sorting key.
        start: Option<String>,
        /// The first sorting key that is not asked for any more.
        end: Option<String>,
    },
    /// All of the directory and of those below it, or one part of so many of each. What partitions
    /// stand for is then among the attributes of their items.
    Below(Option<(u16, u16)>),
}

impl Scope {
    /// What tells the scan from others, for its markers.
    pub(super) fn describe(&self, path: &str, layout: &Layout) -> String {
        let order = layout.order.kind();
        match self {
            Self::Whole => format!("{path}|whole|{}", lies(layout)),
            Self::Segment(segment, total) => {
                format!("{path}|segment {segment} {total}|{}", lies(layout))
            }
            Self::Sharding { key, .. } => format!("{path}|sharding {key}|{order}"),
            Self::Below(part) => format!("{path}|below {part:?}"),
        }
    }

    /// Where a page that ends with this record ends, in a directory with this layout, if buckets were
    /// counted so when the scan began.
    pub(super) fn marker(
        &self,
        record: &Record,
        layout: &Layout,
        counted: Option<NonZeroU32>,
    ) -> Marker {
        let key = &record.key;
        let sharding = match self {
            // Neither paths nor names have a zero byte.
            Self::Below(_) => format!("{}\0{}\0{}", key.path, key.sharding, lies(layout)),
            // The bucket may be another by then.
            Self::Sharding { .. } => {
                let counted = counted.map_or(0, NonZeroU32::get);
                format!("{}\0{counted}", own_sharding(record))
            }
            _ => key.sharding.clone(),
        };
        let sorting = key.sorting.clone();
        Marker { sharding, sorting }
    }

    /// How buckets are counted in a scan: as they are, or as they were when it began, which its marker says.
    pub(super) fn counted(
        &self,
        marker: &mut Option<Marker>,
        layout: &Layout,
    ) -> Option<NonZeroU32> {
        let marker = marker
            .as_mut()
            .filter(|_| matches!(self, Self::Sharding { .. }));
        let said = marker.and_then(|marker| {
            let (own, counted) = marker.sharding.rsplit_once('\0')?;
            let counted: u32 = counted.parse().ok()?;
            marker.sharding = own.to_owned();
            Some(NonZeroU32::new(counted))
        });
        said.unwrap_or(layout.buckets)
    }

    /// Whether the items of a sharding key are asked for, as far as the range does not tell.
    pub(super) fn has(&self, sharding: &str) -> bool {
        match self {
            Self::Below(Some((segment, total))) => (bound(*segment, *total)
                ..bound(segment.saturating_add(1), *total))
                .contains(&slice(sharding)),
            _ => true,
        }
    }

    /// The record with what its directory stands for.
    pub(super) fn shown(&self, mut record: Record) -> Result<Record> {
        let parts: Vec<_> = match self {
            Self::Below(_) => stands_for(&record.key.path).collect(),
            _ => return Ok(record),
        };
        if !parts.is_empty() && !record.key.is_of_directory() {
            let mut item = record.item()?;
            for (name, attribute) in parts {
                match attribute {
                    Some(attribute) => _ = item.set(name, attribute),
                    None => _ = item.remove(name),
                }
            }
            record.attributes = item.encode()?;
        }
        Ok(record)
    }
}

/// How the items of a directory lie, which a marker holds for.
pub(super) fn lies(layout: &Layout) -> String {
    let buckets = layout.buckets.map_or(0, NonZeroU32::get);
    format!("{} {buckets}", layout.order.kind())
}

/// The sharding key that the own name of an item says.
pub(super) fn own_sharding(record: &Record) -> &str {
    ItemName::split(&record.name).sharding
}

/// What the directories of a path stand for; whatever items say of that themselves, they lie there.
pub(super) fn stands_for(path: &str) -> impl Iterator<Item = (&str, Option<Attribute>)> {
    let parts = path.split('/').filter_map(path::attribute);
    parts.map(|(name, text)| {
        let integer = text.parse::<i64>().map(Attribute::Integer);
        let attribute = integer.unwrap_or_else(|_| Attribute::Text(text.to_owned()));
        (name, Some(attribute).filter(|_| text != NULL_PARTITION))
    })
}

/// The first slice of a segment.
pub(super) fn bound(segment: u16, total: u16) -> u16 {
    let bound = u32::from(segment) * u32::from(SLICES) / u32::from(total.max(1));
    u16::try_from(bound).unwrap_or(SLICES)
}
