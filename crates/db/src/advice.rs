//! Advice about keys: what was recorded, replayed under other keys, and what came of it.
//!
//! ```text
//!   ADVISE TABLE t ─► errand ─► background: trace ─► advisor::advise ─► rows, also in sys.advice
//! ```
//!
//! A replay takes a while, so it is an errand for the background, and nobody else waits for it. The
//! advisor never acts, and neither does this: the statements that would change the key are in the
//! answer.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use advisor::advise::{Advice, Judged, Options, TXNS_MIN, advise_on};
use advisor::trace::Reader;
use keys::{Type, Value};
use parking_lot::Mutex;
use sql::ResultColumn;

use crate::Result;
use crate::record::{Ground, Recorder};

/// Tables whose last advice is kept.
const KEPT_MAX: usize = 1_000;

/// What an answer shows of each key.
const COLUMNS: [(&str, Type); 15] = [
    ("Rank", Type::Uint64),
    ("Key", Type::Utf8),
    ("Current", Type::Bool),
    ("Best", Type::Bool),
    ("PeakShare", Type::Double),
    ("PeakShareLower", Type::Double),
    ("PeakShareUpper", Type::Double),
    ("Ceiling", Type::Double),
    ("SinglePartitionShare", Type::Double),
    ("PartitionsPerRead", Type::Double),
    ("RowsPerRead", Type::Double),
    ("KeyBytes", Type::Double),
    ("Why", Type::Utf8),
    ("Worse", Type::Utf8),
    ("Statements", Type::Utf8),
];

/// The columns of an answer.
pub(crate) fn columns() -> Arc<[ResultColumn]> {
    let columns = COLUMNS.iter();
    columns
        .map(|(name, kind)| ResultColumn::new(*name, *kind))
        .collect()
}

/// The last advice about each table.
#[derive(Debug, Default)]
pub(crate) struct Advices {
    kept: Mutex<BTreeMap<String, Kept>>,
}

#[derive(Debug)]
struct Kept {
    at_us: u64,
    rows: Vec<Vec<Value>>,
}

impl Advices {
    /// Advises on a table, by what is recorded.
    pub(crate) fn advise(
        &self,
        recorder: &Recorder,
        ground: Ground<'_>,
        table: &str,
    ) -> Result<Vec<Vec<Value>>> {
        let mut lines = Vec::new();
        recorder.export(ground, &mut lines)?;
        let mut reader = Reader::new(lines.as_slice())?;
        let advice = match advise_on(&mut reader, table, &Options::default()) {
            // Nothing of it is in the trace.
            Err(advisor::Error::NoSuchTable { table, .. }) => Err(advisor::Error::TooFew {
                table,
                found: 0,
                needed: TXNS_MIN,
            }),
            other => other,
        };
        let rows = rows(&advice?);
        let mut kept = self.kept.lock();
        if kept.len() < KEPT_MAX || kept.contains_key(table) {
            let at_us = ground.store.now_us();
            let rows = rows.clone();
            kept.insert(table.to_owned(), Kept { at_us, rows });
        }
        Ok(rows)
    }

    /// The rows of `sys.advice`.
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
        let mut all = Vec::new();
        for (table, kept) in &*self.kept.lock() {
            let at = Value::Timestamp(i64::try_from(kept.at_us).unwrap_or(i64::MAX));
            for row in &kept.rows {
                let mut whole = vec![Value::from(table.as_str()), at.clone()];
                whole.extend(row.iter().cloned());
                all.push(whole);
            }
        }
        all
    }
}

fn rows(advice: &Advice) -> Vec<Vec<Value>> {
    let ranked = (0..).zip(&advice.keys);
    ranked
        .map(|(place, judged)| row(place, judged, advice.best.contains(&place)))
        .collect()
}

fn row(place: usize, judged: &Judged, best: bool) -> Vec<Value> {
    let figures = &judged.figures;
    let text = |text: String| Value::Utf8(text.into());
    let rank = u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1);
    let mut statements = vec![judged.ddl.create.clone()];
    statements.extend(judged.ddl.migrate.iter().cloned());
    vec![
        Value::Uint64(rank),
        text(judged.name.clone()),
        Value::Bool(judged.is_current),
        Value::Bool(best),
        Value::Double(figures.grown.value),
        Value::Double(figures.grown.low),
        Value::Double(figures.grown.high),
        Value::Double(figures.ceiling),
        Value::Double(figures.single),
        Value::Double(figures.per_read.partitions),
        Value::Double(figures.per_read.rows),
        Value::Double(figures.key_bytes),
        text(judged.why.join("; ")),
        text(judged.worse.join("; ")),
        match judged.is_current {
            true => Value::Null,
            false => text(statements.join("\n")),
        },
    ]
}

/// Work that is handed to the background.
#[derive(Default)]
pub(crate) struct Errands {
    waiting: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Errands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Errands({})", self.waiting.lock().len())
    }
}

/// What an errand brings back, and who waits for it.
struct Slot<T> {
    brought: Option<T>,
    waiting: Option<Waker>,
}

impl Errands {
    /// Runs what was handed over.
    pub(crate) fn run(&self) {
        let errands = std::mem::take(&mut *self.waiting.lock());
        errands.into_iter().for_each(|errand| errand());
    }

    /// Hands work over, and waits for what it brings.
    pub(crate) async fn send<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let slot = Arc::new(Mutex::new(Slot {
            brought: None,
            waiting: None,
        }));
        let filled = Arc::clone(&slot);
        let errand = move || {
            let brought = work();
            let mut slot = filled.lock();
            slot.brought = Some(brought);
            if let Some(waiting) = slot.waiting.take() {
                waiting.wake();
            }
        };
        self.waiting.lock().push(Box::new(errand));
        poll_fn(move |context| {
            let mut slot = slot.lock();
            match slot.brought.take() {
                Some(brought) => Poll::Ready(brought),
                None => {
                    slot.waiting = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}
