//! SKIP LOCKED inside of a statement: rows are taken first, and the statement is run with those.
//!
//! ```text
//!   UPDATE jobs SET state = 'run' WHERE id IN (SELECT id FROM jobs … FOR UPDATE SKIP LOCKED LIMIT 2)
//!   first      (SELECT id FROM jobs … SKIP LOCKED LIMIT 2)    takes 7 and 9
//!   then       UPDATE jobs SET state = 'run' WHERE id IN (7, 9)
//! ```
//!
//! The same query in two places takes rows once. A statement that joins the rows that were taken is also
//! told which keys they have, so that it reads those only: what it read besides would count against it
//! when others change that.

use std::sync::Arc;

use keys::{Type, Value};
use syntax::{Statement, ast};
use txn::{Reader, Transaction};

use super::correlated::{self, Outer, separated};
use super::fill::{Fill, Group, Taken};
use super::found::{Found, Sought, unlocked};
use super::{SkipPlan, mentions, skips};
use crate::execute::{Answer, AnswerRows};
use crate::query::{PlannedQuery, Wanted};
use crate::{Error, Executor, Fault, Prepared, Result};

/// A statement with parts that take rows that nobody else has.
#[derive(Debug)]
pub(crate) struct NestedPlan {
    parts: Vec<Part>,
    /// The statement as if nothing was to be taken.
    pub(crate) bare: Prepared,
}

/// A query inside of the statement.
#[derive(Debug)]
struct Part {
    query: ast::Query,
    plan: SkipPlan,
    planned: PlannedQuery,
    /// What it tells of the statement's parameters.
    kinds: Vec<Option<Type>>,
    /// What it speaks of around it.
    outer: Vec<(ast::Expr, Type)>,
    /// The query for that, if it speaks of anything.
    around: Option<PlannedQuery>,
}

impl NestedPlan {
    /// The plan of a statement, if it has such parts.
    pub(crate) async fn new(
        executor: &Executor,
        statement: &Statement,
        reader: &Reader,
        hints: &[Option<Type>],
    ) -> Result<Option<Self>> {
        if !mentions(&statement.kind, skips) {
            return Ok(None);
        }
        let sought = Sought {
            locks: skips,
            whole: false,
        };
        let found = unlocked(&mut statement.kind.clone(), sought);
        if found.is_empty() {
            return Ok(None);
        }
        let (ground, parameters) = ((executor, reader), correlated::parameters(statement));
        let mut parts: Vec<Part> = Vec::new();
        for Found {
            query,
            frame,
            limited,
        } in found
        {
            if parts.iter().all(|part| part.query != query)
                && let Some(separated) = separated(&query, &frame, parameters)
            {
                if limited {
                    return Err(before_limit());
                }
                let part = Part::new(ground, query, Some(separated), (parameters, hints));
                parts.push(Box::pin(part).await?);
            }
        }
        // As if those took nothing, and the others were plain queries.
        let mut bare = statement.clone();
        let taken = parts.iter().map(|part| part.taken(Vec::new())).collect();
        let mut fill = Fill::new(taken, &[], hints.to_vec());
        let _ = syntax::deep(|| crate::named::visit(&mut bare.kind, &mut fill));
        let found = unlocked(&mut bare.kind, sought);
        let bare = Box::pin(executor.prepare(Arc::new(bare), reader.clone(), hints)).await?;
        let kinds: Vec<_> = bare.parameters().iter().copied().map(Some).collect();
        for Found { query, .. } in found {
            if parts.iter().all(|part| part.query != query) {
                let part = Part::new(ground, query, None, (kinds.len(), &kinds));
                parts.push(Box::pin(part).await?);
            }
        }
        Ok(Some(Self { parts, bare }))
    }

