//! The [`Engine`] trait: ordered spaces of bytes, atomic batches, snapshots.

use std::fmt;

use bytes::Bytes;

use crate::{Error, Result};

/// The longest key that any engine stores. The embedded engine keeps key lengths in sixteen bits.
pub const ENGINE_KEY_BYTES_MAX: usize = 65_535;

/// Refuses a key that some engine could not store, so that all engines refuse the same keys.
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() {
        return Err(Error::KeyEmpty);
    }
    if key.len() > ENGINE_KEY_BYTES_MAX {
        return Err(Error::KeyTooLong {
            limit: ENGINE_KEY_BYTES_MAX,
            size: key.len(),
        });
    }
    Ok(())
}

/// One ordered key space inside an engine. Who uses which number is drawn in docs/key-space.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u64);

impl fmt::Display for SpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "space {}", self.0)
    }
}

/// A half-open range of keys: `lower` is in, `upper` is out, no upper means no bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The first key that may be in the range. Empty means from the start.
    pub lower: Bytes,
    /// The first key past the range, or `None` for a range without end.
    pub upper: Option<Bytes>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> Self {
        Self {
            lower: Bytes::new(),
            upper: None,
        }
    }

    /// From `lower` up to, not including, `upper`.
    pub fn new(lower: impl Into<Bytes>, upper: Option<Bytes>) -> Self {
        Self {
            lower: lower.into(),
            upper,
        }
    }

    /// Exactly `key`.
    pub fn point(key: &[u8]) -> Self {
        let mut upper = Vec::with_capacity(key.len() + 1);
        upper.extend_from_slice(key);
        upper.push(0);
        Self {
            lower: Bytes::copy_from_slice(key),
            upper: Some(upper.into()),
        }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.lower.as_ref() && self.upper.as_deref().is_none_or(|upper| key < upper)
    }

    /// Whether no key can lie in the range.
    pub fn is_empty(&self) -> bool {
        self.upper
            .as_deref()
            .is_some_and(|upper| upper <= self.lower.as_ref())
    }

    /// Whether some key can lie in both ranges.
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.intersect(other).is_empty()
    }

    /// The keys in both ranges; may be empty.
    pub fn intersect(&self, other: &Self) -> Self {
        let lower = self.lower.clone().max(other.lower.clone());
        let upper = match (&self.upper, &other.upper) {
            (Some(one), Some(two)) => Some(one.min(two).clone()),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        Self { lower, upper }
    }
}

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the lower bound upwards.
    Ascending,
    /// From the upper bound downwards.
    Descending,
}

/// What a write must survive before it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the machine's power: the write is synced to the medium.
    Synced,
    /// Nothing is promised: a crash may lose it, and everything written after it, but never part of
    /// a batch and never an earlier batch without the later ones.
    Buffered,
}

/// One change of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets the value of a key, whether or not it had one.
    Put(SpaceId, Bytes, Bytes),
    /// Removes a key; removing an absent key is no error.
    Remove(SpaceId, Bytes),
}

/// Changes that happen together or not at all, over any spaces of one engine.
///
/// Later operations on a key win over earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    operations: Vec<Operation>,
    frees_space: bool,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch with room for so many operations.
    pub fn with_capacity(operations: usize) -> Self {
        Self {
            operations: Vec::with_capacity(operations),
            frees_space: false,
        }
    }

    /// Lets the batch use the last room on a full medium, because it leads to more: what is deleted or
    /// dropped.
    pub fn free_space(&mut self) {
        self.frees_space = true;
    }

    /// Whether it may use the last room.
    pub fn frees_space(&self) -> bool {
        self.frees_space
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, space: SpaceId, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.operations
            .push(Operation::Put(space, key.into(), value.into()));
    }

    /// Removes `key`.
    pub fn remove(&mut self, space: SpaceId, key: impl Into<Bytes>) {
        self.operations.push(Operation::Remove(space, key.into()));
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The changes, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The changes, in order, without copying them.
    pub fn into_operations(self) -> Vec<Operation> {
        self.operations
    }
}

