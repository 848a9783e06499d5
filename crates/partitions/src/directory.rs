//! The [`Directory`]: the maps of all tables, and the only place where they change.
//!
//! ```text
//!   readers, committers ── map(table) ──► ArcSwap ──► { table → Map }        never waits
//!                                            ▲
//!   create, drop, split, merge ── mutex ─────┘ after one synced batch on the META engine
//! ```
//!
//! # A change
//! With one shared engine a change is one batch and nothing else:
//!
//! ```text
//!   split 4 at /m      remove  descriptor 4, counters 4
//!                      put     descriptor 8, counters 8, descriptor 9, counters 9, next id 10
//! ```
//!
//! With an engine for each partition the rows have to be carried over first. The map still has one
//! moment at which it changes:
//!
//! ```text
//!   1. META   put  "engine 8 is unused", "engine 9 is unused", next id         synced
//!   2. copy rows, history and intents from engine 4 to 8 and 9; write counters 8, 9
//!   3. META   the switch: descriptors 4 → 8, 9;                                synced
//!             remove "8, 9 unused", put "4 is unused"
//!   4. swap the map in memory
//!   5. sweep, at leisure: discard every unused engine, remove its record
//! ```
//!
//! A crash before 3 leaves the old map and two engines on the list; a crash after it leaves the new
//! map and one. [`Directory::load`] sweeps the list, so nothing leaks, and an engine is on the list
//! exactly when no partition uses it. Step 5 is [`Directory::sweep`], called by whoever knows that
//! no reader holds the old map any more.
//!
//! Spaces follow the same idea without a list: a table's space exists before the batch that makes
//! the table and after the one that drops it, so a table's space without a table is a leftover, and
//! loading drops it. History and intents of a dropped table stay in a shared engine until version
//! collection meets them; table numbers are not used again.
//!
//! # Duties of the caller
//! No commit may be in flight on a table while it is split, merged or dropped: the transaction layer
//! holds its commit lock. Readers go on.
//!
//! # When the switch fails
//! The engine says either "nothing changed" and goes on, or it is poisoned and only opening it
//! again tells which map is there. A commit that went on with the old map could write into
//! partitions that the medium has replaced, so the table is *in doubt*: its map is refused until the
//! directory is loaded again. Whoever sees any engine poisoned drops the directory and loads it anew,
//! because counters in memory may be ahead of those on the medium too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use storage::env::Clock;
use storage::{Batch, Durability, Engine, EngineId, KeyRange, Placement};

use crate::decide::Verdict;
use crate::descriptor::Kind;
use crate::events::{Cause, EventKind, Events, News};
use crate::spaces::{HISTORY_SPACE, INTENT_SPACE, META_SPACE, table_space};
use crate::{Counts, Descriptor, Error, Map, Partition, PartitionId, Result, Share, TableId};

mod change;
mod disk;

use change::Change;

/// How many partitions a table may have.
pub const PARTITIONS_MAX: usize = 65_536;

/// The partition maps of all tables.
#[derive(Debug)]
pub struct Directory {
    placement: Arc<dyn Placement>,
    clock: Arc<dyn Clock>,
    meta: Arc<dyn Engine>,
    maps: ArcSwap<Maps>,
    ids: Mutex<Ids>,
    events: Mutex<Events>,
}

type Maps = BTreeMap<TableId, Entry>;

#[derive(Clone, Debug)]
enum Entry {
    Known(Arc<Map>),
    InDoubt,
}

/// The numbers to give out next. Holding it is what makes changes take turns.
#[derive(Debug)]
struct Ids {
    next: u64,
}

impl Ids {
    fn take(&mut self) -> u64 {
        let id = self.next;
        self.next = id
            .checked_add(1)
            .expect("numbers given out one by one stay far below 2^64");
        id
    }
}

