//! Generated columns: what a row has in a column that is worked out from others.
//!
//! ```text
//!   CREATE TABLE events (userhash Uint64 GENERATED ALWAYS AS (Digest::NumericHash(userid)) STORED, …)
//!
//!   a row is written     userid 7             ─ the expression ─►  userhash 7a…   whoever writes it
//!   a filter says        userid = 7           ─ the expression ─►  userhash = 7a…  so its place is known
//!                        userid IN (7, 8)                          (7a…, 7), (c3…, 8)
//! ```
//!
//! The expression is kept as SQL. It is worked out from columns of the same row and from nothing else, so
//! it has one value for the same row at all times; that is what lets a filter on the inputs stand for
//! one on the column. A column whose expression ends in `% n` has few values: they are its *buckets*,
//! and can be read one by one.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use keys::{Type, Value};
use syntax::ast::{self, Visit, VisitMut, Visitor, VisitorMut};

use crate::arithmetic::Operation;
use crate::default::parse;
use crate::names::tree_name;
use crate::scalar::{Given, Scalar, Scope};
use crate::{Error, Result, Schema, cast};

/// How many buckets a column may have to be read one by one.
pub(crate) const BUCKETS_MAX: u64 = 4096;

/// Functions that answer differently to the same arguments.
const UNSTEADY: [&str; 18] = [
    "now",
    "random",
    "setseed",
    "nextval",
    "currval",
    "lastval",
    "setval",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtime",
    "localtimestamp",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "gen_random_uuid",
    "uuid_generate_v4",
];

/// A column that is worked out from others.
#[derive(Debug)]
pub(crate) struct Generated {
    /// Where it stands in the table.
    pub(crate) position: usize,
    /// Where the columns stand that it is worked out from.
    pub(crate) inputs: Vec<usize>,
    /// All values it can have, in order, if they are few.
    pub(crate) buckets: Option<Arc<[Value]>>,
    /// How many values it has in rows that are written now, if they are few.
    pub(crate) count: Option<usize>,
    scalar: Scalar,
    /// How older rows were worked out that are not moved yet.
    former: Option<Scalar>,
}

impl Generated {
    /// Reads the expression of the column at this position.
    pub(crate) fn new(schema: &Schema, position: usize, text: &str) -> Result<Self> {
        let columns = schema.columns();
        let column = columns.get(position).ok_or_else(|| Error::Internal {
            what: "a generated column that is not there".to_owned(),
        })?;
        let fault = |reason: String| Error::Generated {
            table: schema.name().to_owned(),
            column: column.name.clone(),
            reason,
        };
        let compile = |text: &str| -> Result<Scalar> {
            let expr = parse(text).ok_or_else(|| fault(format!("{text} is not understood")))?;
            check_names(schema, position, &expr)?;
            let scalar = Scope::new(schema, None, &[]).assign(&expr, column.kind)?;
            scalar.filter(Scalar::is_pure).ok_or_else(|| {
                fault(format!(
                    "{text} cannot be worked out from a row alone: use columns, constants, \
                     arithmetic, CAST, coalesce, Hash and the Digest functions"
                ))
            })
        };
        let scalar = compile(text)?;
        let former = column.former.as_deref().map(compile).transpose()?;
        let mut inputs = Vec::new();
        scalar.collect_columns(&mut inputs);
        if let Some(former) = &former {
            former.collect_columns(&mut inputs);
        }
        inputs.sort_unstable();
        inputs.dedup();
        let nulls = inputs
            .iter()
            .any(|input| columns.get(*input).is_some_and(|one| !one.not_null));
        let buckets_of = |scalar: &Scalar| buckets(scalar, column.kind, nulls && !column.not_null);
        let own = buckets_of(&scalar);
        let buckets = match &former {
            None => own.clone(),
            Some(former) => own.clone().zip(buckets_of(former)).map(|(one, other)| {
                let all: BTreeSet<Value> = one.iter().chain(other.iter()).cloned().collect();
                all.into_iter().collect()
            }),
        };
        Ok(Self {
            position,
            inputs,
            buckets,
            count: own.map(|own| own.len()),
            scalar,
            former,
        })
    }

