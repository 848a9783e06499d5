//! A statement that all texts share which differ in their literals only.
//!
//! ```text
//!   UPDATE t SET n = n + 5 WHERE id = 7 ─┐
//!   UPDATE t SET n = n + 6 WHERE id = 9 ─┴─► UPDATE t SET n = n + $1 WHERE id = $2     prepared once
//!                        6          9   ───────────────────── $1  ────────── $2       read each time
//! ```
//!
//! A literal and a parameter in its place mean the same under three conditions, which are looked at here:
//!
//! - The statement is one of ours: a read by key, or a write without a query. There both take the type
//!   of what they stand beside, and DataFusion, which has rules of its own for literals, is not asked.
//! - The literal can be read as that type, by the same functions that read it in a statement.
//! - A number that is to be a float or a decimal stands alone, as a value of VALUES or SET. In arithmetic
//!   and comparisons it keeps its own digits as a literal, and would not as a parameter.
//!
//! The conversations in `crates/db/golden` are played both ways by a test.

use std::sync::Arc;

use keys::{Type, Value};
use syntax::{Kind, Literal, ast};

use crate::modify::{values, written_text};
use crate::prepare::Plan;
use crate::query::PlannedQuery;
use crate::scalar::written_as;
use crate::{Prepared, cast};

/// A statement whose parameters were literals.
#[derive(Clone, Debug)]
pub struct Shape {
    prepared: Prepared,
    /// For each parameter, whether it is a whole value that is assigned.
    assigned: Arc<[bool]>,
}

impl Prepared {
    /// Whether who sends the same text again, whoever it is, may have it as it is: it reads and writes
    /// tables, and what is worth keeping of it serves every run.
    pub fn is_kept(&self) -> bool {
        let planned = matches!(self.plan(), Plan::Plain | Plan::Insert(_) | Plan::Change(_));
        let kept = planned && self.query().is_some_and(PlannedQuery::is_kept);
        let whole = !self.is_silent() && self.statement().declared.is_empty();
        (kept && whole && !self.is_owned()) || self.is_shared()
    }

    /// Whether texts that differ in their literals only may share it.
    pub fn is_shared(&self) -> bool {
        let ours = match self.plan() {
            Plan::Read(_) => true,
            Plan::Insert(plan) => plan.query().is_none() && !plan.is_computed(),
            Plan::Change(plan) => plan.query().is_none(),
            Plan::Plain => matches!(
                self.statement().kind,
                Kind::Begin(_) | Kind::Commit { .. } | Kind::Rollback { .. }
            ),
            _ => false,
        };
        let whole = !self.is_silent() && self.statement().declared.is_empty();
        ours && whole && !self.is_owned() && self.lists().is_empty()
    }
}

impl Shape {
    /// The statement as one for many texts, if it can be one.
    pub fn new(prepared: Prepared) -> Option<Self> {
        if !prepared.is_shared() {
            return None;
        }
        let mut assigned = vec![false; prepared.parameters().len()];
        for expr in whole_values(&prepared.statement().kind) {
            if let Some(place) = placeholder(expr).and_then(|at| assigned.get_mut(at)) {
                *place = true;
            }
        }
        Some(Self {
            prepared,
            assigned: assigned.into(),
        })
    }

    /// The statement.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The literals as values of its parameters; `None` if one means something else where it stands.
    pub fn values(&self, literals: &[Literal<'_>]) -> Option<Vec<Value>> {
        let kinds = self.prepared.parameters();
        if kinds.len() != literals.len() {
            return None;
        }
        let places = literals.iter().zip(kinds).enumerate();
        let values = places.map(|(place, (literal, kind))| self.value(place, literal, *kind));
        values.collect()
    }

    fn value(&self, place: usize, literal: &Literal<'_>, kind: Type) -> Option<Value> {
        let assigned = self.assigned.get(place).copied().unwrap_or_default();
        match literal {
            Literal::Text(text) if assigned => {
                let declared = self.prepared.parameter_declared(place);
                written_text(text, kind, declared).ok()
            }
            Literal::Text(text) => cast(Value::from(text.as_ref()), kind).ok(),
            Literal::Number(digits) => {
                let whole = kind.is_integer() && !digits.contains(['.', 'e', 'E']);
                let fits = whole || assigned && kind.is_numeric();
                fits.then(|| written_as(digits, kind).ok()).flatten()
            }
        }
    }
}

/// The expressions that are assigned to columns as they are.
fn whole_values(kind: &Kind) -> Vec<&ast::Expr> {
    match kind {
        Kind::Insert(insert) => {
            let rows = insert.source.as_deref().and_then(values);
            let rows = rows.unwrap_or_default();
            let mut whole: Vec<_> = rows.iter().flat_map(|row| row.iter()).collect();
            let action = insert.on_conflict.as_ref().map(|clause| &clause.action);
            if let Some(ast::OnConflictAction::DoUpdate(update)) = action {
                whole.extend(update.assignments.iter().map(|one| &one.value));
            }
            whole
        }
        Kind::Update(update) => update.assignments.iter().map(|one| &one.value).collect(),
        _ => Vec::new(),
    }
}

/// Which parameter an expression is, from 0.
fn placeholder(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Placeholder(name) => {
                let number: usize = name.strip_prefix('$')?.parse().ok()?;
                number.checked_sub(1)
            }
            _ => None,
        },
        _ => None,
    }
}
