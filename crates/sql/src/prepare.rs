//! Statements made ready to run, once for each text.
//!
//! ```text
//!   statement ─► a read by key?  ─► ReadPlan                      DataFusion is never asked
//!                … FOR UPDATE    ─► LockPlan                      nor here
//!                any FOR UPDATE  ─► WaitPlan                      claims rows, then goes on as without it
//!                nextval(…)      ─► CountPlan                     nor here
//!                INSERT …        ─► InsertPlan ┐ rows by ours, or
//!                UPDATE, DELETE  ─► ChangePlan ┘ by a query
//!                anything else   ─► Query                         DataFusion plans it
//! ```
//!
//! A plan holds the tables as they were when it was made. When any table changes, the catalog's
//! generation rises, and a statement is made ready again before it runs.

mod blanks;
mod parameters;

use std::borrow::Cow;
use std::sync::Arc;

use keys::{Declared, Type, Value};
use syntax::{Kind, Span, Statement, ast};
use txn::Reader;

pub(crate) use blanks::without_in as without_blanks;

use crate::advisory::{AdvisoryPlan, misplaced};
use crate::counted::CountPlan;
use crate::fast::ReadPlan;
use crate::locking::{LockPlan, NestedPlan, SkipPlan, WaitPlan, locks, refuse_skipping};
use crate::modify::{ChangePlan, InsertPlan};
use crate::query::{PlannedQuery, ResultColumn, Wanted};
use crate::statements::Tally;
use crate::{Error, Executor, Fault, Result, explain};

/// A statement that is ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    inner: Arc<Inner>,
    /// Whether its rows are for nobody.
    silent: bool,
    /// Where its runs are counted.
    tally: Option<Arc<Tally>>,
    /// Where it stands, if not in the text that it was prepared from.
    span: Option<Span>,
    /// Whether it holds what is true for one client only.
    own: bool,
}

#[derive(Debug)]
struct Inner {
    statement: Arc<Statement>,
    parameters: Vec<Type>,
    /// What PostgreSQL calls them, as far as that is known and says more.
    declared: Vec<Declared>,
    /// The parameters that are lists, by their place from 0, and what they are lists of.
    lists: Vec<(usize, Type)>,
    columns: Option<Arc<[ResultColumn]>>,
    plan: Plan,
    /// The query of the statement, unless nobody asks DataFusion.
    query: Option<PlannedQuery>,
    generation: u64,
}

/// How a statement is run.
#[derive(Debug)]
pub(crate) enum Plan {
    Read(Arc<ReadPlan>),
    /// The same, of a row that is claimed.
    Lock(LockPlan),
    Count(CountPlan),
    /// Rows that nobody else claims.
    Skip(Box<SkipPlan>),
    /// The same in a part of the statement.
    Nested(Box<NestedPlan>),
    /// Rows that are claimed before they are read.
    Wait(Box<WaitPlan>),
    /// A query with calls that lock and unlock.
    Advisory(Box<AdvisoryPlan>),
    Insert(Box<InsertPlan>),
    Change(Box<ChangePlan>),
    /// Shown, or run and shown.
    Explain(Prepared),
    /// As the statement says.
    Plain,
}

/// A plan, and what it tells of its statement.
struct Drafted {
    plan: Plan,
    parameters: Vec<Option<Type>>,
    columns: Option<Arc<[ResultColumn]>>,
}

impl Plan {
    /// The parameters that are lists where no query tells.
    fn lists(&self) -> Vec<(usize, Type)> {
        let path = match self {
            Self::Read(plan) => Some(&plan.path),
            Self::Lock(plan) => Some(&plan.read.path),
            Self::Change(plan) => plan.path.as_ref(),
            Self::Explain(explained) => return explained.lists().to_vec(),
            Self::Nested(plan) => return plan.bare.lists().to_vec(),
            Self::Wait(plan) => return plan.bare.lists().to_vec(),
            Self::Advisory(plan) => return plan.bare().lists().to_vec(),
            Self::Insert(_) | Self::Count(_) | Self::Skip(_) | Self::Plain => None,
        };
        path.map_or(Vec::new(), |path| path.filter.listed().collect())
    }
}

impl Inner {
    fn plain(statement: Statement, columns: Option<Arc<[ResultColumn]>>) -> Self {
        Self {
            statement: Arc::new(statement),
            parameters: Vec::new(),
            declared: Vec::new(),
            lists: Vec::new(),
            columns,
            plan: Plan::Plain,
            query: None,
            generation: 0,
        }
    }
}

