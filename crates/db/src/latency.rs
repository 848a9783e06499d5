//! How long statements take, by kind: counted always, in fixed buckets, so that it costs two looks at
//! the clock and three additions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use syntax::statement::Kind as Asks;
use txn::Store;

use crate::session::Run;

/// The upper ends of the buckets, in microseconds; what takes longer than the last is in one more.
pub const LATENCY_BOUNDS_US: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// The kinds of statements that are told apart.
const KINDS: [&str; 6] = [
    "select",
    "insert",
    "update",
    "delete",
    "definition",
    "other",
];

/// What was counted of one kind of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    /// `select`, `insert` (also UPSERT and REPLACE), `update`, `delete`, `definition` or `other`.
    pub kind: &'static str,
    /// How many took at most the bound of the same place in [`LATENCY_BOUNDS_US`], each counted once;
    /// the last is for those that took longer.
    pub buckets: Vec<u64>,
    /// How long all of them took together.
    pub sum: Duration,
}

/// The counters of all kinds.
#[derive(Debug)]
pub(crate) struct Latencies {
    counters: [Arc<Counters>; KINDS.len()],
}

/// The counters of one kind, and the clock.
#[derive(Debug)]
struct Counters {
    store: Arc<Store>,
    buckets: [AtomicU64; LATENCY_BOUNDS_US.len() + 1],
    sum_ns: AtomicU64,
}

impl Counters {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.store.monotonic().as_nanos()).unwrap_or(u64::MAX)
    }

    fn add(&self, took_ns: u64) {
        let bucket = LATENCY_BOUNDS_US.partition_point(|bound| bound * 1000 < took_ns);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_ns.fetch_add(took_ns, Ordering::Relaxed);
    }
}

impl Latencies {
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        let counters = || Counters {
            store: Arc::clone(store),
            buckets: Default::default(),
            sum_ns: AtomicU64::new(0),
        };
        let counters = std::array::from_fn(|_| Arc::new(counters()));
        Self { counters }
    }

    /// The time now, for [`Self::start`].
    pub(crate) fn now_ns(&self) -> u64 {
        let [first, ..] = &self.counters;
        first.now_ns()
    }

    /// Times a statement that has started; it ends when the answer is dropped.
    pub(crate) fn start(&self, asks: &Asks, started_ns: u64, run: Option<Run>) -> Timer {
        let [select, insert, update, delete, definition, other] = &self.counters;
        let counters = match asks {
            Asks::Query(_) => select,
            Asks::Insert(_) => insert,
            Asks::Update(_) => update,
            Asks::Delete(_) => delete,
            Asks::CreateTable(_)
            | Asks::DropTable(_)
            | Asks::AlterTable(_)
            | Asks::CreateIndex(_)
            | Asks::RenameIndex(_)
            | Asks::DropIndex(_)
            | Asks::Truncate(_)
            | Asks::CreateSequence(_)
            | Asks::AlterSequence(_)
            | Asks::DropSequence(_) => definition,
            _ => other,
        };
        Timer {
            counters: Arc::clone(counters),
            started_ns,
            run,
        }
    }

    /// What was counted.
    pub(crate) fn all(&self) -> Vec<Latency> {
        let all = KINDS.iter().zip(&self.counters);
        all.map(|(kind, counters)| {
            let buckets = counters.buckets.iter();
            Latency {
                kind,
                buckets: buckets.map(|one| one.load(Ordering::Relaxed)).collect(),
                sum: Duration::from_nanos(counters.sum_ns.load(Ordering::Relaxed)),
            }
        })
        .collect()
    }
}

/// A statement that is under way.
#[derive(Debug)]
pub(crate) struct Timer {
    counters: Arc<Counters>,
    started_ns: u64,
    run: Option<Run>,
}

impl Timer {
    /// What is counted of this statement besides, if anything is.
    pub(crate) fn run(&mut self) -> Option<&mut Run> {
        self.run.as_mut()
    }

    /// The same, to look at.
    pub(crate) fn run_so_far(&self) -> Option<&Run> {
        self.run.as_ref()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let ended_ns = self.counters.now_ns();
        let took_ns = ended_ns.saturating_sub(self.started_ns);
        self.counters.add(took_ns);
        if let Some(run) = &self.run {
            run.end(ended_ns, took_ns);
        }
    }
}
