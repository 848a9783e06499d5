//! Statements that change tables themselves, inside of a transaction and outside.

use std::sync::Arc;

use sql::Answer;
use syntax::Statement;
use syntax::ast::Function;

use super::time::Limit;
use super::{Asks, Reply, Session, SessionError};
use crate::Result;

impl Session {
    /// Calls a procedure, which is a transaction of its own.
    pub(super) async fn call(&mut self, function: &Function) -> Result<Reply> {
        self.end_block().await?;
        let read_only = self.settings.often().read_only;
        match &self.transaction {
            Some(_) => Err(SessionError::Call.into()),
            None if read_only => Err(SessionError::ReadOnly.into()),
            None => {
                let rows = self.executor.call(function).await?;
                Ok(Answer::Rows(rows).into())
            }
        }
    }

    /// Runs a statement that changes tables themselves. `None` if it is to run as one that writes rows.
    pub(super) async fn define(&mut self, statement: &Statement) -> Result<Option<Reply>> {
        self.end_block().await?;
        let skips = self.notice_skipped(&statement.kind);
        let before = self.findings(&statement.kind);
        let executor = Arc::clone(&self.executor);
        let limit = self.limit(&statement.kind).map(Limit::length);
        executor.interrupt().begin(&self.database.store, limit);
        match &self.transaction {
            None => {
                let answer = executor.define(statement).await?;
                if !skips {
                    self.notice_defined(statement, &before);
                }
                Ok(Some(answer.into()))
            }
            // Emptying a table can be taken back, as a deletion of all its rows.
            Some(_) if matches!(statement.kind, Asks::Truncate(_)) => Ok(None),
            // What it wrote may be about a table that would change under it.
            Some(open) if open.inner.has_written() => Err(SessionError::Definition.into()),
            Some(_) => {
                let answer = executor.define(statement).await?;
                self.warn("01000", "tables changed at once: ROLLBACK does not undo it");
                if !skips {
                    self.notice_defined(statement, &before);
                }
                Ok(Some(answer.into()))
            }
        }
    }
}
