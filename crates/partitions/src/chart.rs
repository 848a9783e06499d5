//! [`HeatChart`]: how hot partitions were, by the second, by the minute and by the hour.
//!
//! ```text
//!   grain    kept for      a slice holds the partitions that did something in it
//!   second   ten minutes   │ 3: 40 reads │ 3: 38, 7: 2 │ nothing is kept │ 3: 41 │
//!   minute   seven days    │ 3: 2400 reads, 7: 90 │ …
//!   hour     two weeks     │ 3: 140000 reads, 7: 5400 │ …
//! ```
//!
//! A partition at rest costs nothing, and each grain has a bound on its cells: a database with very
//! many hot partitions remembers a shorter time, never more memory. A slice remembers which keys a
//! partition had, because by the time somebody looks it may have been split.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use storage::KeyRange;

use crate::{HeatTotals, Partition, PartitionId, TableId};

/// How many cells each grain keeps.
pub const CELLS_MAX: usize = 60_000;

/// The width of a slice, and how many slices are kept.
const GRAINS: [(u64, usize); 3] = [(1, 600), (60, 7 * 24 * 60), (3600, 14 * 24)];

const SECOND_US: u64 = 1_000_000;

/// Which partition a cell is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its table.
    pub table: TableId,
    /// Its number.
    pub partition: PartitionId,
    /// Its keys.
    pub range: KeyRange,
}

impl Place {
    /// Of a partition.
    pub fn of(partition: &Partition) -> Self {
        let descriptor = &partition.descriptor;
        Self {
            table: descriptor.table,
            partition: descriptor.id,
            range: descriptor.range.clone(),
        }
    }
}

/// What one partition did in one slice of time.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The partition.
    pub place: Arc<Place>,
    /// What was done to it.
    pub totals: HeatTotals,
    /// Nanoseconds it was busy in its busiest second.
    pub peak_busy_ns: u64,
    /// When that second ended, in seconds since 1970.
    pub peak_at_s: u64,
    /// Its rows at the end.
    pub rows: u64,
    /// Its bytes at the end.
    pub bytes: u64,
}

/// A stretch of time, and the partitions that did something in it.
#[derive(Clone, Debug)]
pub struct Slice {
    /// When it begins, in seconds since 1970.
    pub start_s: u64,
    /// How long it is.
    pub seconds: u64,
    /// What was done, by partition.
    pub cells: BTreeMap<PartitionId, Cell>,
}

/// The heat of the last minutes, days and weeks.
#[derive(Debug)]
pub struct HeatChart {
    grains: [Grain; 3],
}

#[derive(Debug)]
struct Grain {
    seconds: u64,
    slices_max: usize,
    slices: VecDeque<Slice>,
    cells: usize,
}

impl Default for HeatChart {
    fn default() -> Self {
        let grains = GRAINS.map(|(seconds, slices_max)| Grain {
            seconds,
            slices_max,
            slices: VecDeque::new(),
            cells: 0,
        });
        Self { grains }
    }
}

impl HeatChart {
    /// Adds what a partition did in the second that ends now.
    pub fn add(&mut self, now_us: u64, cell: &Cell) {
        for grain in &mut self.grains {
            grain.add(now_us / SECOND_US, cell);
        }
    }

    /// The slices of a second, oldest first.
    pub fn seconds(&self) -> impl DoubleEndedIterator<Item = &Slice> {
        let [seconds, _, _] = &self.grains;
        seconds.slices.iter()
    }

    /// The slices of a minute, oldest first; the last one may be under way.
    pub fn minutes(&self) -> impl DoubleEndedIterator<Item = &Slice> {
        let [_, minutes, _] = &self.grains;
        minutes.slices.iter()
    }

    /// The slices of an hour, oldest first; the last one may be under way.
    pub fn hours(&self) -> impl DoubleEndedIterator<Item = &Slice> {
        let [_, _, hours] = &self.grains;
        hours.slices.iter()
    }
}

impl Grain {
    fn add(&mut self, now_s: u64, cell: &Cell) {
        let start_s = now_s - now_s % self.seconds;
        // A clock that was set back goes on with the newest slice: slices stay in order.
        let newest = self.slices.back().map(|slice| slice.start_s);
        if newest.is_none_or(|newest| newest < start_s) {
            self.slices.push_back(Slice {
                start_s,
                seconds: self.seconds,
                cells: BTreeMap::new(),
            });
        }
        if let Some(slice) = self.slices.back_mut() {
            match slice.cells.get_mut(&cell.place.partition) {
                Some(known) => known.add(cell),
                None => {
                    slice.cells.insert(cell.place.partition, cell.clone());
                    self.cells += 1;
                }
            }
        }
        self.forget(start_s);
    }

    /// Drops what is too old or too much, but never the newest slice.
    fn forget(&mut self, start_s: u64) {
        let kept_s = self
            .seconds
            .saturating_mul(u64::try_from(self.slices_max).unwrap_or(u64::MAX));
        while self.slices.len() > 1
            && let Some(oldest) = self.slices.front()
            && (self.cells > CELLS_MAX || oldest.start_s.saturating_add(kept_s) <= start_s)
        {
            self.cells -= oldest.cells.len();
            self.slices.pop_front();
        }
    }
}

impl Cell {
    fn add(&mut self, later: &Self) {
        self.totals = self.totals.plus(&later.totals);
        if later.peak_busy_ns > self.peak_busy_ns {
            self.peak_busy_ns = later.peak_busy_ns;
            self.peak_at_s = later.peak_at_s;
        }
        self.rows = later.rows;
        self.bytes = later.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(partition: u64, at_s: u64, busy_ns: u64) -> Cell {
        Cell {
            place: Arc::new(Place {
                table: TableId(1),
                partition: PartitionId(partition),
                range: KeyRange::all(),
            }),
            totals: HeatTotals {
                reads: 1,
                busy_ns,
                ..HeatTotals::default()
            },
            peak_busy_ns: busy_ns,
            peak_at_s: at_s,
            rows: at_s,
            bytes: 0,
        }
    }

    #[test]
    fn seconds_become_minutes_and_hours_with_their_peaks() {
        let mut chart = HeatChart::default();
        for at_s in 0..7200 {
            let busy_ns = if at_s == 3700 { 9 } else { 1 };
            chart.add(at_s * SECOND_US, &cell(1, at_s, busy_ns));
        }
        assert_eq!(chart.seconds().count(), 600);
        assert_eq!(chart.minutes().count(), 120);
        let hours: Vec<_> = chart.hours().collect();
        let of_hour = |hour: usize| hours[hour].cells[&PartitionId(1)].clone();
        assert_eq!(of_hour(0).totals.reads, 3600);
        assert_eq!((of_hour(1).peak_busy_ns, of_hour(1).peak_at_s), (9, 3700));
        assert_eq!(of_hour(1).rows, 7199);
    }

    #[test]
    fn very_many_hot_partitions_are_remembered_for_a_shorter_time() {
        let mut chart = HeatChart::default();
        for at_s in 0..20 {
            for partition in 0..10_000 {
                chart.add(at_s * SECOND_US, &cell(partition, at_s, 1));
            }
        }
        let cells: usize = chart.seconds().map(|slice| slice.cells.len()).sum();
        assert!(cells <= CELLS_MAX, "{cells}");
        assert_eq!(
            chart.seconds().next_back().map(|last| last.start_s),
            Some(19)
        );
        assert_eq!(chart.minutes().count(), 1, "one minute has them all");
    }
}
