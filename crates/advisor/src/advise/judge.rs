//! Judging: each key is replayed twice, the best and the present one a third time for their picture.

use partitions::decide::Settings;

use super::candidates::{candidates, unique_lists};
use super::content::{Content, Known};
use super::ddl::Ddl;
use super::front::{Standing, best, ranking};
use super::heat::HeatMap;
use super::indexes::Indexes;
use super::key::Key;
use super::number::{ratio, weight, whole};
use super::plan::{Plan, Ranges};
use super::reasons;
use super::replay::{Outcome, Pace, Setting, key_bytes, peak_interval, replay};
use super::workload::Workload;
use super::{Advice, Options};
use crate::trace::Flaws;

/// Keys are judged at so many times the load that splits a partition.
const GROWN_SPLITS: f64 = 8.0;
/// A replay at that load goes on for so long at least.
const GROWN_US_MIN: f64 = 600e6;
/// Seconds between two decisions where a trace does not say.
const CHECK_INTERVAL_S: u64 = 5;
/// Transactions that a window should have, and how many windows there may be.
const WINDOW_TXNS: usize = 400;
const WINDOWS_MIN: usize = 8;
const WINDOWS_MAX: usize = 60;
/// Where a split falls is a matter of chance, and the busiest partition one's luck: a tenth more or less
/// with each draw. So a replay is repeated, the more often the shorter it is; very many transactions
/// make chance small and repeating long.
const REPEATS_MIN: usize = 3;
const REPEATS_MAX: usize = 12;
const REPEATED_TXNS: usize = 36_000;
const REPEATED_TXNS_MAX: usize = 200_000;

/// An operation that took longer than this many times what was to be expected did not work all the time.
const FACTOR_MAX: f64 = 8.0;

/// A key with what was found out about it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The key.
    pub key: Key,
    /// The key as people write it.
    pub name: String,
    /// Whether the table has it now.
    pub is_current: bool,
    /// Whether another is better in something and worse in nothing.
    pub is_beaten: bool,
    /// The figures.
    pub figures: Figures,
    /// What speaks for it, against the key that is.
    pub why: Vec<String>,
    /// What gets worse.
    pub worse: Vec<String>,
    /// How to get it.
    pub ddl: Ddl,
    /// When and where it is hot, for the present and the best key.
    pub heat: Option<HeatMap>,
}

/// A number and the bounds that hold it nine times of ten.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// Rarely below.
    pub low: f64,
    /// Rarely above.
    pub high: f64,
}

/// What a key would do.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The share of the busiest partition at the load of the recording.
    pub recorded: Interval,
    /// The same at the load that keys are judged at.
    pub grown: Interval,
    /// The cores that the recorded work keeps busy under this key.
    pub cores: f64,
    /// The load that the key is judged at, as a factor on that of the recording.
    pub load: f64,
    /// How much slower that load comes than it was recorded, so that the decider has its time.
    pub stretch: f64,
    /// The length of the windows of [`Figures::grown`], on the slower clock.
    pub grown_window_us: u64,
    /// How much more the table could carry than under the key that is.
    pub ceiling: f64,
    /// The share of transactions that touch one partition.
    pub single: f64,
    /// Partitions and rows of one read, over all statements.
    pub per_read: PerRead,
    /// By statement; those that did not run in the second half are empty.
    pub statements: Vec<Option<PerRead>>,
    /// Bytes of a key.
    pub key_bytes: f64,
    /// Partitions at the end, at the load that keys are judged at.
    pub partitions: usize,
    /// Partitions at the end, at the load of the recording.
    pub recorded_partitions: usize,
    /// Splits on the way.
    pub splits: usize,
    /// Merges on the way.
    pub merges: usize,
    /// Why the busiest partition could not be split.
    pub refusal: Option<String>,
    /// The name of that reason.
    pub refusal_name: Option<&'static str>,
}

/// What a read goes over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerRead {
    /// Partitions.
    pub partitions: f64,
    /// Rows.
    pub rows: f64,
}

/// A workload that is being judged.
pub(super) struct Judge<'o> {
    workload: Workload,
    known: Known,
    options: &'o Options,
    settings: Settings,
    cores: f64,
}

/// A key and what its replays gave.
struct Tried {
    key: Key,
    recorded: Outcome,
    grown: Outcome,
    key_bytes: f64,
    /// The cores that it keeps busy at the load of the recording.
    cores: f64,
    /// The load it was judged at.
    pace: Pace,
}

impl<'o> Judge<'o> {
    pub(super) fn new(mut workload: Workload, options: &'o Options) -> Self {
        calibrate(&mut workload);
        let unique = unique_lists(&workload);
        let known = Known::new(&workload, unique.first().map_or(&[], Vec::as_slice));
        Self {
            settings: workload.table.settings.clone(),
            cores: 0.0,
            workload,
            known,
            options,
        }
    }

