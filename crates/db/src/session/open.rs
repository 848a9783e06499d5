//! A transaction that is open, and its savepoints.

use std::sync::Arc;

use sql::ConstraintModes;
use txn::Savepoint;

use super::{Reply, Session, SessionError, done};
use crate::Result;

/// A transaction between BEGIN and COMMIT.
pub(super) struct Open {
    pub(super) inner: txn::Transaction,
    savepoints: Vec<Marked>,
    pub(super) read_only: bool,
    pub(super) failed: bool,
    /// It ends with its block and not with COMMIT.
    pub(super) block: bool,
}

/// A savepoint.
struct Marked {
    name: String,
    savepoint: Savepoint,
    /// How many advisory locks the transaction had taken.
    locks: usize,
    /// Which foreign keys waited for the end of the transaction.
    modes: ConstraintModes,
}

impl Open {
    pub(super) fn new(inner: txn::Transaction, read_only: bool, block: bool) -> Self {
        Self {
            inner,
            savepoints: Vec::new(),
            read_only,
            failed: false,
            block,
        }
    }

    /// The newest savepoint of that name.
    fn find(&self, name: &str) -> Result<usize> {
        let index = self.savepoints.iter().rposition(|one| one.name == name);
        index.ok_or_else(|| {
            SessionError::NoSavepoint {
                name: name.to_owned(),
            }
            .into()
        })
    }
}

impl Session {
    /// SAVEPOINT.
    pub(super) fn mark(&mut self, name: &str) -> Result<Reply> {
        let locks = self.locks.taken();
        let modes = self.executor.constraint_modes();
        let open = self.open("SAVEPOINT")?;
        open.savepoints.push(Marked {
            name: name.to_owned(),
            savepoint: open.inner.savepoint(),
            locks,
            modes,
        });
        done("SAVEPOINT")
    }

    /// RELEASE SAVEPOINT.
    pub(super) fn release(&mut self, name: &str) -> Result<Reply> {
        let open = self.open("RELEASE SAVEPOINT")?;
        let index = open.find(name)?;
        if let Some(marked) = open.savepoints.drain(index..).next() {
            open.inner.release(marked.savepoint)?;
        }
        done("RELEASE")
    }

    /// ROLLBACK TO SAVEPOINT, which gives back the locks that were taken since and what SET CONSTRAINTS
    /// said.
    pub(super) fn roll_back_to(&mut self, name: &str) -> Result<Reply> {
        let executor = Arc::clone(&self.executor);
        let open = self.open("ROLLBACK TO SAVEPOINT")?;
        let index = open.find(name)?;
        open.savepoints.truncate(index + 1);
        let mut locks = 0;
        if let Some(marked) = open.savepoints.last() {
            open.inner.rollback_to(marked.savepoint)?;
            executor.restore_constraint_modes(marked.modes.clone());
            locks = marked.locks;
        }
        open.failed = false;
        self.locks.end_taken(locks);
        done("ROLLBACK")
    }
}
