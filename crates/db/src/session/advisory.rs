//! Advisory locks: the query is run, then it locks and unlocks as its rows say.
//!
//! Locks of the session are kept over ROLLBACK and until it ends or says DISCARD ALL; those of the
//! transaction end with it, or with the statement if there is none. A wait ends by cancelling,
//! `statement_timeout` and `lock_timeout`.

use std::sync::Arc;

use keys::Value;
use sql::{Answer, AnswerRows, LockCall, Prepared};
use txn::{Lock, LockMode};

use super::{Reply, Session, reply};
use crate::Result;

impl Session {
    /// Runs a query that locks and unlocks.
    pub(super) async fn run_advisory(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Reply> {
        let Some(plan) = prepared.advisory() else {
            return Box::pin(self.run(prepared, parameters)).await;
        };
        let mut all = Vec::new();
        if let Reply::Rows(mut rows) = Box::pin(self.run(plan.bare(), parameters)).await? {
            while let Some(more) = rows.next().await {
                all.extend(more?);
            }
        }
        let locked = self.lock_rows(plan, &mut all).await;
        if self.transaction.is_none() {
            self.locks.end_taken(0);
        }
        locked?;
        let rows = AnswerRows::ready("SELECT", Arc::clone(plan.columns()), all);
        reply(Answer::Rows(rows), prepared.statement()).await
    }

    async fn lock_rows(&mut self, plan: &sql::AdvisoryPlan, rows: &mut [Vec<Value>]) -> Result<()> {
        for row in rows {
            for call in plan.calls(row) {
                let answer = match (call.what, call.lock) {
                    (LockCall::UnlockAll, _) => {
                        self.locks.unlock_all();
                        Value::from("")
                    }
                    (_, None) => Value::Null,
                    (LockCall::Take(until), Some(lock)) => {
                        let patience = self.patience();
                        self.locks.lock(lock, until, patience).await?;
                        Value::from("")
                    }
                    (LockCall::Try(until), Some(lock)) => {
                        Value::Bool(self.locks.try_lock(lock, until)?)
                    }
                    (LockCall::Unlock, Some(lock)) => Value::Bool(self.unlock(lock)),
                };
                if let Some(place) = row.get_mut(call.place) {
                    *place = answer;
                }
            }
        }
        Ok(())
    }

    fn unlock(&mut self, lock: Lock) -> bool {
        let unlocked = self.locks.unlock(lock);
        if !unlocked {
            let kind = match lock.mode {
                LockMode::Exclusive => "ExclusiveLock",
                LockMode::Shared => "ShareLock",
            };
            let text = format!("you don't own a lock of type {kind}");
            self.warn("01000", &text);
        }
        unlocked
    }
}
