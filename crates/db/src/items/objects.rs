//! Plain objects: bytes under a name, replaced or grown, in the row or in parts beside it.
//!
//! ```text
//!   up to 64 KiB     the row: one commit, as for an item
//!   more             parts of 1 MiB, written as they come  ──►  manifest in the row: one commit
//! ```
//!
//! So an object is seen whole or not at all, and an upload of any size takes the memory of its first
//! 64 KiB. The bound is where a row begins to cost more than files do: it is written to the journal, to
//! a table and again by each compaction, and read whole by every listing.
//!
//! What is appended follows as parts of its own, but the last part before it and its first are made
//! one if they fit in one. Two neighbours together are longer than a part can be, so that an object has
//! at most about two parts for each MiB, however it was appended to.

mod reading;

use keys::Item;
use parking_lot::Mutex;
use sql::collection::{Manifest, Part};
use storage::PART_BYTES_MAX;

use super::error::{Error, Result};
use super::layout::SCHEMA_NAME;
use super::record::Record;
use super::write::Change;
use super::{Collections, Place};
use crate::objects::PartWriter;

pub use reading::{Object, Pieces};

/// Bytes of the largest object.
pub const OBJECT_BYTES_MAX: u64 = 5 << 30;

/// Bytes of the largest schema, which is read at once.
pub const SCHEMA_BYTES_MAX: usize = 2 << 20;

/// Bytes of the largest object that lies in its row.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// What becomes of the bytes that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The new ones take their place.
    Replace,
    /// The new ones follow them.
    Append,
}

/// An object whose bytes are coming. Dropped before its end, nothing happened.
#[derive(Debug)]
pub struct Upload<'c> {
    collections: &'c Collections,
    place: Place,
    how: How,
    /// What came and is not in a part yet.
    buffer: Vec<u8>,
    bytes: u64,
    writer: Option<PartWriter>,
}

/// The bytes of an upload that has ended.
enum Body {
    /// Few, which may lie in the row.
    Inline(Vec<u8>),
    /// Many, in parts.
    Parts(Vec<Part>),
}

impl Collections {
    /// Puts an object, which keeps its attributes if it was there; when it was changed.
    pub async fn put_object(&self, place: &Place, data: Vec<u8>) -> Result<i64> {
        if place.name == SCHEMA_NAME {
            check_size("schema", data.len(), SCHEMA_BYTES_MAX)?;
            return self.set_schema(place, Some(data)).await;
        }
        let mut upload = self.upload(place, How::Replace)?;
        upload.write(&data)?;
        upload.finish().await
    }

    /// Adds bytes to the end of an object, or makes one; when it was changed.
    pub async fn append(&self, place: &Place, more: &[u8]) -> Result<i64> {
        let mut upload = self.upload(place, How::Append)?;
        upload.write(more)?;
        upload.finish().await
    }

    /// Begins an object whose bytes come one after the other. A schema comes at once:
    /// [`Collections::put_object`].
    pub fn upload(&self, place: &Place, how: How) -> Result<Upload<'_>> {
        if place.name == SCHEMA_NAME {
            let reason = "a schema is put whole, and not appended to";
            return Err(Error::Invalid(reason.to_owned()));
        }
        Ok(Upload {
            collections: self,
            place: place.clone(),
            how,
            buffer: Vec::new(),
            bytes: 0,
            writer: None,
        })
    }

    /// Changes the bytes of an object as `data` says, which sees what is there; when it was changed.
    async fn change_data(
        &self,
        place: &Place,
        data: impl Fn(Option<&Record>) -> Result<Vec<u8>>,
    ) -> Result<i64> {
        let entered = self.enter_to_write(&place.directory).await?;
        let decide = |found: Option<&Record>| {
            let attributes = found.map(|record| record.attributes.clone());
            let attributes = attributes.map_or_else(|| Item::new().encode(), Ok)?;
            Ok(Change::Put(attributes, Some(data(found)?)))
        };
        self.change(&entered, place, None, decide).await
    }
}

