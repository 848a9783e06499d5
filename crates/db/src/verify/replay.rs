//! [`Run`]: the transactions of a trace, done for real in a scratch database, and what was measured.
//!
//! ```text
//!   tick   rows arrive │ heat of each partition since the last tick │ one round of the control loop
//!   txn    it is its time by the trace; what takes a second counts as weight × load
//! ```
//!
//! As in the advisor's replay the partitions have the first half to settle, and the figures are those of
//! the second.
//!
//! What a transaction costs here and what it was predicted to cost differ, because the trace knows the
//! time of whole statements. The load that a key was judged at is what counts, so how much longer time
//! counts is worked out anew at each tick from what was measured until then.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use advisor::advise::{Judged, Window};
use advisor::trace::Txn;
use sql::Table;
use txn::{Direction, KeyRange, PartitionId, Store};

use super::VerifyError;
use super::client::{Client, Ran};
use super::sample::{Came, Sample};
use super::scratch::Scratch;
use super::statements::Maker;
use super::work::Work;
use crate::errands::GivenUp;
use crate::{Kind, Result};

/// How long all runs together should take, and when they are given up.
const TIME_MAX: Duration = Duration::from_secs(60);
const TIME_OVER: Duration = Duration::from_secs(180);
/// Rounds of splits by size before the first transaction.
const ROUNDS_BEFORE_MAX: usize = 16;
/// Real databases look at one transaction in so many.
const SAMPLED_ONE_IN: f64 = 8.0;

/// What came of one or more runs.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Busy time by window of the second half.
    pub(super) windows: Vec<Window>,
    /// Transactions of the second half by weight, and those that touched one partition.
    pub(super) txns: f64,
    pub(super) single: f64,
    /// Reads of the second half by weight, and what they went over.
    pub(super) reads: f64,
    pub(super) partitions: f64,
    pub(super) rows: f64,
    /// Bytes of keys, and how many keys there were.
    pub(super) key_bytes: f64,
    pub(super) keys: f64,
    pub(super) splits: usize,
    pub(super) runs: usize,
    /// Transactions that were run, that failed, and that were left out because time was short.
    pub(super) done: usize,
    pub(super) failed: usize,
    pub(super) left_out: usize,
}

impl Measured {
    pub(super) fn add(&mut self, other: Self) {
        self.windows.extend(other.windows);
        self.txns += other.txns;
        self.single += other.single;
        self.reads += other.reads;
        self.partitions += other.partitions;
        self.rows += other.rows;
        self.key_bytes += other.key_bytes;
        self.keys += other.keys;
        self.splits += other.splits;
        self.runs += other.runs;
        self.done += other.done;
        self.failed += other.failed;
        self.left_out += other.left_out;
    }
}

/// How long a run may take, which is one of several.
pub(super) struct Limit {
    /// The clock that it is measured by.
    pub(super) live: Arc<Store>,
    pub(super) parts: u32,
    pub(super) given_up: GivenUp,
}

/// One run.
pub(super) struct Run<'w> {
    client: Client<'w>,
    table: Arc<Table>,
    work: &'w Work,
    judged: &'w Judged,
    /// Rows that come later, the next one last.
    arriving: Vec<&'w Came>,
    /// What was in the heat of each partition at the last tick, and what was added in this window.
    heat: BTreeMap<PartitionId, u64>,
    window: BTreeMap<PartitionId, u64>,
    ticks: u64,
    interval_us: u64,
    end_us: u64,
    /// What a second counts as, for a transaction that stands for one.
    times: f64,
    /// Seconds that transactions took so far, by weight, and the weight.
    busy_s: f64,
    weight: f64,
    /// One in so many is run.
    one_in: usize,
    limit: Limit,
    began: Duration,
    measured: Measured,
    scratch: Scratch,
}

impl<'w> Run<'w> {
    pub(super) fn new(
        scratch: Scratch,
        work: &'w Work,
        judged: &'w Judged,
        limit: Limit,
    ) -> Result<Self> {
        let mut tables = scratch.database.tables();
        let table = tables.pop().ok_or(sql::Error::Changed)?;
        let figures = &judged.figures;
        let maker = Maker::new(&work.table, &judged.key, table.schema().name());
        let policy = scratch.database.policy.get();
        Ok(Self {
            client: Client::new(Arc::clone(&scratch.database), maker),
            table,
            work,
            judged,
            arriving: Vec::new(),
            heat: BTreeMap::new(),
            window: BTreeMap::new(),
            ticks: 0,
            interval_us: policy.check_interval_s.max(1).saturating_mul(1_000_000),
            end_us: stretched(work.timeline.duration_us(), figures.stretch),
            times: figures.load * figures.stretch,
            busy_s: 0.0,
            weight: 0.0,
            one_in: 1,
            began: limit.live.monotonic(),
            limit,
            measured: Measured {
                runs: 1,
                ..Measured::default()
            },
            scratch,
        })
    }

