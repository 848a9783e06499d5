//! What a transaction did to each partition, told to the partitions' heat when it ends.
//!
//! Counts are kept for every transaction. Keys and times are kept only for one in
//! [`SAMPLED_ONE_IN`], because they cost something; each of those stands for all.

use std::sync::Arc;
use std::time::Duration;

use partitions::{Access, AccessKind, Footprint, HeatTotals, Partition, PartitionId};
use storage::Bytes;
use storage::env::Random;

use crate::Store;

/// One transaction in so many is looked at closely, unless said otherwise.
pub(crate) const SAMPLED_ONE_IN: u64 = 8;

/// How many accesses of one transaction are looked at closely, over all partitions.
const ACCESSES_MAX: usize = 256;

/// The partitions a transaction touched.
#[derive(Debug)]
pub(crate) struct Footprints {
    on: bool,
    sampled: bool,
    /// How many it stands for if it is sampled.
    one_in: u64,
    accesses: usize,
    /// How often it was begun to count anew.
    round: u64,
    /// Rows that were gone over since then.
    rows: u64,
    touched: Vec<Touched>,
}

#[derive(Debug)]
struct Touched {
    partition: Arc<Partition>,
    /// The round in which it was last touched.
    round: u64,
    totals: HeatTotals,
    accesses: Vec<Access>,
}

/// One access, as the transaction layer sees it.
#[derive(Debug)]
pub(crate) struct Touch<'a> {
    pub(crate) kind: AccessKind,
    pub(crate) key: &'a [u8],
    pub(crate) upper: Option<&'a Bytes>,
    pub(crate) rows: u64,
    /// How many of them were told of before it was over.
    pub(crate) told: u64,
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
}

impl Store {
    /// The footprints of one more transaction; none are kept where heat is off.
    pub(crate) fn footprints(&self) -> Footprints {
        match self.heat {
            true => Footprints::new(self.random.as_ref(), self.sampled_one_in),
            false => Footprints::none(),
        }
    }
}

impl Footprints {
    fn new(random: &dyn Random, one_in: u64) -> Self {
        Self {
            on: true,
            sampled: random.below(one_in) == 0,
            one_in,
            ..Self::none()
        }
    }

    /// Those of somebody who leaves none.
    pub(crate) fn none() -> Self {
        Self {
            on: false,
            sampled: false,
            one_in: SAMPLED_ONE_IN,
            accesses: 0,
            round: 0,
            rows: 0,
            touched: Vec::new(),
        }
    }

    /// Whether it is worth measuring how long accesses take.
    pub(crate) fn sampled(&self) -> bool {
        self.sampled
    }

    pub(crate) fn add(&mut self, partition: &Arc<Partition>, touch: &Touch<'_>) {
        if !self.on {
            return;
        }
        let keep = self.sampled && self.accesses < ACCESSES_MAX;
        if touch.kind != AccessKind::Write {
            self.rows += touch.rows.saturating_sub(touch.told);
        }
        let one_in = self.one_in;
        let entry = self.entry(partition);
        match touch.kind {
            AccessKind::Read => {
                entry.totals.reads += touch.rows;
                entry.totals.read_bytes += touch.bytes;
            }
            AccessKind::Write => {
                entry.totals.writes += touch.rows;
                entry.totals.written_bytes += touch.bytes;
            }
            AccessKind::Scan => {
                entry.totals.scans += 1;
                entry.totals.scanned_rows += touch.rows;
                entry.totals.read_bytes += touch.bytes;
            }
        }
        if keep {
            let busy_ns = u64::try_from(touch.took.as_nanos()).unwrap_or(u64::MAX);
            let busy_ns = busy_ns.saturating_mul(one_in);
            entry.totals.busy_ns += busy_ns;
            if touch.kind == AccessKind::Scan {
                entry.totals.scan_ns += busy_ns;
            }
            entry.accesses.push(Access {
                kind: touch.kind,
                key: Bytes::copy_from_slice(touch.key),
                upper: touch.upper.cloned(),
                cost: u32::try_from(touch.took.as_micros())
                    .unwrap_or(u32::MAX)
                    .max(1),
            });
            self.accesses += 1;
        }
    }

    /// A scan that goes on is past so many more rows of a partition.
    pub(crate) fn tell(&mut self, partition: &Arc<Partition>, rows: u64) {
        if self.on {
            self.rows += rows;
            self.entry(partition);
        }
    }

    fn entry(&mut self, partition: &Arc<Partition>) -> &mut Touched {
        let id = partition.descriptor.id;
        let round = self.round;
        let known = self
            .touched
            .iter()
            .position(|t| t.partition.descriptor.id == id);
        let index = known.unwrap_or_else(|| {
            self.touched.push(Touched {
                partition: Arc::clone(partition),
                round,
                totals: HeatTotals::default(),
                accesses: Vec::new(),
            });
            self.touched.len() - 1
        });
        let entry = self.touched.get_mut(index);
        let entry = entry.expect("the index was just found or made");
        entry.round = round;
        entry
    }

    /// Begins to count anew, for one of the statements of a transaction.
    pub(crate) fn begin_round(&mut self) {
        self.round += 1;
        self.rows = 0;
    }

    /// How many rows were gone over since it was begun to count.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// How many partitions were touched since it was begun to count.
    pub(crate) fn count(&self) -> usize {
        let fresh = |touched: &&Touched| touched.round == self.round;
        self.touched.iter().filter(fresh).count()
    }

    /// The partitions touched so far.
    pub(crate) fn partitions(&self) -> Vec<PartitionId> {
        self.touched
            .iter()
            .map(|touched| touched.partition.descriptor.id)
            .collect()
    }

    /// Tells the partitions. To be called once, when the transaction ends.
    pub(crate) fn report(&mut self, txn: u64, now_us: u64, random: &dyn Random) {
        let multi_partition = self.touched.len() > 1;
        for mut touched in self.touched.drain(..) {
            if multi_partition {
                touched.totals.multi_partition_txns = 1;
            } else {
                touched.totals.single_partition_txns = 1;
            }
            let heat = &touched.partition.heat;
            heat.add(&touched.totals);
            if !touched.accesses.is_empty() {
                let cost = touched
                    .accesses
                    .iter()
                    .map(|a| a.cost)
                    .fold(0, u32::saturating_add);
                let accesses = touched.accesses;
                heat.offer(cost, now_us, random, || Footprint {
                    txn,
                    multi_partition,
                    accesses,
                });
            }
        }
    }
}
