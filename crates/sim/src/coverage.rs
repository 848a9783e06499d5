//! What happened, and how often: a simulation in which nothing happens proves nothing.

use std::collections::BTreeMap;
use std::fmt;

/// How often each kind of event happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: BTreeMap<&'static str, u64>,
}

impl Coverage {
    pub(crate) fn add(&mut self, event: &'static str) {
        *self.counts.entry(event).or_insert(0) += 1;
    }

    /// How often an event happened.
    pub fn count(&self, event: &str) -> u64 {
        self.counts.get(event).copied().unwrap_or(0)
    }

    /// Adds what happened in another run.
    pub fn merge(&mut self, other: &Self) {
        for (event, count) in &other.counts {
            *self.counts.entry(event).or_insert(0) += count;
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (event, count) in &self.counts {
            writeln!(f, "  {count:>8}  {event}")?;
        }
        Ok(())
    }
}
