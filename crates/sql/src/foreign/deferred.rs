//! Foreign keys that wait for the end of the transaction, as DEFERRABLE ones can.

use std::collections::HashMap;

use std::sync::Arc;

use keys::Value;
use parking_lot::Mutex;
use txn::Transaction;

use super::{Changed, Link, Promise, Relations, settle};
use crate::schema::Checked;
use crate::{ConstraintError, Executor, Result, Table};

/// What the open transaction of a session still has to keep.
///
/// A promise is about values and not about rows: it is kept or broken by what is there when the
/// transaction commits. That it was kept when SET CONSTRAINTS looked proves nothing about the end, since
/// going back to a savepoint may take away what kept it. So every promise stays until the transaction
/// ends, and is checked then.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    promises: Vec<Promise>,
    modes: ConstraintModes,
}

/// Which foreign keys wait for the end of the transaction, as SET CONSTRAINTS said.
#[derive(Clone, Debug, Default)]
pub struct ConstraintModes {
    /// Whether foreign keys wait, if it was said of all of them.
    all: Option<bool>,
    /// The same of some, by name.
    named: HashMap<String, bool>,
}

impl ConstraintModes {
    /// Whether a foreign key waits.
    fn defer(&self, link: &Link) -> bool {
        let said = self.named.get(&link.key.name).copied().or(self.all);
        match link.key.checked {
            Checked::Always => false,
            Checked::Immediate => said.unwrap_or(false),
            Checked::Deferred => said.unwrap_or(true),
        }
    }
}

impl Deferred {
    /// Forgets everything, because another transaction begins.
    pub(crate) fn clear(&self) {
        let mut inner = self.inner.lock();
        let Inner { promises, modes } = &*inner;
        if !promises.is_empty() || modes.all.is_some() || !modes.named.is_empty() {
            *inner = Inner::default();
        }
    }

    /// Whether a foreign key waits.
    pub(super) fn waits(&self, link: &Link) -> bool {
        self.inner.lock().modes.defer(link)
    }

    pub(super) fn add(&self, promise: Promise) {
        self.inner.lock().promises.push(promise);
    }

    /// Lets foreign keys wait, or not: all of them, or those that are named.
    fn set(&self, names: &[String], wait: bool) {
        let modes = &mut self.inner.lock().modes;
        if names.is_empty() {
            modes.named.clear();
            modes.all = Some(wait);
        }
        for name in names {
            modes.named.insert(name.clone(), wait);
        }
    }

    /// Checks what does not wait any more; at the end of the transaction that is all of it.
    fn check(&self, transaction: &mut Transaction, ends: bool) -> Result<()> {
        let inner = self.inner.lock();
        let due = |promise: &&Promise| ends || !inner.modes.defer(&promise.link);
        let mut promises = inner.promises.iter().filter(due);
        promises.try_for_each(|promise| promise.check(transaction))
    }
}

impl Executor {
    /// Lets follow what follows from rows that a statement changed.
    pub(crate) fn settle(
        &self,
        transaction: &mut Transaction,
        changed: Vec<Changed>,
    ) -> Result<()> {
        settle(self.catalog(), Some(self.deferred()), transaction, changed)
    }

    /// Whether foreign keys are about the rows of a table.
    pub fn is_related(&self, table: &Arc<Table>) -> Result<bool> {
        Ok(Relations::of(self.catalog(), table)?.is_some())
    }

    /// Lets follow what follows from a row that was changed, made or deleted otherwise than by a
    /// statement. Nothing waits for the end of the transaction.
    pub fn keep_foreign_keys(
        &self,
        transaction: &mut Transaction,
        table: &Arc<Table>,
        (old, new): (Option<&[Value]>, Option<&[Value]>),
    ) -> Result<()> {
        let changed = vec![Changed::new(table, old, new)];
        settle(self.catalog(), None, transaction, changed)
    }

    /// Forgets what foreign keys wait for, because another transaction begins.
    pub fn forget_deferred(&self) {
        self.deferred().clear();
    }

    /// Checks the foreign keys that waited for the end of the transaction.
    pub fn settle_deferred(&self, transaction: &mut Transaction) -> Result<()> {
        self.deferred().check(transaction, true)
    }

    /// What SET CONSTRAINTS said so far in this transaction, for a savepoint to return to.
    pub fn constraint_modes(&self) -> ConstraintModes {
        self.deferred().inner.lock().modes.clone()
    }

    /// Returns to what SET CONSTRAINTS had said at a savepoint.
    pub fn restore_constraint_modes(&self, modes: ConstraintModes) {
        self.deferred().inner.lock().modes = modes;
    }

    /// SET CONSTRAINTS in an open transaction: lets foreign keys wait, or checks them from now on, those
    /// that waited at once. No names mean all of them.
    pub fn set_constraints(
        &self,
        transaction: &mut Transaction,
        names: &[String],
        wait: bool,
    ) -> Result<()> {
        for name in names {
            self.check_deferrable(name)?;
        }
        self.deferred().set(names, wait);
        self.deferred().check(transaction, false)
    }

    fn check_deferrable(&self, name: &str) -> Result<()> {
        let tables = self.catalog().all();
        let keys = tables.iter().flat_map(|table| {
            let keys = table.schema().foreign_keys().iter();
            keys.map(move |key| (table, key))
        });
        let mut found = keys.filter(|(_, key)| key.name == name).peekable();
        if found.peek().is_none() {
            return Err(ConstraintError::NotFound {
                name: name.to_owned(),
            }
            .into());
        }
        match found.find(|(_, key)| key.checked == Checked::Always) {
            None => Ok(()),
            Some((table, key)) => Err(ConstraintError::NotDeferrable {
                table: table.schema().name().to_owned(),
                foreign_key: key.name.clone(),
            }
            .into()),
        }
    }
}
