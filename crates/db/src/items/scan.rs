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
//! While items are moved to other buckets those of one sharding key are read wherever they lie. What lies
//! in the order of slices cannot be read in pages then: who needs a second one waits until all are there.
//!
//! A page ends when it has enough items or bytes, or when enough rows were looked at and there is at
//! least one item: a page without items is always the last one, because clients stop at it.

use std::cmp::Ordering;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::{Direction, Range, Rows, Snapshot, Table, Value};
use keys::SLICES;
use sql::collection::Strand as Asked;

use super::error::{Error, Result};
use super::expression::Condition;
use super::filling::{Filling, Hindrance, Places};
use super::marker::Marker;
use super::record::{Record, sharding_prefix, sorting_value};
use super::scope::{Scope, bound, own_sharding, stands_for};
use super::traced::Scanned;
use super::{Collections, Directory, Entered, Key, has_rows, is_kept, path, range_below};

/// Items of the longest page.
pub const PAGE_ITEMS_MAX: usize = 10_000;

/// Bytes of attributes and objects after which a page ends.
pub const PAGE_BYTES_MAX: usize = 2 << 20;

/// Rows looked at after which a page with an item ends.
pub(super) const PAGE_ROWS_MAX: usize = 50_000;

/// Rows that are looked at before others have a turn.
const TURN_ROWS: usize = 256;

/// Segments that one scan can have.
pub const SEGMENTS_MAX: u16 = SLICES;

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
    /// Which of them are asked for; nothing if all are.
    asked: Option<Asked>,
}

/// A page that is made, or why it is not.
enum Made {
    Page(Page),
    Not(Hindrance),
}

impl Collections {
    /// One page of a directory's items.
    pub async fn scan(&self, directory: &Directory, ask: &Ask) -> Result<Page> {
        loop {
            let entered = self.enter(directory).await?;
            match self.page(&entered, directory, ask).await? {
                Made::Page(page) => return Ok(page),
                Made::Not(hindrance) => {
                    let container = Arc::clone(&entered.container);
                    drop(entered);
                    self.settle(container.name(), &hindrance).await?;
                }
            }
        }
    }

    async fn settle(&self, container: &str, hindrance: &Hindrance) -> Result<()> {
        let database = &self.database;
        match hindrance {
            Hindrance::Moving(root) => database.finish_moving_items(container, root).await?,
            Hindrance::Spreading(root) => database.finish_spreading_items(container, root).await?,
        }
        Ok(())
    }

    async fn page(&self, entered: &Entered, directory: &Directory, ask: &Ask) -> Result<Made> {
        let named = ask.scope.describe(&directory.path, &entered.layout);
        let mut marker = ask.place(&named)?;
        let counted = ask.scope.counted(&mut marker, &entered.layout);
        let request = self.request("GetItems", directory);
        let sought = Sought::new(entered, ask, counted)?;
        let snapshot = self.database.snapshot();
        let opener = Strands {
            snapshot: &snapshot,
            table: &entered.table,
            path: &directory.path,
            marker: marker.as_ref(),
        };
        let mut places = Places::new(self, entered, &snapshot, &directory.path);
        places.check(&ask.scope, marker.as_ref())?;
        let mut strands = opener.open(&ask.scope, &sought)?;
        let mut page = Filling::new(ask, counted);
        let mut inside = None;
        while let Some(record) = next(&mut strands)? {
            page.looked_at += 1;
            if inside.as_ref() != Some(&record.key.path) {
                if let Some(refused) = ask.refuses(&directory.path, &record.key.path) {
                    strands = opener.past(refused)?;
                    continue;
                }
                let path = &record.key.path;
                if let Some(hindrance) = places.hindrance(ask, path, false)? {
                    return Ok(Made::Not(hindrance));
                }
                inside = Some(path.clone());
            }
            if page.looked_at.is_multiple_of(TURN_ROWS) {
                tokio::task::yield_now().await;
            }
            if page.add(record, &mut places)? {
                break;
            }
        }
        let ended = strands.iter().all(|strand| strand.head.is_none());
        let last = page.last.take().filter(|_| !ended);
        if let Some((path, _)) = &last
            && let Some(hindrance) = places.hindrance(ask, path, true)?
        {
            return Ok(Made::Not(hindrance));
        }
        if page.records.is_empty() && marker.is_none() && !directory.path.is_empty() {
            let exists = has_rows(&snapshot, &entered.table, &directory.path)?;
            exists.then_some(()).ok_or(Error::NotFound)?;
        }
        if let Some(request) = request {
            let scanned = Scanned {
                path: &directory.path,
                ask,
                shardings: &sought.shardings(),
                bounds: sought.bounds.as_ref(),
                marker: marker.as_ref(),
                records: &page.records,
                looked_at: page.looked_at,
            };
            request.did(&entered.table, scanned.ops());
        }
        let own_ns = opener.directory_changed_ns()?;
        Ok(Made::Page(Page {
            records: page.records,
            marker: last.map(|(_, last)| last.encode(&named)),
            changed_ns: page.changed_ns.max(own_ns),
            looked_at: page.looked_at,
        }))
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

    pub(super) fn admits(&self, record: &Record) -> Result<bool> {
        let is_ours = record.key.is_of_directory() || is_kept(&record.name);
        if is_ours || !self.scope.has(&record.key.sharding) {
            return Ok(false);
        }
        match &self.filter {
            Some(filter) => Ok(filter.holds(&(record.view()?, record))?),
            None => Ok(true),
        }
    }
}

/// The least sorting key that is asked for, and the least above it that is not.
pub(super) type Bounds = (Vec<u8>, Option<Vec<u8>>);

/// Where the items lie that a scope means, and the bounds of their sorting keys.
#[derive(Default)]
struct Sought {
    strands: Vec<Asked>,
    bounds: Option<Bounds>,
}

impl Sought {
    fn new(entered: &Entered, ask: &Ask, counted: Option<NonZeroU32>) -> Result<Self> {
        let Scope::Sharding { key, start, end } = &ask.scope else {
            return Ok(Self::default());
        };
        let order = entered.layout.order;
        let bound = |text: &String| {
            order.bound(text).ok_or_else(|| {
                let kind = order.kind();
                Error::Invalid(format!(
                    "`{text}` is no {kind}, which the sorting keys of this table are"
                ))
            })
        };
        let bounds = match (start, end) {
            (None, None) => None,
            (start, end) => {
                let (least, most) = order.ends();
                let lower = start.as_ref().map(bound).transpose()?;
                let upper = end.as_ref().map(bound).transpose()?;
                Some((lower.unwrap_or(least), upper.or(most)))
            }
        };
        Ok(Self {
            strands: entered.strands(key, ask.buckets, counted),
            bounds,
        })
    }

