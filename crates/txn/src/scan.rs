//! A range read in key order: stored rows at the snapshot merged with the transaction's own writes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use partitions::{AccessKind, Partition, TableId};
use storage::{Bytes, Direction, KeyRange, Pair};

use crate::engines::Slot;
use crate::footprint::Touch;
use crate::patch::edited;
use crate::reads::RangeTicket;
use crate::stored::Stored;
use crate::view::{View, bytes_of};
use crate::writes::Edit;
use crate::{Error, Result, Timestamp};

/// Rows in key order, or in reverse. Made by [`View::scan`] or [`crate::Transaction::scan`].
///
/// Whoever only looks at the rows is shown them by [`Scan::visit`], or goes by [`Scan::advance`] and
/// [`Scan::row`], which copy nothing; whoever keeps them takes them as an iterator. Stop whenever you
/// like: only what was read can conflict.
#[derive(Debug)]
pub struct Scan {
    view: Arc<View>,
    table: TableId,
    range: KeyRange,
    direction: Direction,
    /// Partitions not begun yet, in the order of the scan.
    ahead: VecDeque<(Arc<Partition>, Arc<Slot>)>,
    current: Option<Current>,
    /// Whether the stored row that `current` stands on is still to be given out.
    waiting: bool,
    /// The transaction's own writes, in the order of the scan.
    own: VecDeque<(Bytes, Edit)>,
    standing: Standing,
    ticket: Option<RangeTicket>,
    finished: bool,
    /// How many scans share the time that this one takes.
    side_by_side: u32,
}

/// Which row was given out last.
#[derive(Debug)]
enum Standing {
    /// None yet.
    Before,
    /// The one that the current partition's walk stands on.
    Stored,
    /// One of the transaction's own.
    Own(Bytes, Bytes),
}

/// The partition being scanned.
struct Current {
    partition: Arc<Partition>,
    range: KeyRange,
    stored: Stored,
    /// What the snapshot sees of the row that the walk stands on, if that is not its newest version.
    older: Option<Bytes>,
    rows: u64,
    /// How many of them were told of.
    told: u64,
    bytes: u64,
    started: Option<Duration>,
}

