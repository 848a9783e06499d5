//! An altered table, told in terms of the one that it was.
//!
//! ```text
//!   before   a        b       c          CHECK (x > c AND new < 7)     after
//!            ┆        ┆       ┆
//!   after    x (a)            c   new    CHECK (a > c AND 1 < 7)       before, if new was added DEFAULT 1
//! ```
//!
//! Columns are told by where they are stored: names come, go and are exchanged.

use std::ops::ControlFlow;

use keys::Value;
use syntax::ast::{self, VisitMut, VisitorMut};

use super::{Check, ForeignKey, Parts};
use crate::check::spelled;
use crate::default::parse;
use crate::named::build;
use crate::names::tree_name;
use crate::scalar::{Given, Scope};

/// What the columns of an altered table were before.
#[derive(Debug)]
pub(crate) struct Before<'p> {
    old: &'p Parts,
    new: &'p Parts,
    /// Where each column stood, if it was there.
    positions: Vec<Option<usize>>,
}

impl<'p> Before<'p> {
    pub(crate) fn new(old: &'p Parts, new: &'p Parts) -> Self {
        let mut positions = vec![None; new.columns.len()];
        for (was, is) in stored(old).into_iter().zip(stored(new)) {
            if let Some(entry) = is.and_then(|is| positions.get_mut(is)) {
                *entry = was;
            }
        }
        Self {
            old,
            new,
            positions,
        }
    }

    /// Where a column stood, if it was there.
    pub(crate) fn position(&self, column: usize) -> Option<usize> {
        self.positions.get(column).copied().flatten()
    }

    /// Whether all rows that were there have the same in a column, because it is new.
    pub(crate) fn is_alike(&self, column: usize) -> bool {
        let generated = self.new.columns.get(column).map(|one| &one.generated);
        self.position(column).is_none() && generated == Some(&None)
    }

    /// Whether the old table kept a condition, under whatever name.
    pub(crate) fn had_check(&self, check: &Check) -> bool {
        let same = |before: &Check| {
            let mut old = self.old.checks.iter();
            old.any(|one| spelled(&one.text) == spelled(&before.text))
        };
        self.check(check).as_ref().is_some_and(same)
    }

    /// Whether the old table kept a foreign key, under whatever name.
    pub(crate) fn had_foreign_key(&self, key: &ForeignKey) -> bool {
        let same = |before: &ForeignKey| {
            let what = |key: &ForeignKey| (key.columns.clone(), key.parent, key.target);
            let mut old = self.old.foreign_keys.iter();
            old.any(|one| what(one) == what(before))
        };
        self.foreign_key(key).as_ref().is_some_and(same)
    }

    /// A condition on the rows as they were that says the same of each of them; `None` if none does.
    pub(crate) fn check(&self, check: &Check) -> Option<Check> {
        struct Translator<'b> {
            before: &'b Before<'b>,
        }
        impl VisitorMut for Translator<'_> {
            type Break = ();

            fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
                if let ast::Expr::Identifier(name) = expr {
                    match self.before.expr(&tree_name(name)) {
                        Some(was) => *expr = was,
                        None => return ControlFlow::Break(()),
                    }
                }
                ControlFlow::Continue(())
            }
        }
        let mut expr = parse(&check.text)?;
        let outcome = VisitMut::visit(&mut expr, &mut Translator { before: self });
        outcome.is_continue().then(|| Check {
            name: check.name.clone(),
            text: expr.to_string(),
        })
    }

    /// The same foreign key over the columns as they were; `None` if one of them is new.
    pub(crate) fn foreign_key(&self, key: &ForeignKey) -> Option<ForeignKey> {
        let columns = key.columns.iter().map(|column| self.position(*column));
        Some(ForeignKey {
            columns: columns.collect::<Option<_>>()?,
            ..key.clone()
        })
    }

    /// What rows had that now have a column of this name.
    fn expr(&self, name: &str) -> Option<ast::Expr> {
        let mut columns = self.new.columns.iter();
        let column = columns.position(|column| column.name == name)?;
        match self.position(column) {
            Some(was) => {
                let name = &self.old.columns.get(was)?.name;
                Some(ast::Expr::Identifier(ast::Ident::with_quote('`', name)))
            }
            None => self.constant(column),
        }
    }

    /// What all rows have in a new column.
    fn constant(&self, position: usize) -> Option<ast::Expr> {
        if !self.is_alike(position) {
            return None;
        }
        let column = self.new.columns.get(position)?;
        let mut slots = self.new.slots.iter();
        let missing = &slots.find(|slot| slot.column == Some(position))?.missing;
        let expr = match missing {
            Value::Null => build::value(ast::Value::Null),
            _ => parse(column.default.as_ref()?)?,
        };
        let expr = build::cast(expr, column.kind);
        // A default that has another value by now, or that was fitted to the column, does not say it.
        let scalar = Scope::default().compile(&expr, Some(column.kind)).ok()??;
        let value = scalar.value(Given::at(0)).ok()?;
        (scalar.is_pure() && value == *missing).then_some(expr)
    }
}

/// The columns in the order in which rows are stored.
fn stored(parts: &Parts) -> Vec<Option<usize>> {
    let slots = parts.slots.iter().map(|slot| slot.column);
    parts.key.iter().copied().map(Some).chain(slots).collect()
}
