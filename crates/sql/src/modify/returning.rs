//! What a statement answers of the rows it wrote.

use std::sync::Arc;

use keys::{Declared, Type, Value};
use syntax::ast;
use txn::Transaction;

use super::find_row;
use crate::execute::{Answer, AnswerRows};
use crate::foreign::Changed;
use crate::names::tree_name;
use crate::query::{ResultColumn, title};
use crate::scalar::{Given, Scalar, Scope};
use crate::{Error, Executor, Result, Table};

/// What RETURNING asks for.
#[derive(Debug)]
pub(crate) struct Returning {
    items: Vec<Scalar>,
    pub(crate) columns: Arc<[ResultColumn]>,
}

impl Returning {
    pub(crate) fn new(
        table: &Table,
        items: Option<&[ast::SelectItem]>,
        scope: &mut Scope<'_>,
    ) -> Result<Option<Self>> {
        let Some(items) = items else { return Ok(None) };
        let schema = table.schema();
        let (mut scalars, mut columns) = (Vec::new(), Vec::new());
        let mut add = |scalar: Scalar, name: String, expr: Option<&ast::Expr>| {
            columns.push(described(table, &scalar, name, expr));
            scalars.push(scalar);
        };
        for item in items {
            let (expr, name) = match item {
                ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..) => {
                    for position in schema.visible() {
                        if let Some(column) = schema.columns().get(position) {
                            let name = column.name.clone();
                            add(Scalar::Column(position, column.kind), name, None);
                        }
                    }
                    continue;
                }
                ast::SelectItem::UnnamedExpr(expr) => (expr, title(expr)),
                ast::SelectItem::ExprWithAlias { expr, alias } => (expr, Some(tree_name(alias))),
                ast::SelectItem::ExprWithAliases { expr, .. } => {
                    return Err(unsupported(expr));
                }
            };
            if let ast::Expr::Identifier(ident) = expr {
                schema.column_position(&tree_name(ident))?;
            }
            let scalar = scope.compile(expr, None)?;
            add(
                scalar.ok_or_else(|| unsupported(expr))?,
                name.unwrap_or_default(),
                Some(expr),
            );
        }
        Ok(Some(Self {
            items: scalars,
            columns: columns.into(),
        }))
    }
}

/// What an item looks like to who asked for it.
fn described(
    table: &Table,
    scalar: &Scalar,
    name: String,
    expr: Option<&ast::Expr>,
) -> ResultColumn {
    let kind = scalar.kind().unwrap_or(Type::Utf8);
    let plain = ResultColumn::new(name, kind);
    match (scalar, expr) {
        // A cast that changes nothing is a column by now.
        (_, Some(ast::Expr::Cast { data_type, .. })) => ResultColumn {
            declared: syntax::cast_declared(data_type).of(kind),
            ..plain
        },
        (Scalar::Column(position, _), _) => match ResultColumn::of(table, *position) {
            Some(column) => ResultColumn {
                name: plain.name,
                ..column
            },
            None => plain,
        },
        _ if matches!(kind, Type::Decimal { .. }) => ResultColumn {
            declared: Declared::Numeric,
            ..plain
        },
        _ => plain,
    }
}

fn unsupported(expr: &ast::Expr) -> Error {
    Error::Unsupported {
        what: format!("{expr} after RETURNING"),
    }
}

/// Rows that a statement wrote, counted and kept if somebody wants them back.
pub(super) struct Written<'p> {
    command: &'static str,
    returning: Option<&'p Returning>,
    rows: Vec<Vec<Value>>,
    count: u64,
    /// The rows before and after, if foreign keys are about them.
    changed: Option<Vec<Changed>>,
}

impl<'p> Written<'p> {
    /// What a statement writes to a table, which is `related` to others or not.
    pub(super) fn new(
        command: &'static str,
        returning: Option<&'p Returning>,
        related: bool,
    ) -> Self {
        Self {
            command,
            returning,
            rows: Vec::new(),
            count: 0,
            changed: related.then(Vec::new),
        }
    }

    /// Notes that a row was changed, made or deleted.
    pub(super) fn note(
        &mut self,
        table: &Arc<Table>,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) {
        if let Some(changed) = &mut self.changed {
            changed.push(Changed::new(table, old, new));
        }
    }

    /// Keeps the foreign keys of what was written, and of what follows from it.
    pub(super) fn settle(
        &mut self,
        executor: &Executor,
        transaction: &mut Transaction,
    ) -> Result<()> {
        match self.changed.take() {
            Some(changed) => executor.settle(transaction, changed),
            None => Ok(()),
        }
    }

    pub(super) fn add(&mut self, row: &[Value], given: Given<'_>) -> Result<()> {
        self.count += 1;
        if let Some(executor) = given.executor {
            executor.saw(row);
        }
        if let Some(returning) = self.returning {
            let given = given.with_row(row);
            let values = returning.items.iter().map(|item| item.value(given));
            self.rows.push(values.collect::<Result<_>>()?);
        }
        Ok(())
    }

    /// The same of a row that was just put into a table, which may know more of it by then.
    pub(super) fn add_written(
        &mut self,
        transaction: &Transaction,
        table: &Table,
        row: &[Value],
        given: Given<'_>,
    ) -> Result<()> {
        let found = match (table.collection(), self.returning) {
            (Some(_), Some(_)) => find_row(transaction, table, row)?,
            _ => None,
        };
        self.add(found.as_deref().unwrap_or(row), given)
    }

    pub(super) fn finish(self) -> Answer {
        match self.returning {
            None => Answer::Done {
                command: self.command,
                rows: Some(self.count),
            },
            Some(returning) => Answer::Rows(AnswerRows::ready(
                self.command,
                Arc::clone(&returning.columns),
                self.rows,
            )),
        }
    }
}
