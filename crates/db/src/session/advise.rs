//! ADVISE TABLE: which key a table should have, by what was recorded, and how one of them does.

use std::sync::Arc;

use sql::AnswerRows;
use syntax::statement::{Advise, Verify};
use tokio::runtime::Handle;

use super::{Reply, Session};
use crate::errands::GivenUp;
use crate::record::Ground;
use crate::verify::{self, Trial};
use crate::{Result, advice};

impl Session {
    pub(super) async fn advise(&mut self, advise: &Advise) -> Result<Reply> {
        let table = self.executor.named_table(&advise.table)?;
        let name = table.schema().name().to_owned();
        if let Some(key) = &advise.verify {
            return self.verify(name, key.clone()).await;
        }
        let database = &self.database;
        // The background must not be the last to hold the database, which waits for its end.
        let (store, catalog) = (Arc::clone(&database.store), Arc::clone(&database.catalog));
        let (policy, advices) = (Arc::clone(&database.policy), Arc::clone(&database.advices));
        let recorder = Arc::clone(&database.recorder);
        let work = move |_: GivenUp| {
            let ground = Ground {
                store: &store,
                catalog: &catalog,
                policy: &policy,
            };
            advices.advise(&recorder, ground, &name)
        };
        let rows = match &self.database.errands {
            Some(errands) => errands.send(work).await?,
            None => work(GivenUp::default()),
        }?;
        let rows = AnswerRows::ready("ADVISE", advice::columns(), rows);
        Ok(Reply::Rows(rows.into()))
    }

    async fn verify(&mut self, table: String, key: Verify) -> Result<Reply> {
        let database = &self.database;
        let trial = Trial {
            store: Arc::clone(&database.store),
            catalog: Arc::clone(&database.catalog),
            policy: Arc::clone(&database.policy),
            recorder: Arc::clone(&database.recorder),
            advices: Arc::clone(&database.advices),
            folder: database.scratch.clone(),
            table,
            key,
        };
        let rows = match &database.errands {
            Some(errands) => {
                // The executors of queries want a runtime, and the background has none of its own.
                let handle = Handle::current();
                let work = move |given_up| handle.block_on(trial.run(given_up));
                errands.send(work).await?
            }
            None => Box::pin(trial.run(GivenUp::default())).await,
        }?;
        let rows = AnswerRows::ready("ADVISE", verify::columns(), rows);
        Ok(Reply::Rows(rows.into()))
    }
}
