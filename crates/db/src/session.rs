//! One client's conversation with the database, whatever it came in by.
//!
//! ```text
//!   text ─► statements ─► prepared: parameter types, result columns ─► execute ─► rows, or done
//!
//!            idle ── BEGIN ──► open ── COMMIT, ROLLBACK ──► idle
//!              │                │ an error
//!              │                ▼
//!   a statement alone is        failed: everything but COMMIT, ROLLBACK and ROLLBACK TO is refused
//!   a transaction of its own
//! ```
//!
//! COMMIT of a failed transaction rolls it back, as in PostgreSQL. Statements that change tables
//! themselves take effect at once, also inside BEGIN and COMMIT, where they are refused once the
//! transaction has written. TRUNCATE deletes row by row there, and can be taken back.
//!
//! A *block* is several statements that came as one text: they are one transaction although nobody
//! said BEGIN. BEGIN inside a block makes it a transaction that outlives the block; a statement that
//! changes tables commits what came before it.

mod advise;
mod advisory;
mod copy;
mod cursors;
mod define;
mod error;
mod explain;
mod instant;
mod notices;
mod open;
mod overlooked;
mod recall;
mod record;
mod reply;
mod retry;
mod set;
mod settings;
mod statements;
mod tally;
mod time;

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::Arc;

use keys::{Type, Value};
use sql::{Answer, Executor, Prepared, named};
use syntax::Statement;
use syntax::statement::Kind as Asks;
use syntax::statement::Show;
use txn::{Committed, Durability, Locker};

use self::cursors::Cursor;
pub(crate) use self::cursors::folded;
pub(crate) use self::error::SessionError;
use self::open::Open;
use self::overlooked::overlooked;
use self::record::Recording;
use self::retry::Lost;
use self::set::{locks, read_only, show_columns};
use self::settings::{Settings, Until};
pub(crate) use self::tally::Run;
use self::tally::{Names, Touched};
use crate::{Database, Error, Kind, Result, advice, findings, verify};

pub use copy::{Copy, CopyForm, CopyFormat, CopyHeader, CopyIn};
pub use notices::Notice;
pub use recall::Recalled;
pub use reply::{Reply, ReplyRows};
pub use sql::Interrupt;

/// Where a session stands between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    /// Each statement is a transaction of its own.
    Idle,
    /// Inside BEGIN and COMMIT.
    Open,
    /// Inside a transaction that met an error.
    Failed,
}

/// A conversation. Dropping it rolls back what is open.
pub struct Session {
    database: Arc<Database>,
    /// Runs its statements, and knows what it took from sequences.
    executor: Arc<Executor>,
    transaction: Option<Open>,
    /// The rows that it lost to others.
    lost: Lost,
    settings: Settings,
    notices: Vec<Notice>,
    /// Statements that it was found out of whether they read everything.
    looked_at: HashSet<u64>,
    /// What PREPARE made, by name.
    named: BTreeMap<String, statements::Named>,
    deallocated: Vec<String>,
    /// What DECLARE made, by name.
    cursors: BTreeMap<String, Cursor>,
    /// The advisory locks that it has.
    locks: Locker,
    names: Names,
    recording: Recording,
    /// The partitions that the statement under way touches.
    touched: Touched,
    /// Who the client says it is, and what it calls the database.
    user: String,
    database_name: String,
}

/// What a client is called that does not say.
const DEFAULT_NAME: &str = "evenkeel";

impl Session {
    /// A new conversation.
    pub fn new(database: Arc<Database>) -> Self {
        let executor = Arc::new(database.executor().for_session());
        Self {
            executor,
            transaction: None,
            lost: Lost::default(),
            settings: Settings::default(),
            notices: Vec::new(),
            looked_at: HashSet::new(),
            named: BTreeMap::new(),
            deallocated: Vec::new(),
            cursors: BTreeMap::new(),
            locks: Locker::new(&database.store),
            names: Names::default(),
            recording: Recording::default(),
            touched: Touched::Unknown,
            user: DEFAULT_NAME.to_owned(),
            database_name: DEFAULT_NAME.to_owned(),
            database,
        }
    }

