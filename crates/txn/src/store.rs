//! The [`Store`]: all tables, their engines, and everything that happens under the commit lock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use keys::format_key;
use parking_lot::Mutex;
use partitions::decide::Histogram;
use partitions::spaces::{INTENT_SPACE, META_SPACE, TRANSACTION_PREFIX, prefix_range, table_space};
use partitions::{
    Counts, Descriptor, Directory, Map, Partition, PartitionId, TableId, Totals, Watch,
    counters_key,
};
use storage::env::{Clock, Random};
use storage::{Batch, Bytes, Direction, Durability, EngineCounters, EngineId, KeyRange, Placement};

use crate::across::{Fatality, Immortal, Unresolved};
use crate::active::Active;
use crate::claims::Claims;
use crate::collect::Graveyard;
use crate::commit::Request;
use crate::engines::{Engines, Slot};
use crate::epochs::Epochs;
use crate::footprint::{Footprints, SAMPLED_ONE_IN};
use crate::history::{HISTORY_BYTES_MAX, History};
use crate::intent::{Intent, Owner, TxnId};
use crate::load::{INGEST_ROWS_MIN, Stamps};
use crate::pages::PAGES_BYTES_MAX;
use crate::patch::{NoPatching, Patching};
use crate::pending::Pending;
use crate::queue::Queue;
use crate::recent::{RECENT_KEYS_MAX, Recent};
use crate::records::record_key;
use crate::turns::Turns;
use crate::version::{Version, split_table_key};
use crate::view::{View, bytes_of};
use crate::warm::Warming;
use crate::{Error, HybridTimestamps, Result, Timestamp, Timestamps, Transaction};

/// What a store is made of.
#[derive(Debug)]
pub struct Options {
    /// Where partitions lie.
    pub placement: Arc<dyn Placement>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Timestamps; from the clock unless told otherwise.
    pub timestamps: Option<Arc<dyn Timestamps>>,
    /// When the coordinator of a commit across engines dies; never unless told otherwise.
    pub fatality: Arc<dyn Fatality>,
    /// What patches make of rows; without it a [`Transaction::patch`] is refused.
    pub patching: Arc<dyn Patching>,
    /// How much replaced data stays in memory.
    pub history_bytes_max: usize,
    /// From how many rows on a load bypasses the journal.
    pub ingest_rows_min: usize,
    /// How much of what was scanned stays in memory.
    pub pages_bytes_max: usize,
    /// Whether heat is measured; without it nothing is known of partitions touched.
    pub heat: bool,
    /// One transaction in so many is looked at closely, and stands for all.
    pub sampled_one_in: u64,
}

impl Options {
    /// The usual store.
    pub fn new(
        placement: Arc<dyn Placement>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self {
            placement,
            clock,
            random,
            timestamps: None,
            fatality: Arc::new(Immortal),
            patching: Arc::new(NoPatching),
            history_bytes_max: HISTORY_BYTES_MAX,
            ingest_rows_min: INGEST_ROWS_MIN,
            pages_bytes_max: PAGES_BYTES_MAX,
            heat: true,
            sampled_one_in: SAMPLED_ONE_IN,
        }
    }
}

/// Versioned tables over partitions, with serializable transactions.
#[derive(Debug)]
pub struct Store {
    placement: Arc<dyn Placement>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) timestamps: Arc<dyn Timestamps>,
    pub(crate) fatality: Arc<dyn Fatality>,
    pub(crate) patching: Arc<dyn Patching>,
    pub(crate) directory: Directory,
    pub(crate) watch: Watch,
    pub(crate) engines: Engines,
    pub(crate) epochs: Epochs,
    pub(crate) active: Arc<Active>,
    pub(crate) claims: Arc<Claims>,
    pub(crate) history: History,
    pub(crate) stamps: Stamps,
    pub(crate) ingest_rows_min: usize,
    pub(crate) heat: bool,
    pub(crate) sampled_one_in: u64,
    pub(crate) landing: Mutex<()>,
    pub(crate) warming: Mutex<Warming>,
    pub(crate) queue: Queue<Request, Result<Timestamp>>,
    pub(crate) sequencer: Turns<Sequencer>,
}