    pub(super) fn advice(mut self) -> Advice {
        let keys = candidates(&self.workload);
        let mut tried = Vec::new();
        for (place, key) in keys.into_iter().enumerate() {
            let is_current = place == 0;
            let mut content = Content::new(&self.workload, &self.known, &key);
            let recorded = self.replay(&key, is_current, Pace::RECORDED, &mut content);
            let replayed_us =
                self.workload.timeline.duration_us() as f64 * weight(recorded.repeats.max(1));
            let cores = ratio(recorded.busy_us, replayed_us);
            if is_current {
                self.cores = cores;
            }
            let pace = self.grown_pace(cores);
            let grown = match pace == Pace::RECORDED {
                true => recorded.clone(),
                false => self.replay(&key, is_current, pace, &mut content),
            };
            tried.push(Tried {
                key_bytes: key_bytes(&content),
                key,
                recorded,
                grown,
                cores,
                pace,
            });
        }
        self.conclude(&tried)
    }

    fn conclude(self, tried: &[Tried]) -> Advice {
        let standings: Vec<Standing> = tried.iter().map(Tried::standing).collect();
        let order = ranking(&standings);
        let current = tried.first().map_or(0.0, Tried::busiest);
        let figures: Vec<Figures> = tried.iter().map(|one| self.figures(one, current)).collect();
        let mut keys: Vec<Judged> = Vec::new();
        for (place, is_beaten) in &order {
            let (Some(one), Some(own), Some(now)) =
                (tried.get(*place), figures.get(*place), figures.first())
            else {
                continue;
            };
            keys.push(Judged {
                name: one.key.name(&self.workload.table),
                is_current: *place == 0,
                is_beaten: *is_beaten,
                why: reasons::why(&self.workload, own, now, *place == 0),
                worse: reasons::worse(&self.workload, own, now, &one.key),
                ddl: Ddl::new(&self.workload.table, &one.key),
                key: one.key.clone(),
                figures: own.clone(),
                heat: None,
            });
        }
        let best = best(&keys);
        let window_us = tried.first().map_or(0, |one| {
            self.setting(&one.key, true, Pace::RECORDED).window_us()
        });
        let drawn: Vec<usize> = (0..keys.len())
            .filter(|place| best.first() == Some(place) || is_current(&keys, *place))
            .collect();
        for place in drawn {
            if let Some(judged) = keys.get_mut(place) {
                judged.heat = self.picture(&judged.key, judged.is_current);
            }
        }
        Advice {
            txns: self.workload.txns.len(),
            txns_weight: self.workload.weight(),
            timeline: self.workload.timeline,
            window_us,
            cores: self.cores,
            judged_cores: GROWN_SPLITS * self.settings.split_load().ratio(),
            keys,
            best,
            flaws: Flaws::default(),
            table: self.workload.table,
            statements: self.workload.statements,
        }
    }

    /// The load and the time that many partitions take, under a key that keeps so many cores busy.
    fn grown_pace(&self, cores: f64) -> Pace {
        let wanted = GROWN_SPLITS * self.settings.split_load().ratio();
        let chosen = ratio(wanted, cores).max(1.0);
        let load = self.options.load.unwrap_or(chosen);
        let stretch = (GROWN_US_MIN / self.workload.timeline.duration_us() as f64).max(1.0);
        match load > 1.0 || self.options.load.is_some() {
            true => Pace { load, stretch },
            false => Pace::RECORDED,
        }
    }

    fn replay(
        &self,
        key: &Key,
        is_current: bool,
        pace: Pace,
        content: &mut Content<'_>,
    ) -> Outcome {
        let mut setting = self.setting(key, is_current, pace);
        let mut outcome = replay(&setting, content);
        for _ in 1..self.repeats(pace) {
            setting.seed = setting.seed.wrapping_add(1);
            outcome.add(replay(&setting, content));
        }
        outcome
    }

    fn repeats(&self, pace: Pace) -> usize {
        match self.workload.txns.len() {
            txns if txns > REPEATED_TXNS_MAX => 1,
            _ if pace == Pace::RECORDED => REPEATS_MIN,
            txns => (REPEATED_TXNS / txns.max(1)).clamp(REPEATS_MIN, REPEATS_MAX),
        }
    }

    fn picture(&self, key: &Key, is_current: bool) -> Option<HeatMap> {
        let mut content = Content::new(&self.workload, &self.known, key);
        let setting = Setting {
            draw: true,
            ..self.setting(key, is_current, Pace::RECORDED)
        };
        replay(&setting, &mut content).heat
    }

