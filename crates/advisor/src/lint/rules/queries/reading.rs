//! What a query reads, and what it binds: each SELECT by itself, wherever it stands.
//!
//! ```text
//!   WITH recent AS (SELECT * FROM events)      `recent` is no table, and what is asked of it
//!   SELECT * FROM recent WHERE userid = 7      is asked of `events`
//!
//!   SELECT * FROM users WHERE id IN (SELECT userid FROM events WHERE what = 'x')
//!                                              two readings, each with what its own WHERE binds
//! ```

use std::collections::BTreeSet;

use syntax::ast::{self, BinaryOperator, Expr, SetExpr, TableFactor};
use syntax::{Kind, Span, Statement};

use crate::joins;

/// Queries within queries that are looked at.
const DEPTH_MAX: usize = 16;

/// A table as a query names it.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) alias: Option<String>,
    pub(super) span: Span,
}

/// What one SELECT reads, and what it binds.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) tables: Vec<Named>,
    /// How many tables and queries it is over.
    pub(super) sources: usize,
    pub(super) bound: BTreeSet<String>,
    /// Columns it is sorted by, and whether it stops after some rows.
    pub(super) sorted_by: Vec<String>,
    pub(super) limited: bool,
    pub(super) filtered: bool,
}

/// Everything that a statement reads.
pub(super) fn readings(statement: &Statement) -> Vec<Reading> {
    let mut walk = Walk::default();
    match &statement.kind {
        Kind::Query(query) => walk.query(&query.query, &BTreeSet::new()),
        Kind::DeclareCursor(cursor) => walk.query(&cursor.query, &BTreeSet::new()),
        Kind::Insert(insert) => {
            if let Some(source) = &insert.source {
                walk.query(source, &BTreeSet::new());
            }
        }
        Kind::Update(update) => {
            let tables = joins::of_update(update).into_iter().flatten();
            let given = update.assignments.iter().map(|one| &one.value);
            walk.select(
                Reading::default(),
                tables,
                update.selection.as_ref(),
                given.collect(),
            );
        }
        Kind::Delete(delete) => {
            let tables = joins::of_delete(delete).into_iter().flatten();
            let selection = delete.selection.as_ref();
            walk.select(Reading::default(), tables, selection, Vec::new());
        }
        _ => {}
    }
    walk.readings
}

impl Reading {
    /// Whether a column of a table is bound, alone or behind the table's name.
    pub(super) fn binds(&self, named: &Named, column: &str) -> bool {
        let column = column.to_ascii_lowercase();
        let title = named.title();
        self.bound.contains(&column) || self.bound.contains(&format!("{title}.{column}"))
    }

    /// The columns that are bound and may be those of a table or query of this title.
    fn bound_of(&self, title: &str) -> BTreeSet<String> {
        let own = self
            .bound
            .iter()
            .filter_map(|name| match name.split_once('.') {
                None => Some(name.clone()),
                Some((table, column)) => (table == title).then(|| column.to_owned()),
            });
        own.collect()
    }
}

impl Named {
    fn title(&self) -> String {
        let title = self.alias.as_ref().unwrap_or(&self.name);
        title.to_ascii_lowercase()
    }
}

/// A walk through a statement.
#[derive(Default)]
struct Walk {
    readings: Vec<Reading>,
    /// Names that mean parts of the query and no tables, in lower case.
    hidden: Vec<String>,
    /// Where they are read, with what is bound there.
    uses: Vec<(String, BTreeSet<String>)>,
    depth: usize,
}

