//! The extended protocol: parse, bind, describe, execute, close.
//!
//! ```text
//!   Parse ──► statement: text, parameter types, columns ──┐
//!   Bind  ──► portal: that statement with values ─────────┤ Execute: some rows, PortalSuspended,
//!                                                         │ Execute: some more, CommandComplete
//!   Describe, Close: either of the two by name            └──►
//! ```
//!
//! The types of parameters that a client states are kept beside those that the statement wants: bytes
//! in binary are laid out as stated, values are made as wanted. Where it states none, Describe
//! answers with the wanted ones, and those are then the stated ones.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::vec;

use bytes::{Bytes, BytesMut};
use db::{Copy, Prepared, Reply, ReplyRows, Row};
use keys::Value;
use pgwire::messages::data::NoData;
use pgwire::messages::extendedquery::{
    BindComplete, CloseComplete, ParseComplete, PortalSuspended,
};
use pgwire::messages::response::EmptyQueryResponse;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::yield_now;

use super::backend::{
    Formats, SentRows, put, put_columns, put_done, put_notices, put_parameters, put_row,
};
use super::channel::Channel;
use super::connection::{Connection, guarded};
use super::frontend::{Bind, Target};
use super::simple::counted;
use super::types::{self, Format};
use crate::{Error, Result};

/// Rows that are sent before others have their turn.
const BATCH_ROWS: usize = 256;

/// Prepared statements that one connection may have.
const STATEMENTS_MAX: usize = 10_000;
/// What makes room for others.
const CLOSE_STATEMENTS: &str = "DEALLOCATE or Close those that are done with";
/// Portals that one connection may have.
const PORTALS_MAX: usize = 1_000;

/// Bytes of texts that the prepared statements of one connection may have.
const STATEMENTS_BYTES_MAX: usize = 64 << 20;
/// Bytes of parameters that the portals of one connection may hold.
const PARAMETERS_BYTES_MAX: usize = 128 << 20;

/// A statement that was parsed.
#[derive(Debug)]
pub(super) struct Statement {
    /// `None` for a text without a statement.
    prepared: Option<Prepared>,
    /// The types that parameters travel as.
    oids: Vec<u32>,
    /// How long its text is.
    bytes: usize,
    /// What its columns are, as it is told of rows that travel as text: clients ask every time.
    description: OnceLock<Bytes>,
}

/// A statement with its values, before, in or after its run.
pub(super) struct Portal {
    statement: Arc<Statement>,
    parameters: Vec<Value>,
    /// How long the parameters are.
    bytes: usize,
    formats: Formats,
    run: Run,
}

/// How far a portal has come.
#[expect(
    clippy::large_enum_variant,
    reason = "almost every portal comes to have rows, and a box for each would only cost time"
)]
pub(super) enum Run {
    Before,
    Rows(Cursor),
    After,
}

