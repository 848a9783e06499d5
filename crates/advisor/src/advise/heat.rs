//! [`HeatMap`]: busy time by moment and by place in the table, for pictures.
//!
//! ```text
//!   last row  ▲ ....####      a stripe that climbs: each moment is hot in one place, the newest
//!             │ ..####..
//!   first row │ ####....
//!             └────────► time
//! ```
//!
//! The height is the place among the known rows in key order, not the partition: partitions come and
//! go, and a picture should show what the key does before anybody splits anything.

use super::number::at;

/// Moments.
pub const COLUMNS: usize = 48;
/// Places.
pub const ROWS: usize = 16;

/// Busy microseconds by moment and place.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    duration_us: u64,
    /// Column by column, the first places first.
    cells: Vec<f64>,
}

impl HeatMap {
    pub(crate) fn new(duration_us: u64) -> Self {
        Self {
            duration_us: duration_us.max(1),
            cells: vec![0.0; COLUMNS * ROWS],
        }
    }

    /// Adds busy time at a moment, spread over the places from `from` to `to` of all.
    pub(crate) fn add(&mut self, at_us: u64, (from, to, all): (usize, usize, usize), busy_us: f64) {
        let column = scaled(at_us, self.duration_us, COLUMNS);
        let place = |place: usize| {
            let place = u64::try_from(place).unwrap_or(u64::MAX);
            scaled(place, u64::try_from(all.max(1)).unwrap_or(u64::MAX), ROWS)
        };
        let (first, last) = (place(from), place(to.saturating_sub(1).max(from)));
        let each = busy_us / (last - first + 1) as f64;
        for row in first..=last {
            if let Some(cell) = self.cells.get_mut(column * ROWS + row) {
                *cell += each;
            }
        }
    }

    /// The busy time of a moment at a place, the first places first.
    pub fn busy_us(&self, column: usize, row: usize) -> f64 {
        self.cells
            .get(column * ROWS + row)
            .copied()
            .unwrap_or_default()
    }

    /// The hottest there is.
    pub fn hottest_us(&self) -> f64 {
        self.cells.iter().copied().fold(0.0, f64::max)
    }

    /// All of it.
    pub fn total_us(&self) -> f64 {
        self.cells.iter().sum()
    }
}

/// The part of `parts` that `number` of `whole` falls into.
fn scaled(number: u64, whole: u64, parts: usize) -> usize {
    let parts_u64 = u64::try_from(parts).unwrap_or(u64::MAX);
    let part = u128::from(number) * u128::from(parts_u64) / u128::from(whole.max(1));
    let part = u32::try_from(part).map_or(parts, at);
    part.min(parts.saturating_sub(1))
}