    /// What ends a statement of this session that blocks its thread, such as a definition that validates
    /// rows. Whoever cancels a statement asks here, and drops its future as well.
    pub fn interrupt(&self) -> Interrupt {
        self.executor.interrupt().clone()
    }

    /// Takes what a client says of itself when it comes: `user`, settings by name, and `options` with
    /// settings as on a command line.
    pub fn start(&mut self, parameters: &BTreeMap<String, String>) -> Result<()> {
        self.settings.start(parameters)
    }

    /// Settings that clients are told about and that changed since the last call; the first time all
    /// of them.
    pub fn take_reports(&mut self) -> Vec<(&'static str, String)> {
        self.settings.take_reports()
    }

    /// Says who the client is and what it calls the database, for `current_user` and the like.
    pub fn introduce(&mut self, user: &str, database: &str) {
        self.user = user.to_owned();
        self.database_name = database.to_owned();
    }

    /// Reads a text of any number of statements. Runs nothing, but text that is no statement fails an
    /// open transaction.
    pub fn parse(&mut self, text: &str) -> Result<Vec<Statement>> {
        let parsed = syntax::parse(text).map_err(sql::Error::from);
        let resolved = parsed.and_then(|statements| named::resolve(text, statements));
        let resolved = resolved.map_err(|error| self.failed(error.into()))?;
        for notice in &resolved.notices {
            self.warn("01000", notice);
        }
        let mut statements = resolved.statements;
        self.names.give(text, &mut statements);
        findings::exempt(text, &mut statements);
        Ok(statements)
    }

    /// Works out the parameters and result columns of a statement.
    async fn make_ready(
        &mut self,
        mut statement: Statement,
        hints: &[Option<Type>],
    ) -> Result<Prepared> {
        if self.state() == TransactionState::Failed && !ends(&statement.kind) {
            return Err(SessionError::Failed.into());
        }
        let personal = sql::Personal {
            user: &self.user,
            database: &self.database_name,
            settings: &|name| self.settings.get(name).map(str::to_owned),
        };
        let personalised = sql::personalise(&mut statement, personal);
        if let Some(name) = personalised.unknown {
            let unknown = self.settings.unknown(&name).into();
            return Err(self.failed(unknown));
        }
        if let Asks::Show(Show::Variable(name)) = &statement.kind {
            let columns = show_columns(name);
            return Ok(Prepared::plain(statement, Some(columns)));
        }
        if let Asks::Other(other) = &statement.kind
            && let Some(named) = self.named(other)?
        {
            let columns = named.columns().cloned();
            let tally = named.tally().cloned();
            return Ok(Prepared::plain(statement, columns).tallied(tally));
        }
        if let Asks::DeclareCursor(_) | Asks::Fetch(_) | Asks::CloseCursor(_) = &statement.kind {
            let prepared = Box::pin(self.prepare_cursor(statement, hints)).await;
            return prepared.map_err(|error| self.failed(error));
        }
        if let Asks::Call(function) = &statement.kind {
            let columns = Executor::call_columns(function);
            let columns = columns.map_err(|error| self.failed(error.into()))?;
            return Ok(Prepared::plain(statement, Some(columns)));
        }
        if let Some(prepared) = time::prepare_sleep(&statement) {
            return Ok(prepared);
        }
        let discard = matches!(&statement.kind, Asks::Query(query) if query.discard);
        if let Asks::Copy(copy) = &statement.kind {
            let checked = self.check_copy(copy);
            checked.map_err(|error| self.failed(error))?;
        }
        if let Asks::Show(Show::CreateTable(_)) | Asks::Advise(_) = &statement.kind {
            let columns = match &statement.kind {
                Asks::Advise(advise) if advise.verify.is_some() => verify::columns(),
                Asks::Advise(_) => advice::columns(),
                _ => Executor::show_create_columns(),
            };
            return Ok(Prepared::plain(statement, Some(columns)));
        }
        let reader = match &self.transaction {
            Some(open) => open.inner.reader(),
            None => self.database.store.view().reader(),
        };
        let prepared = Box::pin(self.executor.prepare_resolved(statement, reader, hints)).await;
        let prepared = prepared.map_err(|error| self.failed(error.into()))?;
        let prepared = prepared.owned(personalised.own);
        Ok(match discard {
            true => prepared.without_rows(),
            false => prepared,
        })
    }