/// A key and its value.
pub type Pair = (Bytes, Bytes);

/// Pairs in key order, or in reverse.
pub type Scan = Box<dyn Iterator<Item = Result<Pair>> + Send>;

/// What an engine did on its own since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Memtables that were written out as tables.
    pub flushes: u64,
    /// Compactions that rewrote tables.
    pub compactions: u64,
}

/// An embedded ordered store.
///
/// **The contract on failure.** A write that returns an error either changed nothing and the engine
/// goes on, or the engine is *poisoned*: every later write fails with [`crate::Error::Poisoned`]
/// until it is opened again, and the failed batch may or may not be there then. An engine that
/// [comes back](Engine::comes_back) opens itself again, and the failed batch is not there then; of rows that
/// were to be ingested that may be [unknown](crate::Error::Unknown). After
/// a failed sync the operating system may have thrown dirty pages away: an engine is poisoned by it,
/// or writes again what it cannot be sure of.
pub trait Engine: Send + Sync + fmt::Debug {
    /// The newest value of a key.
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>>;

    /// A view of all spaces at this instant, which later writes do not change. Of a batch that is
    /// being written it may hold a part, as a get may.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>>;

    /// Applies a batch: visible to every get and snapshot that starts after this returns, and as
    /// durable as asked. A key has at least one byte and at most [`ENGINE_KEY_BYTES_MAX`]. An empty
    /// buffered batch changes nothing and tells whether the engine is poisoned.
    fn write(&self, batch: Batch, durability: Durability) -> Result<()>;

    /// Makes every write that returned before this call durable.
    fn sync(&self) -> Result<()>;

    /// Loads rows that come in strictly ascending key order, all of them or none, durably.
    /// Much faster than batches for many rows. Existing keys are overwritten. Returns the count.
    fn ingest(&self, space: SpaceId, rows: &mut dyn Iterator<Item = Pair>) -> Result<u64> {
        let count = self.ingest_when(space, rows, &mut || true)?;
        Ok(count.unwrap_or_default())
    }

    /// As [`Engine::ingest`], in two steps: the rows are laid down, which may take long and holds
    /// nobody up, and then `ready` is asked whether they shall appear. If not, all is as it was and
    /// the answer is `None`. Batches that were written before `ready` said yes survive a crash if the
    /// rows do.
    fn ingest_when(
        &self,
        space: SpaceId,
        rows: &mut dyn Iterator<Item = Pair>,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>>;

    /// Makes a space, durably; making one that exists is no error.
    fn create_space(&self, space: SpaceId) -> Result<()>;

    /// Drops a space with all its keys, durably and without reading them; dropping one that does
    /// not exist is no error.
    fn drop_space(&self, space: SpaceId) -> Result<()>;

    /// The spaces that exist, in order.
    fn spaces(&self) -> Result<Vec<SpaceId>>;

    /// Bytes on the medium, for reports; nothing decides by it.
    fn disk_bytes(&self) -> Result<u64>;

    /// An error unless so many bytes that are written beside the engine, on the same medium, leave it
    /// the room that it needs. An engine that shares its medium with nothing else has room.
    fn admit(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Whether the engine opens itself again after a failure. Another one on the same medium cannot be
    /// opened beside it.
    fn comes_back(&self) -> bool {
        false
    }

    /// How often it flushed and compacted, for reports; nothing decides by it. An engine that does
    /// neither says so with zeros.
    fn counters(&self) -> EngineCounters {
        EngineCounters::default()
    }
}

/// A frozen view of an engine.
pub trait Snapshot: Send + Sync {
    /// The value of a key at the snapshot.
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>>;

    /// The pairs of a range at the snapshot. The scan outlives the snapshot that made it.
    fn scan(&self, space: SpaceId, range: &KeyRange, direction: Direction) -> Result<Scan>;
}
