//! Bytes from a client as messages, whatever the bytes are.
//!
//! ```text
//!   every message but the first        the first, which has no type
//!   ┌──────┬────────┬─────────┐        ┌────────┬──────────────────┬─────────┐
//!   │ type │ length │ body …  │        │ length │ version, or code │ body …  │
//!   └──────┴────────┴─────────┘        └────────┴──────────────────┴─────────┘
//!     1      4, with itself              4        4
//!
//!   Q  text␀                                        a simple query
//!   P  name␀ text␀ n:2 (oid:4)×n                    parse
//!   B  portal␀ statement␀ n:2 (format:2)×n          bind
//!      n:2 (length:4 bytes)×n n:2 (format:2)×n
//!   D  S or P, name␀                                describe
//!   E  portal␀ rows:4                               execute
//!   C  S or P, name␀                                close
//!   H S X c                                         flush, sync, terminate, copy done
//!   d f p                                           copy data, copy fail, password
//! ```
//!
//! A length that cannot be, or a type that is none, ends the conversation: nobody knows where the
//! next message begins. A body that is wrong inside its length is an error of that message only.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use pgwire::messages::PgWireFrontendMessage as Message;
use pgwire::messages::copy::{CopyData, CopyDone, CopyFail};
use pgwire::messages::extendedquery::{Bind, Close, Describe, Execute, Flush, Parse, Sync};
use pgwire::messages::simplequery::Query;
use pgwire::messages::startup::PasswordMessageFamily;
use pgwire::messages::terminate::Terminate;

use crate::{Error, Result};

/// The longest message that is read, in bytes: a statement, or all parameters of one.
pub const MESSAGE_BYTES_MAX: u32 = 64 << 20;
/// The longest first message that is read, in bytes.
pub const STARTUP_BYTES_MAX: u32 = 10_000;

/// The type of the message that ends a round of the extended protocol.
pub const SYNC: u8 = b'S';

const CODE_CANCEL: u32 = 80_877_102;
const CODE_SSL: u32 = 80_877_103;
const CODE_GSS: u32 = 80_877_104;
const VERSION_MAJOR: u32 = 3;

/// What a client may begin with.
#[derive(Debug, PartialEq, Eq)]
pub enum Opening {
    /// It asks for encryption, of one kind or the other.
    Encryption,
    /// It asks to stop what another connection is doing.
    Cancel {
        /// The number of that connection.
        id: i32,
        /// The secret that only its client was told.
        secret: i32,
    },
    /// It says who it is.
    Startup {
        /// The protocol's minor version it would like.
        minor: u16,
        /// `user`, `database`, `application_name`, ….
        parameters: BTreeMap<String, String>,
    },
}

/// Takes the first message off the input, or `None` while it is not all there.
pub fn decode_opening(input: &mut BytesMut) -> Result<Option<Opening>> {
    let Some(mut body) = take_frame(input, 0, STARTUP_BYTES_MAX)? else {
        return Ok(None);
    };
    let mut reader = Reader::new("startup", &mut body);
    Ok(Some(match reader.u32()? {
        CODE_SSL | CODE_GSS => Opening::Encryption,
        CODE_CANCEL => Opening::Cancel {
            id: reader.i32()?,
            secret: reader.i32()?,
        },
        version if version >> 16 == VERSION_MAJOR => {
            let minor = u16::try_from(version & 0xffff).expect("sixteen bits are left");
            let mut parameters = BTreeMap::new();
            loop {
                let name = reader.text()?;
                if name.is_empty() {
                    break;
                }
                parameters.insert(name, reader.text()?);
            }
            Opening::Startup { minor, parameters }
        }
        _ => return Err(reader.malformed("speak version 3 of the protocol")),
    }))
}

/// A message taken off the input.
pub enum Taken {
    /// It is not all there yet.
    Incomplete,
    /// Here it is.
    Message(Message),
    /// It was one, and it is wrong inside; the next one begins where it should. The truth says
    /// whether it belongs to the extended protocol, where everything up to Sync is then skipped.
    Wrong(Error, bool),
}

/// Takes the next message off the input.
pub fn decode(input: &mut BytesMut) -> Result<Taken> {
    let Some(&kind) = input.first() else {
        return Ok(Taken::Incomplete);
    };
    if !b"QPBDECHSXdcfp".contains(&kind) {
        return Err(Error::MessageUnknown(kind));
    }
    let Some(body) = take_frame(input, 1, MESSAGE_BYTES_MAX)? else {
        return Ok(Taken::Incomplete);
    };
    Ok(match decode_body(kind, body) {
        Ok(message) => Taken::Message(message),
        Err(error) => Taken::Wrong(error, b"PBDECHS".contains(&kind)),
    })
}

