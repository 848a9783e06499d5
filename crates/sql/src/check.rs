//! CHECK: conditions that every row of a table keeps.
//!
//! ```text
//!   CHECK (price > 0 AND note LIKE 'f%')
//!
//!   kept as SQL over the columns of the table, worked out for each row before it becomes bytes:
//!   an expression of ours where it is one, otherwise one of DataFusion's over a batch of one row
//!
//!   true, NULL     the row is written
//!   false          23514, and nothing is
//! ```
//!
//! A condition speaks of its row and of nothing else, so a row that was allowed once is allowed for ever.

use std::ops::ControlFlow;

use keys::{Type, Value};
use syntax::ast::{self, Visit, VisitMut, Visitor, VisitorMut};

use crate::default::parse;
use crate::generated::{renamed, steady};
use crate::names::tree_name;
use crate::query::RowCondition;
use crate::scalar::{Given, Scalar, Scope};
use crate::schema::Check;
use crate::system::quoted;
use crate::{ConstraintError, Error, Fault, Result, Schema};

/// A condition that is ready to be worked out.
#[derive(Debug)]
pub(crate) struct Condition {
    name: String,
    /// Where the columns stand that it speaks of.
    pub(crate) inputs: Vec<usize>,
    how: How,
}

#[derive(Debug)]
enum How {
    Ours(Scalar),
    Planned(RowCondition),
}

impl Condition {
    /// Reads the condition of a table.
    pub(crate) fn new(schema: &Schema, check: &Check) -> Result<Self> {
        let fault = |reason: String| {
            ConstraintError::BadCheck {
                table: schema.name().to_owned(),
                check: check.name.clone(),
                reason,
            }
            .into()
        };
        let text = &check.text;
        let expr = parse(text).ok_or_else(|| fault(format!("{text} is not understood")))?;
        let inputs = std::cell::RefCell::new(Vec::new());
        let note = |position: usize, _: &str| {
            inputs.borrow_mut().push(position);
            Ok(())
        };
        steady(schema, &expr, &fault, &note)?;
        let mut inputs = inputs.into_inner();
        inputs.sort_unstable();
        inputs.dedup();
        let ours = Scope::new(schema, None, &[]).compile(&expr, Some(Type::Bool))?;
        let how = match ours.filter(Scalar::is_pure) {
            Some(scalar) => match scalar.kind() {
                Some(Type::Bool) | None => How::Ours(scalar),
                Some(kind) => return Err(not_boolean(&check.name, kind)),
            },
            None => {
                let planned = RowCondition::new(schema, &inputs, text)?;
                How::Planned(planned.map_err(|kind| not_boolean(&check.name, kind))?)
            }
        };
        Ok(Self {
            name: check.name.clone(),
            inputs,
            how,
        })
    }

    /// An error if the row does not keep it.
    pub(crate) fn check(&self, schema: &Schema, row: &[Value]) -> Result<()> {
        let value = match &self.how {
            How::Ours(scalar) => scalar.value(Given::at(0).with_row(row))?,
            How::Planned(condition) => condition.value(row)?,
        };
        match value {
            Value::Bool(false) => Err(ConstraintError::Unchecked {
                table: schema.name().to_owned(),
                check: self.name.clone(),
                detail: schema.shown(row),
            }
            .into()),
            _ => Ok(()),
        }
    }
}

fn not_boolean(check: &str, kind: Type) -> Error {
    Error::Refused {
        fault: Fault::Type,
        what: format!("the CHECK `{check}` is of type {kind}: it must be true or false"),
    }
}

/// A condition in PostgreSQL's words: names are quoted as it does.
pub(crate) fn spelled(text: &str) -> String {
    struct Quotes;
    impl VisitorMut for Quotes {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::Identifier(name) = expr {
                let plain = tree_name(name);
                *name = match quoted(&plain) == plain {
                    true => ast::Ident::new(plain),
                    false => ast::Ident::with_quote('"', plain),
                };
            }
            ControlFlow::Continue(())
        }
    }
    let Some(mut expr) = parse(text) else {
        return text.to_owned();
    };
    let _ = VisitMut::visit(&mut expr, &mut Quotes);
    expr.to_string()
}

/// Whether an expression speaks of a column.
pub(crate) fn mentions(expr: &ast::Expr, column: &str) -> bool {
    struct Looks<'n>(&'n str);
    impl Visitor for Looks<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
            match expr {
                ast::Expr::Identifier(name) if tree_name(name) == self.0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Looks(column)).is_break()
}

/// The text of a condition that a statement puts on a table: columns go without the table's name, so that
/// it may have another one later.
pub(crate) fn canonical(table: &str, expr: &ast::Expr) -> String {
    struct Bare<'n>(&'n str);
    impl VisitorMut for Bare<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::CompoundIdentifier(parts) = expr
                && let [.., of, column] = parts.as_slice()
                && tree_name(of) == self.0
            {
                *expr = ast::Expr::Identifier(column.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = expr.clone();
    let _ = VisitMut::visit(&mut expr, &mut Bare(table));
    expr.to_string()
}

/// Calls a column by its new name in conditions.
pub(crate) fn rename_column(checks: &mut [Check], from: &str, to: &str) {
    for check in checks {
        if let Some(text) = renamed(&check.text, from, to) {
            check.text = text;
        }
    }
}
