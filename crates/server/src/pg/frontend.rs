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
//!
//! A message is read in two steps, so that nothing is copied out of it: its bytes are taken off the
//! input as a [`Frame`], and [`Frame::read`] finds the [`Message`] in them.

use std::collections::BTreeMap;

use bytes::{Buf, BytesMut};

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
    let Some(body) = take_body(input, 0, STARTUP_BYTES_MAX)? else {
        return Ok(None);
    };
    let mut reader = Reader::new("startup", &body);
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
                parameters.insert(name.to_owned(), reader.text()?.to_owned());
            }
            Opening::Startup { minor, parameters }
        }
        _ => return Err(reader.malformed("speak version 3 of the protocol")),
    }))
}

/// The bytes of one message.
#[derive(Debug)]
pub struct Frame {
    kind: u8,
    body: BytesMut,
}

/// What a message says. Names are empty for the statement and the portal that have none.
#[derive(Debug)]
pub enum Message<'f> {
    /// Run these statements.
    Query(&'f str),
    /// Prepare a statement.
    Parse {
        /// What it is called from now on.
        name: &'f str,
        /// Its text.
        text: &'f str,
        /// The types of its first parameters; zero for one that is not stated.
        oids: Vec<u32>,
    },
    /// Give a prepared statement its values.
    Bind(Bind<'f>),
    /// Tell what a statement or portal is.
    Describe(Target, &'f str),
    /// Run a portal.
    Execute {
        /// Its name.
        portal: &'f str,
        /// How many rows are wanted; any number if this is not positive.
        rows_max: i32,
    },
    /// Forget a statement or portal.
    Close(Target, &'f str),
    /// Send what is there.
    Flush,
    /// End the round.
    Sync,
    /// Goodbye.
    Terminate,
    /// Some bytes of rows.
    CopyData(&'f [u8]),
    /// There are no more of them.
    CopyDone,
    /// There will be no more of them, for this reason.
    CopyFail(&'f str),
    /// Something that was to prove who the client is.
    Password,
}

/// Values for a prepared statement.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'f> {
    /// The name of the portal to make.
    pub portal: &'f str,
    /// The name of the statement.
    pub statement: &'f str,
    /// How the values are written: not said, one code for all, or one for each.
    pub formats: Codes<'f>,
    /// The values.
    pub cells: Cells<'f>,
    /// How the answer is to be written.
    pub result_formats: Codes<'f>,
}

/// What a describe or close is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// Codes of formats, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codes<'f>(&'f [[u8; 2]]);

impl Codes<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = i16> {
        self.0.iter().copied().map(i16::from_be_bytes)
    }
}

/// Values, each after its length.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'f> {
    count: usize,
    bytes: &'f [u8],
}

impl<'f> Cells<'f> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes they take, lengths included.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All of them; `None` is NULL.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'f [u8]>> {
        let mut reader = Reader::new("bind", self.bytes);
        (0..self.count).map(move |_| reader.cell().expect("all were read once before"))
    }
}

/// Takes the bytes of the next message off the input, or `None` while they are not all there.
pub fn take(input: &mut BytesMut) -> Result<Option<Frame>> {
    let Some(&kind) = input.first() else {
        return Ok(None);
    };
    if !b"QPBDECHSXdcfp".contains(&kind) {
        return Err(Error::MessageUnknown(kind));
    }
    let body = take_body(input, 1, MESSAGE_BYTES_MAX)?;
    Ok(body.map(|body| Frame { kind, body }))
}