impl Directory {
    /// Reads all maps, and clears away what a crash left behind.
    pub fn load(placement: Arc<dyn Placement>, clock: Arc<dyn Clock>) -> Result<Self> {
        let meta = placement.open(EngineId::META)?;
        for space in [META_SPACE, HISTORY_SPACE, INTENT_SPACE] {
            meta.create_space(space)?;
        }
        let view = meta.snapshot()?;
        let next = disk::read_next_id(view.as_ref())?;
        let mut maps = Maps::new();
        for (table, partitions) in disk::read_partitions(view.as_ref(), placement.as_ref())? {
            disk::check_next_id(next, &partitions)?;
            maps.insert(
                table,
                Entry::Known(Arc::new(Map::from_disk(table, partitions)?)),
            );
        }
        let tables: BTreeSet<TableId> = maps.keys().copied().collect();
        disk::drop_leftover_spaces(meta.as_ref(), &tables)?;
        let events = disk::read_events(view.as_ref())?;
        let maps = ArcSwap::from_pointee(maps);
        let directory = Self {
            placement,
            clock,
            meta,
            maps,
            ids: Mutex::new(Ids { next }),
            events: Mutex::new(events),
        };
        directory.sweep()?;
        Ok(directory)
    }

    /// The map of a table, now. Never waits for a change.
    pub fn map(&self, table: TableId) -> Result<Arc<Map>> {
        match self.maps.load().get(&table) {
            Some(Entry::Known(map)) => Ok(map.clone()),
            Some(Entry::InDoubt) => Err(Error::InDoubt { table }),
            None => Err(Error::NoSuchTable(table)),
        }
    }

    /// The tables there are.
    pub fn tables(&self) -> Vec<TableId> {
        self.maps.load().keys().copied().collect()
    }

    /// The engines that partitions are placed on.
    pub fn placement(&self) -> &Arc<dyn Placement> {
        &self.placement
    }

    /// A number that no table, partition or engine has had or will get, durably taken.
    pub fn fresh_id(&self) -> Result<u64> {
        self.take_id(Batch::new())
    }

    /// The same on a full disk too, for what leads to more room: a table that takes the place of another.
    pub fn fresh_id_from_reserve(&self) -> Result<u64> {
        let mut batch = Batch::new();
        batch.free_space();
        self.take_id(batch)
    }

    fn take_id(&self, mut batch: Batch) -> Result<u64> {
        let mut ids = self.ids.lock();
        let id = ids.take();
        disk::put_next_id(&mut batch, ids.next);
        self.meta.write(batch, Durability::Synced)?;
        Ok(id)
    }

    /// Makes the partitions of a new table: one, or one more than there are keys to split at.
    pub fn create_table(&self, table: TableId, split_keys: &[Bytes]) -> Result<Arc<Map>> {
        self.create_table_with(table, split_keys, Batch::new())
    }

    /// Makes the partitions of a new table in the same instant as `batch`, which holds the
    /// catalog's records of it.
    pub fn create_table_with(
        &self,
        table: TableId,
        split_keys: &[Bytes],
        batch: Batch,
    ) -> Result<Arc<Map>> {
        let mut ids = self.ids.lock();
        if self.maps.load().contains_key(&table) {
            return Err(Error::TableExists(table));
        }
        check_split_keys(split_keys)?;
        check_count(table, split_keys.len() + 1)?;
        let lowers = std::iter::once(Bytes::new()).chain(split_keys.iter().cloned());
        let uppers = split_keys.iter().cloned().map(Some).chain([None]);
        let new: Vec<_> = lowers
            .zip(uppers)
            .map(|(lower, upper)| self.make(table, KeyRange { lower, upper }, 1, &mut ids))
            .map(|descriptor| Arc::new(Partition::new(descriptor, Counts::empty())))
            .collect();
        let map = Arc::new(Map::new(table, new.clone()));
        self.change(
            Change {
                table,
                old: Vec::new(),
                new,
                batch,
            },
            Some(&map),
            &ids,
        )?;
        Ok(map)
    }

    /// Drops a table's partitions with all their rows. If only the freeing of its space fails, that
    /// is the answer, the table is gone all the same, and the next load frees the space.
    pub fn drop_table(&self, table: TableId) -> Result<()> {
        self.drop_table_with(table, Batch::new())
    }

    /// Drops a table's partitions in the same instant as `batch`, which removes the catalog's
    /// records of it.
    pub fn drop_table_with(&self, table: TableId, batch: Batch) -> Result<()> {
        let ids = self.ids.lock();
        let old = self.map(table)?.partitions().to_vec();
        self.change(
            Change {
                table,
                old,
                new: Vec::new(),
                batch,
            },
            None,
            &ids,
        )?;
        Ok(self.meta.drop_space(table_space(table))?)
    }

