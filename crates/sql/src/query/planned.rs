//! A query that is prepared once and run many times.
//!
//! ```text
//!   prepare   statement ─► logical plan ─► optimised, parameters open        kept
//!   run       ┌ a copy of the physical plan from the shelf, or a new one
//!             ├ parameters and time into its slot, the reader into its context
//!             ├ rows
//!             └ the copy back on the shelf
//! ```
//!
//! A physical plan remembers things while it runs, so nobody shares one: each run takes a copy for
//! itself. Idle copies of all statements lie on one [`shelf`](super::shelf), without a reader: one that
//! is kept would hold old versions of rows for as long as a session is idle. A plan that was made when a
//! table was small reads all of one that has grown, so then it is made anew. Statements whose plan
//! depends on values (`LIMIT $1`), or that read anything but our tables, are planned anew for each run.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use keys::{Type, Value};
use syntax::ast;
use txn::Reader;

use super::columns::scalar;
use super::context::Run;
use super::counting::{self, Counters};
use super::explain::{self, PlanNode};
use super::parameters::{self, NOW, Slot, TODAY, Values};
use super::provider::{Growth, ReadTable};
use super::queries::{self, Queries};
use super::refusals::ours;
use super::scan::ScanExec;
use super::shelf::Owner;
use super::{
    ResultColumn, filling, hidden, list_parameters, memory, origins, results, rewrite, titles,
    unique, views,
};
use crate::scalar::Given;
use crate::{Catalog, Error, Result, system};

/// Parts of a plan that remember more than a reset forgets.
const NOT_KEPT: [&str; 3] = ["ScalarSubqueryExec", "RecursiveQueryExec", "WorkTableExec"];

/// What a query is planned for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'q> {
    pub(crate) query: &'q ast::Query,
    /// The types of parameters that are known.
    pub(crate) hints: &'q [Option<Type>],
    /// Whether somebody is shown its rows as they are, and not what a statement makes of them.
    pub(crate) shown: bool,
}

/// A query that was planned. Clones share their plans.
#[derive(Clone, Debug)]
pub(crate) struct PlannedQuery {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    queries: Queries,
    catalog: Arc<Catalog>,
    query: ast::Query,
    hints: Vec<Option<Type>>,
    shown: bool,
    columns: Arc<[ResultColumn]>,
    parameters: Vec<Option<Type>>,
    /// The parameters that are lists, and what they are lists of.
    lists: Vec<(usize, Type)>,
    /// The optimised plan, if it serves every run.
    kept: Option<LogicalPlan>,
    /// Whether a physical plan can be made only with the values of a run.
    needs_values: AtomicBool,
    /// Whose copies are its own on the shelf.
    owner: Owner,
}

/// A physical plan for one run at a time.
#[derive(Debug)]
pub(super) struct Copy {
    plan: Arc<dyn ExecutionPlan>,
    slot: Slot,
    counters: Counters,
    /// How large the tables were that it was made for.
    growth: Box<[Growth]>,
    /// Whether it can be run again.
    keeps: bool,
}

impl PlannedQuery {
    pub(crate) async fn new(
        queries: &Queries,
        catalog: &Arc<Catalog>,
        reader: &Reader,
        asked: Wanted<'_>,
    ) -> Result<Self> {
        deep(Self::plan(queries, catalog, reader, asked)).await
    }

    async fn plan(
        queries: &Queries,
        catalog: &Arc<Catalog>,
        reader: &Reader,
        asked: Wanted<'_>,
    ) -> Result<Self> {
        let Wanted { hints, shown, .. } = asked;
        let state = queries.state(catalog, reader);
        let mut query = asked.query.clone();
        system::spell(&mut query);
        let names = titles::titles(&query);
        hidden::hide(catalog, &mut query);
        let mut lists = list_parameters::cast_to_lists(&query);
        list_parameters::read(&mut query)?;
        // Such a rewriting holds the rows of system tables as they are now.
        let fleeting = system::rewrite(&mut query);
        unique::name(&mut query);
        views::resolve(catalog, &mut query)?;
        let logical = queries::logical(&state, &query, hints).await?;
        let parameters = rewrite::parameter_types(&logical).map_err(ours)?;
        lists.extend(list_parameters::beside_values(&logical).map_err(ours)?);
        let told = origins::told(&logical);
        let logical = match shown {
            true => filling::filled(logical).map_err(ours)?,
            false => logical,
        };
        let optimised = state.optimize(&logical).map_err(ours)?;
        let columns = titles::columns(optimised.schema().fields().iter(), &names, &told);
        let mut inner = Inner {
            queries: queries.clone(),
            catalog: Arc::clone(catalog),
            query,
            hints: hints.to_vec(),
            shown,
            columns,
            parameters,
            lists,
            kept: None,
            needs_values: AtomicBool::new(false),
            owner: queries.shelf().owner(),
        };
        if !fleeting && only_our_tables(&optimised) {
            inner.kept = Some(optimised);
        }
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Whether its plan serves every run.
    pub(crate) fn is_kept(&self) -> bool {
        self.inner.kept.is_some()
    }

    /// What the result looks like.
    pub(crate) fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.inner.columns
    }

