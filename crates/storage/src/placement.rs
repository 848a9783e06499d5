//! Which engine holds a partition: one engine for all of them, or one engine each.
//!
//! On one machine all partitions share one engine, so a commit over many partitions is one atomic
//! batch and a split moves nothing. On object storage each partition will have its own engine, so
//! that any node can serve it. Code above asks the placement and never assumes that there is one
//! engine.
//!
//! ```text
//!   SharedPlacement                        SeparatePlacement
//!
//!   meta   p1   p2   p3                    meta      p1      p2      p3
//!     └────┴─┬──┴────┘                       │        │       │       │
//!         engine 0                        engine 0 engine 1 engine 2 engine 3
//! ```
//!
//! **Reopening.** An engine that was poisoned refuses every write, even an empty one; that is how a
//! placement tells that it must open the engine again. The placement lets go of the poisoned engine
//! first. An engine on disk locks its directory until its last handle, snapshot and scan are gone,
//! so whoever saw the poison drops what it holds before it asks for the engine again, or the answer
//! is [`crate::Error::Locked`]. An engine that comes back by itself is asked again instead.
//!
//! **Copying.** A copy happens before the partition map refers to its target. When it is interrupted
//! the map still names the source, and the copy is run again, or another one with the same target:
//! so a copy first clears the ranges it is about to fill, and only then fills them. Running it once,
//! twice or after half of another one gives the same result.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    Batch, Direction, Durability, Engine, Error, KeyRange, Result, Scan, Snapshot, SpaceId,
};

/// How many keys of an interrupted copy are removed in one batch.
const CLEAR_BATCH_KEYS: usize = 1_024;

/// The name of one engine within a placement. Id 0 is the engine that holds the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EngineId(pub u64);

impl EngineId {
    /// The engine that holds the catalog and the partition map; it always exists.
    pub const META: Self = Self(0);
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "engine {}", self.0)
    }
}

/// Opens, splits and merges the engines of partitions.
pub trait Placement: Send + Sync + fmt::Debug {
    /// Opens an engine, or opens it again after it was poisoned; makes it if it does not exist.
    fn open(&self, id: EngineId) -> Result<Arc<dyn Engine>>;

    /// The engine for a new partition, given a number that no engine has had. A shared placement
    /// answers with the engine it has.
    fn assign(&self, fresh: u64) -> EngineId;

    /// Makes `to` hold exactly what `from` holds of each range in its space, durably. Nothing is
    /// removed from `from`, whose owner may still be read. When `to` is `from` there is nothing to do.
    ///
    /// A split calls this once for each new partition, a merge once for each old one.
    fn copy(&self, from: EngineId, to: EngineId, parts: &[(SpaceId, KeyRange)]) -> Result<()>;

    /// Destroys an engine that no partition uses any more. Never the metadata engine; a shared
    /// placement keeps its only engine.
    fn discard(&self, id: EngineId) -> Result<()>;
}

type Open = dyn Fn(EngineId) -> Result<Arc<dyn Engine>> + Send + Sync;
type Discard = dyn Fn(EngineId) -> Result<()> + Send + Sync;

/// The engines that are open, by id, with the way to open one.
struct Opened {
    open: Box<Open>,
    engines: Mutex<BTreeMap<EngineId, Arc<dyn Engine>>>,
}

impl Opened {
    fn new(open: Box<Open>) -> Self {
        Self {
            open,
            engines: Mutex::new(BTreeMap::new()),
        }
    }

    fn get(&self, id: EngineId) -> Result<Arc<dyn Engine>> {
        let mut engines = self.engines.lock();
        if let Some(engine) = engines.get(&id) {
            if takes_writes(engine.as_ref())? {
                return Ok(engine.clone());
            }
            if engine.comes_back() {
                let cause = "it has not come back yet".to_owned();
                return Err(Error::Poisoned { cause });
            }
            engines.remove(&id);
        }
        let engine = (self.open)(id)?;
        engines.insert(id, engine.clone());
        Ok(engine)
    }
}

