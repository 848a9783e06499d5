//! The settings of a session: what they are, who may change them, and when a change ends.
//!
//! ```text
//!   default ─► start-up ─► SET ─► SET LOCAL
//!              RESET ◄──────┘         │ COMMIT: back to what SET said
//!                                     ▼ ROLLBACK: back to what was before the transaction
//! ```
//!
//! Names of PostgreSQL that mean nothing here are taken and shown again (`postgres`), and so is any name
//! with a dot, which belongs to whoever sets it. Other names are unknown. Settings that would change how
//! values look, and cannot be served, are refused.

mod postgres;

use std::collections::BTreeMap;
use std::time::Duration;

use super::SessionError;
use super::time::duration;
use crate::Result;
use crate::policy::Policy;

/// Settings that are told to the client when they change, as PostgreSQL spells them.
const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// What the settings are until somebody changes them.
const DEFAULTS: &[(&str, &str)] = &[
    ("application_name", ""),
    ("bytea_output", "hex"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("datestyle", "ISO, MDY"),
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_read_only", "off"),
    ("enable_fast_path", "on"),
    ("evenkeel.full_scan_notice", "on"),
    ("extra_float_digits", "1"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("intervalstyle", "postgres"),
    ("is_superuser", "on"),
    ("lock_timeout", "0"),
    ("max_identifier_length", "255"),
    ("search_path", "\"$user\", public"),
    ("server_encoding", "UTF8"),
    (
        "server_version",
        concat!("15.0 (EvenKeel ", env!("CARGO_PKG_VERSION"), ")"),
    ),
    ("server_version_num", "150000"),
    ("session_authorization", ""),
    ("standard_conforming_strings", "on"),
    ("statement_timeout", "0"),
    ("synchronous_commit", "on"),
    ("timezone", "UTC"),
    ("transaction_isolation", "serializable"),
    ("transaction_read_only", "off"),
];

/// Settings that tell what is so.
const FIXED: &[&str] = &[
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "max_identifier_length",
    "server_encoding",
    "server_version",
    "server_version_num",
    "session_authorization",
];

/// Names and values, and what they go back to.
#[derive(Debug)]
pub(super) struct Settings {
    values: BTreeMap<String, String>,
    /// What RESET returns to.
    initial: BTreeMap<String, String>,
    /// What the open transaction changed.
    changes: BTreeMap<String, Change>,
    /// What the client was told.
    told: Vec<String>,
    /// Whether something may have changed since.
    touched: bool,
    often: Often,
}

/// What every statement asks, worked out when it changes and not when it is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Often {
    /// Whether statements may be run without DataFusion.
    pub(super) fast_path: bool,
    /// Whether transactions only read unless they say otherwise.
    pub(super) read_only: bool,
    /// Whether a commit waits until the disk has it.
    pub(super) synced: bool,
    /// How long a statement may take, if there is a limit.
    pub(super) timeout: Option<Duration>,
    /// How long it may wait for another transaction to end, if there is a limit.
    pub(super) lock_timeout: Option<Duration>,
}

#[derive(Debug)]
struct Change {
    /// The value before the transaction.
    before: Option<String>,
    /// The value that outlives it.
    session: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let defaults = DEFAULTS
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let values: BTreeMap<_, _> = defaults.collect();
        let mut settings = Self {
            initial: values.clone(),
            values,
            changes: BTreeMap::new(),
            told: Vec::new(),
            touched: true,
            often: Often::default(),
        };
        settings.read_often();
        settings
    }
}

impl Settings {
    /// Takes what a client asks for when it comes: `user`, settings, and settings in `options`.
    pub(super) fn start(&mut self, parameters: &BTreeMap<String, String>) -> Result<()> {
        for (name, value) in parameters {
            match name.as_str() {
                "user" => self.place("session_authorization", Some(value.clone())),
                "options" => {
                    for (name, value) in command_line(value) {
                        self.set(&name, Some(&value), Until::Reset)?;
                    }
                }
                "database" | "replication" => {}
                extension if extension.starts_with("_pq_.") => {}
                name => self.set(name, Some(value), Until::Reset)?,
            }
        }
        self.initial = self.values.clone();
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let own = self.values.get(name).map(String::as_str);
        own.or_else(|| postgres::default(name))
    }

