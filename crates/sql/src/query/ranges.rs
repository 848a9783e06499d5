//! DataFusion's filters as conditions on key columns.
//!
//! What a filter compares a key column with is known only when the statement runs: it may be a
//! parameter, the time, or a computation on them. So a filter is taken apart when the statement is
//! planned ([`Filters::new`]) and its values are worked out at each run ([`Filters::conditions`]).

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Schema as ArrowSchema};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{BinaryExpr, ColumnarValue, Expr, Operator};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::scalar::ScalarValue;
use keys::{Type, Value};

use super::columns::data_type;
use super::{parameters, results};
use crate::conditions::{Condition, Conditions, Inclusive};
use crate::generated::Derivation;
use crate::{Column, Schema};

/// What filters, which must all hold, ask of key columns.
#[derive(Clone, Debug)]
pub(crate) struct Filters {
    key_columns: usize,
    terms: Vec<Term>,
    /// How generated columns of the key follow from others.
    derivation: Option<Arc<Derivation>>,
}

/// What one filter asks of one key column.
#[derive(Clone, Debug)]
struct Term {
    column: usize,
    kind: Type,
    asked: Asked,
}

#[derive(Clone, Debug)]
enum Asked {
    Compare(Operator, Arc<dyn PhysicalExpr>),
    OneOf(Vec<Arc<dyn PhysicalExpr>>),
    Null,
}

impl Filters {
    /// What filters ask of the columns at the positions `key`.
    pub(crate) fn new(
        schema: &Schema,
        key: &[usize],
        filters: &[Expr],
        properties: &ExecutionProps,
    ) -> Self {
        let derivation = Derivation::new(schema, key);
        let columns = derivation.as_ref().map_or(key, |one| &one.positions).iter();
        let mut finder = Finder {
            key: columns.filter_map(|at| schema.columns().get(*at)).collect(),
            properties,
            terms: Vec::new(),
        };
        for filter in filters {
            finder.add(filter);
        }
        Self {
            key_columns: key.len(),
            terms: finder.terms,
            derivation,
        }
    }

    /// What is asked, with the values of this run.
    pub(crate) fn conditions(&self) -> Conditions {
        let mut found = Conditions::new(self.key_columns, self.derivation.as_ref());
        for term in &self.terms {
            match &term.asked {
                Asked::Null => found.add(term.column, Condition::OneOf(vec![Value::Null])),
                Asked::Compare(op, expr) => {
                    if let Some(condition) = compare(*op, expr, term.kind) {
                        found.add(term.column, condition);
                    }
                }
                Asked::OneOf(exprs) => {
                    let values = exprs.iter().map(|expr| exact(&value(expr)?, term.kind));
                    if let Some(mut values) = values.collect::<Option<Vec<Value>>>() {
                        values.retain(|value| !value.is_null());
                        found.add(term.column, Condition::OneOf(values));
                    }
                }
            }
        }
        found
    }

    /// How many columns the key has.
    pub(crate) fn key_columns(&self) -> usize {
        self.key_columns
    }

    /// What is asked, with the values of this run and with ranges told apart by the columns up to
    /// this one.
    pub(crate) fn merged(&self, column: usize) -> Conditions {
        let mut conditions = self.conditions();
        conditions.merge(column);
        conditions
    }

    /// How many ranges there are to merge if they are told apart by the first columns, of which each
    /// has one value or buckets. `None` if one of them has neither.
    pub(crate) fn mergeable(&self, columns: usize) -> Option<usize> {
        let mut product: usize = 1;
        for column in 0..columns {
            if self.fixes(column) {
                continue;
            }
            let free = !self.terms.iter().any(|term| term.column == column);
            let buckets = self.derivation.as_ref()?.buckets(column)?;
            product = product.saturating_mul(Some(buckets.len()).filter(|_| free)?);
        }
        Some(product)
    }

    /// Whether a key column, by its place in the key, can have one value only.
    pub(crate) fn fixes(&self, column: usize) -> bool {
        let inputs = self.derivation.as_ref().and_then(|one| one.rule(column));
        let inputs = inputs.filter(|rule| rule.ways() == 1);
        let inputs = inputs.map(|rule| rule.inputs.as_slice());
        self.fixes_itself(column)
            || inputs.is_some_and(|inputs| inputs.iter().all(|one| self.fixes_itself(*one)))
    }

    fn fixes_itself(&self, column: usize) -> bool {
        let fixes = |asked: &Asked| match asked {
            Asked::Null => true,
            Asked::Compare(op, _) => matches!(op, Operator::Eq | Operator::IsNotDistinctFrom),
            Asked::OneOf(values) => values.len() == 1,
        };
        self.terms
            .iter()
            .any(|term| term.column == column && fixes(&term.asked))
    }