impl Prepared {
    /// A statement without parameters whose columns are known.
    pub fn plain(statement: Statement, columns: Option<Arc<[ResultColumn]>>) -> Self {
        Self {
            inner: Arc::new(Inner::plain(statement, columns)),
            silent: false,
            tally: None,
            span: None,
            own: false,
        }
    }

    /// A statement with parameters that is run as it says.
    pub fn with_parameters(
        statement: Statement,
        parameters: &[Type],
        columns: Option<Arc<[ResultColumn]>>,
    ) -> Self {
        let mut inner = Inner::plain(statement, columns);
        inner.parameters = parameters.to_vec();
        Self {
            inner: Arc::new(inner),
            silent: false,
            tally: None,
            span: None,
            own: false,
        }
    }

    /// The same statement, for a client that is not sent its rows.
    #[must_use]
    pub fn without_rows(mut self) -> Self {
        self.silent = true;
        self
    }

    /// The same with the types of parameters that a text declared. Without a plan, `statement` is
    /// prepared again when its lists are known.
    pub(crate) fn declared(
        self,
        statement: Arc<Statement>,
        kinds: &[Type],
        planned: bool,
    ) -> Result<Self> {
        let mut inner = Arc::try_unwrap(self.inner).map_err(|_| Error::Internal {
            what: "a statement was run while it was prepared".to_owned(),
        })?;
        inner.statement = statement;
        inner.parameters = kinds.to_vec();
        if !planned {
            inner.plan = Plan::Plain;
            inner.query = None;
        }
        Ok(Self {
            inner: Arc::new(inner),
            silent: self.silent,
            tally: self.tally,
            span: self.span,
            own: self.own,
        })
    }

    /// The same statement, its runs counted there.
    #[must_use]
    pub fn tallied(mut self, tally: Option<Arc<Tally>>) -> Self {
        self.tally = tally;
        self
    }

    /// Where its runs are counted.
    pub fn tally(&self) -> Option<&Arc<Tally>> {
        self.tally.as_ref()
    }

    /// What it was prepared from.
    pub fn statement(&self) -> &Statement {
        &self.inner.statement
    }

    /// The same statement, which holds what is true for one client only or does not.
    #[must_use]
    pub fn owned(mut self, own: bool) -> Self {
        self.own = own;
        self
    }

    /// Whether it holds what is true for one client only.
    pub(crate) fn is_owned(&self) -> bool {
        self.own
    }

    /// Whether its rows are for nobody.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }

