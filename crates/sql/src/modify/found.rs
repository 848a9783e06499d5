//! The query that finds the rows of an UPDATE or DELETE.

use std::sync::Arc;

use keys::{Type, Value};
use syntax::{Kind, ast};
use txn::Transaction;

use super::Returning;
use crate::constant::note_parameter;
use crate::names::{tree_name, tree_table_name};
use crate::query::ResultColumn;
use crate::{Error, Executor, Result, Table};

/// Rows to be changed: all columns of the table, then the new values.
pub(crate) struct Found {
    pub(crate) table: Arc<Table>,
    pub(crate) query: ast::Query,
    /// Which column each new value is for.
    pub(crate) assigned: Vec<usize>,
}

impl Found {
    /// Parameters that are assigned to a column have its type.
    pub(crate) fn assigned_parameters(&self, update: &ast::Update, kinds: &mut Vec<Option<Type>>) {
        for (assignment, position) in update.assignments.iter().zip(&self.assigned) {
            if let Some(column) = self.table.schema().columns().get(*position) {
                note_parameter(kinds, &assignment.value, column.kind);
            }
        }
    }

    /// What the statement answers with.
    pub(crate) fn returning(
        &self,
        items: Option<&[ast::SelectItem]>,
    ) -> Result<Option<Arc<[ResultColumn]>>> {
        Ok(Returning::new(&self.table, items)?.map(|returning| returning.columns))
    }

    /// Reads them all, before any is changed.
    pub(crate) async fn rows(
        &self,
        executor: &Executor,
        transaction: &Transaction,
        parameters: &[Value],
    ) -> Result<Vec<Vec<Value>>> {
        let reader = transaction.reader();
        let mut answer = executor.select(reader, &self.query, parameters).await?;
        let mut rows = Vec::new();
        while let Some(more) = answer.next().await {
            rows.extend(more?);
        }
        Ok(rows)
    }
}

/// The rows of an UPDATE with their new values.
pub(crate) fn update_query(executor: &Executor, update: &ast::Update) -> Result<Found> {
    let refused = update.from.is_some()
        || update.output.is_some()
        || update.or.is_some()
        || update.limit.is_some()
        || !update.order_by.is_empty();
    if refused {
        return Err(Error::Unsupported {
            what: "UPDATE with FROM, ORDER BY or LIMIT".to_owned(),
        });
    }
    let table = one_table(executor, &update.table)?;
    let mut assigned = Vec::new();
    let mut values = Vec::new();
    for assignment in &update.assignments {
        let ast::AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(Error::Unsupported {
                what: "SET (a, b) = …".to_owned(),
            });
        };
        let position = table.schema().column_position(&last_name(name))?;
        assigned.push(position);
        let alias = ast::Ident::with_quote('"', format!("new {}", values.len()));
        values.push(ast::SelectItem::ExprWithAlias {
            expr: assignment.value.clone(),
            alias,
        });
    }
    let query = select_from(&update.table, update.selection.as_ref(), values)?;
    Ok(Found {
        table,
        query,
        assigned,
    })
}

/// The rows of a DELETE.
pub(crate) fn delete_query(executor: &Executor, delete: &ast::Delete) -> Result<Found> {
    let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
        &delete.from;
    let refused = delete.using.is_some() || delete.limit.is_some() || !delete.order_by.is_empty();
    let [from] = from.as_slice() else {
        return Err(Error::Unsupported {
            what: "DELETE from several tables".to_owned(),
        });
    };
    if refused {
        return Err(Error::Unsupported {
            what: "DELETE with USING, ORDER BY or LIMIT".to_owned(),
        });
    }
    let table = one_table(executor, from)?;
    let query = select_from(from, delete.selection.as_ref(), Vec::new())?;
    Ok(Found {
        table,
        query,
        assigned: Vec::new(),
    })
}

fn one_table(executor: &Executor, from: &ast::TableWithJoins) -> Result<Arc<Table>> {
    match &from.relation {
        ast::TableFactor::Table { name, .. } if from.joins.is_empty() => {
            executor.catalog().get(&tree_table_name(name)?)
        }
        _ => Err(Error::Unsupported {
            what: "a statement that changes a join".to_owned(),
        }),
    }
}

fn last_name(name: &ast::ObjectName) -> String {
    name.0
        .last()
        .and_then(|part| part.as_ident())
        .map(tree_name)
        .unwrap_or_default()
}

/// `SELECT *, values FROM table WHERE selection`.
fn select_from(
    from: &ast::TableWithJoins,
    selection: Option<&ast::Expr>,
    values: Vec<ast::SelectItem>,
) -> Result<ast::Query> {
    let broken = || Error::Internal {
        what: "our own query does not parse".to_owned(),
    };
    let parsed = syntax::parse("SELECT * FROM t").map_err(|_| broken())?;
    let Some(Kind::Query(query)) = parsed.into_iter().next().map(|one| one.kind) else {
        return Err(broken());
    };
    let mut query = *query.query;
    let ast::SetExpr::Select(select) = query.body.as_mut() else {
        return Err(broken());
    };
    select.projection.extend(values);
    select.from = vec![from.clone()];
    select.selection = selection.cloned();
    Ok(query)
}