    /// Splits a partition in two: keys below `at`, and the rest. `left` is the share of its rows
    /// thought to be below.
    pub fn split(
        &self,
        table: TableId,
        partition: PartitionId,
        at: &[u8],
        left: Share,
    ) -> Result<[Arc<Partition>; 2]> {
        self.split_because(table, (partition, at), left, Cause::by_hand())
    }

    /// As [`Directory::split`], for a reason that is remembered with it.
    pub fn split_because(
        &self,
        table: TableId,
        (partition, at): (PartitionId, &[u8]),
        left: Share,
        cause: Cause,
    ) -> Result<[Arc<Partition>; 2]> {
        let mut ids = self.ids.lock();
        let map = self.map(table)?;
        let no_such = Error::NoSuchPartition { table, partition };
        let index = map.index(partition).ok_or(no_such)?;
        let old = map.route(at);
        let descriptor = &old.descriptor;
        if descriptor.id != partition || at == descriptor.range.lower.as_ref() {
            return Err(split_outside(&map, partition, at));
        }
        check_count(table, map.partitions().len() + 1)?;
        let at = Bytes::copy_from_slice(at);
        let KeyRange { lower, upper } = descriptor.range.clone();
        let ranges = [
            KeyRange {
                lower,
                upper: Some(at.clone()),
            },
            KeyRange { lower: at, upper },
        ];
        let (left, right) = old.counters.counts().split(left);
        let generation = descriptor.generation + 1;
        let [left_range, right_range] = ranges;
        let new = [(left_range, left), (right_range, right)].map(|(range, counts)| {
            Arc::new(Partition::new(
                self.make(table, range, generation, &mut ids),
                counts,
            ))
        });
        let next = Arc::new(map.replace(index..index + 1, &new));
        let change = Change {
            table,
            old: vec![old.clone()],
            new: new.to_vec(),
            batch: Batch::new(),
        };
        let key = new.last().map(|right| right.descriptor.range.lower.clone());
        let news = change.news(EventKind::Split, cause, key);
        self.change_and_tell(change, &next, &ids, news)?;
        Ok(new)
    }

    /// Merges neighbours, named in key order, into one partition.
    pub fn merge(&self, table: TableId, partitions: &[PartitionId]) -> Result<Arc<Partition>> {
        self.merge_because(table, partitions, Cause::by_hand())
    }

    /// As [`Directory::merge`], for a reason that is remembered with it.
    pub fn merge_because(
        &self,
        table: TableId,
        partitions: &[PartitionId],
        cause: Cause,
    ) -> Result<Arc<Partition>> {
        let mut ids = self.ids.lock();
        let map = self.map(table)?;
        let range = neighbours(&map, partitions)?;
        let old = map
            .partitions()
            .get(range.clone())
            .unwrap_or_default()
            .to_vec();
        let bounds = old.first().zip(old.last()).map(|(first, last)| KeyRange {
            lower: first.descriptor.range.lower.clone(),
            upper: last.descriptor.range.upper.clone(),
        });
        let bounds = bounds.expect("neighbours are two or more partitions of this map");
        let generations = old.iter().map(|one| one.descriptor.generation);
        let generation = generations.max().unwrap_or(0) + 1;
        let counts = Counts::merge(old.iter().map(|one| one.counters.counts()));
        let descriptor = self.make(table, bounds, generation, &mut ids);
        let new = Arc::new(Partition::new(descriptor, counts));
        let next = Arc::new(map.replace(range, std::slice::from_ref(&new)));
        let change = Change {
            table,
            old,
            new: vec![new.clone()],
            batch: Batch::new(),
        };
        let news = change.news(EventKind::Merge, cause, None);
        self.change_and_tell(change, &next, &ids, news)?;
        Ok(new)
    }

