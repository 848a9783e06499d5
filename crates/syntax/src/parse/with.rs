//! UPDATE and DELETE after WITH: what WITH names is put where it is named.
//!
//! ```text
//!   WITH job AS (SELECT …) UPDATE t SET … FROM job WHERE t.id = job.id
//!                          UPDATE t SET … FROM (SELECT …) AS job WHERE t.id = job.id
//! ```
//!
//! WITH RECURSIVE, and queries in WITH that write, stay as they are.

use std::ops::ControlFlow;

use crate::ast::{self, VisitMut as _};
use crate::statement::{Kind, Query};

/// The statement that a query is: itself, unless what stands after WITH writes.
pub(super) fn statement(mut query: Box<ast::Query>) -> Kind {
    let plain = |query: Box<ast::Query>| {
        Kind::Query(Query {
            discard: false,
            query,
        })
    };
    let writes = matches!(
        query.body.as_ref(),
        ast::SetExpr::Update(ast::Statement::Update(_))
            | ast::SetExpr::Delete(ast::Statement::Delete(_))
    );
    let Some(with) = query.with.as_ref().filter(|with| writes && !with.recursive) else {
        return plain(query);
    };
    if with.cte_tables.iter().any(|cte| !reads(&cte.query)) {
        return plain(query);
    }
    let with = query.with.take().map(|with| with.cte_tables);
    let mut named = Named(Vec::new());
    for mut cte in with.unwrap_or_default() {
        let _ = cte.query.visit(&mut named);
        named.0.push(cte);
    }
    match *query.body {
        ast::SetExpr::Update(ast::Statement::Update(mut update)) => {
            // The table itself is never one that WITH names.
            let _ = update.from.visit(&mut named);
            let _ = update.assignments.visit(&mut named);
            let _ = update.selection.visit(&mut named);
            let _ = update.returning.visit(&mut named);
            Kind::Update(Box::new(update))
        }
        ast::SetExpr::Delete(ast::Statement::Delete(mut delete)) => {
            let _ = delete.using.visit(&mut named);
            let _ = delete.selection.visit(&mut named);
            let _ = delete.returning.visit(&mut named);
            Kind::Delete(Box::new(delete))
        }
        body => {
            query.body = Box::new(body);
            plain(query)
        }
    }
}

/// Whether a query of WITH only reads.
fn reads(query: &ast::Query) -> bool {
    !matches!(
        query.body.as_ref(),
        ast::SetExpr::Insert(_)
            | ast::SetExpr::Update(_)
            | ast::SetExpr::Delete(_)
            | ast::SetExpr::Merge(_)
    )
}

/// What WITH names, in order; a later one hides an earlier one.
struct Named(Vec<ast::Cte>);

impl ast::VisitorMut for Named {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<()> {
        let ast::TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let [part] = name.0.as_slice() else {
            return ControlFlow::Continue(());
        };
        let asked = part.as_ident().map(folded);
        let mut found = self.0.iter().rev();
        let Some(cte) = found.find(|cte| Some(folded(&cte.alias.name)) == asked) else {
            return ControlFlow::Continue(());
        };
        let mut named = alias.take().unwrap_or_else(|| cte.alias.clone());
        if named.columns.is_empty() {
            named.columns.clone_from(&cte.alias.columns);
        }
        *factor = ast::TableFactor::Derived {
            lateral: false,
            subquery: cte.query.clone(),
            alias: Some(named),
            sample: None,
        };
        ControlFlow::Continue(())
    }
}

fn folded(name: &ast::Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}
