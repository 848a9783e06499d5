//! What a session tells the recorder.
//!
//! ```text
//!   idle:   each statement that touches rows may have its turn, and is a transaction of its own
//!   BEGIN:  undecided ── the first statement that touches rows ──► recorded, or not, to the end
//! ```

use std::sync::Arc;

use keys::Value;
use sql::{Prepared, ResultColumn};
use syntax::statement::Kind as Asks;

use super::Session;
use crate::record::{Seen, Take};

/// Whether the transaction that is open is recorded.
#[derive(Debug, Default)]
pub(super) enum Recording {
    #[default]
    Undecided,
    No,
    Yes(Box<Take>),
}

/// A statement whose rows are taken by others: a cursor's query.
#[derive(Debug)]
pub(super) struct Followed {
    seen: Arc<Seen>,
    rows: u64,
    took_ns: u64,
    failed: bool,
}

impl Session {
    /// Where to tell what becomes of a statement that starts now, if it is recorded.
    #[inline]
    pub(super) fn record(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        started_ns: u64,
    ) -> Option<Arc<Seen>> {
        if !self.touches_rows(prepared) || matches!(self.recording, Recording::No) {
            return None;
        }
        let tally = prepared.tally()?;
        if matches!(self.recording, Recording::Undecided) {
            let turn = self.database.recorder.turn(tally, started_ns);
            if turn.is_none() && self.transaction.is_some() {
                self.recording = Recording::No;
            }
            let alone = self.transaction.is_none();
            let take = Take::new(turn?, self.database.store.now_us(), alone);
            self.recording = Recording::Yes(Box::new(take));
        }
        match &prepared.statement().kind {
            Asks::Other(other) => match self.executed(other) {
                Some((prepared, values)) => self.record_part(&prepared, &values),
                None => {
                    self.forget_lone();
                    None
                }
            },
            _ => self.record_part(prepared, parameters),
        }
    }

    /// Whether a statement goes over rows; EXECUTE does what it names.
    #[inline]
    fn touches_rows(&self, prepared: &Prepared) -> bool {
        match &prepared.statement().kind {
            Asks::Query(_)
            | Asks::Insert(_)
            | Asks::Update(_)
            | Asks::Delete(_)
            | Asks::Copy(_) => true,
            Asks::Other(other) => {
                let named = self.named(other).ok().flatten();
                named.is_some_and(|named| {
                    !matches!(named.statement().kind, Asks::Other(_)) && self.touches_rows(named)
                })
            }
            _ => false,
        }
    }

    /// Where to tell what becomes of a cursor's query that starts now, if it is recorded.
    pub(super) fn follow(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        started_ns: u64,
    ) -> Option<Followed> {
        Some(Followed {
            seen: self.record(prepared, parameters, started_ns)?,
            rows: 0,
            took_ns: 0,
            failed: true,
        })
    }

    #[cold]
    fn record_part(&mut self, prepared: &Prepared, parameters: &[Value]) -> Option<Arc<Seen>> {
        let Recording::Yes(take) = &mut self.recording else {
            return None;
        };
        let seen = take.begin(prepared, parameters);
        let writes = matches!(
            prepared.statement().kind,
            Asks::Insert(_) | Asks::Update(_) | Asks::Delete(_)
        );
        if seen.is_some() && writes {
            self.executor.watch();
        }
        if self.transaction.is_none() {
            self.end_recording(true);
        }
        seen
    }

    /// A statement of its own that had its turn will fail, and the next one is undecided again.
    #[cold]
    fn forget_lone(&mut self) {
        if self.transaction.is_none() {
            self.end_recording(false);
        }
    }

    /// The transaction has ended.
    pub(super) fn end_recording(&mut self, committed: bool) {
        if let Recording::Yes(mut take) = std::mem::take(&mut self.recording)
            && committed
        {
            take.end(self.database.store.now_us());
            self.database.recorder.push(*take);
        }
    }
}

impl Followed {
    /// The query has begun to answer.
    pub(super) fn begun(&mut self) {
        self.failed = false;
    }

    /// Rows were taken, which took so long.
    pub(super) fn took(&mut self, took_ns: u64) {
        self.took_ns += took_ns;
    }

    /// A row was taken.
    pub(super) fn row(&mut self, columns: &Arc<[ResultColumn]>, row: &[Value]) {
        self.rows += 1;
        self.seen.row(columns, row);
    }
}

/// A cursor that is closed, or ends with its transaction, has read what it has read.
impl Drop for Followed {
    fn drop(&mut self) {
        self.seen.end(self.rows, None, self.took_ns, self.failed);
    }
}
