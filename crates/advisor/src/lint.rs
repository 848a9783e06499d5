//! Findings about the keys of a schema, from its text alone.
//!
//! ```text
//!   text ──syntax::schema──► definitions ──model──► tables ──rules──► findings
//!                            with places            one model         code, place, why, rewrite
//!                            per dialect            for all
//! ```
//!
//! A [`Source`] is a text that was read; [`Source::findings`] judges its tables and
//! [`Source::query_findings`] judges queries against them. [`render`] prints a finding the way a
//! compiler does, [`fix`] writes the rewritten statements into the text.
//!
//! What the linter does not know it guesses from names and types: a `Uint64` called `order_id` that
//! leads the key of `orders` is likely counted up, one called `userid` in `events` is not. Guesses say
//! so in their message, and are warnings, not errors.
//!
//! A statement can be exempted by a comment in it, before it, or behind it on its last line:
//! `-- evenkeel: allow KEY003 old clients send NULL`.

mod allow;
mod dialect;
pub mod explain;
pub mod finding;
pub mod fix;
mod held;
pub mod model;
mod nature;
pub mod render;
mod rewrite;
mod rules;
mod types;

pub use allow::allowed;
pub use dialect::{dialect_name, dialect_named, guess};
pub use explain::{CODES, explain};
pub use finding::{Edit, Finding, Severity};
pub use fix::fix;
pub use syntax::schema::Dialect;
pub use syntax::{Error, Position, Span};

use held::Reference;
use model::Table;
use syntax::schema::{Definition, DefinitionKind};

/// A text with what was read of it.
#[derive(Clone, Debug)]
pub struct Source<'t> {
    /// The text.
    pub text: &'t str,
    /// Whose SQL it is.
    pub dialect: Dialect,
    /// The tables it makes, with what it says about them later.
    pub tables: Vec<Table>,
    /// What could not be read; the rest was.
    pub errors: Vec<Error>,
    /// Which of its tables name which by foreign keys.
    references: Vec<Reference>,
    /// The places of its statements.
    statements: Vec<Span>,
    /// The places of its comments that speak to this program.
    comments: Vec<Span>,
    /// Whether it is about a table of this database, which splits by load and keeps buckets by itself.
    ours: bool,
}

impl<'t> Source<'t> {
    /// Reads a text, in a dialect that is guessed when none is named.
    pub fn read(text: &'t str, dialect: Option<Dialect>) -> Self {
        let dialect = dialect.unwrap_or_else(|| guess(text));
        let mut source = Self {
            text,
            dialect,
            tables: Vec::new(),
            errors: Vec::new(),
            references: Vec::new(),
            statements: Vec::new(),
            comments: Vec::new(),
            ours: false,
        };
        match syntax::schema::read(text, dialect) {
            Ok(schema) => {
                source.comments = schema.comments;
                source
                    .comments
                    .retain(|comment| allow::is_for_us(comment.slice(text)));
                for definition in schema.definitions {
                    match definition {
                        Ok(definition) => {
                            source.statements.push(definition.span);
                            source.references.extend(references(&definition));
                            model::add(&mut source.tables, dialect, definition);
                        }
                        Err(error) => source.errors.push(error),
                    }
                }
            }
            Err(error) => source.errors.push(error),
        }
        source
    }

    /// Reads the statement that this database shows for one of its own tables.
    pub fn read_ours(text: &'t str) -> Self {
        Self {
            ours: true,
            ..Self::read(text, Some(Dialect::Ydb))
        }
    }

    /// What is to be said about its tables, in the order of the text.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .tables
            .iter()
            .flat_map(|table| {
                let found = rules::judge(self, table).into_iter();
                found.map(|finding| held::leave(self, table, finding))
            })
            .filter(|finding| !allow::is_allowed(self, finding))
            .collect();
        for finding in &mut findings {
            finding.rewritten = rewrite::rewritten(self.text, &self.statements, &finding.edits);
        }
        findings.sort_by_key(|finding| (finding.span.start, finding.code));
        findings
    }

    /// What is to be said about queries on its tables, and which of them could not be read.
    pub fn query_findings(&self, queries: &str) -> (Vec<Finding>, Vec<Error>) {
        rules::judge_queries(self, queries)
    }

    /// The statement that holds a place.
    pub(crate) fn statement(&self, offset: usize) -> Option<Span> {
        let holds = |span: &&Span| span.start <= offset && offset <= span.end;
        self.statements.iter().find(holds).copied()
    }
}

/// The foreign keys of a statement.
fn references(definition: &Definition) -> Vec<Reference> {
    let from = match &definition.kind {
        DefinitionKind::Table(table) => &table.name,
        DefinitionKind::Alter { table, .. } => table,
        DefinitionKind::Index { .. } | DefinitionKind::Other => return Vec::new(),
    };
    let last = |name: &syntax::Name| name.parts.last().map(|part| part.value.clone());
    let named = definition.refers.iter().filter_map(|to| {
        Some(Reference {
            from: last(from)?,
            to: last(to)?,
        })
    });
    named.collect()
}