/// Rows that are not sent yet.
pub(super) struct Cursor {
    pub(super) rows: ReplyRows,
    ready: vec::IntoIter<Row>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) async fn parse(&mut self, name: &str, text: &str, oids: Vec<u32>) -> Result<()> {
        match name.is_empty() {
            true => {
                self.statements.remove("");
            }
            false if self.statements.contains_key(name) => {
                return Err(Error::StatementExists(name.to_owned()));
            }
            false => {}
        }
        if self.statements.len() >= STATEMENTS_MAX {
            return Err(Error::TooMany {
                things: "prepared statements",
                limit: STATEMENTS_MAX,
                remedy: CLOSE_STATEMENTS,
            });
        }
        let bytes = text.len();
        let held: usize = self.statements.values().map(|one| one.bytes).sum();
        if held + bytes > STATEMENTS_BYTES_MAX {
            return Err(Error::TooMany {
                things: "bytes of prepared statements",
                limit: STATEMENTS_BYTES_MAX,
                remedy: CLOSE_STATEMENTS,
            });
        }
        let hints: Vec<_> = oids.iter().map(|oid| types::stated(*oid)).collect();
        let prepared = match self.session.recall_prepared(text, &hints) {
            None => self.read(text, &hints).await?,
            recalled => recalled,
        };
        let oids = travelling(prepared.as_ref(), oids);
        let statement = Statement {
            prepared,
            oids,
            bytes,
            description: OnceLock::new(),
        };
        self.statements.insert(name.to_owned(), Arc::new(statement));
        put_notices(&mut self.channel.out, self.session.take_notices());
        put(&mut self.channel.out, &ParseComplete::new());
        Ok(())
    }

    /// Makes the only statement of a text ready, if there is one.
    async fn read(&mut self, text: &str, hints: &[Option<keys::Type>]) -> Result<Option<Prepared>> {
        let located = |error| Error::in_text(error, text);
        let mut parsed = self.session.parse(text).map_err(located)?;
        let statement = match (parsed.pop(), parsed.len()) {
            (None, _) => return Ok(None),
            (Some(statement), 0) => statement,
            (Some(_), others) => return Err(Error::SeveralStatements(others + 1)),
        };
        let prepared = {
            let work = pin!(self.session.prepare(statement, hints));
            guarded(&mut self.channel, &self.cancel, work).await?
        };
        let prepared = prepared.map_err(located)?;
        self.session.remember_prepared(text, hints, &prepared);
        Ok(Some(prepared))
    }

    pub(super) fn bind(&mut self, bind: Bind<'_>) -> Result<()> {
        let statement = self.statement(bind.statement)?;
        let name = bind.portal;
        if !name.is_empty() && self.portals.contains_key(name) {
            return Err(Error::PortalExists(name.to_owned()));
        }
        if self.portals.len() >= PORTALS_MAX {
            return Err(Error::TooMany {
                things: "portals",
                limit: PORTALS_MAX,
                remedy: "Close some",
            });
        }
        let bytes = bind.cells.bytes();
        let held: usize = self.portals.values().map(|portal| portal.bytes).sum();
        if held + bytes > PARAMETERS_BYTES_MAX {
            return Err(Error::TooMany {
                things: "bytes of parameters in portals",
                limit: PARAMETERS_BYTES_MAX,
                remedy: "Close some",
            });
        }
        let given = bind.cells.len();
        if given != statement.oids.len() {
            return Err(Error::BindCount {
                things: "parameters",
                found: given,
                expected: statement.oids.len(),
            });
        }
        let formats = Formats::read(bind.formats, "parameter formats", given)?;
        let mut parameters = Vec::with_capacity(given);
        let expected = statement.oids.iter().zip(statement.wanted());
        for (position, (cell, (oid, wanted))) in bind.cells.iter().zip(expected).enumerate() {
            parameters.push(match cell {
                None => Value::Null,
                Some(cell) => types::decode(cell, formats.of(position), *oid, wanted)?,
            });
        }
        let columns = statement.columns().map_or(0, |columns| columns.len());
        let codes = bind.result_formats;
        let formats = match statement.columns() {
            Some(known) => Formats::read(codes, "result formats", columns)?.for_columns(known),
            None => Formats::All(Format::Text),
        };
        let portal = Portal {
            statement,
            parameters,
            bytes,
            formats,
            run: Run::Before,
        };
        self.portals.insert(name.to_owned(), portal);
        put(&mut self.channel.out, &BindComplete::new());
        Ok(())
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Result<()> {
        let (statement, formats) = if target == Target::Statement {
            let statement = self.statement(name)?;
            put_parameters(&mut self.channel.out, &statement.oids);
            (statement, Formats::All(Format::Text))
        } else {
            let no_such = || Error::NoSuchPortal(name.to_owned());
            let Some(portal) = self.portals.get(name) else {
                // A cursor that SQL declared is a portal as well.
                let columns = self.session.cursor_columns(name).ok_or_else(no_such)?;
                put_columns(&mut self.channel.out, columns, &Formats::All(Format::Text));
                return Ok(());
            };
            (Arc::clone(&portal.statement), portal.formats.clone())
        };
        statement.put_columns(&mut self.channel.out, &formats);
        Ok(())
    }

    pub(super) async fn execute(&mut self, name: &str, rows_max: i32) -> Result<()> {
        let no_such = || Error::NoSuchPortal(name.to_owned());
        let portal = self.portals.get(name).ok_or_else(no_such)?;
        let Some(prepared) = &portal.statement.prepared else {
            put(&mut self.channel.out, &EmptyQueryResponse::new());
            return Ok(());
        };
        if matches!(portal.run, Run::Before) {
            if let Some(asked) = self.asked_of_portal(prepared.statement()) {
                return self.portal_by_name(asked).await;
            }
            if !self.channel.sync_is_next() {
                self.session.begin_block();
            }
            if self.begin(name).await? {
                return Ok(());
            }
        }
        let portal = self.portals.get_mut(name).ok_or_else(no_such)?;
        let Run::Rows(cursor) = &mut portal.run else {
            return Err(Error::PortalDone(name.to_owned()));
        };
        cursor.rows.resume();
        // Zero, and anything below, is no limit.
        let limit = u64::try_from(rows_max).ok().filter(|rows| *rows > 0);
        let limit = limit.unwrap_or(u64::MAX);
        let sending = cursor.send_up_to(limit, &portal.formats, &mut self.channel, &self.cancel);
        let (sent, ended) = sending.await?;
        if ended {
            let command = cursor.rows.command();
            put_done(&mut self.channel.out, command, counted(command, sent));
        } else {
            put(&mut self.channel.out, &PortalSuspended::new());
        }
        Ok(())
    }

    /// Runs the statement of a portal up to its rows. True if it has none, and is done.
    pub(super) async fn begin(&mut self, name: &str) -> Result<bool> {
        let no_such = || Error::NoSuchPortal(name.to_owned());
        let portal = self.portals.get_mut(name).ok_or_else(no_such)?;
        let Some(prepared) = &portal.statement.prepared else {
            return Ok(true);
        };
        if let Some(rows) = self.session.read_at_once(prepared, &portal.parameters) {
            portal.run = Run::Rows(Cursor::new(rows?));
            return Ok(false);
        }
        if Copy::is_asked_for(prepared) {
            let copy = {
                let work = pin!(self.session.copy(prepared));
                guarded(&mut self.channel, &self.cancel, work).await??
            };
            if let Some(copy) = copy {
                portal.run = Run::After;
                self.copy(copy).await?;
                return Ok(true);
            }
        }
        let reply = {
            // Pinned where it is made: with room for the longest statement, it is too long to be moved.
            let work = pin!(self.session.execute(prepared, &portal.parameters));
            guarded(&mut self.channel, &self.cancel, work).await??
        };
        put_notices(&mut self.channel.out, self.session.take_notices());
        match reply {
            Reply::Done { command, rows } => {
                put_done(&mut self.channel.out, command, rows);
                portal.run = Run::After;
                self.forget_after(command);
                Ok(true)
            }
            Reply::Rows(rows) => {
                portal.run = Run::Rows(Cursor::new(rows));
                Ok(false)
            }
        }
    }

    pub(super) fn close(&mut self, target: Target, name: &str) {
        match target {
            Target::Statement => drop(self.statements.remove(name)),
            Target::Portal => drop(self.portals.remove(name)),
        }
        put(&mut self.channel.out, &CloseComplete::new());
    }

    fn statement(&self, name: &str) -> Result<Arc<Statement>> {
        let found = self.statements.get(name).cloned();
        found.ok_or_else(|| Error::NoSuchStatement(name.to_owned()))
    }
}

