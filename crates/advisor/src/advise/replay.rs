//! [`replay`]: the recorded transactions under another key, on a clock of their own, with the decider
//! that splits and merges real partitions.
//!
//! ```text
//!   txn ──plan──► touches: partition, keys, busy time ──► partition.busy, its samples
//!                                                             │ every few seconds
//!                                                     decide_table ──► split, merge, refuse
//!   windows of time:  all busy time, and that of the busiest partition  ──► peak share
//! ```
//!
//! What a partition knows here is what a real one knows: busy time, sampled transactions, bytes. What
//! is simulated is only where rows lie and what going over them costs.
//!
//! The first half of the time lets the partitions settle; the figures are those of the second.
//!
//! # Pace
//! A trace may be too light to split anything, and every key is then as good as any other. So the
//! same transactions can be made heavier (`load`), and when the recording was short, slower
//! (`stretch`), so that the decider gets the time that it takes.

mod partition;
mod touch;

use partitions::decide::{Settings, Verdict, decide_table, needs_histogram};
use partitions::{Random, SeededRandom};

use super::content::Content;
use super::heat::HeatMap;
use super::indexes::Indexes;
use super::key::Key;
use super::number::{at, ratio, weight};
use super::plan::{Plan, Ranges};
use super::workload::{Txn, Workload};
use partition::Partitions;
use touch::Touches;

/// Real databases look at one transaction in so many.
const SAMPLED_ONE_IN: f64 = 8.0;
/// Rounds of splits by size before the first transaction.
const ROUNDS_BEFORE_MAX: usize = 16;

/// How heavy and how slow the transactions are compared with the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// The load, as a factor.
    pub(crate) load: f64,
    /// The time, as a factor.
    pub(crate) stretch: f64,
}

impl Pace {
    /// As it was recorded.
    pub(crate) const RECORDED: Self = Self {
        load: 1.0,
        stretch: 1.0,
    };
}

/// What is replayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) key: &'a Key,
    /// Whether it is the key that the table had.
    pub(crate) is_current: bool,
    pub(crate) settings: &'a Settings,
    pub(crate) interval_us: u64,
    /// How many decisions there are in a window.
    pub(crate) window_ticks: u64,
    pub(crate) pace: Pace,
    pub(crate) seed: u64,
    /// Whether a picture is made.
    pub(crate) draw: bool,
}

impl Setting<'_> {
    /// How long a window is.
    pub(crate) fn window_us(&self) -> u64 {
        self.interval_us.saturating_mul(self.window_ticks)
    }
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Busy time by window of the second half, in microseconds of the recording, for each replay.
    pub(crate) runs: Vec<Vec<Window>>,
    /// Transactions of the second half, and those that touched one partition.
    pub(crate) txns: f64,
    pub(crate) single: f64,
    /// By statement.
    pub(crate) reads: Vec<Reads>,
    pub(crate) partitions: usize,
    pub(crate) splits: usize,
    pub(crate) merges: usize,
    /// Why the busiest partition was left alone in the end.
    pub(crate) refusal: Option<Verdict>,
    pub(crate) heat: Option<HeatMap>,
    /// Busy time of the whole replay, and all that was in some partition.
    pub(crate) busy_us: f64,
    /// Transactions that were replayed.
    pub(crate) replayed: u64,
    /// How often that was done.
    pub(crate) repeats: usize,
}

/// Busy time of one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Of all partitions.
    pub busy_us: f64,
    /// Of the busiest.
    pub peak_us: f64,
}

/// What a statement touched, summed over its runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reads {
    pub(crate) runs: f64,
    pub(crate) partitions: f64,
    pub(crate) rows: f64,
}

/// Replays a workload under a key.
pub(crate) fn replay(setting: &Setting<'_>, content: &mut Content<'_>) -> Outcome {
    content.restart();
    let workload = setting.workload;
    let plans = workload.shapes.iter();
    let plans: Vec<Plan> = plans.map(|shape| Plan::new(setting.key, shape)).collect();
    let mut state = Replay {
        setting,
        indexes: Indexes::new(workload, setting.key, &plans),
        plans,
        partitions: Partitions::new(workload.from_us),
        content,
        random: SeededRandom::new(setting.seed),
        ranges: Ranges::default(),
        touches: Touches::default(),
        ticks: 0,
        end_us: stretched(workload.timeline.duration_us(), setting.pace.stretch),
        windows: Vec::new(),
        outcome: Outcome {
            reads: vec![Reads::default(); workload.statements.len()],
            heat: setting
                .draw
                .then(|| HeatMap::new(workload.timeline.duration_us())),
            ..Outcome::default()
        },
    };
    state.settle();
    for txn in &workload.txns {
        let now_us = stretched(txn.at_us, setting.pace.stretch);
        state.tick_until(now_us);
        state.run(txn, now_us);
    }
    state.tick_until(state.end_us.saturating_add(setting.interval_us));
    state.finish()
}

