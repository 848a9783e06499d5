//! Carrying out one change of a map: the steps drawn in directory.rs, in their order.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use storage::{Batch, Durability, EngineId};

use super::{Directory, Entry, Ids, Maps, disk};
use crate::counters::counters_key;
use crate::descriptor::descriptor_key;
use crate::events::{Cause, EventKind, News};
use crate::spaces::{HISTORY_SPACE, INTENT_SPACE, META_SPACE, prefixed_range, table_space};
use crate::{Map, Partition, Result, TableId};

/// A change of one table's map, ready to be written.
pub(super) struct Change {
    pub(super) table: TableId,
    pub(super) old: Vec<Arc<Partition>>,
    pub(super) new: Vec<Arc<Partition>>,
    /// What the caller wants written in the same instant.
    pub(super) batch: Batch,
}

impl Change {
    /// What is told of it.
    pub(super) fn news(&self, kind: EventKind, cause: Cause, key: Option<Bytes>) -> News {
        let ids = |list: &[Arc<Partition>]| list.iter().map(|one| one.descriptor.id).collect();
        News {
            kind,
            table: self.table,
            old: ids(&self.old),
            new: ids(&self.new),
            reason: cause.reason,
            detail: cause.detail,
            key,
        }
    }
}

impl Directory {
    /// Makes a change that is remembered as an event, written in the same instant.
    pub(super) fn change_and_tell(
        &self,
        mut change: Change,
        map: &Arc<Map>,
        ids: &Ids,
        news: News,
    ) -> Result<()> {
        let now_us = self.clock.now_us();
        disk::put_event(&mut change.batch, &self.events.lock(), now_us, &news);
        self.change(change, Some(map), ids)?;
        self.events.lock().add(now_us, news);
        Ok(())
    }

    /// Writes a change and shows it to everyone, or leaves all as it was.
    pub(super) fn change(&self, change: Change, map: Option<&Arc<Map>>, ids: &Ids) -> Result<()> {
        let table = change.table;
        let old_engines = private_engines(&change.old);
        let new_engines = private_engines(&change.new);
        if change.old.is_empty() && change.new.iter().any(|one| !is_private(one)) {
            self.meta.create_space(table_space(table))?;
        }
        if !new_engines.is_empty() {
            self.announce(&new_engines, ids)?;
            self.carry_over(&change)?;
        }
        // Who makes a table has taken its number, which needs room, or makes it to empty another.
        let frees_space = change.old.is_empty() || change.new.is_empty();
        let mut batch = switch_batch(change, &old_engines, &new_engines, ids);
        if frees_space {
            batch.free_space();
        }
        if let Err(error) = self.meta.write(batch, Durability::Synced) {
            // An engine that refuses even an empty batch is poisoned, and unless it comes back without the
            // batch, it may be there.
            let poisoned = self.meta.write(Batch::new(), Durability::Synced).is_err();
            if poisoned && !self.meta.comes_back() {
                self.show(table, Some(Entry::InDoubt));
            }
            return Err(error.into());
        }
        self.show(table, map.cloned().map(Entry::Known));
        Ok(())
    }

    /// Lists fresh engines as unused, so that a crash before the switch does not leak them.
    fn announce(&self, engines: &BTreeSet<EngineId>, ids: &Ids) -> Result<()> {
        let mut batch = Batch::new();
        for id in engines {
            disk::put_unused_engine(&mut batch, *id);
        }
        disk::put_next_id(&mut batch, ids.next);
        Ok(self.meta.write(batch, Durability::Synced)?)
    }

    /// Fills fresh engines with what the old partitions hold of their ranges, and their counters.
    fn carry_over(&self, change: &Change) -> Result<()> {
        for new in change.new.iter().filter(|one| is_private(one)) {
            let to = &new.descriptor;
            let engine = self.placement.open(to.engine)?;
            for space in [
                META_SPACE,
                HISTORY_SPACE,
                INTENT_SPACE,
                table_space(to.table),
            ] {
                engine.create_space(space)?;
            }
            for old in &change.old {
                let from = &old.descriptor;
                let range = from.range.intersect(&to.range);
                if !range.is_empty() {
                    let prefixed = prefixed_range(to.table, &range);
                    let parts = [
                        (table_space(to.table), range),
                        (HISTORY_SPACE, prefixed.clone()),
                        (INTENT_SPACE, prefixed),
                    ];
                    self.placement.copy(from.engine, to.engine, &parts)?;
                }
            }
            let mut batch = Batch::new();
            batch.put(
                META_SPACE,
                counters_key(to.id),
                new.counters.counts().encode(),
            );
            engine.write(batch, Durability::Synced)?;
        }
        Ok(())
    }

    fn show(&self, table: TableId, entry: Option<Entry>) {
        let mut maps = Maps::clone(&self.maps.load());
        match entry {
            Some(entry) => maps.insert(table, entry),
            None => maps.remove(&table),
        };
        self.maps.store(Arc::new(maps));
    }
}

/// The one batch that makes a change true.
fn switch_batch(
    change: Change,
    old_engines: &BTreeSet<EngineId>,
    new_engines: &BTreeSet<EngineId>,
    ids: &Ids,
) -> Batch {
    let mut batch = change.batch;
    for old in &change.old {
        batch.remove(META_SPACE, descriptor_key(change.table, old.descriptor.id));
        if !is_private(old) {
            batch.remove(META_SPACE, counters_key(old.descriptor.id));
        }
    }
    for new in &change.new {
        batch.put(META_SPACE, new.descriptor.key(), new.descriptor.encode());
        if !is_private(new) {
            let counts = new.counters.counts();
            batch.put(META_SPACE, counters_key(new.descriptor.id), counts.encode());
        }
    }
    for id in old_engines {
        disk::put_unused_engine(&mut batch, *id);
    }
    for id in new_engines {
        disk::remove_unused_engine(&mut batch, *id);
    }
    disk::put_next_id(&mut batch, ids.next);
    batch
}

/// Whether a partition has an engine to itself.
fn is_private(partition: &Partition) -> bool {
    partition.descriptor.engine != EngineId::META
}

fn private_engines(partitions: &[Arc<Partition>]) -> BTreeSet<EngineId> {
    let private = partitions.iter().filter(|one| is_private(one));
    private.map(|one| one.descriptor.engine).collect()
}