/// What only one at a time may touch: commits, splits, merges, collection. Its lock is the commit
/// lock.
#[derive(Debug)]
pub(crate) struct Sequencer {
    pub(crate) recent: Recent,
    /// Of the group that is being committed.
    pub(crate) pending: Pending,
    pub(crate) graveyard: Graveyard,
    pub(crate) unresolved: BTreeMap<TxnId, Unresolved>,
    /// Transactions whose rollback records are kept, oldest first.
    pub(crate) rolled_back: VecDeque<Owner>,
    /// Engines of split or merged partitions in their last lives, until they are discarded.
    pub(crate) retired: BTreeMap<EngineId, Arc<Slot>>,
    /// They may go once the horizon is here.
    pub(crate) sweep_after: Option<Timestamp>,
}

/// What a count of a partition found.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Rows, bytes and tombstones.
    pub totals: Totals,
    /// How they are spread over the keys.
    pub histogram: Histogram,
}

impl Store {
    /// Opens the tables of a placement, and settles what a crash left half done.
    pub fn open(options: Options) -> Result<Arc<Self>> {
        let Options {
            placement,
            clock,
            random,
            timestamps,
            fatality,
            patching,
            history_bytes_max,
            ingest_rows_min,
            pages_bytes_max,
            heat,
            sampled_one_in,
        } = options;
        let timestamps =
            timestamps.unwrap_or_else(|| Arc::new(HybridTimestamps::new(Arc::clone(&clock))));
        let directory = Directory::load(Arc::clone(&placement), Arc::clone(&clock))?;
        let store = Self {
            placement,
            clock,
            random,
            timestamps,
            fatality,
            patching,
            directory,
            watch: Watch::default(),
            engines: Engines::new(pages_bytes_max),
            epochs: Epochs::default(),
            active: Arc::default(),
            claims: Arc::default(),
            history: History::new(history_bytes_max),
            stamps: Stamps::default(),
            ingest_rows_min,
            heat,
            sampled_one_in: sampled_one_in.max(1),
            landing: Mutex::default(),
            warming: Mutex::default(),
            queue: Queue::new(),
            sequencer: Turns::new(Sequencer {
                recent: Recent::new(RECENT_KEYS_MAX),
                pending: Pending::default(),
                graveyard: Graveyard::default(),
                unresolved: BTreeMap::new(),
                rolled_back: VecDeque::new(),
                retired: BTreeMap::new(),
                sweep_after: None,
            }),
        };
        store.bring_up()?;
        Ok(Arc::new(store))
    }

    fn bring_up(&self) -> Result<()> {
        let mut sequencer = self.sequencer.lock();
        let start = Timestamp::default();
        let meta = self.placement.open(EngineId::META)?;
        self.engines.install(EngineId::META, meta, start)?;
        for table in self.directory.tables() {
            for partition in self.directory.map(table)?.partitions() {
                let engine = partition.descriptor.engine;
                if self.engines.get(engine).is_err() {
                    self.engines
                        .install(engine, self.placement.open(engine)?, start)?;
                }
                let counts = partition.counters.counts();
                let last = Timestamp(counts.last_commit());
                let record = || format!("the counters of {}", partition.descriptor.id);
                self.timestamps.observe(last.recorded(record)?);
                if counts.totals().tombstones > 0 || !counts.exact() {
                    let range = partition.descriptor.range.clone();
                    sequencer.graveyard.sweep_later(table, range);
                }
            }
        }
        for slot in self.engines.all() {
            self.finish_loads(&slot)?;
            self.adopt_intents(&mut sequencer, &slot)?;
        }
        for slot in self.engines.all() {
            for owner in slot.orphan_owners() {
                self.resolve_locked(&mut sequencer, owner)?;
            }
        }
        for slot in self.engines.all() {
            forget_fates(&slot)?;
        }
        self.active.advance(self.timestamps.next(), &[], |_| ());
        Ok(())
    }

