//! Reading as a transaction reads, from any thread and for as long as one likes.

use std::sync::Arc;

use partitions::{PartitionId, TableId};
use storage::{Bytes, Direction, KeyRange};

use crate::cuts::{self, Extent};
use crate::patch::edited;
use crate::scan::Scan;
use crate::view::{Touches, View};
use crate::writes::{Tables, writes_in};
use crate::{Result, Timestamp};

/// A snapshot with the writes that a transaction had made when the reader was taken. What it reads
/// counts as read by that transaction; once the transaction has ended it reads no more.
#[derive(Clone, Debug)]
pub struct Reader {
    view: Arc<View>,
    /// Nothing for a reader that is in no transaction.
    own: Option<Arc<Tables>>,
}

impl Reader {
    pub(crate) fn new(view: Arc<View>, own: Option<Arc<Tables>>) -> Self {
        Self { view, own }
    }

    /// The snapshot's timestamp.
    pub fn at(&self) -> Timestamp {
        self.view.at()
    }

    /// The partitions that were read so far at this snapshot, by whomever it is shared with.
    pub fn partitions(&self) -> Vec<PartitionId> {
        self.view.partitions()
    }

    /// Begins to count anew the partitions that are read at this snapshot.
    pub fn count_anew(&self) {
        self.view.count_anew();
    }

    /// Counts the partitions that are read at this snapshot, since it was last begun anew.
    pub fn touches(&self) -> Touches {
        self.view.touches()
    }

    /// The row under `key`: the transaction's own, or the one at its snapshot.
    pub fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Bytes>> {
        let own = self.own.as_ref().and_then(|own| own.get(&table));
        match own.and_then(|own| own.get(key)) {
            Some(own) => {
                let patching = self.view.store().patching.as_ref();
                edited(patching, table, key, own, || self.view.get(table, key))
            }
            None => self.view.get(table, key),
        }
    }

    /// The rows of a range in key order, or in reverse, as [`Reader::get`] would find them.
    pub fn scan(&self, table: TableId, range: &KeyRange, direction: Direction) -> Result<Scan> {
        let own = self.own.as_ref();
        let own = own.map_or_else(Vec::new, |own| writes_in(own, table, range));
        Scan::open(Arc::clone(&self.view), table, range, direction, own)
    }

    /// A range cut where partitions begin, in key order: what can be read side by side.
    pub fn tiles(&self, table: TableId, range: &KeyRange) -> Result<Vec<KeyRange>> {
        let map = self.view.store().map(table)?;
        let partitions = map.overlapping(range).iter();
        Ok(partitions
            .map(|one| one.descriptor.range.intersect(range))
            .collect())
    }

    /// About how many rows a table has.
    pub fn rows(&self, table: TableId) -> Result<u64> {
        let map = self.view.store().map(table)?;
        let partitions = map.partitions().iter();
        let rows = partitions.map(|one| one.counters.counts().totals().rows);
        Ok(rows.sum())
    }

    /// What a range reaches over, found without reading it.
    pub fn extent(&self, table: TableId, range: &KeyRange) -> Result<Extent> {
        cuts::extent(&self.view, table, range)
    }

    /// A range cut into about so many pieces that hold about as many rows each, in key order: what
    /// can be read side by side when the range lies in few partitions. Reads a few keys to find out.
    pub fn cut(&self, table: TableId, range: &KeyRange, pieces: usize) -> Result<Vec<KeyRange>> {
        cuts::cut(&self.view, table, range, pieces)
    }
}
