//! [`Content`]: the rows of the table as far as the trace shows them, in the order of one key, each
//! from the moment on when it was inserted.
//!
//! ```text
//!   known rows     every row that the trace names, at most 131072 of them, each once
//!   in key order   ■ ■ □ ■ □ □ ■      ■ is there, □ will be inserted later
//!   rows from a to b  =  sum of weights between two places: a Fenwick tree, log n
//! ```
//!
//! A known row stands for others: those that were there before the recording share what the table
//! had then, those that were inserted share what was inserted. So the sizes of partitions and the
//! number of rows that a range holds are known at every moment of the replay, under any key.

use std::collections::HashMap;

use keys::digest::xxh3;

use super::key::Key;
use super::number::{at, small, weight};
use super::values::UNKNOWN;
use super::workload::Workload;

/// The most rows that are kept in order.
const KNOWN_MAX: usize = 1 << 17;
/// A key grows if more than this share of the rows lie above all before them.
const GROWING: f64 = 0.8;
/// No known row.
pub(crate) const NONE: u32 = u32::MAX;

/// The known rows, under no key yet.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// For each a row of the workload that shows it.
    rows: Vec<u32>,
    /// Whether the trace shows it being inserted.
    inserted: Vec<bool>,
    /// For each row of the workload its known row, or [`NONE`].
    of_row: Vec<u32>,
    /// What a row stands for that was there before, and one that is inserted.
    before: f64,
    after: f64,
    /// For each column of the table, how often each value is among the known rows.
    counts: Vec<Vec<u32>>,
}

impl Known {
    /// The rows of a workload, told apart by the columns of a key.
    pub(crate) fn new(workload: &Workload, unique: &[u16]) -> Self {
        let rows = 0..workload.rows.len();
        let mut scratch = Vec::new();
        let hashes: Vec<Option<u64>> = rows
            .map(|row| hash(workload, unique, row, &mut scratch))
            .collect();
        let mut first: HashMap<u64, u32> = HashMap::new();
        for (row, hash) in (0..).zip(&hashes) {
            if let Some(hash) = hash {
                first.entry(*hash).or_insert(row);
            }
        }
        // A share of all hashes is a share of all rows, whatever they have in common.
        let part = (weight(KNOWN_MAX) / weight(first.len().max(1))).min(1.0);
        let mut chosen: Vec<(u32, u64)> = first
            .into_iter()
            .filter(|(hash, _)| part >= 1.0 || (*hash as f64) < part * (u64::MAX as f64))
            .map(|(hash, row)| (row, hash))
            .collect();
        chosen.sort_unstable();
        let place: HashMap<u64, u32> = (0..)
            .zip(&chosen)
            .map(|(place, (_, hash))| (*hash, place))
            .collect();
        let mut known = Self {
            rows: chosen.iter().map(|(row, _)| *row).collect(),
            of_row: hashes
                .iter()
                .map(|hash| {
                    hash.and_then(|hash| place.get(&hash).copied())
                        .unwrap_or(NONE)
                })
                .collect(),
            ..Self::default()
        };
        let inserted = known.rows.iter().map(|row| {
            let inserted = workload.rows.inserted.get(at(*row));
            inserted.copied().unwrap_or_default()
        });
        known.inserted = inserted.collect();
        known.weigh(workload);
        known.count(workload);
        known
    }

    /// What each known row stands for.
    fn weigh(&mut self, workload: &Workload) {
        let inserted = self.inserted.iter().filter(|one| **one).count();
        let there = self.rows.len() - inserted;
        let total = workload.table.rows as f64;
        let added = workload.usage.inserted;
        let begun = match workload.table.rows {
            0 => weight(there),
            _ => (total - added).max(0.0),
        };
        self.after = added / weight(inserted.max(1));
        self.before = match there {
            0 => begun / weight(inserted.max(1)),
            there => begun / weight(there),
        };
    }

    fn count(&mut self, workload: &Workload) {
        let columns = 0..u16::try_from(workload.table.columns.len()).unwrap_or(u16::MAX);
        for column in columns {
            let mut counts = vec![0_u32; workload.values.distinct(column)];
            for row in &self.rows {
                let cell = workload.values.cell(workload.rows.get(*row), column);
                if let Some(count) = counts.get_mut(at(cell)) {
                    *count += 1;
                }
            }
            self.counts.push(counts);
        }
    }

    /// The share of the rows that have one of these values in a column.
    pub(crate) fn share(&self, column: u16, cells: &[u32]) -> f64 {
        let counts = self.counts.get(usize::from(column));
        let count = |cell: &u32| {
            let count = counts.and_then(|counts| counts.get(at(*cell)));
            f64::from(count.copied().unwrap_or_default().max(1))
        };
        let sum: f64 = cells.iter().map(count).sum();
        (sum / weight(self.rows.len().max(1))).min(1.0)
    }

    /// The known row that a row of the workload is the first to show, or [`NONE`].
    pub(crate) fn first_seen(&self, row: u32) -> u32 {
        let known = self.of_row.get(at(row)).copied().unwrap_or(NONE);
        match self.rows.get(at(known)) {
            Some(first) if *first == row => known,
            _ => NONE,
        }
    }
}