    /// Finds the intents that lie in an engine; none of them has a coordinator.
    fn adopt_intents(&self, sequencer: &mut Sequencer, slot: &Slot) -> Result<()> {
        let snapshot = slot.snapshot()?;
        for pair in snapshot.scan(INTENT_SPACE, &KeyRange::all(), Direction::Ascending)? {
            let (place, bytes) = pair?;
            let damaged = || Error::DamagedRecord {
                what: "the key of an intent".to_owned(),
            };
            let (table, key) = split_table_key(&place).ok_or_else(damaged)?;
            let owner = Intent::decode(table, &key, &bytes)?.owner;
            let begun = Timestamp(owner.txn.0);
            let record = || format!("the intent on {} of {table}", format_key(&key));
            self.timestamps.observe(begun.recorded(record)?);
            slot.add_orphan(table, key, owner);
            let unresolved = sequencer
                .unresolved
                .entry(owner.txn)
                .or_insert_with(|| Unresolved {
                    primary: owner.primary,
                    waiting: Default::default(),
                });
            unresolved.waiting.insert(slot.id);
        }
        Ok(())
    }

    /// A read-only view of everything committed so far.
    pub fn view(self: &Arc<Self>) -> Arc<View> {
        Arc::new(View::new(Arc::clone(self), false, self.footprints()))
    }

    /// The same, of which no partition gets any warmer: for the database's own looks at its rows.
    pub fn quiet_view(self: &Arc<Self>) -> Arc<View> {
        Arc::new(View::new(Arc::clone(self), false, Footprints::none()))
    }

    /// A transaction that may write.
    pub fn begin(self: &Arc<Self>) -> Transaction {
        Transaction::new(Arc::new(View::new(
            Arc::clone(self),
            true,
            self.footprints(),
        )))
    }

    /// The partitions of a table, now.
    pub fn map(&self, table: TableId) -> Result<Arc<Map>> {
        Ok(self.directory.map(table)?)
    }

    /// The tables there are.
    pub fn tables(&self) -> Vec<TableId> {
        self.directory.tables()
    }

    /// The oldest snapshot that is still read, or where the next one begins.
    pub fn horizon(&self) -> Timestamp {
        self.active.horizon()
    }

    /// The time, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    /// Time since some fixed instant, for measuring how long something takes.
    pub fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Time that this thread has worked, for measuring what something takes where others work too.
    pub fn worked(&self) -> Duration {
        self.clock.worked()
    }

    /// Tells the clock that rows were gone over, for another store that is timed by it.
    pub fn passed_rows(&self, rows: u64) {
        self.clock.passed_rows(rows);
    }

    /// Sixty-four random bits; not for secrets.
    pub fn random(&self) -> u64 {
        self.random.next_u64()
    }

    /// A number that was never used for a table, partition or engine.
    pub fn fresh_id(&self) -> Result<u64> {
        Ok(self.directory.fresh_id()?)
    }

    /// The same on a full disk too, for a table that takes the place of another.
    pub fn fresh_id_from_reserve(&self) -> Result<u64> {
        Ok(self.directory.fresh_id_from_reserve()?)
    }

    /// Makes a table, split at the given keys. `record` describes it to the layer above.
    pub fn create_table(&self, table: TableId, split_keys: &[Bytes], record: Bytes) -> Result<()> {
        let _sequencer = self.sequencer.lock();
        let mut batch = Batch::new();
        batch.put(META_SPACE, record_key(table), record);
        let map = self.directory.create_table_with(table, split_keys, batch)?;
        self.install_missing(map.partitions(), &[])
    }

    /// Drops a table with all its rows and its record. Who read it cannot commit any more.
    pub fn drop_table(&self, table: TableId) -> Result<()> {
        let mut sequencer = self.sequencer.lock();
        self.check_quiet(&sequencer, "dropping a table")?;
        let map = self.directory.map(table)?;
        let mut batch = Batch::new();
        batch.remove(META_SPACE, record_key(table));
        self.directory.drop_table_with(table, batch)?;
        let (now, horizon) = (self.active.watermark(), self.active.horizon());
        self.epochs.retire(table, Some(now), horizon);
        for slot in self.engines.all() {
            slot.pages.drop_table(table);
        }
        self.retire(&mut sequencer, map.partitions());
        Ok(())
    }

    /// Puts the engines of new partitions into service, and takes those of the old ones out of it.
    pub(crate) fn replace(
        &self,
        sequencer: &mut Sequencer,
        old: &[Arc<Partition>],
        new: &[Arc<Partition>],
    ) -> Result<()> {
        let sources: Vec<_> = old
            .iter()
            .filter_map(|one| self.engines.get(one.descriptor.engine).ok())
            .collect();
        self.install_missing(new, &sources)?;
        self.retire(sequencer, old);
        Ok(())
    }

