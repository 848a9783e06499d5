//! Reading the items of a directory page by page: all of them, a segment, or one sharding key.
//!
//! ```text
//!   Whole               every slice            ├──────────────────────────────┤
//!   Segment 1 of 4      a quarter of them              ├───────┤
//!   Sharding johnd      one range                  ├┤
//!     distributed       one range a bucket      ├┤  ├┤    ├┤  ├┤   merged by sorting key
//!   Below               this directory and     ├────────┼─────────┼────────── … ┤
//!                       all below it
//!     year == 2016      partitions ruled out   ├────────┼─        ┼─         … ┤
//! ```
//!
//! A scan of all below passes over directories of whose items the filter cannot be true, as far as their
//! paths tell.
//!
//! A page ends when it has enough items or bytes, or when enough rows were looked at and there is at
//! least one item: a page without items is always the last one, because clients stop at it.

use std::cmp::Ordering;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::{Direction, Range, Rows, Snapshot, Table, Value};
use keys::item_name::slice;
use keys::{Attribute, EvenSharding, SLICES};

use super::error::{Error, Result};
use super::expression::Condition;
use super::layout::Layout;
use super::marker::Marker;
use super::record::{Record, sharding_prefix, sorting_value};
use super::traced::Scanned;
use super::{Collections, Directory, Key, has_rows, path, range_below};

/// Items of the longest page.
pub const PAGE_ITEMS_MAX: usize = 10_000;

/// Bytes of attributes and objects after which a page ends.
pub const PAGE_BYTES_MAX: usize = 2 << 20;

/// Rows looked at after which a page with an item ends.
const PAGE_ROWS_MAX: usize = 50_000;

/// Rows that are looked at before others have a turn.
const TURN_ROWS: usize = 256;

/// What a partition is called that has no value.
const NULL_PARTITION: &str = "null";

/// Segments that one scan can have.
pub const SEGMENTS_MAX: u16 = SLICES;

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

/// What a page should hold.
#[derive(Debug)]
pub struct Ask {
    /// Which items.
    pub scope: Scope,
    /// What must be true of them.
    pub filter: Option<Condition>,
    /// How many at most.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub marker: Option<String>,
    /// The buckets of the table, if the request names them.
    pub buckets: Option<NonZeroU32>,
}

/// Items of a directory.
#[derive(Debug)]
pub struct Page {
    /// The items, those of one sharding key in the order of their sorting keys.
    pub records: Vec<Record>,
    /// Where the next page begins; nothing if this is the last one.
    pub marker: Option<String>,
    /// When something that was looked at, or the directory itself, was changed last.
    pub changed_ns: Option<i64>,
    /// How many rows were looked at.
    pub looked_at: usize,
}

/// The rows of one range, with those of a page before left out.
struct Strand {
    rows: Rows,
    head: Option<Record>,
}