    /// Runs a prepared statement.
    pub async fn execute(&mut self, prepared: &Prepared, parameters: &[Value]) -> Result<Reply> {
        let limit = self.limit(&prepared.statement().kind);
        let started_ns = self.database.latencies.now_ns();
        let mut timer = self.timer(prepared, parameters, started_ns);
        let generation = self.executor.catalog().generation();
        self.touched = Touched::Unknown;
        let outcome = {
            let work = self.dispatch_settled(prepared, parameters);
            match limit {
                Some(limit) => limit.keep(pin!(work)).await.flatten(),
                None => work.await,
            }
        };
        self.learn(&mut timer, &outcome);
        match outcome {
            Ok(Reply::Rows(rows)) => Ok(Reply::Rows(rows.timed(limit, timer))),
            Ok(done) => Ok(done),
            Err(error) => {
                let error = match Executor::is_definition(prepared.statement()) {
                    true => error,
                    false => self.redefined(generation, error),
                };
                Err(self.failed(error).of(prepared.span()))
            }
        }
    }

    /// Begins a block, or goes on with it, unless a transaction is open.
    pub fn begin_block(&mut self) {
        if self.transaction.is_none() {
            let inner = self.begin_transaction();
            self.transaction = Some(Open::new(inner, false, true));
        }
    }

    /// Ends a block: commits what its statements did, or takes it all back if one of them failed.
    pub async fn end_block(&mut self) -> Result<()> {
        let Some(open) = self.transaction.take_if(|open| open.block) else {
            return Ok(());
        };
        let ended = match open.failed {
            true => {
                self.ended(false);
                return Ok(());
            }
            false => self.finish(open.inner).await,
        };
        self.ended(ended.is_ok());
        ended.map(drop).inspect_err(|error| self.lost.note(error))
    }

    /// Where it stands.
    pub fn state(&self) -> TransactionState {
        match &self.transaction {
            None => TransactionState::Idle,
            Some(open) if open.failed => TransactionState::Failed,
            Some(_) => TransactionState::Open,
        }
    }

    /// A name that was known when a statement began, and is not found now, is no fault of the statement:
    /// another one changed the tables in between.
    fn redefined(&self, generation: u64, error: Error) -> Error {
        let is_missing = error.kind() == Kind::NotFound;
        match is_missing && self.executor.catalog().generation() != generation {
            true => sql::Error::Redefined.into(),
            false => error,
        }
    }

    /// An error fails the open transaction.
    fn failed(&mut self, error: Error) -> Error {
        self.fail();
        self.lost.note(&error);
        // What it would have been warned of did not happen.
        self.executor.take_warnings();
        error
    }

    /// Fails the open transaction, when a client's message could not even be read.
    pub fn fail(&mut self) {
        if let Some(open) = &mut self.transaction {
            open.failed = true;
        }
    }