/// The hash of what tells a row from others, if all of it is known.
fn hash(workload: &Workload, unique: &[u16], row: u32, scratch: &mut Vec<u8>) -> Option<u64> {
    let cells = workload.rows.get(row);
    scratch.clear();
    for column in unique {
        let cell = workload.values.cell(cells, *column);
        if cell == UNKNOWN {
            return None;
        }
        scratch.extend_from_slice(workload.values.bytes(*column, cell));
    }
    Some(xxh3(scratch))
}

/// The known rows in the order of a key.
#[derive(Debug)]
pub(crate) struct Content<'w> {
    known: &'w Known,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// The place of each known row.
    places: Vec<u32>,
    /// What each place stands for now.
    present: Vec<f64>,
    tree: Vec<f64>,
    /// Whether rows that are inserted lie above those before them.
    grows: bool,
}

impl<'w> Content<'w> {
    pub(crate) fn new(workload: &Workload, known: &'w Known, key: &Key) -> Self {
        let mut unsorted = Vec::new();
        let mut spans = Vec::with_capacity(known.rows.len());
        for row in &known.rows {
            let start = unsorted.len();
            key.append(&workload.values, workload.rows.get(*row), &mut unsorted);
            spans.push(start..unsorted.len());
        }
        let slice = |known: u32| {
            let span = spans.get(at(known)).cloned();
            span.and_then(|span| unsorted.get(span)).unwrap_or_default()
        };
        let mut sorted: Vec<u32> = (0..small(spans.len())).collect();
        sorted.sort_by(|one, two| slice(*one).cmp(slice(*two)));
        let mut content = Self {
            known,
            bytes: Vec::with_capacity(unsorted.len()),
            ends: Vec::with_capacity(spans.len()),
            places: vec![0; spans.len()],
            present: Vec::new(),
            tree: Vec::new(),
            grows: false,
        };
        for (place, row) in (0..).zip(&sorted) {
            content.bytes.extend_from_slice(slice(*row));
            content.ends.push(small(content.bytes.len()));
            if let Some(entry) = content.places.get_mut(at(*row)) {
                *entry = place;
            }
        }
        content.grows = content.is_growing();
        content
    }

    /// Whether most known rows lie above every one that came before.
    fn is_growing(&self) -> bool {
        let mut highest = 0;
        let mut above = 0;
        for place in &self.places {
            if *place >= highest {
                highest = *place;
                above += 1;
            }
        }
        weight(above) > GROWING * weight(self.places.len())
    }

    /// The known rows, in no order.
    pub(crate) fn known(&self) -> &'w Known {
        self.known
    }

    /// Back to the beginning of the recording.
    pub(crate) fn restart(&mut self) {
        let places = self.places.len();
        self.present = vec![0.0; places];
        self.tree = vec![0.0; places + 1];
        let none_before = self.known.inserted.iter().all(|inserted| *inserted);
        if none_before && self.grows {
            // What was there before is not known, but lies below.
            let first = self.places.iter().position(|place| *place == 0);
            self.add(
                first.map_or(NONE, small),
                self.known.before * weight(places),
            );
            return;
        }
        for known in 0..small(places) {
            let inserted = self.known.inserted.get(at(known)).copied();
            if inserted == Some(false) || none_before {
                self.add(known, self.known.before);
            }
        }
    }

    /// A known row is inserted.
    pub(crate) fn insert(&mut self, known: u32) {
        self.add(known, self.known.after);
    }

    fn add(&mut self, known: u32, weight: f64) {
        let Some(place) = self.places.get(at(known)).copied().map(at) else {
            return;
        };
        if let Some(present) = self.present.get_mut(place) {
            *present += weight;
        }
        let mut node = place + 1;
        while let Some(sum) = self.tree.get_mut(node) {
            *sum += weight;
            node += node & node.wrapping_neg();
        }
    }

    /// The key at a place.
    pub(crate) fn key(&self, place: usize) -> &[u8] {
        let start = place
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = start.copied().map_or(0, at);
        let end = self.ends.get(place).copied().map_or(start, at);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The first place at or above a key.
    pub(crate) fn place(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = match key.is_empty() {
            true => (0, 0),
            false => (0, self.len()),
        };
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key(middle) < key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The place of the end of a range; an empty key is above all.
    pub(crate) fn upper_place(&self, upper: &[u8]) -> usize {
        match upper.is_empty() {
            true => self.len(),
            false => self.place(upper),
        }
    }

    /// The rows below a place.
    pub(crate) fn rows_below(&self, place: usize) -> f64 {
        let mut sum = 0.0;
        let mut node = place;
        while node > 0 {
            sum += self.tree.get(node).copied().unwrap_or_default();
            node &= node - 1;
        }
        sum
    }

    /// The rows from one place to another.
    pub(crate) fn rows(&self, from: usize, to: usize) -> f64 {
        (self.rows_below(to) - self.rows_below(from)).max(0.0)
    }

    /// What a place stands for now.
    pub(crate) fn present(&self, place: usize) -> f64 {
        self.present.get(place).copied().unwrap_or_default()
    }
}