/// Splits off the body of the message whose length stands at `offset`.
fn take_body(input: &mut BytesMut, offset: usize, limit: u32) -> Result<Option<BytesMut>> {
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

impl Frame {
    /// Whether it belongs to the extended protocol, where after an error everything up to Sync is
    /// skipped.
    pub fn is_extended(&self) -> bool {
        b"PBDECHS".contains(&self.kind)
    }

    /// What it says. If it is wrong inside, the next one begins where it should all the same.
    pub fn read(&self) -> Result<Message<'_>> {
        let mut reader = Reader::new(message_name(self.kind), &self.body);
        let message = match self.kind {
            b'Q' => Message::Query(reader.text()?),
            b'P' => Message::Parse {
                name: reader.text()?,
                text: reader.text()?,
                oids: reader.oids()?,
            },
            b'B' => Message::Bind(Bind {
                portal: reader.text()?,
                statement: reader.text()?,
                formats: reader.codes()?,
                cells: reader.cells()?,
                result_formats: reader.codes()?,
            }),
            b'D' => Message::Describe(reader.target()?, reader.text()?),
            b'C' => Message::Close(reader.target()?, reader.text()?),
            b'E' => Message::Execute {
                portal: reader.text()?,
                rows_max: reader.i32()?,
            },
            b'H' => Message::Flush,
            b'S' => Message::Sync,
            b'X' => Message::Terminate,
            b'c' => Message::CopyDone,
            b'd' => Message::CopyData(reader.rest()),
            b'f' => Message::CopyFail(reader.text()?),
            _ => {
                reader.rest();
                Message::Password
            }
        };
        match reader.body.is_empty() {
            true => Ok(message),
            false => Err(reader.malformed("bytes are left over")),
        }
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
    body: &'b [u8],
}

impl<'b> Reader<'b> {
    fn new(message: &'static str, body: &'b [u8]) -> Self {
        Self { message, body }
    }

    fn malformed(&self, reason: &'static str) -> Error {
        Error::Malformed {
            message: self.message,
            reason,
        }
    }

    /// So many bytes.
    fn bytes(&mut self, count: usize) -> Result<&'b [u8]> {
        let Some((bytes, rest)) = self.body.split_at_checked(count) else {
            return Err(self.malformed("it ends too early"));
        };
        self.body = rest;
        Ok(bytes)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((chunk, rest)) = self.body.split_first_chunk() else {
            return Err(self.malformed("it ends too early"));
        };
        self.body = rest;
        Ok(*chunk)
    }

    fn u32(&mut self) -> Result<u32> {
        self.chunk().map(u32::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32> {
        self.chunk().map(i32::from_be_bytes)
    }

    /// How many things follow.
    fn count(&mut self) -> Result<usize> {
        self.chunk().map(u16::from_be_bytes).map(usize::from)
    }

    /// Text up to its zero byte.
    fn text(&mut self) -> Result<&'b str> {
        let Some(end) = self.body.iter().position(|byte| *byte == 0) else {
            return Err(self.malformed("a text has no end"));
        };
        let bytes = self.bytes(end)?;
        self.bytes(1)?;
        std::str::from_utf8(bytes).map_err(|_| Error::NotUtf8 {
            thing: "text in a message",
        })
    }

    /// What a describe or close is about.
    fn target(&mut self) -> Result<Target> {
        match self.chunk()? {
            [b'S'] => Ok(Target::Statement),
            [b'P'] => Ok(Target::Portal),
            [_] => Err(self.malformed("neither a statement nor a portal")),
        }
    }

    /// As many numbers of types as a count says.
    fn oids(&mut self) -> Result<Vec<u32>> {
        let count = self.count()?;
        let (oids, _) = self.bytes(count * size_of::<u32>())?.as_chunks();
        Ok(oids.iter().copied().map(u32::from_be_bytes).collect())
    }

    /// As many codes of formats as a count says.
    fn codes(&mut self) -> Result<Codes<'b>> {
        let count = self.count()?;
        let (codes, _) = self.bytes(count * size_of::<i16>())?.as_chunks();
        Ok(Codes(codes))
    }

    /// As many values as a count says.
    fn cells(&mut self) -> Result<Cells<'b>> {
        let count = self.count()?;
        let all = self.body;
        for _ in 0..count {
            self.cell()?;
        }
        let (bytes, _) = all.split_at(all.len() - self.body.len());
        Ok(Cells { count, bytes })
    }

    /// A value after its length; the length -1 is NULL.
    fn cell(&mut self) -> Result<Option<&'b [u8]>> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length);
                let length = length.map_err(|_| self.malformed("a length is negative"))?;
                self.bytes(length).map(Some)
            }
        }
    }

    fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.body)
    }
}
