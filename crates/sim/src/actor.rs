//! A transaction or snapshot that is open, with what it wrote and read.

use std::collections::BTreeSet;
use std::sync::Arc;

use db::{Direction, Range, Row as DbRow, Rows, Savepoint, Snapshot, Table, Transaction, Value};

use crate::edits::Writes;
use crate::history::Read;
use crate::model::{Number, Spot};

pub(crate) enum Hand {
    Writer(Box<Transaction>),
    Reader(Snapshot),
    /// A transaction that waits for a row lock, which has it meanwhile: `row_locks.rs`.
    Waiting,
}

pub(crate) struct Actor {
    pub(crate) by: Number,
    /// Its snapshot.
    pub(crate) at: u64,
    /// Where most of its rows lie.
    pub(crate) home: Spot,
    pub(crate) hand: Hand,
    pub(crate) own: Writes,
    pub(crate) savepoints: Vec<(Savepoint, Writes)>,
    pub(crate) reads: Vec<Read>,
    /// Rows that have to be there when it commits.
    pub(crate) present: Vec<Spot>,
    /// Rows that it has locked.
    pub(crate) locks: BTreeSet<Spot>,
    pub(crate) cursors: Vec<Cursor>,
}

/// A scan that has not ended.
pub(crate) struct Cursor {
    pub(crate) rows: Rows,
    pub(crate) table: usize,
    /// The keys it has not come to yet: from the first up to, not including, the second.
    pub(crate) rest: (u64, u64),
    pub(crate) direction: Direction,
    /// What the transaction had written when the scan began.
    pub(crate) own: Writes,
}

impl Actor {
    pub(crate) fn new(by: Number, at: u64, home: Spot, hand: Hand) -> Self {
        Self {
            by,
            at,
            home,
            hand,
            own: Writes::new(),
            savepoints: Vec::new(),
            reads: Vec::new(),
            present: Vec::new(),
            locks: BTreeSet::new(),
            cursors: Vec::new(),
        }
    }

    pub(crate) fn get(&self, table: &Arc<Table>, key: u64) -> db::Result<Option<DbRow>> {
        let key = [Value::Uint64(key)];
        match &self.hand {
            Hand::Writer(txn) => txn.get(table, &key),
            Hand::Reader(snapshot) => snapshot.get(table, &key),
            Hand::Waiting => unreachable!("who waits for a row lock does nothing else"),
        }
    }

    pub(crate) fn scan(
        &self,
        table: &Arc<Table>,
        keys: (u64, u64),
        direction: Direction,
    ) -> db::Result<Rows> {
        let range = Range::from(&[Value::Uint64(keys.0)]).before(&[Value::Uint64(keys.1)]);
        match &self.hand {
            Hand::Writer(txn) => txn.scan(table, &range, direction),
            Hand::Reader(snapshot) => snapshot.scan(table, &range, direction),
            Hand::Waiting => unreachable!("who waits for a row lock does nothing else"),
        }
    }
}
