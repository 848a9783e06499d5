//! Snapshots of the fjall engine, and their scans.

use std::fs::File;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::fjall::Readable;
use bytes::Bytes;

use super::core::{Core, Spaces, find, view};
use super::failure;
use crate::engine::check_key;
use crate::{
    Direction, ENGINE_KEY_BYTES_MAX, Error, KeyRange, Pair, Result, Scan, Snapshot, SpaceId,
};

pub(super) struct FjallSnapshot {
    view: Option<::fjall::Snapshot>,
    spaces: Arc<Spaces>,
    life: Life,
}

/// The opening that a snapshot is of.
#[derive(Clone)]
struct Life {
    number: u64,
    newest: Arc<AtomicU64>,
    _lock: Arc<File>,
}

impl Life {
    /// What an error means: files may be gone by right when fjall was opened again.
    fn explain(&self, path: &Path, error: Error) -> Error {
        match error {
            Error::Damaged { .. } if self.newest.load(Ordering::Acquire) != self.number => {
                Error::Interrupted {
                    path: path.to_path_buf(),
                }
            }
            other => other,
        }
    }
}

impl FjallSnapshot {
    pub(super) fn new(core: &Core) -> Self {
        let life = Life {
            number: core.openings.load(Ordering::Acquire),
            newest: Arc::clone(&core.openings),
            _lock: Arc::clone(&core.lock),
        };
        let opening = core.opening.load();
        Self {
            view: match &opening.database {
                Some(database) => view(database),
                None => opening.last_view.clone(),
            },
            spaces: Arc::clone(&opening.spaces),
            life,
        }
    }
}

impl Snapshot for FjallSnapshot {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        let keyspace = find(&self.spaces, space)?;
        let (Some(view), Ok(())) = (&self.view, check_key(key)) else {
            return Ok(None);
        };
        let value = failure::contain("read", keyspace.path(), || view.get(keyspace, key))
            .map_err(|error| self.life.explain(keyspace.path(), error))?;
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
            life: self.life.clone(),
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
    life: Life,
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
        next.map_err(|error| self.life.explain(&self.path, error))
            .map(|pair| pair.map(|(key, value)| (key.into(), value.into())))
            .transpose()
    }
}
