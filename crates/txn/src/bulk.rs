//! Many new rows in one transaction: kept in one piece, and loaded when it commits.
//!
//! A row that is written by itself costs a transaction several times its size by the time it is in
//! the engine: it is an entry among the writes, a line of the commit, an operation of the batch and an
//! entry of the journal and of the memtable. Rows that come by the ten thousand into a place where
//! none are stay together as they came instead, and at the commit they are loaded past all of that
//! ([`crate::load`]), in one with whatever else the transaction wrote.
//!
//! ```text
//!   insert_bulk ─► none there yet? ─► under the edits of the table, seen by every read
//!   commit      ─► one bulk, few edits, none of a row of the bulk  ─► load_beside
//!                  otherwise                                       ─► edits like all others
//! ```

use std::sync::Arc;

use partitions::TableId;
use storage::{Bytes, Durability, blocking};

use crate::load::Rows;
use crate::transaction::{Ready, Transaction};
use crate::writes::check_key;
use crate::{Committed, Error, Pile, Result, Store};

impl Transaction {
    /// Inserts many new rows at once, in any order. An error names a row that is there already or
    /// comes twice. If they are better inserted one by one they are given back.
    pub fn insert_bulk(&mut self, table: TableId, rows: Pile) -> Result<Option<Pile>> {
        let store = Arc::clone(self.view.store());
        if rows.len() < store.ingest_rows_min {
            return Ok(Some(rows));
        }
        blocking(|| self.add_pile(&store, table, rows))
    }

    fn add_pile(&mut self, store: &Arc<Store>, table: TableId, rows: Pile) -> Result<Option<Pile>> {
        rows.iter().try_for_each(|(key, _)| check_key(key))?;
        let rows = Arc::new(Rows::new(rows));
        if let Some(key) = rows.twice().map(Bytes::copy_from_slice) {
            return Err(Error::RowTwice { table, key });
        }
        let taken = self.writes.takes_bulk(table, &rows) && store.look_ahead(table, &rows)?;
        let rows = Arc::unwrap_or_clone(rows);
        match taken {
            true => self.writes.add_bulk(table, rows).map(|()| None),
            false => Ok(Some(rows.into_pile())),
        }
    }

    /// Commits a transaction with rows in bulk that way, if it can be; otherwise they are among its
    /// other writes from here on.
    pub(crate) fn commit_bulk(&mut self, durability: Durability) -> Result<Option<Committed>> {
        if !self.writes.has_bulk() {
            return Ok(None);
        }
        let Some((table, rows)) = self.writes.take_bulk() else {
            let view = &self.view;
            let check_absent = |table, key: &Bytes| match view.get(table, key)? {
                Some(_) => Err(Error::RowExists {
                    table,
                    key: key.clone(),
                }),
                None => Ok(()),
            };
            blocking(|| self.writes.dissolve(check_absent))?;
            return Ok(None);
        };
        let Ready {
            request, touched, ..
        } = self.get_ready(durability)?;
        let store = Arc::clone(self.view.store());
        let Committed { at, .. } = blocking(|| store.load_beside(table, rows, request))?;
        self.conclude(Some(Ok(at)), &touched).map(Some)
    }
}
