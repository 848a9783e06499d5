//! Writing parts: bytes as they come, cut into parts that are durable before a row names them.
//!
//! ```text
//!   begin ──► write, write, … ──► finish ──► commit begins ──► kept
//!                │                               ├───────────► refused: a sweep looks for rows
//!                └── dropped: given up           └── unknown: held until the database is closed
//! ```

use std::sync::Arc;

use sql::collection::Part;
use storage::{Checksum, PART_BYTES_MAX, PartId, PartSink, UploadId};

use super::Objects;
use crate::Result;

/// What becomes of an upload when its writer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No row names it.
    GivenUp,
    /// A row may come to reference it: the outcome of its commit is not awaited.
    Unknown,
    /// A row named it.
    Kept,
    /// No row should name it, but one was about to.
    Refused,
}

/// Writes the parts of one upload.
#[derive(Debug)]
pub(crate) struct PartWriter {
    objects: Arc<Objects>,
    upload: UploadId,
    /// The number of the next part.
    next: u32,
    open: Option<Open>,
    /// Parts that ended and were not taken yet.
    ended: Vec<Part>,
    fate: Fate,
}

/// The part that is being written.
#[derive(Debug)]
struct Open {
    sink: Box<dyn PartSink>,
    checksum: Box<Checksum>,
    bytes: usize,
}

impl PartWriter {
    pub(crate) fn begin(objects: &Arc<Objects>) -> Self {
        Self {
            upload: objects.begin_upload(),
            objects: Arc::clone(objects),
            next: 0,
            open: None,
            ended: Vec::new(),
            fate: Fate::GivenUp,
        }
    }

    /// Adds bytes, in as many parts as they need.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => self.begin_part()?,
            };
            let room = PART_BYTES_MAX.saturating_sub(open.bytes);
            let (now, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            open.sink.write(now)?;
            open.checksum.update(now);
            open.bytes += now.len();
            bytes = rest;
            match open.bytes < PART_BYTES_MAX {
                true => self.open = Some(open),
                false => self.end_part(open)?,
            }
        }
        Ok(())
    }

    /// Ends the part that is being written, and takes all that were written since the last time, durable.
    pub(crate) fn finish(&mut self) -> Result<Vec<Part>> {
        if let Some(open) = self.open.take() {
            self.end_part(open)?;
        }
        if !self.ended.is_empty() {
            self.objects.parts.settle(self.upload)?;
        }
        Ok(std::mem::take(&mut self.ended))
    }

    /// Says that a row is about to name the parts.
    pub(crate) fn commit_begins(&mut self) {
        self.fate = Fate::Unknown;
    }

    /// Says what came of that; nothing if it is not known.
    pub(crate) fn committed(&mut self, done: Option<bool>) {
        self.fate = match done {
            Some(true) => Fate::Kept,
            Some(false) => Fate::Refused,
            None => Fate::Unknown,
        };
    }

    fn begin_part(&mut self) -> Result<Open> {
        self.objects.admit()?;
        let part = PartId {
            upload: self.upload,
            number: self.next,
        };
        let sink = self.objects.parts.begin(part)?;
        self.next += 1;
        Ok(Open {
            sink,
            checksum: Box::default(),
            bytes: 0,
        })
    }

    fn end_part(&mut self, open: Open) -> Result<()> {
        let checksum = open.checksum.value();
        open.sink.finish()?;
        self.ended.push(Part {
            upload: self.upload.0,
            number: self.next.saturating_sub(1),
            bytes: u32::try_from(open.bytes).unwrap_or(u32::MAX),
            checksum,
        });
        Ok(())
    }
}

