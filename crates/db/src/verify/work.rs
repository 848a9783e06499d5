//! [`Work`]: the transactions of a trace on one table, in the order of their time.

use std::collections::HashMap;

use advisor::advise::{Advice, Timeline};
use advisor::trace::{Kind, Op, Reader, Table, Txn};

use crate::Result;

/// The most transactions that are kept. Of more, every second goes and the others weigh twice as much.
const TXNS_MAX: usize = 50_000;

/// What was done to a table.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) table: Table,
    pub(super) txns: Vec<Txn>,
    kinds: HashMap<u32, Kind>,
    pub(super) from_us: u64,
    pub(super) timeline: Timeline,
    /// Rows that were inserted, recorded or not.
    pub(super) inserted: f64,
    /// How many transactions of the trace one of these stands for.
    pub(super) one_in: usize,
}

impl Work {
    /// Reads what a trace has of the table that was advised on.
    pub(super) fn read(lines: &[u8], advice: &Advice) -> Result<Self> {
        let table = &advice.table;
        let timeline = advice.timeline.clone();
        let mut reader = Reader::new(lines)?;
        let mut work = Self {
            table: table.clone(),
            txns: Vec::new(),
            kinds: HashMap::new(),
            from_us: 0,
            timeline,
            inserted: 0.0,
            one_in: 1,
        };
        let mut seen = 0_usize;
        let mut learned = 0;
        while let Some(txn) = reader.next_txn()? {
            for statement in reader.statements().iter().skip(learned) {
                if statement.table == table.id {
                    work.kinds.insert(statement.id, statement.kind);
                }
            }
            learned = reader.statements().len();
            let ops: Vec<Op> = txn
                .ops
                .into_iter()
                .filter(|op| work.kind(op).is_some())
                .collect();
            if ops.is_empty() {
                continue;
            }
            seen += 1;
            let inserts = ops.iter().filter(|op| work.kind(op) == Some(Kind::Insert));
            let rows = inserts.map(|op| op.found.unwrap_or(rows(op)));
            work.inserted += txn.weight * super::replay::count(rows.sum());
            if seen.is_multiple_of(work.one_in) {
                work.txns.push(Txn { ops, ..txn });
            }
            if work.txns.len() >= TXNS_MAX {
                work.halve();
            }
        }
        for txn in &mut work.txns {
            txn.at_us = work.timeline.at(txn.at_us);
            txn.weight *= super::replay::as_float(work.one_in);
        }
        work.txns.sort_by_key(|txn| txn.at_us);
        work.from_us = reader.header().from_us;
        Ok(work)
    }

    fn halve(&mut self) {
        let mut odd = false;
        self.txns.retain(|_| {
            odd = !odd;
            odd
        });
        self.one_in *= 2;
    }

    /// What an operation does; `None` if it is on another table.
    pub(super) fn kind(&self, op: &Op) -> Option<Kind> {
        self.kinds.get(&op.statement).copied()
    }

    /// How many transactions they stand for.
    pub(super) fn weight(&self) -> f64 {
        self.txns.iter().map(|txn| txn.weight).sum()
    }
}

fn rows(op: &Op) -> u64 {
    u64::try_from(op.rows.len()).unwrap_or(u64::MAX)
}
