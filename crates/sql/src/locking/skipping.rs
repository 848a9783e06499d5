//! `SELECT … FOR UPDATE SKIP LOCKED` and `NOWAIT`: rows that nobody else claims.
//!
//! SKIP LOCKED is how workers share a queue: each takes the next row that none of the others has. If the
//! rows that a worker passed over counted as read, it would be refused as soon as another one was done
//! with its row. So they do not: rows are looked for outside of the transaction, in the tables as they
//! are now, and only those that are taken are read inside.
//!
//! ```text
//!   newest rows   1   2   3   4   …
//!   WHERE         ·   ✓   ✓   ✓       no LIMIT yet
//!   claimed           ✗   ✓   ✓       2 is another's: passed over
//!   unchanged             ✓   ✗       4 was changed since it was looked at: passed over too
//!   LIMIT 1               ◄─ this one
//! ```
//!
//! A row of a join is taken if its rows of all locked tables are; those of the other tables are read, and
//! must be what they were when the row was found. With NOWAIT nothing is passed over: the query is read
//! inside of the transaction, LIMIT and all, and then its rows are claimed.

use std::sync::Arc;

use keys::{Type, Value};
use syntax::ast;
use txn::{Bytes, Reader, Transaction};

use super::sources::{Manner, Source, sources};
use crate::execute::AnswerRows;
use crate::named::build::quoted;
use crate::query::{PlannedQuery, ResultColumn};
use crate::scalar::{Given, Scalar, Scope};
use crate::{Catalog, Error, Executor, Result};

/// How many rows one statement may take.
const TAKEN_ROWS_MAX: usize = 10_000;

/// A query that takes rows that nobody else has.
#[derive(Debug)]
pub(crate) struct SkipPlan {
    /// The tables whose keys stand behind what was asked for, in this order.
    sources: Vec<Source>,
    /// The query with those keys, and without its limit if rows may be passed over.
    query: ast::Query,
    /// Whether rows may be passed over.
    skips: bool,
    limit: Option<Scalar>,
    offset: Option<Scalar>,
}

impl SkipPlan {
    /// The query as such a plan, if it is one, and the types of its parameters.
    pub(crate) fn new(
        catalog: &Catalog,
        query: &ast::Query,
        hints: &[Option<Type>],
    ) -> Result<Option<(Self, Vec<Option<Type>>)>> {
        match super::skips(query) {
            true => Self::keyed(catalog, query, hints).map(Some),
            false => Ok(None),
        }
    }

    /// A query with locks of any kind as such a plan.
    pub(super) fn keyed(
        catalog: &Catalog,
        query: &ast::Query,
        hints: &[Option<Type>],
    ) -> Result<(Self, Vec<Option<Type>>)> {
        let mut sources = sources(catalog, query)?;
        let skips = |one: &Source| one.manner == Some(Manner::Skip);
        if sources.iter().any(|one| skips(one) && !one.has_key()) {
            let what = "SKIP LOCKED of a table without a primary key".to_owned();
            return Err(Error::Unsupported { what });
        }
        let skips = sources.iter().any(skips);
        // What is read inside of the transaction is watched by it anyway.
        sources.retain(|one| one.has_key() && (skips || one.manner.is_some()));
        let mut query = syntax::deep(|| query.clone());
        query.locks.clear();
        let mut scope = Scope::rowless(hints);
        let (limit, offset) = match skips {
            true => limits(&mut query, &mut scope)?,
            false => (None, None),
        };
        if let ast::SetExpr::Select(select) = query.body.as_mut() {
            let keys = sources.iter().flat_map(key_items).enumerate();
            let keys = keys.map(|(number, expr)| ast::SelectItem::ExprWithAlias {
                expr,
                alias: quoted(&format!("key column {number}")),
            });
            select.projection.extend(keys);
        }
        let plan = Self {
            sources,
            query,
            skips,
            limit,
            offset,
        };
        Ok((plan, scope.parameters))
    }

    /// What DataFusion is asked.
    pub(crate) fn query(&self) -> &ast::Query {
        &self.query
    }

    /// The columns that were asked for.
    pub(crate) fn columns(&self, planned: &PlannedQuery) -> Arc<[ResultColumn]> {
        let all = planned.columns();
        all.iter().take(self.asked(all.len())).cloned().collect()
    }

    /// How many of these columns were asked for.
    fn asked(&self, all: usize) -> usize {
        all.saturating_sub(self.sources.iter().map(key_length).sum::<usize>())
    }

    /// Whether it claims anything.
    pub(super) fn claims(&self) -> bool {
        self.sources.iter().any(|one| one.manner.is_some())
    }