impl Walk {
    /// A query of whose columns these are bound by what stands around it.
    fn query(&mut self, query: &ast::Query, given: &BTreeSet<String>) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        let mut sorted_by = Vec::new();
        if let Some(ast::OrderByKind::Expressions(keys)) =
            query.order_by.as_ref().map(|order| &order.kind)
        {
            sorted_by.extend(keys.iter().filter_map(|key| column_name(&key.expr)));
        }
        let limited = query.limit_clause.is_some() || query.fetch.is_some();
        let parts = query.with.iter().flat_map(|with| &with.cte_tables);
        let parts: Vec<&ast::Cte> = parts.collect();
        let recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        let name = |part: &ast::Cte| part.alias.name.value.to_ascii_lowercase();
        let hidden = self.hidden.len();
        self.hidden.extend(parts.iter().map(|part| name(part)));
        // Rows behind a limit are chosen before anybody asks for some of them.
        let nothing = BTreeSet::new();
        let given = if limited { &nothing } else { given };
        self.body(&query.body, (&sorted_by, limited), given);
        // What is asked of a part is known once all that comes behind it was read.
        for (at, part) in parts.iter().enumerate().rev() {
            self.hidden.truncate(hidden + at + usize::from(recursive));
            let asked = self.asked_of(&name(part));
            self.query(&part.query, &asked);
        }
        self.hidden.truncate(hidden);
        self.depth -= 1;
    }

    /// What all who read a part of the query bind.
    fn asked_of(&mut self, name: &str) -> BTreeSet<String> {
        let uses = std::mem::take(&mut self.uses);
        let (own, others): (Vec<_>, Vec<_>) = uses.into_iter().partition(|(used, _)| used == name);
        self.uses = others;
        let own = own.into_iter().map(|(_, bound)| bound);
        own.reduce(|one, other| &one & &other).unwrap_or_default()
    }

    fn body(
        &mut self,
        body: &SetExpr,
        (sorted_by, limited): (&[String], bool),
        given: &BTreeSet<String>,
    ) {
        match body {
            SetExpr::Select(select) => {
                let reading = Reading {
                    sorted_by: sorted_by.to_vec(),
                    limited,
                    filtered: !given.is_empty(),
                    bound: meant(&select.projection, given),
                    ..Reading::default()
                };
                let shown = select.projection.iter().filter_map(shown);
                let selection = select.selection.as_ref();
                self.select(reading, select.from.iter(), selection, shown.collect());
            }
            SetExpr::Query(query) => self.query(query, given),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, (&[], false), given);
                self.body(right, (&[], false), given);
            }
            _ => {}
        }
    }

    fn select<'q>(
        &mut self,
        mut reading: Reading,
        from: impl Iterator<Item = &'q ast::TableWithJoins>,
        selection: Option<&Expr>,
        others: Vec<&Expr>,
    ) {
        let mut derived = Vec::new();
        for tables in from {
            read_tables(tables, &mut reading, &mut derived);
        }
        if let Some(selection) = selection {
            reading.filtered = true;
            reading.bound.append(&mut bound(selection));
        }
        let is_part = |named: &mut Named| self.hidden.contains(&named.name.to_ascii_lowercase());
        let parts: Vec<Named> = reading.tables.extract_if(.., is_part).collect();
        for part in parts {
            let asked = reading.bound_of(&part.title());
            self.uses.push((part.name.to_ascii_lowercase(), asked));
        }
        let derived = derived.into_iter().map(|(title, query)| {
            let asked = reading.bound_of(&title);
            (asked, query)
        });
        let derived: Vec<(BTreeSet<String>, &ast::Query)> = derived.collect();
        self.readings.push(reading);
        for (asked, query) in derived {
            self.query(query, &asked);
        }
        for expr in selection.into_iter().chain(others) {
            for query in joins::queries_in(expr) {
                self.query(query, &BTreeSet::new());
            }
        }
    }
}

/// What columns of a query that are bound from outside are called inside.
fn meant(projection: &[ast::SelectItem], given: &BTreeSet<String>) -> BTreeSet<String> {
    let inside = given.iter().filter_map(|name| {
        let renamed = projection.iter().find_map(|item| match item {
            ast::SelectItem::ExprWithAlias { expr, alias } => {
                alias.value.eq_ignore_ascii_case(name).then_some(expr)
            }
            _ => None,
        });
        match renamed {
            Some(expr) => column_name(expr),
            None => Some(name.clone()),
        }
    });
    inside.collect()
}

