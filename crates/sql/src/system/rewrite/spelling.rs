//! Columns of `.sys`, whose names YDB spells with capitals.
//!
//! A name without quotes means its lower-case spelling here, so in a query over `sys` a name that is
//! one of its columns but for capitals is taken to be that column.

use std::ops::ControlFlow;

use syntax::ast::{Expr, Ident, ObjectName, Query, Visit, VisitMut, Visitor, VisitorMut};

use super::system_table;
use crate::system::definition::{Definition, SYS};

/// Spells the columns of `sys` as they are.
pub(super) fn spell(query: &mut Query) {
    let mut tables = Tables(Vec::new());
    let _ = Visit::visit(query, &mut tables);
    if !tables.0.is_empty() {
        let _ = VisitMut::visit(query, &mut Spell(tables.0));
    }
}

/// The tables of `sys` that a query names.
struct Tables(Vec<&'static Definition>);

impl Visitor for Tables {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let mine = system_table(relation).filter(|one| one.schema == SYS);
        self.0.extend(mine);
        ControlFlow::Continue(())
    }
}

struct Spell(Vec<&'static Definition>);

impl Spell {
    fn ident(&self, ident: &mut Ident) {
        if ident.quote_style.is_some() {
            return;
        }
        let columns = self.0.iter().flat_map(|one| &one.columns);
        for column in columns {
            if column.name.eq_ignore_ascii_case(&ident.value) {
                ident.value = column.name.to_owned();
                ident.quote_style = Some('"');
                return;
            }
        }
    }
}

impl VisitorMut for Spell {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.ident(ident),
            Expr::CompoundIdentifier(parts) => {
                if let Some(last) = parts.last_mut() {
                    self.ident(last);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