    /// The types of the parameters `$1`, `$2`, …, as far as the query tells.
    pub(crate) fn parameters(&self) -> &[Option<Type>] {
        &self.inner.parameters
    }

    /// The parameters that are lists, by their place from 0, and what they are lists of.
    pub(crate) fn lists(&self) -> &[(usize, Type)] {
        &self.inner.lists
    }

    /// Runs it.
    pub(crate) async fn run(&self, reader: Reader, given: Given<'_>) -> Result<QueryRows> {
        let copy = self.copy(&reader, given).await?;
        let run = Arc::new(Run::new(reader));
        let config = self
            .inner
            .queries
            .config()
            .clone()
            .with_extension(Arc::clone(&run));
        let context = Arc::new(TaskContext::new(
            None,
            String::new(),
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            memory::share(self.inner.queries.runtime()),
        ));
        let batches = execute_stream(Arc::clone(&copy.plan), context).map_err(ours)?;
        Ok(QueryRows {
            columns: Arc::clone(&self.inner.columns),
            batches: Some(batches),
            copy: Some(copy),
            run,
            home: Arc::clone(&self.inner),
        })
    }

    /// How it would be run with these values, or with none; `None` if that depends on them.
    pub(crate) async fn explain(
        &self,
        reader: &Reader,
        given: Option<Given<'_>>,
    ) -> Result<Option<PlanNode>> {
        let inner = &self.inner;
        let copy = match (given, &inner.kept) {
            (Some(given), _) => self.copy(reader, given).await?,
            (None, Some(plan)) => match inner.new_copy(reader, plan).await {
                Ok(copy) => copy,
                Err(_) => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        let tree = explain::tree(&copy.plan, reader, given.is_some());
        inner.put_back(copy);
        tree.map(Some)
    }

    /// How many copies of its plan lie idle.
    #[cfg(test)]
    pub(crate) fn copies(&self) -> usize {
        self.inner.queries.shelf().count(self.inner.owner)
    }

    /// A plan that nobody else runs, with the values of this run in its slot.
    async fn copy(&self, reader: &Reader, given: Given<'_>) -> Result<Copy> {
        let inner = &self.inner;
        let values = values(given, &inner.parameters)?;
        let mut copy = inner.shelved(reader)?;
        if copy.is_none()
            && !inner.needs_values.load(Ordering::Relaxed)
            && let Some(plan) = &inner.kept
        {
            copy = deep(inner.new_copy(reader, plan)).await.ok();
            // A plan that needs a value to be made has failed, and will each time.
            inner.needs_values.store(copy.is_none(), Ordering::Relaxed);
        }
        let copy = match copy {
            Some(copy) => copy,
            None => deep(inner.copy_with(reader, &values)).await?,
        };
        copy.slot.set(Some(Arc::new(values)));
        copy.counters
            .set(given.executor.map(|one| one.counter().clone()));
        Ok(copy)
    }
}

impl Inner {
    /// A plan from the shelf. If a table has outgrown it, none of those that lie there is of use.
    fn shelved(&self, reader: &Reader) -> Result<Option<Copy>> {
        let shelf = self.queries.shelf();
        let Some(copy) = shelf.take(self.owner) else {
            return Ok(None);
        };
        for growth in &copy.growth {
            if growth.outgrown(reader)? {
                shelf.forget(self.owner);
                return Ok(None);
            }
        }
        Ok(Some(copy))
    }

    /// A plan for these values only.
    async fn copy_with(&self, reader: &Reader, values: &Values) -> Result<Copy> {
        let state = self.queries.state(&self.catalog, reader);
        let plan = queries::logical(&state, &self.query, &self.hints).await?;
        // A collection has a column more when a partition of another kind comes.
        if plan.schema().fields().len() != self.columns.len() {
            return Err(Error::Changed);
        }
        let plan = match self.shown {
            true => filling::filled(plan).map_err(ours)?,
            false => plan,
        };
        let plan = rewrite::with_values(plan, values).map_err(ours)?;
        let counters = Counters::default();
        let plan = counting::bound(plan, &counters).map_err(ours)?;
        let plan = state.create_physical_plan(&plan).await.map_err(ours)?;
        Ok(Copy {
            plan,
            slot: Slot::default(),
            counters,
            growth: Box::default(),
            keeps: false,
        })
    }

    /// A plan for any values. It keeps nothing of the reader, which tells how large tables are.
    async fn new_copy(
        &self,
        reader: &Reader,
        plan: &LogicalPlan,
    ) -> datafusion::common::Result<Copy> {
        let state = self.queries.state(&self.catalog, reader);
        let slot = Slot::default();
        let plan = parameters::with_calls(plan.clone(), &slot)?;
        let counters = Counters::default();
        let plan = counting::bound(plan, &counters)?;
        let planner = Arc::clone(state.query_planner());
        let plan = planner.create_physical_plan(&plan, &state).await?;
        let (mut keeps, mut growth) = (true, Vec::new());
        plan.apply(|node| {
            keeps &= !NOT_KEPT.contains(&node.name());
            growth.extend(node.downcast_ref::<ScanExec>().and_then(ScanExec::growth));
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Copy {
            plan,
            slot,
            counters,
            growth: growth.into(),
            keeps,
        })
    }

    fn put_back(&self, mut copy: Copy) {
        copy.slot.set(None);
        copy.counters.set(None);
        if !copy.keeps {
            return;
        }
        if let Ok(plan) = reset_plan_states(copy.plan) {
            copy.plan = plan;
            self.queries.shelf().put(self.owner, copy);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queries.shelf().forget(self.owner);
    }
}

/// Polls on a stack that is enough for the deepest expression there is.
async fn deep<F: Future>(work: F) -> F::Output {
    let mut work = Box::pin(work);
    poll_fn(|context| syntax::deep(|| work.as_mut().poll(context))).await
}

/// Whether a plan reads nothing but our own tables, which look for their rows at each run.
fn only_our_tables(plan: &LogicalPlan) -> bool {
    let mut only = true;
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            only &= source_as_provider(&scan.source).is_ok_and(|source| source.is::<ReadTable>());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && only
}

/// The values of a run, each in the type that the plan expects.
fn values(given: Given<'_>, kinds: &[Option<Type>]) -> Result<Values> {
    let mut values = Values::new();
    for (index, kind) in kinds.iter().enumerate() {
        let name = format!("${}", index + 1);
        let value = given
            .parameters
            .get(index)
            .ok_or_else(|| Error::NoSuchParameter { name: name.clone() })?;
        let value = match kind {
            Some(kind) => crate::cast(value.clone(), *kind)?,
            None => value.clone(),
        };
        values.insert(name, scalar(&value)?);
    }
    let now = Value::Timestamp(given.now_us);
    let today = crate::cast(now.clone(), Type::Date)?;
    values.insert(NOW.to_owned(), scalar(&now)?);
    values.insert(TODAY.to_owned(), scalar(&today)?);
    Ok(values)
}

/// The rows of a running query.
pub(crate) struct QueryRows {
    columns: Arc<[ResultColumn]>,
    batches: Option<SendableRecordBatchStream>,
    copy: Option<Copy>,
    run: Arc<Run>,
    home: Arc<Inner>,
}

impl QueryRows {
    /// What the rows look like.
    pub(crate) fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    /// Some more rows; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<Vec<Value>>>> {
        let batch = self.batches.as_mut()?.next().await?;
        let rows = |batch| results::rows(&batch, &self.columns);
        Some(batch.map_err(ours).and_then(rows))
    }
}

impl QueryRows {
    /// The plan that gives them, with what its parts did until now.
    pub(crate) fn plan(&self) -> Result<Option<PlanNode>> {
        let copy = self.copy.as_ref();
        copy.map(|copy| explain::tree(&copy.plan, self.run.reader(), true))
            .transpose()
    }
}

impl Drop for QueryRows {
    fn drop(&mut self) {
        // What still runs must stop before its plan can be taken by the next run.
        self.batches = None;
        if let Some(copy) = self.copy.take() {
            self.home.put_back(copy);
        }
    }
}
