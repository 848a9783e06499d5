//! The fast path: reads by key and key range that need no planner.
//!
//! ```text
//!   SELECT columns FROM one table WHERE conditions that are exactly key ranges
//!          [ORDER BY the key [DESC]] [LIMIT n]
//! ```
//!
//! Anything else is DataFusion's. A statement that is read here answers as it would there; tests run
//! the same statements both ways.

use std::sync::Arc;

use keys::Value;
use syntax::ast;
use txn::{Direction, Reader};

use crate::conditions::{Condition, Conditions, Inclusive};
use crate::constant::{Given, constant};
use crate::names::{tree_name, tree_table_name};
use crate::query::ResultColumn;
use crate::{Catalog, Result, Schema, Table};

/// A read by key.
#[derive(Debug)]
pub(crate) struct FastRead {
    table: Arc<Table>,
    conditions: Conditions,
    /// Positions of the columns to answer with.
    projection: Vec<usize>,
    pub(crate) columns: Arc<[ResultColumn]>,
    direction: Direction,
    limit: usize,
}

impl FastRead {
    /// The statement as a read by key, if it is one.
    pub(crate) fn new(
        catalog: &Catalog,
        query: &ast::Query,
        given: Given<'_>,
    ) -> Result<Option<Self>> {
        let Some((select, name)) = plain_select(query) else {
            return Ok(None);
        };
        let table = catalog.get(&tree_table_name(name)?)?;
        let schema = table.schema();
        let Some((projection, columns)) = projection(schema, &select.projection) else {
            return Ok(None);
        };
        let mut conditions = Conditions::new(schema.key_positions().len());
        if let Some(filter) = &select.selection
            && !add_conditions(schema, filter, given, &mut conditions)
        {
            return Ok(None);
        }
        let Some(direction) = direction(schema, query, &conditions) else {
            return Ok(None);
        };
        let Some(limit) = limit(query, given) else {
            return Ok(None);
        };
        if !conditions.is_exact() {
            return Ok(None);
        }
        Ok(Some(Self {
            table,
            conditions,
            projection,
            columns,
            direction,
            limit,
        }))
    }

    /// The rows.
    pub(crate) fn run(&self, reader: &Reader) -> Result<Vec<Vec<Value>>> {
        let schema = self.table.schema();
        let mut rows = Vec::new();
        if let Some(key) = self.conditions.point() {
            let key = schema.encode_key(&key)?;
            if let Some(row) = reader.get(self.table.id(), &key)?
                && self.limit > 0
            {
                rows.push(self.project(schema.decode(&key, &row)?));
            }
            return Ok(rows);
        }
        let mut ranges = self.conditions.ranges()?;
        if self.direction == Direction::Descending {
            ranges.reverse();
        }
        for range in ranges {
            let left = self.limit - rows.len();
            for pair in reader
                .scan(self.table.id(), &range, self.direction)?
                .take(left)
            {
                let (key, row) = pair?;
                rows.push(self.project(schema.decode(&key, &row)?));
            }
        }
        Ok(rows)
    }

    fn project(&self, row: Vec<Value>) -> Vec<Value> {
        self.projection
            .iter()
            .filter_map(|position| row.get(*position).cloned())
            .collect()
    }
}

/// A SELECT from one table with nothing but a filter.
fn plain_select(query: &ast::Query) -> Option<(&ast::Select, &ast::ObjectName)> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let plain = query.with.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && select.distinct.is_none()
        && select.top.is_none()
        && select.into.is_none()
        && select.lateral_views.is_empty()
        && select.prewhere.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.named_window.is_empty()
        && matches!(&select.group_by, ast::GroupByExpr::Expressions(by, with) if by.is_empty() && with.is_empty());
    let [from] = select.from.as_slice() else {
        return None;
    };
    let ast::TableFactor::Table {
        name,
        alias: None,
        args: None,
        index_hints,
        sample: None,
        ..
    } = &from.relation
    else {
        return None;
    };
    (plain && from.joins.is_empty() && index_hints.is_empty()).then_some((select, name))
}

/// The columns that a list of plain columns names.
pub(crate) fn projection(
    schema: &Schema,
    items: &[ast::SelectItem],
) -> Option<(Vec<usize>, Arc<[ResultColumn]>)> {
    let mut positions = Vec::new();
    let mut columns = Vec::new();
    let mut add = |position: usize, name: Option<String>| -> Option<()> {
        let column = schema.columns().get(position)?;
        positions.push(position);
        let name = name.unwrap_or_else(|| column.name.clone());
        columns.push(ResultColumn {
            name,
            kind: column.kind,
        });
        Some(())
    };
    for item in items {
        match item {
            ast::SelectItem::Wildcard(options) if *options == Default::default() => {
                (0..schema.columns().len()).try_for_each(|position| add(position, None))?;
            }
            ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(name)) => {
                add(schema.position(&tree_name(name))?, None)?;
            }
            ast::SelectItem::ExprWithAlias {
                expr: ast::Expr::Identifier(name),
                alias,
            } => {
                add(schema.position(&tree_name(name))?, Some(tree_name(alias)))?;
            }
            _ => return None,
        }
    }
    Some((positions, columns.into()))
}

