//! [`Client`]: runs the statements of a trace on a scratch table.

use std::collections::HashMap;
use std::sync::Arc;

use advisor::trace::{Kind, Txn};
use sql::{Answer, AnswerRows, Prepared};
use txn::Durability;

use super::sample::Came;
use super::statements::{Asked, Maker};
use super::work::Work;
use crate::{Database, Result, Session};

/// Statements that are kept prepared.
const PREPARED_MAX: usize = 1_000;
/// Rows that arrive in one transaction.
const ARRIVING_MAX: usize = 500;

/// Somebody who runs statements.
pub(super) struct Client<'w> {
    database: Arc<Database>,
    session: Session,
    maker: Maker<'w>,
    prepared: HashMap<String, Prepared>,
}

/// What a transaction touched.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) partitions: usize,
    /// Of each of its reads the partitions and the rows that it went over.
    pub(super) reads: Vec<(usize, u64)>,
}

impl<'w> Client<'w> {
    pub(super) fn new(database: Arc<Database>, maker: Maker<'w>) -> Self {
        Self {
            session: Session::new(Arc::clone(&database)),
            database,
            maker,
            prepared: HashMap::new(),
        }
    }

    /// Rows come in. One that does not fit is left out.
    pub(super) async fn load(&mut self, rows: &[&Came]) -> Result<()> {
        for some in rows.chunks(ARRIVING_MAX) {
            let mut transaction = self.database.store.begin();
            for came in some {
                let asked = self.maker.arrive(&came.row);
                let prepared = self.prepare(&asked).await?;
                let savepoint = transaction.savepoint();
                let executor = self.database.executor();
                let run = executor.run(&mut transaction, &prepared, &asked.parameters, true);
                if run.await.is_err() {
                    transaction.rollback_to(savepoint)?;
                }
            }
            transaction.commit_later(Durability::Buffered).await?;
        }
        Ok(())
    }

    /// Runs a transaction.
    pub(super) async fn run(&mut self, txn: &Txn, work: &Work) -> Result<Ran> {
        let mut asked = Vec::new();
        for op in &txn.ops {
            if let Some(kind) = work.kind(op) {
                let statements = self.maker.op(op, kind).into_iter();
                asked.extend(statements.map(|one| (one, kind)));
            }
        }
        match asked.as_slice() {
            [(asked, Kind::Read)] => self.read(asked).await,
            asked => self.change(asked).await,
        }
    }

    /// One read, which is a transaction of its own.
    async fn read(&mut self, asked: &Asked) -> Result<Ran> {
        let prepared = self.prepare(asked).await?;
        let reader = self.database.store.view().reader();
        let touches = reader.touches();
        let executor = self.database.executor();
        let rows = executor.select(reader, &prepared, &asked.parameters, true);
        drain(rows.await?).await?;
        let partitions = touches.count();
        Ok(Ran {
            partitions,
            reads: vec![(partitions, touches.rows())],
        })
    }

    async fn change(&mut self, asked: &[(Asked, Kind)]) -> Result<Ran> {
        let mut ran = Ran::default();
        let mut all = Vec::with_capacity(asked.len());
        for (one, kind) in asked {
            all.push((self.prepare(one).await?, one, *kind));
        }
        let mut transaction = self.database.store.begin();
        for (prepared, one, kind) in all {
            transaction.reader().count_anew();
            let executor = self.database.executor();
            let answer = executor.run(&mut transaction, &prepared, &one.parameters, true);
            let answer = answer.await?;
            let touches = transaction.reader().touches();
            if let Answer::Rows(rows) = answer {
                drain(rows).await?;
            }
            if kind == Kind::Read {
                ran.reads.push((touches.count(), touches.rows()));
            }
        }
        let committed = transaction.commit_later(Durability::Buffered).await?;
        ran.partitions = committed.partitions.len();
        Ok(ran)
    }

    async fn prepare(&mut self, asked: &Asked) -> Result<Prepared> {
        if let Some(prepared) = self.prepared.get(&asked.text) {
            return Ok(prepared.clone());
        }
        let mut statements = self.session.parse(&asked.text)?;
        let statement = statements.pop().ok_or(sql::Error::Changed)?;
        let prepared = self.session.prepare(statement, &asked.types).await?;
        if self.prepared.len() >= PREPARED_MAX {
            self.prepared.clear();
        }
        self.prepared.insert(asked.text.clone(), prepared.clone());
        Ok(prepared)
    }
}

async fn drain(mut rows: AnswerRows) -> Result<()> {
    while let Some(some) = rows.next().await {
        some?;
    }
    Ok(())
}
