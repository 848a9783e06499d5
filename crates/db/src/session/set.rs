//! SET, SHOW, RESET and DISCARD.

use std::sync::Arc;

use keys::{Type, Value};
use sql::{AnswerRows, ResultColumn};
use syntax::Name;
use syntax::ast::{DiscardObject, TransactionIsolationLevel};
use syntax::statement::Kind as Asks;
use syntax::statement::{Reset, Set, Show, TransactionModes};

use super::settings::Until;
use super::{Reply, Session, SessionError, done, folded};
use crate::policy::Policy;
use crate::{Database, Result};

/// Names of the zone that all times are of.
const UTC: [&str; 6] = ["UTC", "GMT", "Z", "Zulu", "Etc/UTC", "0"];

impl Session {
    pub(super) fn set(&mut self, set: &Set) -> Result<Reply> {
        match set {
            Set::Variable { local, name, value } => {
                let until = match (&self.transaction, local) {
                    (None, true) => {
                        self.warn("25P01", "SET LOCAL is for transactions: BEGIN first");
                        return done("SET");
                    }
                    (None, false) => Until::Reset,
                    (Some(_), true) => Until::End,
                    (Some(_), false) => Until::Rollback,
                };
                let value = value.as_ref().map(|values| values.join(", "));
                if Policy::names().any(|known| known.eq_ignore_ascii_case(name)) {
                    let name = name.clone();
                    return Err(SessionError::OfSystem { name }.into());
                }
                self.settings.set(name, value.as_deref(), until)?;
                if name.eq_ignore_ascii_case("timezone") {
                    self.notice_zone();
                }
                if let Some(open) = &mut self.transaction
                    && name == "transaction_read_only"
                {
                    open.read_only = self.settings.get("transaction_read_only") == Some("on");
                }
            }
            Set::System { name, value } => {
                let value = value.as_ref().map(|values| values.join(", "));
                self.set_system(name.as_deref(), value.as_deref())?;
                return done("ALTER SYSTEM");
            }
            Set::Constraints { names, deferred } => {
                self.set_constraints(names, *deferred)?;
                return done("SET CONSTRAINTS");
            }
            Set::Transaction { session, modes } => {
                let read_only = read_only(modes);
                match (&mut self.transaction, session, read_only) {
                    (Some(open), false, Some(read_only)) => open.read_only = read_only,
                    (_, true, Some(read_only)) => {
                        let value = if read_only { "on" } else { "off" };
                        let name = "default_transaction_read_only";
                        self.settings.set(name, Some(value), self.until())?;
                    }
                    _ => {}
                }
            }
        }
        done("SET")
    }

    /// Lets foreign keys wait for the end of the transaction, or not any more.
    fn set_constraints(&mut self, names: &[Name], deferred: bool) -> Result<()> {
        let named = |name: &Name| name.parts.last().map(folded);
        let names: Vec<String> = names.iter().filter_map(named).collect();
        match &mut self.transaction {
            Some(open) => {
                let executor = &self.executor;
                Ok(executor.set_constraints(&mut open.inner, &names, deferred)?)
            }
            None => {
                self.warn("25P01", "SET CONSTRAINTS is for transactions: BEGIN first");
                Ok(())
            }
        }
    }

    /// Says that a zone is remembered, and that times are what they are without it.
    fn notice_zone(&mut self) {
        let zone = self.settings.get("timezone").unwrap_or_default();
        if !UTC.iter().any(|name| name.eq_ignore_ascii_case(zone)) {
            let text = format!("TimeZone {zone} changes nothing: times are read and shown in UTC");
            self.warn("01000", &text);
        }
    }

    /// Changes a setting of the whole database, or puts all of them back.
    fn set_system(&self, name: Option<&str>, value: Option<&str>) -> Result<()> {
        let Database { policy, store, .. } = self.database.as_ref();
        match name {
            Some(name) => policy.set(store, &name.to_lowercase(), value),
            None => Policy::names().try_for_each(|name| policy.set(store, name, None)),
        }
    }