fn shown(item: &ast::SelectItem) -> Option<&Expr> {
    match item {
        ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
            Some(expr)
        }
        _ => None,
    }
}

/// Takes in tables and what joins bind. Queries among them are put aside with their titles.
fn read_tables<'q>(
    tables: &'q ast::TableWithJoins,
    reading: &mut Reading,
    derived: &mut Vec<(String, &'q ast::Query)>,
) {
    read_factor(&tables.relation, reading, derived);
    for join in &tables.joins {
        read_factor(&join.relation, reading, derived);
        match joins::constraint(&join.join_operator) {
            Some(ast::JoinConstraint::On(on)) => reading.bound.append(&mut bound(on)),
            Some(ast::JoinConstraint::Using(names)) => {
                let names = names
                    .iter()
                    .map(|name| name.to_string().to_ascii_lowercase());
                reading.bound.extend(names);
            }
            _ => {}
        }
    }
}

fn read_factor<'q>(
    factor: &'q TableFactor,
    reading: &mut Reading,
    derived: &mut Vec<(String, &'q ast::Query)>,
) {
    match factor {
        TableFactor::Table { name, alias, .. } => {
            reading.sources += 1;
            let last = name.0.last().and_then(ast::ObjectNamePart::as_ident);
            if let Some(ident) = last {
                reading.tables.push(Named {
                    name: ident.value.clone(),
                    alias: alias.as_ref().map(|alias| alias.name.value.clone()),
                    span: Span::from(ident.span),
                });
            }
        }
        TableFactor::Derived {
            subquery, alias, ..
        } => {
            reading.sources += 1;
            let title = alias.as_ref().map(|alias| alias.name.value.as_str());
            let title = title.unwrap_or_default().to_ascii_lowercase();
            derived.push((title, subquery));
        }
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => read_tables(table_with_joins, reading, derived),
        _ => {}
    }
}

/// The columns that an expression binds to values or ranges whenever it is true.
fn bound(expr: &Expr) -> BTreeSet<String> {
    use BinaryOperator as B;
    let one = |expr: &Expr| column_name(expr).into_iter().collect();
    match expr {
        Expr::Nested(inner) => bound(inner),
        Expr::BinaryOp {
            left,
            op: B::And,
            right,
        } => &bound(left) | &bound(right),
        Expr::BinaryOp {
            left,
            op: B::Or,
            right,
        } => &bound(left) & &bound(right),
        Expr::BinaryOp {
            left,
            op: B::Eq | B::Lt | B::LtEq | B::Gt | B::GtEq,
            right,
        } => column_name(left)
            .into_iter()
            .chain(column_name(right))
            .collect(),
        Expr::InList {
            expr,
            negated: false,
            ..
        }
        | Expr::InSubquery {
            expr,
            negated: false,
            ..
        }
        | Expr::InUnnest {
            expr,
            negated: false,
            ..
        }
        | Expr::Between {
            expr,
            negated: false,
            ..
        }
        | Expr::IsNull(expr)
        | Expr::AnyOp {
            left: expr,
            compare_op: B::Eq,
            ..
        } => one(expr),
        Expr::IsNotDistinctFrom(left, right) => column_name(left)
            .into_iter()
            .chain(column_name(right))
            .collect(),
        Expr::Like {
            negated: false,
            expr,
            pattern,
            ..
        } => {
            // A pattern that begins with letters is a range.
            if pattern
                .to_string()
                .trim_start_matches(['\'', '"'])
                .starts_with(['%', '_'])
            {
                BTreeSet::new()
            } else {
                one(expr)
            }
        }
        _ => BTreeSet::new(),
    }
}

/// The name of a column, in lower case, with the table's before it if that is written.
fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) if !name.value.starts_with('@') => {
            Some(name.value.to_ascii_lowercase())
        }
        Expr::CompoundIdentifier(names) => {
            let names: Vec<String> = names
                .iter()
                .map(|name| name.value.to_ascii_lowercase())
                .collect();
            Some(names.join("."))
        }
        Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}
