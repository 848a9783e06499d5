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
use syntax::ast::{self, Visit as _};
use syntax::{Kind, Statement};
use txn::{Reader, Transaction};

use super::{SkipPlan, Skipping};
use crate::execute::Answer;
use crate::named::build;
use crate::names::tree_name;
use crate::query::{PlannedQuery, ResultColumn};
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
}

/// What a query took.
struct Taken {
    query: ast::Query,
    columns: Arc<[ResultColumn]>,
    rows: Vec<Vec<Value>>,
}

impl NestedPlan {
    /// The plan of a statement, if it has such parts.
    pub(crate) async fn new(
        executor: &Executor,
        statement: &Statement,
        reader: &Reader,
        hints: &[Option<Type>],
    ) -> Result<Option<Self>> {
        if !mentions(&statement.kind) {
            return Ok(None);
        }
        let mut finds = Finds::new(&statement.kind);
        let mut bare = statement.clone();
        let _ = syntax::deep(|| crate::named::visit(&mut bare.kind, &mut finds));
        if finds.found.is_empty() {
            return Ok(None);
        }
        let bare = Box::pin(executor.prepare(Arc::new(bare), reader.clone(), hints)).await?;
        let kinds: Vec<_> = bare.parameters().iter().copied().map(Some).collect();
        let mut parts: Vec<Part> = Vec::new();
        for query in finds.found {
            if parts.iter().any(|part| part.query == query) {
                continue;
            }
            let skipping = SkipPlan::new(executor.catalog(), &query, &kinds)?;
            let (plan, _) = skipping.ok_or_else(|| Error::Unsupported {
                what: "SKIP LOCKED over several tables".to_owned(),
            })?;
            let planned = executor.plan(reader, plan.query(), &kinds).await?;
            parts.push(Part {
                query,
                plan,
                planned,
            });
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
            let given = executor.given(parameters);
            let rows = part.plan.take(executor, transaction, &part.planned, given);
            taken.push(Taken {
                query: part.query.clone(),
                columns: part.plan.columns(&part.planned),
                rows: Box::pin(rows).await?,
            });
        }
        let kinds = prepared.parameters().iter().copied().map(Some).collect();
        let mut fill = Fill {
            taken,
            values: parameters.to_vec(),
            kinds,
        };
        let mut statement = prepared.statement().clone();
        syntax::deep(|| {
            fill.narrow(&mut statement.kind);
            let _ = crate::named::visit(&mut statement.kind, &mut fill);
        });
        let reader = transaction.reader();
        let filled = executor.prepare(Arc::new(statement), reader, &fill.kinds);
        let filled = Box::pin(filled).await?;
        Box::pin(executor.run(transaction, &filled, &fill.values, fast)).await
    }
}

/// Whether any query of a statement skips rows.
fn mentions(kind: &Kind) -> bool {
    let flow = syntax::deep(|| match kind {
        Kind::Query(query) => query.query.visit(&mut Skipping),
        Kind::Insert(insert) => insert.source.visit(&mut Skipping),
        Kind::Update(update) => update.visit(&mut Skipping),
        Kind::Delete(delete) => delete.visit(&mut Skipping),
        _ => ControlFlow::Continue(()),
    });
    flow.is_break()
}

fn skips(query: &ast::Query) -> bool {
    let skip = Some(ast::NonBlock::SkipLocked);
    query.locks.iter().any(|lock| lock.nonblock == skip)
}

/// Finds the queries inside of a statement that skip rows, and lets them claim nothing.
struct Finds {
    /// Whether the next query is the statement itself.
    whole: bool,
    found: Vec<ast::Query>,
}

impl Finds {
    fn new(kind: &Kind) -> Self {
        Self {
            whole: matches!(kind, Kind::Query(_)),
            found: Vec::new(),
        }
    }
}