impl Drop for PartWriter {
    fn drop(&mut self) {
        // Closed before it can be removed.
        self.open = None;
        let mut state = self.objects.state.lock();
        match self.fate {
            // It stays held.
            Fate::Unknown => return,
            Fate::Kept => {}
            Fate::Refused => state.loosened = true,
            Fate::GivenUp => state.given_up.push(self.upload),
        }
        state.let_go(self.upload);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use storage::env::SeededRandom;
    use storage::{Engine, Error, MemoryEngine, MemoryMedium, MemoryParts, Parts, SharedPlacement};

    use super::*;

    /// A disk with room for so many parts.
    #[derive(Debug)]
    struct Small {
        kept: MemoryParts,
        room: u32,
    }

    #[derive(Debug)]
    struct Full;

    impl PartSink for Full {
        fn write(&mut self, _: &[u8]) -> storage::Result<()> {
            Err(Error::DiskFull {
                path: "/data".into(),
            })
        }

        fn finish(self: Box<Self>) -> storage::Result<()> {
            Ok(())
        }
    }

    impl Parts for Small {
        fn begin(&self, part: PartId) -> storage::Result<Box<dyn PartSink>> {
            match part.number < self.room {
                true => self.kept.begin(part),
                false => Ok(Box::new(Full)),
            }
        }

        fn settle(&self, upload: UploadId) -> storage::Result<()> {
            self.kept.settle(upload)
        }

        fn get(&self, part: PartId) -> storage::Result<Option<Bytes>> {
            self.kept.get(part)
        }

        fn remove(&self, part: PartId) -> storage::Result<()> {
            self.kept.remove(part)
        }

        fn remove_upload(&self, upload: UploadId) -> storage::Result<()> {
            self.kept.remove_upload(upload)
        }

        fn uploads(&self) -> storage::Result<Vec<UploadId>> {
            self.kept.uploads()
        }

        fn numbers(&self, upload: UploadId) -> storage::Result<Vec<u32>> {
            self.kept.numbers(upload)
        }
    }

    #[test]
    fn a_full_disk_is_told_and_what_was_written_is_given_up() {
        let medium = MemoryMedium::new();
        let open = move || -> storage::Result<Arc<dyn Engine>> {
            Ok(Arc::new(MemoryEngine::open(&medium)))
        };
        let parts = Arc::new(Small {
            kept: MemoryParts::default(),
            room: 2,
        });
        let objects = Arc::new(Objects::new(
            Arc::clone(&parts) as Arc<dyn Parts>,
            Arc::new(SharedPlacement::new(open)),
            Arc::new(SeededRandom::new(1)),
        ));
        let mut writer = PartWriter::begin(&objects);
        let refused = writer.write(&vec![7; 3 * PART_BYTES_MAX]).unwrap_err();
        assert!(refused.is_disk_full(), "{refused}");
        assert!(refused.to_string().contains("no space left"), "{refused}");
        assert_eq!(parts.uploads().unwrap().len(), 1);
        drop(writer);
        assert_eq!(objects.remove_given_up().unwrap(), 2);
        assert_eq!(parts.uploads().unwrap(), []);
        assert!(objects.state.lock().held.is_empty());

        let mut writer = PartWriter::begin(&objects);
        writer.write(&vec![7; PART_BYTES_MAX + 1]).unwrap();
        let written = writer.finish().unwrap();
        let lengths: Vec<u32> = written.iter().map(|part| part.bytes).collect();
        assert_eq!(lengths, [1 << 20, 1]);
        // The outcome of its commit is unknown, so it stays.
        writer.commit_begins();
        drop(writer);
        assert_eq!(objects.remove_given_up().unwrap(), 0);
        assert_eq!(objects.state.lock().held.len(), 1);
        assert_eq!(objects.read(&written[1]).unwrap(), [7][..]);
        // One whose commit failed is not removed unseen either.
        let mut writer = PartWriter::begin(&objects);
        writer.write(&[7]).unwrap();
        writer.finish().unwrap();
        writer.commit_begins();
        writer.committed(Some(false));
        drop(writer);
        assert_eq!(objects.remove_given_up().unwrap(), 0);
        assert_eq!(objects.state.lock().held.len(), 1);
        assert!(objects.state.lock().loosened);
    }
}
