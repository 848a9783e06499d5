//! What one session has counted: `nextval`, `currval` and `lastval`.
//!
//! A sequence belongs to the database and the last number that a session took from it to the session.
//! So each session has an [`crate::Executor`] of its own, all of which share everything but this.
//!
//! `SELECT nextval('s')` and its like, without a table, are worked out here and never meet DataFusion;
//! beside the rows of a query they are functions of its plan (`query/counting.rs`).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use keys::{Type, Value};
use parking_lot::Mutex;
use syntax::ast;
use txn::{Store, TableId};

use crate::default::spelled_name;
use crate::names::tree_name;
use crate::query::{ResultColumn, title};
use crate::scalar::{Function, Given, Scalar, Scope};
use crate::{Catalog, Error, Result, cast};

/// The numbers that a session took last.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    taken: BTreeMap<TableId, i64>,
    last: Option<TableId>,
}

impl Counted {
    /// Notes a number that was taken from a sequence.
    pub(crate) fn took(&mut self, sequence: TableId, number: i64) {
        self.taken.insert(sequence, number);
        self.last = Some(sequence);
    }

    /// Notes where a sequence was set, which is no number taken unless one was before.
    pub(crate) fn set(&mut self, sequence: TableId, number: i64) {
        self.taken.insert(sequence, number);
    }

    /// The number that was taken from a sequence last.
    pub(crate) fn current(&self, sequence: TableId) -> Option<i64> {
        self.taken.get(&sequence).copied()
    }

    /// The number that was taken last from any sequence.
    pub(crate) fn last(&self) -> Option<i64> {
        self.current(self.last?)
    }
}

/// The sequences of a database as one session sees them. Clones share what was taken.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    counted: Arc<Mutex<Counted>>,
}

impl Counter {
    pub(crate) fn new(store: &Arc<Store>, catalog: &Arc<Catalog>) -> Self {
        Self {
            store: Arc::clone(store),
            catalog: Arc::clone(catalog),
            counted: Arc::default(),
        }
    }

    /// A random UUID of version 4.
    pub(crate) fn random_uuid(&self) -> Value {
        let random = u128::from(self.store.random()) << 64 | u128::from(self.store.random());
        let version = 4_u128 << 76;
        let variant = 2_u128 << 62;
        let free = !(0xf_u128 << 76 | 3_u128 << 62);
        Value::Uuid((random & free | version | variant).to_be_bytes())
    }

    /// `nextval(name)`.
    pub(crate) fn next_value(&self, arguments: &[Value]) -> Result<Value> {
        let [Value::Utf8(name)] = arguments else {
            return Ok(Value::Null);
        };
        let sequence = self.catalog.sequence(&spelled_name(name))?;
        let number = sequence.next(&self.store)?;
        self.counted.lock().took(sequence.id(), number);
        Ok(Value::Int64(number))
    }

    /// `currval(name)`.
    pub(crate) fn current_value(&self, arguments: &[Value]) -> Result<Value> {
        let [Value::Utf8(name)] = arguments else {
            return Ok(Value::Null);
        };
        let name = spelled_name(name);
        let sequence = self.catalog.sequence(&name)?;
        let taken = self.counted.lock().current(sequence.id());
        let not_yet = || not_yet(&format!("currval of sequence `{name}`"));
        taken.map(Value::Int64).ok_or_else(not_yet)
    }

    /// `lastval()`.
    pub(crate) fn last_value(&self) -> Result<Value> {
        let last = self.counted.lock().last();
        last.map(Value::Int64).ok_or_else(|| not_yet("lastval"))
    }

    /// `setval(name, value [, called])`.
    pub(crate) fn set_value(&self, arguments: &[Value]) -> Result<Value> {
        let mut arguments = arguments.iter().cloned();
        let (Some(Value::Utf8(name)), Some(value)) = (arguments.next(), arguments.next()) else {
            return Ok(Value::Null);
        };
        let called = arguments.next() != Some(Value::Bool(false));
        let sequence = self.catalog.sequence(&spelled_name(&name))?;
        let value = cast(value, Type::Int64)?;
        if let Value::Int64(value) = value {
            sequence.set(&self.store, value, called)?;
            if called {
                self.counted.lock().set(sequence.id(), value);
            }
        }
        Ok(value)
    }
}

/// A SELECT of expressions over sequences, without a table.
#[derive(Debug)]
pub(crate) struct CountPlan {
    items: Vec<Scalar>,
    pub(crate) columns: Arc<[ResultColumn]>,
}

impl CountPlan {
    /// The statement, if it is one, and the types of its parameters.
    pub(crate) fn new(
        query: &ast::Query,
        hints: &[Option<Type>],
    ) -> Result<Option<(Self, Vec<Option<Type>>)>> {
        let ast::SetExpr::Select(select) = query.body.as_ref() else {
            return Ok(None);
        };
        let plain = select.from.is_empty()
            && select.selection.is_none()
            && select.distinct.is_none()
            && query.with.is_none()
            && query.limit_clause.is_none();
        if !plain || !counts(query) {
            return Ok(None);
        }
        let mut scope = Scope::rowless(hints);
        let (mut items, mut columns) = (Vec::new(), Vec::new());
        for item in &select.projection {
            let (expr, name) = match item {
                ast::SelectItem::UnnamedExpr(expr) => (expr, title(expr)),
                ast::SelectItem::ExprWithAlias { expr, alias } => (expr, Some(tree_name(alias))),
                _ => return Ok(None),
            };
            let Some(scalar) = scope.compile(expr, None)? else {
                return Ok(None);
            };
            let kind = scalar.kind().unwrap_or(Type::Utf8);
            columns.push(ResultColumn::new(name.unwrap_or_default(), kind));
            items.push(scalar);
        }
        let plan = Self {
            items,
            columns: columns.into(),
        };
        Ok(Some((plan, scope.parameters)))
    }

    /// The one row.
    pub(crate) fn row(&self, given: Given<'_>) -> Result<Vec<Value>> {
        self.items.iter().map(|item| item.value(given)).collect()
    }
}

/// Whether a query calls a function about sequences.
fn counts(query: &ast::Query) -> bool {
    struct Finds;
    impl ast::Visitor for Finds {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
            match expr {
                ast::Expr::Function(call) if Function::find(call).is_some_and(Function::counts) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    syntax::deep(|| ast::Visit::visit(query, &mut Finds)).is_break()
}

/// The error of a session that asks for a number before it took one.
fn not_yet(what: &str) -> Error {
    Error::NotCounted {
        what: what.to_owned(),
    }
}
