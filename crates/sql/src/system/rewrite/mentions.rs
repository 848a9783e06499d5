//! Whether a query is about the system.

use std::ops::ControlFlow;

use syntax::ast::{Expr, Ident, ObjectName, Query, Visit, Visitor};

use super::{casts, is_table, last_name};
use crate::system::functions;

/// Whether a query names a system table or function, or casts to a type that only they have.
pub(super) fn mentions(query: &Query) -> bool {
    query.visit(&mut Mentions).is_break()
}

struct Mentions;

impl Visitor for Mentions {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        when(is_table(relation))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        when(match expr {
            Expr::Function(function) => {
                let qualified = function.name.0.len() > 1;
                qualified
                    || last_name(&function.name).is_some_and(|name| functions::is_known(&name))
            }
            Expr::Cast { data_type, .. } => casts::is_special(data_type),
            Expr::Like { escape_char, .. } | Expr::ILike { escape_char, .. } => {
                escape_char.is_some()
            }
            Expr::Collate { .. } => true,
            Expr::Identifier(name) => is_bare_call(name),
            _ => false,
        })
    }
}

/// Whether a name alone calls a function.
pub(super) fn is_bare_call(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("current_schema")
}

fn when(found: bool) -> ControlFlow<()> {
    match found {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}