    async fn dispatch(&mut self, prepared: &Prepared, parameters: &[Value]) -> Result<Reply> {
        let kind = &prepared.statement().kind;
        if self.state() == TransactionState::Failed && !ends(kind) {
            return Err(SessionError::Failed.into());
        }
        if let Asks::Query(query) = kind
            && !prepared.is_by_key()
        {
            self.configure(&query.query)?;
        }
        match kind {
            Asks::Begin(modes) => {
                let default = self.settings.often().read_only;
                self.begin(read_only(modes).unwrap_or(default))
            }
            Asks::Commit { .. } => self.commit().await,
            Asks::Rollback { .. } => {
                if self.transaction.take().is_none() {
                    self.warn("25P01", "there is no transaction in progress");
                }
                self.ended(false);
                done("ROLLBACK")
            }
            Asks::Savepoint(name) => self.mark(&name.value),
            Asks::Release(name) => self.release(&name.value),
            Asks::RollbackTo(name) => self.roll_back_to(&name.value),
            Asks::Set(set) => self.set(set),
            Asks::Show(show) => self.show(show),
            Asks::Reset(reset) => self.reset(reset),
            Asks::Discard(what) => self.discard(*what),
            Asks::Vacuum(vacuum) => self.vacuum(vacuum),
            Asks::Advise(advise) => Box::pin(self.advise(advise)).await,
            Asks::Explain(_) if prepared.explained().is_some() => {
                Box::pin(self.explain(prepared, parameters)).await
            }
            Asks::DeclareCursor(_) | Asks::Fetch(_) | Asks::CloseCursor(_) => {
                Box::pin(self.run_cursor(prepared, parameters)).await
            }
            Asks::Query(query)
                if !prepared.is_by_key()
                    && let Some(time) = sql::sleeps(&query.query) =>
            {
                Box::pin(time::sleep(&time, parameters)).await
            }
            Asks::Query(_) if prepared.advisory().is_some() => {
                Box::pin(self.run_advisory(prepared, parameters)).await
            }
            Asks::Call(function) => Box::pin(self.call(function)).await,
            Asks::Other(statement) if let Some(command) = overlooked(statement) => done(command),
            Asks::Other(statement) if let Some(reply) = self.by_name(statement).await? => Ok(reply),
            _ => self.run_bound(prepared, parameters).await,
        }
    }

    /// A statement over tables, once the lists among its parameters are part of it.
    async fn run_bound(&mut self, prepared: &Prepared, parameters: &[Value]) -> Result<Reply> {
        match named::bind(prepared.statement(), parameters)? {
            Some((bound, parameters)) => {
                let kinds: Vec<_> = parameters.iter().map(Value::value_type).collect();
                let prepared = Box::pin(self.make_ready(bound, &kinds)).await?;
                Box::pin(self.run(&prepared, &parameters)).await
            }
            None => self.run(prepared, parameters).await,
        }
    }

    /// Changes the settings that a query asks to change.
    fn configure(&mut self, query: &syntax::ast::Query) -> Result<()> {
        for (name, value) in sql::configured(query) {
            self.settings.set(&name, Some(&value), Until::Reset)?;
        }
        Ok(())
    }

    /// A statement over tables.
    async fn run(&mut self, prepared: &Prepared, parameters: &[Value]) -> Result<Reply> {
        let database = Arc::clone(&self.database);
        let executor = Arc::clone(&self.executor);
        let statement = prepared.statement();
        if prepared.explained().is_some() {
            return Box::pin(self.explain(prepared, parameters)).await;
        }
        if !matches!(statement.kind, Asks::Query(_))
            && self.transaction.is_none()
            && self.settings.often().read_only
        {
            return Err(SessionError::ReadOnly.into());
        }
        if Executor::is_definition(statement)
            && let Some(reply) = Box::pin(self.define(statement)).await?
        {
            return Ok(reply);
        }
        let fast = self.settings.often().fast_path;
        let patience = self.patience();
        let is_query = matches!(statement.kind, Asks::Query(_));
        if prepared.may_read_all() {
            let reader = database.store.view().reader();
            let work = self.notice_whole_reads(&reader, prepared, parameters);
            Box::pin(work).await;
        }
        if let Some(open) = &mut self.transaction {
            if open.read_only && (!is_query || locks(&statement.kind)) {
                return Err(SessionError::ReadOnly.into());
            }
            open.inner.set_patience(patience);
            self.lost.lock(&mut open.inner).await?;
            let fresh = executor.refreshed(prepared, open.inner.reader()).await?;
            let prepared = fresh.as_ref().unwrap_or(prepared);
            open.inner.reader().count_anew();
            let answer = executor.run(&mut open.inner, prepared, parameters, fast);
            let answer = answer.await?;
            let touched = Touched::by(&open.inner.reader());
            self.notice_warnings();
            let reply = reply(answer, statement).await;
            self.touched = touched;
            return reply;
        }
        if is_query && !prepared.skips_rows() {
            let reader = database.store.view().reader();
            let fresh = executor.refreshed(prepared, reader.clone()).await?;
            let prepared = fresh.as_ref().unwrap_or(prepared);
            let touched = Touched::by(&reader);
            let rows = executor.select(reader, prepared, parameters, fast).await?;
            let reply = reply(Answer::Rows(rows), statement).await;
            // Only now: a statement that is given up in between must not hold its snapshot.
            self.touched = touched;
            return reply;
        }
        let mut transaction = self.begin_transaction();
        transaction.set_patience(patience);
        self.lost.lock(&mut transaction).await?;
        let fresh = executor.refreshed(prepared, transaction.reader()).await?;
        let prepared = fresh.as_ref().unwrap_or(prepared);
        let answer = executor
            .run(&mut transaction, prepared, parameters, fast)
            .await?;
        self.notice_warnings();
        self.finish(transaction).await?;
        Ok(answer.into())
    }

