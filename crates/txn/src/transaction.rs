//! A transaction: reads at its snapshot, its own writes over them, commit or nothing.

use std::sync::Arc;

use hashbrown::HashMap;
use partitions::{AccessKind, Map, Partition, PartitionId, TableId};
use storage::{Bytes, Direction, Durability, KeyRange};

use crate::commit::{Request, Write};
use crate::footprint::Touch;
use crate::reads::Reads;
use crate::scan::Scan;
use crate::view::{View, bytes_of, newest_version};
use crate::writes::{Savepoint, Writes};
use crate::{Error, Result, Timestamp};

/// A serializable transaction. Dropping it without [`Transaction::commit`] is a rollback.
#[derive(Debug)]
pub struct Transaction {
    view: Arc<View>,
    writes: Writes,
}

/// A commit that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its place on the line; a transaction that wrote nothing stands at its snapshot.
    pub at: Timestamp,
    /// The partitions that the transaction read or wrote.
    pub partitions: Vec<PartitionId>,
}

impl Committed {
    /// Whether one partition was enough: the case worth aiming for.
    pub fn is_single_partition(&self) -> bool {
        self.partitions.len() <= 1
    }
}

impl Transaction {
    pub(crate) fn new(view: Arc<View>) -> Self {
        Self {
            view,
            writes: Writes::default(),
        }
    }

    /// The snapshot's timestamp.
    pub fn snapshot(&self) -> Timestamp {
        self.view.at()
    }

    /// The row under `key`: the transaction's own, or the one at its snapshot.
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Bytes>> {
        match self.writes.get(table, key) {
            Some(own) => Ok(own.clone()),
            None => self.view.get(table, key),
        }
    }

    /// The rows of a range in key order, or in reverse, as [`Transaction::get`] would find them.
    /// Writes that follow do not show in a scan that has begun.
    pub fn scan(&self, table: TableId, range: &KeyRange, direction: Direction) -> Result<Scan> {
        let own = self.writes.range(table, range);
        Scan::open(Arc::clone(&self.view), table, range, direction, own)
    }

    /// Writes a row, whether or not there is one. Reads nothing and so never conflicts.
    pub fn put(&mut self, table: TableId, key: Bytes, row: Bytes) -> Result<()> {
        self.writes.set(table, key, Some(row))
    }

    /// Deletes a row, whether or not there is one. Reads nothing and so never conflicts.
    pub fn delete(&mut self, table: TableId, key: Bytes) -> Result<()> {
        self.writes.set(table, key, None)
    }

    /// Marks a point to which [`Transaction::rollback_to`] returns.
    pub fn savepoint(&mut self) -> Savepoint {
        self.writes.savepoint()
    }

    /// Takes back the writes since a savepoint. What was read since stays read.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.writes.rollback_to(savepoint)
    }

    /// Commits: everything, or nothing and an error. A [`Error::Conflict`] means that another
    /// transaction changed what this one read; run it again.
    pub fn commit(self, durability: Durability) -> Result<Committed> {
        let Self { view, writes } = self;
        let snapshot = view.at();
        let reads = view.end();
        if writes.is_empty() {
            return Ok(Committed {
                at: snapshot,
                partitions: view.partitions(),
            });
        }
        let store = Arc::clone(view.store());
        let bytes = writes.bytes();
        let (writes, touched) = look_up(&view, writes, &reads)?;
        let request = Request {
            snapshot,
            reads,
            writes,
            durability,
        };
        let outcome = store
            .queue
            .submit(request, bytes, |group| store.commit_group(group));
        let lost = || Error::Unknown {
            at: snapshot,
            cause: "the thread that committed it panicked".to_owned(),
        };
        let at = outcome.ok_or_else(lost)??;
        for (partition, touch) in &touched {
            view.touch(partition, &touch.as_touch());
        }
        Ok(Committed {
            at,
            partitions: view.partitions(),
        })
    }
}

/// A write as the heat sees it.
struct Written {
    key: Bytes,
    bytes: u64,
    took: std::time::Duration,
}

impl Written {
    fn as_touch(&self) -> Touch<'_> {
        let Self { key, bytes, took } = self;
        Touch {
            kind: AccessKind::Write,
            key,
            upper: None,
            rows: 1,
            bytes: *bytes,
            took: *took,
        }
    }
}

type Touched = Vec<(Arc<Partition>, Written)>;

/// Looks up what each write replaces, here and in parallel with other transactions, so that the
/// leader of the group has little to do.
fn look_up(view: &View, writes: Writes, reads: &Reads) -> Result<(Vec<Write>, Touched)> {
    let store = view.store();
    let mut maps: HashMap<TableId, Arc<Map>> = HashMap::new();
    let mut found = Vec::new();
    let mut touched = Vec::new();
    for (table, key, row) in writes.into_rows() {
        let map = match maps.entry(table) {
            hashbrown::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hashbrown::hash_map::Entry::Vacant(entry) => entry.insert(store.directory.map(table)?),
        };
        let partition = map.route(&key);
        let started = view.start_clock();
        let known = match reads.found(table, &key) {
            Some(known) => Some(known.clone()),
            // If the engine is gone, the leader routes by a newer map and looks for itself.
            None => match store.engines.get(partition.descriptor.engine) {
                Ok(slot) => Some(newest_version(&slot, table, &key)?),
                Err(_) => None,
            },
        };
        let bytes = bytes_of(&key, row.as_deref().unwrap_or_default());
        let written = Written {
            key: key.clone(),
            bytes,
            took: view.elapsed(started),
        };
        touched.push((Arc::clone(partition), written));
        found.push(Write {
            table,
            key,
            row,
            known,
        });
    }
    Ok((found, touched))
}