impl Collections {
    /// One page of a directory's items.
    pub async fn scan(&self, directory: &Directory, ask: &Ask) -> Result<Page> {
        let entered = self.enter(directory).await?;
        let layout = entered.layout.with_buckets(ask.buckets);
        let named = ask.scope.describe(&directory.path, &layout);
        let marker = ask.place(&named)?;
        let request = self.request("GetItems", directory);
        let sought = Sought::new(&ask.scope, &layout)?;
        let snapshot = self.database.snapshot();
        let opener = Strands {
            snapshot: &snapshot,
            table: &entered.table,
            path: &directory.path,
            marker: marker.as_ref(),
        };
        let mut strands = opener.open(&ask.scope, &sought)?;
        let limit = ask.limit.unwrap_or(PAGE_ITEMS_MAX).clamp(1, PAGE_ITEMS_MAX);
        let (mut records, mut bytes, mut looked_at) = (Vec::new(), 0, 0);
        let mut last: Option<Marker> = None;
        let (mut changed_ns, mut inside) = (None, None);
        while let Some(record) = next(&mut strands)? {
            looked_at += 1;
            if inside.as_ref() != Some(&record.key.path) {
                if let Some(refused) = ask.refuses(&directory.path, &record.key.path) {
                    strands = opener.past(refused)?;
                    continue;
                }
                inside = Some(record.key.path.clone());
            }
            changed_ns = changed_ns.max(Some(record.changed_ns));
            if looked_at % TURN_ROWS == 0 {
                tokio::task::yield_now().await;
            }
            last = Some(ask.scope.marker(&record.key));
            let record = ask.scope.shown(record)?;
            if ask.admits(&record)? {
                bytes += record.attributes.len() + record.name.len() + record.size();
                records.push(record);
            }
            let full = records.len() >= limit || bytes >= PAGE_BYTES_MAX;
            if full || looked_at >= PAGE_ROWS_MAX && !records.is_empty() {
                break;
            }
        }
        let ended = strands.iter().all(|strand| strand.head.is_none());
        if records.is_empty() && marker.is_none() && !directory.path.is_empty() {
            let exists = has_rows(&snapshot, &entered.table, &directory.path)?;
            exists.then_some(()).ok_or(Error::NotFound)?;
        }
        if let Some(request) = request {
            let scanned = Scanned {
                path: &directory.path,
                ask,
                shardings: &sought.shardings,
                bounds: sought.bounds.as_ref(),
                marker: marker.as_ref(),
                records: &records,
                looked_at,
            };
            request.did(&entered.table, scanned.ops());
        }
        let last = last.filter(|_| !ended);
        let own_ns = opener.directory_changed_ns()?;
        Ok(Page {
            records,
            marker: last.map(|last| last.encode(&named)),
            changed_ns: changed_ns.max(own_ns),
            looked_at,
        })
    }
}

impl Ask {
    /// Where the page before ended, if there was one.
    fn place(&self, named: &str) -> Result<Option<Marker>> {
        let marker = self.marker.as_deref();
        marker
            .map(|marker| Marker::decode(marker, named))
            .transpose()
    }

    /// The outermost directory on the way from one to another whose items are not asked for, nor any
    /// below it.
    fn refuses<'p>(&self, from: &str, path: &'p str) -> Option<&'p str> {
        let filter = self.filter.as_ref()?;
        if !matches!(self.scope, Scope::Below(_)) {
            return None;
        }
        let ends = path.match_indices('/').map(|(at, _)| at + 1);
        let mut above = ends.filter(|end| *end >= from.len());
        let ruled_out = |at: &str| {
            let known: Vec<_> = stands_for(at).collect();
            !known.is_empty() && !filter.may_hold(&known)
        };
        above.find_map(|end| path.get(..end).filter(|at| ruled_out(at)))
    }

    fn admits(&self, record: &Record) -> Result<bool> {
        if record.key.is_of_directory() || !self.scope.has(&record.key.sharding) {
            return Ok(false);
        }
        match &self.filter {
            Some(filter) => Ok(filter.holds(&(record.view()?, record))?),
            None => Ok(true),
        }
    }
}

impl Scope {
    /// What tells the scan from others, for its markers.
    fn describe(&self, path: &str, layout: &Layout) -> String {
        let order = layout.order.kind();
        match self {
            Self::Whole => format!("{path}|whole|{order}"),
            Self::Segment(segment, total) => format!("{path}|segment {segment} {total}|{order}"),
            Self::Sharding { key, .. } => {
                let buckets = layout.buckets.map_or(0, NonZeroU32::get);
                format!("{path}|sharding {buckets} {key}|{order}")
            }
            Self::Below(part) => format!("{path}|below {part:?}"),
        }
    }

    /// Where a page that ends with this key ends.
    fn marker(&self, key: &Key) -> Marker {
        let sharding = match self {
            // Neither paths nor names have a zero byte.
            Self::Below(_) => format!("{}\0{}", key.path, key.sharding),
            _ => key.sharding.clone(),
        };
        let sorting = key.sorting.clone();
        Marker { sharding, sorting }
    }

    /// Whether the items of a sharding key are asked for, as far as the range does not tell.
    fn has(&self, sharding: &str) -> bool {
        match self {
            Self::Below(Some((segment, total))) => (bound(*segment, *total)
                ..bound(segment.saturating_add(1), *total))
                .contains(&slice(sharding)),
            _ => true,
        }
    }

