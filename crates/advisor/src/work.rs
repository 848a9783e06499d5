//! What a statement does to tables, from its text and the values of its parameters: the ops of a
//! trace.
//!
//! ```text
//!   SELECT … FROM orders o JOIN lines l ON l.order_id = o.id WHERE o.id = $1 AND l.at > '2024-01-01'
//!
//!   orders  read  id = 7
//!   lines   read  order_id = 7, because o.id is, and at from 2024-01-01 on
//! ```
//!
//! The recorder asks it of statements that were run, and adds the rows that were really written and
//! found; the importers ask it of the lines of a log, which is all they have. What is not understood
//! is left out: an op that lacks a bound is read as one that nothing is known of.
//!
//! Values have the type of their column. Those that could be in no key, for their type or their
//! length, are left out too.

mod bind;
mod moment;

use keys::{Type, Value};
use syntax::ast::{self, SetExpr, TableFactor};
use syntax::statement::CopySource;
use syntax::{Ident, Mode, Name};

use crate::joins;
use crate::trace::{Kind, Op, Order, Row, Table};
use bind::Scope;
pub(crate) use moment::at;

/// Rows that are kept of one op.
pub const ROWS_MAX: usize = 32;
/// Bytes of a text that may be in a key; longer ones are left out.
pub const VALUE_BYTES_MAX: usize = 128;
/// Values of one IN that are kept.
pub const VALUES_MAX: usize = 256;
/// Ops of one statement.
const OPS_MAX: usize = 16;
/// How deep queries may stand in queries.
const DEPTH_MAX: usize = 16;

/// What a statement does to one table. The number of the statement is not filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch<'t> {
    /// The table.
    pub table: &'t Table,
    /// What is done to it.
    pub kind: Kind,
    /// How.
    pub op: Op,
}

/// The values of parameters, counted from one.
pub trait Given {
    /// The value of a parameter, in a type.
    fn one(&self, number: usize, kind: Type) -> Option<Value>;

    /// The values of a parameter that is a list, in a type.
    fn list(&self, number: usize, kind: Type) -> Option<Vec<Value>>;

    /// When the statement was run, in microseconds since 1970, if that is known: what `now()` means.
    fn now_us(&self) -> Option<u64> {
        None
    }

    /// The value of a parameter that is a number of rows.
    fn limit(&self, number: usize) -> Option<u64> {
        match self.one(number, Type::Uint64)? {
            Value::Uint64(rows) => Some(rows),
            _ => None,
        }
    }
}

impl Given for &[Value] {
    fn one(&self, number: usize, kind: Type) -> Option<Value> {
        let value = self.get(number.checked_sub(1)?)?;
        bind::coerced(value.clone(), kind)
    }

    fn list(&self, number: usize, kind: Type) -> Option<Vec<Value>> {
        let Value::Utf8(text) = self.get(number.checked_sub(1)?)? else {
            return None;
        };
        // As PostgreSQL writes it: {1,2}.
        let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
        let items = inner.split(',').map(|item| item.trim().trim_matches('"'));
        items.map(|item| Value::parse(kind, item).ok()).collect()
    }
}

/// What a statement with these parameters does to the tables that `find` knows by name.
pub fn touches<'t>(
    statement: &syntax::Kind,
    parameters: &dyn Given,
    find: &dyn Fn(&str) -> Option<&'t Table>,
) -> Vec<Touch<'t>> {
    let mut walk = Walk {
        parameters,
        find,
        hidden: Vec::new(),
        depth: 0,
        found: Vec::new(),
    };
    syntax::deep(|| walk.statement(statement));
    walk.found.truncate(OPS_MAX);
    walk.found
}

/// Whether a value may be in a key, and so is worth keeping.
pub fn is_kept(value: &Value) -> bool {
    match value {
        Value::Utf8(text) => text.len() <= VALUE_BYTES_MAX,
        Value::String(bytes) => bytes.len() <= VALUE_BYTES_MAX,
        value => value.value_type().is_none_or(Type::is_key_type),
    }
}

