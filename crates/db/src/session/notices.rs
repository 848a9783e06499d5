//! Messages besides the answers: warnings, and notices of what is so already.

use std::hash::{DefaultHasher, Hash, Hasher};

use keys::Value;
use sql::Prepared;
use txn::Reader;

use super::{Asks, Session};

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

    /// Says what is odd about a table that was just made.
    pub(super) fn notice_made(&mut self, kind: &Asks) {
        let odd = self.database.executor().warns_of(kind);
        self.notice(odd);
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
        let quiet = matches!(
            self.settings.get("client_min_messages"),
            Some("warning" | "error")
        );
        let notices = notices.into_iter().filter(|_| !quiet);
        self.notices.extend(notices.map(|(code, text)| Notice {
            severity: "NOTICE",
            code,
            text,
        }));
    }
}
