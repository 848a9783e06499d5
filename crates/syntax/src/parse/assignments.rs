//! `SET (a, b) = …` as what it stands for: one assignment for each column.
//!
//! ```text
//!   SET (a, b) = (1, x + 1)                     SET a = 1, b = x + 1
//!   SET (a, b) = ROW (1, DEFAULT)               SET a = 1, b = DEFAULT
//!   SET (a, b) = (SELECT c, d FROM …)           SET a = (SELECT c FROM …), b = (SELECT d FROM …)
//! ```
//!
//! A query with LIMIT and without ORDER BY may find another row each time, so the values of one row would
//! come from several: it is refused.

use crate::ast;
use crate::error::Result;
use crate::reader::Reader;

/// Takes assignments to several columns apart, in a statement that begins at `start`.
pub(super) fn apart(
    reader: &Reader<'_>,
    start: usize,
    assignments: &mut Vec<ast::Assignment>,
) -> Result<()> {
    let several = |one: &ast::Assignment| matches!(one.target, ast::AssignmentTarget::Tuple(_));
    if assignments.iter().any(several) {
        let single = single(std::mem::take(assignments));
        *assignments = single.map_err(|reason| reader.invalid(start, reason))?;
    }
    Ok(())
}

/// One assignment for each column, or what is wrong.
fn single(assignments: Vec<ast::Assignment>) -> Result<Vec<ast::Assignment>, String> {
    let mut single = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let ast::AssignmentTarget::Tuple(columns) = assignment.target else {
            single.push(assignment);
            continue;
        };
        let values = values(assignment.value, columns.len())?;
        if values.len() != columns.len() {
            return Err(format!(
                "SET names {} columns, and {} values stand for them",
                columns.len(),
                values.len()
            ));
        }
        let pairs = columns.into_iter().zip(values);
        single.extend(pairs.map(|(column, value)| ast::Assignment {
            target: ast::AssignmentTarget::ColumnName(column),
            value,
        }));
    }
    Ok(single)
}

/// The values that stand on the right side, one for each column.
fn values(value: ast::Expr, columns: usize) -> Result<Vec<ast::Expr>, String> {
    match value {
        ast::Expr::Tuple(values) => Ok(values),
        ast::Expr::Nested(inner) => values(*inner, columns),
        ast::Expr::Subquery(query) => of_query(&query),
        ast::Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("row") => {
            let ast::FunctionArguments::List(list) = call.args else {
                return Ok(Vec::new());
            };
            let plain = list.args.into_iter().map(|one| match one {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Ok(expr),
                other => Err(format!("{other} cannot be assigned to a column")),
            });
            plain.collect()
        }
        other if columns == 1 => Ok(vec![other]),
        other => Err(format!(
            "SET of {columns} columns to {other}: write as many values, or a query, in parentheses"
        )),
    }
}

/// The query once for each of its columns.
fn of_query(query: &ast::Query) -> Result<Vec<ast::Expr>, String> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return Err("SET (…) = (…): the query has to be one SELECT".to_owned());
    };
    let limited = query.limit_clause.is_some() || query.fetch.is_some();
    if select.projection.len() > 1 && limited && query.order_by.is_none() {
        return Err(
            "SET (…) = (SELECT … LIMIT …): add ORDER BY, so that all values come from one row"
                .to_owned(),
        );
    }
    let items = select.projection.iter().map(|item| {
        if let ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..) = item {
            return Err("SET (…) = (SELECT * …): name the columns".to_owned());
        }
        let mut one = query.clone();
        if let ast::SetExpr::Select(select) = one.body.as_mut() {
            select.projection = vec![item.clone()];
        }
        Ok(ast::Expr::Subquery(Box::new(one)))
    });
    items.collect()
}
