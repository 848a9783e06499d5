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

use std::ops::ControlFlow;
use std::sync::Arc;

use keys::{Type, Value};
use syntax::ast;
use syntax::{Kind, Statement};
use txn::{Reader, Transaction};

use super::correlated::{self, Frame, Outer, separated};
use super::fill::{Fill, Group, Taken};
use super::{SkipPlan, mentions, skips};
use crate::execute::{Answer, AnswerRows};
use crate::query::{PlannedQuery, Wanted};
use crate::{Error, Executor, Prepared, Result};

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
    /// What it speaks of around it, and the query for that.
    outer: Option<(Vec<ast::Expr>, PlannedQuery)>,
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
        let mut finds = Finds::new(&statement.kind);
        let _ = syntax::deep(|| crate::named::visit(&mut statement.kind.clone(), &mut finds));
        if finds.found.is_empty() {
            return Ok(None);
        }
        let parameters = correlated::parameters(statement);
        let mut parts: Vec<Part> = Vec::new();
        for (query, frame) in finds.found {
            if parts.iter().all(|part| part.query != query)
                && let Some((own, outer)) = separated(&query, frame.as_ref(), parameters)
            {
                let ground = (executor, reader);
                let part = Part::correlated(ground, (query, own), outer, (parameters, hints));
                parts.push(Box::pin(part).await?);
            }
        }
        // As if those took nothing, and the others were plain queries.
        let mut bare = statement.clone();
        let taken = parts.iter().map(|part| part.taken(Vec::new())).collect();
        let mut fill = Fill::new(taken, &[], hints.to_vec());
        let mut finds = Finds::new(&bare.kind);
        syntax::deep(|| {
            let _ = crate::named::visit(&mut bare.kind, &mut fill);
            let _ = crate::named::visit(&mut bare.kind, &mut finds);
        });
        let bare = Box::pin(executor.prepare(Arc::new(bare), reader.clone(), hints)).await?;
        let kinds: Vec<_> = bare.parameters().iter().copied().map(Some).collect();
        for (query, _) in finds.found {
            if parts.iter().all(|part| part.query != query) {
                parts.push(Part::plain(executor, reader, query, &kinds).await?);
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
    /// A query that stands for itself.
    async fn plain(
        executor: &Executor,
        reader: &Reader,
        query: ast::Query,
        kinds: &[Option<Type>],
    ) -> Result<Self> {
        let (plan, _) = skipping(executor, &query, kinds)?;
        let planned = planned(executor, reader, plan.query(), kinds).await?;
        Ok(Self {
            query,
            plan,
            planned,
            kinds: Vec::new(),
            outer: None,
        })
    }

    /// One that speaks of what is around it; `own` is the query with parameters for that, which come
    /// after `parameters` others.
    async fn correlated(
        (executor, reader): (&Executor, &Reader),
        (query, own): (ast::Query, ast::Query),
        outer: Outer,
        (parameters, hints): (usize, &[Option<Type>]),
    ) -> Result<Self> {
        let around = planned(executor, reader, &outer.query, hints).await?;
        let mut kinds = hints.to_vec();
        kinds.resize(parameters, None);
        kinds.extend(around.columns().iter().map(|column| Some(column.kind)));
        let (plan, mut told) = skipping(executor, &own, &kinds)?;
        let planned = planned(executor, reader, plan.query(), &kinds).await?;
        told.resize(parameters, None);
        for (kind, other) in told.iter_mut().zip(planned.parameters()) {
            *kind = kind.or(*other);
        }
        for (kind, other) in told.iter_mut().zip(around.parameters()) {
            *kind = kind.or(*other);
        }
        Ok(Self {
            query,
            plan,
            planned,
            kinds: told,
            outer: Some((outer.columns, around)),
        })
    }

    /// Takes rows, for each of the values around it.
    async fn take(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        parameters: &[Value],
    ) -> Result<Vec<Group>> {
        let Some((columns, around)) = &self.outer else {
            let given = executor.given(parameters);
            let rows = self.plan.take(executor, transaction, &self.planned, given);
            return Ok(vec![(Vec::new(), rows.await?)]);
        };
        let mut answer = around
            .run(transaction.reader(), executor.given(parameters))
            .await?;
        let mut outer = Vec::new();
        while let Some(more) = answer.next().await {
            outer.extend(more?);
        }
        drop(answer);
        let before = self.planned.parameters().len();
        let mut given = parameters.to_vec();
        given.resize(before.saturating_sub(columns.len()), Value::Null);
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
        let outer = self.outer.as_ref();
        Taken {
            query: self.query.clone(),
            columns: self.plan.columns(&self.planned),
            outer: outer.map(|(columns, around)| {
                let kinds = around.columns().iter().map(|column| column.kind);
                columns.iter().cloned().zip(kinds).collect()
            }),
            groups,
        }
    }
}

/// The plan of a query that takes rows, and what it tells of parameters.
fn skipping(
    executor: &Executor,
    query: &ast::Query,
    kinds: &[Option<Type>],
) -> Result<(SkipPlan, Vec<Option<Type>>)> {
    let plan = SkipPlan::new(executor.catalog(), query, kinds)?;
    plan.ok_or_else(|| Error::Internal {
        what: "a query that waits for nobody has no lock".to_owned(),
    })
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

/// Finds the queries inside of a statement that skip rows, with what stands around each, and lets them
/// claim nothing.
struct Finds {
    /// Whether the next query is the statement itself.
    whole: bool,
    frames: Vec<Option<Frame>>,
    found: Vec<(ast::Query, Option<Frame>)>,
}

impl Finds {
    fn new(kind: &Kind) -> Self {
        Self {
            whole: matches!(kind, Kind::Query(_)),
            frames: vec![Frame::of_statement(kind)],
            found: Vec::new(),
        }
    }
}

impl ast::VisitorMut for Finds {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let whole = std::mem::take(&mut self.whole);
        if !whole && skips(query) {
            let frame = self.frames.last().cloned().flatten();
            self.found.push((query.clone(), frame));
            query.locks.clear();
        }
        self.frames.push(Frame::of_query(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut ast::Query) -> ControlFlow<()> {
        self.frames.pop();
        ControlFlow::Continue(())
    }
}