impl ast::VisitorMut for Finds {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let whole = std::mem::take(&mut self.whole);
        if !whole && skips(query) {
            self.found.push(query.clone());
            query.locks.clear();
        }
        ControlFlow::Continue(())
    }
}

/// Puts what was taken in the place of the queries that took it.
struct Fill {
    taken: Vec<Taken>,
    /// The values of all parameters; those of the rows come last.
    values: Vec<Value>,
    kinds: Vec<Option<Type>>,
}

impl Fill {
    fn taken(&self, query: &ast::Query) -> Option<usize> {
        self.taken.iter().position(|one| one.query == *query)
    }

    /// A new parameter.
    fn parameter(&mut self, value: Value, kind: Type) -> ast::Expr {
        // Values that were not given would come to stand before it.
        self.values
            .resize(self.values.len().max(self.kinds.len()), Value::Null);
        self.values.push(value);
        self.kinds.push(Some(kind));
        build::placeholder(self.values.len())
    }

    /// `expr IN (…)` with the values of one column of what was taken.
    fn in_list(&mut self, expr: ast::Expr, taken: usize, column: usize) -> ast::Expr {
        let values = self.column(taken, column);
        if values.is_empty() {
            return build::value(ast::Value::Boolean(false));
        }
        ast::Expr::InList {
            expr: Box::new(expr),
            list: values,
            negated: false,
        }
    }

    fn column(&mut self, taken: usize, column: usize) -> Vec<ast::Expr> {
        let Some(one) = self.taken.get(taken) else {
            return Vec::new();
        };
        let kind = one.columns.get(column).map_or(Type::Utf8, |one| one.kind);
        let values = one.rows.iter().filter_map(|row| row.get(column).cloned());
        let values: Vec<Value> = values.collect();
        let values = values.into_iter();
        values.map(|value| self.parameter(value, kind)).collect()
    }

    /// The rows that a query took, as a table.
    fn table(&mut self, taken: usize, alias: Option<ast::TableAlias>) -> Option<ast::TableFactor> {
        let one = self.taken.get(taken)?;
        let columns = Arc::clone(&one.columns);
        let rows = one.rows.clone();
        let kind = |column: usize| columns.get(column).map_or(Type::Utf8, |one| one.kind);
        let mut shown = Vec::with_capacity(rows.len());
        for row in rows {
            let cells = row.into_iter().enumerate();
            let cells = cells.map(|(at, value)| {
                let parameter = self.parameter(value, kind(at));
                build::cast(parameter, kind(at))
            });
            shown.push(cells.collect());
        }
        let names = columns.iter().map(|column| {
            let null = build::value(ast::Value::Null);
            (column.name.clone(), build::cast(null, column.kind))
        });
        let names: Vec<_> = names.collect();
        Some(build::table_of(shown, &names, alias))
    }

    /// Tells a statement that joins what was taken which of its own rows those are.
    fn narrow(&mut self, kind: &mut Kind) {
        let (others, selection) = match kind {
            Kind::Update(update) => match &update.from {
                Some(
                    ast::UpdateTableFromKind::BeforeSet(from)
                    | ast::UpdateTableFromKind::AfterSet(from),
                ) => (from.clone(), &mut update.selection),
                None => return,
            },
            Kind::Delete(delete) => match &delete.using {
                Some(using) => (using.clone(), &mut delete.selection),
                None => return,
            },
            _ => return,
        };
        let Some(filter) = selection.take() else {
            return;
        };
        let mut narrowed = filter.clone();
        for other in others {
            let ast::TableFactor::Derived {
                subquery,
                alias: Some(alias),
                ..
            } = &other.relation
            else {
                continue;
            };
            let Some(taken) = self.taken(subquery) else {
                continue;
            };
            for part in crate::scalar::conjuncts(&filter) {
                if let Some((expr, column)) = self.joined(part, taken, alias) {
                    let known = self.in_list(expr, taken, column);
                    narrowed = ast::Expr::BinaryOp {
                        left: Box::new(ast::Expr::Nested(Box::new(narrowed))),
                        op: ast::BinaryOperator::And,
                        right: Box::new(known),
                    };
                }
            }
        }
        *selection = Some(narrowed);
    }

