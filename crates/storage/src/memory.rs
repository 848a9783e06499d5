//! The memory engine: the reference in tests, with crashes that lose what was not synced.
//!
//! A [`MemoryMedium`] is what a disk is to a process: it outlives the engines that are opened on it.
//! Everything is kept in persistent maps, so a version of all the data is one pointer, a snapshot is
//! a copy of that pointer, and the medium can remember the version after each batch that was not
//! synced yet:
//!
//! ```text
//!   writes      ──► Synced ──► Buffered ──► Buffered ──► Buffered
//!                      │           │            │            │
//!   medium          durable      tail[0]      tail[1]      tail[2]     ◄─ what gets and snapshots see
//!
//!   crash(0)           ▲
//!   crash(2)                                    ▲
//!   sync()                                                   ▲ becomes durable, the tail is empty
//! ```
//!
//! A crash keeps the durable version and a prefix of the tail, batch by batch. Whatever changes which
//! spaces exist, and bulk ingestion, are durable at once and take the tail before them along, so no
//! change ever survives without those before it.
//!
//! An engine that was open during a crash belongs to a process that died: each call on it, and on its
//! snapshots, fails from then on.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::RwLock;

use crate::engine::check_key;
use crate::{
    Batch, Direction, Durability, Engine, Error, KeyRange, Operation, Pair, Result, Scan, Snapshot,
    SpaceId,
};

/// How many unsynced batches a medium remembers. Past that the oldest becomes durable by itself, as
/// an operating system writes old pages back, so a test that never syncs does not keep every version.
const TAIL_BATCHES_MAX: usize = 4_096;

/// How many pairs a scan takes out of the map at a time.
const SCAN_CHUNK_PAIRS: usize = 64;

type Space = OrdMap<Bytes, Bytes>;
type Version = OrdMap<SpaceId, Space>;

/// What survives a crash. Clones are handles of the same medium.
#[derive(Clone, Debug, Default)]
pub struct MemoryMedium {
    inner: Arc<Medium>,
}

#[derive(Debug, Default)]
struct Medium {
    /// How many crashes there were: engines of an earlier life are dead.
    life: AtomicU64,
    content: RwLock<Content>,
}

#[derive(Debug, Default)]
struct Content {
    durable: Version,
    tail: VecDeque<Version>,
}

impl Content {
    fn newest(&self) -> &Version {
        self.tail.back().unwrap_or(&self.durable)
    }

    fn install(&mut self, version: Version, durability: Durability) {
        match durability {
            Durability::Synced => {
                self.durable = version;
                self.tail.clear();
            }
            Durability::Buffered => self.tail.push_back(version),
        }
        if self.tail.len() > TAIL_BATCHES_MAX
            && let Some(oldest) = self.tail.pop_front()
        {
            self.durable = oldest;
        }
    }
}

impl MemoryMedium {
    /// An empty medium.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many batches a crash could lose now.
    pub fn unsynced_batches(&self) -> usize {
        self.inner.content.read().tail.len()
    }

    /// The process dies. What was synced survives, and so do the first `keep` of the unsynced
    /// batches (all of them when there are fewer). Engines opened before are dead.
    pub fn crash(&self, keep: usize) {
        let mut content = self.inner.content.write();
        self.inner.life.fetch_add(1, Ordering::SeqCst);
        let last = keep.min(content.tail.len()).checked_sub(1);
        if let Some(survivor) = last.and_then(|last| content.tail.get(last).cloned()) {
            content.durable = survivor;
        }
        content.tail.clear();
    }
}

/// An engine in memory.
#[derive(Clone, Debug)]
pub struct MemoryEngine {
    medium: MemoryMedium,
    life: u64,
}

impl MemoryEngine {
    /// An engine on a medium of its own.
    pub fn new() -> Self {
        Self::open(&MemoryMedium::new())
    }

    /// An engine on `medium`. Engines that are open on one medium at the same time are the same.
    pub fn open(medium: &MemoryMedium) -> Self {
        Self {
            medium: medium.clone(),
            life: medium.inner.life.load(Ordering::SeqCst),
        }
    }

    fn check_alive(&self) -> Result<()> {
        if self.medium.inner.life.load(Ordering::SeqCst) == self.life {
            return Ok(());
        }
        Err(Error::Poisoned {
            cause: "the process that had it open crashed".into(),
        })
    }

    fn newest(&self) -> Result<Version> {
        let content = self.medium.inner.content.read();
        self.check_alive()?;
        Ok(content.newest().clone())
    }

    /// Replaces the newest version by what `change` makes of it, or leaves all as it was.
    fn change<T>(
        &self,
        durability: Durability,
        change: impl FnOnce(&mut Version) -> Result<T>,
    ) -> Result<T> {
        let mut content = self.medium.inner.content.write();
        self.check_alive()?;
        let mut version = content.newest().clone();
        let answer = change(&mut version)?;
        content.install(version, durability);
        Ok(answer)
    }
}

