//! [`Histogram`]: where a partition's bytes lie, and the size split that follows from it.
//!
//! ```text
//!   bytes below      0 %      20 %      40 %      60 %      80 %     100 %
//!   sampled keys     /a/1     /a/900    /b/3      /c/1      /c/77
//!                             ├──────── 25 … 75 % ────────┤
//!   cuts between                        /b        /c
//!                                       └ both one column long; /b is nearer to the middle
//! ```
//!
//! Among the cuts that leave a quarter on each side the one with the fewest columns wins, and among
//! those the one nearest to the middle. A short cut keeps whole groups (a tenant, a day) on one side
//! and keeps bounds readable and small.

use bytes::Bytes;

use super::settings::SIDE_MIN;
use crate::Share;

/// Most points that a histogram keeps.
pub const POINTS_MAX: usize = 512;

/// Sampled keys of a partition, each with what lies below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    points: Vec<Point>,
    rows: u64,
    bytes: u64,
    /// A key becomes a point when so many bytes came since the last one.
    grain_bytes: u64,
}

/// One sampled key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The key.
    pub key: Bytes,
    /// The rows below it.
    pub rows_below: u64,
    /// The bytes below it.
    pub bytes_below: u64,
}

/// A place to split, and how much of the partition lies below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeCut {
    /// The key.
    pub key: Bytes,
    /// The share of the bytes below.
    pub left: Share,
}

impl Histogram {
    /// A histogram with no rows yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next row of a scan in key order. Starts with every key a point and gets coarser as
    /// rows come, so nobody has to say beforehand how many there are.
    pub fn add(&mut self, key: &Bytes, bytes: u64) {
        let due = self.points.last().is_none_or(|last| {
            self.bytes.saturating_sub(last.bytes_below) >= self.grain_bytes && last.key < *key
        });
        if due {
            if self.points.len() >= POINTS_MAX {
                self.coarsen();
            }
            self.points.push(Point {
                key: key.clone(),
                rows_below: self.rows,
                bytes_below: self.bytes,
            });
        }
        self.rows = self.rows.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The sampled keys, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The share of the bytes below a key, to the grain of the points.
    pub fn share_below(&self, key: &[u8]) -> Share {
        let at = self
            .points
            .partition_point(|point| point.key.as_ref() < key);
        let below = self
            .points
            .get(at)
            .map_or(self.bytes, |point| point.bytes_below);
        Share::of(below, self.bytes)
    }

    /// The best place to split by size, if any leaves enough on both sides.
    pub fn size_cut(&self) -> Option<SizeCut> {
        let pairs = self.points.iter().zip(self.points.iter().skip(1));
        let cuts = pairs.filter_map(|(below, above)| {
            let left = Share::of(above.bytes_below, self.bytes);
            if left < SIDE_MIN || left.rest() < SIDE_MIN {
                return None;
            }
            let key = Bytes::from(keys::separator(&below.key, &above.key)?);
            Some(SizeCut { key, left })
        });
        cuts.min_by_key(|cut| {
            (
                super::column_count(&cut.key),
                cut.left.distance(Share::HALF),
            )
        })
    }

    /// Forgets every second point.
    fn coarsen(&mut self) {
        let mut keep = false;
        self.points.retain(|_| {
            keep = !keep;
            keep
        });
        let kept = u64::try_from(self.points.len().max(1)).unwrap_or(u64::MAX);
        self.grain_bytes = self.bytes / kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_never_outgrows_its_limit_and_keeps_its_totals() {
        let mut histogram = Histogram::new();
        for row in 0..20_000_u32 {
            histogram.add(&Bytes::copy_from_slice(&row.to_be_bytes()), 10);
        }
        assert!(histogram.points().len() <= POINTS_MAX);
        assert!(
            histogram.points().len() >= POINTS_MAX / 4,
            "{}",
            histogram.points().len()
        );
        assert_eq!((histogram.rows(), histogram.bytes()), (20_000, 200_000));
        let middle = histogram.share_below(&10_000_u32.to_be_bytes());
        assert!(middle.distance(Share::HALF) < Share::percent(1), "{middle}");
    }
}
