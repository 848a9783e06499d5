//! The query by which DataFusion finds the rows of an UPDATE or DELETE.

use keys::Value;
use syntax::{Kind, ast};
use txn::Transaction;

use super::Run;
use crate::default::is_default;
use crate::names::tree_name;
use crate::{Error, Executor, Result, Schema};

/// Rows to be changed: all columns of the table, then the new values.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) query: ast::Query,
    /// Whether a row may be found several times, as joins do.
    pub(crate) joined: bool,
}

impl Found {
    pub(crate) fn new(
        schema: &Schema,
        target: &ast::TableWithJoins,
        others: &[ast::TableWithJoins],
        selection: Option<&ast::Expr>,
        assignments: &[ast::Assignment],
    ) -> Result<Self> {
        let broken = || Error::Internal {
            what: "our own query does not parse".to_owned(),
        };
        let parsed = syntax::parse("SELECT t.* FROM t").map_err(|_| broken())?;
        let Some(Kind::Query(query)) = parsed.into_iter().next().map(|one| one.kind) else {
            return Err(broken());
        };
        let mut query = *query.query;
        let ast::SetExpr::Select(select) = query.body.as_mut() else {
            return Err(broken());
        };
        let of = qualifier(target).ok_or_else(broken)?;
        select.projection.clear();
        for column in schema.columns() {
            let name = ast::Ident::with_quote('"', column.name.clone());
            let expr = ast::Expr::CompoundIdentifier(vec![of.clone(), name.clone()]);
            select
                .projection
                .push(ast::SelectItem::ExprWithAlias { expr, alias: name });
        }
        for (index, assignment) in assignments.iter().enumerate() {
            let null = ast::Expr::Value(ast::Value::Null.into());
            // A default is put in afterwards.
            let expr = match is_default(&assignment.value) {
                true => null,
                false => assignment.value.clone(),
            };
            let alias = ast::Ident::with_quote('"', format!("new {index}"));
            select
                .projection
                .push(ast::SelectItem::ExprWithAlias { expr, alias });
        }
        select.from = vec![target.clone()];
        select.from.extend(others.iter().cloned());
        select.selection = selection.cloned();
        Ok(Self {
            query,
            joined: !others.is_empty(),
        })
    }

    /// Reads them all, before any is changed.
    pub(crate) async fn rows(
        &self,
        executor: &Executor,
        transaction: &Transaction,
        run: Run<'_>,
    ) -> Result<Vec<Vec<Value>>> {
        let (reader, parameters) = (transaction.reader(), run.parameters);
        let mut answer = match run.query {
            Some(query) => query.run(reader, executor.given(parameters)).await?,
            None => {
                let query = &self.query;
                executor.select_planned(reader, query, parameters).await?
            }
        };
        let mut rows: Vec<Vec<Value>> = Vec::new();
        while let Some(more) = answer.next().await {
            rows.extend(more?);
        }
        executor.note_figures(&answer)?;
        Ok(rows)
    }
}

/// The name that columns of the table go by.
fn qualifier(target: &ast::TableWithJoins) -> Option<ast::Ident> {
    let ast::TableFactor::Table { name, alias, .. } = &target.relation else {
        return None;
    };
    let name = match alias {
        Some(alias) => tree_name(&alias.name),
        None => name.0.last()?.as_ident().map(tree_name)?,
    };
    Some(ast::Ident::with_quote('"', name))
}