/// Splits off the body of the message whose length stands at `offset`.
fn take_frame(input: &mut BytesMut, offset: usize, limit: u32) -> Result<Option<BytesMut>> {
    let Some(field) = input.get(offset..).and_then(|rest| rest.first_chunk()) else {
        return Ok(None);
    };
    let bytes = u32::from_be_bytes(*field);
    if !(4..=limit).contains(&bytes) {
        return Err(Error::MessageLength { bytes, limit });
    }
    let end = offset + usize::try_from(bytes).expect("the limit fits this machine's sizes");
    if input.len() < end {
        return Ok(None);
    }
    let mut frame = input.split_to(end);
    frame.advance(offset + 4);
    Ok(Some(frame))
}

fn decode_body(kind: u8, mut body: BytesMut) -> Result<Message> {
    let name = message_name(kind);
    let mut reader = Reader::new(name, &mut body);
    let message = match kind {
        b'Q' => Message::Query(Query::new(reader.text()?)),
        b'P' => Message::Parse(Parse::new(
            reader.name()?,
            reader.text()?,
            reader.counted(Reader::u32)?,
        )),
        b'B' => Message::Bind(Bind::new(
            reader.name()?,
            reader.name()?,
            reader.counted(Reader::i16)?,
            reader.counted(Reader::cell)?,
            reader.counted(Reader::i16)?,
        )),
        b'D' => Message::Describe(Describe::new(reader.target()?, reader.name()?)),
        b'C' => Message::Close(Close::new(reader.target()?, reader.name()?)),
        b'E' => Message::Execute(Execute::new(reader.name()?, reader.i32()?)),
        b'H' => Message::Flush(Flush::new()),
        b'S' => Message::Sync(Sync::new()),
        b'X' => Message::Terminate(Terminate::new()),
        b'c' => Message::CopyDone(CopyDone::new()),
        b'd' => Message::CopyData(CopyData::new(reader.rest())),
        b'f' => Message::CopyFail(CopyFail::new(reader.text()?)),
        _ => {
            let rest = reader.body.split_to(reader.body.len());
            Message::PasswordMessageFamily(PasswordMessageFamily::Raw(rest))
        }
    };
    match reader.body.is_empty() {
        true => Ok(message),
        false => Err(reader.malformed("bytes are left over")),
    }
}

fn message_name(kind: u8) -> &'static str {
    match kind {
        b'Q' => "query",
        b'P' => "parse",
        b'B' => "bind",
        b'D' => "describe",
        b'C' => "close",
        b'E' => "execute",
        b'H' => "flush",
        b'S' => "sync",
        b'X' => "terminate",
        b'c' | b'd' | b'f' => "copy",
        _ => "password",
    }
}

/// Reads a body from its front.
struct Reader<'b> {
    message: &'static str,
    body: &'b mut BytesMut,
}

impl<'b> Reader<'b> {
    fn new(message: &'static str, body: &'b mut BytesMut) -> Self {
        Self { message, body }
    }

    fn malformed(&self, reason: &'static str) -> Error {
        Error::Malformed {
            message: self.message,
            reason,
        }
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some(chunk) = self.body.first_chunk().copied() else {
            return Err(self.malformed("it ends too early"));
        };
        self.body.advance(N);
        Ok(chunk)
    }

    fn u32(&mut self) -> Result<u32> {
        self.chunk().map(u32::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32> {
        self.chunk().map(i32::from_be_bytes)
    }

    fn i16(&mut self) -> Result<i16> {
        self.chunk().map(i16::from_be_bytes)
    }

    /// Text up to its zero byte.
    fn text(&mut self) -> Result<String> {
        let Some(end) = self.body.iter().position(|byte| *byte == 0) else {
            return Err(self.malformed("a text has no end"));
        };
        let bytes = self.body.split_to(end);
        self.body.advance(1);
        let text = std::str::from_utf8(&bytes);
        text.map(str::to_owned).map_err(|_| Error::NotUtf8 {
            thing: "text in a message",
        })
    }

    /// The name of a statement or portal; the empty one is `None`.
    fn name(&mut self) -> Result<Option<String>> {
        self.text()
            .map(|name| Some(name).filter(|name| !name.is_empty()))
    }

    /// What a describe or close is about.
    fn target(&mut self) -> Result<u8> {
        match self.chunk()? {
            [target @ (b'S' | b'P')] => Ok(target),
            [_] => Err(self.malformed("neither a statement nor a portal")),
        }
    }

    /// As many things as a count of two bytes says.
    fn counted<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.chunk().map(u16::from_be_bytes)?;
        // Nothing is set aside for things that the message may not carry.
        let mut things = Vec::with_capacity(usize::from(count).min(self.body.len()));
        for _ in 0..count {
            things.push(read(self)?);
        }
        Ok(things)
    }

    /// A value after its length; the length -1 is NULL.
    fn cell(&mut self) -> Result<Option<Bytes>> {
        let bytes = match self.i32()? {
            -1 => return Ok(None),
            length => {
                usize::try_from(length).map_err(|_| self.malformed("a length is negative"))?
            }
        };
        if self.body.len() < bytes {
            return Err(self.malformed("it ends too early"));
        }
        Ok(Some(self.body.split_to(bytes).freeze()))
    }

    fn rest(&mut self) -> Bytes {
        self.body.split_to(self.body.len()).freeze()
    }
}
