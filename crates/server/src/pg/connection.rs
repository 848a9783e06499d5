//! One client's messages, taken one after another until it leaves.
//!
//! ```text
//!   ┌─► message ─► simple or extended ─► replies gathered ─► at Sync, Flush, or much: written ─┐
//!   └──────────────────────────────────────────────────────────────────────────────────────────┘
//!   an error in the extended protocol: told once, then everything is skipped up to Sync
//! ```
//!
//! What the extended protocol runs up to a Sync is one transaction. A statement that is followed by
//! Sync at once needs none for that: it is a transaction of its own.
//!
//! While a statement runs, three things are waited for at once: its answer, a cancel request, and
//! the client's hanging up. Either of the last two drops the statement where it stands; dropping a
//! session rolls back what it had open. So a client that goes away leaves nothing behind.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use db::Session;
use hashbrown::HashMap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use super::backend::{put_error, put_ready, put_reports};
use super::channel::Channel;
use super::extended::{Portal, Statement};
use super::frontend::Message;
use crate::{Error, Result};

/// A client that is let in.
pub(super) struct Connection<S> {
    pub(super) channel: Channel<S>,
    pub(super) session: Session,
    /// By name; the unnamed one has the empty name.
    pub(super) statements: HashMap<String, Arc<Statement>>,
    /// By name; the unnamed one has the empty name.
    pub(super) portals: HashMap<String, Portal>,
    /// Rung by cancel requests.
    pub(super) cancel: Arc<Notify>,
    /// Whether an error was told and Sync has not come yet.
    skipping: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(channel: Channel<S>, session: Session, cancel: Arc<Notify>) -> Self {
        Self {
            channel,
            session,
            statements: HashMap::new(),
            portals: HashMap::new(),
            cancel,
            skipping: false,
        }
    }

    /// Tells the session who the client is. The database is called as the user unless it says.
    pub(super) fn introduce(&mut self, parameters: &BTreeMap<String, String>) {
        if let Some(user) = parameters.get("user") {
            let database = parameters.get("database").unwrap_or(user);
            self.session.introduce(user, database);
        }
    }

    /// Answers until the client leaves, or until an error that ends the conversation.
    pub(super) async fn run(&mut self) -> Result<()> {
        self.channel.flush().await?;
        while let Some(frame) = self.channel.frame().await? {
            match frame.read() {
                Ok(Message::Terminate) => return Ok(()),
                Ok(message) => self.take(message).await?,
                Err(_) if self.skipping => {}
                Err(error) => {
                    self.refuse(error)?;
                    if !frame.is_extended() {
                        self.ready().await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells the client why the conversation ends, if it is still there to hear it.
    pub(super) async fn part(&mut self, error: &Error) {
        put_error(&mut self.channel.out, error);
        // It may be gone already, and nothing is left to be done about that.
        let _ = self.channel.flush().await;
    }

    async fn take(&mut self, message: Message<'_>) -> Result<()> {
        match message {
            Message::Sync => {
                // Everything since the last Sync is one transaction, also when nobody said BEGIN.
                if let Err(error) = self.session.end_block().await {
                    self.refuse(error.into())?;
                }
                self.ready().await
            }
            _ if self.skipping => Ok(()),
            Message::Query(text) => {
                if let Err(error) = self.simple(text).await {
                    self.refuse(error)?;
                }
                self.ready().await
            }
            Message::Flush => self.channel.flush().await,
            message => match self.extended(message).await {
                Err(error) => {
                    self.refuse(error)?;
                    // Whoever sends rows for a copy should hear now that it failed, and not at Sync.
                    self.channel.flush().await
                }
                Ok(()) => Ok(()),
            },
        }
    }

    /// One step of the extended protocol.
    async fn extended(&mut self, message: Message<'_>) -> Result<()> {
        match message {
            Message::Parse { name, text, oids } => self.parse(name, text, oids).await,
            Message::Bind(bind) => self.bind(bind),
            Message::Describe(target, name) => self.describe(target, name),
            Message::Execute { portal, rows_max } => self.execute(portal, rows_max).await,
            Message::Close(target, name) => {
                self.close(target, name);
                Ok(())
            }
            // What is left of a copy that failed: the protocol asks to overlook it.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Ok(()),
            _ => Err(Error::MessageUnexpected {
                message: "password",
                reason: "nothing asked for one",
            }),
        }
    }

    /// Tells an error and skips to the next Sync; or gives up, if it is one to give up at.
    fn refuse(&mut self, error: Error) -> Result<()> {
        self.session.fail();
        if error.is_fatal() {
            return Err(error);
        }
        put_error(&mut self.channel.out, &error);
        self.skipping = true;
        Ok(())
    }

    /// Ends a round: the client may send the next thing.
    async fn ready(&mut self) -> Result<()> {
        self.skipping = false;
        let state = self.session.state();
        if state != db::TransactionState::Open {
            // A portal lives as long as its transaction.
            self.portals.clear();
        }
        put_reports(&mut self.channel.out, self.session.take_reports());
        put_ready(&mut self.channel.out, state);
        self.channel.flush().await
    }
}

/// Does some work unless its client cancels it or goes away first.
pub(super) async fn guarded<S, T>(
    channel: &mut Channel<S>,
    cancel: &Notify,
    work: impl Future<Output = T>,
) -> Result<T>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = cancel.notified() => Err(Error::Cancelled),
        gone = channel.gone() => Err(gone),
    }
}