    fn install_missing(&self, partitions: &[Arc<Partition>], sources: &[Arc<Slot>]) -> Result<()> {
        for partition in partitions {
            let engine = partition.descriptor.engine;
            if self.engines.get(engine).is_err() {
                let opened = self.placement.open(engine)?;
                let now = self.active.watermark();
                self.engines.install_copy(engine, opened, sources, now);
            }
        }
        Ok(())
    }

    /// Takes the engines of partitions that are no more out of service. They are discarded when the
    /// readers that may still use them are gone.
    fn retire(&self, sequencer: &mut Sequencer, partitions: &[Arc<Partition>]) {
        for partition in partitions {
            let engine = partition.descriptor.engine;
            if engine != EngineId::META {
                if let Ok(slot) = self.engines.get(engine) {
                    sequencer.retired.insert(engine, slot);
                }
                self.engines.remove(engine);
                let now = self.timestamps.next();
                self.active.advance(now, &[], |_| ());
                sequencer.sweep_after = Some(now);
            }
        }
    }

    /// An error while an engine is down or a commit across engines is unresolved: what a change of
    /// the map would copy might not be all there is.
    pub(crate) fn check_quiet(&self, sequencer: &Sequencer, what: &'static str) -> Result<()> {
        let busy = |cause: String| Err(Error::Busy { what, cause });
        if let Some((txn, unresolved)) = sequencer.unresolved.first_key_value() {
            return busy(format!(
                "{txn}, recorded on {}, is not settled",
                unresolved.primary
            ));
        }
        for slot in self.engines.all() {
            // An empty write tells whether the engine still takes any.
            if slot.is_down()
                || slot
                    .engine
                    .write(Batch::new(), Durability::Buffered)
                    .is_err()
            {
                return busy(format!("{} has to be reopened", slot.id));
            }
        }
        Ok(())
    }

    /// The engines that failed and have to be opened again.
    pub fn engines_down(&self) -> Vec<EngineId> {
        self.engines
            .all()
            .iter()
            .filter(|slot| slot.is_down())
            .map(|slot| slot.id)
            .collect()
    }

    /// What all engines together did on their own since they were opened.
    pub fn engine_counters(&self) -> EngineCounters {
        let all = self.engines.all();
        let counters = all.iter().map(|slot| slot.engine.counters());
        counters.fold(EngineCounters::default(), |sum, one| EngineCounters {
            flushes: sum.flushes + one.flushes,
            compactions: sum.compactions + one.compactions,
        })
    }

    /// Opens the engine of a partition again after it failed. Transactions that read from it before
    /// cannot commit. The metadata engine comes back by itself, or with the whole store.
    pub fn reopen(&self, engine: EngineId) -> Result<()> {
        let mut sequencer = self.sequencer.lock();
        // What is known of the metadata stays true where a write that failed is undone.
        if engine == EngineId::META && !self.engines.get(engine)?.engine.comes_back() {
            let cause = "the whole database has to be reopened".to_owned();
            return Err(Error::EngineDown { engine, cause });
        }
        let handle = self.placement.open(engine)?;
        let opened = self.timestamps.next();
        // In service only when all that is known of it is known.
        let slot = self.engines.prepare(engine, handle, opened)?;
        self.finish_loads(&slot)?;
        self.reload_counters(&mut sequencer, &slot)?;
        self.adopt_intents(&mut sequencer, &slot)?;
        self.engines.put(&slot);
        self.active.advance(opened, &[], |_| ());
        self.settle_all(&mut sequencer)
    }

    /// Settles every transaction whose coordinator is gone, where its primary can be asked. Also those
    /// that left no intent behind: a write that failed may be there after all.
    pub(crate) fn settle_all(&self, sequencer: &mut Sequencer) -> Result<()> {
        let unresolved = sequencer.unresolved.iter();
        let mut owners: BTreeSet<Owner> = unresolved
            .map(|(txn, one)| Owner {
                txn: *txn,
                primary: one.primary,
            })
            .collect();
        for slot in self.engines.all() {
            owners.extend(slot.orphan_owners());
        }
        for owner in owners {
            // What waits for another engine that is down stays an orphan until that one is back.
            let primary = self.engines.get(owner.primary);
            if !primary.is_ok_and(|primary| primary.is_down()) {
                self.resolve_locked(sequencer, owner)?;
            }
        }
        Ok(())
    }

