//! What a run has covered and found.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The length of a run that the goals are for, and the shortest that has to reach its share.
const GOAL_SECONDS: u64 = 600;
const SHARE_SECONDS_MIN: u64 = 120;
const STATES_MIN: u64 = 2_000;
const FLIPS_MIN: u64 = 10_000;

/// Threads take turns in another way each time, so this part of the call sites may not be met again.
const SITES_MISSED_PART: u64 = 20;

/// How many findings of one sort are told in full.
const TOLD_MAX: u64 = 4;

/// The numbers of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Crash states that were judged.
    pub states: u64,
    /// Damaged directories that were judged.
    pub flips: u64,
    /// Faults that were injected and judged.
    pub faults: u64,
    /// Findings of something durable that is missing.
    pub lost: u64,
    /// Findings of something that should not be.
    pub wrong: u64,
    /// Processes that had to be ended.
    pub hangs: u64,
    /// Call sites that were seen.
    pub sites: u64,
    /// Call sites that a fault should have come to, and did not.
    pub sites_missed: u64,
    /// How often each kind of thing was met.
    pub kinds: BTreeMap<String, u64>,
    /// How often each sort of finding was met.
    pub sorts: BTreeMap<String, u64>,
}

impl Tally {
    /// One more of a kind.
    pub fn count(&mut self, kind: &str) {
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
    }

    /// Tells of a finding, unless many of its sort were told of.
    pub fn tell(&mut self, sort: &str, text: &str) {
        let count = self.sorts.entry(sort.to_owned()).or_default();
        *count += 1;
        if *count <= TOLD_MAX {
            println!("{sort} {text}");
        }
    }

    /// Whether nothing was found.
    pub fn is_sound(&self) -> bool {
        self.lost == 0 && self.wrong == 0 && self.hangs == 0
    }

    /// What a run of this length should have reached and has not.
    pub fn missed(&self, duration: Duration) -> Vec<String> {
        let seconds = duration.as_secs();
        let share = |goal: u64| match seconds {
            SHARE_SECONDS_MIN.. => goal * seconds / GOAL_SECONDS,
            _ => 1,
        };
        let mut missed = Vec::new();
        let goals = [
            ("states", self.states, share(STATES_MIN)),
            ("flips", self.flips, share(FLIPS_MIN)),
            ("faults", self.faults, 1),
        ];
        for (what, reached, goal) in goals {
            if reached < goal {
                missed.push(format!(
                    "{what}: {reached} in {seconds} s, at least {goal} were wanted"
                ));
            }
        }
        if self.sites_missed > self.sites / SITES_MISSED_PART && seconds >= GOAL_SECONDS {
            missed.push(format!("{} call sites met no fault", self.sites_missed));
        }
        missed
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "TORTURE disk states={} flips={} faults={} lost={} wrong={} hangs={}",
            self.states, self.flips, self.faults, self.lost, self.wrong, self.hangs
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enough() -> Tally {
        Tally {
            states: 2_000,
            flips: 10_000,
            faults: 400,
            sites: 200,
            sites_missed: 10,
            ..Tally::default()
        }
    }

    #[test]
    fn a_long_run_has_to_reach_the_goals() {
        let time = Duration::from_secs(600);
        assert!(enough().missed(time).is_empty());
        let few = [
            Tally {
                states: 1_999,
                ..enough()
            },
            Tally {
                flips: 9_999,
                ..enough()
            },
            Tally {
                faults: 0,
                ..enough()
            },
            Tally {
                sites_missed: 11,
                ..enough()
            },
        ];
        for tally in few {
            assert_eq!(tally.missed(time).len(), 1, "{tally}");
        }
        assert_eq!(Tally::default().missed(Duration::from_secs(5)).len(), 3);
    }

    #[test]
    fn the_line_is_one_that_scripts_read() {
        let line = "TORTURE disk states=2000 flips=10000 faults=400 lost=0 wrong=0 hangs=0";
        assert_eq!(enough().to_string(), line);
        assert!(enough().is_sound());
        let found = Tally {
            lost: 1,
            ..enough()
        };
        assert!(!found.is_sound());
    }
}