    /// Whether rows may be there that were worked out otherwise.
    pub(crate) fn moves(&self) -> bool {
        self.former.is_some()
    }

    /// What it may be in a row that is there: its value, and what it was by the former expression if
    /// that is another.
    pub(crate) fn values(&self, row: &[Value]) -> Result<Vec<Value>> {
        let mut values = vec![self.value(row)?];
        if let Some(former) = &self.former {
            let value = former.value(Given::at(0).with_row(row))?;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Whether all that it is worked out from is among these columns.
    pub(crate) fn follows(&self, positions: &[usize]) -> bool {
        self.inputs.iter().all(|input| positions.contains(input))
    }

    /// Its value in a row.
    pub(crate) fn value(&self, row: &[Value]) -> Result<Value> {
        self.scalar.value(Given::at(0).with_row(row))
    }
}

/// Refuses names and functions that cannot stand in the expression of a generated column.
fn check_names(schema: &Schema, position: usize, expr: &ast::Expr) -> Result<()> {
    let fault = |reason: String| Error::Generated {
        table: schema.name().to_owned(),
        column: schema.name_at(position).to_owned(),
        reason,
    };
    let column = |at: usize, name: &str| {
        if at == position {
            return Err(fault("it cannot be worked out from itself".to_owned()));
        }
        match schema.generated_by(at) {
            true => Err(fault(format!(
                "`{name}` is generated too: name the columns that it is worked out from"
            ))),
            false => Ok(()),
        }
    };
    steady(schema, expr, &fault, &column)
}

/// Refuses what cannot be worked out from a row alone, or not always alike. `column` is asked about each
/// column that is named, with its position.
pub(crate) fn steady(
    schema: &Schema,
    expr: &ast::Expr,
    fault: &dyn Fn(String) -> Error,
    column: &dyn Fn(usize, &str) -> Result<()>,
) -> Result<()> {
    let mut names = Names {
        schema,
        fault,
        column,
    };
    match expr.visit(&mut names) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Names<'n> {
    schema: &'n Schema,
    fault: &'n dyn Fn(String) -> Error,
    column: &'n dyn Fn(usize, &str) -> Result<()>,
}

impl Visitor for Names<'_> {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<Error> {
        let checked = match expr {
            ast::Expr::Identifier(name) => {
                let name = tree_name(name);
                let position = self.schema.column_position(&name);
                position.and_then(|position| (self.column)(position, &name))
            }
            ast::Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                let unsteady = UNSTEADY.contains(&name.as_str())
                    || name.starts_with("currentutc")
                    || name.starts_with("random");
                match unsteady {
                    true => Err((self.fault)(format!(
                        "{name}() is not deterministic: the same row must always have the same value"
                    ))),
                    false => Ok(()),
                }
            }
            ast::Expr::Subquery(_) | ast::Expr::InSubquery { .. } | ast::Expr::Exists { .. } => {
                Err((self.fault)(
                    "it cannot be worked out from other rows".to_owned(),
                ))
            }
            _ => Ok(()),
        };
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The values that `… % n` can have in a column of this type.
fn buckets(scalar: &Scalar, kind: Type, nulls: bool) -> Option<Arc<[Value]>> {
    let (left, right) = match scalar {
        Scalar::Cast(inner, to) if to.is_integer() => return buckets(inner, kind, nulls),
        Scalar::Arithmetic(Operation::Modulo, left, right) => (left, right),
        _ => return None,
    };
    let Scalar::Value(divisor) = right.as_ref() else {
        return None;
    };
    let left = left.kind().filter(|kind| kind.is_integer())?;
    let Value::Int64(count) = cast(divisor.clone(), Type::Int64).ok()? else {
        return None;
    };
    let signed = !matches!(
        left,
        Type::Uint8 | Type::Uint16 | Type::Uint32 | Type::Uint64
    );
    let least = if signed { 1 - count } else { 0 };
    if count < 1 || u64::try_from(count - least).ok()? > BUCKETS_MAX {
        return None;
    }
    let mut values = Vec::new();
    values.extend(nulls.then_some(Value::Null));
    for value in least..count {
        // What the column cannot hold was never written.
        values.extend(cast(Value::Int64(value), kind).ok());
    }
    Some(values.into())
}

/// The expression with a column called by its new name.
pub(crate) fn renamed(text: &str, from: &str, to: &str) -> Option<String> {
    struct Renamer<'n>(&'n str, &'n str);
    impl VisitorMut for Renamer<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            if let ast::Expr::Identifier(name) = expr
                && tree_name(name) == self.0
            {
                *name = ast::Ident::with_quote('`', self.1);
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = parse(text)?;
    let _ = VisitMut::visit(&mut expr, &mut Renamer(from, to));
    Some(expr.to_string())
}

/// What the generated columns of a key follow from.
#[derive(Clone, Debug)]
pub(crate) struct Derivation {
    /// Where its columns stand in the table: those of the key, then what else generated ones are
    /// worked out from.
    pub(crate) positions: Vec<usize>,
    rules: Vec<Rule>,
    /// How many columns a row has.
    width: usize,
}

/// How a column of the key follows from others.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Its place in the key.
    pub(crate) place: usize,
    /// The places of what it is worked out from.
    pub(crate) inputs: Vec<usize>,
    column: Arc<Generated>,
}

impl Rule {
    /// Where the columns stand in the table that it is worked out from.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.column.inputs
    }