/// The types that parameters travel as: those that the client stated, or those that are wanted.
fn travelling(prepared: Option<&Prepared>, stated: Vec<u32>) -> Vec<u32> {
    let Some(prepared) = prepared else {
        return Vec::new();
    };
    let mut stated = stated.into_iter();
    let lists = prepared.lists();
    let travels = |(place, kind): (usize, &keys::Type)| match stated.next() {
        None | Some(0 | types::OID_UNKNOWN) => {
            let list = lists.iter().find(|(other, _)| *other == place);
            let plain = || types::declared_oid(*kind, prepared.parameter_declared(place));
            list.map_or_else(plain, |(_, of)| types::list_oid(*of))
        }
        Some(oid) => oid,
    };
    let wanted = prepared.parameters().iter().enumerate();
    wanted.map(travels).collect()
}

impl Portal {
    /// How far it has come.
    pub(super) fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Whether it answers with rows.
    pub(super) fn has_rows(&self) -> bool {
        self.statement.columns().is_some()
    }
}

impl Statement {
    fn wanted(&self) -> impl Iterator<Item = keys::Type> {
        let prepared = self.prepared.as_ref();
        prepared
            .map(Prepared::parameters)
            .unwrap_or_default()
            .iter()
            .copied()
    }

    fn columns(&self) -> Option<&Arc<[db::ResultColumn]>> {
        self.prepared.as_ref().and_then(Prepared::columns)
    }