    /// That there is no such setting, with the one that may be meant.
    pub(super) fn unknown(&self, name: &str) -> SessionError {
        let foreign = postgres::TUNING.iter().chain(postgres::FACTS);
        let foreign = foreign.map(|(name, _)| *name);
        let mut all: Vec<&str> = Policy::names().chain(foreign).collect();
        for name in self.values.keys() {
            all.push(name);
        }
        SessionError::NoSetting {
            name: name.to_owned(),
            nearest: sql::nearest(&name.to_lowercase(), all.into_iter()).map(str::to_owned),
        }
    }

    /// What every statement asks.
    pub(super) fn often(&self) -> Often {
        self.often
    }

    fn read_often(&mut self) {
        let is = |name: &str, value: &str| self.get(name) == Some(value);
        let limit = |name: &str| {
            let length = self.get(name).and_then(duration);
            length.filter(|length| !length.is_zero())
        };
        self.often = Often {
            fast_path: is("enable_fast_path", "on"),
            read_only: is("default_transaction_read_only", "on"),
            synced: !is("synchronous_commit", "off"),
            timeout: limit("statement_timeout"),
            lock_timeout: limit("lock_timeout"),
        };
    }

    /// All of them, in the order of their names.
    pub(super) fn all(&self) -> BTreeMap<&str, &str> {
        let foreign = postgres::TUNING.iter().chain(postgres::FACTS).copied();
        let own = self.values.iter();
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        foreign.chain(own).collect()
    }

    /// Changes a setting; no value means what RESET means.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>, until: Until) -> Result<()> {
        let name = name.to_lowercase();
        if !name.contains('.') && self.get(&name).is_none() {
            return Err(self.unknown(&name).into());
        }
        let Some(value) = value else {
            let initial = self.initial.get(&name).cloned();
            self.change(&name, initial, until);
            return Ok(());
        };
        let fact = |(known, _): &(&str, &str)| *known == name;
        if FIXED.contains(&name.as_str()) || postgres::FACTS.iter().any(fact) {
            return Err(SessionError::SettingFixed { name }.into());
        }
        let refused = |reason| {
            let (name, value) = (name.clone(), value.to_owned());
            Err(SessionError::SettingValue {
                name,
                value,
                reason,
            }
            .into())
        };
        let lower = value.to_lowercase();
        let normal = match name.as_str() {
            "client_encoding" => match lower.replace(['-', '_', '\''], "").as_str() {
                "utf8" | "unicode" | "sqlascii" => "UTF8",
                _ => return refused("text travels as UTF8 only"),
            },
            "standard_conforming_strings" => match on_or_off(&lower) {
                Some("on") => "on",
                _ => return refused("a backslash in a string is always a backslash"),
            },
            "datestyle" => match lower.split(',').next().map(str::trim) {
                Some("iso" | "default") => "ISO, MDY",
                _ => return refused("dates are written as ISO only"),
            },
            "intervalstyle" if lower != "postgres" => {
                return refused("intervals are written as postgres only");
            }
            "bytea_output" if lower != "hex" => return refused("bytes are written as hex only"),
            // Weaker levels are served as the strongest.
            "transaction_isolation" | "default_transaction_isolation" => "serializable",
            "synchronous_commit" => match lower.as_str() {
                "local" | "remote_write" | "remote_apply" => value,
                other => match on_or_off(other) {
                    Some(value) => value,
                    None => return refused("it is on, off, local, remote_write or remote_apply"),
                },
            },
            "default_transaction_read_only"
            | "transaction_read_only"
            | "evenkeel.full_scan_notice"
            | "enable_fast_path" => match on_or_off(&lower) {
                Some(value) => value,
                None => return refused("it is on or off"),
            },
            "statement_timeout" | "lock_timeout" if duration(value).is_none() => {
                return refused("it is a time, as 500 (milliseconds), '5s' or '1min'");
            }
            _ => value,
        };
        self.change(&name, Some(normal.to_owned()), until);
        Ok(())
    }

    /// Forgets every change since start-up.
    pub(super) fn reset_all(&mut self, until: Until) {
        let names: Vec<String> = self.values.keys().cloned().collect();
        for name in names {
            let initial = self.initial.get(&name).cloned();
            self.change(&name, initial, until);
        }
    }

    /// Ends what a transaction changed.
    pub(super) fn end(&mut self, committed: bool) {
        for (name, change) in std::mem::take(&mut self.changes) {
            let value = match committed {
                true => change.session,
                false => change.before,
            };
            self.place(&name, value);
        }
    }

    /// The settings that clients are told about and that changed since the last call; the first
    /// time all of them.
    pub(super) fn take_reports(&mut self) -> Vec<(&'static str, String)> {
        if !std::mem::take(&mut self.touched) {
            return Vec::new();
        }
        let now: Vec<String> = REPORTED
            .iter()
            .map(|name| {
                self.get(&name.to_lowercase())
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        let mut told = std::mem::replace(&mut self.told, now.clone()).into_iter();
        let named = REPORTED.iter().copied().zip(now);
        named
            .filter(|(_, value)| told.next().as_ref() != Some(value))
            .collect()
    }

    fn change(&mut self, name: &str, value: Option<String>, until: Until) {
        if until != Until::Reset {
            let before = self.values.get(name).cloned();
            let change = self.changes.entry(name.to_owned()).or_insert(Change {
                session: before.clone(),
                before,
            });
            if until == Until::Rollback {
                change.session.clone_from(&value);
            }
        }
        self.place(name, value);
    }

    fn place(&mut self, name: &str, value: Option<String>) {
        self.touched = true;
        match value {
            Some(value) => self.values.insert(name.to_owned(), value),
            None => self.values.remove(name),
        };
        self.read_often();
    }
}

/// How long a change lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Outside of transactions: until it is reset.
    Reset,
    /// In a transaction: until that is rolled back, or else until it is reset.
    Rollback,
    /// To the end of the transaction.
    End,
}

