//! [`Sample`]: rows of the live table, for a scratch table to begin with and to grow by.
//!
//! ```text
//!   committed before the recording began   ──► loaded first
//!   committed later, and in the trace      ──► left out: its transactions write them
//!   committed later, and not in the trace  ──► arrive when they did
//! ```
//!
//! A small table is taken whole. Of a large one short stretches are, all over its keys, so that looking
//! costs little however large it is.

use std::collections::HashSet;
use std::sync::Arc;

use advisor::trace::{Kind, Row};
use bytes::Bytes;
use keys::Value;
use sql::Table;
use txn::{Direction, KeyRange, Store};

use super::replay::{as_float, count, ratio};
use super::statements::Maker;
use super::work::Work;
use crate::Result;

/// The most that is taken.
const ROWS_MAX: usize = 200_000;
const BYTES_MAX: usize = 64 << 20;
/// Stretches of a table that is too large.
const STRETCHES: usize = 512;
/// Fewer rows than this share of all that seem to have been changed are a matter of rounding.
const CHANGED_SHARE_MIN: f64 = 0.1;

/// Rows, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) rows: Vec<Came>,
    /// How many the live table has.
    pub(super) of: u64,
    /// Those that the trace writes itself.
    pub(super) written: usize,
}

/// A row, and when it was written last.
#[derive(Clone, Debug)]
pub(super) struct Came {
    pub(super) at_us: u64,
    pub(super) row: Row,
}

impl Sample {
    /// Rows of the live table.
    pub(super) fn of(store: &Arc<Store>, live: &Arc<Table>, work: &Work) -> Result<Self> {
        let written = written(live, work);
        let view = store.quiet_view();
        let reader = view.reader();
        let all = KeyRange::all();
        let of = reader.rows(live.id())?;
        let mut sample = Self {
            of,
            ..Self::default()
        };
        let fits = usize::try_from(of).is_ok_and(|of| of <= ROWS_MAX);
        let ranges = match fits {
            true => vec![all],
            false => reader.cut(live.id(), &all, STRETCHES)?,
        };
        let (rows_max, bytes_max) = (ROWS_MAX / ranges.len(), BYTES_MAX / ranges.len());
        for range in ranges {
            let mut scan = view.scan(live.id(), &range, Direction::Ascending)?;
            let (mut rows, mut bytes) = (0, 0);
            while rows < rows_max && bytes < bytes_max && scan.advance()? {
                let (key, row) = scan.row();
                rows += 1;
                bytes += key.len() + row.len();
                if written.contains(key) {
                    sample.written += 1;
                    continue;
                }
                let values = live.schema().decode(key, row)?;
                let at_us = scan.committed_at().map_or(0, |at| at.0);
                sample.rows.push(Came {
                    at_us,
                    row: known(live, values),
                });
            }
        }
        sample.rows.sort_by_key(|came| came.at_us);
        Ok(sample)
    }

    /// The rows that were there when the recording began, and those that came later.
    pub(super) fn parted(&self, work: &Work) -> (Vec<&Came>, Vec<&Came>) {
        let (mut before, mut later): (Vec<&Came>, Vec<&Came>) =
            self.rows.iter().partition(|came| came.at_us < work.from_us);
        let part = ratio(as_float(self.rows.len() + self.written), count(self.of));
        let wanted = part * (count(self.of) - work.inserted).max(0.0);
        let missing = wanted - as_float(before.len());
        if missing > CHANGED_SHARE_MIN * part * count(self.of) && !later.is_empty() {
            // More were there than were left alone since: some of the later ones were changed, and it
            // is not known which.
            let share = (missing / as_float(later.len())).min(1.0);
            let mut owed = 0.0;
            let (moved, left): (Vec<&Came>, Vec<&Came>) = later.into_iter().partition(|_| {
                owed += share;
                let moves = owed >= 1.0;
                owed -= if moves { 1.0 } else { 0.0 };
                moves
            });
            before.extend(moved);
            later = left;
        }
        (before, later)
    }

    /// How many rows there are, with those that the trace writes.
    pub(super) fn known(&self) -> usize {
        self.rows.len() + self.written
    }
}

/// The values of a row by the places of their columns; what is generated is worked out again.
fn known(live: &Table, values: Vec<Value>) -> Row {
    let columns = live.schema().columns();
    let values = (0..).zip(values).zip(columns);
    values
        .filter(|(_, column)| column.generated.is_none())
        .map(|(placed, _)| placed)
        .collect()
}

/// The keys of rows that transactions of the trace insert.
fn written(live: &Table, work: &Work) -> HashSet<Bytes> {
    let maker = Maker::new(&work.table, &advisor::advise::Key::of(&work.table), "");
    let mut keys = HashSet::new();
    let ops = work.txns.iter().flat_map(|txn| &txn.ops);
    for op in ops.filter(|op| matches!(work.kind(op), Some(Kind::Insert | Kind::Upsert))) {
        for row in &op.rows {
            let columns = (0..).zip(&work.table.columns);
            let values = columns.map(|(place, column)| {
                let known = row.iter().find(|(known, _)| *known == place);
                match known {
                    Some((_, value)) => value.clone(),
                    None if column.generated.is_some() => Value::Null,
                    None => maker.filled(column),
                }
            });
            let values: Vec<Value> = values.collect();
            // A row that does not fit the table as it is now is none of its rows.
            let key = live.schema().complete(&values);
            if let Ok((key, _)) = key.and_then(|row| live.schema().encode(&row)) {
                keys.insert(key);
            }
        }
    }
    keys
}