    /// The record with what its directory stands for.
    fn shown(&self, mut record: Record) -> Result<Record> {
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

/// What the directories of a path stand for; whatever items say of that themselves, they lie there.
fn stands_for(path: &str) -> impl Iterator<Item = (&str, Option<Attribute>)> {
    let parts = path.split('/').filter_map(path::attribute);
    parts.map(|(name, text)| {
        let integer = text.parse::<i64>().map(Attribute::Integer);
        let attribute = integer.unwrap_or_else(|_| Attribute::Text(text.to_owned()));
        (name, Some(attribute).filter(|_| text != NULL_PARTITION))
    })
}

/// The least sorting key that is asked for, and the least above it that is not.
pub(super) type Bounds = (Vec<u8>, Option<Vec<u8>>);

/// The sharding keys that a scope means, one for each bucket, and the bounds of their sorting keys.
#[derive(Default)]
struct Sought {
    shardings: Vec<String>,
    bounds: Option<Bounds>,
}

impl Sought {
    fn new(scope: &Scope, layout: &Layout) -> Result<Self> {
        let Scope::Sharding { key, start, end } = scope else {
            return Ok(Self::default());
        };
        let bound = |text: &String| {
            layout.order.bound(text).ok_or_else(|| {
                let kind = layout.order.kind();
                Error::Invalid(format!(
                    "`{text}` is no {kind}, which the sorting keys of this table are"
                ))
            })
        };
        let bounds = match (start, end) {
            (None, None) => None,
            (start, end) => {
                let (least, most) = layout.order.ends();
                let lower = start.as_ref().map(bound).transpose()?;
                let upper = end.as_ref().map(bound).transpose()?;
                Some((lower.unwrap_or(least), upper.or(most)))
            }
        };
        let buckets = layout.buckets.map_or(0, NonZeroU32::get);
        let even = (0..buckets).map(|bucket| EvenSharding { stem: key, bucket }.join());
        Ok(Self {
            shardings: std::iter::once(key.clone()).chain(even).collect(),
            bounds,
        })
    }
}

/// What strands are opened with.
struct Strands<'a> {
    snapshot: &'a Snapshot,
    table: &'a Arc<Table>,
    path: &'a str,
    marker: Option<&'a Marker>,
}

impl Strands<'_> {
    fn open(&self, scope: &Scope, sought: &Sought) -> Result<Vec<Strand>> {
        match scope {
            Scope::Whole => Ok(vec![self.slices(0, SLICES)?]),
            Scope::Segment(segment, total) => {
                let to = bound(segment.saturating_add(1), *total);
                Ok(vec![self.slices(bound(*segment, *total), to)?])
            }
            Scope::Below(_) => Ok(vec![self.below()?]),
            Scope::Sharding { .. } => {
                let shardings = sought.shardings.iter();
                shardings
                    .map(|sharding| self.sharding(sharding, sought.bounds.as_ref()))
                    .collect()
            }
        }
    }

    /// When the directory itself was changed.
    fn directory_changed_ns(&self) -> Result<Option<i64>> {
        let own = Key::of_directory(self.path).values();
        let own = self.snapshot.get(self.table, &own)?;
        let own = own.map(Record::from_row).transpose()?;
        Ok(own.map(|own| own.changed_ns))
    }

    /// The rows of some slices.
    fn slices(&self, from: u16, to: u16) -> Result<Strand> {
        let path = Value::Utf8(self.path.into());
        let lower = match self.marker {
            Some(marker) => {
                let [path, slice, sharding] = sharding_prefix(self.path, &marker.sharding);
                let sorting = sorting_value(marker.sorting.as_deref());
                Range::from(&[path, slice, sharding, sorting])
            }
            None => Range::from(&[path.clone(), Value::Uint16(from)]),
        };
        let range = match to.checked_sub(1) {
            Some(last) => lower.through(&[path, Value::Uint16(last)]),
            None => lower.before(&[path, Value::Uint16(0)]),
        };
        let is_before = |record: &Record, marker: &Marker| {
            record.key.sharding == marker.sharding && record.key.sorting == marker.sorting
        };
        self.strand(&range, is_before)
    }

