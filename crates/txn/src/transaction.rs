//! A transaction: reads at its snapshot, its own writes over them, commit or nothing.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use partitions::{AccessKind, Map, Partition, PartitionId, TableId};
use storage::{Bytes, Direction, Durability, KeyRange, blocking};

use crate::claims::{Claimant, Held, Patience};
use crate::commit::{Present, Request, Write};
use crate::epochs::Expected;
use crate::footprint::Touch;
use crate::patch::edited;
use crate::reader::Reader;
use crate::reads::{Found, Reads, TRACKED_READS_MAX};
use crate::scan::Scan;
use crate::view::View;
use crate::writes::{Edit, Savepoint, Writes};
use crate::{Error, Locker, Result, Timestamp};

/// A transaction with as many writes looks up what they replace without holding up other tasks.
const BLOCKING_WRITES_MIN: usize = 1_000;

/// A serializable transaction. Dropping it without [`Transaction::commit`] is a rollback.
#[derive(Debug)]
pub struct Transaction {
    pub(crate) view: Arc<View>,
    pub(crate) writes: Writes,
    /// Rows that have to be there when it commits.
    present: Vec<Present>,
    epochs: Expected,
    /// The rows it claimed, if any.
    held: Option<Held>,
    /// In whose name it claims, if it is not alone.
    claimant: Option<Claimant>,
    /// How long it waits for others, if not for ever.
    patience: Option<Patience>,
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
            present: Vec::new(),
            epochs: Expected::default(),
            held: None,
            claimant: None,
            patience: None,
        }
    }

    /// The snapshot's timestamp.
    pub fn snapshot(&self) -> Timestamp {
        self.view.at()
    }

    /// Reads as this transaction does now; its later writes do not show.
    pub fn reader(&self) -> Reader {
        let own = Arc::clone(self.writes.tables());
        Reader::new(Arc::clone(&self.view), Some(own))
    }

    /// The row under `key`: the transaction's own, or the one at its snapshot.
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Bytes>> {
        self.reader().get(table, key)
    }

    /// Says that there is no row under `key` without looking, because it was drawn at random from very
    /// many. As after a read that found none, it is an [`Error::Conflict`] if one comes meanwhile.
    pub fn assume_absent(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        self.view.assume_absent(table, key)
    }

    /// Whether there is a row under `key`. If there is, the commit is an [`Error::Conflict`] unless there
    /// still is one then; that it changed meanwhile does not matter, as it does after a read.
    pub fn holds(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        if self.has_whole(table, key) {
            return Ok(self.get(table, key)?.is_some());
        }
        let newest = self.glance();
        if newest.get(table, key)?.is_none() {
            // Others may be about to bring it, which the answer then depends on.
            return Ok(self.get(table, key)?.is_some());
        }
        if self.present.len() >= TRACKED_READS_MAX {
            return Ok(self.get(table, key)?.is_some());
        }
        self.present.push(Present {
            table,
            key: Bytes::copy_from_slice(key),
            seen: newest.at(),
        });
        // The look itself was somebody else's, but it is this transaction that needs the partition.
        let map = self.view.store().map(table)?;
        let touch = Touch {
            kind: AccessKind::Read,
            key,
            upper: None,
            rows: 0,
            told: 0,
            bytes: 0,
            took: Duration::ZERO,
        };
        self.view.touch(map.route(key), &touch);
        Ok(true)
    }

    /// The rows of a range in key order, or in reverse, as [`Transaction::get`] would find them.
    /// Writes that follow do not show in a scan that has begun.
    pub fn scan(&self, table: TableId, range: &KeyRange, direction: Direction) -> Result<Scan> {
        self.reader().scan(table, range, direction)
    }

    /// Says that this transaction is going to read a row and change it. Waits until those that said
    /// so before have ended, and moves the snapshot forward to see what they wrote, if nothing else
    /// that was read changed meanwhile. An [`Error::Conflict`] means that something did.
    pub async fn claim(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        if self.has_whole(table, key) {
            return Ok(());
        }
        self.wait_for(table, key).await?;
        View::catch_up(&mut self.view, table, key)
    }

    /// As [`Transaction::claim`], but an [`Error::Held`] instead of waiting.
    pub fn try_claim(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        if self.has_whole(table, key) {
            return Ok(());
        }
        match self.held().try_claim(table, key) {
            true => View::catch_up(&mut self.view, table, key),
            false => Err(held_by_another(table, key)),
        }
    }

    /// Whether what it wrote itself is all there is to know about a row.
    fn has_whole(&self, table: TableId, key: &[u8]) -> bool {
        let own = self.writes.get(table, key);
        own.is_some_and(|edit| !matches!(edit, Edit::Patch(_)))
    }

    /// Says that this transaction is going to look for rows whose keys begin so, and to write one if
    /// there is none. Waits as [`Transaction::claim`] does, and moves the snapshot forward unless
    /// ranges were read already.
    pub async fn claim_prefix(&mut self, table: TableId, prefix: &[u8]) -> Result<()> {
        self.wait_for(table, prefix).await?;
        View::renew(&mut self.view)
    }

    /// Locks rows before any is read, as a transaction does that lost them to others and is run again.
    /// Waits for each as [`Transaction::claim`] does; one that is not had within the lock timeout is left.
    pub async fn lock_rows<'r>(
        &mut self,
        rows: impl IntoIterator<Item = &'r (TableId, Bytes)>,
    ) -> Result<()> {
        for (table, key) in rows {
            match self.wait_for(*table, key).await {
                Ok(()) | Err(Error::Held { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        View::renew(&mut self.view)
    }

    /// Moves the snapshot forward to see all that is committed, as if it had begun now. An
    /// [`Error::Conflict`] means that something that was read has changed meanwhile.
    pub fn renew(&mut self) -> Result<()> {
        View::renew(&mut self.view)
    }

    /// Reads what this transaction would if it were renewed now, without that counting as read.
    pub fn glance(&self) -> Reader {
        let view = self.view.store().view();
        Reader::new(view, Some(Arc::clone(self.writes.tables())))
    }

    /// Lets it claim in the name of somebody who has locks, so that nobody waits for rows and locks in a
    /// circle.
    pub fn stand_for(&mut self, locker: &Locker) {
        self.claimant = Some(locker.claimant);
    }

    /// Lets claims wait no longer than this.
    pub fn set_patience(&mut self, patience: Option<Patience>) {
        self.patience = patience;
    }

    fn held(&mut self) -> &mut Held {
        let claims = &self.view.store().claims;
        let claimant = self.claimant;
        self.held.get_or_insert_with(|| match claimant {
            Some(claimant) => Held::of(claims, claimant),
            None => Held::nothing(claims),
        })
    }

    /// Stands in line until it is this transaction's turn, or until its patience ends.
    async fn wait_for(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        let patience = self.patience.clone();
        let mut claiming = pin!(self.held().claim(table, key));
        let Some(patience) = patience else {
            claiming.await;
            return Ok(());
        };
        // Nobody looks at the clock unless there is somebody to wait for.
        let mut end = None;
        poll_fn(|context| {
            if claiming.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let end = end.get_or_insert_with(|| patience.begin());
            let over = end.as_mut().poll(context);
            over.map(|()| Err(held_by_another(table, key)))
        })
        .await
    }

    /// Writes a row, whether or not there is one. Reads nothing and so never conflicts.
    pub fn put(&mut self, table: TableId, key: Bytes, row: Bytes) -> Result<()> {
        self.writes.set(table, key, Edit::Put(row))
    }

    /// Deletes a row, whether or not there is one. Reads nothing and so never conflicts.
    pub fn delete(&mut self, table: TableId, key: Bytes) -> Result<()> {
        self.writes.set(table, key, Edit::Delete)
    }

    /// Changes part of a row, or makes one: [`crate::Options::patching`] applies the patch to what is
    /// there when the commit has its turn. Reads nothing and so never conflicts.
    pub fn patch(&mut self, table: TableId, key: Bytes, patch: Bytes) -> Result<()> {
        let edit = match self.writes.get(table, &key) {
            None => Edit::Patch(vec![patch]),
            Some(Edit::Patch(mut patches)) => {
                patches.push(patch);
                Edit::Patch(patches)
            }
            Some(whole) => {
                let patching = self.view.store().patching.as_ref();
                let row = edited(patching, table, &key, whole, || Ok(None))?;
                let patched = edited(patching, table, &key, Edit::Patch(vec![patch]), || Ok(row))?;
                patched.map_or(Edit::Delete, Edit::Put)
            }
        };
        self.writes.set(table, key, edit)
    }

    /// Whether it has written the row under `key` so far, or part of it.
    pub fn wrote(&self, table: TableId, key: &[u8]) -> bool {
        self.writes.get(table, key).is_some()
    }

    /// Lets the commit fail unless the table is still in this epoch then. What is written to a table
    /// should be written so, or a change of its schema may meet rows of the old one.
    pub fn expect_epoch(&mut self, table: TableId, epoch: u64) {
        self.epochs.add(table, epoch);
    }

    /// Whether nothing was written.
    pub fn is_clean(&self) -> bool {
        self.writes.is_empty()
    }

    /// Whether it has written anything so far.
    pub fn has_written(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Marks a point to which [`Transaction::rollback_to`] returns.
    pub fn savepoint(&mut self) -> Savepoint {
        self.writes.savepoint()
    }

    /// Takes back the writes since a savepoint. What was read since stays read.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.writes.rollback_to(savepoint)
    }

    /// Gives up a savepoint and those after it: the writes since then go back with the one before it only.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.writes.release(savepoint)
    }

    /// Commits: everything, or nothing and an error. A [`Error::Conflict`] means that another
    /// transaction changed what this one read; run it again.
    pub fn commit(mut self, durability: Durability) -> Result<Committed> {
        if let Some(committed) = self.commit_apart(durability)? {
            return Ok(committed);
        }
        let Ready {
            request,
            bytes,
            touched,
        } = self.get_ready(durability)?;
        let store = self.view.store();
        let outcome = store
            .queue
            .submit(request, bytes, |group| store.commit_group(group));
        self.conclude(outcome, &touched)
    }

    /// As [`Transaction::commit`], for a task that must not hold up its thread.
    pub async fn commit_later(mut self, durability: Durability) -> Result<Committed> {
        if let Some(committed) = self.commit_apart(durability)? {
            return Ok(committed);
        }
        let Ready {
            request,
            bytes,
            touched,
        } = self.get_ready(durability)?;
        let store = self.view.store();
        let pending = store
            .queue
            .enqueue(request, bytes, |group| store.commit_group(group));
        let outcome = pending.await;
        self.conclude(outcome, &touched)
    }

    /// Commits what need not stand in line: nothing, or rows in bulk.
    fn commit_apart(&mut self, durability: Durability) -> Result<Option<Committed>> {
        if self.writes.is_empty() {
            self.view.end();
            return Ok(Some(Committed {
                at: self.view.at(),
                partitions: self.view.partitions(),
            }));
        }
        self.commit_bulk(durability)
    }

    /// What goes in line. The writes are handed over: there may be very many.
    pub(crate) fn get_ready(&mut self, durability: Durability) -> Result<Ready> {
        let reads = self.view.end();
        // Also here, because a table that was replaced cannot even be looked up.
        self.view.store().epochs.check(&self.epochs)?;
        let writes = std::mem::take(&mut self.writes);
        let bytes = writes.bytes();
        let (writes, touched) = match writes.len() < BLOCKING_WRITES_MIN {
            true => look_up(&self.view, writes, &reads)?,
            false => blocking(|| look_up(&self.view, writes, &reads))?,
        };
        let request = Request {
            view: Arc::clone(&self.view),
            reads,
            present: std::mem::take(&mut self.present),
            writes,
            epochs: self.epochs.clone(),
            durability,
        };
        Ok(Ready {
            request,
            bytes,
            touched,
        })
    }

    pub(crate) fn conclude(
        &self,
        outcome: Option<Result<Timestamp>>,
        touched: &[Written],
    ) -> Result<Committed> {
        let lost = || Error::Unknown {
            at: self.view.at(),
            cause: "the thread that committed it panicked".to_owned(),
        };
        let at = outcome.ok_or_else(lost)??;
        for written in touched {
            self.view.touch(&written.partition, &written.as_touch());
        }
        Ok(Committed {
            at,
            partitions: self.view.partitions(),
        })
    }
}

fn held_by_another(table: TableId, key: &[u8]) -> Error {
    Error::Held {
        table,
        key: Bytes::copy_from_slice(key),
    }
}

/// A transaction that is ready to go in line.
pub(crate) struct Ready {
    pub(crate) request: Request,
    bytes: usize,
    pub(crate) touched: Vec<Written>,
}

/// What was written to one partition, as the heat sees it: all of it at once, or key by key in a
/// transaction that is looked at closely.
pub(crate) struct Written {
    partition: Arc<Partition>,
    key: Bytes,
    rows: u64,
    bytes: u64,
    took: Duration,
}

impl Written {
    fn as_touch(&self) -> Touch<'_> {
        let Self {
            key,
            rows,
            bytes,
            took,
            ..
        } = self;
        Touch {
            kind: AccessKind::Write,
            key,
            upper: None,
            rows: *rows,
            told: 0,
            bytes: *bytes,
            took: *took,
        }
    }
}

/// Looks up what each write replaces, here and in parallel with other transactions, so that the
/// leader of the group has little to do.
fn look_up(view: &View, writes: Writes, reads: &Reads) -> Result<(Vec<Write>, Vec<Written>)> {
    let store = view.store();
    let mut place: Option<(TableId, Arc<Map>)> = None;
    let mut found = Vec::with_capacity(writes.len());
    let mut touched: Vec<Written> = Vec::new();
    for (table, key, edit) in writes.into_edits() {
        // Rows come by table.
        let map = match &mut place {
            Some((known, map)) if *known == table => map,
            _ => &mut place.insert((table, store.map(table)?)).1,
        };
        let partition = map.route(&key);
        let started = view.start_clock();
        let known = match reads.found(table, &key) {
            Some(known) => Some(known.clone()),
            None => current(view, partition, table, &key)?,
        };
        let bytes = u64::try_from(key.len() + edit.bytes()).unwrap_or(u64::MAX);
        match touched.last_mut() {
            Some(last) if started.is_none() && Arc::ptr_eq(&last.partition, partition) => {
                last.rows += 1;
                last.bytes += bytes;
            }
            _ => touched.push(Written {
                partition: Arc::clone(partition),
                key: key.clone(),
                rows: 1,
                bytes,
                took: view.elapsed(started),
            }),
        }
        found.push(Write {
            table,
            key,
            edit,
            known,
        });
    }
    Ok((found, touched))
}

/// The newest version of a row, unless only the leader can tell: when the engine is gone it routes by
/// a newer map, and when an intent waits there it settles that first.
fn current(
    view: &View,
    partition: &Partition,
    table: TableId,
    key: &[u8],
) -> Result<Option<Found>> {
    let store = view.store();
    match store.engines.get(partition.descriptor.engine) {
        Ok(slot) if slot.orphan(table, key).is_none() => {
            Ok(Some(store.newest_version(&slot, table, key)?))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use storage::env::{SeededRandom, SimulatedClock};
    use storage::{MemoryEngine, SharedPlacement};

    use super::*;
    use crate::{Options, Store};

    #[test]
    fn an_epoch_that_begins_while_a_commit_stands_in_line_refuses_it() {
        let open =
            || -> storage::Result<Arc<dyn storage::Engine>> { Ok(Arc::new(MemoryEngine::new())) };
        let placement = Arc::new(SharedPlacement::new(open));
        let clock = Arc::new(SimulatedClock::new(0));
        let options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
        let store = Store::open(options).unwrap();
        let table = TableId(1);
        store.create_table(table, &[], Bytes::new()).unwrap();

        let mut late = store.begin();
        late.put(table, "a".into(), "late".into()).unwrap();
        late.expect_epoch(table, 0);
        let ready = late.get_ready(Durability::Synced).unwrap();
        store.set_epoch(table, 1);
        let outcomes = store.commit_group(vec![ready.request]);
        assert!(matches!(outcomes[..], [Err(Error::Altered { .. })]));
        assert_eq!(store.view().get(table, b"a").unwrap(), None);
    }
}
