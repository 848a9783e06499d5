//! `SELECT … FOR UPDATE SKIP LOCKED` over one table: rows that nobody else claims.
//!
//! It is how workers share a queue: each takes the next row that none of the others has. If the
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

use std::sync::Arc;

use keys::{Type, Value};
use syntax::ast;
use txn::Transaction;

use crate::execute::AnswerRows;
use crate::fast::plain_select;
use crate::names::tree_table_name;
use crate::query::{PlannedQuery, ResultColumn};
use crate::scalar::{Given, Scalar, Scope};
use crate::{Catalog, Error, Executor, Result, Table};

/// How many rows one statement may take.
const TAKEN_ROWS_MAX: usize = 10_000;

/// A query that takes rows that nobody else has.
#[derive(Debug)]
pub(crate) struct SkipPlan {
    table: Arc<Table>,
    /// The query without its limit, and with the key behind what was asked for.
    query: ast::Query,
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
        let skip = Some(ast::NonBlock::SkipLocked);
        if !query.locks.iter().any(|lock| lock.nonblock == skip) {
            return Ok(None);
        }
        let mut query = syntax::deep(|| query.clone());
        query.locks.clear();
        let Some(plain) = plain_select(&query) else {
            return Ok(None);
        };
        let table = catalog.get(&tree_table_name(plain.name)?)?;
        if table.schema().key_columns().any(|column| column.hidden) {
            let what = "SKIP LOCKED of a table without a primary key".to_owned();
            return Err(Error::Unsupported { what });
        }
        let mut scope = Scope::rowless(hints);
        let (limit, offset) = match query.limit_clause.take() {
            Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit, offset.map(|offset| offset.value))
            }
            Some(ast::LimitClause::OffsetCommaLimit { limit, offset }) => {
                (Some(limit), Some(offset))
            }
            None => (None, None),
        };
        let mut count = |expr: Option<ast::Expr>| match expr {
            None => Ok(None),
            Some(expr) => match scope.compile(&expr, Some(Type::Int64))? {
                Some(scalar) => Ok(Some(scalar)),
                None => Err(Error::Unsupported {
                    what: "SKIP LOCKED with such a LIMIT".to_owned(),
                }),
            },
        };
        let (limit, offset) = (count(limit)?, count(offset)?);
        if let ast::SetExpr::Select(select) = query.body.as_mut() {
            for (number, column) in table.schema().key_columns().enumerate() {
                let expr = ast::Expr::Identifier(ast::Ident::with_quote('"', &column.name));
                let alias = ast::Ident::with_quote('"', format!("key column {number}"));
                let item = ast::SelectItem::ExprWithAlias { expr, alias };
                select.projection.push(item);
            }
        }
        let plan = Self {
            table,
            query,
            limit,
            offset,
        };
        Ok(Some((plan, scope.parameters)))
    }

    /// What DataFusion is asked.
    pub(crate) fn query(&self) -> &ast::Query {
        &self.query
    }

    /// The columns that were asked for.
    pub(crate) fn columns(&self, planned: &PlannedQuery) -> Arc<[ResultColumn]> {
        let all = planned.columns();
        let asked = all.len() - self.table.schema().key_positions().len();
        all.iter().take(asked).cloned().collect()
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
        let limit = number(self.limit.as_ref(), given)?.unwrap_or(usize::MAX);
        let mut passed = number(self.offset.as_ref(), given)?.unwrap_or(0);
        let columns = self.columns(planned);
        let looking = executor.store().view().reader();
        let mut rows = Box::pin(planned.run(looking.clone(), given)).await?;
        let mut taken = Vec::new();
        'all: while let Some(more) = rows.next().await {
            for mut row in more? {
                if taken.len() >= limit {
                    break 'all;
                }
                let key = self
                    .table
                    .schema()
                    .encode_key(&row.split_off(columns.len()))?;
                let id = self.table.id();
                match transaction.try_claim(id, &key) {
                    Err(txn::Error::Held { .. }) => continue,
                    claimed => claimed?,
                }
                if transaction.get(id, &key)? != looking.get(id, &key)? {
                    continue;
                }
                if passed > 0 {
                    passed -= 1;
                    continue;
                }
                if taken.len() == TAKEN_ROWS_MAX {
                    return Err(Error::TooManyTaken {
                        limit: TAKEN_ROWS_MAX,
                    });
                }
                taken.push(row);
            }
        }
        Ok(taken)
    }
}

fn number(scalar: Option<&Scalar>, given: Given<'_>) -> Result<Option<usize>> {
    let value = scalar.map(|scalar| scalar.value(given)).transpose()?;
    Ok(match value {
        Some(Value::Int64(number)) => Some(usize::try_from(number).unwrap_or(0)),
        _ => None,
    })
}