    /// How much of the key is bound: twice the columns that are bound to values, and one more if the
    /// next is bound to a range. Buckets that are read one by one are worth less than a value.
    pub(crate) fn bound(&self) -> usize {
        let (mut bound, mut buckets) = (0, 0);
        for column in 0..self.key_columns {
            if self.to_values(column) {
                bound += 2;
            } else if self.by_buckets(column) {
                buckets = 1;
            } else {
                bound += usize::from(self.asks(column));
                break;
            }
        }
        if bound > 1 { bound - buckets } else { bound }
    }

    /// Whether a key column is bound to values, by itself or by what it is worked out from.
    fn to_values(&self, column: usize) -> bool {
        let to_values = |asked: &Asked| match asked {
            Asked::Compare(op, _) => matches!(op, Operator::Eq | Operator::IsNotDistinctFrom),
            Asked::Null | Asked::OneOf(_) => true,
        };
        let is_bound = |column: &usize| {
            let mut terms = self.terms.iter();
            terms.any(|term| term.column == *column && to_values(&term.asked))
        };
        let rule = self.derivation.as_ref().and_then(|one| one.rule(column));
        is_bound(&column) || rule.is_some_and(|rule| rule.inputs.iter().all(is_bound))
    }

    /// Whether a key column has buckets that are read one by one.
    fn by_buckets(&self, column: usize) -> bool {
        let derivation = self.derivation.as_ref();
        let buckets = derivation.and_then(|one| one.buckets(column));
        let next = column + 1 < self.key_columns && self.asks(column + 1);
        buckets.is_some() && next && !self.asks(column)
    }

    fn asks(&self, column: usize) -> bool {
        self.terms.iter().any(|term| term.column == column)
    }

    /// Whether a key column is bound to anything.
    pub(crate) fn binds(&self, column: usize) -> bool {
        self.asks(column) || self.to_values(column) || self.by_buckets(column)
    }
}

/// Looks for key columns in filters.
struct Finder<'f> {
    key: Vec<&'f Column>,
    properties: &'f ExecutionProps,
    terms: Vec<Term>,
}

impl Finder<'_> {
    fn add(&mut self, filter: &Expr) {
        match filter {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::And,
                right,
            }) => {
                self.add(left);
                self.add(right);
            }
            Expr::BinaryExpr(BinaryExpr {
                op: Operator::Or, ..
            }) => {
                let mut choices = None;
                if self.choices(filter, &mut choices)
                    && let Some((column, exprs)) = choices
                {
                    self.push(column, Asked::OneOf(exprs));
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                if let Some((column, value)) = self.column_and_value(left, right) {
                    self.push(column, Asked::Compare(*op, value));
                } else if let Some((column, value)) = self.column_and_value(right, left)
                    && let Some(op) = op.swap()
                {
                    self.push(column, Asked::Compare(op, value));
                }
            }
            Expr::InList(list) if !list.negated => {
                let values = list.list.iter().map(|item| self.known(item));
                if let Some(column) = self.key_column(&list.expr)
                    && let Some(values) = values.collect()
                {
                    self.push(column, Asked::OneOf(values));
                }
            }
            Expr::Between(between) if !between.negated => {
                let Some(column) = self.key_column(&between.expr) else {
                    return;
                };
                if let Some(low) = self.known(&between.low) {
                    self.push(column, Asked::Compare(Operator::GtEq, low));
                }
                if let Some(high) = self.known(&between.high) {
                    self.push(column, Asked::Compare(Operator::LtEq, high));
                }
            }
            Expr::IsNull(inner) => {
                if let Some(column) = self.key_column(inner) {
                    self.push(column, Asked::Null);
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, column: usize, asked: Asked) {
        if let Some(key) = self.key.get(column) {
            let kind = key.kind;
            self.terms.push(Term {
                column,
                kind,
                asked,
            });
        }
    }

    /// The values of `a = 1 OR a = 2 OR …`, which is how DataFusion writes a short list. False if it is
    /// anything else.
    fn choices(
        &self,
        filter: &Expr,
        found: &mut Option<(usize, Vec<Arc<dyn PhysicalExpr>>)>,
    ) -> bool {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else {
            return false;
        };
        if *op == Operator::Or {
            return self.choices(left, found) && self.choices(right, found);
        }
        let side = self
            .column_and_value(left, right)
            .or_else(|| self.column_and_value(right, left));
        match (side, op) {
            (Some((column, value)), Operator::Eq) => {
                let (known, values) = found.get_or_insert_with(|| (column, Vec::new()));
                values.push(value);
                *known == column
            }
            _ => false,
        }
    }

    fn column_and_value(
        &self,
        column: &Expr,
        value: &Expr,
    ) -> Option<(usize, Arc<dyn PhysicalExpr>)> {
        Some((self.key_column(column)?, self.known(value)?))
    }

    /// Which column of the key an expression names, seen through casts that keep every value apart and
    /// in order.
    fn key_column(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Column(column) => {
                let mut keys = self.key.iter();
                keys.position(|one| one.name == column.name)
            }
            Expr::Cast(cast) => {
                let column = self.key_column(&cast.expr)?;
                let kind = self.key.get(column)?.kind;
                keeps_order(kind, cast.field.data_type()).then_some(column)
            }
            _ => None,
        }
    }

    /// An expression whose value does not depend on a row.
    fn known(&self, expr: &Expr) -> Option<Arc<dyn PhysicalExpr>> {
        let depends = |one: &Expr| match one {
            Expr::Column(_) | Expr::OuterReferenceColumn(..) => true,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) => true,
            other => other.is_volatile_node() && !parameters::is_parameter(other),
        };
        if expr.exists(|one| Ok(depends(one))).ok()? {
            return None;
        }
        let context = PhysicalPlanningContext::default();
        create_physical_expr(expr, &DFSchema::empty(), self.properties, &context).ok()
    }
}