    /// A transaction whose claims and the session's locks are waited for as one's.
    fn begin_transaction(&mut self) -> txn::Transaction {
        self.executor.forget_deferred();
        self.lost.begin();
        let mut transaction = self.database.store.begin();
        transaction.stand_for(&self.locks);
        transaction
    }

    fn begin(&mut self, read_only: bool) -> Result<Reply> {
        match &mut self.transaction {
            Some(open) if open.block => {
                open.block = false;
                open.read_only = read_only;
            }
            Some(_) => self.warn("25001", "there is already a transaction in progress"),
            None => {
                let inner = self.begin_transaction();
                self.transaction = Some(Open::new(inner, read_only, false));
            }
        }
        Ok(Reply::Done {
            command: "BEGIN",
            rows: None,
        })
    }

    async fn commit(&mut self) -> Result<Reply> {
        if self.transaction.as_ref().is_none_or(|open| open.block) {
            self.warn("25P01", "there is no transaction in progress");
        }
        let command = match self.transaction.take() {
            None => "COMMIT",
            Some(open) if open.failed => {
                self.ended(false);
                "ROLLBACK"
            }
            Some(open) => {
                let ended = self.finish(open.inner).await;
                self.ended(ended.is_ok());
                ended?;
                "COMMIT"
            }
        };
        Ok(Reply::Done {
            command,
            rows: None,
        })
    }

    /// Commits, without holding up the thread's other work while the disk syncs.
    async fn finish(&mut self, mut transaction: txn::Transaction) -> Result<Committed> {
        self.executor.settle_deferred(&mut transaction)?;
        let durability = match self.settings.often().synced {
            true => Durability::Synced,
            false => Durability::Buffered,
        };
        let committed = transaction.commit_later(durability).await?;
        self.touched = Touched::Known(committed.partitions.len());
        Ok(committed)
    }

    fn open(&mut self, command: &'static str) -> Result<&mut Open> {
        self.transaction
            .as_mut()
            .ok_or_else(|| SessionError::NoTransaction { command }.into())
    }

    /// What a transaction changed in the session ends with it.
    fn ended(&mut self, committed: bool) {
        self.locks.end_taken(0);
        self.settings.end(committed);
        self.end_cursors(committed);
        self.end_recording(committed);
    }
}

/// Whether a statement is one that runs in a failed transaction.
fn ends(kind: &Asks) -> bool {
    matches!(
        kind,
        Asks::Commit { .. } | Asks::Rollback { .. } | Asks::RollbackTo(_)
    )
}

fn done(command: &'static str) -> Result<Reply> {
    Ok(Reply::Done {
        command,
        rows: None,
    })
}

/// The answer to a statement; DISCARD SELECT works out its rows and sends none.
async fn reply(answer: Answer, statement: &Statement) -> Result<Reply> {
    match (answer, &statement.kind) {
        (Answer::Rows(mut rows), Asks::Query(query)) if query.discard => {
            while let Some(batch) = rows.next().await {
                batch?;
            }
            Ok(Reply::Done {
                command: "SELECT",
                rows: Some(0),
            })
        }
        (answer, _) => Ok(answer.into()),
    }
}