    /// Remembers that a partition was left as it is, and why.
    pub fn refuse(&self, table: TableId, partition: PartitionId, verdict: &Verdict) -> Result<()> {
        let news = News {
            kind: EventKind::Refused,
            table,
            old: vec![partition],
            new: Vec::new(),
            reason: verdict.name().into(),
            detail: verdict.to_string(),
            key: verdict.key().cloned(),
        };
        let _turn = self.ids.lock();
        let now_us = self.clock.now_us();
        if !self.events.lock().is_known(&news) {
            let mut batch = Batch::new();
            disk::put_event(&mut batch, &self.events.lock(), now_us, &news);
            self.meta.write(batch, Durability::Buffered)?;
        }
        self.events.lock().add(now_us, news);
        Ok(())
    }

    /// What happened to partitions, and what could not be done about them.
    pub fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock()
    }

    /// Discards every engine that no partition uses. Nobody may still read from one: call it when
    /// the readers of the maps before the last change are gone. Answers how many there were.
    pub fn sweep(&self) -> Result<usize> {
        let _turn = self.ids.lock();
        // A poisoned engine's list may be older than the one on its medium.
        self.meta.write(Batch::new(), Durability::Synced)?;
        let unused = disk::read_unused_engines(self.meta.snapshot()?.as_ref())?;
        self.check_unused(&unused)?;
        for id in &unused {
            self.placement.discard(*id)?;
            let mut batch = Batch::new();
            disk::remove_unused_engine(&mut batch, *id);
            self.meta.write(batch, Durability::Synced)?;
        }
        Ok(unused.len())
    }

    /// Nothing is discarded on the word of a damaged list.
    fn check_unused(&self, unused: &[EngineId]) -> Result<()> {
        for entry in self.maps.load().values() {
            let Entry::Known(map) = entry else { continue };
            for one in map.partitions() {
                let Descriptor { id, engine, .. } = one.descriptor;
                if unused.contains(&engine) {
                    let detail = format!("it names {engine}, which holds {id}");
                    return Err(Error::corrupt("the list of unused engines", detail));
                }
            }
        }
        Ok(())
    }

    fn make(&self, table: TableId, range: KeyRange, generation: u64, ids: &mut Ids) -> Descriptor {
        let id = ids.take();
        let engine = self.placement.assign(id);
        let created_us = self.clock.now_us();
        let id = PartitionId(id);
        Descriptor {
            id,
            table,
            range,
            generation,
            engine,
            created_us,
            kind: Kind::Plain,
        }
    }
}

fn check_split_keys(split_keys: &[Bytes]) -> Result<()> {
    let mut last = Bytes::new();
    for key in split_keys {
        if *key <= last {
            return Err(Error::SplitKeysOrder {
                key: keys::format_key(key),
            });
        }
        last = key.clone();
    }
    Ok(())
}

fn check_count(table: TableId, wanted: usize) -> Result<()> {
    if wanted > PARTITIONS_MAX {
        return Err(Error::TooManyPartitions {
            table,
            wanted,
            limit: PARTITIONS_MAX,
        });
    }
    Ok(())
}

fn split_outside(map: &Map, partition: PartitionId, at: &[u8]) -> Error {
    let range = map.get(partition).map(|one| one.descriptor.range.clone());
    let range = range.unwrap_or_else(KeyRange::all);
    Error::SplitOutside {
        partition,
        key: keys::format_key(at),
        lower: keys::format_key(&range.lower),
        upper: range
            .upper
            .as_deref()
            .map_or("the end".to_owned(), keys::format_key),
    }
}

/// Where partitions stand that are named in key order without a gap.
fn neighbours(map: &Map, partitions: &[PartitionId]) -> Result<std::ops::Range<usize>> {
    let table = map.table();
    let first = match partitions.first() {
        Some(id) => map.index(*id).ok_or(Error::NoSuchPartition {
            table,
            partition: *id,
        })?,
        None => 0,
    };
    let range = first..first + partitions.len();
    let standing = map.partitions().get(range.clone()).unwrap_or_default();
    let named = standing.iter().map(|one| one.descriptor.id);
    if partitions.len() < 2 || !named.eq(partitions.iter().copied()) {
        let names: Vec<String> = partitions.iter().map(PartitionId::to_string).collect();
        return Err(Error::NotNeighbours {
            table,
            partitions: names.join(", "),
        });
    }
    Ok(range)
}
