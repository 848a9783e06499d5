//! Where in a text a name stands that an error is about.
//!
//! ```text
//!   /* qty */ SELECT 'qty' AS qty, o.qty FROM orders o WHERE qty > 5
//!      ───            ───     ───     ▲
//!      comment        string  alias   the first that names a column
//! ```
//!
//! The statement is read again, which only an error costs, and its trees know where each name begins.

use std::ops::ControlFlow;

use syntax::ast::{self, Visit, Visitor};
use syntax::statement::{CopySource, Insert};
use syntax::{Kind, Span, Statement};

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    /// A table.
    Table,
    /// A column.
    Column,
}

/// Where a name stands first in the statements of a text that lie within a span, in bytes from 0. A
/// column may be qualified: `o.qty`.
pub(crate) fn find(text: &str, within: Option<Span>, thing: Thing, name: &str) -> Option<usize> {
    let statements = syntax::parse(text).ok()?;
    let mut parts = name.rsplit('.');
    let wanted = Wanted {
        thing,
        name: parts.next()?.to_owned(),
        qualifier: parts.next().map(str::to_owned),
    };
    let mut names = Names {
        wanted,
        exact: None,
        loose: None,
    };
    let inside = |one: &&Statement| {
        within.is_none_or(|within| one.span.start >= within.start && one.span.end <= within.end)
    };
    for statement in statements.iter().filter(inside) {
        let _ = syntax::deep(|| names.statement(&statement.kind));
    }
    names.exact.or(names.loose)
}

struct Wanted {
    thing: Thing,
    name: String,
    qualifier: Option<String>,
}

/// A name as it is written.
struct Word<'t> {
    value: &'t str,
    quoted: bool,
    qualifier: Option<&'t str>,
    span: Span,
}

impl<'t> Word<'t> {
    fn of(ident: &'t syntax::Ident) -> Self {
        Self {
            value: &ident.value,
            quoted: ident.quote.is_some(),
            qualifier: None,
            span: ident.span,
        }
    }
}

struct Names {
    wanted: Wanted,
    /// Where it stands first with the qualifier that is wanted.
    exact: Option<usize>,
    /// Where it stands first with another.
    loose: Option<usize>,
}

impl Names {
    fn statement(&mut self, kind: &Kind) -> ControlFlow<()> {
        match kind {
            Kind::Query(query) => query.query.visit(self),
            Kind::DeclareCursor(cursor) => cursor.query.visit(self),
            Kind::Insert(insert) => self.insert(insert),
            Kind::Update(update) => {
                update
                    .assignments
                    .iter()
                    .for_each(|one| self.assignment(one));
                update.visit(self)
            }
            Kind::Delete(delete) => delete.visit(self),
            Kind::Copy(copy) => match &copy.source {
                CopySource::Query(query) => query.visit(self),
                CopySource::Table { .. } => ControlFlow::Continue(()),
            },
            Kind::Explain(explain) => self.statement(&explain.statement.kind),
            Kind::Other(other) => other.visit(self),
            _ => ControlFlow::Continue(()),
        }
    }

    fn insert(&mut self, insert: &Insert) -> ControlFlow<()> {
        for column in &insert.columns {
            self.note(Thing::Column, Word::of(column));
        }
        if let Some(table) = insert.table.parts.last() {
            self.note(Thing::Table, Word::of(table));
        }
        if let Some(conflict) = &insert.on_conflict
            && let ast::OnConflictAction::DoUpdate(update) = &conflict.action
        {
            update
                .assignments
                .iter()
                .for_each(|one| self.assignment(one));
        }
        insert.source.visit(self)?;
        insert.on_conflict.visit(self)?;
        insert.returning.visit(self)
    }

    fn assignment(&mut self, assignment: &ast::Assignment) {
        if let ast::AssignmentTarget::ColumnName(name) = &assignment.target
            && let Some(column) = name.0.last().and_then(|part| part.as_ident())
        {
            self.ident(Thing::Column, column, None);
        }
    }

    fn ident(&mut self, thing: Thing, ident: &ast::Ident, qualifier: Option<&ast::Ident>) {
        let word = Word {
            value: &ident.value,
            quoted: ident.quote_style.is_some(),
            qualifier: qualifier.map(|one| one.value.as_str()),
            span: Span::from(ident.span),
        };
        self.note(thing, word);
    }

    fn note(&mut self, thing: Thing, word: Word<'_>) {
        let Word {
            value,
            quoted,
            qualifier,
            span,
        } = word;
        let wanted = &self.wanted;
        let same = match quoted {
            true => value == wanted.name,
            false => value.eq_ignore_ascii_case(&wanted.name),
        };
        if thing != wanted.thing || !same || !span.is_known() {
            return;
        }
        let exact = match (&wanted.qualifier, qualifier) {
            (Some(wanted), Some(qualifier)) => wanted.eq_ignore_ascii_case(qualifier),
            (None, None) => true,
            _ => false,
        };
        let place = if exact {
            &mut self.exact
        } else {
            &mut self.loose
        };
        let first = place.map_or(span.start, |known| known.min(span.start));
        *place = Some(first);
    }
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
        let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        match parts.as_slice() {
            [.., of, table] => self.ident(Thing::Table, table, Some(of)),
            [table] => self.ident(Thing::Table, table, None),
            [] => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        match expr {
            ast::Expr::Identifier(name) => self.ident(Thing::Column, name, None),
            ast::Expr::CompoundIdentifier(parts) => {
                if let [.., of, name] = parts.as_slice() {
                    self.ident(Thing::Column, name, Some(of));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, thing: Thing, name: &str) -> Option<usize> {
        find(text, None, thing, name)
    }

    #[test]
    fn strings_comments_and_aliases_are_passed_over() {
        let text = "/* qty */ SELECT 'qty' AS qty, o.qty FROM orders o WHERE qty > 5 -- qty";
        let at = text.find("o.qty").unwrap() + 2;
        assert_eq!(place(text, Thing::Column, "o.qty"), Some(at));
        let at = text.rfind("qty >").unwrap();
        assert_eq!(place(text, Thing::Column, "qty"), Some(at));
        let at = text.find("orders").unwrap();
        assert_eq!(place(text, Thing::Table, "orders"), Some(at));
        assert_eq!(place(text, Thing::Column, "orders"), None);
    }

    #[test]
    fn names_to_be_written_are_found_too() {
        let text = "INSERT INTO t (a, \"B b\") VALUES ('a', 1) ON CONFLICT (a) DO UPDATE SET c = 1";
        let at = text.find("\"B").unwrap();
        assert_eq!(place(text, Thing::Column, "B b"), Some(at));
        let at = text.find("c = 1").unwrap();
        assert_eq!(place(text, Thing::Column, "c"), Some(at));
        let text = "UPDATE t SET nope = 'nope'";
        assert_eq!(place(text, Thing::Column, "nope"), Some(13));
    }

    #[test]
    fn only_the_statement_that_failed_is_looked_at() {
        let text = "SELECT a FROM t; SELECT a FROM u";
        let within = Some(Span::new(17, text.len()));
        assert_eq!(find(text, within, Thing::Column, "a"), Some(24));
    }
}