    /// The same statement in another text.
    #[must_use]
    pub fn spanning(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Where it stands in its text.
    pub fn span(&self) -> Span {
        self.span.unwrap_or(self.inner.statement.span)
    }

    /// The types of `$1`, `$2`, ….
    pub fn parameters(&self) -> &[Type] {
        &self.inner.parameters
    }

    /// What PostgreSQL calls the type of the parameter at this place, from 0, if that says more.
    pub fn parameter_declared(&self, place: usize) -> Declared {
        self.inner.declared.get(place).copied().unwrap_or_default()
    }

    /// The values of parameters as the statement takes them.
    pub(crate) fn taken<'v>(&self, values: &'v [Value]) -> Cow<'v, [Value]> {
        let lists = &self.inner.lists;
        let is_list = |place: usize| lists.iter().any(|(other, _)| *other == place);
        blanks::taken(&self.inner.declared, values, is_list)
    }

    /// The parameters that are lists, by their place from 0, and what they are lists of. Such a parameter
    /// is given as the text of the list: `{1,2}`.
    pub fn lists(&self) -> &[(usize, Type)] {
        &self.inner.lists
    }

    /// The same as hints to prepare it again.
    fn hints(&self) -> Vec<Option<Type>> {
        self.parameters().iter().copied().map(Some).collect()
    }

    /// What its rows look like, if it answers with rows.
    pub fn columns(&self) -> Option<&Arc<[ResultColumn]>> {
        self.inner.columns.as_ref().filter(|_| !self.silent)
    }

    /// Whether it reads by key, without DataFusion.
    pub fn is_by_key(&self) -> bool {
        matches!(self.inner.plan, Plan::Read(_))
    }

    /// Whether it passes over rows that others claim, which takes a transaction.
    pub fn skips_rows(&self) -> bool {
        matches!(self.inner.plan, Plan::Skip(_) | Plan::Nested(_))
    }

    /// Whether it was made for the tables of this generation.
    pub(crate) fn is_of(&self, generation: u64) -> bool {
        self.inner.generation == generation
    }

    /// Whether it can be run as it is while the tables are of this generation.
    pub fn serves(&self, generation: u64) -> bool {
        let tables = matches!(
            self.inner.statement.kind,
            Kind::Query(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Explain(_)
        );
        !tables || self.is_of(generation)
    }

    /// What EXPLAIN is to explain, if that is what it is.
    pub fn explained(&self) -> Option<&Self> {
        match &self.inner.plan {
            Plan::Explain(explained) => Some(explained),
            _ => None,
        }
    }

    /// How it locks and unlocks, if it calls functions for that.
    pub fn advisory(&self) -> Option<&AdvisoryPlan> {
        match &self.inner.plan {
            Plan::Advisory(plan) => Some(plan),
            _ => None,
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.inner.plan
    }

    pub(crate) fn query(&self) -> Option<&PlannedQuery> {
        self.inner.query.as_ref()
    }
}

impl Executor {
    /// Works out the parameters and result columns of a statement, and how to run it. `hints` are
    /// types that the client stated.
    pub async fn prepare(
        &self,
        statement: Arc<Statement>,
        reader: Reader,
        hints: &[Option<Type>],
    ) -> Result<Prepared> {
        let generation = self.catalog().generation();
        let statement = blanks::without(self.catalog(), statement);
        let drafted = match self.draft_locking(&statement, &reader, hints).await? {
            Some(drafted) => drafted,
            None => {
                let drafted = self.draft(&statement, &reader, hints).await;
                drafted.map_err(told)?
            }
        };
        let (plan, mut parameters, mut columns) =
            (drafted.plan, drafted.parameters, drafted.columns);
        let select = match &statement.kind {
            Kind::Query(asked) if matches!(plan, Plan::Plain) => Some(asked.query.as_ref()),
            _ => None,
        };
        let asked = match &plan {
            Plan::Insert(plan) => plan.query(),
            Plan::Change(plan) => plan.query(),
            Plan::Skip(plan) => Some(plan.query()),
            _ => select,
        };
        let mut query = None;
        if let Some(asked) = asked {
            merge(&mut parameters, hints);
            let asked = Wanted {
                query: asked,
                hints: &parameters,
                shown: select.is_some(),
            };
            let planned = self.plan(&reader, asked).await.map_err(told)?;
            merge(&mut parameters, planned.parameters());
            match &plan {
                Plan::Skip(plan) => columns = Some(plan.columns(&planned)),
                _ if select.is_some() => columns = Some(Arc::clone(planned.columns())),
                _ => {}
            }
            query = Some(planned);
        }
        merge(&mut parameters, hints);
        let mut lists = plan.lists();
        lists.extend(query.iter().flat_map(PlannedQuery::lists));
        let parameters = known(parameters);
        Ok(Prepared {
            inner: Arc::new(Inner {
                statement: Arc::clone(&statement),
                declared: parameters::declared(self.catalog(), &statement, &parameters),
                parameters,
                lists,
                columns,
                plan,
                query,
                generation,
            }),
            silent: false,
            tally: None,
            span: None,
            own: false,
        })
    }

    /// How a statement is run that claims rows before anything else is done.
    async fn draft_locking(
        &self,
        statement: &Statement,
        reader: &Reader,
        hints: &[Option<Type>],
    ) -> Result<Option<Drafted>> {
        if !locks(&statement.kind) {
            return Ok(None);
        }
        if let Some(nested) = NestedPlan::new(self, statement, reader, hints).await? {
            return Ok(Some(Drafted {
                parameters: nested.parameters(),
                columns: nested.bare.columns().cloned(),
                plan: Plan::Nested(Box::new(nested)),
            }));
        }
        let waiting = WaitPlan::new(self, statement, reader, hints).await?;
        Ok(waiting.map(|waiting| Drafted {
            parameters: waiting.bare.hints(),
            columns: waiting.bare.columns().cloned(),
            plan: Plan::Wait(Box::new(waiting)),
        }))
    }

    /// How a statement is run, as far as it takes no query.
    async fn draft(
        &self,
        statement: &Statement,
        reader: &Reader,
        hints: &[Option<Type>],
    ) -> Result<Drafted> {
        let catalog = self.catalog();
        let (plan, parameters, columns) = match &statement.kind {
            Kind::Query(asked) => {
                let advisory = AdvisoryPlan::new(self, statement, reader, hints).await?;
                return match advisory {
                    Some(advisory) => Ok(Drafted {
                        parameters: advisory.bare().hints(),
                        columns: Some(Arc::clone(advisory.columns())),
                        plan: Plan::Advisory(Box::new(advisory)),
                    }),
                    None => self.draft_query(&asked.query, hints),
                };
            }
            Kind::Insert(insert) => {
                let (plan, kinds) = InsertPlan::new(catalog, insert, hints)?;
                let columns = plan.columns();
                (Plan::Insert(Box::new(plan)), kinds, columns)
            }
            Kind::Update(update) => {
                let (plan, kinds) = ChangePlan::update(catalog, update, hints)?;
                let columns = plan.columns();
                (Plan::Change(Box::new(plan)), kinds, columns)
            }
            Kind::Delete(delete) => {
                let (plan, kinds) = ChangePlan::delete(catalog, delete, hints)?;
                let columns = plan.columns();
                (Plan::Change(Box::new(plan)), kinds, columns)
            }
            Kind::Explain(explain) => {
                let columns = explain::columns(explain)?;
                let inner = Arc::new(Statement::clone(&explain.statement));
                let inner = Box::pin(self.prepare(inner, reader.clone(), hints)).await?;
                let parameters = inner.hints();
                (Plan::Explain(inner), parameters, Some(columns))
            }
            _ => (Plan::Plain, Vec::new(), None),
        };
        Ok(Drafted {
            plan,
            parameters,
            columns,
        })
    }

    /// The same of a query.
    fn draft_query(&self, query: &ast::Query, hints: &[Option<Type>]) -> Result<Drafted> {
        let catalog = self.catalog();
        let drafted = |plan, parameters, columns: &Arc<[ResultColumn]>| Drafted {
            columns: Some(Arc::clone(columns)),
            plan,
            parameters,
        };
        if let Some((plan, kinds)) = ReadPlan::new(catalog, query, hints)? {
            let columns = Arc::clone(&plan.columns);
            return Ok(drafted(Plan::Read(Arc::new(plan)), kinds, &columns));
        }
        if let Some((plan, kinds)) = LockPlan::new(catalog, query, hints)? {
            let columns = Arc::clone(&plan.read.columns);
            return Ok(drafted(Plan::Lock(plan), kinds, &columns));
        }
        if let Some((plan, parameters)) = SkipPlan::new(catalog, query, hints)? {
            return Ok(Drafted {
                plan: Plan::Skip(Box::new(plan)),
                parameters,
                columns: None,
            });
        }
        refuse_skipping(query)?;
        if let Some((plan, kinds)) = CountPlan::new(query, hints)? {
            let columns = Arc::clone(&plan.columns);
            return Ok(drafted(Plan::Count(plan), kinds, &columns));
        }
        Ok(Drafted {
            plan: Plan::Plain,
            parameters: Vec::new(),
            columns: None,
        })
    }

    /// The same statement for the tables as they are now; `None` if it is for those already.
    pub async fn refreshed(&self, prepared: &Prepared, reader: Reader) -> Result<Option<Prepared>> {
        let inner = &prepared.inner;
        if prepared.serves(self.catalog().generation()) {
            return Ok(None);
        }
        let statement = Arc::clone(&inner.statement);
        let hints = prepared.hints();
        let fresh = Box::pin(self.prepare(statement, reader, &hints)).await?;
        if fresh.inner.columns != inner.columns {
            return Err(Error::Changed);
        }
        Ok(Some(fresh))
    }
}

/// Says more of functions that are not found.
fn told(error: Error) -> Error {
    match misplaced(error) {
        Error::NoSuchFunction { name } if name == syntax::CURRENT_OF => Error::Refused {
            fault: Fault::Feature,
            what: "WHERE CURRENT OF is not supported: name the row that was fetched by its key"
                .to_owned(),
        },
        other => other,
    }
}

/// What nothing tells is text, as in PostgreSQL.
fn known(kinds: Vec<Option<Type>>) -> Vec<Type> {
    let known = |kind: Option<Type>| kind.unwrap_or(Type::Utf8);
    kinds.into_iter().map(known).collect()
}

/// Adds types that are known elsewhere to those that are not known here.
fn merge(kinds: &mut Vec<Option<Type>>, others: &[Option<Type>]) {
    if kinds.len() < others.len() {
        kinds.resize(others.len(), None);
    }
    for (kind, other) in kinds.iter_mut().zip(others) {
        *kind = kind.or(*other);
    }
}
