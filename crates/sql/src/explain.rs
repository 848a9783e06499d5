//! EXPLAIN: what a statement would do, and EXPLAIN ANALYZE: what it did.
//!
//! ```text
//!   EXPLAIN SELECT * FROM orders WHERE customer = 7
//!
//!   Range Scan on orders
//!     Key: /7/*
//!     Partitions: 1 of 4                      how much of the table is read, and
//!     Order: customer, placed                 the reason if it is all of it
//! ```
//!
//! Writes name the keys that are known without running, the indexes that go along, and how many
//! partitions the commit takes: one is the case worth aiming for. Nothing is read to find out: the map
//! of partitions is enough.

mod figures;
mod reads;
mod tree;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use keys::{Type, Value};
use syntax::statement::{Explain, ExplainFormat};
use syntax::{Kind, ast};
use txn::Reader;

pub(crate) use self::figures::Figures;
use self::tree::{Commit, Fact, Facts, Node, fact_lines};
use crate::access::Access;
use crate::execute::AnswerRows;
use crate::fast::ReadPlan;
use crate::prepare::Plan;
use crate::query::{PlanNode, ResultColumn, Wanted};
use crate::{Error, Executor, Prepared, Result};

/// What a statement would do.
#[derive(Debug)]
pub struct Explained {
    plan: Node,
    /// Whether all parts of DataFusion's plans are shown.
    all: bool,
    measured: Facts,
    format: ExplainFormat,
}

/// What a statement did.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// How many rows it answered with or wrote.
    pub rows: u64,
    /// Which partitions it took.
    pub touched: Touched,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

/// A plan of DataFusion's that was run.
#[derive(Debug)]
pub struct Ran(pub(crate) PlanNode);

/// The partitions that a statement took.
#[derive(Clone, Copy, Debug)]
pub enum Touched {
    /// So many were read.
    Read(usize),
    /// So many were read or written by its commit.
    Committed(usize),
    /// So many were read until now by a transaction that is still open.
    Open(usize),
}

/// What EXPLAIN answers with; an error if it cannot explain the statement.
pub(crate) fn columns(explain: &Explain) -> Result<Arc<[ResultColumn]>> {
    let explains = matches!(
        explain.statement.kind,
        Kind::Query(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_)
    );
    if !explains {
        return Err(Error::Unsupported {
            what: "EXPLAIN of anything but SELECT, INSERT, UPSERT, REPLACE, UPDATE and DELETE"
                .to_owned(),
        });
    }
    let kind = match explain.format {
        ExplainFormat::Text => Type::Utf8,
        ExplainFormat::Json => Type::Json,
    };
    Ok([ResultColumn::new("QUERY PLAN", kind)].into())
}

impl Explained {
    /// Adds what was measured when the statement ran.
    pub fn measured(&mut self, measured: Measured) {
        let (name, fact) = match measured.touched {
            Touched::Read(count) => ("Partitions Read", Fact::Number(count as u64)),
            Touched::Open(count) => (
                "Partitions Read by the Transaction",
                Fact::Number(count as u64),
            ),
            Touched::Committed(count) => {
                let (min, max) = (count, count);
                ("Committed", Fact::Commit(Commit { min, max }))
            }
        };
        let took = Duration::from_micros(measured.took_us);
        self.measured = vec![
            ("Actual Rows", Fact::Number(measured.rows)),
            (name, fact),
            ("Execution Time", Fact::Time(took)),
        ];
    }

    /// Shows the plan that was run, with what its parts did.
    pub fn ran(&mut self, ran: &Ran) {
        self.plan = reads::planned(&ran.0, self.all);
    }

    /// The same of a write, whose rows that plan found.
    pub fn found_by(&mut self, ran: &Ran) {
        if let Some(found) = self.plan.children.last_mut() {
            *found = reads::planned(&ran.0, self.all);
        }
    }

    /// The answer to the client.
    pub fn answer(self, prepared: &Prepared) -> AnswerRows {
        let columns = prepared.columns().cloned().unwrap_or_default();
        let rows = match self.format {
            ExplainFormat::Text => {
                let mut lines = Vec::new();
                self.plan.lines(0, &mut lines);
                lines.extend(fact_lines(&self.measured));
                let row = |line: String| vec![Value::from(line.as_str())];
                lines.into_iter().map(row).collect()
            }
            ExplainFormat::Json => {
                let mut fields = vec![("Plan".to_owned(), self.plan.json(2))];
                for (name, fact) in &self.measured {
                    fact.fields(name, 2, &mut fields);
                }
                let one = tree::object(&fields, 1);
                let text = tree::list(std::iter::once(one), 0);
                vec![vec![Value::Json(text.into())]]
            }
        };
        AnswerRows::ready("EXPLAIN", columns, rows)
    }
}

/// How a statement would find its rows, as far as it reads without a limit.
pub(crate) async fn accesses_of(
    executor: &Executor,
    reader: &Reader,
    prepared: &Prepared,
    parameters: &[Value],
) -> Result<Vec<Access>> {
    let path = match prepared.plan() {
        Plan::Read(plan) => Some(&plan.path),
        Plan::Change(plan) => plan.path.as_ref(),
        _ => None,
    };
    let given = executor.given(parameters);
    if let Some(path) = path {
        return Ok(path.access(reader, given)?.into_iter().collect());
    }
    let Some(query) = prepared.query() else {
        return Ok(Vec::new());
    };
    let Some(tree) = query.explain(reader, Some(given)).await? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    reads::unlimited(&tree, &mut found);
    Ok(found)
}

