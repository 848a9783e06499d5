//! The way to the rows of a filter: by the primary key, or by an index.
//!
//! ```text
//!   WHERE id = 7                    primary key, one get
//!   WHERE city = 'Oslo'             index by_city: entries /Oslo/…, and the row under each one's key
//!   SELECT id, name … city = 'Oslo' the same, and the entries say it all if the index covers name
//! ```
//!
//! The way that binds the most columns is taken, and the primary key if an index does not bind more.

use std::collections::VecDeque;
use std::sync::Arc;

use keys::Value;
use syntax::ast;
use txn::{Bytes, Direction, KeyRange, Reader, Scan, TableId, Timestamp};

use super::filter::{KeyFilter, Keys};
use crate::access::{Access, AccessKind, Target};
use crate::index::IndexTable;
use crate::merge::Merge;
use crate::scalar::{Given, Scope};
use crate::{Error, Result, Table};

/// How to find the rows that a filter asks for.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) table: Arc<Table>,
    pub(crate) filter: KeyFilter,
    pub(crate) index: Option<Arc<IndexTable>>,
    /// Whether entries of the index hold all that is asked.
    pub(crate) covered: bool,
}

impl Path {
    /// The best way, if there is one without reading the whole table. `wanted` are the columns that
    /// are asked for, `hint` is the index that a statement insists on.
    pub(crate) fn choose(
        table: &Arc<Table>,
        selection: Option<&ast::Expr>,
        scope: &mut Scope<'_>,
        wanted: Option<&[usize]>,
        hint: Option<&str>,
    ) -> Result<Option<Self>> {
        let schema = table.schema();
        if let Some(name) = hint
            && !table.indexes().iter().any(|index| index.name == name)
        {
            return Err(Error::no_such_index(schema, name));
        }
        let mut best: Option<Self> = None;
        if hint.is_none()
            && let Some(filter) = KeyFilter::new(schema, schema.key_positions(), selection, scope)?
        {
            best = Some(Self {
                table: Arc::clone(table),
                filter,
                index: None,
                covered: true,
            });
        }
        let usable =
            |index: &&Arc<IndexTable>| index.ready && hint.is_none_or(|name| index.name == name);
        for index in table.indexes().iter().filter(usable) {
            let Some(filter) = KeyFilter::new(schema, &index.key, selection, scope)? else {
                continue;
            };
            let known = best.as_ref().map(|path| path.filter.bound());
            if known.is_some_and(|known| filter.bound() <= known) {
                continue;
            }
            let needed = filter.rest_columns();
            let covered = wanted.is_some_and(|wanted| {
                index.covers(wanted.iter().copied()) && index.covers(needed.iter().copied())
            });
            best = Some(Self {
                table: Arc::clone(table),
                filter,
                index: Some(Arc::clone(index)),
                covered,
            });
        }
        Ok(best)
    }

    /// The columns of the table by which rows come sorted.
    pub(crate) fn order(&self) -> &[usize] {
        match &self.index {
            Some(index) => &index.key,
            None => self.table.schema().key_positions(),
        }
    }

    /// Whether the table's own rows are read, and not what an index knows of them.
    pub(crate) fn reads_rows(&self) -> bool {
        self.index.is_none() || !self.covered
    }