    /// The rows of a directory and of those below it.
    fn below(&self) -> Result<Strand> {
        let Some(marker) = self.marker else {
            return self.strand(&range_below(self.path), |_, _| false);
        };
        let (path, sharding) = marker.sharding.split_once('\0').unwrap_or_default();
        let [path, slice, sharding] = sharding_prefix(path, sharding);
        let sorting = sorting_value(marker.sorting.as_deref());
        let mut range = Range::from(&[path, slice, sharding, sorting]);
        if let Some(above) = path::above(self.path) {
            range = range.before(&[Value::Utf8(above.into())]);
        }
        let scope = Scope::Below(None);
        self.strand(&range, |record, marker| {
            scope.marker(&record.key) == *marker
        })
    }

    /// The rows below the directory that come after another directory and all below that.
    fn past(&self, passed: &str) -> Result<Vec<Strand>> {
        let lower = path::above(passed).unwrap_or_default();
        let mut range = Range::from(&[Value::Utf8(lower.into())]);
        if let Some(above) = path::above(self.path) {
            range = range.before(&[Value::Utf8(above.into())]);
        }
        Ok(vec![self.strand(&range, |_, _| false)?])
    }

    /// The rows of one sharding key between two bounds.
    fn sharding(&self, sharding: &str, bounds: Option<&Bounds>) -> Result<Strand> {
        let prefix = sharding_prefix(self.path, sharding);
        let with = |sorting: Value| {
            let mut values = prefix.to_vec();
            values.push(sorting);
            values
        };
        let lower = match (self.marker, bounds) {
            (Some(marker), _) => Range::from(&with(sorting_value(marker.sorting.as_deref()))),
            (None, Some((lower, _))) => Range::from(&with(sorting_value(Some(lower)))),
            (None, None) => Range::from(&prefix),
        };
        let range = match bounds {
            Some((_, Some(upper))) => lower.before(&with(sorting_value(Some(upper)))),
            _ => lower.through(&prefix),
        };
        // Buckets are merged by sorting key and then by sharding key.
        let is_before = |record: &Record, marker: &Marker| {
            record.key.sorting == marker.sorting && record.key.sharding <= marker.sharding
        };
        self.strand(&range, is_before)
    }

    fn strand(
        &self,
        range: &Range,
        is_before: impl Fn(&Record, &Marker) -> bool,
    ) -> Result<Strand> {
        let rows = self
            .snapshot
            .scan(self.table, range, Direction::Ascending)?;
        let mut strand = Strand { rows, head: None };
        strand.advance()?;
        if let (Some(head), Some(marker)) = (&strand.head, self.marker)
            && is_before(head, marker)
        {
            strand.advance()?;
        }
        Ok(strand)
    }
}

impl Strand {
    fn advance(&mut self) -> Result<Option<Record>> {
        let next = self.rows.next().transpose()?;
        let next = next.map(Record::from_row).transpose()?;
        Ok(std::mem::replace(&mut self.head, next))
    }
}

/// The first slice of a segment.
pub(super) fn bound(segment: u16, total: u16) -> u16 {
    let bound = u32::from(segment) * u32::from(SLICES) / u32::from(total.max(1));
    u16::try_from(bound).unwrap_or(SLICES)
}

/// The least of the records that the strands are at.
fn next(strands: &mut [Strand]) -> Result<Option<Record>> {
    let heads = strands.iter_mut().filter(|strand| strand.head.is_some());
    let least = heads.min_by(|a, b| match (&a.head, &b.head) {
        (Some(a), Some(b)) => {
            let by_sorting = a.key.sorting.cmp(&b.key.sorting);
            by_sorting.then_with(|| a.key.sharding.cmp(&b.key.sharding))
        }
        _ => Ordering::Equal,
    });
    match least {
        Some(strand) => strand.advance(),
        None => Ok(None),
    }
}