/// The values of a whole row that are worth keeping.
pub fn kept_row(table: &Table, row: Vec<Value>) -> Option<Row> {
    if row.len() != table.columns.len() {
        return None;
    }
    let kinds = table.columns.iter().map(|column| column.kind);
    let values = (0_u16..).zip(row).zip(kinds);
    let kept = values.filter(|((_, value), kind)| kind.is_key_type() && is_kept(value));
    Some(kept.map(|(value, _)| value).collect())
}

/// Some of these, from the first to the last.
pub fn spread<T>(items: Vec<T>, most: usize) -> Vec<T> {
    let count = items.len();
    if count <= most {
        return items;
    }
    let mut due = 0;
    let numbered = items.into_iter().enumerate();
    let kept = numbered.filter(|(at, _)| {
        let takes = at * most >= due * count && due < most;
        due += usize::from(takes);
        takes
    });
    kept.map(|(_, item)| item).collect()
}

/// A walk through a statement.
struct Walk<'w, 't> {
    parameters: &'w dyn Given,
    find: &'w dyn Fn(&str) -> Option<&'t Table>,
    /// Names that mean parts of the query, and no tables.
    hidden: Vec<String>,
    depth: usize,
    found: Vec<Touch<'t>>,
}

impl<'t> Walk<'_, 't> {
    fn statement(&mut self, statement: &syntax::Kind) {
        match statement {
            syntax::Kind::Query(query) => self.query(&query.query),
            syntax::Kind::Insert(insert) => self.insert(insert),
            syntax::Kind::Update(update) => {
                let tables = joins::of_update(update);
                self.change(Kind::Update, tables, update.selection.as_ref());
            }
            syntax::Kind::Delete(delete) => {
                let tables = joins::of_delete(delete);
                self.change(Kind::Delete, tables, delete.selection.as_ref());
            }
            syntax::Kind::Copy(copy) => match &copy.source {
                CopySource::Query(query) => self.query(query),
                CopySource::Table { table, .. } => {
                    let kind = if copy.from { Kind::Insert } else { Kind::Read };
                    if let Some(table) = self.named(table) {
                        self.push(table, kind, Op::default());
                    }
                }
            },
            _ => {}
        }
    }

    fn push(&mut self, table: &'t Table, kind: Kind, op: Op) {
        if self.found.len() < OPS_MAX {
            self.found.push(Touch { table, kind, op });
        }
    }

    /// The table of a name of ours.
    fn named(&self, name: &Name) -> Option<&'t Table> {
        let last = name.parts.last()?;
        self.lookup(&last.value, last.quote.is_some())
    }

    fn lookup(&self, name: &str, quoted: bool) -> Option<&'t Table> {
        if self.hidden.iter().any(|hidden| hidden == name) {
            return None;
        }
        let folded = name.to_lowercase();
        let name = if quoted { name } else { folded.as_str() };
        (self.find)(name)
    }

    fn insert(&mut self, insert: &syntax::statement::Insert) {
        let Some(table) = self.named(&insert.table) else {
            return;
        };
        let kind = match insert.mode {
            Mode::Insert if insert.on_conflict.is_none() => Kind::Insert,
            Mode::Insert | Mode::Upsert | Mode::Replace => Kind::Upsert,
            Mode::UpdateOn => Kind::Update,
            Mode::DeleteOn => Kind::Delete,
        };
        let mut op = Op::default();
        match insert.source.as_deref().map(|query| query.body.as_ref()) {
            Some(SetExpr::Values(values)) => {
                let columns = inserted(table, &insert.columns);
                let total = values.rows.len();
                let rows: Vec<&Vec<ast::Expr>> = values.rows.iter().map(|row| &**row).collect();
                let rows = spread(rows, ROWS_MAX).into_iter();
                op.rows = rows
                    .map(|row| bind::row(table, &columns, row, self.parameters))
                    .collect();
                op.found = (total > op.rows.len()).then(|| number(total));
            }
            Some(_) => {
                if let Some(source) = &insert.source {
                    self.query(source);
                }
            }
            None => {}
        }
        self.push(table, kind, op);
    }

    /// UPDATE or DELETE of the first table, with others beside it.
    fn change(
        &mut self,
        kind: Kind,
        from: [&[ast::TableWithJoins]; 2],
        selection: Option<&ast::Expr>,
    ) {
        let mut scope = Scope::new(self.parameters);
        for tables in from.into_iter().flatten() {
            self.tables(tables, &mut scope);
        }
        self.filter(selection, &mut scope);
        let kinds = std::iter::once(kind).chain(std::iter::repeat(Kind::Read));
        for ((table, op), kind) in scope.finish().into_iter().zip(kinds) {
            self.push(table, kind, op);
        }
    }

    fn query(&mut self, query: &ast::Query) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        let hidden = self.hidden.len();
        for part in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.query(&part.query);
            self.hidden.push(part.alias.name.value.clone());
        }
        self.body(&query.body, Some(query));
        self.hidden.truncate(hidden);
        self.depth -= 1;
    }

    /// A SELECT, or several; `whole` has the order and the limit of a single one.
    fn body(&mut self, body: &SetExpr, whole: Option<&ast::Query>) {
        match body {
            SetExpr::Select(select) => {
                let mut scope = Scope::new(self.parameters);
                for tables in &select.from {
                    self.tables(tables, &mut scope);
                }
                self.filter(select.selection.as_ref(), &mut scope);
                let grouped = !matches!(&select.group_by,
                    ast::GroupByExpr::Expressions(list, _) if list.is_empty());
                if let Some(query) = whole.filter(|_| !grouped && select.distinct.is_none()) {
                    order_and_limit(query, &mut scope);
                }
                for (table, op) in scope.finish() {
                    self.push(table, Kind::Read, op);
                }
            }
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, None);
                self.body(right, None);
            }
            _ => {}
        }
    }

    fn tables(&mut self, tables: &ast::TableWithJoins, scope: &mut Scope<'_, 't>) {
        self.factor(&tables.relation, scope);
        for join in &tables.joins {
            self.factor(&join.relation, scope);
            match joins::narrowing(&join.join_operator) {
                Some(ast::JoinConstraint::On(on)) => scope.add(on),
                Some(ast::JoinConstraint::Using(names)) => scope.joined_by(names),
                _ => {}
            }
        }
    }

    fn factor(&mut self, factor: &TableFactor, scope: &mut Scope<'_, 't>) {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let Some(last) = name.0.last().and_then(ast::ObjectNamePart::as_ident) else {
                    return;
                };
                if let Some(table) = self.lookup(&last.value, last.quote_style.is_some()) {
                    let title = alias
                        .as_ref()
                        .map_or(&last.value, |alias| &alias.name.value);
                    scope.open(title, table);
                }
            }
            TableFactor::Derived { subquery, .. } => self.query(subquery),
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.tables(table_with_joins, scope),
            _ => {}
        }
    }

    /// Takes in a condition, and the queries that stand in it.
    fn filter(&mut self, selection: Option<&ast::Expr>, scope: &mut Scope<'_, 't>) {
        let Some(selection) = selection else { return };
        scope.add(selection);
        for query in joins::queries_in(selection) {
            self.query(query);
        }
    }
}

