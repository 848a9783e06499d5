//! The rows that an engine holds of a range, from pages as far as there are any: [`Stored`].

use std::sync::Arc;

use partitions::TableId;
use partitions::spaces::table_space;
use storage::{Bytes, Direction, KeyRange, Pair};

use crate::Result;
use crate::engines::Slot;
use crate::pages::{Gathered, Headed, Known, Page, TablePages};
use crate::version::{Version, VersionRef};

/// A walk over the newest versions of a range in one engine. It stands on a row after each
/// [`Stored::advance`] that found one.
pub(crate) struct Stored {
    slot: Arc<Slot>,
    table: TableId,
    /// What is still to come when the stretch is over.
    rest: KeyRange,
    direction: Direction,
    stretch: Stretch,
}

/// A part of the range that comes from one place.
enum Stretch {
    /// None was begun, or the last one is over.
    Over,
    Page {
        page: Arc<Page>,
        /// Of the row it stands on.
        index: usize,
        /// Behind the last row.
        end: usize,
    },
    Engine {
        pairs: storage::Scan,
        /// The row it stands on.
        pair: Option<Pair>,
        gathering: Option<Box<Gathering>>,
    },
}

/// A page in the making.
struct Gathering {
    pages: Arc<TablePages>,
    epoch: u64,
    /// Where the stretch ends, and whether another page begins there.
    until: Option<Bytes>,
    closes_gap: bool,
    gathered: Gathered,
}

impl Stored {
    pub(crate) fn new(
        slot: Arc<Slot>,
        table: TableId,
        range: KeyRange,
        direction: Direction,
    ) -> Self {
        Self {
            slot,
            table,
            rest: range,
            direction,
            stretch: Stretch::Over,
        }
    }

    /// Moves on to the next row, if there is one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        loop {
            match &mut self.stretch {
                Stretch::Page { index, end, .. } if *index + 1 < *end => {
                    *index += 1;
                    return Ok(true);
                }
                Stretch::Engine { .. } => {
                    if self.advance_engine()? {
                        return Ok(true);
                    }
                }
                Stretch::Page { .. } | Stretch::Over => {}
            }
            match self.begin()? {
                Begun::OnRow => return Ok(true),
                Begun::Before => {}
                Begun::End => return Ok(false),
            }
        }
    }

    /// The row it stands on.
    #[inline]
    pub(crate) fn row(&self) -> Result<Option<(&[u8], VersionRef<'_>)>> {
        match &self.stretch {
            Stretch::Page { page, index, .. } => Ok(page.get(*index)),
            Stretch::Engine {
                pair: Some((key, bytes)),
                ..
            } => Ok(Some((key, VersionRef::decode(self.table, key, bytes)?))),
            Stretch::Engine { .. } | Stretch::Over => Ok(None),
        }
    }

    /// The key of the row it stands on.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match &self.stretch {
            Stretch::Page { page, index, .. } => page.key_at(*index),
            Stretch::Engine {
                pair: Some((key, _)),
                ..
            } => key,
            Stretch::Engine { .. } | Stretch::Over => &[],
        }
    }

    /// The rows that follow on the page it stands on.
    #[inline]
    pub(crate) fn ahead_on_page(&mut self) -> Option<Ahead<'_>> {
        match &mut self.stretch {
            Stretch::Page { page, index, end } => Some(Ahead {
                page,
                index,
                end: *end,
            }),
            Stretch::Engine { .. } | Stretch::Over => None,
        }
    }

    /// The key and the row it stands on, by themselves.
    pub(crate) fn owned(&self) -> Result<Option<(Bytes, Option<Bytes>)>> {
        if let Stretch::Engine {
            pair: Some((key, bytes)),
            ..
        } = &self.stretch
        {
            let version = Version::decode(self.table, key, bytes.clone())?;
            return Ok(Some((key.clone(), version.row)));
        }
        // Copies: whoever keeps them should not keep a page.
        let copy = |(key, version): (&[u8], VersionRef<'_>)| {
            let row = version.row.map(Bytes::copy_from_slice);
            (Bytes::copy_from_slice(key), row)
        };
        Ok(self.row()?.map(copy))
    }

    /// Begins the next stretch.
    fn begin(&mut self) -> Result<Begun> {
        self.stretch = Stretch::Over;
        if self.rest.is_empty() {
            return Ok(Begun::End);
        }
        if self.direction == Direction::Descending {
            let rest = std::mem::replace(&mut self.rest, nothing());
            self.begin_engine(&rest, None)?;
            return Ok(Begun::Before);
        }
        let pages = self.slot.pages.of_scanned(self.table);
        match pages.look(&self.rest.lower) {
            Known::Page(page) => Ok(self.begin_page(page)),
            Known::Nothing { until } => {
                let gap = KeyRange::new(self.rest.lower.clone(), until);
                let range = gap.intersect(&self.rest);
                self.go_on_from(range.upper.clone());
                let gathering = Box::new(Gathering {
                    // It comes before the engine is opened: see `Pages`.
                    epoch: pages.epoch(),
                    closes_gap: gap.upper.is_some() && gap.upper == range.upper,
                    until: range.upper.clone(),
                    gathered: Gathered::new(range.lower.clone()),
                    pages,
                });
                self.begin_engine(&range, Some(gathering))?;
                Ok(Begun::Before)
            }
        }
    }

    /// What comes after the stretch begins at `upper`.
    fn go_on_from(&mut self, upper: Option<Bytes>) {
        match upper {
            Some(upper) => self.rest.lower = upper,
            None => self.rest = nothing(),
        }
    }

    fn begin_page(&mut self, page: Arc<Page>) -> Begun {
        // Mostly one page follows the other.
        let index = match self.rest.lower == page.lower() {
            true => 0,
            false => page.below(&self.rest.lower),
        };
        let end = match &self.rest.upper {
            Some(upper) if page.reaches(&Headed::new(upper.clone())) => page.below(upper),
            _ => page.len(),
        };
        self.go_on_from(page.upper().cloned());
        if index >= end {
            return Begun::Before;
        }
        self.stretch = Stretch::Page { page, index, end };
        Begun::OnRow
    }

    fn begin_engine(&mut self, range: &KeyRange, gathering: Option<Box<Gathering>>) -> Result<()> {
        let snapshot = self.slot.snapshot()?;
        let pairs = snapshot.scan(table_space(self.table), range, self.direction)?;
        self.stretch = Stretch::Engine {
            pairs,
            pair: None,
            gathering,
        };
        Ok(())
    }

    fn advance_engine(&mut self) -> Result<bool> {
        let Stretch::Engine {
            pairs,
            pair,
            gathering,
        } = &mut self.stretch
        else {
            return Ok(false);
        };
        let Some(next) = pairs.next() else {
            *pair = None;
            if let Some(gathering) = gathering.take() {
                gathering.end(&self.slot);
            }
            return Ok(false);
        };
        let (key, bytes) = pair.insert(next.map_err(|error| self.slot.read_failed(error))?);
        if let Some(mut page) = gathering.take() {
            let version = VersionRef::decode(self.table, key, bytes)?;
            page.add(&self.slot, key, version);
            *gathering = Some(page);
        }
        Ok(true)
    }
}