    fn setting<'a>(&'a self, key: &'a Key, is_current: bool, pace: Pace) -> Setting<'a> {
        let interval_s = match self.workload.table.check_interval_s {
            0 => CHECK_INTERVAL_S,
            interval_s => interval_s,
        };
        let interval_us = interval_s.saturating_mul(1_000_000);
        let duration_us = whole(self.workload.timeline.duration_us() as f64 * pace.stretch);
        let windows = (self.workload.txns.len() / WINDOW_TXNS).clamp(WINDOWS_MIN, WINDOWS_MAX);
        let windows = u64::try_from(windows).unwrap_or(1);
        Setting {
            workload: &self.workload,
            key,
            is_current,
            settings: &self.settings,
            interval_us,
            window_ticks: (duration_us / interval_us / windows).max(1),
            pace,
            seed: self.options.seed,
            draw: false,
        }
    }

    fn figures(&self, one: &Tried, current: f64) -> Figures {
        let interval = |outcome: &Outcome| {
            let (low, high) = peak_interval(&outcome.runs, self.options.seed);
            Interval {
                value: outcome.peak(),
                low,
                high,
            }
        };
        let per_read = |(partitions, rows)| PerRead { partitions, rows };
        let replays = one.grown.repeats.max(1);
        let per_replay = |count: usize| (count + replays / 2) / replays;
        let statements = one.grown.reads.iter().map(|reads| {
            (reads.runs > 0.0).then(|| PerRead {
                partitions: reads.partitions / reads.runs,
                rows: reads.rows / reads.runs,
            })
        });
        Figures {
            recorded: interval(&one.recorded),
            grown: interval(&one.grown),
            cores: one.cores,
            load: one.pace.load,
            stretch: one.pace.stretch,
            grown_window_us: self.setting(&one.key, false, one.pace).window_us(),
            ceiling: ratio(current, one.busiest()),
            single: ratio(one.grown.single, one.grown.txns),
            per_read: per_read(one.grown.per_read()),
            statements: statements.collect(),
            key_bytes: one.key_bytes,
            partitions: one.grown.partitions,
            recorded_partitions: one.recorded.partitions,
            splits: per_replay(one.grown.splits),
            merges: per_replay(one.grown.merges),
            refusal: one.grown.refusal.as_ref().map(ToString::to_string),
            refusal_name: one.grown.refusal.as_ref().map(|verdict| verdict.name()),
        }
    }
}

fn is_current(keys: &[Judged], place: usize) -> bool {
    keys.get(place).is_some_and(|judged| judged.is_current)
}

impl Tried {
    /// The cores that its busiest partition would keep busy, had the table as many partitions as at
    /// the load it was judged at.
    fn busiest(&self) -> f64 {
        self.cores * self.grown.peak()
    }

    fn standing(&self) -> Standing {
        let (partitions, rows) = self.grown.per_read();
        Standing {
            load: self.busiest(),
            torn: 1.0 - ratio(self.grown.single, self.grown.txns),
            partitions,
            rows,
            oddity: self.key.oddity(),
            key_bytes: self.key_bytes,
        }
    }
}

/// Compares what operations cost with what they should have cost under the key that the table had.
fn calibrate(workload: &mut Workload) {
    let key = Key::of(&workload.table);
    let plans: Vec<Plan> = workload
        .shapes
        .iter()
        .map(|shape| Plan::new(&key, shape))
        .collect();
    let indexes = Indexes::new(workload, &key, &plans);
    let rates = workload.rates;
    let partitions = workload.table.partitions.max(1) as f64;
    let mut ranges = Ranges::default();
    let mut ops = std::mem::take(&mut workload.ops);
    for op in &mut ops {
        let (Some(busy_us), Some(rows)) = (op.busy_us, op.went_over()) else {
            continue;
        };
        let shape = super::number::at(op.shape);
        let (Some(shape), Some(plan)) = (workload.shapes.get(shape), plans.get(shape)) else {
            continue;
        };
        let mut should_us = 0.0;
        if shape.looks {
            let cells = (&workload.values, workload.cells.as_slice());
            plan.ranges(op, shape, cells, &mut ranges);
            let visits = match plan.is_whole_table() {
                true => partitions,
                false => weight(ranges.len()),
            };
            // An index is one visit, and so is each row that it finds.
            let visits = match indexes.way(super::number::at(op.shape)) {
                Some(_) => 1.0 + f64::from(op.found),
                None => visits,
            };
            should_us += rates.visit_us * visits + rates.row_us * rows;
        }
        if op.writes {
            should_us += rates.write_us * f64::from(op.found.max(1));
        }
        // Somebody else had the processor, most likely.
        let times = ratio(f64::from(busy_us), should_us).min(FACTOR_MAX);
        #[expect(clippy::cast_possible_truncation, reason = "a factor to seven digits")]
        let factor = times as f32;
        op.factor = factor;
    }
    workload.ops = ops;
    if let Some(spent) = workload.table.spent {
        workload.rates = rates.measured(spent);
    }
}