fn on_or_off(lower: &str) -> Option<&'static str> {
    match lower {
        "on" | "true" | "yes" | "1" => Some("on"),
        "off" | "false" | "no" | "0" => Some("off"),
        _ => None,
    }
}

/// The settings in `-c name=value --name=value`; a backslash keeps a blank.
fn command_line(options: &str) -> Vec<(String, String)> {
    let mut words = vec![String::new()];
    let mut chars = options.chars();
    while let Some(one) = chars.next() {
        let word = words.last_mut();
        match (one, word) {
            ('\\', Some(word)) => word.extend(chars.next()),
            (blank, _) if blank.is_whitespace() => words.push(String::new()),
            (one, Some(word)) => word.push(one),
            (_, None) => {}
        }
    }
    let bare = |word: &String| {
        let text = word.strip_prefix("--").or(word.strip_prefix("-c"));
        let (name, value) = text.unwrap_or(word).split_once('=')?;
        Some((name.trim().replace('-', "_"), value.to_owned()))
    };
    words.iter().filter_map(bare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_change_ends_with_its_transaction() {
        let mut settings = Settings::default();
        settings
            .set("application_name", Some("a"), Until::Reset)
            .unwrap();
        settings
            .set("application_name", Some("b"), Until::Rollback)
            .unwrap();
        settings
            .set("application_name", Some("c"), Until::End)
            .unwrap();
        settings.set("lock_timeout", Some("5"), Until::End).unwrap();
        assert_eq!(settings.get("application_name"), Some("c"));
        settings.end(true);
        assert_eq!(settings.get("application_name"), Some("b"));
        assert_eq!(settings.get("lock_timeout"), Some("0"));
        settings
            .set("application_name", Some("d"), Until::Rollback)
            .unwrap();
        settings.end(false);
        assert_eq!(settings.get("application_name"), Some("b"));
    }

    #[test]
    fn options_of_the_command_line_are_taken_apart() {
        let found = command_line("-c geqo=off --search-path=a\\ b -cwork_mem=1MB nonsense");
        let expected = [("geqo", "off"), ("search_path", "a b"), ("work_mem", "1MB")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_that_nobody_knows_is_refused() {
        let mut settings = Settings::default();
        let refused = settings.set("work_men", Some("1MB"), Until::Reset);
        let refused = refused.unwrap_err();
        assert_eq!(refused.sqlstate(), "42704");
        assert!(refused.to_string().contains("`work_mem`"), "{refused}");
        assert!(settings.set("work_men", None, Until::Reset).is_err());
        // Whoever writes a dot knows what it is for.
        settings.set("app.user", Some("7"), Until::Reset).unwrap();
        assert_eq!(settings.get("app.user"), Some("7"));
        let names = postgres::TUNING.iter().map(|(name, _)| name);
        assert!(names.is_sorted());
    }

    #[test]
    fn only_what_changed_is_reported() {
        let mut settings = Settings::default();
        assert_eq!(settings.take_reports().len(), REPORTED.len());
        assert_eq!(settings.take_reports(), []);
        settings
            .set("TimeZone", Some("Europe/Berlin"), Until::Reset)
            .unwrap();
        settings.set("work_mem", Some("1MB"), Until::Reset).unwrap();
        let changed = [("TimeZone", "Europe/Berlin".to_owned())];
        assert_eq!(settings.take_reports(), changed);
    }
}