    /// What a condition compares a column of the taken rows with, and that column.
    fn joined(
        &self,
        part: &ast::Expr,
        taken: usize,
        alias: &ast::TableAlias,
    ) -> Option<(ast::Expr, usize)> {
        let ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::Eq,
            right,
        } = part
        else {
            return None;
        };
        let column = |expr: &ast::Expr| match expr {
            ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [of, name] if tree_name(of) == tree_name(&alias.name) => self.named(taken, name),
                _ => None,
            },
            _ => None,
        };
        if !alias.columns.is_empty() {
            return None;
        }
        match (column(left), column(right)) {
            (Some(at), None) => Some((right.as_ref().clone(), at)),
            (None, Some(at)) => Some((left.as_ref().clone(), at)),
            _ => None,
        }
    }

    fn named(&self, taken: usize, name: &ast::Ident) -> Option<usize> {
        let columns = &self.taken.get(taken)?.columns;
        let name = tree_name(name);
        columns.iter().position(|column| column.name == name)
    }

    /// The one column that a query gives of rows that were taken: `SELECT id FROM (taken) AS job`.
    fn of_taken(&self, query: &ast::Query) -> Option<(usize, usize)> {
        if let Some(taken) = self.taken(query) {
            let one = self.taken.get(taken)?.columns.len() == 1;
            return one.then_some((taken, 0));
        }
        let ast::SetExpr::Select(select) = query.body.as_ref() else {
            return None;
        };
        let bare = query.limit_clause.is_none()
            && query.fetch.is_none()
            && query.with.is_none()
            && select.selection.is_none()
            && select.having.is_none()
            && select.distinct.is_none();
        let [from] = select.from.as_slice() else {
            return None;
        };
        let ast::TableFactor::Derived {
            subquery,
            alias: Some(alias),
            ..
        } = &from.relation
        else {
            return None;
        };
        let taken = self.taken(subquery)?;
        let [ast::SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() else {
            return None;
        };
        let name = match expr {
            ast::Expr::Identifier(name) => name,
            ast::Expr::CompoundIdentifier(parts) => parts.last()?,
            _ => return None,
        };
        let plain = bare && from.joins.is_empty() && alias.columns.is_empty();
        let column = self.named(taken, name).filter(|_| plain)?;
        Some((taken, column))
    }
}

impl ast::VisitorMut for Fill {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        match expr {
            ast::Expr::InSubquery {
                expr: of,
                subquery,
                negated: false,
            } => {
                if let Some((taken, column)) = self.of_taken(subquery) {
                    *expr = self.in_list(of.as_ref().clone(), taken, column);
                }
            }
            ast::Expr::Subquery(query) => {
                if let Some((taken, column)) = self.of_taken(query)
                    && self.taken.get(taken).is_some_and(|one| one.rows.len() <= 1)
                {
                    let value = self.column(taken, column).pop();
                    *expr = value.unwrap_or_else(|| build::value(ast::Value::Null));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let Some(taken) = self.taken(query) else {
            return ControlFlow::Continue(());
        };
        if let Some(table) = self.table(taken, None)
            && let Some(whole) = every_row(table)
        {
            *query = whole;
        }
        ControlFlow::Continue(())
    }
}

/// `SELECT * FROM table`.
fn every_row(table: ast::TableFactor) -> Option<ast::Query> {
    let parsed = syntax::parse("SELECT * FROM t").ok()?;
    let Kind::Query(query) = parsed.into_iter().next()?.kind else {
        return None;
    };
    let mut query = *query.query;
    if let ast::SetExpr::Select(select) = query.body.as_mut() {
        select.from.first_mut()?.relation = table;
    }
    Some(query)
}