    /// Does it all.
    pub(super) async fn measure(mut self, sample: &'w Sample) -> Result<Measured> {
        self.begin(sample).await?;
        for (number, txn) in self.work.txns.iter().enumerate() {
            let now_us = stretched(txn.at_us, self.judged.figures.stretch);
            self.tick_until(now_us, number).await?;
            if number.is_multiple_of(self.one_in) {
                self.run(txn, now_us).await?;
            } else {
                self.measured.left_out += 1;
            }
        }
        let all = self.work.txns.len();
        self.tick_until(self.end_us.saturating_add(self.interval_us), all)
            .await?;
        self.measure_keys()?;
        Ok(self.measured)
    }

    /// Loads what was there, and lets it be split by size.
    async fn begin(&mut self, sample: &'w Sample) -> Result<()> {
        self.scratch.clock.set(self.work.from_us, 0.0);
        let (before, mut later) = sample.parted(self.work);
        later.reverse();
        self.arriving = later;
        for some in before.chunks(1_000) {
            self.look_up()?;
            self.client.load(some).await?;
        }
        for _ in 0..ROUNDS_BEFORE_MAX {
            if self.scratch.database.balance()?.splits == 0 {
                break;
            }
            self.count_rows()?;
        }
        Ok(())
    }

    /// Counts the rows of partitions that were split, as housekeeping does.
    fn count_rows(&self) -> Result<()> {
        let store = &self.scratch.database.store;
        for one in store.map(self.table.id())?.partitions() {
            if !one.counters.counts().exact() {
                store.measure(self.table.id(), one.descriptor.id)?;
            }
        }
        Ok(())
    }

    /// Looks whether there is still somebody who waits, and time.
    fn look_up(&self) -> Result<Duration> {
        if self.limit.given_up.is_so() {
            return Err(VerifyError::GivenUp.into());
        }
        let took = self.limit.live.monotonic().saturating_sub(self.began);
        if took > TIME_OVER / self.limit.parts {
            return Err(VerifyError::TooSlow {
                key: self.judged.name.clone(),
                seconds: TIME_OVER.as_secs(),
                done: self.measured.done,
                all: self.work.txns.len(),
            }
            .into());
        }
        Ok(took)
    }

    async fn tick_until(&mut self, now_us: u64, number: usize) -> Result<()> {
        loop {
            let tick_us = (self.ticks + 1).saturating_mul(self.interval_us);
            if tick_us > now_us || tick_us > self.end_us.saturating_add(self.interval_us) {
                return Ok(());
            }
            self.ticks += 1;
            self.tick(tick_us).await?;
            self.hurry(number)?;
        }
    }

    async fn tick(&mut self, tick_us: u64) -> Result<()> {
        let from_us = self.work.from_us;
        self.scratch.clock.set(from_us.saturating_add(tick_us), 0.0);
        self.take_heat()?;
        let window_us = self.judged.figures.grown_window_us.max(self.interval_us);
        if tick_us.is_multiple_of(window_us) {
            self.end_window(tick_us.saturating_sub(window_us / 2));
        }
        let done = self.scratch.database.balance()?;
        self.measured.splits += done.splits;
        if done.splits + done.merges > 0 {
            self.count_rows()?;
        }
        self.calibrate();
        self.arrive(tick_us).await
    }

    /// The rows come that came until now.
    async fn arrive(&mut self, tick_us: u64) -> Result<()> {
        let stretch = self.judged.figures.stretch;
        let (from_us, timeline) = (self.work.from_us, &self.work.timeline);
        let has_come = |came: &&Came| {
            stretched(timeline.at(came.at_us.saturating_sub(from_us)), stretch) <= tick_us
        };
        let mut some = Vec::new();
        while let Some(came) = self.arriving.pop_if(|came| has_come(came)) {
            some.push(came);
        }
        self.client.load(&some).await
    }

