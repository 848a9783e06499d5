//! Portals of the extended protocol as SQL names them: FETCH, MOVE and CLOSE.
//!
//! In PostgreSQL a portal that a client bound and a cursor that SQL declared are one thing, and
//! drivers make use of that: asyncpg skips rows of its portals by MOVE. A cursor of the same name
//! comes first here. FETCH answers in text, and is taken by the simple protocol only.

use std::sync::Arc;

use db::{CursorAsk, CursorMotion};
use tokio::io::{AsyncRead, AsyncWrite};

use super::backend::{Formats, put_columns, put_done, put_row};
use super::connection::Connection;
use super::extended::Run;
use super::types::Format;
use crate::{Error, Result};

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// What a statement asks of a portal, if it names one that is there.
    pub(super) fn asked_of_portal(&self, statement: &db::Statement) -> Option<CursorAsk> {
        let asked = db::cursor_ask(statement)?;
        let portal = self.portals.get(&asked.name)?;
        let usable = self.session.state() == db::TransactionState::Open && portal.has_rows();
        let cursor = self.session.cursor_columns(&asked.name).is_some();
        (usable && !cursor).then_some(asked)
    }

    /// Runs a statement about a portal.
    pub(super) async fn portal_by_name(&mut self, asked: CursorAsk) -> Result<()> {
        let CursorAsk { name, motion } = asked;
        let (rows, quiet) = match motion {
            CursorMotion::Close => {
                self.portals.remove(&name);
                put_done(&mut self.channel.out, "CLOSE CURSOR", None);
                return Ok(());
            }
            CursorMotion::Fetch(Some(rows)) => (rows, false),
            CursorMotion::Move(Some(rows)) => (rows, true),
            CursorMotion::Fetch(None) | CursorMotion::Move(None) => {
                return Err(Error::PortalForward(name));
            }
        };
        let no_such = || Error::NoSuchPortal(name.clone());
        let portal = self.portals.get_mut(&name).ok_or_else(no_such)?;
        if matches!(portal.run(), Run::Before) {
            self.begin(&name).await?;
        }
        let portal = self.portals.get_mut(&name).ok_or_else(no_such)?;
        let Run::Rows(cursor) = portal.run() else {
            return Err(Error::PortalDone(name));
        };
        cursor.rows.resume();
        let formats = Formats::All(Format::Text);
        if !quiet {
            let columns = Arc::clone(cursor.rows.columns());
            put_columns(&mut self.channel.out, &columns, &formats);
        }
        let mut passed = 0;
        while passed < rows {
            let Some(row) = cursor.next(&mut self.channel, &self.cancel).await? else {
                break;
            };
            passed += 1;
            if !quiet {
                put_row(&mut self.channel.out, &row, &formats)?;
                self.channel.relieve().await?;
            }
        }
        let command = if quiet { "MOVE" } else { "FETCH" };
        put_done(&mut self.channel.out, command, Some(passed));
        Ok(())
    }
}
