//! [`Policy`]: what holds for splitting, merging and recording in the whole database.
//!
//! A table's own options say how large its partitions get and how many they may be. The rest is here,
//! the same for all tables, changed by `ALTER SYSTEM SET name = value` while the database runs, and
//! kept: the next start finds it. The names begin with `partition_` or `record`; `SHOW name` tells the
//! value.

use parking_lot::RwLock;
use txn::Store;

use crate::session::SessionError;
use crate::{Error, Result};

/// Settings of the whole database about partitions and the recorder. Loads are in percent of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// `partition_auto`: whether partitions are split and merged by themselves at all.
    pub auto: bool,
    /// `partition_check_interval_s`: how many seconds lie between two decisions.
    pub check_interval_s: u64,
    /// `partition_split_load_percent`: from this load on a partition is split.
    pub split_load_percent: u64,
    /// `partition_split_load_lasting_s`: for how long the load must be that high.
    pub split_load_lasting_s: u64,
    /// `partition_force_split_size_mb`: from this size on a partition is split even if the table has
    /// its most partitions.
    pub force_split_size_mb: u64,
    /// `partition_merge_uptime_s`: how long a partition must have been watched before it is merged.
    pub merge_uptime_s: u64,
    /// `partition_merge_low_load_s`: the peak of how much time counts when loads are summed.
    pub merge_low_load_s: u64,
    /// `partition_merge_load_percent`: a merge may reach this much of the split load.
    pub merge_load_percent: u64,
    /// `partition_merge_size_percent`: a merge may reach this much of the split size.
    pub merge_size_percent: u64,
    /// `record`: whether some transactions are recorded.
    pub record: bool,
    /// `record_size_mb`: how much of them is kept.
    pub record_size_mb: u64,
    /// `record_per_second`: how many are recorded in a second at most.
    pub record_per_second: u64,
}

impl Default for Policy {
    fn default() -> Self {
        let usual = txn::decide::Settings::default();
        Self {
            auto: true,
            check_interval_s: 5,
            split_load_percent: usual.split_load_percent,
            split_load_lasting_s: usual.split_load_lasting_s,
            force_split_size_mb: usual.force_split_size_mib,
            merge_uptime_s: usual.merge_uptime_s_min,
            merge_low_load_s: usual.merge_low_load_s,
            merge_load_percent: usual.merge_load_percent,
            merge_size_percent: usual.merge_size_percent,
            record: true,
            record_size_mb: 64,
            record_per_second: 100,
        }
    }
}

/// A setting that is a switch: its name, and where it is kept.
type Switch = (&'static str, fn(&mut Policy) -> &mut bool);

const SWITCHES: [Switch; 2] = [
    ("partition_auto", |policy| &mut policy.auto),
    ("record", |policy| &mut policy.record),
];

/// A setting that is a number: its name, the least and the most it may be, and where it is kept.
type Number = (&'static str, u64, u64, fn(&mut Policy) -> &mut u64);

const NUMBERS: [Number; 10] = [
    ("partition_check_interval_s", 1, 3600, |policy| {
        &mut policy.check_interval_s
    }),
    ("partition_force_split_size_mb", 1, 1 << 20, |policy| {
        &mut policy.force_split_size_mb
    }),
    ("partition_merge_load_percent", 0, 100, |policy| {
        &mut policy.merge_load_percent
    }),
    ("partition_merge_low_load_s", 0, 1 << 20, |policy| {
        &mut policy.merge_low_load_s
    }),
    ("partition_merge_size_percent", 0, 100, |policy| {
        &mut policy.merge_size_percent
    }),
    ("partition_merge_uptime_s", 0, 1 << 20, |policy| {
        &mut policy.merge_uptime_s
    }),
    ("partition_split_load_lasting_s", 0, 1 << 20, |policy| {
        &mut policy.split_load_lasting_s
    }),
    ("partition_split_load_percent", 1, 100_000, |policy| {
        &mut policy.split_load_percent
    }),
    ("record_per_second", 1, 10_000, |policy| {
        &mut policy.record_per_second
    }),
    ("record_size_mb", 1, 1 << 16, |policy| {
        &mut policy.record_size_mb
    }),
];

impl Policy {
    /// The names of its settings.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        let switches = SWITCHES.iter().map(|(name, _)| *name);
        switches.chain(NUMBERS.iter().map(|(name, ..)| *name))
    }

    /// A setting as text; `None` if it is not one of these.
    pub(crate) fn show(&self, name: &str) -> Option<String> {
        if let Some((_, place)) = SWITCHES.iter().find(|(known, _)| *known == name) {
            let on = *place(&mut self.clone());
            return Some(if on { "on" } else { "off" }.to_owned());
        }
        let (.., place) = NUMBERS.iter().find(|(known, ..)| *known == name)?;
        Some(place(&mut self.clone()).to_string())
    }

    /// Changes a setting, or says what is wrong.
    fn set(&mut self, name: &str, value: &str) -> std::result::Result<(), SessionError> {
        let value = value.trim();
        let wrong = |reason: String| SessionError::SystemValue {
            name: name.to_owned(),
            value: value.to_owned(),
            reason,
        };
        if let Some((_, place)) = SWITCHES.iter().find(|(known, _)| *known == name) {
            *place(self) = match value.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" | "1" => true,
                "off" | "false" | "no" | "0" => false,
                _ => return Err(wrong("it is on or off".to_owned())),
            };
            return Ok(());
        }
        let number = NUMBERS.iter().find(|(known, ..)| *known == name);
        let (_, least, most, place) = number.ok_or_else(|| SessionError::NotOfSystem {
            name: name.to_owned(),
        })?;
        match value.parse::<u64>() {
            Ok(number) if (*least..=*most).contains(&number) => *place(self) = number,
            _ => {
                return Err(wrong(format!(
                    "it is a whole number from {least} to {most}"
                )));
            }
        }
        Ok(())
    }
}

/// The policy that holds now, for everyone who asks.
#[derive(Debug)]
pub(crate) struct Policies {
    now: RwLock<Policy>,
}

impl Policies {
    /// What was set the last time the database was open. A setting that is not known any more, or out
    /// of what it may be now, is as if it were not set.
    pub(crate) fn load(store: &Store) -> Result<Self> {
        let mut policy = Policy::default();
        for (name, value) in store.settings()? {
            let _ = policy.set(&name, &value);
        }
        let now = RwLock::new(policy);
        Ok(Self { now })
    }

    pub(crate) fn get(&self) -> Policy {
        self.now.read().clone()
    }

    /// Sets one setting, or with `None` puts it back to its default; durably.
    pub(crate) fn set(&self, store: &Store, name: &str, value: Option<&str>) -> Result<()> {
        let mut now = self.now.write();
        let mut policy = now.clone();
        let usual = Policy::default().show(name).ok_or_else(|| {
            Error::from(SessionError::NotOfSystem {
                name: name.to_owned(),
            })
        })?;
        policy.set(name, value.unwrap_or(&usual))?;
        store.set_setting(name, value)?;
        *now = policy;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_shown_as_it_can_be_set() {
        let mut policy = Policy::default();
        assert_eq!(Policy::names().count(), 12);
        for name in Policy::names() {
            let shown = policy.show(name).unwrap();
            policy.set(name, &shown).unwrap();
            assert!(policy.set(name, "-1").is_err(), "{name}");
        }
        assert_eq!(policy, Policy::default());
        policy.set("partition_split_load_percent", "7").unwrap();
        assert_eq!(policy.split_load_percent, 7);
    }
}
