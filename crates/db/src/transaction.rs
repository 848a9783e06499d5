//! A transaction over typed rows.

use std::sync::Arc;

use keys::Value;
use sql::{Executor, Table};
use txn::{Committed, Direction, Durability, Savepoint, Timestamp};

use crate::{Range, Result, Row, Rows};

/// A serializable transaction. Dropping it without a commit is a rollback.
#[derive(Debug)]
pub struct Transaction {
    inner: txn::Transaction,
    /// Knows which tables foreign keys are about.
    executor: Arc<Executor>,
}

impl Transaction {
    pub(crate) fn new(inner: txn::Transaction, executor: Arc<Executor>) -> Self {
        Self { inner, executor }
    }

    /// When its snapshot was taken.
    pub fn at(&self) -> Timestamp {
        self.inner.snapshot()
    }

    /// The row with this key: the transaction's own, or the one at its snapshot.
    pub fn get(&self, table: &Arc<Table>, key: &[Value]) -> Result<Option<Row>> {
        let key = table.schema().encode_key(key)?;
        match self.inner.get(table.id(), &key)? {
            Some(row) => Ok(Some(table.schema().decode(&key, &row)?)),
            None => Ok(None),
        }
    }

    /// The rows of a range, in key order or in reverse. Writes that follow do not show in it.
    pub fn scan(&self, table: &Arc<Table>, range: &Range, direction: Direction) -> Result<Rows> {
        let range = range.encode(table.schema())?;
        let scan = self.inner.scan(table.id(), &range, direction)?;
        Ok(Rows {
            table: Arc::clone(table),
            scan,
        })
    }

    /// Writes a new row; an error if there is one with its key. Reads, and so may conflict.
    pub fn insert(&mut self, table: &Arc<Table>, row: &[Value]) -> Result<()> {
        self.inner.expect_epoch(table.id(), table.epoch());
        let row = table.schema().complete(row)?;
        sql::insert_row(&mut self.inner, table, &row)?;
        self.keep_foreign_keys(table, None, Some(&row))
    }

    fn keep_foreign_keys(
        &mut self,
        table: &Arc<Table>,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<()> {
        let executor = &self.executor;
        Ok(executor.keep_foreign_keys(&mut self.inner, table, (old, new))?)
    }

    /// Writes a whole row, whether or not there is one with its key. Reads nothing and never
    /// conflicts, unless the table has indexes or foreign keys: then the old row tells which entries go.
    pub fn replace(&mut self, table: &Arc<Table>, row: &[Value]) -> Result<()> {
        let schema = table.schema();
        let row = schema.complete(row)?;
        let (key, bytes) = schema.encode(&row)?;
        self.inner.expect_epoch(table.id(), table.epoch());
        if schema.writes_unseen() {
            return Ok(self.inner.put(table.id(), key, bytes)?);
        }
        let old = sql::find_row(&self.inner, table, &row)?;
        sql::replace_row(&mut self.inner, table, old.as_deref(), &row)?;
        self.keep_foreign_keys(table, old.as_deref(), Some(&row))
    }

    /// Deletes the row with this key, if there is one. Reads nothing and never conflicts, unless the
    /// table has indexes or foreign keys refer to it.
    pub fn delete(&mut self, table: &Arc<Table>, key: &[Value]) -> Result<()> {
        let schema = table.schema();
        let key = schema.encode_key(key)?;
        self.inner.expect_epoch(table.id(), table.epoch());
        if schema.indexes().is_empty() && !self.executor.is_related(table)? {
            return Ok(self.inner.delete(table.id(), key)?);
        }
        let Some(bytes) = self.inner.get(table.id(), &key)? else {
            return Ok(());
        };
        let old = schema.decode(&key, &bytes)?;
        sql::delete_row(&mut self.inner, table, &old)?;
        self.keep_foreign_keys(table, Some(&old), None)
    }

    /// Writes a whole row unless there is one with its key. Reads nothing and never conflicts, unless the
    /// table has indexes.
    pub fn ensure(&mut self, table: &Arc<Table>, row: &[Value]) -> Result<()> {
        Ok(sql::ensure_row(&mut self.inner, table, row)?)
    }

    /// Makes a directory of a container, if it is not there.
    pub(crate) fn make_directory(
        &mut self,
        table: &Arc<Table>,
        path: &str,
        now_ns: i64,
    ) -> Result<()> {
        Ok(sql::collection::announce(
            &mut self.inner,
            table,
            path,
            now_ns,
        )?)
    }

    /// Raises a number of the row with this key, if there is one, to `number` or by one, whichever is
    /// more. Reads nothing and never conflicts, unless the table has indexes.
    pub fn raise(
        &mut self,
        table: &Arc<Table>,
        key: &[Value],
        (column, number): (&str, i64),
    ) -> Result<()> {
        let number = (column, number);
        Ok(sql::raise_row(&mut self.inner, table, key, number)?)
    }

    /// Whether there is a row with this key, which then has to be there when the transaction commits,
    /// as the parent of a foreign key: that it changed meanwhile is no conflict, that it is gone is.
    pub fn holds(&mut self, table: &Arc<Table>, key: &[Value]) -> Result<bool> {
        let key = table.schema().encode_key(key)?;
        Ok(self.inner.holds(table.id(), &key)?)
    }

    /// Says that this transaction is going to read the row with this key and change it. Waits for
    /// those that said so before, and then sees what they wrote.
    pub async fn claim(&mut self, table: &Arc<Table>, key: &[Value]) -> Result<()> {
        let key = table.schema().encode_key(key)?;
        Ok(self.inner.claim(table.id(), &key).await?)
    }

    /// Marks a point to which [`Transaction::rollback_to`] returns.
    pub fn savepoint(&mut self) -> Savepoint {
        self.inner.savepoint()
    }

    /// Takes back the writes since a savepoint.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        Ok(self.inner.rollback_to(savepoint)?)
    }

    /// Gives up a savepoint and those after it: the writes since then go back with the one before it only.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        Ok(self.inner.release(savepoint)?)
    }

    /// Commits durably: when this returns, a crash cannot take it back. An error of the kind
    /// `Conflict` means that another transaction changed what this one read, or that a table was
    /// altered; ask for the tables again and run it again.
    pub fn commit(self) -> Result<Committed> {
        self.commit_with(Durability::Synced)
    }

    /// Commits with a stated durability. A buffered commit is visible at once but a crash may lose
    /// it, and all that were buffered after it.
    pub fn commit_with(self, durability: Durability) -> Result<Committed> {
        Ok(self.inner.commit(durability)?)
    }

    /// As [`Transaction::commit`], for a task that must not hold up its thread.
    pub async fn commit_later(self) -> Result<Committed> {
        self.commit_later_with(Durability::Synced).await
    }

    /// As [`Transaction::commit_with`], for a task that must not hold up its thread.
    pub async fn commit_later_with(self, durability: Durability) -> Result<Committed> {
        Ok(self.inner.commit_later(durability).await?)
    }
}