    /// Takes the rows, and runs the statement with them.
    pub(crate) async fn run(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        prepared: &Prepared,
        (parameters, fast): (&[Value], bool),
    ) -> Result<Answer> {
        let mut taken = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let groups = part.take(executor, transaction, parameters);
            taken.push(part.taken(Box::pin(groups).await?));
        }
        let kinds = prepared.parameters().iter().copied().map(Some).collect();
        let mut fill = Fill::new(taken, parameters, kinds);
        let mut statement = prepared.statement().clone();
        syntax::deep(|| {
            fill.narrow(&mut statement.kind);
            let _ = crate::named::visit(&mut statement.kind, &mut fill);
        });
        let (values, kinds) = fill.finish()?;
        let reader = transaction.reader();
        let filled = executor.prepare(Arc::new(statement), reader, &kinds);
        let filled = Box::pin(filled).await?;
        let answer = Box::pin(executor.run(transaction, &filled, &values, fast)).await?;
        let Answer::Rows(mut rows) = answer else {
            return Ok(answer);
        };
        // They are read by the transaction that has claimed rows, which may end before they are sent.
        let mut all = Vec::new();
        while let Some(more) = rows.next().await {
            all.extend(more?);
        }
        let (command, columns) = (rows.command(), Arc::clone(rows.columns()));
        Ok(Answer::Rows(AnswerRows::ready(command, columns, all)))
    }

    /// The types of the statement's parameters, as far as they are known.
    pub(crate) fn parameters(&self) -> Vec<Option<Type>> {
        let bare = self.bare.parameters().iter().copied().map(Some);
        let mut kinds: Vec<_> = bare.collect();
        for part in &self.parts {
            if kinds.len() < part.kinds.len() {
                kinds.resize(part.kinds.len(), None);
            }
            for (kind, other) in kinds.iter_mut().zip(&part.kinds) {
                *kind = kind.or(*other);
            }
        }
        kinds
    }
}

impl Part {
    /// What takes the rows of a query. If that speaks of what is around it, `separated` is the query with
    /// parameters for that, which come after `parameters` others.
    async fn new(
        (executor, reader): (&Executor, &Reader),
        query: ast::Query,
        separated: Option<(ast::Query, Outer)>,
        (parameters, hints): (usize, &[Option<Type>]),
    ) -> Result<Self> {
        let mut kinds = hints.to_vec();
        kinds.resize(parameters, None);
        let (mut outer, mut around) = (Vec::new(), None);
        let own = match separated {
            None => query.clone(),
            Some((own, speaks)) => {
                let planned = planned(executor, reader, &speaks.query, hints).await?;
                let types = planned.columns().iter().map(|column| column.kind);
                outer.extend(speaks.columns.into_iter().zip(types));
                around = Some(planned);
                own
            }
        };
        kinds.extend(outer.iter().map(|(_, kind)| Some(*kind)));
        let plan = SkipPlan::new(executor.catalog(), &own, &kinds)?;
        let (plan, mut told) = plan.ok_or_else(|| Error::Internal {
            what: "a query that waits for nobody has no lock".to_owned(),
        })?;
        let planned = planned(executor, reader, plan.query(), &kinds).await?;
        told.resize(parameters, None);
        for others in [Some(&planned), around.as_ref()].into_iter().flatten() {
            for (kind, other) in told.iter_mut().zip(others.parameters()) {
                *kind = kind.or(*other);
            }
        }
        Ok(Self {
            query,
            plan,
            planned,
            kinds: told,
            outer,
            around,
        })
    }

    /// Takes rows, for each of the values around it.
    async fn take(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        parameters: &[Value],
    ) -> Result<Vec<Group>> {
        let mut outer = Vec::new();
        match &self.around {
            None => outer.push(Vec::new()),
            Some(around) => {
                let given = executor.given(parameters);
                let mut answer = around.run(transaction.reader(), given).await?;
                while let Some(more) = answer.next().await {
                    outer.extend(more?);
                }
            }
        }
        let mut given = parameters.to_vec();
        if self.around.is_some() {
            let all = self.planned.parameters().len();
            given.resize(all.saturating_sub(self.outer.len()), Value::Null);
        }
        let mut groups = Vec::with_capacity(outer.len());
        for values in outer {
            let all: Vec<Value> = given.iter().chain(&values).cloned().collect();
            let all = executor.given(&all);
            let rows = self.plan.take(executor, transaction, &self.planned, all);
            groups.push((values, Box::pin(rows).await?));
        }
        Ok(groups)
    }

    /// What it took.
    fn taken(&self, groups: Vec<Group>) -> Taken {
        Taken {
            query: self.query.clone(),
            columns: self.plan.columns(&self.planned),
            outer: self.outer.clone(),
            groups,
        }
    }
}

/// Rows for each row around a query are taken before any of those are left out.
fn before_limit() -> Error {
    Error::Refused {
        fault: Fault::Feature,
        what: "SKIP LOCKED or NOWAIT for each row of a query with LIMIT or OFFSET: put those rows into a \
               query of their own, as FROM (SELECT … LIMIT n) AS few"
            .to_owned(),
    }
}

async fn planned(
    executor: &Executor,
    reader: &Reader,
    query: &ast::Query,
    hints: &[Option<Type>],
) -> Result<PlannedQuery> {
    let wanted = Wanted {
        query,
        hints,
        shown: false,
    };
    executor.plan(reader, wanted).await
}