fn stretched(at_us: u64, stretch: f64) -> u64 {
    super::number::whole(at_us as f64 * stretch)
}

/// A replay that goes on.
struct Replay<'a, 'c> {
    setting: &'a Setting<'a>,
    plans: Vec<Plan>,
    indexes: Indexes,
    partitions: Partitions,
    content: &'a mut Content<'c>,
    random: SeededRandom,
    ranges: Ranges,
    touches: Touches,
    ticks: u64,
    end_us: u64,
    windows: Vec<Window>,
    outcome: Outcome,
}

impl Replay<'_, '_> {
    /// Splits by size what the table held when the recording began.
    fn settle(&mut self) {
        for _ in 0..ROUNDS_BEFORE_MAX {
            let splits = self.outcome.splits;
            self.decide(self.setting.workload.from_us);
            if self.outcome.splits == splits {
                break;
            }
        }
        self.outcome.splits = 0;
    }

    fn tick_until(&mut self, now_us: u64) {
        let interval_us = self.setting.interval_us.max(1);
        loop {
            let tick_us = (self.ticks + 1).saturating_mul(interval_us);
            if tick_us > now_us || tick_us > self.end_us.saturating_add(interval_us) {
                return;
            }
            self.ticks += 1;
            if self.ticks.is_multiple_of(self.setting.window_ticks.max(1)) {
                self.end_window(tick_us);
            }
            self.decide(self.setting.workload.from_us.saturating_add(tick_us));
        }
    }

    fn end_window(&mut self, now_us: u64) {
        let mut window = Window::default();
        for busy_us in self.partitions.end_window() {
            window.busy_us += busy_us;
            window.peak_us = window.peak_us.max(busy_us);
        }
        let middle_us = now_us.saturating_sub(self.setting.window_us() / 2);
        if self.is_second_half(middle_us) && window.busy_us > 0.0 {
            self.windows.push(window);
        }
    }

    fn is_second_half(&self, now_us: u64) -> bool {
        let Setting { workload, pace, .. } = self.setting;
        workload.timeline.is_second_half(now_us, pace.stretch)
    }

    fn run(&mut self, txn: &Txn, now_us: u64) {
        self.outcome.replayed += 1;
        self.touches.clear();
        let workload = self.setting.workload;
        for op in workload.ops_of(txn) {
            self.touch(op, txn, now_us);
        }
        self.touches.group();
        if self.is_second_half(now_us) {
            self.outcome.txns += txn.weight;
            if self.touches.partitions() <= 1 {
                self.outcome.single += txn.weight;
            }
        }
        if let Some(heat) = &mut self.outcome.heat {
            self.touches.draw(self.content, heat, txn);
        }
        self.account(txn, now_us);
    }

    /// Tells the partitions what a transaction cost them, and lets some remember it.
    fn account(&mut self, txn: &Txn, now_us: u64) {
        let pace = self.setting.pace;
        // So many transactions as this one would be looked at closely.
        let looked_at = txn.weight * pace.load / SAMPLED_ONE_IN;
        let sampled = looked_at >= 1.0 || chance(&self.random) < looked_at;
        // Only these are timed, and stand for the others: a light load is known as roughly here as in
        // a real partition, and crosses the line to a split as early or as late.
        let stands_for = match sampled {
            true => 1.0 / looked_at.min(1.0),
            false => 0.0,
        };
        let now_us = self.setting.workload.from_us.saturating_add(now_us);
        let multi_partition = self.touches.partitions() > 1;
        for group in self.touches.groups() {
            let Some(partition) = self.partitions.list.get_mut(at(group.partition)) else {
                continue;
            };
            let busy_us = group.cost_us * txn.weight;
            partition.window_us += busy_us;
            // The load is per second, and a stretched second has fewer transactions in it.
            partition.busy_us += busy_us * pace.load * pace.stretch * stands_for;
            self.outcome.busy_us += busy_us;
            if sampled {
                let heavier = looked_at.max(1.0);
                let cost = super::number::whole_u32(group.cost_us * heavier).max(1);
                let number = self.outcome.replayed;
                let random = &self.random;
                let touches = &self.touches;
                partition.samples.offer_with(cost, now_us, random, || {
                    touches.footprint(number, multi_partition, group)
                });
            }
        }
    }

