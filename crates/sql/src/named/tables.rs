//! The prefix of table names: `orders` after `PRAGMA TablePathPrefix("/shop")` is `/shop/orders`.
//!
//! A name that begins with a slash is a whole path and stays. So do names of several parts: those are
//! schemas of PostgreSQL and system views.

use std::ops::ControlFlow;

use syntax::statement::{CopySource, Show};
use syntax::table::AlterationKind;
use syntax::{Kind, Name, ast};

use super::trees;
use crate::names::column_name;

/// The path of a table, if the prefix changes its name.
pub(super) fn path(name: &str, prefix: Option<&str>) -> Option<String> {
    let prefix = prefix.filter(|_| !name.starts_with('/'))?;
    Some(format!("{prefix}/{name}"))
}

/// Puts the prefix before the tables that a statement names outside of the parser's trees.
pub(super) fn prefix(kind: &mut Kind, prefix: Option<&str>) {
    if prefix.is_none() {
        return;
    }
    let mut names: Vec<&mut Name> = Vec::new();
    match kind {
        Kind::CreateTable(create) => names.push(&mut create.name),
        Kind::AlterTable(alter) => {
            names.push(&mut alter.name);
            for action in &mut alter.actions {
                if let AlterationKind::RenameTo(name) = &mut action.kind {
                    names.push(name);
                }
            }
        }
        Kind::DropTable(drop) => names.extend(&mut drop.names),
        Kind::Truncate(truncate) => names.extend(&mut truncate.names),
        Kind::Vacuum(vacuum) => names.extend(&mut vacuum.names),
        Kind::Advise(advise) => names.push(&mut advise.table),
        Kind::CreateIndex(create) => names.push(&mut create.table),
        Kind::Insert(insert) => {
            // ON CONFLICT may name the table.
            if insert.alias.is_none() && insert.on_conflict.is_some() {
                insert.alias = insert.table.parts.last().cloned();
            }
            names.push(&mut insert.table);
        }
        Kind::Copy(copy) => {
            if let CopySource::Table { table, .. } = &mut copy.source {
                names.push(table);
            }
        }
        Kind::Show(Show::CreateTable(name)) => names.push(name),
        Kind::Explain(explain) => self::prefix(&mut explain.statement.kind, prefix),
        _ => {}
    }
    for name in names {
        if let [part] = name.parts.as_mut_slice()
            && let Some(path) = path(&column_name(part), prefix)
        {
            part.value = path;
            part.quote = Some('`');
        }
    }
}

/// Whether a statement has columns that name their table, which must then keep its name.
pub(super) fn qualifies(kind: &mut Kind) -> bool {
    trees::visit(kind, &mut Qualified).is_break()
}

/// Whether an expression has.
pub(super) fn qualifies_expr(expr: &mut ast::Expr) -> bool {
    ast::VisitMut::visit(expr, &mut Qualified).is_break()
}

struct Qualified;

impl ast::VisitorMut for Qualified {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        match expr {
            ast::Expr::CompoundIdentifier(_) | ast::Expr::QualifiedWildcard(..) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<()> {
        let qualified =
            |item: &ast::SelectItem| matches!(item, ast::SelectItem::QualifiedWildcard(..));
        match select.projection.iter().any(qualified) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
