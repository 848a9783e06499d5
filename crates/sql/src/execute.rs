//! Running statements: who reads, who writes, and what is answered.

use std::sync::{Arc, OnceLock};

use keys::{Type, Value};
use syntax::{Kind, Statement, ast};
use txn::{Reader, Store, Transaction};

use crate::constant::Given;
use crate::fast::FastRead;
use crate::names::table_name;
use crate::query::{PlannedQuery, Queries, QueryRows, ResultColumn};
use crate::{Catalog, Error, Result, ddl, modify};

/// Runs statements over the tables of a store.
#[derive(Debug)]
pub struct Executor {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    /// Made when first needed: a database that only reads by key never needs it.
    queries: OnceLock<Queries>,
}

/// A statement that is ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    statement: Arc<Statement>,
    parameters: Arc<[Type]>,
    columns: Option<Arc<[ResultColumn]>>,
}

impl Prepared {
    /// A statement without parameters whose columns are known.
    pub fn plain(statement: Statement, columns: Option<Arc<[ResultColumn]>>) -> Self {
        Self {
            statement: Arc::new(statement),
            parameters: Arc::default(),
            columns,
        }
    }

    /// What it was prepared from.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The types of `$1`, `$2`, ….
    pub fn parameters(&self) -> &[Type] {
        &self.parameters
    }

    /// What its rows look like, if it answers with rows.
    pub fn columns(&self) -> Option<&Arc<[ResultColumn]>> {
        self.columns.as_ref()
    }
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
            Source::Query(rows) => rows.next().await,
        }
    }
}

impl Executor {
    /// Runs statements over these tables.
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>) -> Self {
        Self {
            store,
            catalog,
            queries: OnceLock::new(),
        }
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub(crate) fn given<'g>(&self, parameters: &'g [Value]) -> Given<'g> {
        let now_us = i64::try_from(self.store.now_us()).unwrap_or(i64::MAX);
        Given { parameters, now_us }
    }

    pub(crate) async fn plan(&self, reader: Reader, query: &ast::Query) -> Result<PlannedQuery> {
        self.queries
            .get_or_init(Queries::new)
            .plan(&self.catalog, reader, query)
            .await
    }

    /// Works out the parameters and result columns of a statement. `hints` are types that the client
    /// stated.
    pub async fn prepare(
        &self,
        statement: Statement,
        reader: Reader,
        hints: &[Option<Type>],
    ) -> Result<Prepared> {
        let (mut parameters, columns) = match &statement.kind {
            Kind::Query(query) => {
                let planned = self.plan(reader, &query.query).await?;
                (planned.parameters()?, Some(planned.columns()))
            }
            Kind::Insert(insert) => modify::describe_insert(self, reader, insert).await?,
            Kind::Update(update) => {
                let read = modify::update_query(self, update)?;
                let planned = self.plan(reader, &read.query).await?;
                let mut parameters = planned.parameters()?;
                read.assigned_parameters(update, &mut parameters);
                (parameters, read.returning(update.returning.as_deref())?)
            }
            Kind::Delete(delete) => {
                let read = modify::delete_query(self, delete)?;
                let planned = self.plan(reader, &read.query).await?;
                let columns = read.returning(delete.returning.as_deref())?;
                (planned.parameters()?, columns)
            }
            _ => (Vec::new(), None),
        };
        for (index, hint) in hints.iter().enumerate() {
            if parameters.len() <= index {
                parameters.resize(index + 1, None);
            }
            if let (Some(kind), Some(place)) = (hint, parameters.get_mut(index)) {
                *place = Some(*kind);
            }
        }
        // What nothing tells is text, as in PostgreSQL.
        let parameters = parameters
            .into_iter()
            .map(|kind| kind.unwrap_or(Type::Utf8))
            .collect();
        Ok(Prepared {
            statement: Arc::new(statement),
            parameters,
            columns,
        })
    }

    /// Whether a statement changes tables themselves, which happens outside of transactions.
    pub fn is_definition(statement: &Statement) -> bool {
        matches!(
            statement.kind,
            Kind::CreateTable(_) | Kind::DropTable(_) | Kind::AlterTable(_) | Kind::Truncate(_)
        )
    }

    /// Runs a statement that changes tables themselves.
    pub fn define(&self, statement: &Statement) -> Result<Answer> {
        let done = |command| {
            Ok(Answer::Done {
                command,
                rows: None,
            })
        };
        match &statement.kind {
            Kind::CreateTable(create) => {
                let (schema, split_keys) = ddl::table(create)?;
                let mut bounds = Vec::with_capacity(split_keys.len());
                for key in &split_keys {
                    bounds.push(schema.encode_key_prefix(key)?);
                }
                match self.catalog.create(&self.store, schema, &bounds) {
                    Err(Error::TableExists { .. }) if create.if_not_exists => {}
                    other => {
                        other?;
                    }
                }
                done("CREATE TABLE")
            }
            Kind::DropTable(drop) => {
                for name in &drop.names {
                    match self.catalog.remove(&self.store, &table_name(name)?) {
                        Err(Error::NoSuchTable { .. }) if drop.if_exists => {}
                        other => other?,
                    }
                }
                done("DROP TABLE")
            }
            other => Err(unsupported(other)),
        }
    }

    /// Runs a statement inside a transaction.
    pub async fn run(
        &self,
        transaction: &mut Transaction,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Answer> {
        match &statement.kind {
            Kind::Query(query) => self
                .select(transaction.reader(), &query.query, parameters)
                .await
                .map(Answer::Rows),
            Kind::Insert(insert) => modify::insert(self, transaction, insert, parameters).await,
            Kind::Update(update) => modify::update(self, transaction, update, parameters).await,
            Kind::Delete(delete) => modify::delete(self, transaction, delete, parameters).await,
            other => Err(unsupported(other)),
        }
    }

    /// Runs a query, by the fast path if it is a read by key.
    pub async fn select(
        &self,
        reader: Reader,
        query: &ast::Query,
        parameters: &[Value],
    ) -> Result<AnswerRows> {
        if let Some(fast) = FastRead::new(&self.catalog, query, self.given(parameters))? {
            let rows = fast.run(&reader)?;
            return Ok(AnswerRows::ready("SELECT", fast.columns, rows));
        }
        self.select_planned(reader, query, parameters).await
    }

    /// Runs a query through DataFusion, whatever it is.
    pub async fn select_planned(
        &self,
        reader: Reader,
        query: &ast::Query,
        parameters: &[Value],
    ) -> Result<AnswerRows> {
        let planned = self.plan(reader, query).await?;
        let rows = planned.run(parameters).await?;
        let columns = Arc::clone(rows.columns());
        Ok(AnswerRows {
            columns,
            source: Source::Query(rows),
            command: "SELECT",
        })
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
        Kind::AlterTable(_) => "ALTER TABLE".to_owned(),
        Kind::Truncate(_) => "TRUNCATE".to_owned(),
        Kind::CreateIndex(_) | Kind::DropIndex(_) => "an index".to_owned(),
        Kind::CreateSequence(_) | Kind::AlterSequence(_) | Kind::DropSequence(_) => {
            "a sequence".to_owned()
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
