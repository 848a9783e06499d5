//! `SELECT … FOR UPDATE` by key inside of a transaction: the row is claimed, then read.
//!
//! ```text
//!   WHERE key = … FOR UPDATE            waits for whoever is changing the row
//!   WHERE key = … FOR UPDATE NOWAIT     an error if somebody is
//!   any other query FOR UPDATE          its rows are looked for, claimed, and then read: `waiting`
//!   … FOR UPDATE NOWAIT, SKIP LOCKED    rows that nobody else claims: `skipping`
//!   … IN (… FOR UPDATE SKIP LOCKED)     the same inside of a statement: `nested`, `fill`
//!   … (… = outer.id … SKIP LOCKED)      for each row around it: `correlated`
//!   … JOIN … FOR UPDATE OF t            which tables a lock is about: `sources`
//! ```
//!
//! All strengths of lock are one here: FOR SHARE claims as FOR UPDATE does.

mod correlated;
mod fill;
mod found;
mod nested;
mod skipping;
mod sources;
mod waiting;

use std::ops::ControlFlow;
use std::sync::Arc;

use keys::Type;
use syntax::Kind;
use syntax::ast::{self, Visit, Visitor};
use txn::Transaction;

use crate::fast::{Keys, ReadPlan};
use crate::scalar::Given;
use crate::{Catalog, Error, Result};

pub(crate) use nested::NestedPlan;
pub(crate) use skipping::SkipPlan;
pub(crate) use waiting::WaitPlan;

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
        if query.locks.is_empty() || passes_over(query) {
            return Ok(None);
        }
        let waits = query.locks.iter().all(|lock| lock.nonblock.is_none());
        let mut plain = syntax::deep(|| query.clone());
        plain.locks.clear();
        let read = ReadPlan::new(catalog, &plain, hints)?;
        let one = |read: &ReadPlan| read.path.filter.is_point() && read.path.index.is_none();
        let read = read.filter(|(read, _)| one(read));
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
    match syntax::deep(|| query.visit(&mut Stops(passes_over))) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Unsupported {
            what: "SKIP LOCKED in such a part of a statement".to_owned(),
        }),
    }
}

/// Whether a query does not wait for rows that others claim.
fn skips(query: &ast::Query) -> bool {
    query.locks.iter().any(|lock| lock.nonblock.is_some())
}

/// Whether a query claims rows and waits for them.
fn waits(query: &ast::Query) -> bool {
    !query.locks.is_empty() && !skips(query)
}

/// Whether any query of a statement locks rows.
pub(crate) fn locks(kind: &Kind) -> bool {
    mentions(kind, |query| !query.locks.is_empty())
}

/// Whether any query of a statement is of some kind.
fn mentions(kind: &Kind, sought: fn(&ast::Query) -> bool) -> bool {
    let flow = syntax::deep(|| match kind {
        Kind::Query(query) => query.query.visit(&mut Stops(sought)),
        Kind::Insert(insert) => insert.source.visit(&mut Stops(sought)),
        Kind::Update(update) => update.visit(&mut Stops(sought)),
        Kind::Delete(delete) => delete.visit(&mut Stops(sought)),
        _ => ControlFlow::Continue(()),
    });
    flow.is_break()
}

/// Whether a query passes over rows that others claim.
fn passes_over(query: &ast::Query) -> bool {
    let skip = Some(ast::NonBlock::SkipLocked);
    query.locks.iter().any(|lock| lock.nonblock == skip)
}

/// Stops at a query of some kind.
struct Stops(fn(&ast::Query) -> bool);

impl Visitor for Stops {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        match (self.0)(query) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
