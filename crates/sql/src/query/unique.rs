//! Columns of a result that are written alike.
//!
//! `SELECT NULL, NULL` and `SELECT t.id, t.*` are fine in SQL, and DataFusion refuses two columns of
//! one name. One of them gets a name of its own, which begins with the one that it should have; what
//! the client sees ends at [`MARK`].

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use syntax::ast::{Expr, Ident, Query, Select, SelectItem, SetExpr, VisitMut, VisitorMut};

use crate::names::tree_name;

/// What ends a name that the client sees; no name that is written has it.
const MARK: char = '\u{1f}';

/// Gives columns of a SELECT that are written alike names of their own.
pub(super) fn name(query: &mut Query) {
    let _ = VisitMut::visit(query, &mut Unique);
    // Nobody refers to the columns of the result, so a column beside a `*` may be called anything.
    if let SetExpr::Select(select) = query.body.as_mut()
        && select.projection.iter().any(is_star)
    {
        for (position, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(name) = column(expr)
            {
                *item = renamed(expr, &name, position);
            }
        }
    }
}

/// The name that a client sees of a column.
pub(super) fn seen(name: &str) -> &str {
    name.split(MARK).next().unwrap_or(name)
}

fn is_star(item: &SelectItem) -> bool {
    matches!(
        item,
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
    )
}

/// The name of a plain column.
fn column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(tree_name(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(tree_name),
        _ => None,
    }
}

/// A name that a client sees as this one.
pub(super) fn marked(name: &str, position: usize) -> String {
    format!("{name}{MARK}{position}")
}

fn renamed(expr: &Expr, name: &str, position: usize) -> SelectItem {
    SelectItem::ExprWithAlias {
        expr: expr.clone(),
        alias: Ident::with_quote('"', marked(name, position)),
    }
}

struct Unique;

impl VisitorMut for Unique {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut written = BTreeSet::new();
        for (position, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(expr) = item
                && !written.insert(expr.to_string())
            {
                let name = column(expr).unwrap_or_else(|| "?column?".to_owned());
                *item = renamed(expr, &name, position);
            }
        }
        ControlFlow::Continue(())
    }
}