impl Upload<'_> {
    /// Takes more bytes in. They are on their way to the disk when this returns, but for some.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.bytes = self.bytes.saturating_add(length(bytes.len()));
        check_object(self.bytes)?;
        while !bytes.is_empty() {
            if self.buffer.len() == INLINE_BYTES_MAX {
                self.flush()?;
            }
            let room = INLINE_BYTES_MAX.saturating_sub(self.buffer.len());
            let (now, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.buffer.extend_from_slice(now);
            bytes = rest;
        }
        Ok(())
    }

    /// Shows the object; when it was changed.
    pub async fn finish(mut self) -> Result<i64> {
        if self.writer.is_none() {
            let bytes = std::mem::take(&mut self.buffer);
            match self.how {
                How::Append => return self.commit(Body::Inline(bytes)).await,
                How::Replace if !Manifest::is(&bytes) => {
                    let (collections, place) = (self.collections, &self.place);
                    return collections.change_data(place, |_| Ok(bytes.clone())).await;
                }
                // It would be taken for a manifest.
                How::Replace => self.buffer = bytes,
            }
        }
        self.flush()?;
        let parts = match &mut self.writer {
            Some(writer) => writer.finish()?,
            None => Vec::new(),
        };
        self.commit(Body::Parts(parts)).await
    }

    fn flush(&mut self) -> Result<()> {
        let objects = &self.collections.database.objects;
        let writer = self
            .writer
            .get_or_insert_with(|| PartWriter::begin(objects));
        writer.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    async fn commit(mut self, body: Body) -> Result<i64> {
        let (collections, place, how) = (self.collections, self.place, self.how);
        let objects = &collections.database.objects;
        let mut writer = self
            .writer
            .take()
            .unwrap_or_else(|| PartWriter::begin(objects));
        writer.commit_begins();
        let writer = Mutex::new(writer);
        let joined = |found: Option<&Record>| {
            let mut join = Join {
                place: &place,
                writer: &mut writer.lock(),
                objects,
            };
            match how {
                How::Replace => join.join(None, &body),
                How::Append => join.join(found, &body),
            }
        };
        let mut changed = collections.change_data(&place, joined).await;
        if matches!(changed, Err(Error::Damaged { .. })) {
            // A part may have gone with a row that the transaction still saw.
            changed = collections.change_data(&place, joined).await;
        }
        let done = match &changed {
            Ok(_) => Some(true),
            Err(Error::Database(error)) if error.unknown_commit().is_some() => None,
            Err(_) => Some(false),
        };
        writer.lock().committed(done);
        changed
    }
}

/// Puts what is appended behind what is there.
struct Join<'j> {
    place: &'j Place,
    writer: &'j mut PartWriter,
    objects: &'j crate::objects::Objects,
}

impl Join<'_> {
    fn join(&mut self, found: Option<&Record>, body: &Body) -> Result<Vec<u8>> {
        let there = found.and_then(|record| record.data.as_deref());
        let there = there.unwrap_or_default();
        let manifest = found.map(|record| record.manifest());
        let manifest = manifest.transpose().map_err(|error| self.damaged(error))?;
        let before = found.map_or(0, Record::size);
        let (mut parts, mut front) = match manifest.flatten() {
            Some(_) if body.bytes() == 0 => return Ok(there.to_vec()),
            Some(manifest) => (manifest.parts, Vec::new()),
            None => (Vec::new(), there.to_vec()),
        };
        if let (true, Body::Inline(more)) = (parts.is_empty(), body) {
            let joined = [&front, more.as_slice()].concat();
            if joined.len() <= INLINE_BYTES_MAX && !Manifest::is(&joined) {
                return Ok(joined);
            }
        }
        let (more, mut rest) = match body {
            Body::Inline(more) => (more.len(), &[][..]),
            Body::Parts(parts) => (first_bytes(parts), parts.as_slice()),
        };
        check_object(before.saturating_add(body.bytes()))?;
        if let Some(last) = parts.pop_if(|last| last_bytes(last) + more <= PART_BYTES_MAX) {
            front = self.read(&last)?;
        }
        let last = front.len() % PART_BYTES_MAX;
        match (body, rest.split_first()) {
            (Body::Inline(more), _) => front.extend_from_slice(more),
            (_, Some((first, others))) if last > 0 && last + more <= PART_BYTES_MAX => {
                front.extend_from_slice(&self.read(first)?);
                rest = others;
            }
            _ => {}
        }
        self.writer.write(&front)?;
        parts.extend(self.writer.finish()?);
        parts.extend_from_slice(rest);
        Ok(Manifest { parts }.encode())
    }

    fn read(&self, part: &Part) -> Result<Vec<u8>> {
        let read = self.objects.read(part);
        read.map(Into::into)
            .map_err(|error| reading::failed(self.place, error))
    }

    fn damaged(&self, error: impl std::fmt::Display) -> Error {
        reading::damaged(self.place, error)
    }
}

impl Body {
    fn bytes(&self) -> u64 {
        match self {
            Self::Inline(bytes) => length(bytes.len()),
            Self::Parts(parts) => parts.iter().map(|part| u64::from(part.bytes)).sum(),
        }
    }
}

fn first_bytes(parts: &[Part]) -> usize {
    parts.first().map_or(0, last_bytes)
}

fn last_bytes(part: &Part) -> usize {
    usize::try_from(part.bytes).unwrap_or(usize::MAX)
}

/// Whether a record is a large object.
pub(super) fn names_parts(record: Option<&Record>) -> bool {
    let data = record.and_then(|record| record.data.as_deref());
    data.is_some_and(Manifest::is)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn check_size(what: &'static str, bytes: usize, limit: usize) -> Result<()> {
    let limit = length(limit);
    match length(bytes) > limit {
        true => Err(Error::TooLarge { what, limit }),
        false => Ok(()),
    }
}

fn check_object(bytes: u64) -> Result<()> {
    match bytes > OBJECT_BYTES_MAX {
        true => Err(Error::TooLarge {
            what: "object",
            limit: OBJECT_BYTES_MAX,
        }),
        false => Ok(()),
    }
}
