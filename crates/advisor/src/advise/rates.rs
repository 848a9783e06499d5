//! [`Rates`]: what looking into a partition, going over a row and writing a row cost on the machine
//! that recorded, learned from the trace.
//!
//! ```text
//!   busy time of a read  =  visit × places looked at  +  row × rows gone over      least squares
//!   busy time of a write =  write × rows
//! ```
//!
//! An operation that cost twice as much as the rates say is taken to cost twice as much under any
//! key: a slow filter or a wide row goes with it.
//!
//! Where the trace says what the partitions of the table were busy with, the rates are scaled to that
//! in the end: what a statement takes besides is nobody's load.

use super::number::{count, ratio};
use super::workload::Op;
use crate::trace::Spent;

/// What things cost, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    /// Looking at one place: a key, or the beginning of a range in one partition.
    pub(crate) visit_us: f64,
    /// Going over one row.
    pub(crate) row_us: f64,
    /// Writing one row.
    pub(crate) write_us: f64,
    /// Writing a new row, which is looked for first.
    pub(crate) insert_us: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            visit_us: 10.0,
            row_us: 0.5,
            write_us: 20.0,
            insert_us: 20.0,
        }
    }
}

impl Rates {
    /// The rates by what partitions were really busy with, where that is known: the time of a statement
    /// is more than what its partitions spend on it, and that of a lone insert is not known at all.
    pub(crate) fn measured(self, spent: Spent) -> Self {
        let mut rates = self;
        let should_us = self.visit_us * count(spent.scans) + self.row_us * count(spent.rows);
        let times = ratio(count(spent.scan_us), should_us);
        if spent.gets >= SPENT_MIN {
            rates.visit_us = ratio(count(spent.get_us), count(spent.gets));
        } else if spent.scans >= SPENT_MIN {
            rates.visit_us = self.visit_us * times;
        }
        if spent.rows >= SPENT_MIN {
            // What a scan takes besides its rows is a visit.
            let rows_us = count(spent.scan_us) - rates.visit_us * count(spent.scans);
            rates.row_us = ratio(rows_us.max(0.0), count(spent.rows)).max(ROW_US_MIN);
        }
        if spent.writes >= SPENT_MIN {
            rates.write_us = ratio(count(spent.commit_us), count(spent.writes));
            rates.insert_us = rates.write_us + rates.visit_us;
        }
        rates
    }
}

/// Sums over the operations whose time is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fit {
    reads: f64,
    rows: f64,
    busy: f64,
    rows_rows: f64,
    rows_busy: f64,
    /// What the fastest read took.
    fastest: Option<f64>,
    written: f64,
    write_busy: f64,
}

/// Below this much a visit and a row cost nothing that could be measured.
const VISIT_US_MIN: f64 = 0.5;
const ROW_US_MIN: f64 = 0.02;

/// With fewer visits or writes than this, what partitions spent on them says little.
const SPENT_MIN: u64 = 100;

impl Fit {
    pub(crate) fn add(&mut self, op: &Op, txns: f64) {
        let Some(busy) = op.busy_us.map(f64::from) else {
            return;
        };
        if op.writes {
            // What looks for rows first is no measure of writing them.
            if op.inserts {
                self.written += txns * f64::from(op.found.max(1));
                self.write_busy += txns * busy;
            }
            return;
        }
        // A time says nothing where nobody knows how many rows it was spent on.
        let Some(rows) = op.went_over() else {
            return;
        };
        self.fastest = Some(self.fastest.map_or(busy, |fastest| fastest.min(busy)));
        self.reads += txns;
        self.rows += txns * rows;
        self.busy += txns * busy;
        self.rows_rows += txns * rows * rows;
        self.rows_busy += txns * rows * busy;
    }

    pub(crate) fn rates(&self) -> Rates {
        let usual = Rates::default();
        let write_us = match self.written > 0.0 {
            true => (self.write_busy / self.written).max(VISIT_US_MIN),
            false => usual.write_us,
        };
        if self.reads <= 0.0 {
            return Rates {
                write_us,
                insert_us: write_us,
                ..usual
            };
        }
        let mean_rows = self.rows / self.reads;
        let mean_busy = self.busy / self.reads;
        let spread = self.rows_rows / self.reads - mean_rows * mean_rows;
        let together = self.rows_busy / self.reads - mean_rows * mean_busy;
        // Reads that all go over as many rows say nothing about one row: half of their time is taken
        // to be the rows', and not more than usual.
        let guess = (mean_busy / 2.0 / mean_rows.max(1.0)).min(usual.row_us);
        let row_us = match spread > 0.01 * mean_rows * mean_rows {
            true => ratio(together, spread),
            false => guess,
        };
        let row_us = row_us.max(ROW_US_MIN);
        let visit_us = mean_busy - row_us * mean_rows;
        // Where all reads go over many rows a visit is what a line through their times gives for none,
        // which may be anything. It is no more than the fastest of them took.
        let longest = self.fastest.unwrap_or(visit_us);
        let (visit_us, row_us) = match visit_us > longest {
            true => (
                longest,
                ratio(mean_busy - longest, mean_rows).max(ROW_US_MIN),
            ),
            false => (visit_us, row_us),
        };
        Rates {
            visit_us: visit_us.max(VISIT_US_MIN),
            row_us,
            write_us,
            insert_us: write_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEARNED: Rates = Rates {
        visit_us: 100.0,
        row_us: 1.0,
        write_us: 20.0,
        insert_us: 20.0,
    };

    #[test]
    fn what_partitions_spent_counts_and_not_what_statements_took() {
        let spent = Spent {
            gets: 2_000,
            scans: 1_000,
            rows: 100_000,
            writes: 500,
            get_us: 20_000,
            scan_us: 20_000,
            commit_us: 15_000,
        };
        let expected = Rates {
            visit_us: 10.0,
            row_us: 0.1,
            write_us: 30.0,
            insert_us: 40.0,
        };
        assert_eq!(LEARNED.measured(spent), expected);
    }

    #[test]
    fn a_visit_costs_no_more_than_the_fastest_read() {
        // Reads of ten thousand rows, whose times have nothing to do with the small differences.
        let mut fit = Fit::default();
        for (rows, busy_us) in [(10_000, 9_000.0), (12_000, 8_000.0), (14_000, 7_000.0)] {
            fit.add(
                &Op {
                    statement: 0,
                    shape: 0,
                    cells: 0,
                    rows: 0..0,
                    found: 10,
                    rows_read: Some(rows),
                    limit: None,
                    busy_us: Some(busy_us),
                    factor: 1.0,
                    writes: false,
                    inserts: false,
                    uncounted: false,
                },
                1.0,
            );
        }
        let rates = fit.rates();
        assert!(rates.visit_us <= 7_000.0, "{rates:?}");
        assert!(
            (rates.visit_us + 12_000.0 * rates.row_us - 8_000.0).abs() < 1e-6,
            "{rates:?}"
        );
    }

    #[test]
    fn little_that_was_spent_says_nothing() {
        let spent = Spent {
            gets: 99,
            scans: 99,
            rows: 99,
            writes: 99,
            ..Spent::default()
        };
        assert_eq!(LEARNED.measured(spent), LEARNED);
    }
}
