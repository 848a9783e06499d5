//! The fast path: reads by key and key range that need no planner.
//!
//! ```text
//!   SELECT columns FROM one table WHERE key ranges AND expressions of ours
//!          [ORDER BY the key [DESC]] [LIMIT n [OFFSET m]]
//! ```
//!
//! Anything else is DataFusion's. A statement is compiled once ([`ReadPlan`]) and bound to its
//! parameters at every run. What is read here answers as it would there; tests run the same
//! statements both ways.

mod bounds;
mod filter;
mod path;
mod pick;

use std::sync::Arc;

use keys::{Type, Value};
use syntax::ast;
use txn::{Direction, Reader};

use bounds::plain_column;
use filter::KeyFilter;
pub(crate) use filter::Keys;
pub(crate) use path::{Path, PathRows};
use pick::Pick;
pub use pick::{Picked, PickedText, RowSink};

use crate::names::{tree_name, tree_table_name};
use crate::query::ResultColumn;
use crate::scalar::{Given, Scalar, Scope};
use crate::{Catalog, Result, Schema, Table};

/// How many rows are handed over at a time.
const BATCH_ROWS: usize = 256;

/// A read by key.
#[derive(Debug)]
pub(crate) struct ReadPlan {
    pub(crate) path: Path,
    /// Positions of the columns to answer with.
    projection: Vec<usize>,
    /// How to take them from stored rows, if nothing else of a row is looked at.
    pick: Option<Pick>,
    pub(crate) columns: Arc<[ResultColumn]>,
    pub(crate) direction: Direction,
    pub(crate) limit: Option<Scalar>,
    pub(crate) offset: Option<Scalar>,
}

impl ReadPlan {
    /// The statement as a read by key, if it is one, and the types of its parameters.
    pub(crate) fn new(
        catalog: &Catalog,
        query: &ast::Query,
        hints: &[Option<Type>],
    ) -> Result<Option<(Self, Vec<Option<Type>>)>> {
        let Some(Plain {
            select,
            name,
            alias,
            index,
        }) = plain_select(query)
        else {
            return Ok(None);
        };
        let Ok(name) = tree_table_name(name) else {
            return Ok(None);
        };
        let Some(table) = catalog.find(&name) else {
            return Ok(None);
        };
        let schema = table.schema();
        let mut scope = Scope::new(schema, alias, hints);
        let Some((projection, columns)) = projection(&table, &select.projection, &mut scope) else {
            return Ok(None);
        };
        let selection = select.selection.as_ref();
        let (wanted, index) = (Some(projection.as_slice()), index.as_deref());
        let Some(mut path) = Path::choose(&table, selection, &mut scope, wanted, index)? else {
            return Ok(None);
        };
        let Some((direction, merged)) = order(schema, query, &path) else {
            return Ok(None);
        };
        path.filter = merged.unwrap_or(path.filter);
        let Some((limit, offset)) = limits(query, &mut scope)? else {
            return Ok(None);
        };
        let parameters = std::mem::take(&mut scope.parameters);
        let whole = path.reads_rows() && path.filter.is_exact();
        let pick = whole.then(|| Pick::new(schema, &projection));
        let plan = Self {
            path,
            projection,
            pick,
            columns,
            direction,
            limit,
            offset,
        };
        Ok(Some((plan, parameters)))
    }

    /// The rows, read as they are asked for. `None` if these parameters take DataFusion.
    pub(crate) fn run(
        self: &Arc<Self>,
        reader: &Reader,
        given: Given<'_>,
    ) -> Result<Option<FastRows>> {
        let count = |scalar: &Option<Scalar>, without: usize| -> Result<Option<usize>> {
            Ok(match scalar {
                None => Some(without),
                Some(scalar) => match scalar.value(given)? {
                    Value::Int64(count) => usize::try_from(count).ok(),
                    Value::Null => Some(without),
                    _ => None,
                },
            })
        };
        let (Some(left), Some(skip)) = (count(&self.limit, usize::MAX)?, count(&self.offset, 0)?)
        else {
            return Ok(None);
        };
        let Some(keys) = self.path.keys(reader.at(), given)? else {
            return Ok(None);
        };
        let rows = self.path.read(keys, reader.clone(), self.direction);
        // Where the keys say it all, nobody asks for the parameters again.
        let parameters = match self.path.filter.is_exact() {
            true => Box::default(),
            false => given.parameters.into(),
        };
        Ok(Some(FastRows {
            plan: Arc::clone(self),
            parameters,
            now_us: given.now_us,
            rows,
            left,
            skip,
        }))
    }
}

