//! `SELECT … FOR UPDATE` of ranges and joins, alone or inside of a statement: rows are claimed before
//! they are read.
//!
//! Who read first and then waited would have read what others were about to change, and be refused. So
//! the rows are looked for without that counting as read, waited for, and only then read:
//!
//! ```text
//!   T1   BEGIN; SELECT … WHERE queue = 7 FOR UPDATE      has rows 70 and 71
//!   T2   BEGIN; SELECT … WHERE queue = 7 FOR UPDATE      looks: 70, 71        waits for T1
//!   T1   UPDATE …; COMMIT
//!   T2                                                   looks again: 70, 72  has 70, 71 and 72
//!                                                        reads 70 and 72 as T1 left them
//! ```
//!
//! A claim saves a retry and decides nothing, so what cannot be claimed is only read: rows past
//! [`CLAIMED_ROWS_MAX`], those of tables whose key is hidden, and those of queries that speak of the rows
//! around them. What others change among those, or add to a range, is found out at COMMIT.

use std::collections::BTreeSet;
use std::sync::Arc;

use keys::{Type, Value};
use syntax::{Kind, Statement, ast, statement};
use txn::{Bytes, Reader, TableId, Transaction};

use super::correlated::{self, separated};
use super::found::{Found, Sought, unlocked};
use super::{LockPlan, SkipPlan, mentions, skips, waits};
use crate::{Error, Executor, Fault, Prepared, Result};

/// How many rows one query claims.
const CLAIMED_ROWS_MAX: usize = 10_000;

/// How often rows are looked for again because others were waited for.
const LOOKS_MAX: usize = 4;

/// A statement whose rows are claimed before it runs.
#[derive(Debug)]
pub(crate) struct WaitPlan {
    looks: Vec<Look>,
    /// The statement without its locks.
    pub(crate) bare: Prepared,
}

/// A query whose rows are claimed.
#[derive(Debug)]
struct Look {
    plan: SkipPlan,
    /// The query with the keys of its rows.
    keyed: Prepared,
}

impl WaitPlan {
    /// The plan of a statement, if it claims rows and is not a read by key.
    pub(crate) async fn new(
        executor: &Executor,
        statement: &Statement,
        reader: &Reader,
        hints: &[Option<Type>],
    ) -> Result<Option<Self>> {
        if !mentions(&statement.kind, waits) {
            return Ok(None);
        }
        if let Kind::Query(asked) = &statement.kind
            && (skips(&asked.query)
                || LockPlan::new(executor.catalog(), &asked.query, hints)?.is_some())
        {
            return Ok(None);
        }
        let mut bare = statement.clone();
        let sought = Sought {
            locks: waits,
            whole: true,
        };
        let found = unlocked(&mut bare.kind, sought);
        let bare = Box::pin(executor.prepare(Arc::new(bare), reader.clone(), hints)).await?;
        let (mut looks, mut seen) = (Vec::new(), Vec::new());
        let parameters = correlated::parameters(statement);
        for Found { query, frame, .. } in found {
            if separated(&query, &frame, parameters).is_some() || seen.contains(&query) {
                continue;
            }
            looks.extend(Box::pin(Look::new(executor, &query, (reader, &bare))).await?);
            seen.push(query);
        }
        Ok(Some(Self { looks, bare }))
    }

    /// Claims the rows that the statement is about, waiting for those who have them.
    pub(crate) async fn claim(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        parameters: &[Value],
    ) -> Result<()> {
        transaction.renew()?;
        for _ in 0..LOOKS_MAX {
            let mut waited = false;
            for look in &self.looks {
                let found = look.keys(executor, transaction.glance(), parameters);
                for (table, key) in Box::pin(found).await? {
                    match transaction.try_claim(table, &key) {
                        Err(txn::Error::Held { .. }) => {
                            waited = true;
                            transaction.claim(table, &key).await?;
                        }
                        claimed => claimed?,
                    }
                }
            }
            // Who was done just before did not have to be waited for, but has to be seen.
            transaction.renew()?;
            if !waited {
                break;
            }
        }
        Ok(())
    }
}

impl Look {
    /// How the rows of a query are looked for; `None` if there are none to claim.
    async fn new(
        executor: &Executor,
        query: &ast::Query,
        (reader, bare): (&Reader, &Prepared),
    ) -> Result<Option<Self>> {
        let kinds: Vec<_> = bare.parameters().iter().copied().map(Some).collect();
        let kinds = kinds.as_slice();
        let (plan, _) = SkipPlan::keyed(executor.catalog(), query, kinds)?;
        if !plan.claims() {
            return Ok(None);
        }
        let mut statement = bare.statement().clone();
        statement.kind = Kind::Query(statement::Query {
            discard: false,
            query: Box::new(plan.query().clone()),
        });
        let keyed = executor.prepare(Arc::new(statement), reader.clone(), kinds);
        match keyed.await {
            Ok(keyed) => Ok(Some(Self { plan, keyed })),
            // The statement knows all names, so this one stands around the query.
            Err(
                Error::NoSuchTable { .. }
                | Error::NoSuchColumn { .. }
                | Error::UnknownColumn { .. },
            ) => Ok(None),
            Err(Error::Refused {
                fault: Fault::Grouping,
                ..
            }) => Err(Error::Refused {
                fault: Fault::Feature,
                what: "FOR UPDATE is not allowed with aggregate functions".to_owned(),
            }),
            Err(other) => Err(other),
        }
    }

    /// The rows as they are now, in an order that is the same for everybody.
    async fn keys(
        &self,
        executor: &Executor,
        reader: Reader,
        parameters: &[Value],
    ) -> Result<BTreeSet<(TableId, Bytes)>> {
        let mut rows = executor
            .select(reader, &self.keyed, parameters, true)
            .await?;
        let mut keys = BTreeSet::new();
        while let Some(more) = rows.next().await {
            for row in more? {
                if keys.len() >= CLAIMED_ROWS_MAX {
                    return Ok(keys);
                }
                let found = self.plan.keys(row)?.into_iter();
                keys.extend(found.map(|(source, key)| (source.table.id(), key)));
            }
        }
        Ok(keys)
    }
}
