//! Looking whether rows that are to be loaded are there already.
//!
//! Rows and what is stored are both sorted, so one walk along both answers for all of them. If there
//! is much more stored than loaded, the rest is looked up key by key: a key that is absent is mostly
//! found to be so without reading a block.
//!
//! The look takes its time and no lock. It holds a snapshot, so that every change since is remembered
//! ([`crate::recent`]), and under the lock only those keys are looked at again.

use std::collections::BTreeSet;

use partitions::spaces::table_space;
use storage::{Bytes, Direction};

use super::rows::Rows;
use super::{ATTEMPTS_MAX, Load, busy};
use crate::active::Reading;
use crate::store::Sequencer;
use crate::turns::Turn;
use crate::version::Version;
use crate::{Error, Result, Store};

/// How many stored rows are walked past for each row that is loaded, before looking up is cheaper.
const PASSED_PER_ROW_MAX: usize = 4;

/// What a look found: no row, at most what was left of some.
pub(super) struct Looked {
    /// From here on every change is remembered.
    since: Reading,
    /// The keys under which a deletion lies.
    tombstones: Vec<Bytes>,
}

impl Store {
    /// Looks for the rows of a load; an error if one is there.
    pub(super) fn look(&self, load: &Load) -> Result<Looked> {
        let since = self.active.read();
        for _ in 0..ATTEMPTS_MAX {
            match load.slot.orphan_in(load.table, &load.range) {
                Some(owner) => self.resolve(owner)?,
                None => break,
            }
        }
        let mut tombstones = Vec::new();
        let mut meet = |key: &[u8], bytes: Bytes| match Version::decode(load.table, key, bytes)?.row
        {
            Some(_) => Err(exists(load, key)),
            None => {
                tombstones.push(Bytes::copy_from_slice(key));
                Ok(())
            }
        };
        let snapshot = load.slot.snapshot()?;
        let space = table_space(load.table);
        let stored = snapshot.scan(space, &load.range, Direction::Ascending)?;
        let rows = &load.rows;
        let passed_max = rows.len().saturating_mul(PASSED_PER_ROW_MAX);
        let (mut next, mut fetched) = (0, 0);
        for (passed, pair) in stored.enumerate() {
            if passed == passed_max {
                for (key, _) in rows.iter(next..rows.len()) {
                    if let Some(bytes) = load.slot.get(space, key)? {
                        meet(key, bytes)?;
                    }
                }
                break;
            }
            let (key, bytes) = pair.map_err(|error| load.slot.read_failed(error))?;
            if next >= fetched {
                fetched = rows.fetch(next);
            }
            next = skip(rows, next, &key);
            match rows.get(next) {
                Some((row, _)) if row == key => meet(&key, bytes)?,
                Some(_) => {}
                None => break,
            }
        }
        Ok(Looked { since, tombstones })
    }

    /// Takes the commit lock and looks at what changed since the look. Answers with the tombstones
    /// that the rows replace, or `None` if the partitions moved. Loads come here one at a time, so
    /// that another one can have come in between only once.
    pub(super) fn look_again(
        &self,
        load: &Load,
        mut looked: Looked,
    ) -> Result<Option<(Turn<'_, Sequencer>, Vec<Bytes>)>> {
        for _ in 0..ATTEMPTS_MAX {
            let mut sequencer = self.sequencer.lock();
            if self.moved(load)? {
                return Ok(None);
            }
            load.slot.check_writable()?;
            self.resolve_in(&mut sequencer, load)?;
            let since = looked.since.at();
            let recent = &sequencer.recent;
            if since >= recent.floor() && !recent.loaded_in(load.table, &load.range, since) {
                let changed = recent.keys_changed_in(load.table, &load.range, since);
                let ours = changed
                    .map(|(key, _)| key)
                    .filter(|key| load.rows.find(key).is_some());
                let mut doubtful: BTreeSet<Bytes> = ours.cloned().collect();
                doubtful.extend(looked.tombstones);
                let tombstones = self.look_at(load, doubtful)?;
                return Ok(Some((sequencer, tombstones)));
            }
            // Too much has changed to be looked at while everyone waits.
            drop(sequencer);
            looked = self.look(load)?;
        }
        Err(busy("too much changes meanwhile"))
    }

    /// Whether some row of the load belongs elsewhere by now, or its engine was opened again.
    fn moved(&self, load: &Load) -> Result<bool> {
        let map = self.directory.map(load.table)?;
        let slot = &load.slot;
        let mut partitions = map.overlapping(&load.range).iter();
        let here = partitions.all(|one| one.descriptor.engine == slot.id);
        let same = self.engines.get(slot.id);
        Ok(!here || !same.is_ok_and(|now| now.life == slot.life))
    }

    /// Settles what dead coordinators left between the rows.
    fn resolve_in(&self, sequencer: &mut Sequencer, load: &Load) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            match load.slot.orphan_in(load.table, &load.range) {
                Some(owner) => self.resolve_locked(sequencer, owner)?,
                None => return Ok(()),
            }
        }
        Err(busy("commits across engines are not settled"))
    }

    /// Looks at single keys; answers with those under which a deletion lies.
    fn look_at(&self, load: &Load, mut keys: BTreeSet<Bytes>) -> Result<Vec<Bytes>> {
        let mut tombstones = Vec::new();
        while let Some(key) = keys.pop_first() {
            match self.newest_version(&load.slot, load.table, &key)? {
                Some(Version { row: Some(_), .. }) => return Err(exists(load, &key)),
                Some(Version { row: None, .. }) => tombstones.push(key),
                None => {}
            }
        }
        Ok(tombstones)
    }
}

/// The first row at or after `key`, from `next` on. It is mostly near.
fn skip(rows: &Rows, next: usize, key: &[u8]) -> usize {
    let below = |place| rows.get(place).is_some_and(|(row, _)| row < key);
    let mut step = 1;
    while below(next + step) {
        step *= 2;
    }
    rows.count_below(key, next..rows.len().min(next + step))
}

fn exists(load: &Load, key: &[u8]) -> Error {
    Error::RowExists {
        table: load.table,
        key: Bytes::copy_from_slice(key),
    }
}