/// Rows of a read by key, read as they are asked for.
pub(crate) struct FastRows {
    plan: Arc<ReadPlan>,
    parameters: Box<[Value]>,
    now_us: i64,
    rows: PathRows,
    left: usize,
    skip: usize,
}

impl FastRows {
    /// Some more rows; none at the end.
    pub(crate) fn next(&mut self) -> Option<Result<Vec<Vec<Value>>>> {
        let mut kept = Kept {
            plan: Arc::clone(&self.plan),
            rows: Vec::new(),
        };
        match self.send(BATCH_ROWS, &mut kept) {
            Ok(0) => None,
            Ok(_) => Some(Ok(kept.rows)),
            Err(error) => Some(Err(error)),
        }
    }

    /// Hands on up to `most` rows and tells how many; fewer at the end.
    pub(crate) fn send(&mut self, most: usize, sink: &mut impl RowSink) -> Result<usize> {
        let most = most.min(self.left);
        let sent = match &self.plan.pick {
            Some(_) => self.send_stored(most, sink)?,
            None => self.send_decoded(most, sink)?,
        };
        self.left -= sent;
        Ok(sent)
    }

    /// Hands on rows of which every one counts, from the bytes they are stored as.
    fn send_stored(&mut self, most: usize, sink: &mut impl RowSink) -> Result<usize> {
        let path = &self.plan.path;
        if self.skip > 0 && most > 0 {
            self.skip -= self.rows.visit(path, self.skip, |_, _| Ok(()))?;
        }
        let Some(pick) = self.plan.pick.as_ref().filter(|_| self.skip == 0) else {
            return Ok(0);
        };
        let schema = path.table.schema();
        self.rows
            .visit(path, most, |key, row| pick.send(schema, (key, row), sink))
    }

    /// Hands on the rows for which the filter holds.
    fn send_decoded(&mut self, most: usize, sink: &mut impl RowSink) -> Result<usize> {
        let plan = &self.plan;
        let given = Given {
            parameters: &self.parameters,
            ..Given::at(self.now_us)
        };
        let mut sent = 0;
        while sent < most
            && let Some(row) = self.rows.next(&plan.path, given)?
        {
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            sink.begin(plan.projection.len());
            for position in &plan.projection {
                let value = row.get(*position).cloned().unwrap_or(Value::Null);
                sink.value(Picked::Value(value));
            }
            sink.end();
            sent += 1;
        }
        Ok(sent)
    }
}

/// Rows that are gathered as values.
struct Kept {
    plan: Arc<ReadPlan>,
    rows: Vec<Vec<Value>>,
}

impl RowSink for Kept {
    fn begin(&mut self, values: usize) {
        self.rows.push(Vec::with_capacity(values));
    }

    fn value(&mut self, value: Picked<'_>) {
        if let Some(row) = self.rows.last_mut() {
            let kind = self.plan.columns.get(row.len()).map(|column| column.kind);
            row.push(value.into_value(kind.unwrap_or(Type::Utf8)));
        }
    }

    fn end(&mut self) {}
}

/// A SELECT from one table with nothing but a filter.
pub(crate) struct Plain<'q> {
    select: &'q ast::Select,
    pub(crate) name: &'q ast::ObjectName,
    alias: Option<String>,
    /// The index after VIEW.
    index: Option<String>,
}

pub(crate) fn plain_select(query: &ast::Query) -> Option<Plain<'_>> {
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
        alias,
        args: None,
        index_hints,
        sample: None,
        ..
    } = &from.relation
    else {
        return None;
    };
    if alias
        .as_ref()
        .is_some_and(|alias| !alias.columns.is_empty())
    {
        return None;
    }
    let alias = alias.as_ref().map(|alias| tree_name(&alias.name));
    let index = match index_hints.as_slice() {
        [] => None,
        [hint] => Some(tree_name(hint.index_names.first()?)),
        _ => return None,
    };
    (plain && from.joins.is_empty()).then_some(Plain {
        select,
        name,
        alias,
        index,
    })
}