    fn shardings(&self) -> Vec<String> {
        let strands = self.strands.iter();
        strands.map(|strand| strand.sharding.clone()).collect()
    }
}

/// Path, sharding key and way of lying that a marker of all below holds.
pub(super) fn parts_below(marker: &Marker) -> [&str; 3] {
    let mut parts = marker.sharding.splitn(3, '\0');
    std::array::from_fn(|_| parts.next().unwrap_or_default())
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
                let strands = sought.strands.iter();
                strands
                    .map(|asked| self.sharding(asked, sought.bounds.as_ref()))
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
        self.strand(&range, is_before, None)
    }

    /// The rows of a directory and of those below it.
    fn below(&self) -> Result<Strand> {
        let Some(marker) = self.marker else {
            return self.strand(&range_below(self.path), |_, _| false, None);
        };
        let [path, sharding, _] = parts_below(marker);
        let [path, slice, sharding] = sharding_prefix(path, sharding);
        let sorting = sorting_value(marker.sorting.as_deref());
        let mut range = Range::from(&[path, slice, sharding, sorting]);
        if let Some(above) = path::above(self.path) {
            range = range.before(&[Value::Utf8(above.into())]);
        }
        let is_before = |record: &Record, marker: &Marker| {
            let [path, sharding, _] = parts_below(marker);
            let key = &record.key;
            (key.path.as_str(), key.sharding.as_str()) == (path, sharding)
                && key.sorting == marker.sorting
        };
        self.strand(&range, is_before, None)
    }

    /// The rows below the directory that come after another directory and all below that.
    fn past(&self, passed: &str) -> Result<Vec<Strand>> {
        let lower = path::above(passed).unwrap_or_default();
        let mut range = Range::from(&[Value::Utf8(lower.into())]);
        if let Some(above) = path::above(self.path) {
            range = range.before(&[Value::Utf8(above.into())]);
        }
        Ok(vec![self.strand(&range, |_, _| false, None)?])
    }

    /// The rows of one sharding key between two bounds.
    fn sharding(&self, asked: &Asked, bounds: Option<&Bounds>) -> Result<Strand> {
        let prefix = sharding_prefix(self.path, &asked.sharding);
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
            record.key.sorting == marker.sorting && own_sharding(record) <= marker.sharding.as_str()
        };
        self.strand(&range, is_before, Some(asked.clone()))
    }

    fn strand(
        &self,
        range: &Range,
        is_before: impl Fn(&Record, &Marker) -> bool,
        asked: Option<Asked>,
    ) -> Result<Strand> {
        let rows = self
            .snapshot
            .scan(self.table, range, Direction::Ascending)?;
        let head = None;
        let mut strand = Strand { rows, head, asked };
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
        loop {
            let next = self.rows.next().transpose()?;
            let next = next.map(Record::from_row).transpose()?;
            let passed = next.as_ref().zip(self.asked.as_ref());
            if passed.is_none_or(|(next, asked)| asked.has(next)) {
                return Ok(std::mem::replace(&mut self.head, next));
            }
        }
    }
}

/// The least of the records that the strands are at.
fn next(strands: &mut [Strand]) -> Result<Option<Record>> {
    let heads = strands.iter_mut().filter(|strand| strand.head.is_some());
    let least = heads.min_by(|a, b| match (&a.head, &b.head) {
        (Some(a), Some(b)) => {
            let by_sorting = a.key.sorting.cmp(&b.key.sorting);
            by_sorting.then_with(|| own_sharding(a).cmp(own_sharding(b)))
        }
        _ => Ordering::Equal,
    });
    match least {
        Some(strand) => strand.advance(),
        None => Ok(None),
    }
}