    fn until(&self) -> Until {
        match &self.transaction {
            Some(_) => Until::Rollback,
            None => Until::Reset,
        }
    }

    pub(super) fn show(&self, show: &Show) -> Result<Reply> {
        let name = match show {
            Show::Variable(name) => name,
            Show::CreateTable(name) => {
                let rows = self.database.executor().show_create(name)?;
                return Ok(Reply::Rows(rows.into()));
            }
        };
        let text = |text: &str| Value::from(text);
        let policy = self.database.policy.get();
        let rows = match name.as_str() {
            name if let Some(value) = policy.show(&name.to_lowercase()) => {
                vec![vec![text(&value)]]
            }
            "all" => self
                .settings
                .all()
                .into_iter()
                .map(|(name, value)| vec![text(name), text(value), text("")])
                .chain(Policy::names().map(|name| {
                    let value = policy.show(name).unwrap_or_default();
                    vec![text(name), text(&value), text("of the whole database")]
                }))
                .collect(),
            "transaction_read_only" => {
                let open = self.transaction.as_ref().map(|open| open.read_only);
                let default = self.settings.often().read_only;
                let on = open.unwrap_or(default);
                vec![vec![text(if on { "on" } else { "off" })]]
            }
            name => {
                let known = match name {
                    "transaction isolation level" => "transaction_isolation",
                    "time zone" => "timezone",
                    "session authorization" => "session_authorization",
                    other => other,
                };
                let found = self.settings.get(&known.to_lowercase());
                let value = found.ok_or_else(|| self.settings.unknown(name))?;
                vec![vec![text(value)]]
            }
        };
        let rows = AnswerRows::ready("SHOW", show_columns(name), rows);
        Ok(Reply::Rows(rows.into()))
    }

    pub(super) fn reset(&mut self, reset: &Reset) -> Result<Reply> {
        let until = self.until();
        match reset {
            Reset::All => self.settings.reset_all(until),
            Reset::Variable(name) => self.settings.set(name, None, until)?,
        }
        done("RESET")
    }

    /// Forgets what it took from sequences.
    fn forget_counted(&mut self) {
        self.executor = Arc::new(self.executor.for_session());
    }

    pub(super) fn discard(&mut self, what: DiscardObject) -> Result<Reply> {
        match what {
            DiscardObject::ALL => {
                if self.transaction.as_ref().is_some_and(|open| !open.block) {
                    return Err(SessionError::Discard.into());
                }
                self.settings.reset_all(self.until());
                self.named.clear();
                self.cursors.clear();
                self.locks.unlock_all();
                self.forget_counted();
                done("DISCARD ALL")
            }
            DiscardObject::PLANS => done("DISCARD PLANS"),
            DiscardObject::SEQUENCES => {
                self.forget_counted();
                done("DISCARD SEQUENCES")
            }
            DiscardObject::TEMP => done("DISCARD TEMP"),
        }
    }
}

/// The columns that SHOW answers with.
pub(super) fn show_columns(name: &str) -> Arc<[ResultColumn]> {
    let column = |name: &str| ResultColumn::new(name, Type::Utf8);
    match name {
        "all" => ["name", "setting", "description"].map(column).into(),
        "transaction isolation level" => [column("transaction_isolation")].into(),
        "time zone" => [column("TimeZone")].into(),
        "session authorization" => [column("session_authorization")].into(),
        name => [column(name)].into(),
    }
}

/// Whether a query locks the rows that it reads, which says that they are to be changed.
pub(super) fn locks(kind: &Asks) -> bool {
    matches!(kind, Asks::Query(query) if !query.query.locks.is_empty())
}

/// Whether modes ask for reading only; a snapshot is for reading.
pub(super) fn read_only(modes: &TransactionModes) -> Option<bool> {
    match modes.isolation {
        Some(TransactionIsolationLevel::Snapshot) => Some(true),
        _ => modes.read_only,
    }
}
