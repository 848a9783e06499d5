//! Running statements: who reads, who writes, and what is answered.

use std::sync::{Arc, OnceLock};

use keys::{Type, Value};
use parking_lot::Mutex;
use syntax::{Kind, Statement, ast};
use txn::{Reader, Store, Transaction, blocking};

use crate::counted::Counter;
use crate::ddl::{Defined, Ground};
use crate::expire::Sweeps;
use crate::explain::Figures;
use crate::explain::Ran;
use crate::fast::{FastRows, RowSink};
use crate::foreign::Deferred;
use crate::modify::{ChangePlan, Run};
use crate::names::{column_name, table_name};
use crate::prepare::{self, Plan};
use crate::query::{PlannedQuery, Queries, QueryRows, ResultColumn, Wanted};
use crate::scalar::Given;
use crate::statements::Statements;
use crate::system::{Guest, Outside};
use crate::watched::Watched;
use crate::{Catalog, Error, Interrupt, Prepared, Result, Table, Warning, ddl, index, system};

/// Runs statements over the tables of a store.
#[derive(Debug)]
pub struct Executor {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    /// Made when first needed: a database that only reads by key never needs it.
    queries: Arc<OnceLock<Queries>>,
    sweeps: Arc<Sweeps>,
    statements: Arc<Statements>,
    guest: Arc<Guest>,
    /// Sequences, and what its session took from them.
    counter: Counter,
    /// What its statements should be warned of.
    warnings: Mutex<Vec<Warning>>,
    /// The rows that its statements write, for a recorder.
    watched: Watched,
    /// What the plans of its writes did, for EXPLAIN ANALYZE.
    figures: Figures,
    /// Foreign keys that wait for the end of its transaction.
    deferred: Deferred,
    /// What may end its statement.
    interrupt: Interrupt,
}

/// What a statement answered.
pub enum Answer {
    /// Rows.
    Rows(AnswerRows),
    /// It is done.
    Done {
        /// The command, as PostgreSQL tags it.
        command: &'static str,
        /// How many rows it wrote, where that makes sense.
        rows: Option<u64>,
    },
}

/// The rows of an answer.
pub struct AnswerRows {
    columns: Arc<[ResultColumn]>,
    source: Source,
    /// The command that gave them, and the rows it wrote, for the tag at the end.
    pub(crate) command: &'static str,
}

enum Source {
    Ready(Option<Vec<Vec<Value>>>),
    Fast(Box<FastRows>),
    Query(QueryRows),
}

impl AnswerRows {
    /// Rows that are all there.
    pub fn ready(
        command: &'static str,
        columns: Arc<[ResultColumn]>,
        rows: Vec<Vec<Value>>,
    ) -> Self {
        Self {
            columns,
            source: Source::Ready(Some(rows)),
            command,
        }
    }

    /// What they look like.
    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    /// The command that gave them: `SELECT`, or `INSERT` and the like with RETURNING.
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// Some more of them; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Vec<Vec<Value>>>> {
        match &mut self.source {
            Source::Ready(rows) => rows.take().map(Ok),
            Source::Fast(rows) => rows.next(),
            Source::Query(rows) => rows.next().await,
        }
    }

    /// Whether they are all there, and nothing is read for them any more.
    pub fn is_ready(&self) -> bool {
        matches!(self.source, Source::Ready(_))
    }

    /// Lets go of what they come from; there are no more of them then.
    pub fn release(&mut self) {
        self.source = Source::Ready(None);
    }

    /// The plan that gives them and what its parts did until now, if DataFusion runs it.
    pub fn ran(&self) -> Result<Option<Ran>> {
        match &self.source {
            Source::Query(rows) => Ok(rows.plan()?.map(Ran)),
            Source::Ready(_) | Source::Fast(_) => Ok(None),
        }
    }

    /// Hands on up to `most` of them and tells how many, fewer at the end; `None` if they do not come
    /// straight from storage, so that they have to be asked for by [`Self::next`].
    pub fn send(&mut self, most: usize, sink: &mut impl RowSink) -> Option<Result<usize>> {
        match &mut self.source {
            Source::Fast(rows) => Some(rows.send(most, sink)),
            _ => None,
        }
    }
}