/// Whether an engine is not poisoned: an empty batch changes nothing, and a poisoned engine refuses
/// even that.
fn takes_writes(engine: &dyn Engine) -> Result<bool> {
    match engine.write(Batch::new(), Durability::Buffered) {
        Ok(()) => Ok(true),
        Err(Error::Poisoned { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// One engine for everything.
pub struct SharedPlacement {
    opened: Opened,
}

impl SharedPlacement {
    /// A placement whose engine is made by `open`, at first use and again after it was poisoned.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Engine>> + Send + Sync + 'static) -> Self {
        Self {
            opened: Opened::new(Box::new(move |_| open())),
        }
    }
}

impl fmt::Debug for SharedPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPlacement").finish_non_exhaustive()
    }
}

impl Placement for SharedPlacement {
    fn open(&self, _id: EngineId) -> Result<Arc<dyn Engine>> {
        self.opened.get(EngineId::META)
    }

    fn assign(&self, _fresh: u64) -> EngineId {
        EngineId::META
    }

    fn copy(&self, _from: EngineId, _to: EngineId, _parts: &[(SpaceId, KeyRange)]) -> Result<()> {
        Ok(())
    }

    fn discard(&self, _id: EngineId) -> Result<()> {
        Ok(())
    }
}

/// An engine for each partition, and one for the metadata.
pub struct SeparatePlacement {
    opened: Opened,
    discard: Box<Discard>,
}

impl SeparatePlacement {
    /// A placement whose engines are made or opened by `open`, at first use and again after they
    /// were poisoned, and destroyed by `discard`, to which an engine that is already gone is no
    /// error.
    pub fn new(
        open: impl Fn(EngineId) -> Result<Arc<dyn Engine>> + Send + Sync + 'static,
        discard: impl Fn(EngineId) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            opened: Opened::new(Box::new(open)),
            discard: Box::new(discard),
        }
    }
}

impl fmt::Debug for SeparatePlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opened: Vec<EngineId> = self.opened.engines.lock().keys().copied().collect();
        f.debug_struct("SeparatePlacement")
            .field("opened", &opened)
            .finish_non_exhaustive()
    }
}

impl Placement for SeparatePlacement {
    fn open(&self, id: EngineId) -> Result<Arc<dyn Engine>> {
        self.opened.get(id)
    }

    fn assign(&self, fresh: u64) -> EngineId {
        assert!(
            fresh != EngineId::META.0,
            "a partition may not have the metadata engine's number"
        );
        EngineId(fresh)
    }

    fn copy(&self, from: EngineId, to: EngineId, parts: &[(SpaceId, KeyRange)]) -> Result<()> {
        if from == to {
            return Ok(());
        }
        let source = self.open(from)?;
        let target = self.open(to)?;
        let source_spaces = source.spaces()?;
        let target_spaces = target.spaces()?;
        let view = source.snapshot()?;
        for (space, range) in parts {
            if target_spaces.contains(space) {
                clear(target.as_ref(), *space, range)?;
            }
            if source_spaces.contains(space) {
                target.create_space(*space)?;
                fill(target.as_ref(), view.as_ref(), *space, range)?;
            }
        }
        target.sync()
    }

    fn discard(&self, id: EngineId) -> Result<()> {
        assert!(
            id != EngineId::META,
            "the metadata engine is never discarded"
        );
        self.opened.engines.lock().remove(&id);
        (self.discard)(id)
    }
}

fn clear(target: &dyn Engine, space: SpaceId, range: &KeyRange) -> Result<()> {
    let mut leftovers = target
        .snapshot()?
        .scan(space, range, Direction::Ascending)?;
    loop {
        let mut batch = Batch::new();
        for pair in leftovers.by_ref().take(CLEAR_BATCH_KEYS) {
            batch.remove(space, pair?.0);
        }
        if batch.is_empty() {
            return Ok(());
        }
        target.write(batch, Durability::Buffered)?;
    }
}

fn fill(target: &dyn Engine, view: &dyn Snapshot, space: SpaceId, range: &KeyRange) -> Result<()> {
    let mut rows = UntilError {
        scan: view.scan(space, range, Direction::Ascending)?.peekable(),
        error: None,
    };
    if rows.scan.peek().is_none() {
        return Ok(());
    }
    target.ingest(space, &mut rows)?;
    // What was loaded before the source failed is cleared by the next attempt.
    rows.error.map_or(Ok(()), Err)
}

/// The pairs of a scan up to its first error, which is kept for later.
struct UntilError {
    scan: std::iter::Peekable<Scan>,
    error: Option<Error>,
}

impl Iterator for UntilError {
    type Item = (bytes::Bytes, bytes::Bytes);

    fn next(&mut self) -> Option<Self::Item> {
        match self.scan.next()? {
            Ok(pair) => Some(pair),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}
