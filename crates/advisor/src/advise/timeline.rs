//! [`Timeline`]: when the work was done, without the pauses in which there was none.
//!
//! ```text
//!   recorded   ▮▮▮▮▮▮▮▮▮▮▮▮                                ▮▮▮▮▮▮▮▮                    asked for now
//!   replayed   ▮▮▮▮▮▮▮▮▮▮▮▮  ▮▮▮▮▮▮▮▮
//!                         ▲ half of the work
//! ```
//!
//! A minute's load that somebody asks about an hour later is a minute's load. With the hour it would be
//! next to none, all of it before partitions had time to split, and they would be looked at when nobody
//! uses them.
//!
//! Partitions have the first half of the work to settle. What a key does is measured in the second.

use super::number::{ratio, whole};

/// A time without transactions is a pause if it is longer than this, and than so many times the time
/// that usually passes between two.
const PAUSE_US_MIN: u64 = 10_000_000;
const PAUSE_GAPS: u64 = 20;
/// The second half begins here at the latest, so that there is a window in it.
const HALF_MAX: f64 = 7.0 / 8.0;

/// The time of the work.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// What is left out of the recording, in order.
    cuts: Vec<Cut>,
    duration_us: u64,
    half_us: u64,
}

/// A stretch of the recording that is left out.
#[derive(Clone, Copy, Debug)]
struct Cut {
    from_us: u64,
    until_us: u64,
    /// What is left out with this one and those before it.
    sum_us: u64,
}

impl Timeline {
    /// Of transactions, each with its time since the recording began and what it stands for, in order,
    /// in a recording of so long.
    pub(crate) fn new(txns: &[(u64, f64)], recorded_us: u64) -> Self {
        let end_us = txns.last().map_or(0, |(at_us, _)| at_us + 1);
        let end_us = end_us.max(recorded_us).max(1);
        let usual_us = usual_gap(txns);
        let pause_us = usual_us.saturating_mul(PAUSE_GAPS).max(PAUSE_US_MIN);
        let mut timeline = Self::default();
        // When the recording began and ended is nobody's work, unless it is hard to say when that was.
        let edge_us = match txns {
            [(first_us, _), .., (last_us, _)] if last_us - first_us > PAUSE_US_MIN => usual_us,
            _ => PAUSE_US_MIN,
        };
        let (mut last_us, mut kept_us) = (0_u64, edge_us);
        for (at_us, _) in txns {
            timeline.cut(last_us.saturating_add(kept_us), *at_us);
            (last_us, kept_us) = (*at_us, pause_us);
        }
        timeline.cut(last_us.saturating_add(edge_us), end_us);
        timeline.duration_us = timeline.at(end_us);
        let latest_us = whole(timeline.duration_us as f64 * HALF_MAX);
        timeline.half_us = timeline.at(half(txns)).min(latest_us);
        timeline
    }

    fn cut(&mut self, from_us: u64, until_us: u64) {
        if from_us >= until_us {
            return;
        }
        let sum_us = self.paused_us() + (until_us - from_us);
        self.cuts.push(Cut {
            from_us,
            until_us,
            sum_us,
        });
    }

    /// The time without pauses, of a time since the recording began.
    pub fn at(&self, recorded_us: u64) -> u64 {
        let begun = self.cuts.partition_point(|cut| cut.from_us < recorded_us);
        let last = begun.checked_sub(1).and_then(|last| self.cuts.get(last));
        last.map_or(recorded_us, |cut| {
            recorded_us.max(cut.until_us) - cut.sum_us
        })
    }

    /// How long the work went on.
    pub fn duration_us(&self) -> u64 {
        self.duration_us
    }

    /// How long the pauses were that are left out.
    pub fn paused_us(&self) -> u64 {
        self.cuts.last().map_or(0, |cut| cut.sum_us)
    }

    /// Whether half of the work was done at this time, on a clock that goes so many times as slowly.
    pub fn is_second_half(&self, at_us: u64, stretch: f64) -> bool {
        at_us as f64 >= self.half_us as f64 * stretch
    }
}

/// The time that usually passes between two transactions.
fn usual_gap(txns: &[(u64, f64)]) -> u64 {
    let pairs = txns.windows(2).filter_map(|pair| match pair {
        [(one, _), (next, _)] => Some(next.saturating_sub(*one)),
        _ => None,
    });
    let mut gaps: Vec<u64> = pairs.collect();
    let middle = gaps.len() / 2;
    match gaps.is_empty() {
        true => 0,
        false => *gaps.select_nth_unstable(middle).1,
    }
}

/// When half of the work was done.
fn half(txns: &[(u64, f64)]) -> u64 {
    let all: f64 = txns.iter().map(|(_, weight)| weight).sum();
    let mut done = 0.0;
    let reached = txns.iter().find(|(_, weight)| {
        done += weight;
        ratio(done, all) >= 0.5
    });
    reached.map_or(0, |(at_us, _)| *at_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// Transactions of a second each at these seconds.
    fn timeline(seconds: impl IntoIterator<Item = u64>, recorded: u64) -> Timeline {
        let txns = seconds.into_iter().map(|second| (second * SECOND, 1.0));
        Timeline::new(&txns.collect::<Vec<_>>(), recorded * SECOND)
    }

    #[test]
    fn work_without_a_pause_keeps_its_time() {
        let timeline = timeline(0..100, 100);
        assert_eq!(timeline.duration_us(), 100 * SECOND);
        assert_eq!(timeline.paused_us(), 0);
        assert_eq!(timeline.at(40 * SECOND), 40 * SECOND);
        assert!(!timeline.is_second_half(48 * SECOND, 1.0));
        assert!(timeline.is_second_half(49 * SECOND, 1.0));
        assert!(!timeline.is_second_half(49 * SECOND, 2.0));
        assert!(timeline.is_second_half(98 * SECOND, 2.0));
    }

    #[test]
    fn an_hour_that_nobody_worked_in_is_left_out_wherever_it_lies() {
        let hour = 3_600;
        let work = |at: u64| at..at + 100;
        let inside = (0..50).chain(hour + 50..hour + 100);
        let recorded = hour + 100;
        for (timeline, duration) in [
            (timeline(work(0), recorded), 100),
            (timeline(work(hour), recorded), 101),
            // Within the work twenty times the usual second is kept.
            (timeline(inside, recorded), 119),
        ] {
            assert_eq!(timeline.duration_us() / SECOND, duration);
            assert_eq!(timeline.paused_us() / SECOND, recorded - duration);
            assert!(!timeline.is_second_half(48 * SECOND, 1.0));
            assert!(timeline.is_second_half(70 * SECOND, 1.0));
        }
    }

    #[test]
    fn time_never_goes_back() {
        let timeline = timeline([5, 6, 7, 500, 501, 9_000], 20_000);
        let times: Vec<u64> = (0..=20_000).map(|at| timeline.at(at * SECOND)).collect();
        assert!(times.is_sorted());
        assert_eq!(times.last().copied(), Some(timeline.duration_us()));
    }

    #[test]
    fn few_and_slow_transactions_have_no_pauses() {
        let timeline = timeline((0..100).map(|at| at * 60), 6_000);
        assert_eq!(timeline.paused_us(), 0);
    }

    #[test]
    fn work_that_comes_at_the_end_is_looked_at() {
        let timeline = timeline([99; 50], 100);
        assert!(timeline.is_second_half(timeline.duration_us() * 7 / 8, 1.0));
        assert!(Timeline::new(&[], 0).duration_us() > 0);
    }
}