/// One EXPLAIN of a statement.
struct Asked<'a> {
    reader: &'a Reader,
    explained: &'a Prepared,
    parameters: &'a [Value],
    /// Whether all parts of DataFusion's plans are shown.
    all: bool,
}

impl Executor {
    /// How the statement that a prepared EXPLAIN is about would run, by the fast path where there is
    /// one unless `fast` is false. Parameters may be missing.
    pub async fn explain(
        &self,
        reader: &Reader,
        prepared: &Prepared,
        parameters: &[Value],
        fast: bool,
    ) -> Result<Explained> {
        let (Kind::Explain(explain), Some(explained)) =
            (&prepared.statement().kind, prepared.explained())
        else {
            return Err(Error::Internal {
                what: "what is explained is no EXPLAIN".to_owned(),
            });
        };
        let asked = Asked {
            reader,
            explained,
            parameters,
            all: explain.verbose,
        };
        Ok(Explained {
            plan: self.explain_plan(&asked, fast).await?,
            all: explain.verbose,
            measured: Vec::new(),
            format: explain.format,
        })
    }

    /// What is run once rows are claimed.
    async fn explain_bare(&self, asked: &Asked<'_>, bare: &Prepared, fast: bool) -> Result<Node> {
        let asked = Asked {
            explained: bare,
            ..*asked
        };
        Box::pin(self.explain_plan(&asked, fast)).await
    }

    async fn explain_plan(&self, asked: &Asked<'_>, fast: bool) -> Result<Node> {
        let (reader, given) = (asked.reader, self.given(asked.parameters));
        match asked.explained.plan() {
            Plan::Read(plan) => self.explain_read(asked, plan, fast).await,
            Plan::Lock(plan) => self.explain_read(asked, &plan.read, fast).await,
            Plan::Insert(plan) => {
                let tree = match plan.query() {
                    Some(query) => Some(self.explain_query(asked, Some(query)).await?),
                    None => None,
                };
                let mut found = Vec::new();
                if let Some(Some(tree)) = &tree {
                    reads::accesses(tree, &mut found);
                }
                let mut node = writes::insert(plan, reader, given, &found)?;
                if let Some(tree) = &tree {
                    node.children.push(shown(tree.as_ref(), asked.all));
                }
                Ok(node)
            }
            Plan::Change(plan) => {
                if let Some(path) = plan.path.as_ref().filter(|_| fast)
                    && let Some(access) = path.access(reader, given)?
                {
                    let found = reads::path(path, &access);
                    return writes::change(plan, reader, &[&access], found);
                }
                let tree = self.explain_query(asked, Some(plan.found())).await?;
                let mut found = Vec::new();
                if let Some(tree) = &tree {
                    reads::accesses(tree, &mut found);
                }
                let read = shown(tree.as_ref(), asked.all);
                writes::change(plan, reader, &found, read)
            }
            Plan::Nested(plan) => self.explain_bare(asked, &plan.bare, fast).await,
            Plan::Wait(plan) => self.explain_bare(asked, &plan.bare, fast).await,
            Plan::Advisory(plan) => self.explain_bare(asked, plan.bare(), fast).await,
            Plan::Count(_) | Plan::Skip(_) | Plan::Explain(_) | Plan::Plain => {
                let tree = self.explain_query(asked, None).await?;
                Ok(shown(tree.as_ref(), asked.all))
            }
        }
    }

    async fn explain_read(&self, asked: &Asked<'_>, plan: &ReadPlan, fast: bool) -> Result<Node> {
        let access = match fast {
            true => (plan.path).access(asked.reader, self.given(asked.parameters))?,
            false => None,
        };
        match (access, &asked.explained.statement().kind) {
            (Some(access), _) => Ok(reads::read(plan, &access)),
            (None, Kind::Query(query)) => {
                let tree = self.explain_query(asked, Some(&query.query)).await?;
                Ok(shown(tree.as_ref(), asked.all))
            }
            (None, _) => Ok(shown(None, asked.all)),
        }
    }

    /// DataFusion's plan of the statement, or of `query` if it was not planned yet. `None` if it
    /// depends on values that are not there.
    async fn explain_query(
        &self,
        asked: &Asked<'_>,
        query: Option<&ast::Query>,
    ) -> Result<Option<PlanNode>> {
        let kinds = asked.explained.parameters();
        let bound = asked.parameters.len() >= kinds.len();
        let given = bound.then(|| self.given(asked.parameters));
        let planned = match (asked.explained.query(), query) {
            (Some(planned), _) => planned.clone(),
            (None, Some(query)) => {
                let kinds: Vec<Option<Type>> = kinds.iter().copied().map(Some).collect();
                let wanted = Wanted {
                    query,
                    hints: &kinds,
                    shown: false,
                };
                self.plan(asked.reader, wanted).await?
            }
            (None, None) => return Ok(None),
        };
        planned.explain(asked.reader, given).await
    }
}

fn shown(tree: Option<&PlanNode>, all: bool) -> Node {
    match tree {
        Some(tree) => reads::planned(tree, all),
        None => {
            let mut node = Node::new("Query", None);
            node.say("Plan", "decided when run: it depends on the parameters");
            node
        }
    }
}
