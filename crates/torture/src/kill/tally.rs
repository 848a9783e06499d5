//! What a run has reached, and what it should have.

use std::fmt;
use std::time::Duration;

/// The length of a run that the goals are for.
const GOAL_SECONDS: u64 = 600;
/// Shorter runs need not reach their share of the goals, but one of each thing.
const SHARE_SECONDS_MIN: u64 = 300;
/// Still shorter ones need not reach anything.
const REACH_SECONDS_MIN: u64 = 10;
const KILLS_MIN: u64 = 100;
const SPLITS_MIN: u64 = 1_000;
const OPERATIONS_MIN: u64 = 1_000_000;

/// The numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Times that the server was killed.
    pub kills: u64,
    /// Splits and merges of partitions that were acknowledged.
    pub splits: u64,
    /// Memtables that the server wrote out.
    pub flushes: u64,
    /// Compactions of the server.
    pub compactions: u64,
    /// Rows written by acknowledged statements.
    pub operations: u64,
    /// Acknowledged transactions that are missing.
    pub lost: u64,
    /// Other findings.
    pub anomalies: u64,
}

impl Tally {
    /// What a run of this length should have reached and has not.
    pub(super) fn missed(&self, duration: Duration) -> Vec<String> {
        let seconds = duration.as_secs();
        if seconds < REACH_SECONDS_MIN {
            return Vec::new();
        }
        let least = |goal: u64| if seconds < SHARE_SECONDS_MIN { 1 } else { goal };
        let share = |goal: u64| least(goal * seconds / GOAL_SECONDS);
        let goals = [
            ("kills", self.kills, share(KILLS_MIN)),
            ("splits and merges", self.splits, share(SPLITS_MIN)),
            ("operations", self.operations, share(OPERATIONS_MIN)),
            ("flushes", self.flushes, least(self.kills + 1)),
            ("compactions", self.compactions, least(self.kills + 1)),
        ];
        let missed = goals.iter().filter(|(_, reached, goal)| reached < goal);
        missed
            .map(|(what, reached, goal)| {
                format!("{what}: {reached} in {seconds} s, at least {goal} were wanted")
            })
            .collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "TORTURE kills={} splits={} flushes={} compactions={} operations={} lost={} anomalies={}",
            self.kills,
            self.splits,
            self.flushes,
            self.compactions,
            self.operations,
            self.lost,
            self.anomalies
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: Tally = Tally {
        kills: 50,
        splits: 500,
        flushes: 51,
        compactions: 51,
        operations: 500_000,
        lost: 0,
        anomalies: 0,
    };

    #[test]
    fn a_long_run_has_to_reach_its_share() {
        let time = Duration::from_secs(300);
        assert_eq!(ENOUGH.missed(time), Vec::<String>::new());
        let short = [
            Tally {
                kills: 49,
                ..ENOUGH
            },
            Tally {
                splits: 499,
                ..ENOUGH
            },
            Tally {
                flushes: 50,
                ..ENOUGH
            },
            Tally {
                compactions: 50,
                ..ENOUGH
            },
            Tally {
                operations: 499_999,
                ..ENOUGH
            },
        ];
        for one in short {
            assert_eq!(one.missed(time).len(), 1, "{one}");
            assert!(one.missed(Duration::from_secs(299)).is_empty());
        }
        let nothing = Tally::default();
        assert_eq!(nothing.missed(Duration::from_secs(10)).len(), 5);
        assert!(nothing.missed(Duration::from_secs(9)).is_empty());
    }

    #[test]
    fn the_line_is_one_that_scripts_read() {
        let line = "TORTURE kills=50 splits=500 flushes=51 compactions=51 operations=500000 lost=0 anomalies=0";
        assert_eq!(ENOUGH.to_string(), line);
    }
}
