//! A client's socket with what has come and what is to go.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::frontend::{self, Frame, Opening};
use crate::{Error, Result};

/// Bytes of replies that are gathered before they are written.
const GATHERED_BYTES_MAX: usize = 64 << 10;
/// Bytes that are taken in while a statement runs; the rest waits in the socket.
const AHEAD_BYTES_MAX: usize = 1 << 20;
/// Bytes that are asked for at a time.
const READ_BYTES: usize = 8 << 10;
/// Buffers that grew beyond this are given back when they are empty.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// Both directions of a conversation.
#[derive(Debug)]
pub(super) struct Channel<S> {
    socket: S,
    input: BytesMut,
    /// Replies that are not written yet.
    pub(super) out: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Channel<S> {
    pub(super) fn new(socket: S) -> Self {
        Self {
            socket,
            input: BytesMut::new(),
            out: BytesMut::new(),
        }
    }

    /// The first message, or `None` if the client left before it was whole.
    pub(super) async fn opening(&mut self) -> Result<Option<Opening>> {
        loop {
            if let Some(opening) = frontend::decode_opening(&mut self.input)? {
                return Ok(Some(opening));
            }
            if self.fill().await? == 0 {
                return Ok(None);
            }
        }
    }

    /// The bytes of the next message; `None` if the client left.
    pub(super) async fn frame(&mut self) -> Result<Option<Frame>> {
        loop {
            if let Some(frame) = frontend::take(&mut self.input)? {
                return Ok(Some(frame));
            }
            if self.fill().await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Whether a Sync has come that is to be taken next.
    pub(super) fn sync_is_next(&self) -> bool {
        self.input.first() == Some(&frontend::SYNC)
    }

    /// Writes what was gathered if it has become much.
    pub(super) async fn relieve(&mut self) -> Result<()> {
        match self.out.len() > GATHERED_BYTES_MAX {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Writes what was gathered.
    pub(super) async fn flush(&mut self) -> Result<()> {
        if !self.out.is_empty() {
            self.socket.write_all(&self.out).await?;
            self.socket.flush().await?;
            self.out.clear();
            if self.out.capacity() > KEPT_BYTES_MAX {
                self.out = BytesMut::new();
            }
        }
        Ok(())
    }

    /// Reads ahead while a statement runs, and returns only when the client is gone.
    pub(super) async fn gone(&mut self) -> Error {
        loop {
            if self.input.len() >= AHEAD_BYTES_MAX {
                // It is still there, or was a moment ago: writing to it will tell.
                std::future::pending::<()>().await;
            }
            match self.fill().await {
                Ok(0) => return Error::ClientGone,
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    }

    /// Takes in some more bytes; zero when there will be no more.
    async fn fill(&mut self) -> Result<usize> {
        if self.input.is_empty() && self.input.capacity() > KEPT_BYTES_MAX {
            self.input = BytesMut::new();
        }
        self.input.reserve(READ_BYTES);
        Ok(self.socket.read_buf(&mut self.input).await?)
    }
}
