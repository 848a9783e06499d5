//! Messages besides the answers: warnings, and notices of what is so already.

use super::{Asks, Session};

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

    /// Says what a statement that defines tables will not do, because it is so already.
    pub(super) fn notice_skipped(&mut self, kind: &Asks) {
        if matches!(
            self.settings.get("client_min_messages"),
            Some("warning" | "error")
        ) {
            return;
        }
        for (code, text) in self.database.executor().skips(kind) {
            self.notices.push(Notice {
                severity: "NOTICE",
                code,
                text,
            });
        }
    }
}
