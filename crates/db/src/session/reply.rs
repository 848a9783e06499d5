//! What a statement answered, on its way to the client.

use std::sync::Arc;

use sql::{Answer, AnswerRows, ResultColumn};

use super::time::Limit;
use crate::latency::Timer;
use crate::record::Seen;
use crate::{Error, Result, Row};

/// What a statement answered.
pub enum Reply {
    /// Rows, some at a time.
    Rows(ReplyRows),
    /// It is done.
    Done {
        /// The command as PostgreSQL tags it: `INSERT`, `CREATE TABLE`, ….
        command: &'static str,
        /// How many rows it wrote, where that makes sense.
        rows: Option<u64>,
    },
}

/// The rows of an answer.
pub struct ReplyRows {
    pub(super) rows: AnswerRows,
    /// How long they may take.
    pub(super) limit: Option<Limit>,
    /// Tells how long the statement took when they are all taken, or dropped.
    timer: Option<Timer>,
}

impl From<AnswerRows> for ReplyRows {
    fn from(rows: AnswerRows) -> Self {
        Self {
            rows,
            limit: None,
            timer: None,
        }
    }
}

impl ReplyRows {
    /// The same, with a limit of time, and told when they are all taken.
    pub(super) fn timed(self, limit: Option<Limit>, timer: Timer) -> Self {
        Self {
            rows: self.rows,
            limit,
            timer: Some(timer),
        }
    }

    /// What they look like.
    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        self.rows.columns()
    }

    /// The command for the tag: `SELECT`, or `INSERT` and the like with RETURNING.
    pub fn command(&self) -> &'static str {
        self.rows.command()
    }

    /// Some more of them; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Vec<Row>>> {
        let next = self.rows.next();
        let next = match self.limit {
            Some(limit) => limit.keep(next).await,
            None => Ok(next.await),
        };
        let next = match next {
            Ok(next) => next.map(|batch| batch.map_err(Error::from)),
            Err(error) => Some(Err(error)),
        };
        match &next {
            Some(batch) => {
                if let (Ok(batch), Some(seen)) = (batch, self.seen()) {
                    let columns = self.rows.columns();
                    batch.iter().for_each(|row| seen.row(columns, row));
                }
                self.note(batch.as_ref().map(Vec::len).ok());
            }
            None => self.end(),
        }
        next
    }

    /// Where rows are told that are handed on, if the statement is recorded.
    pub(super) fn seen(&self) -> Option<&Arc<Seen>> {
        self.timer.as_ref()?.run_so_far()?.seen()
    }

    /// Counts rows that were handed on; none if that failed.
    pub(super) fn note(&mut self, rows: Option<usize>) {
        if let Some(run) = self.timer.as_mut().and_then(Timer::run) {
            run.add(rows);
        }
    }

    /// There are no more rows. Scans tell what they read when they are dropped, and so go first.
    pub(super) fn end(&mut self) {
        self.rows.release();
        self.timer = None;
    }

    /// Counts the time they may take from now on: the client asked for some more of them.
    pub fn resume(&mut self) {
        self.limit = self.limit.map(Limit::again);
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Rows(rows) => Self::Rows(rows.into()),
            Answer::Done { command, rows } => Self::Done { command, rows },
        }
    }
}
