//! Messages besides the answers: warnings, and notices of what is so already.

use std::hash::{DefaultHasher, Hash, Hasher};

use keys::Value;
use sql::Prepared;
use txn::Reader;

use super::{Asks, Session, Statement};
use crate::findings::{self, KeyFinding, about};

/// Statements that one session remembers to have looked at.
const LOOKED_AT_MAX: usize = 1_000;

/// A message besides the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters: `WARNING` or `NOTICE`.
    pub severity: &'static str,
    /// A SQLSTATE, of class 01 for a warning.
    pub code: &'static str,
    /// What it says.
    pub text: String,
    /// Why that matters, if it says so.
    pub detail: Option<String>,
    /// What to do about it, if it says so.
    pub hint: Option<String>,
}

impl Session {
    /// Messages since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    pub(super) fn warn(&mut self, code: &'static str, text: &str) {
        self.notices.push(Notice {
            severity: "WARNING",
            code,
            text: text.to_owned(),
            detail: None,
            hint: None,
        });
    }

    /// Says what a statement that defines tables will not do, because it is so already. Answers whether
    /// there is such a thing.
    pub(super) fn notice_skipped(&mut self, kind: &Asks) -> bool {
        let skipped = self.database.executor().skips(kind);
        let skips = !skipped.is_empty();
        self.notice(skipped);
        skips
    }

    /// What is found about the table that a statement defines.
    pub(super) fn findings(&self, kind: &Asks) -> Vec<KeyFinding> {
        let table = match self.is_quiet() {
            true => None,
            false => self.executor.defined(kind),
        };
        table.map_or(Vec::new(), |table| about(&self.database.store, &table))
    }

    /// Says what is found about the table that a statement has just defined, and was not before.
    pub(super) fn notice_defined(&mut self, statement: &Statement, before: &[KeyFinding]) {
        let after = self.findings(&statement.kind);
        let new = findings::notices(before, after, &statement.allowed);
        self.notices.extend(new);
    }

    /// Hands on what statements should be warned of.
    pub(super) fn notice_warnings(&mut self) {
        for (code, text) in self.executor.take_warnings() {
            self.warn(code, &text);
        }
    }

    /// Says that a statement reads every partition of a table that has many, the first time that the
    /// session runs it.
    pub(super) async fn notice_whole_reads(
        &mut self,
        reader: &Reader,
        prepared: &Prepared,
        parameters: &[Value],
    ) {
        if !prepared.may_read_all()
            || self.settings.get("evenkeel.full_scan_notice") == Some("off")
            || self.looked_at.len() >= LOOKED_AT_MAX
        {
            return;
        }
        let mut hasher = DefaultHasher::new();
        match &prepared.statement().kind {
            Asks::Query(query) => query.query.hash(&mut hasher),
            Asks::Update(update) => update.hash(&mut hasher),
            Asks::Delete(delete) => delete.hash(&mut hasher),
            Asks::Insert(insert) => insert.source.hash(&mut hasher),
            _ => return,
        }
        if self.looked_at.insert(hasher.finish()) {
            let reads = self.executor.whole_reads(reader, prepared, parameters);
            // What fails here fails again when the statement runs, and is told then.
            let reads = Box::pin(reads).await.unwrap_or_default();
            self.notice(reads);
        }
    }

    fn notice(&mut self, notices: Vec<(&'static str, String)>) {
        let quiet = self.is_quiet();
        let notices = notices.into_iter().filter(|_| !quiet);
        self.notices.extend(notices.map(|(code, text)| Notice {
            severity: "NOTICE",
            code,
            text,
            detail: None,
            hint: None,
        }));
    }

    /// Whether the client wants no more than warnings.
    fn is_quiet(&self) -> bool {
        let least = self.settings.get("client_min_messages");
        let least = least.map(str::to_lowercase);
        matches!(least.as_deref(), Some("warning" | "error"))
    }
}
