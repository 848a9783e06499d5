//! [`LoadHistory`]: how busy a partition is and was, made of busy nanoseconds and ticks.
//!
//! ```text
//!   busy time   ▁▂▅█▇▃▁▁▁      load = busy nanoseconds / elapsed nanoseconds, per tick
//!   minutes     │ 62 % │ 8 %   the highest load of each minute, for the last hour
//! ```
//!
//! The hour of peaks is what keeps a quiet quarter of an hour from merging what the next busy one
//! would split again. It is handed down: the halves of a split remember their share of the parent's
//! peaks, and a merged partition remembers the sum. It is not kept across restarts, which is why a
//! merge also asks how long a partition was watched.

use std::collections::BTreeMap;

use super::Settings;
use crate::Share;

/// The grain of the peaks.
const MINUTE_US: u64 = 60_000_000;
const SECOND_US: u64 = 1_000_000;

/// The load of one partition over time, kept by whoever ticks.
#[derive(Clone, Debug)]
pub struct LoadHistory {
    watched_since_us: u64,
    last: Option<Tick>,
    current: Share,
    high_since_us: Option<u64>,
    peaks: BTreeMap<u64, Share>,
}

#[derive(Clone, Copy, Debug)]
struct Tick {
    at_us: u64,
    busy_ns: u64,
}

/// The load of a partition as a decision sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The share of one core that the last tick saw busy; may be more than all of it.
    pub current: Share,
    /// The highest since the start of the low-load window, ancestors included.
    pub peak: Share,
    /// Since when it has been at or over the threshold.
    pub high_since_us: Option<u64>,
    /// Since when it is watched.
    pub watched_since_us: u64,
}

impl LoadHistory {
    /// A history that begins now.
    pub fn new(now_us: u64) -> Self {
        Self {
            watched_since_us: now_us,
            last: None,
            current: Share::ZERO,
            high_since_us: None,
            peaks: BTreeMap::new(),
        }
    }

    /// A tick: `busy_ns` is the partition's counter of busy nanoseconds, which only grows.
    pub fn tick(&mut self, now_us: u64, busy_ns: u64, settings: &Settings) {
        let begun = Tick {
            at_us: self.watched_since_us,
            busy_ns: 0,
        };
        let before = self.last.unwrap_or(begun);
        let elapsed_us = now_us.saturating_sub(before.at_us);
        if elapsed_us == 0 {
            return;
        }
        self.last = Some(Tick {
            at_us: now_us,
            busy_ns,
        });
        let busy_ns = busy_ns.saturating_sub(before.busy_ns);
        self.current = Share::of(busy_ns, elapsed_us.saturating_mul(1000));
        self.high_since_us = match self.current >= settings.split_load() {
            true => self.high_since_us.or(Some(before.at_us)),
            false => None,
        };
        let peak = self.peaks.entry(now_us / MINUTE_US).or_default();
        *peak = self.current.max(*peak);
        let window_us = settings.merge_low_load_s.saturating_mul(SECOND_US);
        let oldest = now_us.saturating_sub(window_us) / MINUTE_US;
        self.peaks = self.peaks.split_off(&oldest);
    }

    /// What a decision needs to know.
    pub fn load(&self) -> Load {
        Load {
            current: self.current,
            peak: self.peaks.values().copied().max().unwrap_or_default(),
            high_since_us: self.high_since_us,
            watched_since_us: self.watched_since_us,
        }
    }

    /// The histories of the two halves of a split.
    pub fn split(&self, left: Share, now_us: u64) -> (Self, Self) {
        let half = |share: Share| Self {
            peaks: self
                .peaks
                .iter()
                .map(|(at, peak)| (*at, peak.scale(share)))
                .collect(),
            ..Self::new(now_us)
        };
        (half(left), half(left.rest()))
    }

    /// The history of a partition made of these.
    pub fn merge<'a>(parts: impl IntoIterator<Item = &'a Self>, now_us: u64) -> Self {
        let mut merged = Self::new(now_us);
        for (at, peak) in parts.into_iter().flat_map(|part| &part.peaks) {
            let sum = merged.peaks.entry(*at).or_default();
            *sum = sum.plus(*peak);
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_old_peak_is_forgotten_and_a_younger_one_is_not() {
        let settings = Settings::default();
        let mut history = LoadHistory::new(0);
        history.tick(10 * SECOND_US, 8_000_000_000, &settings);
        assert_eq!(history.load().current, Share::percent(80));
        assert_eq!(history.load().high_since_us, Some(0));
        history.tick(3500 * SECOND_US, 8_000_000_000, &settings);
        assert_eq!(history.load().current, Share::ZERO);
        assert_eq!(history.load().peak, Share::percent(80));
        history.tick(3700 * SECOND_US, 8_000_000_000, &settings);
        assert_eq!(history.load().peak, Share::ZERO);
    }

    #[test]
    fn a_split_hands_its_peaks_down_and_a_merge_sums_them() {
        let mut history = LoadHistory::new(0);
        history.tick(10 * SECOND_US, 8_000_000_000, &Settings::default());
        let (left, right) = history.split(Share::percent(25), 11 * SECOND_US);
        assert_eq!(left.load().peak, Share::percent(20));
        assert_eq!(right.load().peak, Share::percent(60));
        let merged = LoadHistory::merge([&left, &right], 12 * SECOND_US);
        assert_eq!(merged.load().peak, Share::percent(80));
        assert_eq!(merged.load().current, Share::ZERO);
    }
}