impl Current {
    /// Shows up to `most` of the rows that follow on the same page, as far as their newest versions
    /// are seen at the snapshot.
    #[inline]
    fn visit_page<E>(
        &mut self,
        view: &View,
        most: usize,
        each: &mut impl FnMut(&[u8], &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<usize, E> {
        let Some(mut ahead) = self.stored.ahead_on_page() else {
            return Ok(0);
        };
        let (stamps, at) = (&view.store().stamps, view.at());
        let mut shown = 0;
        while shown < most
            && let Some((key, version)) = ahead.peek()
            && stamps.commit_of(version.at) <= at
        {
            ahead.step();
            self.older = None;
            self.rows += 1;
            self.bytes += bytes_of(key, version.row.unwrap_or_default());
            if let Some(row) = version.row {
                each(key, row)?;
                shown += 1;
            }
        }
        Ok(shown)
    }

    /// The key that the walk stands on.
    #[inline]
    fn key(&self) -> &[u8] {
        self.stored.key()
    }

    /// What the snapshot sees of the row that the walk stands on.
    #[inline]
    fn row(&self) -> Option<(&[u8], &[u8])> {
        // It was decoded when the walk came to it, so it decodes.
        let (key, version) = self.stored.row().ok()??;
        Some((key, self.older.as_deref().or(version.row)?))
    }

    /// The same by itself.
    fn owned(&self) -> Result<Option<Pair>> {
        let Some((key, row)) = self.stored.owned()? else {
            return Ok(None);
        };
        Ok(self.older.clone().or(row).map(|row| (key, row)))
    }
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current")
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl Scan {
    pub(crate) fn open(
        view: Arc<View>,
        table: TableId,
        range: &KeyRange,
        direction: Direction,
        own: Vec<(Bytes, Edit)>,
    ) -> Result<Self> {
        let mut ahead = VecDeque::new();
        let mut ticket = None;
        if !range.is_empty() {
            let found = view.locate_range(table, range)?;
            ticket = view.track_range(table, range, &found)?;
            ahead = found.into();
        }
        let mut own = VecDeque::from(own);
        if direction == Direction::Descending {
            ahead.make_contiguous().reverse();
            own.make_contiguous().reverse();
        }
        Ok(Self {
            view,
            table,
            range: range.clone(),
            direction,
            ahead,
            current: None,
            waiting: false,
            own,
            standing: Standing::Before,
            ticket,
            finished: false,
            side_by_side: 1,
        })
    }

    /// Says that so many scans, this one among them, are read in turns. Each is open while the others
    /// are read, so what it took is the same part of that time.
    pub fn in_turns(&mut self, scans: u32) {
        self.side_by_side = scans.max(1);
    }

    /// Shows up to `most` rows, and tells how many. Fewer at the end.
    pub fn visit<E: From<Error>>(
        &mut self,
        most: usize,
        mut each: impl FnMut(&[u8], &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<usize, E> {
        let mut shown = 0;
        while shown < most {
            if self.own.is_empty()
                && !self.waiting
                && let Some(current) = &mut self.current
            {
                let passed = current.rows;
                let visited = current.visit_page(&self.view, most - shown, &mut each);
                // Also when the visitor failed: what it was shown is behind the scan.
                if current.rows > passed {
                    self.standing = Standing::Stored;
                }
                shown += visited?;
            }
            if shown == most || !self.advance()? {
                break;
            }
            let (key, row) = self.row();
            each(key, row)?;
            shown += 1;
        }
        Ok(shown)
    }

    /// Moves on to the next row. Answers whether there is one.
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        if self.finished {
            return Ok(false);
        }
        let found = match self.own.is_empty() && !self.waiting {
            true => self.advance_stored(),
            false => self.advance_merged(),
        };
        self.finished = !matches!(found, Ok(true));
        found
    }

    /// The key of the row that it stands on.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match &self.standing {
            Standing::Before => &[],
            Standing::Stored => self.current.as_ref().map_or(&[], Current::key),
            Standing::Own(key, _) => key,
        }
    }

    /// The key and the row that it stands on; nothing before the first and after the last.
    #[inline]
    pub fn row(&self) -> (&[u8], &[u8]) {
        let row = match &self.standing {
            Standing::Before => None,
            Standing::Stored => self.current.as_ref().and_then(Current::row),
            Standing::Own(key, row) => Some((key.as_ref(), row.as_ref())),
        };
        row.unwrap_or_default()
    }

    /// When the newest version of the row that it stands on was committed; `None` for a transaction's
    /// own.
    pub fn committed_at(&self) -> Option<Timestamp> {
        let (Standing::Stored, Some(current)) = (&self.standing, &self.current) else {
            return None;
        };
        // It was decoded when the walk came to it, so it decodes.
        let (_, version) = current.stored.row().ok()??;
        Some(self.view.store().stamps.commit_of(version.at))
    }

    /// The same by itself.
    fn owned(&self) -> Result<Option<Pair>> {
        match (&self.standing, &self.current) {
            (Standing::Stored, Some(current)) => current.owned(),
            (Standing::Own(key, row), _) => Ok(Some((key.clone(), row.clone()))),
            (Standing::Before | Standing::Stored, _) => Ok(None),
        }
    }

    /// Moves on to the next stored row at the snapshot, and stands on it.
    #[inline]
    fn advance_stored(&mut self) -> Result<bool> {
        loop {
            let Some(current) = &mut self.current else {
                if !self.begin_partition() {
                    return Ok(false);
                }
                continue;
            };
            current.older = None;
            if !current.stored.advance()? {
                self.end_partition();
                continue;
            }
            let Some((key, version)) = current.stored.row()? else {
                continue;
            };
            current.rows += 1;
            current.bytes += bytes_of(key, version.row.unwrap_or_default());
            let seen = match self.view.store().stamps.commit_of(version.at) <= self.view.at() {
                true => version.row.is_some(),
                false => {
                    current.older = self.view.older(self.table, key)?;
                    current.older.is_some()
                }
            };
            if seen {
                self.standing = Standing::Stored;
                return Ok(true);
            }
        }
    }

    /// Moves on to the next row, stored or the transaction's own.
    fn advance_merged(&mut self) -> Result<bool> {
        loop {
            let stored = match std::mem::take(&mut self.waiting) {
                true => true,
                false => self.advance_stored()?,
            };
            self.standing = Standing::Stored;
            let under = stored.then(|| self.owned()).transpose()?.flatten();
            if !self.own_comes_first(under.as_ref().map(|(key, _)| key)) {
                return Ok(stored);
            }
            let Some((key, edit)) = self.own.pop_front() else {
                return Ok(stored);
            };
            // A stored row under the same key is hidden by the transaction's own, or goes into it.
            let under = match under {
                Some((stored, row)) if stored == key => Some(row),
                other => {
                    self.waiting = other.is_some();
                    None
                }
            };
            let patching = self.view.store().patching.as_ref();
            if let Some(row) = edited(patching, self.table, &key, edit, || Ok(under))? {
                self.standing = Standing::Own(key, row);
                return Ok(true);
            }
        }
    }
    fn begin_partition(&mut self) -> bool {
        let Some((partition, slot)) = self.ahead.pop_front() else {
            return false;
        };
        let started = self.view.start_clock();
        let range = partition.descriptor.range.intersect(&self.range);
        let stored = Stored::new(slot, self.table, range.clone(), self.direction);
        self.current = Some(Current {
            partition,
            range,
            stored,
            older: None,
            rows: 0,
            told: 0,
            bytes: 0,
            started,
        });
        true
    }

    /// Counts what was gone over so far: a statement may have all the rows it wants, and end, while the
    /// scan that they came from waits on another thread to be dropped.
    pub fn tell(&mut self) {
        if let Some(current) = &mut self.current {
            let more = current.rows - current.told;
            current.told = current.rows;
            self.view.tell(&current.partition, more);
        }
    }

    fn end_partition(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        let touch = Touch {
            kind: AccessKind::Scan,
            key: &current.range.lower,
            upper: current.range.upper.as_ref(),
            rows: current.rows,
            told: current.told,
            bytes: current.bytes,
            took: self.view.scanned(current.started, current.rows) / self.side_by_side,
        };
        self.view.touch(&current.partition, &touch);
    }

    /// Whether the transaction's own next write comes before, or in place of, a stored row.
    fn own_comes_first(&self, stored: Option<&Bytes>) -> bool {
        match (self.own.front(), stored) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some((own, _)), Some(stored)) => match self.direction {
                Direction::Ascending => own <= stored,
                Direction::Descending => own >= stored,
            },
        }
    }

    /// What has been read so far, when the scan stops before its end.
    fn seen(&self) -> KeyRange {
        let lower = self.range.lower.clone();
        let last = match (&self.standing, &self.current) {
            (Standing::Own(key, _), _) => key.as_ref(),
            (_, Some(current)) => current.key(),
            (_, None) => &[],
        };
        match (&self.standing, self.direction) {
            (Standing::Before, _) => KeyRange {
                upper: Some(lower.clone()),
                lower,
            },
            (_, Direction::Ascending) => KeyRange {
                lower,
                upper: KeyRange::point(last).upper,
            },
            (_, Direction::Descending) => KeyRange {
                lower: Bytes::copy_from_slice(last),
                upper: self.range.upper.clone(),
            },
        }
    }
}

impl Iterator for Scan {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(true) => self.owned().transpose(),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take()
            && !self.finished
        {
            self.view.narrow_range(ticket, self.seen());
        }
        self.end_partition();
    }
}
