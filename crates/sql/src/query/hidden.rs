//! `*` without hidden columns.
//!
//! A table that was made without a primary key has a hidden one. It can be named like any column, but
//! `*` does not stand for it. DataFusion knows no such columns, so where a SELECT has a `*`, the others
//! are written out, or such a table becomes a subquery of the others:
//!
//! ```text
//!   SELECT *, key FROM h            →   SELECT x, y, key FROM h
//!   SELECT * FROM h AS a JOIN t …   →   SELECT * FROM (SELECT x, y FROM h) AS a JOIN t …
//! ```

use std::ops::ControlFlow;

use syntax::ast::{self, VisitMut, VisitorMut};

use crate::names::{tree_name, tree_table_name};
use crate::{Catalog, Schema};

/// Rewrites a query so that no `*` in it stands for a hidden column.
pub(crate) fn hide(catalog: &Catalog, query: &mut ast::Query) {
    if catalog.has_hidden_columns() {
        let _ = query.visit(&mut Hider { catalog });
    }
}

struct Hider<'c> {
    catalog: &'c Catalog,
}

impl VisitorMut for Hider<'_> {
    type Break = ();

    /// After the parts, or the subqueries made here would be visited again.
    fn post_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<()> {
        let is_star = |item: &ast::SelectItem| {
            matches!(
                item,
                ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..)
            )
        };
        if select.projection.iter().any(is_star) && !self.expand(select) {
            for from in &mut select.from {
                self.hide_in(&mut from.relation);
                for join in &mut from.joins {
                    self.hide_in(&mut join.relation);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Hider<'_> {
    /// Writes the columns out that each `*` stands for, if all are of one table: then the others can
    /// still be named beside it. Whether that was possible.
    fn expand(&self, select: &mut ast::Select) -> bool {
        let [from] = select.from.as_slice() else {
            return false;
        };
        let ast::TableFactor::Table { name, .. } = &from.relation else {
            return false;
        };
        let plain = ast::WildcardAdditionalOptions::default();
        let written = |item: &ast::SelectItem| match item {
            ast::SelectItem::Wildcard(options) | ast::SelectItem::QualifiedWildcard(_, options) => {
                *options == plain
            }
            _ => true,
        };
        if !from.joins.is_empty() || !select.projection.iter().all(written) {
            return false;
        }
        let Ok(table) = tree_table_name(name).and_then(|name| self.catalog.relation(&name)) else {
            return false;
        };
        if table.schema().has_hidden_columns() {
            let items = std::mem::take(&mut select.projection).into_iter();
            let expanded = items.flat_map(|item| match item {
                ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..) => {
                    visible_items(table.schema())
                }
                other => vec![other],
            });
            select.projection = expanded.collect();
        }
        true
    }

    fn hide_in(&self, factor: &mut ast::TableFactor) {
        if let ast::TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.hide_in(&mut table_with_joins.relation);
            for join in &mut table_with_joins.joins {
                self.hide_in(&mut join.relation);
            }
            return;
        }
        let ast::TableFactor::Table { name, alias, .. } = factor else {
            return;
        };
        let Ok(table) = tree_table_name(name).and_then(|name| self.catalog.relation(&name)) else {
            return;
        };
        if !table.schema().has_hidden_columns() {
            return;
        }
        let own_name = || {
            let last = name.0.last().and_then(|part| part.as_ident())?;
            Some(ast::Ident::with_quote('"', tree_name(last)))
        };
        let alias = alias.clone().or_else(|| {
            Some(ast::TableAlias {
                explicit: true,
                name: own_name()?,
                columns: Vec::new(),
                at: None,
            })
        });
        let Some(subquery) = visible_columns(table.schema(), factor) else {
            return;
        };
        *factor = ast::TableFactor::Derived {
            lateral: false,
            subquery: Box::new(subquery),
            alias,
            sample: None,
        };
    }
}

/// `SELECT x, y FROM table`, the table being what it was but for its alias.
fn visible_columns(schema: &Schema, factor: &ast::TableFactor) -> Option<ast::Query> {
    let mut factor = factor.clone();
    if let ast::TableFactor::Table { alias, .. } = &mut factor {
        *alias = None;
    }
    let items = visible_items(schema);
    let parsed = syntax::parse("SELECT 1 FROM t").ok()?;
    let Some(syntax::Kind::Query(query)) = parsed.into_iter().next().map(|one| one.kind) else {
        return None;
    };
    let mut query = *query.query;
    let ast::SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    select.projection = items;
    select.from.first_mut()?.relation = factor;
    Some(query)
}

/// The columns that `*` stands for.
fn visible_items(schema: &Schema) -> Vec<ast::SelectItem> {
    let columns = schema.visible().filter_map(|at| schema.columns().get(at));
    let names = columns.map(|column| ast::Ident::with_quote('"', column.name.clone()));
    names
        .map(|name| ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(name)))
        .collect()
}
