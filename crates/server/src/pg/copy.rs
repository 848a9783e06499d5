//! COPY: rows as a stream of bytes, into a table or out of a query.
//!
//! ```text
//!   client                             server
//!   COPY t FROM STDIN            ──►
//!                                ◄──   CopyInResponse
//!   CopyData, CopyData, …        ──►   input: bytes ─► rows ─► db::CopyIn
//!   CopyDone                     ──►   all rows are written at once
//!                                ◄──   CommandComplete
//!   CopyFail                     ──►   nothing was written
//!
//!   COPY (SELECT …) TO STDOUT    ──►
//!                                ◄──   CopyOutResponse, a CopyData for each row, CopyDone
//! ```
//!
//! A CopyData may end anywhere, in the middle of a row or of a character. Flush and Sync are
//! overlooked while rows come in, since drivers send them right after Execute. After an error
//! whatever data still comes is overlooked too.

mod binary;
mod csv;
mod input;
mod output;
mod text;

use std::sync::Arc;

use db::{Copy, CopyForm, CopyFormat, CopyIn, ReplyRows};
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};
use tokio::io::{AsyncRead, AsyncWrite};

use self::input::Input;
use self::output::Output;
use super::backend::{put, put_done};
use super::connection::{Connection, guarded};
use super::frontend::{Frame, Message};
use super::types::Format;
use crate::{Error, Result};

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Does what a COPY asks for, from beginning to end.
    pub(super) async fn copy(&mut self, copy: Copy) -> Result<()> {
        match copy {
            Copy::In(rows, form) => self.copy_in(rows, form).await,
            Copy::Out(rows, form) => self.copy_out(rows, form).await,
        }
    }

    async fn copy_in(&mut self, mut rows: CopyIn, form: CopyForm) -> Result<()> {
        let (code, formats) = formats(form.format, rows.columns().len());
        let columns = i16::try_from(formats.len()).unwrap_or(i16::MAX);
        let response = CopyInResponse::new(code, columns, formats);
        put(&mut self.channel.out, &response);
        self.channel.flush().await?;
        let mut input = Input::new(rows.table(), Arc::clone(rows.columns()), form);
        loop {
            match self.copy_frame().await?.read()? {
                Message::CopyData(data) => input.feed(data, &mut |row| rows.write(row))?,
                Message::CopyDone => break,
                Message::CopyFail(reason) => return Err(Error::CopyFailed(reason.to_owned())),
                Message::Flush | Message::Sync => {}
                Message::Terminate => return Err(Error::ClientGone),
                _ => {
                    return Err(Error::MessageUnexpected {
                        message: "in the middle of COPY",
                        reason: "send data, or that there is no more of it",
                    });
                }
            }
        }
        input.finish(&mut |row| rows.write(row))?;
        let work = self.session.finish_copy(rows);
        let count = guarded(&mut self.channel, &self.cancel, work).await??;
        put_done(&mut self.channel.out, "COPY", Some(count));
        Ok(())
    }

    /// The next message, unless the copy is cancelled first.
    async fn copy_frame(&mut self) -> Result<Frame> {
        let taken = tokio::select! {
            biased;
            taken = self.channel.frame() => taken?,
            () = self.cancel.notified() => return Err(Error::Cancelled),
        };
        taken.ok_or(Error::ClientGone)
    }

    async fn copy_out(&mut self, mut rows: ReplyRows, form: CopyForm) -> Result<()> {
        let (code, formats) = formats(form.format, rows.columns().len());
        let columns = i16::try_from(formats.len()).unwrap_or(i16::MAX);
        let response = CopyOutResponse::new(code, columns, formats);
        put(&mut self.channel.out, &response);
        let mut output = Output::new(form);
        output.open(rows.columns(), &mut self.channel.out)?;
        let mut sent = 0;
        while let Some(batch) = guarded(&mut self.channel, &self.cancel, rows.next()).await? {
            for row in batch? {
                output.row(&row, &mut self.channel.out)?;
                sent += 1;
                self.channel.relieve().await?;
            }
        }
        output.close(&mut self.channel.out)?;
        put(&mut self.channel.out, &CopyDone::new());
        put_done(&mut self.channel.out, "COPY", Some(sent));
        Ok(())
    }
}

/// The protocol's code for all of a copy, and for each of its columns.
fn formats(format: CopyFormat, columns: usize) -> (i8, Vec<i16>) {
    match format {
        CopyFormat::Text | CopyFormat::Csv => (0, vec![Format::Text.code(); columns]),
        CopyFormat::Binary => (1, vec![Format::Binary.code(); columns]),
    }
}