    /// One round of the control loop.
    fn decide(&mut self, now_us: u64) {
        let settings = self.setting.settings;
        let row_bytes = self.row_bytes();
        self.partitions
            .look(self.content, settings, row_bytes, now_us);
        for partition in &mut self.partitions.list {
            if needs_histogram(&partition.stats, settings) {
                let measured = partition.measure(self.content, row_bytes);
                partition.stats.histogram = Some(measured);
            }
        }
        let views = self.partitions.views(now_us);
        let decisions = decide_table(&views, settings, now_us);
        let busiest = self
            .partitions
            .list
            .iter()
            .max_by_key(|partition| partition.stats.load.current)
            .map(|partition| partition.stats.id);
        for decision in decisions {
            let is_busiest = busiest.is_some_and(|id| decision.partitions.contains(&id));
            if is_busiest {
                self.remember(&decision.verdict);
            }
            match self.partitions.act(&decision, self.content, now_us) {
                partition::Act::Split => self.outcome.splits += 1,
                partition::Act::Merge => self.outcome.merges += 1,
                partition::Act::Nothing => {}
            }
        }
    }

    /// Keeps why the busiest partition cannot be helped, until it can.
    fn remember(&mut self, verdict: &Verdict) {
        match verdict {
            verdict if verdict.is_refusal() => self.outcome.refusal = Some(verdict.clone()),
            Verdict::Split { .. } => self.outcome.refusal = None,
            _ => {}
        }
    }

    fn row_bytes(&self) -> f64 {
        self.setting.workload.row_bytes().max(1.0)
    }

    fn finish(mut self) -> Outcome {
        self.outcome.runs.push(self.windows);
        self.outcome.partitions = self.partitions.list.len();
        self.outcome.repeats = 1;
        self.outcome
    }
}

impl Outcome {
    /// Adds what another replay of the same gave; the partitions stay those of the first.
    pub(crate) fn add(&mut self, other: Self) {
        self.runs.extend(other.runs);
        self.splits += other.splits;
        self.merges += other.merges;
        self.txns += other.txns;
        self.single += other.single;
        for (sum, more) in self.reads.iter_mut().zip(&other.reads) {
            sum.runs += more.runs;
            sum.partitions += more.partitions;
            sum.rows += more.rows;
        }
        self.busy_us += other.busy_us;
        self.replayed += other.replayed;
        self.repeats += other.repeats;
    }

    /// The share of the busiest partition in the second half.
    pub(crate) fn peak(&self) -> f64 {
        peak_share(self.runs.iter().flatten())
    }

    /// Partitions and rows of one read, over all statements.
    pub(crate) fn per_read(&self) -> (f64, f64) {
        let sum = |one: fn(&Reads) -> f64| self.reads.iter().map(one).sum::<f64>();
        let runs = sum(|reads| reads.runs);
        (
            ratio(sum(|reads| reads.partitions), runs),
            ratio(sum(|reads| reads.rows), runs),
        )
    }
}

/// The share of the busiest partition: of each window its busiest, summed up, by all.
pub fn peak_share<'w>(windows: impl IntoIterator<Item = &'w Window>) -> f64 {
    let mut sum = Window::default();
    for window in windows {
        sum.peak_us += window.peak_us;
        sum.busy_us += window.busy_us;
    }
    ratio(sum.peak_us, sum.busy_us)
}

/// The bounds that hold the share of the busiest partition nine times of ten. Replays are drawn again and
/// again, as many as there are, with repetition, and of each its windows: those of one replay have their
/// splits in common, and say little about where others would have fallen.
pub fn peak_interval(runs: &[Vec<Window>], seed: u64) -> (f64, f64) {
    const DRAWS: usize = 200;
    let random = SeededRandom::new(seed);
    let mut peaks: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let runs = drawn(runs, &random);
            let windows = runs.flat_map(|windows| drawn(windows, &random));
            peak_share(windows)
        })
        .collect();
    peaks.sort_by(f64::total_cmp);
    let quantile = |part: usize| peaks.get(DRAWS * part / 100).copied().unwrap_or_default();
    (quantile(5), quantile(95))
}

/// As many as there are, each any of them.
fn drawn<'a, T>(from: &'a [T], random: &'a SeededRandom) -> impl Iterator<Item = &'a T> {
    let count = u64::try_from(from.len()).unwrap_or(u64::MAX);
    (0..count).filter_map(move |_| {
        let place = usize::try_from(random.below(count)).ok()?;
        from.get(place)
    })
}

/// Uniform in [0, 1).
fn chance(random: &dyn Random) -> f64 {
    const STEPS: u64 = 1 << 32;
    random.below(STEPS) as f64 / STEPS as f64
}

/// The average bytes of a key.
pub(crate) fn key_bytes(content: &Content<'_>) -> f64 {
    let bytes: usize = (0..content.len())
        .map(|place| content.key(place).len())
        .sum();
    ratio(weight(bytes), weight(content.len()))
}