/// The columns that a list of plain columns names.
fn projection(
    table: &Table,
    items: &[ast::SelectItem],
    scope: &mut Scope<'_>,
) -> Option<(Vec<usize>, Arc<[ResultColumn]>)> {
    let mut positions = Vec::new();
    let mut columns = Vec::new();
    let mut add = |position: usize, name: Option<String>| -> Option<()> {
        let mut column = ResultColumn::of(table, position)?;
        positions.push(position);
        if let Some(name) = name {
            column.name = name;
        }
        columns.push(column);
        Some(())
    };
    for item in items {
        match item {
            ast::SelectItem::Wildcard(options) if *options == Default::default() => {
                let mut visible = table.schema().visible();
                visible.try_for_each(|position| add(position, None))?;
            }
            ast::SelectItem::UnnamedExpr(expr) => {
                add(named_column(expr, scope)?, None)?;
            }
            ast::SelectItem::ExprWithAlias { expr, alias } => {
                add(named_column(expr, scope)?, Some(tree_name(alias)))?;
            }
            _ => return None,
        }
    }
    Some((positions, columns.into()))
}

fn named_column(expr: &ast::Expr, scope: &mut Scope<'_>) -> Option<usize> {
    plain_column(expr)?;
    match scope.compile(expr, None).ok()?? {
        Scalar::Column(position, _) => Some(position),
        _ => None,
    }
}

/// Which way to read, and up to which key column ranges are merged, if rows can come in the order
/// asked for.
fn order(
    schema: &Schema,
    query: &ast::Query,
    path: &Path,
) -> Option<(Direction, Option<KeyFilter>)> {
    let Some(order) = &query.order_by else {
        return Some((Direction::Ascending, None));
    };
    let ast::OrderByKind::Expressions(terms) = &order.kind else {
        return None;
    };
    if let Some(direction) = direction(schema, terms, path, 0) {
        return Some((direction, None));
    }
    let width = path.order().len();
    (1..width).find_map(|after| {
        let direction = direction(schema, terms, path, after)?;
        Some((direction, Some(path.filter.merged(after - 1)?)))
    })
}

/// Which way to read, if the order of the key from one of its columns on is the order asked for.
fn direction(
    schema: &Schema,
    terms: &[ast::OrderByExpr],
    path: &Path,
    after: usize,
) -> Option<Direction> {
    let mut direction = None;
    let order = path.order().iter();
    let order = order.filter_map(|position| schema.columns().get(*position));
    let mut keys = order.enumerate().skip(after);
    for term in terms {
        let ast::Expr::Identifier(name) = &term.expr else {
            return None;
        };
        let name = tree_name(name);
        // The next key column that counts must be this one: those with one value do not disturb.
        let counts = |place: usize| !path.filter.is_fixed(place);
        let next = keys.find(|(place, column)| column.name == name || counts(*place));
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

/// LIMIT and OFFSET.
fn limits(
    query: &ast::Query,
    scope: &mut Scope<'_>,
) -> Result<Option<(Option<Scalar>, Option<Scalar>)>> {
    let Some(clause) = &query.limit_clause else {
        return Ok(Some((None, None)));
    };
    let ast::LimitClause::LimitOffset {
        limit,
        offset,
        limit_by,
    } = clause
    else {
        return Ok(None);
    };
    if !limit_by.is_empty() {
        return Ok(None);
    }
    let mut count = |expr: Option<&ast::Expr>| -> Result<Option<Option<Scalar>>> {
        let Some(expr) = expr else {
            return Ok(Some(None));
        };
        let scalar = scope.compile(expr, Some(Type::Int64))?;
        // What is no number is refused there.
        let number = |scalar: &Scalar| scalar.kind().is_none_or(Type::is_numeric);
        let scalar = scalar.filter(|scalar| scalar.is_fixed() && number(scalar));
        scalar
            .map(|scalar| scalar.cast_to(Type::Int64).map(Some))
            .transpose()
    };
    let limit = count(limit.as_ref())?;
    let offset = count(offset.as_ref().map(|offset| &offset.value))?;
    Ok(limit.zip(offset))
}
