//! A range read in key order: stored rows at the snapshot merged with the transaction's own writes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use partitions::spaces::table_space;
use partitions::{AccessKind, Partition, TableId};
use storage::{Bytes, Direction, KeyRange, Pair};

use crate::Result;
use crate::engines::Slot;
use crate::footprint::Touch;
use crate::patch::edited;
use crate::reads::RangeTicket;
use crate::version::Version;
use crate::view::{View, bytes_of};
use crate::writes::Edit;

/// Rows in key order, or in reverse. Made by [`View::scan`] or [`crate::Transaction::scan`].
///
/// Stop whenever you like: only what was read can conflict.
#[derive(Debug)]
pub struct Scan {
    view: Arc<View>,
    table: TableId,
    range: KeyRange,
    direction: Direction,
    /// Partitions not begun yet, in the order of the scan.
    ahead: VecDeque<(Arc<Partition>, Arc<Slot>)>,
    current: Option<Current>,
    /// The next stored row, looked at but not given out.
    stored: Option<Pair>,
    /// The transaction's own writes, in the order of the scan.
    own: VecDeque<(Bytes, Edit)>,
    ticket: Option<RangeTicket>,
    last: Option<Bytes>,
    finished: bool,
}

/// The partition being scanned.
struct Current {
    partition: Arc<Partition>,
    slot: Arc<Slot>,
    range: KeyRange,
    pairs: storage::Scan,
    rows: u64,
    bytes: u64,
    started: Option<Duration>,
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
            stored: None,
            own,
            ticket,
            last: None,
            finished: false,
        })
    }

    /// The next stored row at the snapshot.
    fn next_stored(&mut self) -> Result<Option<Pair>> {
        if let Some(pair) = self.stored.take() {
            return Ok(Some(pair));
        }
        loop {
            let Some(current) = &mut self.current else {
                if !self.begin_partition()? {
                    return Ok(None);
                }
                continue;
            };
            let Some(pair) = current.pairs.next() else {
                self.end_partition();
                continue;
            };
            let (key, bytes) = pair.map_err(|error| current.slot.read_failed(error))?;
            current.rows += 1;
            current.bytes += bytes_of(&key, &bytes);
            let version = Version::decode(self.table, &key, bytes)?;
            let version = self.view.store().stamps.read(version);
            let row = if version.at <= self.view.at() {
                version.row
            } else {
                self.view.older(self.table, &key)?
            };
            if let Some(row) = row {
                return Ok(Some((key, row)));
            }
        }
    }

    fn begin_partition(&mut self) -> Result<bool> {
        let Some((partition, slot)) = self.ahead.pop_front() else {
            return Ok(false);
        };
        let started = self.view.start_clock();
        let range = partition.descriptor.range.intersect(&self.range);
        let snapshot = slot.snapshot()?;
        let pairs = snapshot.scan(table_space(self.table), &range, self.direction)?;
        self.current = Some(Current {
            partition,
            slot,
            range,
            pairs,
            rows: 0,
            bytes: 0,
            started,
        });
        Ok(true)
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
            bytes: current.bytes,
            took: self.view.elapsed(current.started),
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

    fn next_row(&mut self) -> Result<Option<Pair>> {
        if self.own.is_empty() {
            return self.next_stored();
        }
        loop {
            let stored = self.next_stored()?;
            if !self.own_comes_first(stored.as_ref().map(|(key, _)| key)) {
                return Ok(stored);
            }
            let Some((key, edit)) = self.own.pop_front() else {
                return Ok(stored);
            };
            // A stored row under the same key is hidden by the transaction's own, or goes into it.
            let mut under = None;
            self.stored = match stored {
                Some((stored, row)) if stored == key => {
                    under = Some(row);
                    None
                }
                other => other,
            };
            let patching = self.view.store().patching.as_ref();
            let row = edited(patching, self.table, &key, edit, || Ok(under))?;
            if let Some(row) = row {
                return Ok(Some((key, row)));
            }
        }
    }

    /// What has been read so far, when the scan stops before its end.
    fn seen(&self) -> KeyRange {
        let lower = self.range.lower.clone();
        match (&self.last, self.direction) {
            (None, _) => KeyRange {
                upper: Some(lower.clone()),
                lower,
            },
            (Some(last), Direction::Ascending) => KeyRange {
                lower,
                upper: KeyRange::point(last).upper,
            },
            (Some(last), Direction::Descending) => KeyRange {
                lower: last.clone(),
                upper: self.range.upper.clone(),
            },
        }
    }
}

impl Iterator for Scan {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        match self.next_row() {
            Ok(Some(pair)) => {
                if self.ticket.is_some() {
                    self.last = Some(pair.0.clone());
                }
                Some(Ok(pair))
            }
            Ok(None) => {
                self.finished = true;
                None
            }
            Err(error) => {
                self.finished = true;
                Some(Err(error))
            }
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        self.end_partition();
        if let Some(ticket) = self.ticket.take()
            && !self.finished
        {
            self.view.narrow_range(ticket, self.seen());
        }
    }
}
