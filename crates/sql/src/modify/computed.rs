//! DO UPDATE with expressions that only DataFusion works out.
//!
//! ```text
//!   SET v = upper(t.v) || excluded.v       SELECT upper(CAST($2 AS Utf8)) || CAST($4 AS Utf8)
//!                                          $1       the statement's own parameters, as far as they are used
//!                                          $2, $3   the row that is there
//!                                          $4, $5   the row that was to be inserted
//! ```
//!
//! It is planned when the first row stands in the way, and asked for each of those.

use std::ops::ControlFlow;

use keys::{Type, Value};
use syntax::ast;
use txn::Reader;

use crate::named::build;
use crate::names::tree_name;
use crate::query::{PlannedQuery, Wanted};
use crate::scalar::{Given, Scalar, Scope};
use crate::{Error, Result, Schema};

/// A query for values that depend on two rows.
#[derive(Debug)]
pub(super) struct Computed {
    query: ast::Query,
    /// How many parameters stand before the rows.
    parameters: usize,
    kinds: Vec<Type>,
}

impl Computed {
    /// The query for these expressions over rows of a table.
    pub(super) fn new(
        schema: &Schema,
        exprs: &[&ast::Expr],
        scope: &mut Scope<'_>,
    ) -> Result<Self> {
        let mut exprs: Vec<ast::Expr> = exprs.iter().copied().cloned().collect();
        let mut most = Most(0);
        let _ = ast::Visit::visit(&exprs, &mut most);
        let mut places = Places {
            schema,
            scope,
            parameters: most.0,
        };
        if let ControlFlow::Break(error) = ast::VisitMut::visit(&mut exprs, &mut places) {
            return Err(error);
        }
        let mut query = build::selected("1").ok_or_else(|| Error::Internal {
            what: "our own query does not parse".to_owned(),
        })?;
        if let ast::SetExpr::Select(select) = query.body.as_mut() {
            let items = exprs.into_iter().enumerate();
            let items = items.map(|(number, expr)| ast::SelectItem::ExprWithAlias {
                expr,
                alias: build::quoted(&format!("new {number}")),
            });
            select.projection = items.collect();
        }
        Ok(Self {
            query,
            parameters: most.0,
            kinds: schema.columns().iter().map(|column| column.kind).collect(),
        })
    }

    /// The values for the two rows in `given`. `planned` is kept between the rows of one statement.
    pub(super) async fn values(
        &self,
        reader: Reader,
        given: Given<'_>,
        planned: &mut Option<PlannedQuery>,
    ) -> Result<Vec<Value>> {
        let executor = given.executor.ok_or_else(|| Error::Internal {
            what: "a statement is run by nobody".to_owned(),
        })?;
        let mut parameters: Vec<Value> = given.parameters.to_vec();
        parameters.resize(self.parameters, Value::Null);
        let planned = match planned {
            Some(planned) => planned,
            None => {
                let mut hints: Vec<_> = parameters.iter().map(Value::value_type).collect();
                let kinds = self.kinds.iter().chain(&self.kinds);
                hints.extend(kinds.map(|kind| Some(*kind)));
                let wanted = Wanted {
                    query: &self.query,
                    hints: &hints,
                    shown: false,
                };
                planned.insert(Box::pin(executor.plan(&reader, wanted)).await?)
            }
        };
        parameters.extend(given.row.iter().chain(given.excluded).cloned());
        let given = Given {
            parameters: &parameters,
            ..given
        };
        let mut answer = Box::pin(planned.run(reader, given)).await?;
        while let Some(rows) = answer.next().await {
            if let Some(row) = rows?.into_iter().next() {
                return Ok(row);
            }
        }
        Ok(Vec::new())
    }
}

/// The greatest number of a parameter.
struct Most(usize);

impl ast::Visitor for Most {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|one| one.parse().ok())
        {
            self.0 = self.0.max(number);
        }
        ControlFlow::Continue(())
    }
}

/// Puts parameters in the place of columns.
struct Places<'p, 's> {
    schema: &'p Schema,
    scope: &'p mut Scope<'s>,
    parameters: usize,
}

impl Places<'_, '_> {
    fn place(&mut self, expr: &ast::Expr) -> Result<usize> {
        match self.scope.compile(expr, None)? {
            Some(Scalar::Column(position, _)) => Ok(position),
            Some(Scalar::Excluded(position, _)) => Ok(self.schema.columns().len() + position),
            _ => {
                let name = match expr {
                    ast::Expr::Identifier(name) => tree_name(name),
                    other => other.to_string(),
                };
                // It is none of the table's, and this says so.
                self.schema.column_position(&name)
            }
        }
    }
}

impl ast::VisitorMut for Places<'_, '_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _query: &mut ast::Query) -> ControlFlow<Error> {
        ControlFlow::Break(Error::Unsupported {
            what: "a query in DO UPDATE".to_owned(),
        })
    }

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Error> {
        if !matches!(
            expr,
            ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
        ) {
            return ControlFlow::Continue(());
        }
        match self.place(expr) {
            Ok(place) => {
                let columns = self.schema.columns();
                let column = columns.iter().cycle().nth(place);
                let value = build::placeholder(self.parameters + place + 1);
                *expr = match column {
                    Some(column) => build::cast(value, column.kind),
                    None => value,
                };
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}