/// Whether a cast from a key column's type keeps all values apart and in order.
fn keeps_order(from: Type, to: &DataType) -> bool {
    match to {
        DataType::Decimal128(precision, 0) => from.is_integer() && *precision >= 20,
        DataType::Timestamp(_, None) => {
            matches!(from, Type::Date | Type::Datetime | Type::Timestamp)
        }
        DataType::Int16 => matches!(from, Type::Int8 | Type::Uint8),
        DataType::Int32 => matches!(from, Type::Int8 | Type::Int16 | Type::Uint8 | Type::Uint16),
        DataType::Int64 => from.is_integer() && from != Type::Uint64,
        DataType::UInt16 => from == Type::Uint8,
        DataType::UInt32 => matches!(from, Type::Uint8 | Type::Uint16),
        DataType::UInt64 => matches!(from, Type::Uint8 | Type::Uint16 | Type::Uint32),
        DataType::Utf8View | DataType::LargeUtf8 => from == Type::Utf8,
        _ => false,
    }
}

/// The value of an expression in this run, if it has one. An expression that fails is left to the filter,
/// which fails as well where it is evaluated.
fn value(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let schema = Arc::new(ArrowSchema::empty());
    let row = RecordBatch::try_new_with_options(schema, Vec::new(), &options).ok()?;
    match expr.evaluate(&row).ok()? {
        ColumnarValue::Scalar(scalar) => Some(scalar),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0).ok(),
    }
}

fn compare(op: Operator, expr: &Arc<dyn PhysicalExpr>, kind: Type) -> Option<Condition> {
    let scalar = value(expr)?;
    if scalar.is_null() {
        return match op {
            Operator::IsNotDistinctFrom => Some(Condition::OneOf(vec![Value::Null])),
            // A comparison with NULL is not true for any row.
            Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
                Some(Condition::OneOf(Vec::new()))
            }
            _ => None,
        };
    }
    if let Some(value) = exact(&scalar, kind) {
        return Some(match op {
            Operator::Eq | Operator::IsNotDistinctFrom => Condition::OneOf(vec![value]),
            Operator::Lt => Condition::Below(value, Inclusive::No),
            Operator::LtEq => Condition::Below(value, Inclusive::Yes),
            Operator::Gt => Condition::Above(value, Inclusive::No),
            Operator::GtEq => Condition::Above(value, Inclusive::Yes),
            _ => return None,
        });
    }
    // A time between two values of the column: the one it is cut to bounds it either way.
    let value = cut(&scalar, kind)?;
    match op {
        Operator::Lt | Operator::LtEq => Some(Condition::Below(value, Inclusive::Yes)),
        Operator::Gt | Operator::GtEq => Some(Condition::Above(value, Inclusive::Yes)),
        _ => None,
    }
}

/// The value in exactly the key column's type; what would change is left to the filter.
fn exact(scalar: &ScalarValue, kind: Type) -> Option<Value> {
    if scalar.is_null() {
        return Some(Value::Null);
    }
    let to = data_type(kind);
    let scalar = if scalar.data_type() == to {
        scalar.clone()
    } else {
        let there = scalar.cast_to(&to).ok()?;
        let back = there.cast_to(&scalar.data_type()).ok()?;
        (back == *scalar && !there.is_null()).then_some(there)?
    };
    results::value_at(&scalar.to_array().ok()?, 0, kind).ok()
}

/// A time in the column's coarser unit.
fn cut(scalar: &ScalarValue, kind: Type) -> Option<Value> {
    if !matches!(kind, Type::Date | Type::Datetime)
        || !matches!(scalar.data_type(), DataType::Timestamp(_, None))
    {
        return None;
    }
    let there = scalar.cast_to(&data_type(kind)).ok()?;
    results::value_at(&there.to_array().ok()?, 0, kind).ok()
}