impl Default for MemoryEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for MemoryEngine {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        let content = self.medium.inner.content.read();
        self.check_alive()?;
        let pairs = content
            .newest()
            .get(&space)
            .ok_or(Error::NoSuchSpace(space))?;
        Ok(pairs.get(key).cloned())
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(MemorySnapshot {
            version: self.newest()?,
            engine: self.clone(),
        }))
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<()> {
        if batch.is_empty() && durability == Durability::Buffered {
            return self.check_alive();
        }
        self.change(durability, |version| {
            for operation in batch.into_operations() {
                apply(version, operation)?;
            }
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.change(Durability::Synced, |_| Ok(()))
    }

    fn ingest_when(
        &self,
        space: SpaceId,
        rows: &mut dyn Iterator<Item = Pair>,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>> {
        // The rows may come from a scan of this very engine, so they are drawn before the lock.
        if !self.newest()?.contains_key(&space) {
            return Err(Error::NoSuchSpace(space));
        }
        let rows = collect_ascending(rows)?;
        if !ready() {
            return Ok(None);
        }
        self.change(Durability::Synced, |version| {
            let pairs = version.get_mut(&space).ok_or(Error::NoSuchSpace(space))?;
            let mut count = 0;
            for (key, value) in rows {
                pairs.insert(key, value);
                count += 1;
            }
            Ok(Some(count))
        })
    }

    fn create_space(&self, space: SpaceId) -> Result<()> {
        self.change(Durability::Synced, |version| {
            version.entry(space).or_default();
            Ok(())
        })
    }

    fn drop_space(&self, space: SpaceId) -> Result<()> {
        self.change(Durability::Synced, |version| {
            version.remove(&space);
            Ok(())
        })
    }

    fn spaces(&self) -> Result<Vec<SpaceId>> {
        Ok(self.newest()?.keys().copied().collect())
    }

    fn disk_bytes(&self) -> Result<u64> {
        let version = self.newest()?;
        let bytes: usize = version
            .values()
            .flatten()
            .map(|(key, value)| key.len() + value.len())
            .sum();
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

fn apply(version: &mut Version, operation: Operation) -> Result<()> {
    match operation {
        Operation::Put(space, key, value) => {
            check_key(&key)?;
            version
                .get_mut(&space)
                .ok_or(Error::NoSuchSpace(space))?
                .insert(key, value);
        }
        Operation::Remove(space, key) => {
            check_key(&key)?;
            version
                .get_mut(&space)
                .ok_or(Error::NoSuchSpace(space))?
                .remove(&key);
        }
    }
    Ok(())
}

fn collect_ascending(rows: &mut dyn Iterator<Item = Pair>) -> Result<Vec<Pair>> {
    let mut collected: Vec<Pair> = Vec::new();
    for (row, (key, value)) in (0..).zip(rows) {
        check_key(&key)?;
        if collected.last().is_some_and(|(before, _)| *before >= key) {
            return Err(Error::OutOfOrder { row });
        }
        collected.push((key, value));
    }
    Ok(collected)
}

struct MemorySnapshot {
    version: Version,
    engine: MemoryEngine,
}

impl Snapshot for MemorySnapshot {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        self.engine.check_alive()?;
        let pairs = self.version.get(&space).ok_or(Error::NoSuchSpace(space))?;
        Ok(pairs.get(key).cloned())
    }

    fn scan(&self, space: SpaceId, range: &KeyRange, direction: Direction) -> Result<Scan> {
        self.engine.check_alive()?;
        let pairs = self
            .version
            .get(&space)
            .ok_or(Error::NoSuchSpace(space))?
            .clone();
        Ok(Box::new(MemoryScan {
            pairs,
            rest: (!range.is_empty()).then(|| Rest {
                lower: Bound::Included(range.lower.clone()),
                upper: range
                    .upper
                    .clone()
                    .map_or(Bound::Unbounded, Bound::Excluded),
            }),
            direction,
            chunk: VecDeque::new(),
        }))
    }
}

/// The keys that a scan has not taken out of its map yet. Never inverted.
struct Rest {
    lower: Bound<Bytes>,
    upper: Bound<Bytes>,
}

struct MemoryScan {
    pairs: Space,
    rest: Option<Rest>,
    direction: Direction,
    chunk: VecDeque<Pair>,
}

impl MemoryScan {
    fn refill(&mut self) {
        let Some(Rest { lower, upper }) = self.rest.take() else {
            return;
        };
        let range = self.pairs.range((lower.clone(), upper.clone()));
        let copy = |(key, value): (&Bytes, &Bytes)| (key.clone(), value.clone());
        self.chunk = match self.direction {
            Direction::Ascending => range.take(SCAN_CHUNK_PAIRS).map(copy).collect(),
            Direction::Descending => range.rev().take(SCAN_CHUNK_PAIRS).map(copy).collect(),
        };
        if self.chunk.len() < SCAN_CHUNK_PAIRS {
            return;
        }
        let last = self.chunk.back().map(|(key, _)| key.clone());
        self.rest = last.and_then(|last| remaining(lower, upper, last, self.direction));
    }
}

/// What is left of a range once a scan came as far as `last`, unless that is nothing.
fn remaining(
    lower: Bound<Bytes>,
    upper: Bound<Bytes>,
    last: Bytes,
    direction: Direction,
) -> Option<Rest> {
    match direction {
        Direction::Ascending => Some(Rest {
            lower: Bound::Excluded(last),
            upper,
        }),
        Direction::Descending if lower == Bound::Included(last.clone()) => None,
        Direction::Descending => Some(Rest {
            lower,
            upper: Bound::Excluded(last),
        }),
    }
}

impl Iterator for MemoryScan {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.chunk.is_empty() {
            self.refill();
        }
        self.chunk.pop_front().map(Ok)
    }
}
