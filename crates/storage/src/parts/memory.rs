//! Parts in memory, for databases that are gone when they are dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::{PART_BYTES_MAX, PartId, PartSink, Parts, UploadId};
use crate::{Error, Result};

type Kept = Arc<Mutex<BTreeMap<PartId, Bytes>>>;

/// Parts in memory.
#[derive(Debug, Default)]
pub struct MemoryParts {
    kept: Kept,
}

#[derive(Debug)]
struct MemorySink {
    part: PartId,
    bytes: Vec<u8>,
    kept: Kept,
}

impl Parts for MemoryParts {
    fn begin(&self, part: PartId) -> Result<Box<dyn PartSink>> {
        if self.kept.lock().contains_key(&part) {
            return Err(Error::Io {
                action: "create",
                path: part.to_string().into(),
                source: std::io::ErrorKind::AlreadyExists.into(),
            });
        }
        Ok(Box::new(MemorySink {
            part,
            bytes: Vec::new(),
            kept: Arc::clone(&self.kept),
        }))
    }

    fn settle(&self, _upload: UploadId) -> Result<()> {
        Ok(())
    }

    fn get(&self, part: PartId) -> Result<Option<Bytes>> {
        let found = self.kept.lock().get(&part).cloned();
        Ok(found.map(|mut bytes| {
            bytes.truncate(PART_BYTES_MAX + 1);
            bytes
        }))
    }

    fn remove(&self, part: PartId) -> Result<()> {
        self.kept.lock().remove(&part);
        Ok(())
    }

    fn remove_upload(&self, upload: UploadId) -> Result<()> {
        self.kept.lock().retain(|part, _| part.upload != upload);
        Ok(())
    }

    fn uploads(&self) -> Result<Vec<UploadId>> {
        let kept = self.kept.lock();
        let mut uploads: Vec<UploadId> = kept.keys().map(|part| part.upload).collect();
        uploads.dedup();
        Ok(uploads)
    }

    fn numbers(&self, upload: UploadId) -> Result<Vec<u32>> {
        let kept = self.kept.lock();
        let of_upload = kept.keys().filter(|part| part.upload == upload);
        Ok(of_upload.map(|part| part.number).collect())
    }
}

impl PartSink for MemorySink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.kept.lock().insert(self.part, self.bytes.into());
        Ok(())
    }
}
