//! Reads by key, which wait for nobody and so need no task of their own.
//!
//! [`Session::execute`] can run anything, and pays for that: its work is a future with room for the
//! longest statement. A read by key is done before such a future would be made.

use keys::Value;
use sql::{Prepared, RowSink};
use syntax::statement::Kind as Asks;

use super::tally::Touched;
use super::{ReplyRows, Session};
use crate::{Error, Result};

impl Session {
    /// Begins a read by key at once. `None` if the statement is something else, or if more has to be
    /// done for it first: then [`Session::execute`] does it.
    pub fn read_at_once(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Option<Result<ReplyRows>> {
        let statement = prepared.statement();
        let plain = matches!(&statement.kind, Asks::Query(query) if !query.discard)
            && statement.declared.is_empty()
            && prepared.is_by_key()
            && !prepared.may_read_all();
        if !plain || !self.settings.often().fast_path {
            return None;
        }
        let reader = match &self.transaction {
            Some(open) if open.failed || self.lost.is_due() => return None,
            Some(open) => open.inner.reader(),
            None => self.database.store.view().reader(),
        };
        let started_ns = self.database.latencies.now_ns();
        if self.transaction.is_some() {
            reader.count_anew();
        }
        let touched = prepared.tally().map(|_| Touched::by(&reader));
        let rows = self.executor.read_at_once(reader, prepared, parameters);
        let limit = self.limit(&statement.kind);
        let rows = rows.transpose()?;
        let mut timer = self.timer(prepared, parameters, started_ns);
        match rows {
            Ok(rows) => {
                if let (Some(run), Some(touched)) = (timer.run(), touched) {
                    run.begun(touched);
                }
                Some(Ok(ReplyRows::from(rows).timed(limit, timer)))
            }
            Err(error) => Some(Err(self.failed(error.into()))),
        }
    }
}

impl ReplyRows {
    /// Hands on up to `most` rows and tells how many, fewer at the end; `None` if they do not come
    /// straight from storage, so that they have to be asked for by [`ReplyRows::next`].
    pub fn send(&mut self, most: usize, sink: &mut impl RowSink) -> Option<Result<usize>> {
        if self.limit.is_some() || self.seen().is_some() {
            return None;
        }
        let sent = self.rows.send(most, sink)?;
        self.note(sent.as_ref().ok().copied());
        if matches!(sent, Ok(sent) if sent < most) {
            self.end();
        }
        Some(sent.map_err(Error::from))
    }
}
