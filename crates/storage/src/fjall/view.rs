//! Snapshots of the fjall engine, and their scans.

use std::fs::File;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use ::fjall::{Database, Readable};
use bytes::Bytes;

use super::{Spaces, failure, find};
use crate::engine::check_key;
use crate::{Direction, ENGINE_KEY_BYTES_MAX, KeyRange, Pair, Result, Scan, Snapshot, SpaceId};

pub(super) struct FjallSnapshot {
    /// None before the first write, when there is nothing to see: fjall takes a snapshot of its
    /// instant 0 for none at all when it looks for the oldest one, and then gives up what others see.
    view: Option<::fjall::Snapshot>,
    spaces: Arc<Spaces>,
    _lock: Arc<File>,
}

impl FjallSnapshot {
    pub(super) fn new(database: &Database, spaces: Arc<Spaces>, lock: Arc<File>) -> Self {
        let written = database.visible_seqno() > 0;
        Self {
            view: written.then(|| database.snapshot()),
            spaces,
            _lock: lock,
        }
    }
}

impl Snapshot for FjallSnapshot {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        let keyspace = find(&self.spaces, space)?;
        let (Some(view), Ok(())) = (&self.view, check_key(key)) else {
            return Ok(None);
        };
        let value = failure::contain("read", keyspace.path(), || view.get(keyspace, key))?;
        Ok(value.map(Bytes::from))
    }

    fn scan(&self, space: SpaceId, range: &KeyRange, direction: Direction) -> Result<Scan> {
        let keyspace = find(&self.spaces, space)?;
        let (Some(view), false) = (&self.view, range.is_empty()) else {
            return Ok(Box::new(std::iter::empty()));
        };
        Ok(Box::new(FjallScan {
            pairs: view.range(keyspace, bounds(range)),
            direction,
            path: keyspace.path().to_path_buf(),
            failed: false,
        }))
    }
}

/// The bounds of a range, as far as they are keys that fjall takes. A stored key is never longer than
/// the longest, so against a longer bound it sorts as against the start of it, save for being equal.
fn bounds(range: &KeyRange) -> (Bound<Bytes>, Bound<Bytes>) {
    let too_long = |key: &Bytes| key.len() > ENGINE_KEY_BYTES_MAX;
    let lower = match &range.lower {
        key if too_long(key) => Bound::Excluded(key.slice(..ENGINE_KEY_BYTES_MAX)),
        key => Bound::Included(key.clone()),
    };
    let upper = match &range.upper {
        Some(key) if too_long(key) => Bound::Included(key.slice(..ENGINE_KEY_BYTES_MAX)),
        Some(key) => Bound::Excluded(key.clone()),
        None => Bound::Unbounded,
    };
    (lower, upper)
}

/// The rest of a scan, which ends at its first error.
struct FjallScan {
    pairs: ::fjall::Iter,
    direction: Direction,
    path: PathBuf,
    failed: bool,
}

impl Iterator for FjallScan {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let (pairs, direction) = (&mut self.pairs, self.direction);
        let next = failure::contain("scan", &self.path, || {
            let guard = match direction {
                Direction::Ascending => pairs.next(),
                Direction::Descending => pairs.next_back(),
            };
            guard.map(::fjall::Guard::into_inner).transpose()
        });
        self.failed = next.is_err();
        next.map(|pair| pair.map(|(key, value)| (key.into(), value.into())))
            .transpose()
    }
}
