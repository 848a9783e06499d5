//! What a session tells the recorder.
//!
//! ```text
//!   idle:   each statement that touches rows may have its turn, and is a transaction of its own
//!   BEGIN:  undecided ── the first statement that touches rows ──► recorded, or not, to the end
//! ```

use std::sync::Arc;

use keys::Value;
use sql::Prepared;
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

impl Session {
    /// Where to tell what becomes of a statement that starts now, if it is recorded.
    #[inline]
    pub(super) fn record(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        started_ns: u64,
    ) -> Option<Arc<Seen>> {
        let rows = matches!(
            prepared.statement().kind,
            Asks::Query(_) | Asks::Insert(_) | Asks::Update(_) | Asks::Delete(_) | Asks::Copy(_)
        );
        if !rows || matches!(self.recording, Recording::No) {
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
        self.record_part(prepared, parameters)
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
