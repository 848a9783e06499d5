//! The simple protocol: a text of statements in, all their answers out, in text format.

use std::pin::pin;
use std::sync::Arc;

use db::{Copy, Recalled, Reply, ReplyRows};
use pgwire::messages::response::EmptyQueryResponse;
use tokio::io::{AsyncRead, AsyncWrite};

use super::backend::{Formats, put, put_columns, put_done, put_notices};
use super::connection::{Connection, guarded};
use super::extended::Cursor;
use super::types::Format;
use crate::{Error, Result};

/// A statement whose answer is to be sent.
enum Begun {
    Reply(Reply),
    Copy(Copy),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Runs a text of statements up to its end or the first error, as one transaction.
    pub(super) async fn simple(&mut self, text: &str) -> Result<()> {
        let outcome = self.run_all(text).await;
        // Also after an error, when it takes back what the statements before it did.
        let ended = self.session.end_block().await;
        outcome?;
        Ok(ended?)
    }

    async fn run_all(&mut self, text: &str) -> Result<()> {
        self.statements.remove("");
        self.portals.remove("");
        if let Some(recalled) = self.session.recall(text) {
            return self.run_recalled(text, &recalled).await;
        }
        let statements = self
            .session
            .parse(text)
            .map_err(|error| Error::in_text(error, text))?;
        if statements.is_empty() {
            put_notices(&mut self.channel.out, self.session.take_notices());
            put(&mut self.channel.out, &EmptyQueryResponse::new());
        }
        let several = statements.len() > 1;
        for statement in statements {
            if several {
                self.session.begin_block();
            }
            if let Some(asked) = self.asked_of_portal(&statement) {
                self.portal_by_name(asked).await?;
                continue;
            }
            let cancel = Arc::clone(&self.cancel);
            let session = &mut self.session;
            let work = async {
                let located = |error| Error::in_text(error, text);
                let prepared = session.prepare(statement, &[]).await.map_err(located)?;
                if !several {
                    session.remember(text, &prepared);
                }
                // Parameters with names are missed by name when the statement runs.
                let named = !prepared.statement().declared.is_empty();
                if !named && !prepared.parameters().is_empty() && prepared.explained().is_none() {
                    return Err(Error::ParameterUnbound);
                }
                if let Some(copy) = session.copy(&prepared).await.map_err(located)? {
                    return Ok(Begun::Copy(copy));
                }
                let reply = session.execute(&prepared, &[]).await.map_err(located)?;
                Ok(Begun::Reply(reply))
            };
            let begun = guarded(&mut self.channel, &cancel, pin!(work)).await??;
            put_notices(&mut self.channel.out, self.session.take_notices());
            match begun {
                Begun::Reply(reply) => self.simple_reply(reply).await?,
                Begun::Copy(copy) => self.copy(copy).await?,
            }
        }
        Ok(())
    }

    /// Runs a text that was not read.
    async fn run_recalled(&mut self, text: &str, recalled: &Recalled) -> Result<()> {
        let Recalled { prepared, values } = recalled;
        let located = |error| Error::in_text(error, text);
        if let Some(rows) = self.session.read_at_once(prepared, values) {
            let rows = rows.map_err(located)?;
            return self.simple_reply(Reply::Rows(rows)).await;
        }
        let reply = {
            let work = pin!(self.session.execute(prepared, values));
            guarded(&mut self.channel, &self.cancel, work).await?
        };
        let reply = reply.map_err(located)?;
        put_notices(&mut self.channel.out, self.session.take_notices());
        self.simple_reply(reply).await
    }

    async fn simple_reply(&mut self, reply: Reply) -> Result<()> {
        match reply {
            Reply::Done { command, rows } => {
                put_done(&mut self.channel.out, command, rows);
                self.forget_after(command);
                Ok(())
            }
            Reply::Rows(rows) => self.simple_rows(rows).await,
        }
    }

    /// Forgets prepared statements after a command that says so.
    pub(super) fn forget_after(&mut self, command: &str) {
        match command {
            "DISCARD ALL" | "DEALLOCATE ALL" => self.statements.clear(),
            "DEALLOCATE" => {
                for name in self.session.take_deallocated() {
                    self.statements.remove(&name);
                }
            }
            _ => {}
        }
    }

    async fn simple_rows(&mut self, rows: ReplyRows) -> Result<()> {
        let formats = Formats::All(Format::Text).for_columns(rows.columns());
        put_columns(&mut self.channel.out, rows.columns(), &formats);
        let mut cursor = Cursor::new(rows);
        let sending = cursor.send_up_to(u64::MAX, &formats, &mut self.channel, &self.cancel);
        let (sent, _) = sending.await?;
        let command = cursor.rows.command();
        put_done(&mut self.channel.out, command, counted(command, sent));
        Ok(())
    }
}

/// The number in the tag of a command that answers with rows; SHOW and EXPLAIN have none.
pub(super) fn counted(command: &str, rows: u64) -> Option<u64> {
    match command {
        "SHOW" | "EXPLAIN" => None,
        _ => Some(rows),
    }
}