    /// How the rows are found with these values, as far as they are there. `None` if these parameters,
    /// or this snapshot, take DataFusion.
    pub(crate) fn access(&self, reader: &Reader, given: Given<'_>) -> Result<Option<Access>> {
        let target = match &self.index {
            Some(index) if reader.at() < index.since => return Ok(None),
            Some(index) => Target::index(&self.table, index),
            None => Target::table(&self.table),
        };
        match self.filter.conditions(given) {
            Ok(None) => Ok(None),
            Ok(Some(conditions)) => Access::new(target, &conditions, reader).map(Some),
            Err(Error::NoSuchParameter { .. }) => {
                let kind = match self.filter.bound() == 2 * self.order().len() {
                    true => AccessKind::Points,
                    false => AccessKind::Ranges,
                };
                Access::open(target, kind, reader).map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// The keys to read. `None` if these parameters, or a snapshot at this time, take DataFusion.
    pub(crate) fn keys(&self, at: Timestamp, given: Given<'_>) -> Result<Option<Keys>> {
        match &self.index {
            Some(index) if at < index.since => Ok(None),
            _ => self.filter.bind(given),
        }
    }

    /// The table or index whose keys are read.
    fn read_id(&self) -> TableId {
        match &self.index {
            Some(index) => index.id,
            None => self.table.id(),
        }
    }

    /// The index whose entries only tell where the rows are.
    fn fetched_by(&self) -> Option<&Arc<IndexTable>> {
        self.index.as_ref().filter(|_| !self.covered)
    }

    /// Begins to read these keys.
    pub(crate) fn read(&self, keys: Keys, reader: Reader, direction: Direction) -> PathRows {
        let (mut point, mut ranges, mut merge) = (None, VecDeque::new(), None);
        match keys {
            Keys::Point(key) if self.index.is_none() => point = Some(key),
            Keys::Point(key) => ranges.push_back(KeyRange::point(&key)),
            Keys::Ranges(all) => ranges = all.into(),
            Keys::Merged(buckets) => {
                let id = self.read_id();
                merge = Some(Merge::new(reader.clone(), id, buckets, direction));
            }
        }
        if direction == Direction::Descending {
            ranges.make_contiguous().reverse();
        }
        PathRows {
            point,
            ranges,
            scan: None,
            fetched: None,
            merge,
            reader,
            direction,
        }
    }
}

/// Rows that are being found.
pub(crate) struct PathRows {
    point: Option<Vec<u8>>,
    ranges: VecDeque<KeyRange>,
    scan: Option<Scan>,
    /// The row it stands on, if that is not the one that the scan or the merge stands on.
    fetched: Option<(Bytes, Bytes)>,
    merge: Option<Merge>,
    reader: Reader,
    direction: Direction,
}

impl PathRows {
    /// The next row that qualifies.
    pub(crate) fn next(&mut self, path: &Path, given: Given<'_>) -> Result<Option<Vec<Value>>> {
        let schema = path.table.schema();
        while self.advance(path)? {
            let (key, bytes) = self.stored();
            let row = match &path.index {
                Some(index) if path.covered => index.row(schema, key, bytes)?,
                _ => schema.decode(key, bytes)?,
            };
            if path.filter.holds(given.with_row(&row))? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Shows up to `most` rows as they are stored, whatever the filter says of them, and tells how
    /// many. Fewer at the end.
    pub(crate) fn visit(
        &mut self,
        path: &Path,
        most: usize,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut shown = 0;
        while shown < most {
            if path.index.is_none() {
                if let Some(merge) = &mut self.merge {
                    return merge.visit(most, each);
                }
                if let Some(scan) = &mut self.scan {
                    shown += scan.visit(most - shown, &mut each)?;
                }
            }
            if shown == most || !self.advance(path)? {
                break;
            }
            let (key, row) = self.stored();
            each(key, row)?;
            shown += 1;
        }
        Ok(shown)
    }

    /// The row it stands on as it is stored: the table's, or the index's if that covers it.
    fn stored(&self) -> (&[u8], &[u8]) {
        match (&self.fetched, &self.merge, &self.scan) {
            (Some((key, row)), ..) => (key, row),
            (None, Some(merge), _) => merge.row(),
            (None, None, Some(scan)) => scan.row(),
            (None, None, None) => Default::default(),
        }
    }

    /// Moves on to the next row of the ranges. Answers whether there is one.
    fn advance(&mut self, path: &Path) -> Result<bool> {
        self.fetched = None;
        if let Some(key) = self.point.take() {
            let row = self.reader.get(path.table.id(), &key)?;
            self.fetched = row.map(|row| (key.into(), row));
            return Ok(self.fetched.is_some());
        }
        if let Some(merge) = &mut self.merge {
            let there = merge.advance()?;
            if there && let Some(index) = path.fetched_by() {
                let (key, entry) = merge.row();
                let row = index.fetch(&path.table, &self.reader, key, entry)?;
                self.fetched = Some(row);
            }
            return Ok(there);
        }
        let id = path.read_id();
        loop {
            let Some(scan) = &mut self.scan else {
                let Some(range) = self.ranges.pop_front() else {
                    return Ok(false);
                };
                self.scan = Some(self.reader.scan(id, &range, self.direction)?);
                continue;
            };
            if !scan.advance()? {
                self.scan = None;
                continue;
            }
            if let Some(index) = path.fetched_by() {
                let (key, entry) = scan.row();
                let row = index.fetch(&path.table, &self.reader, key, entry)?;
                self.fetched = Some(row);
            }
            return Ok(true);
        }
    }
}
