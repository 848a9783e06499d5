//! How a conversation begins.
//!
//! ```text
//!   client                                server
//!   SSLRequest, GSSENCRequest      ──►
//!                                  ◄──    N: not encrypted, go on in the clear
//!   Startup: user, database, …     ──►
//!                                  ◄──    AuthenticationOk, ParameterStatus …, BackendKeyData,
//!                                         ReadyForQuery
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::BufMut;
use db::{Session, TransactionState};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, SecretKey,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::backend::{put, put_ready, put_reports};
use super::channel::Channel;
use super::frontend::Opening;
use crate::{Error, Result};

/// Seconds in which a client has to say who it is.
const STARTUP_SECONDS_MAX: u64 = 10;
/// How often a client may ask for encryption before it starts: once of either kind, and once more.
const ENCRYPTION_REQUESTS_MAX: usize = 3;

/// The only version that is spoken, 3.0.
const PROTOCOL_VERSION: i32 = 3 << 16;

/// What a new client turned out to want.
pub(super) enum Wish {
    /// To talk.
    Talk {
        /// The protocol's minor version it would like.
        minor: u16,
        /// Who it is and what it wants set.
        parameters: BTreeMap<String, String>,
    },
    /// To stop what another connection is doing.
    Cancel {
        /// The number of that connection.
        id: i32,
        /// Its secret.
        secret: i32,
    },
    /// Nothing any more.
    Left,
}

/// Hears what a client wants, and not for longer than it should take.
pub(super) async fn hear<S>(channel: &mut Channel<S>) -> Result<Wish>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let heard = timeout(
        Duration::from_secs(STARTUP_SECONDS_MAX),
        hear_at_leisure(channel),
    )
    .await;
    heard.unwrap_or(Err(Error::StartupTimeout(STARTUP_SECONDS_MAX)))
}

async fn hear_at_leisure<S>(channel: &mut Channel<S>) -> Result<Wish>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for _ in 0..=ENCRYPTION_REQUESTS_MAX {
        match channel.opening().await? {
            None => return Ok(Wish::Left),
            Some(Opening::Cancel { id, secret }) => return Ok(Wish::Cancel { id, secret }),
            Some(Opening::Startup { minor, parameters }) => {
                return Ok(Wish::Talk { minor, parameters });
            }
            Some(Opening::Encryption) => {
                channel.out.put_u8(b'N');
                channel.flush().await?;
            }
        }
    }
    Err(Error::MessageUnexpected {
        message: "SSLRequest",
        reason: "encryption was refused: start up without it",
    })
}

/// Lets the client in: gathers everything up to the first ReadyForQuery.
pub(super) fn welcome<S>(
    channel: &mut Channel<S>,
    session: &mut Session,
    wish: (u16, &BTreeMap<String, String>),
    key: (i32, i32),
) -> Result<()> {
    let (minor, parameters) = wish;
    session.start(parameters).map_err(Error::Startup)?;
    let out = &mut channel.out;
    let extensions = parameters.keys().filter(|name| name.starts_with("_pq_."));
    let extensions: Vec<String> = extensions.cloned().collect();
    if minor > 0 || !extensions.is_empty() {
        put(
            out,
            &NegotiateProtocolVersion::new(PROTOCOL_VERSION, extensions),
        );
    }
    put(out, &Authentication::Ok);
    put_reports(out, session.take_reports());
    put(out, &BackendKeyData::new(key.0, SecretKey::I32(key.1)));
    put_ready(out, TransactionState::Idle);
    Ok(())
}
