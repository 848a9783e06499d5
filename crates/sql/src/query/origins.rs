//! What PostgreSQL says of a result's columns besides their type, found in the plan that gives them.
//!
//! ```text
//!   Projection: a AS x, max(b), c::varchar(3)      x: column 1 of t, varchar(9) as it was declared
//!   Aggregate: by a, max(b)                        max(b): a timestamp, as b is
//!   Scan of t                                      c: varchar(3), as the cast says
//! ```
//!
//! A column that is passed on unchanged is traced down to its table. It is looked for in the plan as it
//! was first made: optimising folds casts into what they are applied to.

use datafusion::arrow::datatypes::Field;
use datafusion::common::JoinType;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Operator, TableScan};
use datafusion::scalar::ScalarValue;
use keys::{Declared, Type};

use super::checked::Checked;
use super::columns::DECLARED_KEY;
use super::provider::ReadTable;
use super::results::kind_of;
use super::titles::{Origin, ResultColumn};

/// What is known of a column.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(super) declared: Declared,
    pub(super) origin: Option<Origin>,
    /// Whether its digits are those of a column or a cast, and not of a computation.
    pub(super) exact: bool,
    /// Whether it is JSON, which Arrow has no type for: it is text, and functions forget the rest.
    pub(super) json: bool,
}

/// Functions that answer with one of their arguments, or with one that is like it.
const PASSES_ON: [&str; 12] = [
    "coalesce",
    "date_bin",
    "date_trunc",
    "first_value",
    "greatest",
    "lag",
    "last_value",
    "lead",
    "least",
    "max",
    "min",
    "nullif",
];

/// What is known of each column of a plan's result.
pub(crate) fn told(plan: &LogicalPlan) -> Vec<Told> {
    let columns = 0..plan.schema().fields().len();
    columns.map(|column| output(plan, column)).collect()
}

/// What is known of one of the columns that a plan gives.
pub(super) fn output(plan: &LogicalPlan, index: usize) -> Told {
    let nth = |exprs: &[Expr], index: usize, input: &LogicalPlan| {
        let expr = exprs.get(index);
        expr.map_or_else(Told::default, |expr| of(expr, input))
    };
    match plan {
        LogicalPlan::Projection(node) => nth(&node.expr, index, &node.input),
        LogicalPlan::Aggregate(node) => match index.checked_sub(node.group_expr.len()) {
            None => nth(&node.group_expr, index, &node.input),
            Some(index) => nth(&node.aggr_expr, index, &node.input),
        },
        LogicalPlan::Window(node) => match index.checked_sub(node.input.schema().fields().len()) {
            None => output(&node.input, index),
            Some(index) => nth(&node.window_expr, index, &node.input),
        },
        LogicalPlan::Distinct(Distinct::All(input)) => output(input, index),
        LogicalPlan::Distinct(Distinct::On(node)) => nth(&node.select_expr, index, &node.input),
        LogicalPlan::Filter(node) => output(&node.input, index),
        LogicalPlan::Sort(node) => output(&node.input, index),
        LogicalPlan::Limit(node) => output(&node.input, index),
        LogicalPlan::SubqueryAlias(node) => output(&node.input, index),
        LogicalPlan::Subquery(node) => output(&node.subquery, index),
        LogicalPlan::Join(node) => {
            let left = node.left.schema().fields().len();
            match (node.join_type, index.checked_sub(left)) {
                (JoinType::RightSemi | JoinType::RightAnti, _) => output(&node.right, index),
                (JoinType::LeftMark | JoinType::RightMark, _) => Told::default(),
                (_, None) => output(&node.left, index),
                (_, Some(index)) => output(&node.right, index),
            }
        }
        LogicalPlan::Union(node) => {
            let each = node
                .inputs
                .iter()
                .map(|input| match untyped_in(input, index) {
                    true => None,
                    false => Some(output(input, index).declared),
                });
            Told {
                declared: united(each.collect()),
                ..Told::default()
            }
        }
        LogicalPlan::RecursiveQuery(node) => output(&node.static_term, index).computed(),
        LogicalPlan::TableScan(scan) => scanned(scan, index).unwrap_or_default(),
        _ => Told::default(),
    }
}

fn scanned(scan: &TableScan, index: usize) -> Option<Told> {
    let position = match &scan.projection {
        None => index,
        Some(positions) => *positions.get(index)?,
    };
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<ReadTable>()?.table();
    let column = ResultColumn::of(table, position)?;
    Some(Told {
        declared: column.declared,
        origin: column.origin,
        exact: true,
        json: false,
    })
}