    /// How many values it may have for the same inputs.
    pub(crate) fn ways(&self) -> usize {
        1 + usize::from(self.column.moves())
    }
}

impl Derivation {
    /// For a key over the columns at these positions, if it has generated ones.
    pub(crate) fn new(schema: &Schema, key: &[usize]) -> Option<Arc<Self>> {
        let mut positions = key.to_vec();
        let mut rules = Vec::new();
        for (place, position) in key.iter().enumerate() {
            let Some(column) = schema.generated_at(*position) else {
                continue;
            };
            let mut inputs = Vec::with_capacity(column.inputs.len());
            for input in &column.inputs {
                let known = positions.iter().position(|one| one == input);
                inputs.push(known.unwrap_or(positions.len()));
                if known.is_none() {
                    positions.push(*input);
                }
            }
            rules.push(Rule {
                place,
                inputs,
                column: Arc::clone(column),
            });
        }
        let derivation = Self {
            positions,
            rules,
            width: schema.columns().len(),
        };
        (!derivation.rules.is_empty()).then(|| Arc::new(derivation))
    }

    /// How the column at a place of the key follows from others, if it does.
    pub(crate) fn rule(&self, place: usize) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.place == place)
    }

    /// The buckets of the column at a place of the key, if it has some.
    pub(crate) fn buckets(&self, place: usize) -> Option<&Arc<[Value]>> {
        self.rule(place)?.column.buckets.as_ref()
    }

    /// The values that a rule's column may have, given those at all places. None if no row has such
    /// values.
    pub(crate) fn values(&self, rule: &Rule, values: &[Option<Value>]) -> Vec<Value> {
        self.worked_out(rule, values).unwrap_or_default()
    }

    fn worked_out(&self, rule: &Rule, values: &[Option<Value>]) -> Option<Vec<Value>> {
        let mut row = vec![Value::Null; self.width];
        for place in &rule.inputs {
            let position = self.positions.get(*place)?;
            *row.get_mut(*position)? = values.get(*place)?.clone()?;
        }
        rule.column.values(&row).ok()
    }
}
