//! A transaction that is being recorded.

use std::sync::Arc;

use advisor::trace::{Kind, Op};
use keys::Value;
use parking_lot::Mutex;
use sql::{Few, Prepared, ResultColumn, Tally, shortened};

/// Statements of one transaction that are recorded.
const PARTS_MAX: usize = 64;
/// Bytes of parameters that are kept of one statement; of longer ones nothing is known.
const PARAMETER_BYTES_MAX: usize = 64 << 10;

/// A transaction.
#[derive(Debug)]
pub(crate) struct Take {
    /// How many it stands for.
    pub(super) weight: u64,
    pub(super) began_us: u64,
    pub(super) ended_us: u64,
    /// Whether it is a statement that nobody said BEGIN before.
    pub(super) alone: bool,
    pub(super) parts: Vec<Part>,
}

/// What it did.
#[derive(Debug)]
pub(super) enum Part {
    Ran(Ran),
    Asked(Asked),
}

/// A statement.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) prepared: Prepared,
    pub(super) parameters: Vec<Value>,
    pub(super) seen: Arc<Seen>,
}

/// A request that is no statement.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) tally: Arc<Tally>,
    pub(super) table: String,
    pub(super) ops: Vec<(Kind, Op)>,
}

/// What becomes of a statement, told by whoever runs it and whoever takes its rows.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    outcome: Mutex<Outcome>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Whole rows that were written.
    pub(super) written: Few<Vec<Value>>,
    /// Rows that were found, or came in by COPY, and what their columns are.
    pub(super) rows: Few<Vec<Value>>,
    pub(super) columns: Option<Arc<[ResultColumn]>>,
    /// How many rows it answered with or wrote.
    pub(super) count: u64,
    /// How many rows it went over to find them, if that was counted.
    pub(super) rows_read: Option<u64>,
    pub(super) took_ns: u64,
    pub(super) failed: bool,
    pub(super) ended: bool,
}

impl Take {
    pub(crate) fn new(weight: u64, now_us: u64, alone: bool) -> Self {
        Self {
            weight,
            began_us: now_us,
            ended_us: now_us,
            alone,
            parts: Vec::new(),
        }
    }

    /// One more statement, and where to tell what becomes of it; nothing if there were too many.
    pub(crate) fn begin(&mut self, prepared: &Prepared, parameters: &[Value]) -> Option<Arc<Seen>> {
        if self.parts.len() >= PARTS_MAX {
            return None;
        }
        let bytes: usize = parameters.iter().map(bytes).sum();
        let parameters = match bytes <= PARAMETER_BYTES_MAX {
            true => parameters.to_vec(),
            false => Vec::new(),
        };
        let seen = Arc::new(Seen::default());
        self.parts.push(Part::Ran(Ran {
            prepared: prepared.clone(),
            parameters,
            seen: Arc::clone(&seen),
        }));
        Some(seen)
    }

    /// One more request.
    pub(super) fn ask(&mut self, asked: Asked) {
        self.parts.push(Part::Asked(asked));
    }

    /// It has committed.
    pub(crate) fn end(&mut self, now_us: u64) {
        self.ended_us = now_us;
    }

    /// Whether nothing more will be told of its statements.
    pub(super) fn has_ended(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Ran(ran) => ran.seen.outcome.lock().ended,
            Part::Asked(_) => true,
        })
    }
}

fn bytes(value: &Value) -> usize {
    match value {
        Value::Utf8(text) | Value::Json(text) => text.len(),
        Value::String(bytes) => bytes.len(),
        _ => size_of::<Value>(),
    }
}

impl Seen {
    /// Rows were written.
    pub(crate) fn wrote(&self, rows: Few<Vec<Value>>) {
        self.outcome.lock().written = rows;
    }

    /// One more row was found, or came in.
    pub(crate) fn row(&self, columns: &Arc<[ResultColumn]>, row: &[Value]) {
        let mut outcome = self.outcome.lock();
        outcome.columns.get_or_insert_with(|| Arc::clone(columns));
        outcome.rows.offer(|| shortened(row));
    }

    /// The statement has ended.
    pub(crate) fn end(&self, count: u64, rows_read: Option<u64>, took_ns: u64, failed: bool) {
        let mut outcome = self.outcome.lock();
        outcome.count = count;
        outcome.rows_read = rows_read;
        outcome.took_ns = took_ns;
        outcome.failed = failed;
        outcome.ended = true;
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.outcome.lock().clone()
    }
}