/// What is known of an expression over the columns that a plan gives.
pub(super) fn of(expr: &Expr, input: &LogicalPlan) -> Told {
    let first = |arguments: &[Expr]| among(arguments.iter(), input);
    match expr {
        Expr::Column(column) => match input.schema().maybe_index_of_column(column) {
            Some(index) => output(input, index),
            None => Told::default(),
        },
        Expr::Alias(alias) => of(&alias.expr, input),
        Expr::Cast(cast) => Told::cast(declared_in(&cast.field)),
        Expr::TryCast(cast) => Told::cast(declared_in(&cast.field)),
        Expr::ScalarSubquery(query) => output(&query.subquery, 0).computed(),
        Expr::Case(case) => {
            // ELSE comes first as in PostgreSQL, and is NULL if it is not written.
            let null = Expr::Literal(ScalarValue::Null, None);
            let otherwise = case.else_expr.as_deref().unwrap_or(&null);
            let branches = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
            among(std::iter::once(otherwise).chain(branches), input)
        }
        // A time and a span of time, and parts of a document.
        Expr::BinaryExpr(both) if matches!(both.op, Operator::Plus | Operator::Minus) => {
            match of(&both.left, input).computed() {
                told if told.declared != Declared::Usual => told,
                _ => of(&both.right, input).computed(),
            }
        }
        Expr::ScalarFunction(call) => match Checked::cast_of(expr) {
            Some(declared) => Told::cast(declared),
            // It knows whether it answers with JSON.
            None if Checked::output_of(expr).is_some() => {
                let told = first(&call.args);
                Told {
                    json: false,
                    declared: match told.declared {
                        Declared::Char(_) => Declared::Usual,
                        other => other,
                    },
                    ..told
                }
            }
            None if call.name() == "nullif" => nullif(&call.args, input),
            None if passes_on(call.name()) => first(&call.args),
            None => Told::default(),
        },
        Expr::AggregateFunction(call) if passes_on(call.func.name()) => first(&call.params.args),
        Expr::WindowFunction(call) if passes_on(call.fun.name()) => {
            among(call.params.args.iter().take(1), input)
        }
        _ => Told::default(),
    }
}

/// What `nullif` answers with: its first argument, as it is compared with the second.
fn nullif(arguments: &[Expr], input: &LogicalPlan) -> Told {
    let told = among(arguments.iter().take(1), input);
    let text = |other: &Expr| !untyped(other) && is_text(of(other, input).declared);
    match (told.declared, arguments.get(1)) {
        (Declared::Char(_), Some(other)) if text(other) => Told {
            declared: Declared::Usual,
            ..told
        },
        _ => told,
    }
}

fn is_text(declared: Declared) -> bool {
    matches!(declared, Declared::Usual | Declared::Varchar(_))
}

/// Whether an expression takes its type from others.
fn untyped(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => untyped(&alias.expr),
        Expr::Literal(ScalarValue::Null | ScalarValue::Utf8(_), _) | Expr::Placeholder(_) => true,
        _ => false,
    }
}

/// The same of a column that a plan gives.
fn untyped_in(plan: &LogicalPlan, index: usize) -> bool {
    match plan {
        LogicalPlan::Projection(node) => node.expr.get(index).is_some_and(untyped),
        _ => false,
    }
}

/// What something is that is one of these; `None` is what takes its type from the others. As in
/// PostgreSQL the first one decides between characters and text, and they are of a length only if all
/// are of that length.
fn united(each: Vec<Option<Declared>>) -> Declared {
    let is_char = |one: &Declared| matches!(one, Declared::Char(_));
    let first = each.iter().flatten().next().copied().unwrap_or_default();
    let alike = each.iter().all(|one| *one == Some(first));
    let mut typed = each.iter().flatten().copied();
    match typed.clone().any(|one| is_char(&one)) {
        _ if alike => first,
        true if is_char(&first) => Declared::Char(None),
        true => Declared::Usual,
        false => match typed.all(|one| one.computed() == first.computed()) {
            true => first.computed(),
            false => Declared::Usual,
        },
    }
}

/// What is known of something that is one of these.
fn among<'e>(exprs: impl Iterator<Item = &'e Expr>, input: &LogicalPlan) -> Told {
    let mut all = Told::default();
    let mut each = Vec::new();
    for expr in exprs {
        let told = of(expr, input).computed();
        each.push((!untyped(expr)).then_some(told.declared));
        if all.declared == Declared::Usual {
            all.declared = told.declared;
        }
        let field = expr.to_field(input.schema());
        all.json |= told.json || field.is_ok_and(|(_, field)| kind_of(&field) == Type::Json);
    }
    if matches!(all.declared, Declared::Char(_)) {
        all.declared = united(each);
    }
    all
}

fn passes_on(function: &str) -> bool {
    PASSES_ON.contains(&function)
}

/// What a cast's target was declared as.
pub(super) fn declared_in(field: &Field) -> Declared {
    match field.metadata().get(DECLARED_KEY).map(String::as_str) {
        None => Declared::Usual,
        Some("numeric") => Declared::Numeric,
        Some(name) => Declared::parse(name),
    }
}

impl Told {
    fn cast(declared: Declared) -> Self {
        Self {
            declared,
            origin: None,
            exact: true,
            json: false,
        }
    }

    /// The same of something that was computed of it: lengths do not stay, and it is no column.
    fn computed(self) -> Self {
        Self {
            declared: self.declared.computed(),
            origin: None,
            exact: false,
            json: self.json,
        }
    }
}
