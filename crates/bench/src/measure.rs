//! Fair clocks: rounds that alternate, medians, and lines that say whether a target is met.
//!
//! ```text
//!   round        1           2           3           4           5
//!   order     ours raw    raw ours    ours raw    raw ours    ours raw
//!             └ settle before each: wait until nothing works in the background
//!
//!   ratio  =  median of ours  /  median of raw
//! ```
//!
//! A machine that is busy with something else, warms up or slows down does so for both sides: they
//! take turns within seconds, and neither is always the first. One odd round moves no median. What
//! one side leaves for the background (flushes, compactions) it has to finish before the other's
//! turn, and outside of its own.
//!
//! Where a few of a hundred are to be told apart, that is not enough: a machine may be a tenth faster
//! from one second to the next. Then turns are many and last milliseconds, nothing settles between
//! them, and the ratio is the median of the ratios of all pairs.

use std::fs;
use std::process::Command;
use std::time::Duration;

use storage::env::{Clock, SystemClock};

use crate::{Error, Result};

/// How often the processor time of this process is looked at while it settles.
const SETTLE_STEP: Duration = Duration::from_millis(200);

/// Processor time in a step that counts as rest.
const SETTLE_CPU_MAX: Duration = Duration::from_millis(20);

/// A tick of the processor times that the system tells.
const TICK: Duration = Duration::from_millis(10);

/// Restful steps in a row after which a process has settled; a compaction that waits for the disk
/// looks like rest for a moment.
const SETTLE_CALM_STEPS: usize = 3;

/// Steps after which a process that never rests is measured as it is.
const SETTLE_STEPS_MAX: usize = 300;

/// A clock that started when it was made.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    clock: SystemClock,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self::default()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.monotonic()
    }
}

/// How many a second.
pub(crate) fn per_second(count: u32, took: Duration) -> f64 {
    f64::from(count) / took.as_secs_f64()
}

pub(crate) fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}

/// Numbers of the same thing, one for each round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    pub(crate) fn add(&mut self, number: f64) {
        let at = self.sorted.partition_point(|other| *other < number);
        self.sorted.insert(at, number);
    }

    pub(crate) fn median(&self) -> f64 {
        let middle = self.sorted.len() / 2;
        let upper = self.sorted.get(middle).copied().unwrap_or(f64::NAN);
        let lower = middle
            .checked_sub(1)
            .and_then(|below| self.sorted.get(below));
        match lower {
            Some(lower) if self.sorted.len().is_multiple_of(2) => (lower + upper) / 2.0,
            _ => upper,
        }
    }

    pub(crate) fn least(&self) -> f64 {
        self.sorted.first().copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn most(&self) -> f64 {
        self.sorted.last().copied().unwrap_or(f64::NAN)
    }

    /// All of them, least first.
    pub(crate) fn into_sorted(self) -> Vec<f64> {
        self.sorted
    }
}

/// The rounds of both sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Duel {
    pub(crate) ours: Sample,
    pub(crate) raw: Sample,
}

impl Duel {
    pub(crate) fn ratio(&self) -> f64 {
        self.ours.median() / self.raw.median()
    }
}

/// Runs both sides in so many pairs of short turns, and answers with their rates and ratios.
pub(crate) fn in_pairs(
    pairs: u32,
    mut ours: impl FnMut(u32) -> Result<f64>,
    mut raw: impl FnMut(u32) -> Result<f64>,
) -> Result<(Duel, Sample)> {
    let (mut duel, mut ratios) = (Duel::default(), Sample::default());
    for pair in 0..pairs {
        let (our_rate, raw_rate) = if pair.is_multiple_of(2) {
            let our_rate = ours(pair)?;
            (our_rate, raw(pair)?)
        } else {
            let raw_rate = raw(pair)?;
            (ours(pair)?, raw_rate)
        };
        duel.ours.add(our_rate);
        duel.raw.add(raw_rate);
        ratios.add(our_rate / raw_rate);
    }
    Ok((duel, ratios))
}

/// Runs both sides in turns. Each is told the number of the round and answers with a rate.
pub(crate) fn alternate(
    name: &str,
    rounds: u32,
    mut ours: impl FnMut(u32) -> Result<f64>,
    mut raw: impl FnMut(u32) -> Result<f64>,
) -> Result<Duel> {
    let mut duel = Duel::default();
    for round in 0..rounds {
        let ours_first = round.is_multiple_of(2);
        for our_turn in [ours_first, !ours_first] {
            settle();
            let rate = if our_turn { ours(round)? } else { raw(round)? };
            let side = if our_turn { "ours" } else { "raw" };
            eprintln!("  {name}, round {}: {side} {}/s", round + 1, grouped(rate));
            let sample = if our_turn {
                &mut duel.ours
            } else {
                &mut duel.raw
            };
            sample.add(rate);
        }
    }
    Ok(duel)
}

/// Waits until this process has nothing left to do in the background.
pub(crate) fn settle() {
    settle_by(own_cpu);
}

/// Waits until what is watched takes hardly any processor time.
pub(crate) fn settle_by(cpu: impl Fn() -> Duration) {
    let mut before = cpu();
    let mut calm_steps = 0;
    for _ in 0..SETTLE_STEPS_MAX {
        std::thread::park_timeout(SETTLE_STEP);
        let now = cpu();
        let calm = now.saturating_sub(before) <= SETTLE_CPU_MAX;
        calm_steps = if calm { calm_steps + 1 } else { 0 };
        if calm_steps == SETTLE_CALM_STEPS {
            return;
        }
        before = now;
    }
}