impl Executor {
    /// Runs statements over these tables.
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>) -> Self {
        catalog.attach(&store);
        Self {
            counter: Counter::new(&store, &catalog),
            store,
            catalog,
            queries: Arc::default(),
            sweeps: Arc::default(),
            statements: Arc::default(),
            guest: Arc::default(),
            warnings: Mutex::default(),
            watched: Watched::default(),
            figures: Figures::default(),
            deferred: Deferred::default(),
            interrupt: Interrupt::default(),
        }
    }

    /// One that shares everything with this but what a session has counted.
    #[must_use]
    pub fn for_session(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            catalog: Arc::clone(&self.catalog),
            queries: Arc::clone(&self.queries),
            sweeps: Arc::clone(&self.sweeps),
            statements: Arc::clone(&self.statements),
            guest: Arc::clone(&self.guest),
            counter: Counter::new(&self.store, &self.catalog),
            warnings: Mutex::default(),
            watched: Watched::default(),
            figures: Figures::default(),
            deferred: Deferred::default(),
            interrupt: Interrupt::default(),
        }
    }

    /// What may end the statement of its session.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// What is counted of the statements that were run.
    pub fn statements(&self) -> &Arc<Statements> {
        &self.statements
    }

    /// Says who knows the rows of system tables that this crate cannot work out.
    pub fn tell_by(&self, outside: Arc<dyn Outside>) {
        self.guest.come(outside);
    }

    /// The tables and sequences that it knows.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn warnings(&self) -> &Mutex<Vec<Warning>> {
        &self.warnings
    }

    pub(crate) fn watched(&self) -> &Watched {
        &self.watched
    }

    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }

    pub(crate) fn deferred(&self) -> &Deferred {
        &self.deferred
    }

    pub(crate) fn counter(&self) -> &Counter {
        &self.counter
    }

    pub(crate) fn sweeps(&self) -> &Sweeps {
        &self.sweeps
    }

    /// What expressions may use.
    pub(crate) fn given<'g>(&'g self, parameters: &'g [Value]) -> Given<'g> {
        Given {
            parameters,
            executor: Some(self),
            ..Given::at(self.now_us())
        }
    }

    fn now_us(&self) -> i64 {
        i64::try_from(self.store.now_us()).unwrap_or(i64::MAX)
    }

    /// A random UUID of version 4.
    pub(crate) fn random_uuid(&self) -> Value {
        self.counter.random_uuid()
    }

    /// Lets DataFusion plan a query.
    pub(crate) async fn plan(&self, reader: &Reader, asked: Wanted<'_>) -> Result<PlannedQuery> {
        let queries = self.queries.get_or_init(|| {
            Queries::new(&self.catalog, &self.store, &self.statements, &self.guest)
        });
        queries.prepare(&self.catalog, reader, asked).await
    }

    /// Whether a statement changes tables themselves, which happens outside of transactions.
    pub fn is_definition(statement: &Statement) -> bool {
        ddl::is_definition(&statement.kind)
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            store: &self.store,
            catalog: &self.catalog,
            interrupt: &self.interrupt,
        }
    }

    /// Runs a statement that changes tables themselves.
    pub async fn define(&self, statement: &Statement) -> Result<Answer> {
        let ground = self.ground();
        let defined = blocking(|| ddl::define(ground, statement)).map_err(|error| match error {
            Error::NoSuchTable { name, .. } if self.catalog.relation(&name).is_ok() => {
                Error::Unsupported {
                    what: format!("changing collection `{name}` as one changes a table"),
                }
            }
            other => other,
        });
        match defined? {
            Some(Defined { command, indexes }) => {
                index::build(ground, indexes).await?;
                Ok(Answer::Done {
                    command,
                    rows: None,
                })
            }
            None => Err(unsupported(&statement.kind)),
        }
    }

    /// What a statement says IF EXISTS or IF NOT EXISTS about, and will not do now: SQLSTATE and text.
    pub fn skips(&self, kind: &Kind) -> Vec<(&'static str, String)> {
        let there = |name: &syntax::Name| {
            let name = table_name(name).ok()?;
            let found = self.catalog.get(&name).is_ok();
            Some((name, found))
        };
        match kind {
            Kind::DropTable(drop) if drop.if_exists => {
                let names = drop.names.iter().filter_map(there);
                let missing = names.filter(|(_, found)| !found);
                let text = |(name, _)| format!("table \"{name}\" does not exist, skipping");
                missing.map(|one| ("00000", text(one))).collect()
            }
            Kind::CreateTable(create) if create.if_not_exists => {
                let found = there(&create.name).filter(|(_, found)| *found);
                let text = |(name, _)| format!("relation \"{name}\" already exists, skipping");
                found.map(|one| ("42P07", text(one))).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What SHOW CREATE TABLE answers with.
    pub fn show_create_columns() -> Arc<[ResultColumn]> {
        let column = |name: &str| ResultColumn::new(name, Type::Utf8);
        ["Path", "PathType", "CreateQuery"].map(column).into()
    }

    /// The table that a statement names.
    pub fn named_table(&self, name: &syntax::Name) -> Result<Arc<Table>> {
        self.catalog.get(&table_name(name)?)
    }

    /// Whether there is such a table, collection or system table; an error if not.
    pub fn check_relation(&self, name: &syntax::Name) -> Result<()> {
        let parts: Vec<String> = name.parts.iter().map(column_name).collect();
        let of_system = match parts.as_slice() {
            [table] => system::find_table("pg_catalog", table),
            [schema, table] => system::find_table(schema, table),
            _ => None,
        };
        match of_system {
            Some(_) => Ok(()),
            None => self.catalog.relation(&table_name(name)?).map(|_| ()),
        }
    }

    /// The statement that makes a table as it is.
    pub fn show_create(&self, name: &syntax::Name) -> Result<AnswerRows> {
        let table = self.catalog.get(&table_name(name)?)?;
        let clauses = ddl::foreign_keys(&self.catalog, &table);
        let text = ddl::create_statement(table.schema(), clauses);
        let row = [table.schema().name(), "Table", &text].map(Value::from);
        let columns = Self::show_create_columns();
        Ok(AnswerRows::ready("SHOW", columns, vec![row.to_vec()]))
    }

    /// Runs a statement inside a transaction, by the fast path where there is one unless `fast` is
    /// false.
    pub async fn run(
        &self,
        transaction: &mut Transaction,
        prepared: &Prepared,
        parameters: &[Value],
        fast: bool,
    ) -> Result<Answer> {
        let parameters = &*prepared.taken(parameters);
        match prepared.plan() {
            Plan::Insert(plan) => {
                let query = prepared.query();
                plan.run(self, transaction, query, parameters).await
            }
            Plan::Change(plan) => {
                let run = Run {
                    query: prepared.query(),
                    parameters,
                    fast,
                };
                plan.run(self, transaction, run).await
            }
            Plan::Plain if matches!(prepared.statement().kind, Kind::Truncate(_)) => {
                Box::pin(self.truncate(transaction, prepared.statement())).await
            }
            Plan::Nested(plan) => {
                let work = plan.run(self, transaction, prepared, (parameters, fast));
                Box::pin(work).await
            }
            Plan::Wait(plan) => {
                Box::pin(plan.claim(self, transaction, parameters)).await?;
                Box::pin(self.run(transaction, &plan.bare, parameters, fast)).await
            }
            Plan::Skip(plan) => {
                let planned = prepared.query().ok_or_else(|| Error::Internal {
                    what: "a query was not planned".to_owned(),
                })?;
                let given = self.given(parameters);
                let rows = plan.run(self, transaction, planned, given);
                Ok(Answer::Rows(Box::pin(rows).await?))
            }
            Plan::Read(_)
            | Plan::Lock(_)
            | Plan::Count(_)
            | Plan::Explain(_)
            | Plan::Advisory(_)
            | Plan::Plain => {
                if let Plan::Lock(plan) = prepared.plan() {
                    plan.claim(transaction, self.given(parameters)).await?;
                }
                let reader = transaction.reader();
                let rows = self.select(reader, prepared, parameters, fast).await?;
                Ok(Answer::Rows(rows))
            }
        }
    }

    /// TRUNCATE inside of a transaction.
    async fn truncate(
        &self,
        transaction: &mut Transaction,
        statement: &Statement,
    ) -> Result<Answer> {
        if let Kind::Truncate(truncate) = &statement.kind {
            // Whoever refers to one of these tables is emptied too.
            for delete in ddl::deletions(self.ground(), truncate)? {
                let (plan, _) = ChangePlan::delete(&self.catalog, &delete, &[])?;
                let plan = plan.unrelated();
                let run = Run {
                    query: None,
                    parameters: &[],
                    fast: true,
                };
                plan.run(self, transaction, run).await?;
            }
        }
        Ok(Answer::Done {
            command: "TRUNCATE TABLE",
            rows: None,
        })
    }

    /// Runs a query, by the fast path if it is a read by key and unless `fast` is false.
    pub async fn select(
        &self,
        reader: Reader,
        prepared: &Prepared,
        parameters: &[Value],
        fast: bool,
    ) -> Result<AnswerRows> {
        match prepared.plan() {
            Plan::Wait(plan) => {
                return Box::pin(self.select(reader, &plan.bare, parameters, fast)).await;
            }
            // Only a session has locks.
            Plan::Advisory(plan) => return Err(plan.refusal()),
            _ => {}
        }
        let parameters = &*prepared.taken(parameters);
        if fast && let Some(rows) = self.read_by_key(&reader, prepared, parameters)? {
            return Ok(rows);
        }
        if let Plan::Count(plan) = prepared.plan() {
            let row = plan.row(self.given(parameters))?;
            let columns = Arc::clone(&plan.columns);
            return Ok(AnswerRows::ready("SELECT", columns, vec![row]));
        }
        let rows = match (prepared.query(), &prepared.statement().kind) {
            (Some(query), _) => Box::pin(query.run(reader, self.given(parameters))).await?,
            (None, Kind::Query(query)) => {
                Box::pin(self.select_planned(reader, &query.query, parameters)).await?
            }
            (None, other) => return Err(unsupported(other)),
        };
        Ok(AnswerRows {
            columns: Arc::clone(rows.columns()),
            source: Source::Query(rows),
            command: "SELECT",
        })
    }

    /// Begins a read by key that is made for the tables as they are now; `None` if it is anything else.
    pub fn read_at_once(
        &self,
        reader: Reader,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Option<AnswerRows>> {
        match prepared.is_of(self.catalog().generation()) {
            true => self.read_by_key(&reader, prepared, &prepared.taken(parameters)),
            false => Ok(None),
        }
    }

    fn read_by_key(
        &self,
        reader: &Reader,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Option<AnswerRows>> {
        let plan = match prepared.plan() {
            Plan::Read(plan) => plan,
            Plan::Lock(plan) => &plan.read,
            _ => return Ok(None),
        };
        let rows = plan.run(reader, self.given(parameters))?;
        Ok(rows.map(|rows| AnswerRows {
            columns: Arc::clone(&plan.columns),
            source: Source::Fast(Box::new(rows)),
            command: "SELECT",
        }))
    }

    /// Runs a query through DataFusion, so that its rows come as they are sent.
    pub async fn stream(&self, reader: Reader, query: &ast::Query) -> Result<AnswerRows> {
        let query = prepare::without_blanks(&self.catalog, query);
        let asked = Wanted {
            query: &query,
            hints: &[],
            shown: true,
        };
        let planned = self.plan(&reader, asked).await?;
        let rows = planned.run(reader, self.given(&[])).await?;
        Ok(AnswerRows {
            columns: Arc::clone(rows.columns()),
            source: Source::Query(rows),
            command: "SELECT",
        })
    }

    /// Runs a query through DataFusion, whatever it is.
    pub(crate) async fn select_planned(
        &self,
        reader: Reader,
        query: &ast::Query,
        parameters: &[Value],
    ) -> Result<QueryRows> {
        let kinds: Vec<Option<Type>> = parameters.iter().map(Value::value_type).collect();
        let asked = Wanted {
            query,
            hints: &kinds,
            shown: false,
        };
        let planned = self.plan(&reader, asked).await?;
        planned.run(reader, self.given(parameters)).await
    }
}

/// A statement that is understood and not run.
fn unsupported(kind: &Kind) -> Error {
    let what = match kind {
        Kind::Other(statement) => {
            let text = statement.to_string();
            text.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        }
        Kind::Copy(_) => "COPY".to_owned(),
        Kind::Explain(_) => "EXPLAIN".to_owned(),
        Kind::Define(_) => "a named expression".to_owned(),
        Kind::Declare(_) => "DECLARE".to_owned(),
        Kind::Pragma(_) => "PRAGMA".to_owned(),
        _ => "this statement".to_owned(),
    };
    Error::Unsupported { what }
}