    /// What was added to the heat of partitions since the last tick.
    fn take_heat(&mut self) -> Result<()> {
        let map = self.scratch.database.store.map(self.table.id())?;
        let mut heat = BTreeMap::new();
        for one in map.partitions() {
            let id = one.descriptor.id;
            let busy_ns = one.heat.totals().busy_ns;
            let before = self.heat.get(&id).copied().unwrap_or_default();
            let more = busy_ns.saturating_sub(before);
            *self.window.entry(id).or_default() += more;
            // Per unit of weight, whatever a second counted as.
            self.busy_s += ratio(count(more) / 1e9, self.times);
            heat.insert(id, busy_ns);
        }
        self.heat = heat;
        Ok(())
    }

    fn end_window(&mut self, middle_us: u64) {
        let mut window = Window::default();
        for busy_ns in std::mem::take(&mut self.window).into_values() {
            let busy_us = count(busy_ns) / 1e3;
            window.busy_us += busy_us;
            window.peak_us = window.peak_us.max(busy_us);
        }
        if self.is_second_half(middle_us) && window.busy_us > 0.0 {
            self.measured.windows.push(window);
        }
    }

    fn is_second_half(&self, at_us: u64) -> bool {
        let stretch = self.judged.figures.stretch;
        self.work.timeline.is_second_half(at_us, stretch)
    }

    /// Works out what a second has to count as so that the load is the one that was predicted for.
    fn calibrate(&mut self) {
        let figures = &self.judged.figures;
        let cores = figures.cores * figures.load;
        let per_weight_s = ratio(self.busy_s, self.weight);
        let per_second = ratio(self.work.weight() * 1e6, count(self.end_us));
        if per_weight_s > 0.0 && cores > 0.0 {
            self.times = ratio(cores, per_weight_s * per_second);
        }
    }

    /// Leaves transactions out if there are more than there is time for.
    fn hurry(&mut self, number: usize) -> Result<()> {
        let took = self.look_up()?;
        let left = self.work.txns.len().saturating_sub(number);
        let time = (TIME_MAX / self.limit.parts).saturating_sub(took);
        let one = ratio(took.as_secs_f64(), as_float(self.measured.done));
        let needed = ratio(one * as_float(left), time.as_secs_f64().max(0.1));
        let mut one_in = 1;
        while as_float(one_in) < needed && one_in < left {
            one_in *= 2;
        }
        self.one_in = one_in;
        Ok(())
    }

    async fn run(&mut self, txn: &Txn, now_us: u64) -> Result<()> {
        let weight = txn.weight * as_float(self.one_in);
        let at_us = self.work.from_us.saturating_add(now_us);
        self.scratch.clock.set(at_us, self.times * weight);
        self.measured.done += 1;
        let ran = match self.client.run(txn, self.work).await {
            Ok(ran) => ran,
            // A row that is there already, or does not fit any more.
            Err(error) if matches!(error.kind(), Kind::Exists | Kind::Invalid | Kind::Conflict) => {
                self.measured.failed += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.weight += weight;
        if self.is_second_half(now_us) {
            self.account(&ran, weight);
        }
        Ok(())
    }

    fn account(&mut self, ran: &Ran, weight: f64) {
        let measured = &mut self.measured;
        measured.txns += weight;
        if ran.partitions <= 1 {
            measured.single += weight;
        }
        for (partitions, rows) in &ran.reads {
            measured.reads += weight;
            measured.partitions += weight * as_float(*partitions);
            measured.rows += weight * count(*rows);
        }
    }

    fn measure_keys(&mut self) -> Result<()> {
        let view = self.scratch.database.store.quiet_view();
        let mut scan = view.scan(self.table.id(), &KeyRange::all(), Direction::Ascending)?;
        while scan.advance()? {
            self.measured.keys += 1.0;
            self.measured.key_bytes += as_float(scan.key().len());
        }
        Ok(())
    }
}

/// One transaction in so many is timed where a recorded one stands for `stands_for`: as many as a real
/// database would time of those.
pub(super) fn sampled_one_in(stands_for: f64) -> u64 {
    let few = |one_in: &u64| count(*one_in) * stands_for <= SAMPLED_ONE_IN;
    (1..=8).rev().find(few).unwrap_or(1)
}

fn stretched(at_us: u64, stretch: f64) -> u64 {
    Duration::try_from_secs_f64(count(at_us) / 1e6 * stretch)
        .ok()
        .and_then(|at| u64::try_from(at.as_micros()).ok())
        .unwrap_or(u64::MAX)
}

/// A ratio; nothing of nothing is none.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    match whole > 0.0 {
        true => part / whole,
        false => 0.0,
    }
}

pub(super) fn as_float(number: usize) -> f64 {
    count(u64::try_from(number).unwrap_or(u64::MAX))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times for shares that are told to a few digits"
)]
pub(super) fn count(number: u64) -> f64 {
    number as f64
}
