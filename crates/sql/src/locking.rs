//! `SELECT … FOR UPDATE` by key inside of a transaction: the row is claimed, then read.
//!
//! ```text
//!   WHERE key = … FOR UPDATE            waits for whoever is changing the row
//!   WHERE key = … FOR UPDATE NOWAIT     an error if somebody is
//!   any other query FOR UPDATE          a read; who changed what it saw is found out at COMMIT
//!   … FOR UPDATE SKIP LOCKED            rows of one table that nobody else claims: `skipping`
//!   … IN (… FOR UPDATE SKIP LOCKED)     the same inside of a statement: `nested`
//! ```
//!
//! All strengths of lock are one here: FOR SHARE claims as FOR UPDATE does.

mod nested;
mod skipping;

use std::ops::ControlFlow;
use std::sync::Arc;

use keys::Type;
use syntax::ast::{self, Visit, Visitor};
use txn::Transaction;

use crate::fast::{Keys, ReadPlan};
use crate::scalar::Given;
use crate::{Catalog, Error, Result};

pub(crate) use nested::NestedPlan;
pub(crate) use skipping::SkipPlan;

/// A read by key that claims its row.
#[derive(Debug)]
pub(crate) struct LockPlan {
    pub(crate) read: Arc<ReadPlan>,
    /// Whether it waits for others.
    waits: bool,
}

impl LockPlan {
    /// The query as a read by key that claims, if it is one, and the types of its parameters.
    pub(crate) fn new(
        catalog: &Catalog,
        query: &ast::Query,
        hints: &[Option<Type>],
    ) -> Result<Option<(Self, Vec<Option<Type>>)>> {
        if query.locks.is_empty() {
            return Ok(None);
        }
        let nowait = Some(ast::NonBlock::Nowait);
        let waits = !query.locks.iter().any(|lock| lock.nonblock == nowait);
        let mut plain = syntax::deep(|| query.clone());
        plain.locks.clear();
        let read = ReadPlan::new(catalog, &plain, hints)?;
        Ok(read.map(|(read, kinds)| {
            let read = Arc::new(read);
            (Self { read, waits }, kinds)
        }))
    }

    /// Claims the row, if the statement is about one.
    pub(crate) async fn claim(
        &self,
        transaction: &mut Transaction,
        given: Given<'_>,
    ) -> Result<()> {
        let path = &self.read.path;
        let keys = path.keys(transaction.snapshot(), given)?;
        if let (Some(Keys::Point(key)), None) = (keys, &path.index) {
            match self.waits {
                true => transaction.claim(path.table.id(), &key).await?,
                false => transaction.try_claim(path.table.id(), &key)?,
            }
        }
        Ok(())
    }
}

/// Refuses SKIP LOCKED inside of a query: by the time its rows are used nobody knows which they were.
pub(crate) fn refuse_skipping(query: &ast::Query) -> Result<()> {
    match syntax::deep(|| query.visit(&mut Skipping)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Unsupported {
            what: "SKIP LOCKED in a part of a statement, or over several tables,".to_owned(),
        }),
    }
}

/// Stops at a query that skips rows.
struct Skipping;

impl Visitor for Skipping {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let skip = Some(ast::NonBlock::SkipLocked);
        match query.locks.iter().any(|lock| lock.nonblock == skip) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
