//! A transaction or snapshot that is open, with what it wrote and read.

use std::collections::BTreeMap;
use std::sync::Arc;

use db::{Direction, Range, Row as DbRow, Rows, Savepoint, Snapshot, Table, Transaction, Value};

use crate::error::{Checked, Wrong};
use crate::history::Read;
use crate::model::{Number, Row, Spot, Writes};

pub(crate) enum Hand {
    Writer(Box<Transaction>),
    Reader(Snapshot),
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

/// What a scan found: every place it passed, and what lay there.
pub(crate) type Passed = BTreeMap<Spot, Row>;

impl Actor {
    pub(crate) fn get(&self, table: &Arc<Table>, key: u64) -> db::Result<Option<DbRow>> {
        let key = [Value::Uint64(key)];
        match &self.hand {
            Hand::Writer(txn) => txn.get(table, &key),
            Hand::Reader(snapshot) => snapshot.get(table, &key),
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
        }
    }
}

impl Cursor {
    /// Takes one more row, and answers with the places passed on the way, and whether that was the
    /// end.
    pub(crate) fn advance(&mut self) -> db::Result<Checked<(Passed, bool)>> {
        let row = self.rows.next().transpose()?;
        Ok(self.pass(row))
    }

    fn pass(&mut self, row: Option<DbRow>) -> Checked<(Passed, bool)> {
        let (lower, upper) = self.rest;
        let Some(row) = row else {
            self.rest = (upper, upper);
            return Ok((nothing(self.table, lower..upper), true));
        };
        let (key, text) = text_of(&row)?;
        if key < lower || key >= upper {
            let message = format!("a scan of {lower}..{upper} found {key}, out of turn");
            return Err(Wrong(message));
        }
        let mut passed = match self.direction {
            Direction::Ascending => {
                self.rest = (key + 1, upper);
                nothing(self.table, lower..key)
            }
            Direction::Descending => {
                self.rest = (lower, key);
                nothing(self.table, key + 1..upper)
            }
        };
        passed.insert((self.table, key), Some(text));
        Ok((passed, false))
    }
}

fn nothing(table: usize, keys: std::ops::Range<u64>) -> Passed {
    keys.map(|key| ((table, key), None)).collect()
}

/// The key and the text of a row.
pub(crate) fn text_of(row: &[Value]) -> Checked<(u64, String)> {
    match row {
        [Value::Uint64(key), Value::Utf8(text)] => Ok((*key, text.to_string())),
        other => Err(Wrong(format!("a row came back as {other:?}"))),
    }
}

/// The values of a row.
pub(crate) fn values_of(key: u64, text: &str) -> [Value; 2] {
    [Value::Uint64(key), Value::Utf8(text.into())]
}
