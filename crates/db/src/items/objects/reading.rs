//! Reading objects: all of one or a range, a part at a time, each held against its checksum.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use sql::collection::Part;

use super::super::error::{Error, Result};
use super::super::record::Record;
use super::super::{Collections, Place};
use crate::Kind;
use crate::objects::{Hold, Objects};

/// How often an object is looked up again when others change it at the same moment.
const ATTEMPTS_MAX: usize = 32;

/// An object whose bytes stay there while it is read, whatever becomes of its row.
#[derive(Debug)]
pub struct Object {
    /// What the server knows of it.
    pub record: Record,
    place: Place,
    /// The parts of a large one, and what keeps them there.
    large: Option<(Vec<Part>, Hold)>,
    objects: Arc<Objects>,
}

/// The bytes of an object or of a range of it, in order.
#[derive(Debug)]
pub struct Pieces {
    place: Place,
    /// What is left of them, and what keeps them there.
    large: Option<(std::vec::IntoIter<Part>, Hold)>,
    /// Bytes of an object that lie in its row.
    small: Bytes,
    /// Bytes before the range, from here on.
    skip: u64,
    /// Bytes of the range, from here on.
    left: u64,
    objects: Arc<Objects>,
}

impl Collections {
    /// An object, to be read.
    pub async fn object(&self, place: &Place) -> Result<Object> {
        let mut record = self.get(place, None).await?;
        for _ in 0..ATTEMPTS_MAX {
            let manifest = record.manifest().map_err(|error| damaged(place, error))?;
            let objects = &self.database.objects;
            let Some(manifest) = manifest else {
                return Ok(Object::new(record, place, None, objects));
            };
            let hold = objects.hold(manifest.uploads());
            // Its parts may have been removed before they were held, if it was replaced before.
            let again = self.get(place, None).await?;
            if again.data == record.data {
                let large = Some((manifest.parts, hold));
                return Ok(Object::new(again, place, large, objects));
            }
            record = again;
        }
        Err(Error::Busy)
    }
}

impl Object {
    fn new(
        record: Record,
        place: &Place,
        large: Option<(Vec<Part>, Hold)>,
        objects: &Arc<Objects>,
    ) -> Self {
        Self {
            record,
            place: place.clone(),
            large,
            objects: Arc::clone(objects),
        }
    }

    /// Its bytes in a range, as far as it has them.
    pub fn pieces(self, range: Range<u64>) -> Pieces {
        let end = range.end.min(self.record.size());
        let small = match self.large {
            Some(_) => Vec::new(),
            None => self.record.data.unwrap_or_default(),
        };
        Pieces {
            place: self.place,
            large: self.large.map(|(parts, hold)| (parts.into_iter(), hold)),
            small: small.into(),
            skip: range.start,
            left: end.saturating_sub(range.start),
            objects: self.objects,
        }
    }
}

impl Pieces {
    /// Whether nothing follows.
    pub fn is_at_end(&self) -> bool {
        self.left == 0
    }

    /// Cuts what follows to the range. Nothing if the range is behind it.
    fn cut(&mut self, bytes: Bytes) -> Bytes {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let from = self.skip.min(size);
        let to = from.saturating_add(self.left).min(size);
        self.skip -= from;
        self.left -= to - from;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        bytes.slice(place(from)..place(to))
    }

    fn next_part(&mut self) -> Option<Result<Bytes>> {
        let (parts, _) = self.large.as_mut()?;
        loop {
            let Some(part) = parts.next() else {
                let error = damaged(&self.place, "it has fewer bytes than it should");
                return Some(Err(error));
            };
            let size = u64::from(part.bytes);
            if self.skip >= size {
                self.skip -= size;
                continue;
            }
            let read = self.objects.read(&part);
            return Some(match read {
                Ok(bytes) => Ok(self.cut(bytes)),
                Err(error) => Err(failed(&self.place, error)),
            });
        }
    }
}

impl Iterator for Pieces {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let piece = match self.large {
            Some(_) => self.next_part()?,
            None => {
                let bytes = std::mem::take(&mut self.small);
                let piece = self.cut(bytes);
                self.left = 0;
                Ok(piece)
            }
        };
        if piece.is_err() {
            self.left = 0;
        }
        Some(piece)
    }
}

/// What reading a part came to. Bytes that are not what was written are said to be of this object.
pub(super) fn failed(place: &Place, error: crate::Error) -> Error {
    match error.kind() {
        Kind::Corrupt => damaged(place, error),
        _ => error.into(),
    }
}

pub(super) fn damaged(place: &Place, cause: impl std::fmt::Display) -> Error {
    let directory = &place.directory;
    Error::Damaged {
        object: format!("/{}/{}{}", directory.container, directory.path, place.name),
        cause: cause.to_string(),
    }
}
