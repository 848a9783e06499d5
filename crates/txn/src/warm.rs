//! Tables that are read by key all the time and seldom written are brought into pages.
//!
//! Scans leave pages behind and gets do not: a get wants one row, and its neighbours may be of no use
//! to anyone. But a table that is read by key thousands of times a second, and fits, is soon read
//! everywhere. So now and then somebody asks which partitions those are, and walks them a part at a
//! time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use partitions::{Partition, PartitionId, TableId};
use storage::{Bytes, Direction, KeyRange};

use crate::stored::Stored;
use crate::{Result, Store};

/// A partition is brought in if it is read by key so often in a second.
const READS_PER_SECOND_MIN: u64 = 1000;

/// And if it is read so many times as often as it is written: each write takes a row away, and a page
/// from scans.
const READS_PER_WRITE_MIN: u64 = 20;

/// A table may take one in so many of the bytes that there are for pages.
const ROOM_SHARE: u64 = 2;

/// How many rows are walked in one round.
const ROUND_ROWS_MAX: usize = 131_072;

/// After a walk has come to its end, the next one waits so long.
const REST: Duration = Duration::from_secs(5);

/// What the keeping of a row in a page takes besides its bytes.
const ROW_OVERHEAD: u64 = 20;

/// What is known of each partition since the round before.
#[derive(Debug, Default)]
pub(crate) struct Warming {
    looked: Option<Duration>,
    partitions: BTreeMap<PartitionId, Walk>,
}

/// How far a partition is.
#[derive(Clone, Debug, Default)]
struct Walk {
    /// As its heat told them.
    reads: u64,
    writes: u64,
    /// Where the walk goes on.
    next: Option<Bytes>,
    /// When it came to its end, and the epoch of the table in which it began.
    done: Option<(Duration, u64)>,
    began: u64,
}

impl Store {
    /// One round: walks a part of the partitions that are hot for gets. To be called a few times a
    /// second.
    pub fn warm_up(&self) -> Result<()> {
        let mut warming = self.warming.lock();
        let now = self.clock.monotonic();
        let elapsed = warming.looked.map(|then| now.saturating_sub(then));
        warming.looked = Some(now);
        let mut before = std::mem::take(&mut warming.partitions);
        let mut left = ROUND_ROWS_MAX;
        for table in self.directory.tables() {
            let Ok(map) = self.directory.map(table) else {
                continue;
            };
            let fits = self.fits_in_pages(map.partitions());
            for partition in map.partitions() {
                let heat = partition.heat.totals();
                let known = before.remove(&partition.descriptor.id);
                let mut walk = known.clone().unwrap_or_default();
                (walk.reads, walk.writes) = (heat.reads, heat.writes);
                if let (Some(known), Some(elapsed)) = (known, elapsed)
                    && fits
                    && left > 0
                    && is_hot(&known, &walk, elapsed)
                {
                    left -= self.walk(table, partition, &mut walk, left)?;
                }
                warming.partitions.insert(partition.descriptor.id, walk);
            }
        }
        Ok(())
    }

    fn fits_in_pages(&self, partitions: &[Arc<Partition>]) -> bool {
        let needed = |partition: &Arc<Partition>| {
            let totals = partition.counters.counts().totals();
            totals.bytes + totals.rows * ROW_OVERHEAD
        };
        let needed: u64 = partitions.iter().map(needed).sum();
        let room = u64::try_from(self.engines.pages_bytes_max()).unwrap_or(u64::MAX);
        needed <= room / ROOM_SHARE
    }

    /// Goes on with a walk for up to `most` rows, and tells how many it went.
    fn walk(
        &self,
        table: TableId,
        partition: &Partition,
        walk: &mut Walk,
        most: usize,
    ) -> Result<usize> {
        let slot = self.engines.get(partition.descriptor.engine)?;
        let epoch = slot.pages.of_scanned(table).epoch();
        let now = self.clock.monotonic();
        if let Some((then, began)) = walk.done
            && (began == epoch || now.saturating_sub(then) < REST)
        {
            return Ok(0);
        }
        let range = &partition.descriptor.range;
        let lower = match walk.next.take() {
            Some(next) => next,
            None => {
                walk.began = epoch;
                range.lower.clone()
            }
        };
        let rest = KeyRange::new(lower, range.upper.clone()).intersect(range);
        let mut rows = Stored::new(slot, table, rest, Direction::Ascending);
        for gone in 0..most {
            if !rows.advance()? {
                walk.done = Some((now, walk.began));
                return Ok(gone);
            }
        }
        walk.done = None;
        walk.next = rows.row()?.map(|(key, _)| Bytes::copy_from_slice(key));
        Ok(most)
    }
}

fn is_hot(before: &Walk, now: &Walk, elapsed: Duration) -> bool {
    let reads = now.reads.saturating_sub(before.reads);
    let writes = now.writes.saturating_sub(before.writes);
    let needed = u128::from(READS_PER_SECOND_MIN) * elapsed.as_millis() / 1000;
    reads > 0 && u128::from(reads) >= needed && reads / READS_PER_WRITE_MIN >= writes
}

#[cfg(test)]
mod tests {
    use storage::env::{SeededRandom, SimulatedClock};
    use storage::{Durability, Engine, MemoryEngine, SharedPlacement};

    use super::*;
    use crate::Options;

    const TABLE: TableId = TableId(1);
    const ROWS: u16 = 1000;

    fn key(number: u16) -> Bytes {
        Bytes::copy_from_slice(&number.to_be_bytes())
    }

    fn write(store: &Arc<Store>, keys: impl Iterator<Item = u16>) {
        let mut txn = store.begin();
        for number in keys {
            txn.put(TABLE, key(number), key(number)).unwrap();
        }
        txn.commit(Durability::Buffered).unwrap();
    }

    /// Reads and writes for a second between two rounds, and tells how many keys are on pages then.
    fn on_pages(pages_bytes_max: usize, reads: u16, writes: u16) -> usize {
        let engine = MemoryEngine::new();
        let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::new(engine.clone())) };
        let clock = Arc::new(SimulatedClock::new(1));
        let placement = Arc::new(SharedPlacement::new(open));
        let random = Arc::new(SeededRandom::new(1));
        let mut options = Options::new(placement, Arc::<SimulatedClock>::clone(&clock), random);
        options.pages_bytes_max = pages_bytes_max;
        let store = Store::open(options).unwrap();
        store.create_table(TABLE, &[], Bytes::new()).unwrap();
        write(&store, 0..ROWS);
        store.warm_up().unwrap();
        for number in 0..reads {
            store.view().get(TABLE, &key(number % ROWS)).unwrap();
        }
        write(&store, 0..writes);
        clock.advance(Duration::from_secs(1));
        store.warm_up().unwrap();
        let map = store.map(TABLE).unwrap();
        let slot = store.engines.get(map.route(&[]).descriptor.engine).unwrap();
        let found = |number: &u16| slot.pages.get(TABLE, &key(*number)).is_some();
        (0..ROWS).filter(found).count()
    }

    #[test]
    fn what_is_read_by_key_all_the_time_comes_in_if_it_fits_and_is_seldom_written() {
        assert_eq!(on_pages(1 << 20, 2000, 0), 1000);
        assert_eq!(on_pages(1 << 20, 2000, 100), 1000);
        assert_eq!(on_pages(1 << 20, 2000, 101), 0, "written too often");
        assert_eq!(on_pages(1 << 20, 999, 0), 0, "read too seldom");
        assert_eq!(on_pages(1 << 14, 2000, 0), 0, "too large");
    }
}
