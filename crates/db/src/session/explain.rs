//! EXPLAIN, and EXPLAIN ANALYZE, which runs the statement as it would run alone.

use std::sync::Arc;

use keys::Value;
use sql::{Answer, Executor, Measured, Prepared, Ran, Touched};
use syntax::statement::Kind as Asks;

use super::{Reply, Session, SessionError};
use crate::{Error, Result};

impl Session {
    /// Explains a statement, after running it if that is asked for.
    pub(super) async fn explain(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Reply> {
        let database = Arc::clone(&self.database);
        let executor = Arc::clone(&self.executor);
        let fast = self.settings.often().fast_path;
        let reader = match &self.transaction {
            Some(open) => open.inner.reader(),
            None => database.store.view().reader(),
        };
        let fresh = executor.refreshed(prepared, reader.clone()).await?;
        let prepared = fresh.as_ref().unwrap_or(prepared);
        let mut explained = executor
            .explain(&reader, prepared, parameters, fast)
            .await?;
        let analyze =
            matches!(&prepared.statement().kind, Asks::Explain(explain) if explain.analyze);
        if let Some(inner) = prepared.explained().filter(|_| analyze) {
            let begun_us = database.store.now_us();
            executor.keep_figures();
            let measured = self.measure(&executor, inner, parameters).await;
            let found = executor.take_figures();
            let (work, touched) = measured?;
            let ended_us = database.store.now_us();
            match (&work.ran, &found) {
                (Some(ran), _) => explained.ran(ran),
                (None, Some(found)) => explained.found_by(found),
                (None, None) => {}
            }
            explained.measured(Measured {
                rows: work.rows,
                touched,
                took_us: ended_us.saturating_sub(begun_us),
            });
        }
        Ok(Answer::Rows(explained.answer(prepared)).into())
    }

    /// Runs the statement for the sake of its rows and partitions.
    async fn measure(
        &mut self,
        executor: &Executor,
        inner: &Prepared,
        parameters: &[Value],
    ) -> Result<(Work, Touched)> {
        let fast = self.settings.often().fast_path;
        let is_query = matches!(inner.statement().kind, Asks::Query(_));
        if let Some(open) = &mut self.transaction {
            if open.read_only && !is_query {
                return Err(SessionError::ReadOnly.into());
            }
            let answer = executor
                .run(&mut open.inner, inner, parameters, fast)
                .await?;
            let work = finish(answer).await?;
            let read = open.inner.reader().partitions().len();
            return Ok((work, Touched::Open(read)));
        }
        if is_query {
            let reader = self.database.store.view().reader();
            let rows = executor
                .select(reader.clone(), inner, parameters, fast)
                .await?;
            let work = finish(Answer::Rows(rows)).await?;
            return Ok((work, Touched::Read(reader.partitions().len())));
        }
        if self.settings.often().read_only {
            return Err(SessionError::ReadOnly.into());
        }
        let mut transaction = self.begin_transaction();
        let answer = executor
            .run(&mut transaction, inner, parameters, fast)
            .await?;
        let work = finish(answer).await?;
        let wrote = !transaction.is_clean();
        let committed = self.finish(transaction).await?;
        let count = committed.partitions.len();
        let touched = match wrote {
            true => Touched::Committed(count),
            false => Touched::Read(count),
        };
        Ok((work, touched))
    }
}

/// What a statement did.
struct Work {
    /// How many rows it answered with or wrote.
    rows: u64,
    /// What the parts of its plan did, if DataFusion ran it.
    ran: Option<Ran>,
}

/// Takes all rows of an answer.
async fn finish(answer: Answer) -> Result<Work> {
    match answer {
        Answer::Done { rows, .. } => Ok(Work {
            rows: rows.unwrap_or(0),
            ran: None,
        }),
        Answer::Rows(mut rows) => {
            let mut count = 0;
            while let Some(batch) = rows.next().await {
                let batch = batch.map_err(Error::from)?;
                count += batch.len() as u64;
            }
            Ok(Work {
                rows: count,
                ran: rows.ran()?,
            })
        }
    }
}
