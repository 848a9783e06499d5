//! What a statement answered, on its way to the client.

use std::sync::Arc;

use sql::{Answer, AnswerRows, ResultColumn};

use super::time::Limit;
use crate::latency::Timer;
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
    /// Tells how long the statement took when they are dropped.
    _timer: Option<Timer>,
}

impl From<AnswerRows> for ReplyRows {
    fn from(rows: AnswerRows) -> Self {
        Self {
            rows,
            limit: None,
            _timer: None,
        }
    }
}

impl ReplyRows {
    /// The same, with a limit of time, and told when they are all taken.
    pub(super) fn timed(self, limit: Option<Limit>, timer: Timer) -> Self {
        Self {
            rows: self.rows,
            limit,
            _timer: Some(timer),
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
            Some(limit) => match limit.keep(next).await {
                Ok(next) => next,
                Err(error) => return Some(Err(error)),
            },
            None => next.await,
        };
        Some(next?.map_err(Error::from))
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