    /// Appends what its columns are.
    fn put_columns(&self, out: &mut BytesMut, formats: &Formats) {
        match (self.columns(), formats) {
            (None, _) => put(out, &NoData::new()),
            (Some(columns), Formats::All(Format::Text)) => {
                out.extend_from_slice(self.description.get_or_init(|| {
                    let mut description = BytesMut::new();
                    put_columns(&mut description, columns, formats);
                    description.freeze()
                }));
            }
            (Some(columns), formats) => put_columns(out, columns, formats),
        }
    }
}

impl Cursor {
    pub(super) fn new(rows: ReplyRows) -> Self {
        let ready = Vec::new().into_iter();
        Self { rows, ready }
    }

    /// Sends up to `limit` rows, and tells how many and whether there are no more.
    pub(super) async fn send_up_to<S>(
        &mut self,
        limit: u64,
        formats: &Formats,
        channel: &mut Channel<S>,
        cancel: &Notify,
    ) -> Result<(u64, bool)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut sent = 0;
        while sent < limit {
            if let Some(more) = self.send(limit - sent, formats, channel) {
                let (rows, ended) = more?;
                sent += rows;
                if ended {
                    return Ok((sent, true));
                }
                channel.relieve().await?;
                // Others have their turn between batches, and a cancel request is heard.
                guarded(channel, cancel, yield_now()).await?;
                continue;
            }
            match self.next(channel, cancel).await? {
                Some(row) => put_row(&mut channel.out, &row, formats)?,
                None => return Ok((sent, true)),
            }
            sent += 1;
            channel.relieve().await?;
        }
        Ok((sent, false))
    }

    /// Sends a batch of up to `most` rows that come straight from storage, and tells how many and
    /// whether they were the last; `None` if rows come another way.
    fn send<S>(
        &mut self,
        most: u64,
        formats: &Formats,
        channel: &mut Channel<S>,
    ) -> Option<Result<(u64, bool)>> {
        // What FETCH read ahead goes first.
        if self.ready.len() > 0 {
            return None;
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let most = most.min(BATCH_ROWS);
        let mut rows = SentRows::new(&mut channel.out, formats);
        let sent = self.rows.send(most, &mut rows)?;
        let sent = rows.finish().and_then(|()| Ok(sent?));
        Some(sent.map(|sent| (u64::try_from(sent).unwrap_or(u64::MAX), sent < most)))
    }

    /// The next row.
    pub(super) async fn next<S>(
        &mut self,
        channel: &mut Channel<S>,
        cancel: &Notify,
    ) -> Result<Option<Row>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        loop {
            if let Some(row) = self.ready.next() {
                return Ok(Some(row));
            }
            match guarded(channel, cancel, self.rows.next()).await? {
                Some(batch) => self.ready = batch?.into_iter(),
                None => return Ok(None),
            }
        }
    }
}