    fn reload_counters(&self, sequencer: &mut Sequencer, slot: &Slot) -> Result<()> {
        for table in self.directory.tables() {
            for partition in self.directory.map(table)?.partitions() {
                let Partition {
                    descriptor,
                    counters,
                    ..
                } = partition.as_ref();
                if descriptor.engine != slot.id {
                    continue;
                }
                let missing = || Error::DamagedRecord {
                    what: format!("the counters of {}", descriptor.id),
                };
                let record = slot.get(META_SPACE, &counters_key(descriptor.id))?;
                let counts = Counts::decode(descriptor.id, &record.ok_or_else(missing)?)?;
                counters.reload(counts);
                sequencer
                    .graveyard
                    .sweep_later(table, descriptor.range.clone());
            }
        }
        Ok(())
    }

    /// Counts a partition by reading all of it at one instant. If its counters were estimates they
    /// are exact afterwards. Commits go on meanwhile.
    pub fn measure(&self, table: TableId, partition: PartitionId) -> Result<Measured> {
        let no_such = || partitions::Error::NoSuchPartition { table, partition };
        let (one, slot, since, snapshot) = {
            let _sequencer = self.sequencer.lock();
            let one = self
                .directory
                .map(table)?
                .get(partition)
                .cloned()
                .ok_or_else(no_such)?;
            let slot = self.engines.get(one.descriptor.engine)?;
            let inexact = !one.counters.counts().exact();
            let since = inexact.then(|| one.counters.begin_recount());
            let snapshot = slot.snapshot()?;
            (one, slot, since, snapshot)
        };
        let mut totals = Totals::default();
        let mut histogram = Histogram::new();
        let range = &one.descriptor.range;
        for pair in snapshot.scan(table_space(table), range, Direction::Ascending)? {
            let (key, bytes) = pair?;
            let row = Version::decode(table, &key, bytes)?.row;
            let size = bytes_of(&key, row.as_deref().unwrap_or_default());
            totals.bytes += size;
            totals.rows += u64::from(row.is_some());
            totals.tombstones += u64::from(row.is_none());
            histogram.add(&key, size);
        }
        if let Some(since) = since {
            self.set_exact(&one, &slot, since, totals)?;
        }
        Ok(Measured { totals, histogram })
    }

    fn set_exact(&self, one: &Partition, slot: &Slot, since: u64, totals: Totals) -> Result<()> {
        let _sequencer = self.sequencer.lock();
        // A split or merge meanwhile made the count worthless.
        let Descriptor { id, table, .. } = one.descriptor;
        if self.directory.map(table)?.get(id).is_some() && one.counters.set_exact(since, totals) {
            slot.check_writable()?;
            let mut batch = Batch::new();
            batch.put(META_SPACE, counters_key(id), one.counters.counts().encode());
            slot.engine.write(batch, Durability::Buffered)?;
        }
        Ok(())
    }

    /// Stands by for up to `most` for commits that wait without leading, and leads them. Somebody
    /// should do so all the time where [`Transaction::commit_later`] is used.
    pub fn drive_commits(&self, most: Duration) {
        self.queue.drive(most, |group| self.commit_group(group));
    }

    /// Ends standing by.
    pub fn stop_driving_commits(&self) {
        self.queue.stop_driving(|group| self.commit_group(group));
    }

    /// Makes every commit so far durable, also those that did not ask for it.
    pub fn sync(&self) -> Result<()> {
        let _sequencer = self.sequencer.lock();
        for slot in self.engines.all() {
            if let Err(error) = slot.engine.sync() {
                slot.write_failed(self.active.watermark(), &error);
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// Removes the records of transactions that left no intents behind.
fn forget_fates(slot: &Slot) -> Result<()> {
    let snapshot = slot.snapshot()?;
    let mut batch = Batch::new();
    let records = prefix_range(TRANSACTION_PREFIX);
    for pair in snapshot.scan(META_SPACE, &records, Direction::Ascending)? {
        batch.remove(META_SPACE, pair?.0);
    }
    Ok(slot.engine.write(batch, Durability::Buffered)?)
}
