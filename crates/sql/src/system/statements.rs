//! The rows of `sys.statement_stats`: what was counted of each statement that was run.

use super::rows::{Cell, Rows};
use crate::statements::Statements;

const NS_PER_MS: f64 = 1e6;

pub(super) fn fill(statements: &Statements, rows: &mut Rows) {
    for one in statements.all() {
        let touching = (one.touching > 0).then_some(one.touching);
        let mean =
            |sum, count: Option<u64>| count.map_or(Cell::Null, |n| Cell::Float(ratio(sum, n)));
        rows.push([
            ("Fingerprint", one.fingerprint.into()),
            ("Text", one.text.into()),
            ("Calls", one.calls.into()),
            ("Errors", one.errors.into()),
            ("Rows", one.rows.into()),
            ("TotalMs", ms(ratio(one.took_ns, 1))),
            ("MeanMs", ms(ratio(one.took_ns, one.calls))),
            ("MaxMs", ms(ratio(one.took_ns_max, 1))),
            ("MeanPartitions", mean(one.partitions, touching)),
            ("MaxPartitions", touching.map(|_| one.partitions_max).into()),
            ("SinglePartitionShare", mean(one.single, touching)),
        ]);
    }
}

fn ms(ns: f64) -> Cell {
    Cell::Float(ns / NS_PER_MS)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "these are shown, and exact up to 2^53"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
