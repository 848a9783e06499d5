//! What a session tells of the statements it runs, for `sys.statement_stats`.
//!
//! ```text
//!   parse ── fingerprint ─► prepare ── tally ─► execute ── timer ─► rows ─► the end: one addition
//! ```
//!
//! A run ends when its rows are all taken or dropped, together with the timer of its kind, so it costs
//! no look at the clock of its own. Statements inside of BEGIN and COMMIT touch what they read; what
//! they write is touched by their COMMIT, which is told all that its transaction touched.

use std::collections::HashMap;
use std::sync::Arc;

use keys::{Type, Value};
use sql::{Call, Prepared, Tally};
use syntax::Statement;
use txn::{Reader, Touches};

use super::{Reply, Session};
use crate::Result;
use crate::latency::Timer;
use crate::record::Seen;

/// Texts whose fingerprints a session keeps, and how long they may be.
const NAMES_MAX: usize = 64;
const NAMED_BYTES_MAX: usize = 1_024;

/// A run of a statement that is under way, or did not end well, until it is told otherwise.
#[derive(Debug)]
pub(crate) struct Run {
    tally: Arc<Tally>,
    touched: Touched,
    rows: u64,
    failed: bool,
    /// Where it is told besides, if it is recorded.
    seen: Option<Arc<Seen>>,
}

/// The partitions that a statement touches.
#[derive(Debug, Default)]
pub(super) enum Touched {
    #[default]
    Unknown,
    /// Those that are read until its rows are all taken.
    Counting(Touches),
    Known(usize),
}

impl Touched {
    pub(super) fn by(reader: &Reader) -> Self {
        Self::Counting(reader.touches())
    }

    fn count(&self) -> usize {
        match self {
            Self::Unknown => 0,
            Self::Counting(touches) => touches.count(),
            Self::Known(count) => *count,
        }
    }

    /// How many rows it goes over, if that is counted.
    fn rows(&self) -> Option<u64> {
        match self {
            Self::Counting(touches) => Some(touches.rows()),
            Self::Unknown | Self::Known(_) => None,
        }
    }
}

impl Run {
    /// It has begun to answer with rows.
    pub(super) fn begun(&mut self, touched: Touched) {
        self.touched = touched;
        self.failed = false;
    }

    /// Counts rows; none if they did not come.
    pub(super) fn add(&mut self, rows: Option<usize>) {
        match rows {
            Some(rows) => self.rows += u64::try_from(rows).unwrap_or(u64::MAX),
            None => self.failed = true,
        }
    }

    /// Where it is told besides, if it is recorded.
    pub(super) fn seen(&self) -> Option<&Arc<Seen>> {
        self.seen.as_ref()
    }

    /// Counts the run.
    pub(crate) fn end(&self, ended_ns: u64, took_ns: u64) {
        self.tally.add(Call {
            ended_ns,
            took_ns,
            rows: self.rows,
            partitions: u64::try_from(self.touched.count()).unwrap_or(u64::MAX),
            rows_read: self.touched.rows().unwrap_or_default(),
            failed: self.failed,
        });
        if let Some(seen) = &self.seen {
            seen.end(self.rows, self.touched.rows(), took_ns, self.failed);
        }
    }
}

/// Fingerprints of texts that a session has sent. Many drivers send the same few over and over, and a
/// fingerprint takes a third of the time that it takes to parse the text.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<Box<str>, (u64, Arc<str>)>,
}

impl Names {
    /// Gives each statement of a text the name that all its runs share.
    pub(super) fn give(&mut self, text: &str, statements: &mut [Statement]) {
        for statement in statements {
            statement.fingerprint = Some(self.of(statement.span.slice(text)));
        }
    }

    fn of(&mut self, text: &str) -> (u64, Arc<str>) {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let (number, folded) = syntax::fingerprint(text);
        let name = (number, Arc::from(folded));
        if text.len() <= NAMED_BYTES_MAX {
            if self.known.len() >= NAMES_MAX {
                self.known.clear();
            }
            self.known.insert(text.into(), name.clone());
        }
        name
    }
}

impl Session {
    /// Works out the parameters and result columns of a statement. `hints` are types that the client
    /// stated, by position.
    pub async fn prepare(
        &mut self,
        mut statement: Statement,
        hints: &[Option<Type>],
    ) -> Result<Prepared> {
        let started_ns = self.database.latencies.now_ns();
        let span = statement.span;
        let statements = self.executor.statements();
        let tally = statement.fingerprint.take();
        let tally = tally.map(|(number, text)| statements.tally(number, &text, started_ns));
        let generation = self.executor.catalog().generation();
        match Box::pin(self.make_ready(statement, hints)).await {
            // EXECUTE is counted as what it names.
            Ok(prepared) if prepared.tally().is_some() => Ok(prepared),
            Ok(prepared) => Ok(prepared.tallied(tally)),
            Err(error) => {
                let ended_ns = self.database.latencies.now_ns();
                if let Some(tally) = tally {
                    tally.add(Call {
                        ended_ns,
                        took_ns: ended_ns.saturating_sub(started_ns),
                        failed: true,
                        ..Call::default()
                    });
                }
                Err(self.redefined(generation, error).of(span))
            }
        }
    }

    /// Times a run that has started, and counts it when the timer is dropped.
    pub(super) fn timer(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        started_ns: u64,
    ) -> Timer {
        let seen = self.record(prepared, parameters, started_ns);
        let run = prepared.tally().map(|tally| Run {
            seen,
            tally: self.executor.statements().current(tally),
            touched: Touched::Unknown,
            rows: 0,
            failed: true,
        });
        let kind = &prepared.statement().kind;
        self.database.latencies.start(kind, started_ns, run)
    }

    /// Tells a run what came of it.
    pub(super) fn learn(&mut self, timer: &mut Timer, outcome: &Result<Reply>) {
        let touched = std::mem::take(&mut self.touched);
        if let Some(seen) = timer.run().and_then(|run| run.seen.as_ref()) {
            seen.wrote(self.executor.unwatch());
        }
        let (Some(run), Ok(reply)) = (timer.run(), outcome) else {
            return;
        };
        match reply {
            Reply::Rows(rows) if !rows.rows.is_ready() => run.begun(touched),
            // Nothing is read any more, and a transaction's snapshot is not to be held.
            Reply::Rows(_) => run.begun(Touched::Known(touched.count())),
            Reply::Done { rows, .. } => {
                run.begun(Touched::Known(touched.count()));
                run.rows = rows.unwrap_or(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_known_or_not_and_few_are_kept() {
        let mut names = Names::default();
        for number in 0..3 * NAMES_MAX {
            let text = format!("SELECT v FROM t{} WHERE id = {number}", number % 7);
            let (fingerprint, folded) = syntax::fingerprint(&text);
            for _ in 0..2 {
                assert_eq!(names.of(&text), (fingerprint, Arc::from(folded.as_str())));
            }
            assert!(names.known.len() <= NAMES_MAX);
        }
        let long = format!("SELECT '{}'", "x".repeat(NAMED_BYTES_MAX));
        let kept = names.known.len();
        assert_eq!(&*names.of(&long).1, "SELECT ?");
        assert_eq!(names.known.len(), kept);
    }
}
