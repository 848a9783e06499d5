//! What a rule says: code, severity, place, reason and remedy.

use std::fmt;

use syntax::Span;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Likely to hurt, or a guess that would.
    Warning,
    /// Certain to hurt once the table is busy.
    Error,
}

impl Severity {
    /// Its word in every format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its code, such as `KEY001`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The table it is about.
    pub table: String,
    /// What is underlined.
    pub span: Span,
    /// What is wrong, in one line.
    pub message: String,
    /// What is said beside the underline.
    pub label: String,
    /// Why it hurts, with the effect that is predicted.
    pub why: String,
    /// What to do.
    pub help: String,
    /// The changes of the text that do it; none when only a person can.
    pub edits: Vec<Edit>,
    /// The statements after these changes.
    pub rewritten: Option<String>,
}

impl Finding {
    /// A finding about a table, with nothing said yet but what is wrong and where.
    pub(crate) fn new(
        code: &'static str,
        severity: Severity,
        table: &str,
        span: Span,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity,
            table: table.to_owned(),
            span,
            message: message.into(),
            label: String::new(),
            why: String::new(),
            help: String::new(),
            edits: Vec::new(),
            rewritten: None,
        }
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub(crate) fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    pub(crate) fn edits(mut self, edits: Vec<Edit>) -> Self {
        self.edits = edits;
        self
    }
}