/// The columns that an INSERT fills, in its order.
fn inserted(table: &Table, columns: &[Ident]) -> Vec<Option<u16>> {
    if columns.is_empty() {
        let all = (0_u16..).zip(&table.columns);
        let given = all.filter(|(_, column)| column.generated.is_none());
        return given.map(|(at, _)| Some(at)).collect();
    }
    let place = |ident: &Ident| bind::column(table, &ident.value, ident.quote.is_some());
    columns.iter().map(place).collect()
}

fn order_and_limit(query: &ast::Query, scope: &mut Scope<'_, '_>) {
    let mut order = Vec::new();
    if let Some(by) = &query.order_by {
        let ast::OrderByKind::Expressions(terms) = &by.kind else {
            return;
        };
        for term in terms {
            // Rows that are sorted by something else are all read first.
            let Some(column) = scope.only_column(&term.expr) else {
                return;
            };
            order.push(Order {
                column,
                descending: term.options.asc == Some(false),
            });
        }
    }
    let limit = match &query.limit_clause {
        Some(
            ast::LimitClause::LimitOffset {
                limit: Some(limit), ..
            }
            | ast::LimitClause::OffsetCommaLimit { limit, .. },
        ) => scope.count(limit),
        _ => None,
    };
    scope.sort(order, limit);
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