/// Hands everything that the system still keeps from the disk to the disk, so that the syncs which
/// are timed next do not stand in line behind a load that is over.
pub(crate) fn drain() {
    settle();
    // Where there is no such program, the numbers are worse and no less true.
    let _ = Command::new("sync").status();
    settle();
}

/// Processor time of this process; nothing where the system does not tell.
fn own_cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold blanks; user and system time are the 12th and 13th behind it.
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let times = behind_name.split_whitespace().skip(11).take(2);
    let ticks = times.filter_map(|ticks| ticks.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}

/// A number with thousands set apart.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The table, line by line, and whether a target was missed.
#[derive(Debug, Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

impl Report {
    /// Whether every target was met.
    pub(crate) fn passed(&self) -> bool {
        self.missed.is_empty()
    }

    pub(crate) fn missed(&self) -> &[String] {
        &self.missed
    }

    /// A line without a target.
    pub(crate) fn say(&self, text: &str) {
        println!("{text}");
    }

    /// Ours against raw. Without a floor the line informs and judges nothing.
    pub(crate) fn ratio(&mut self, name: &str, duel: &Duel, floor: Option<f64>) {
        let ratio = duel.ratio();
        let show = |sample: &Sample| {
            let (least, most) = (grouped(sample.least()), grouped(sample.most()));
            format!("{:>9}/s ({least}–{most})", grouped(sample.median()))
        };
        let verdict = match floor {
            Some(floor) => {
                format!("at least {floor} {}", self.judge(name, ratio >= floor))
            }
            None => "no target".to_owned(),
        };
        println!(
            "{name:<26} ours {:<32} raw {:<32} {verdict:<17} RATIO {name} {ratio:.2}",
            show(&duel.ours),
            show(&duel.raw)
        );
    }

    /// Ours over a peer, and the figures of both. Without a floor the line judges nothing.
    pub(crate) fn against(&mut self, name: &str, ratio: f64, floor: Option<f64>, figures: &str) {
        let verdict = match floor {
            Some(floor) => format!("at least {floor} {}", self.judge(name, ratio >= floor)),
            None => "no floor".to_owned(),
        };
        println!("RATIO {name} {ratio:.2}   {verdict:<17} {figures}");
    }

    /// Something could not be measured, and that is no success.
    pub(crate) fn broken(&mut self, name: &str, error: &Error) {
        println!("BROKEN {name}: {error}");
        self.missed.push(name.to_owned());
    }

    /// A number that has to stay below a limit.
    pub(crate) fn limit(&mut self, name: &str, number: f64, limit: f64, how: &str) {
        let verdict = self.judge(name, number < limit);
        println!("{name:<26} {how:<75} under {limit} {verdict} {name} {number:.1}");
    }

    /// Something that must hold.
    pub(crate) fn must(&mut self, name: &str, holds: bool, how: &str) {
        let verdict = self.judge(name, holds);
        println!("{name:<26} {how} {verdict}");
    }

    fn judge(&mut self, name: &str, met: bool) -> &'static str {
        if met {
            "PASS"
        } else {
            self.missed.push(name.to_owned());
            "FAIL"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(numbers: &[f64]) -> Sample {
        let mut sample = Sample::default();
        for number in numbers {
            sample.add(*number);
        }
        sample
    }

    #[test]
    fn one_odd_round_moves_no_median() {
        assert_eq!(sample(&[3.0, 1.0, 1_000.0]).median(), 3.0);
        assert_eq!(sample(&[4.0, 1.0, 2.0, 1_000.0]).median(), 3.0);
        assert!(sample(&[]).median().is_nan());
    }

    #[test]
    fn sides_take_turns_at_going_first() {
        let order = std::cell::RefCell::new(String::new());
        let turn = |side: char, rate: f64| {
            let order = &order;
            move |_| {
                order.borrow_mut().push(side);
                Ok(rate)
            }
        };
        let duel = alternate("turns", 3, turn('o', 1.0), turn('r', 2.0)).unwrap();
        assert_eq!(*order.borrow(), "orroor");
        assert_eq!(duel.ratio(), 0.5);
    }

    #[test]
    fn a_machine_that_slows_down_does_so_for_both_of_a_pair() {
        let speed = std::cell::Cell::new(64.0);
        let turn = |part: f64| {
            let speed = &speed;
            move |_| {
                speed.set(speed.get() * 0.99);
                Ok(speed.get() * part)
            }
        };
        let (duel, ratios) = in_pairs(100, turn(0.9), turn(1.0)).unwrap();
        assert!((ratios.median() - 0.9).abs() < 0.001, "{ratios:?}");
        assert!(duel.raw.most() > 2.0 * duel.raw.median());
    }

    #[test]
    fn a_missed_target_is_remembered() {
        let mut report = Report::default();
        report.limit("SMALL", 1.0, 2.0, "");
        assert!(report.passed());
        // What cannot be measured is no success.
        report.limit("UNKNOWN", f64::NAN, 2.0, "");
        assert_eq!(report.missed(), ["UNKNOWN"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        let shown: Vec<String> = [0.0, 999.0, 1_000.4, 1_234_567.0].map(grouped).into();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