/// A walk's way ahead on its page.
pub(crate) struct Ahead<'s> {
    page: &'s Page,
    /// Where the walk stands.
    index: &'s mut usize,
    end: usize,
}

impl<'s> Ahead<'s> {
    /// The next row.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(&'s [u8], VersionRef<'s>)> {
        let next = *self.index + 1;
        self.page.get(next).filter(|_| next < self.end)
    }

    /// Moves the walk on to it.
    #[inline]
    pub(crate) fn step(&mut self) {
        *self.index += 1;
    }
}

/// How a stretch was begun.
enum Begun {
    /// It stands on its first row.
    OnRow,
    /// It stands before its first row, if it has one.
    Before,
    /// There is none.
    End,
}

fn nothing() -> KeyRange {
    KeyRange::new(Bytes::new(), Some(Bytes::new()))
}

impl Gathering {
    fn add(&mut self, slot: &Slot, key: &Bytes, version: VersionRef<'_>) {
        if self.gathered.add(key, version)
            && let Some(next) = KeyRange::point(key).upper
        {
            let full = std::mem::replace(&mut self.gathered, Gathered::new(next.clone()));
            slot.pages
                .keep(&self.pages, self.epoch, full.end(Some(next)));
        }
    }

    /// The stretch was walked to its end.
    fn end(self, slot: &Slot) {
        if self.closes_gap || self.gathered.is_worth_a_page() {
            let gathered = self.gathered.end(self.until);
            slot.pages.keep(&self.pages, self.epoch, gathered);
        }
    }

    /// The walk stopped behind `last`.
    fn stop(self, slot: &Slot, last: &[u8]) {
        if self.gathered.is_worth_a_page() {
            let gathered = self.gathered.end(KeyRange::point(last).upper);
            slot.pages.keep(&self.pages, self.epoch, gathered);
        }
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        if let Stretch::Engine {
            pair: Some((last, _)),
            gathering,
            ..
        } = &mut self.stretch
            && let Some(gathering) = gathering.take()
        {
            gathering.stop(&self.slot, last);
        }
    }
}