/// Adds what a filter asks of key columns. Answers false if it asks anything else.
pub(crate) fn add_conditions(
    schema: &Schema,
    filter: &ast::Expr,
    given: Given<'_>,
    found: &mut Conditions,
) -> bool {
    match filter {
        ast::Expr::Nested(inner) => add_conditions(schema, inner, given, found),
        ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::And,
            right,
        } => {
            add_conditions(schema, left, given, found)
                && add_conditions(schema, right, given, found)
        }
        ast::Expr::BinaryOp { left, op, right } => {
            if let Some((column, value)) = key_and_value(schema, left, right, given) {
                compare(column, op, value, found)
            } else if let Some((column, value)) = key_and_value(schema, right, left, given) {
                swap(op).is_some_and(|op| compare(column, &op, value, found))
            } else {
                false
            }
        }
        ast::Expr::InList {
            expr,
            list,
            negated: false,
        } => {
            let Some(column) = key_column(schema, expr) else {
                return false;
            };
            let values = list
                .iter()
                .map(|item| key_value(schema, column, item, given));
            let Some(values) = values.collect::<Option<Vec<Value>>>() else {
                return false;
            };
            let values = values
                .into_iter()
                .filter(|value| !value.is_null())
                .collect();
            found.add(column, Condition::OneOf(values));
            true
        }
        ast::Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => {
            let low = key_and_value(schema, expr, low, given);
            let high = key_and_value(schema, expr, high, given);
            let (Some((column, low)), Some((_, high))) = (low, high) else {
                return false;
            };
            compare(column, &ast::BinaryOperator::GtEq, low, found)
                && compare(column, &ast::BinaryOperator::LtEq, high, found)
        }
        ast::Expr::IsNull(inner) => match key_column(schema, inner) {
            Some(column) => {
                found.add(column, Condition::OneOf(vec![Value::Null]));
                true
            }
            None => false,
        },
        _ => false,
    }
}

fn compare(column: usize, op: &ast::BinaryOperator, value: Value, found: &mut Conditions) -> bool {
    use ast::BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq};
    let condition = match op {
        // A comparison with NULL is not true for any row.
        Eq | Lt | LtEq | Gt | GtEq if value.is_null() => Condition::OneOf(Vec::new()),
        Eq => Condition::OneOf(vec![value]),
        Lt => Condition::Below(value, Inclusive::No),
        LtEq => Condition::Below(value, Inclusive::Yes),
        Gt => Condition::Above(value, Inclusive::No),
        GtEq => Condition::Above(value, Inclusive::Yes),
        _ => return false,
    };
    found.add(column, condition);
    true
}

fn swap(op: &ast::BinaryOperator) -> Option<ast::BinaryOperator> {
    use ast::BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq};
    Some(match op {
        Eq => Eq,
        Lt => Gt,
        LtEq => GtEq,
        Gt => Lt,
        GtEq => LtEq,
        _ => return None,
    })
}

fn key_and_value(
    schema: &Schema,
    column: &ast::Expr,
    value: &ast::Expr,
    given: Given<'_>,
) -> Option<(usize, Value)> {
    let column = key_column(schema, column)?;
    Some((column, key_value(schema, column, value, given)?))
}

fn key_column(schema: &Schema, expr: &ast::Expr) -> Option<usize> {
    let ast::Expr::Identifier(name) = expr else {
        return None;
    };
    let name = tree_name(name);
    schema.key_columns().position(|column| column.name == name)
}

/// The value in exactly the column's type. What would have to be rounded or does not fit is compared
/// by DataFusion.
fn key_value(schema: &Schema, column: usize, expr: &ast::Expr, given: Given<'_>) -> Option<Value> {
    let kind = schema.key_columns().nth(column)?.kind;
    let plain = constant(expr, None, given).ok()??;
    let rounds = matches!(
        plain,
        Value::Float(_) | Value::Double(_) | Value::Decimal(_)
    );
    if rounds && !plain.type_matches(kind) {
        return None;
    }
    constant(expr, Some(kind), given).ok()?
}

/// Which way to read, if the key's order is the order asked for.
fn direction(schema: &Schema, query: &ast::Query, conditions: &Conditions) -> Option<Direction> {
    let Some(order) = &query.order_by else {
        return Some(Direction::Ascending);
    };
    let ast::OrderByKind::Expressions(terms) = &order.kind else {
        return None;
    };
    let mut direction = None;
    // Columns bound to one value do not disturb the order.
    let fixed = match conditions.ranges().ok()?.len() {
        0 | 1 => conditions.bound_columns(),
        _ => 0,
    };
    let mut keys = schema.key_columns().enumerate();
    for term in terms {
        let ast::Expr::Identifier(name) = &term.expr else {
            return None;
        };
        let name = tree_name(name);
        // The next key column that counts must be this one.
        let next = keys.find(|(index, column)| column.name == name || *index >= fixed);
        next.filter(|(_, column)| column.name == name)?;
        let this = match term.options.asc {
            Some(false) => Direction::Descending,
            _ => Direction::Ascending,
        };
        // NULL is the least key, which is where it belongs unless the statement says otherwise.
        let nulls_first = this == Direction::Ascending;
        if term
            .options
            .nulls_first
            .is_some_and(|first| first != nulls_first)
            || term.with_fill.is_some()
            || direction.is_some_and(|before| before != this)
        {
            return None;
        }
        direction = Some(this);
    }
    Some(direction.unwrap_or(Direction::Ascending))
}

fn limit(query: &ast::Query, given: Given<'_>) -> Option<usize> {
    let Some(clause) = &query.limit_clause else {
        return Some(usize::MAX);
    };
    let ast::LimitClause::LimitOffset {
        limit,
        offset: None,
        limit_by,
    } = clause
    else {
        return None;
    };
    if !limit_by.is_empty() {
        return None;
    }
    let Some(expr) = limit else {
        return Some(usize::MAX);
    };
    match constant(expr, Some(keys::Type::Int64), given).ok()?? {
        Value::Int64(limit) => usize::try_from(limit).ok(),
        _ => None,
    }
}
