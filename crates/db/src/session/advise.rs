//! ADVISE TABLE: which key a table should have, by what was recorded.

use std::sync::Arc;

use sql::AnswerRows;
use syntax::Name;

use super::{Reply, Session};
use crate::record::Ground;
use crate::{Result, advice};

impl Session {
    pub(super) async fn advise(&mut self, name: &Name) -> Result<Reply> {
        let table = self.executor.named_table(name)?;
        let name = table.schema().name().to_owned();
        let database = &self.database;
        // The background must not be the last to hold the database, which waits for its end.
        let (store, catalog) = (Arc::clone(&database.store), Arc::clone(&database.catalog));
        let (policy, advices) = (Arc::clone(&database.policy), Arc::clone(&database.advices));
        let recorder = Arc::clone(&database.recorder);
        let work = move || {
            let ground = Ground {
                store: &store,
                catalog: &catalog,
                policy: &policy,
            };
            advices.advise(&recorder, ground, &name)
        };
        let rows = match &self.database.errands {
            Some(errands) => errands.send(work).await,
            None => work(),
        }?;
        let rows = AnswerRows::ready("ADVISE", advice::columns(), rows);
        Ok(Reply::Rows(rows.into()))
    }
}
