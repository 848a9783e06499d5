//! What the linter finds about the keys of tables that are there, for NOTICEs and for
//! `sys.key_findings`.
//!
//! ```text
//!   catalog ── the statement that SHOW CREATE TABLE shows ──► advisor::lint ──► findings
//! ```
//!
//! They are worked out when somebody asks and kept nowhere, so they are true of the table as it is. A
//! statement that defines a table tells those that were not there before it.

use advisor::lint::{Finding, Severity, Source, Span, allowed};
use keys::Value;
use sql::{Catalog, Schema, Table};
use syntax::Statement;
use syntax::statement::Kind as Asks;
use txn::Store;

use crate::session::Notice;

/// The code of the finding that a key column may be NULL, which is told although it is only a note.
const NULL_KEY: &str = "KEY003";
/// The code of the finding that a table begins as one partition.
const ONE_PARTITION: &str = "KEY010";
/// What a comment must hold to speak to this program.
const FOR_US: &str = "evenkeel:";

/// A finding about a table that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyFinding {
    pub(crate) code: &'static str,
    severity: Severity,
    table: String,
    /// The column that it is about, if it is about one.
    column: Option<String>,
    message: String,
    why: String,
    help: String,
    rewritten: Option<String>,
}

/// What is to be said about a table.
pub(crate) fn about(store: &Store, table: &Table) -> Vec<KeyFinding> {
    let schema = table.schema();
    let text = schema.create_statement();
    let parted = || {
        let map = store.map(table.id());
        map.is_ok_and(|map| map.partitions().len() > 1)
    };
    let found = Source::read_ours(&text).findings();
    let current = found
        .into_iter()
        .filter(|finding| finding.code != ONE_PARTITION || !parted());
    current
        .map(|finding| KeyFinding::new(&text, schema, finding))
        .collect()
}

impl KeyFinding {
    fn new(text: &str, schema: &Schema, finding: Finding) -> Self {
        // The statement has its names in backticks, and so have the sentences about them.
        let plain = |text: String| text.replace("``", "`");
        let message = plain(finding.message);
        let place = column(schema, finding.span.slice(text));
        Self {
            code: finding.code,
            severity: finding.severity,
            table: schema.name().to_owned(),
            column: place.or_else(|| column(schema, &message)),
            message,
            why: plain(finding.why),
            help: plain(finding.help),
            rewritten: finding.rewritten,
        }
    }

    /// Whether it says what another said, be its statement as it may.
    fn repeats(&self, other: &Self) -> bool {
        self.code == other.code && self.message == other.message
    }

    /// Whether whoever defines such a table is told: notes are there to be asked for.
    fn is_told(&self) -> bool {
        self.severity >= Severity::Warning || self.code == NULL_KEY
    }

    fn row(self) -> Vec<Value> {
        let text = |text: String| Value::Utf8(text.into());
        let perhaps =
            |text: Option<String>| text.map_or(Value::Null, |one| Value::Utf8(one.into()));
        vec![
            text(self.table),
            Value::from(self.code),
            Value::from(self.severity.as_str()),
            perhaps(self.column),
            text(self.message),
            text(self.why),
            text(self.help),
            perhaps(self.rewritten),
        ]
    }
}

/// The first column that a text names in backticks.
fn column(schema: &Schema, text: &str) -> Option<String> {
    let mut names = text.split('`').skip(1).step_by(2);
    let there = |name: &str| schema.columns().iter().any(|column| column.name == name);
    let is_column = |name: &&str| *name != schema.name() && there(name);
    names.find(is_column).map(str::to_owned)
}

/// The NOTICEs for what is found after a statement and was not before.
pub(crate) fn notices(
    before: &[KeyFinding],
    after: Vec<KeyFinding>,
    allowed: &[&str],
) -> Vec<Notice> {
    let new = after.into_iter().filter(|one| {
        one.is_told()
            && !allowed.contains(&one.code)
            && !before.iter().any(|known| known.repeats(one))
    });
    let (open, others): (Vec<_>, Vec<_>) = new.partition(|one| one.code == NULL_KEY);
    let notice = |code, message: &str, one: &KeyFinding| Notice {
        severity: "NOTICE",
        code,
        text: format!("{}: {message}", one.code),
        detail: Some(one.why.clone()),
        hint: Some(one.help.clone()),
    };
    let mut notices = Vec::new();
    // Columns that may be NULL often come together.
    if let [first, more @ ..] = open.as_slice() {
        let names: Vec<_> = open
            .iter()
            .filter_map(|one| one.column.as_deref())
            .collect();
        let message = match more {
            [] => first.message.clone(),
            _ => format!(
                "the key columns `{}` of `{}` may be NULL",
                names.join("`, `"),
                first.table
            ),
        };
        notices.push(notice("01K01", &message, first));
    }
    for one in &others {
        let mut said = notice("01K05", &one.message, one);
        if let (Some(hint), Some(rewritten)) = (&mut said.hint, &one.rewritten) {
            *hint = format!("{hint}:\n{rewritten}");
        }
        notices.push(said);
    }
    notices
}

/// Tells statements that define tables which findings their comments exempt.
pub(crate) fn exempt(text: &str, statements: &mut [Statement]) {
    let defines = |kind: &Asks| {
        matches!(
            kind,
            Asks::CreateTable(_) | Asks::AlterTable(_) | Asks::CreateIndex(_)
        )
    };
    if !statements.iter().any(|one| defines(&one.kind)) || !text.contains(FOR_US) {
        return;
    }
    let spans: Vec<Span> = statements.iter().map(|one| one.span).collect();
    for (statement, codes) in statements.iter_mut().zip(allowed(text, &spans)) {
        statement.allowed = codes;
    }
}

/// The rows of `sys.key_findings`.
pub(crate) fn rows(store: &Store, catalog: &Catalog) -> Vec<Vec<Value>> {
    let tables = catalog.all();
    let found = tables.iter().flat_map(|table| about(store, table));
    found.map(KeyFinding::row).collect()
}
