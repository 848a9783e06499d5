//! Retried transactions: one that lost a row to others locks it first when it is run again.
//!
//! ```text
//!   first try    BEGIN  SELECT ─ ─ ─ ─ another commits ─ ─ ─ ─ UPDATE    40001: row /7 changed
//!   second try   BEGIN  lock /7, SELECT ─ ─ others wait ─ ─ ─ ─ UPDATE  COMMIT
//! ```
//!
//! Readers take no locks, so a transaction that reads a row and changes it later can lose again and again
//! to others that only ever hold the row for an instant. The conflict names the row, and the client that
//! gets it runs the transaction again: its next transaction locks that row before it reads
//! anything, in the line that every writer of the row stands in. A lock decides nothing
//! ([`txn`]'s `claims`), so if the next transaction is another one, others wait a little and that is all.

use std::collections::BTreeSet;

use keys::Value;
use sql::Prepared;
use txn::{Bytes, TableId, Transaction};

use super::{Reply, Session};
use crate::{Error, Result};

/// How often a statement is run again because the schema of a collection changed.
const SETTLED_MAX: usize = 3;

/// Rows that one session remembers to have lost.
const LOST_ROWS_MAX: usize = 16;

/// The rows that a session lost to others.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Those that its next transaction locks.
    next: BTreeSet<(TableId, Bytes)>,
    /// Those that the transaction under way is to lock, or has locked.
    current: BTreeSet<(TableId, Bytes)>,
    /// Whether it has not locked them yet.
    due: bool,
}

impl Lost {
    /// A transaction begins: it locks what those before it lost.
    pub(super) fn begin(&mut self) {
        self.current = std::mem::take(&mut self.next);
        self.due = !self.current.is_empty();
    }

    /// Remembers the row of a conflict, beside those that were locked in vain.
    pub(super) fn note(&mut self, error: &Error) {
        let Some((table, key)) = error.conflict() else {
            return;
        };
        self.next.append(&mut self.current);
        if self.next.len() < LOST_ROWS_MAX {
            self.next.insert((table, key.clone()));
        }
    }

    /// Whether the transaction under way has to lock rows before it reads.
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Locks the rows that are due, and reads what is committed by then.
    pub(super) async fn lock(&mut self, transaction: &mut Transaction) -> Result<()> {
        if std::mem::take(&mut self.due) {
            transaction.lock_rows(&self.current).await?;
        }
        Ok(())
    }
}

impl Session {
    /// Runs a statement. If items of a collection must be moved first they are; and a statement that is
    /// alone is run again, as its client would.
    pub(super) async fn dispatch_settled(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Reply> {
        let alone = self.transaction.is_none();
        let mut outcome = self.dispatch(prepared, parameters).await;
        for _ in 0..SETTLED_MAX {
            let changing = match &outcome {
                Err(error) => Box::pin(self.settle(error)).await?,
                Ok(_) => false,
            };
            if !changing || !alone {
                break;
            }
            outcome = Box::pin(self.dispatch(prepared, parameters)).await;
        }
        outcome
    }

    /// Moves the items that an error is about, if they must be moved first; whether it may be gone then.
    pub(super) async fn settle(&self, error: &Error) -> Result<bool> {
        let Some((container, moving)) = error.changing() else {
            return Ok(false);
        };
        if let Some(root) = moving {
            self.database.finish_moving_items(container, root).await?;
        }
        Ok(true)
    }
}