    /// The tables and keys of what one row of the query comes from.
    pub(super) fn keys(&self, mut row: Vec<Value>) -> Result<Vec<(&Source, Bytes)>> {
        let mut values = row.split_off(self.asked(row.len())).into_iter();
        let mut keys = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let values: Vec<Value> = values.by_ref().take(key_length(source)).collect();
            // Of others an outer join found no row.
            if !source.nullable || !values.iter().all(Value::is_null) {
                keys.push((source, source.table.schema().encode_key(&values)?));
            }
        }
        Ok(keys)
    }

    /// Takes the rows.
    pub(crate) async fn run(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        planned: &PlannedQuery,
        given: Given<'_>,
    ) -> Result<AnswerRows> {
        let taken = self.take(executor, transaction, planned, given).await?;
        Ok(AnswerRows::ready("SELECT", self.columns(planned), taken))
    }

    /// The same, as the rows they are.
    pub(crate) async fn take(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        planned: &PlannedQuery,
        given: Given<'_>,
    ) -> Result<Vec<Vec<Value>>> {
        let asked = self.columns(planned).len();
        if !self.skips {
            return self.take_all(transaction, planned, (given, asked)).await;
        }
        let limit = number(self.limit.as_ref(), given)?.unwrap_or(usize::MAX);
        let mut passed = number(self.offset.as_ref(), given)?.unwrap_or(0);
        let looking = executor.store().view().reader();
        let mut rows = Box::pin(planned.run(looking.clone(), given)).await?;
        let mut taken = Vec::new();
        'all: while let Some(more) = rows.next().await {
            for mut row in more? {
                if taken.len() >= limit {
                    break 'all;
                }
                let key = row.split_off(asked);
                if !self.claim(transaction, Some(&looking), key).await? {
                    continue;
                }
                if passed > 0 {
                    passed -= 1;
                    continue;
                }
                add(&mut taken, row)?;
            }
        }
        Ok(taken)
    }

    /// Takes every row of a query from which none may be missing.
    async fn take_all(
        &self,
        transaction: &mut Transaction,
        planned: &PlannedQuery,
        (given, asked): (Given<'_>, usize),
    ) -> Result<Vec<Vec<Value>>> {
        let mut rows = Box::pin(planned.run(transaction.reader(), given)).await?;
        let (mut taken, mut keys) = (Vec::new(), Vec::new());
        while let Some(more) = rows.next().await {
            for mut row in more? {
                keys.push(row.split_off(asked));
                add(&mut taken, row)?;
            }
        }
        drop(rows);
        for key in keys {
            self.claim(transaction, None, key).await?;
        }
        Ok(taken)
    }

    /// Claims what a row comes from. Whether that is ours, and what it was when it was looked at.
    async fn claim(
        &self,
        transaction: &mut Transaction,
        looking: Option<&Reader>,
        row: Vec<Value>,
    ) -> Result<bool> {
        for (source, key) in self.keys(row)? {
            let id = source.table.id();
            let claimed = match source.manner {
                Some(Manner::Wait) => transaction.claim(id, &key).await,
                Some(Manner::Refuse | Manner::Skip) => transaction.try_claim(id, &key),
                None => Ok(()),
            };
            match (claimed, source.manner) {
                (Err(txn::Error::Held { .. }), Some(Manner::Skip)) => return Ok(false),
                (claimed, _) => claimed?,
            }
            if let Some(looking) = looking
                && transaction.get(id, &key)? != looking.get(id, &key)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn add(taken: &mut Vec<Vec<Value>>, row: Vec<Value>) -> Result<()> {
    if taken.len() == TAKEN_ROWS_MAX {
        return Err(Error::TooManyTaken {
            limit: TAKEN_ROWS_MAX,
        });
    }
    taken.push(row);
    Ok(())
}

/// The columns of a table's key, as expressions.
fn key_items(source: &Source) -> impl Iterator<Item = ast::Expr> {
    let columns = source.table.schema().key_columns();
    columns.map(|column| {
        ast::Expr::CompoundIdentifier(vec![quoted(&source.qualifier), quoted(&column.name)])
    })
}

fn key_length(source: &Source) -> usize {
    source.table.schema().key_positions().len()
}

/// The limit and the offset of a query, which loses them.
fn limits(
    query: &mut ast::Query,
    scope: &mut Scope<'_>,
) -> Result<(Option<Scalar>, Option<Scalar>)> {
    let (limit, offset) = match query.limit_clause.take() {
        Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
            (limit, offset.map(|offset| offset.value))
        }
        Some(ast::LimitClause::OffsetCommaLimit { limit, offset }) => (Some(limit), Some(offset)),
        None => (None, None),
    };
    // FETCH FIRST … ROWS ONLY is a limit too.
    let fetched = match query.fetch.take() {
        Some(fetch) if !fetch.with_ties && !fetch.percent => fetch.quantity,
        Some(_) => return Err(such_a_limit()),
        None => None,
    };
    let mut count = |expr: Option<ast::Expr>| match expr {
        None => Ok(None),
        Some(expr) => match scope.compile(&expr, Some(Type::Int64))? {
            Some(scalar) => Ok(Some(scalar)),
            None => Err(such_a_limit()),
        },
    };
    Ok((count(limit.or(fetched))?, count(offset)?))
}

fn such_a_limit() -> Error {
    Error::Unsupported {
        what: "SKIP LOCKED with such a LIMIT".to_owned(),
    }
}

fn number(scalar: Option<&Scalar>, given: Given<'_>) -> Result<Option<usize>> {
    let value = scalar.map(|scalar| scalar.value(given)).transpose()?;
    Ok(match value {
        Some(Value::Int64(number)) => Some(usize::try_from(number).unwrap_or(0)),
        _ => None,
    })
}
