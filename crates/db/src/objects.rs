//! Large objects: who uses which of their parts, and when parts are removed.
//!
//! ```text
//!   PartWriter    holds an upload ──► parts ──► settled ──► a row names them ──► lets go     [`writer`]
//!   reader        holds the uploads of a manifest, looks whether the row still says so, reads
//!   sweep         removes parts that no row references and no writer or reader holds        [`sweep`]
//! ```
//!
//! Rows decide: a part is needed while a row names it, whichever statement put the row there or took it
//! away. What is kept here of parts is in memory only, and what a crash leaves behind is found by the
//! first sweep.
//!
//! An upload that was given up before any row could name it is removed by name. So that a reader never
//! meets a part that goes, it holds the uploads first and reads the row again after that: a sweep that
//! did not see the hold saw a row that the reader does not see any more.

mod sweep;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use sql::collection::Part;
use storage::env::Random;
use storage::{Checksum, EngineId, PART_BYTES_MAX, PartId, Parts, Placement, UploadId};

use crate::{Error, Kind, Result};

pub(crate) use sweep::Ground;
pub(crate) use writer::PartWriter;

/// Parts of large objects, and who uses them.
#[derive(Debug)]
pub(crate) struct Objects {
    parts: Arc<dyn Parts>,
    /// Asks the engine whether there is room beside it.
    placement: Arc<dyn Placement>,
    random: Arc<dyn Random>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many writers and readers there are of each upload.
    held: HashMap<UploadId, usize>,
    /// Uploads that no row can name.
    given_up: Vec<UploadId>,
    /// Whether a row was taken away that named parts.
    loosened: bool,
    /// Whether the last sweep left uploads out because they were held.
    passed_over: bool,
    /// When the next sweep may begin, and when it is to, in microseconds since 1970; no sweep was yet
    /// when there is nothing.
    due: Option<(u64, u64)>,
}

/// Uploads that are not removed while this is there.
#[derive(Debug)]
pub(crate) struct Hold {
    objects: Arc<Objects>,
    uploads: Vec<UploadId>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.objects.state.lock();
        for upload in &self.uploads {
            state.let_go(*upload);
        }
        // It may have been the last to need them.
        state.loosened |= std::mem::take(&mut state.passed_over);
    }
}

impl State {
    fn let_go(&mut self, upload: UploadId) {
        match self.held.get_mut(&upload) {
            Some(holders) if *holders > 1 => *holders -= 1,
            _ => {
                self.held.remove(&upload);
            }
        }
    }
}

impl Objects {
    pub(crate) fn new(
        parts: Arc<dyn Parts>,
        placement: Arc<dyn Placement>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self {
            parts,
            placement,
            random,
            state: Mutex::default(),
        }
    }

    /// Keeps uploads from being removed.
    pub(crate) fn hold(self: &Arc<Self>, uploads: impl IntoIterator<Item = u128>) -> Hold {
        let uploads: Vec<UploadId> = uploads.into_iter().map(UploadId).collect();
        let mut state = self.state.lock();
        for upload in &uploads {
            *state.held.entry(*upload).or_default() += 1;
        }
        drop(state);
        Hold {
            objects: Arc::clone(self),
            uploads,
        }
    }

    /// Says that a row which named parts may be gone, so that a sweep finds something.
    pub(crate) fn loosen(&self) {
        self.state.lock().loosened = true;
    }

    /// The bytes of a part, which are those that were written.
    pub(crate) fn read(&self, part: &Part) -> Result<Bytes> {
        let id = part_id(part);
        let wrong = |what: &'static str| Err(Error::new(Kind::Corrupt, PartDamaged { id, what }));
        let Some(bytes) = self.parts.get(id)? else {
            return wrong("is gone");
        };
        match u32::try_from(bytes.len()) {
            Ok(length) if length == part.bytes => {}
            _ => return wrong("has another length than it was written with"),
        }
        match Checksum::of(&bytes) == part.checksum {
            true => Ok(bytes),
            false => wrong("has other bytes than were written"),
        }
    }

    /// An error unless another part fits beside the engine.
    fn admit(&self) -> Result<()> {
        let engine = self.placement.open(EngineId::META)?;
        engine.admit(u64::try_from(PART_BYTES_MAX).unwrap_or(u64::MAX))?;
        Ok(())
    }

    /// A new upload id, with a reference held by the caller.
    fn begin_upload(&self) -> UploadId {
        let [high, low] = [(); 2].map(|()| u128::from(self.random.next_u64()));
        let upload = UploadId(high << 64 | low);
        *self.state.lock().held.entry(upload).or_default() += 1;
        upload
    }
}

/// A part that is not what its row says.
#[derive(Debug, thiserror::Error)]
#[error("part {id} {what}")]
struct PartDamaged {
    id: PartId,
    what: &'static str,
}

fn part_id(part: &Part) -> PartId {
    PartId {
        upload: UploadId(part.upload),
        number: part.number,
    }
}
