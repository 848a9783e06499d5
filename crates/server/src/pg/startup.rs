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
use db::TransactionState;
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::backend::{put, put_ready};
use super::channel::Channel;
use super::frontend::Opening;
use crate::{Error, Result};

/// Seconds in which a client has to say who it is.
const STARTUP_SECONDS_MAX: u64 = 10;
/// How often a client may ask for encryption before it starts: once of either kind, and once more.
const ENCRYPTION_REQUESTS_MAX: usize = 3;

/// The only version that is spoken, 3.0.
const PROTOCOL_VERSION: i32 = 3 << 16;

/// What drivers look at before they trust a server.
const SETTINGS: &[(&str, &str)] = &[
    (
        "server_version",
        concat!("15.0 (EvenKeel ", env!("CARGO_PKG_VERSION"), ")"),
    ),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("TimeZone", "UTC"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
    ("default_transaction_read_only", "off"),
    ("in_hot_standby", "off"),
    ("is_superuser", "on"),
];

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
    wish: (u16, &BTreeMap<String, String>),
    key: (i32, i32),
) {
    let (minor, parameters) = wish;
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
    for (name, value) in SETTINGS {
        put(
            out,
            &ParameterStatus::new((*name).to_owned(), (*value).to_owned()),
        );
    }
    for (ours, theirs) in [
        ("session_authorization", "user"),
        ("application_name", "application_name"),
    ] {
        let value = parameters.get(theirs).cloned().unwrap_or_default();
        put(out, &ParameterStatus::new(ours.to_owned(), value));
    }
    put(out, &BackendKeyData::new(key.0, SecretKey::I32(key.1)));
    put_ready(out, TransactionState::Idle);
}
