//! KEY008: a query that binds no beginning of the key and so reads every partition.
//!
//! A table is reached well when a filter, or a join, binds the first column of its key or of an
//! index, or everything that this column is computed from. With LIMIT and no filter, or in the order
//! of the key, only the first rows are read.

use std::collections::BTreeSet;

use syntax::ast::{self, BinaryOperator, Expr, SetExpr, TableFactor};
use syntax::schema::{Dialect, read_queries};
use syntax::{Error, Kind, Span, Statement};

use crate::lint::finding::Severity;
use crate::lint::model::{Order, Table};
use crate::lint::nature::{computed, sources};
use crate::lint::{Finding, Source};

/// Judges queries on the tables of a source.
pub(crate) fn judge_queries(source: &Source<'_>, queries: &str) -> (Vec<Finding>, Vec<Error>) {
    let mut findings = Vec::new();
    let mut errors = Vec::new();
    match read_queries(queries, source.dialect) {
        Ok(statements) => {
            for statement in statements {
                match statement {
                    Ok(statement) => {
                        syntax::deep(|| judge(source, &statement, &mut findings));
                    }
                    Err(error) => errors.push(error),
                }
            }
        }
        Err(error) => errors.push(error),
    }
    (findings, errors)
}

/// A table as a query names it.
struct Named {
    name: String,
    alias: Option<String>,
    span: Span,
}

/// What a query reads, and what it binds.
#[derive(Default)]
struct Reading {
    tables: Vec<Named>,
    bound: BTreeSet<String>,
    /// Columns it is sorted by, and whether it stops after some rows.
    sorted_by: Vec<String>,
    limited: bool,
    filtered: bool,
}

fn judge(source: &Source<'_>, statement: &Statement, findings: &mut Vec<Finding>) {
    let mut readings = Vec::new();
    match &statement.kind {
        Kind::Query(query) => read_query(&query.query, &mut readings),
        Kind::Update(update) => {
            let mut reading = Reading::default();
            read_tables(std::slice::from_ref(&update.table), &mut reading);
            filter(update.selection.as_ref(), &mut reading);
            readings.push(reading);
        }
        Kind::Delete(delete) => {
            let mut reading = Reading::default();
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                &delete.from;
            read_tables(from, &mut reading);
            filter(delete.selection.as_ref(), &mut reading);
            readings.push(reading);
        }
        _ => {}
    }
    for reading in &readings {
        for named in &reading.tables {
            let table = source
                .tables
                .iter()
                .find(|table| table.name.eq_ignore_ascii_case(&named.name));
            findings.extend(table.and_then(|table| judge_table(table, named, reading)));
        }
    }
}

fn judge_table(table: &Table, named: &Named, reading: &Reading) -> Option<Finding> {
    let key = table.key()?;
    let reaches = |order: &Order| is_reached(table, named, order, reading);
    let first = key.parts.first()?.text.text.clone();
    let in_order = reading.sorted_by.is_empty()
        || reading.sorted_by.first() == Some(&first.to_ascii_lowercase());
    let first_rows = reading.limited && !reading.filtered && in_order && reading.tables.len() == 1;
    if first_rows || table.orders.iter().any(reaches) {
        return None;
    }
    let bound: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.written.name.value.as_str())
        .filter(|name| binds(reading, named, name))
        .collect();
    let message = format!(
        "this query binds no beginning of the key of `{}`, and so reads every partition",
        table.name
    );
    let why = match bound.as_slice() {
        [] => format!(
            "no filter binds `{first}`, the first key column: all N partitions are read in full"
        ),
        some => format!(
            "it binds {}, and the key begins with `{first}`: all N partitions are read in full",
            some.iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let mut finding = Finding::new(
        "KEY008",
        Severity::Warning,
        &table.name,
        named.span,
        message,
    )
    .label("every partition of it is read")
    .why(why);
    match bound.first() {
        Some(column) => {
            finding.rewritten = Some(index_statement(table, column));
            finding = finding.help(format!(
                "bind `{first}` too, begin the key with `{column}`, or make an index"
            ));
        }
        None => {
            finding = finding.help(format!(
                "bind `{first}`, or read a few rows in the order of the key"
            ))
        }
    }
    Some(finding)
}

fn index_statement(table: &Table, column: &str) -> String {
    let name = &table.name;
    match table.dialect {
        Dialect::Ydb => {
            format!("ALTER TABLE `{name}` ADD INDEX {name}_by_{column} GLOBAL ON ({column});")
        }
        _ => format!("CREATE INDEX {name}_by_{column} ON {name} ({column});"),
    }
}

fn is_reached(table: &Table, named: &Named, order: &Order, reading: &Reading) -> bool {
    let Some(first) = order.parts.first() else {
        return false;
    };
    let by_itself = first
        .column
        .as_ref()
        .is_some_and(|column| binds(reading, named, &column.value));
    let by_sources = computed(table, first).is_some_and(|text| {
        let sources = sources(table, text);
        !sources.is_empty()
            && sources
                .iter()
                .all(|column| binds(reading, named, &column.written.name.value))
    });
    by_itself || by_sources
}

/// Whether a column of a table is bound, alone or behind the table's name.
fn binds(reading: &Reading, named: &Named, column: &str) -> bool {
    let column = column.to_ascii_lowercase();
    let title = named
        .alias
        .as_ref()
        .unwrap_or(&named.name)
        .to_ascii_lowercase();
    reading.bound.contains(&column) || reading.bound.contains(&format!("{title}.{column}"))
}

fn read_query(query: &ast::Query, readings: &mut Vec<Reading>) {
    if let Some(with) = &query.with {
        for part in &with.cte_tables {
            read_query(&part.query, readings);
        }
    }
    let mut sorted_by = Vec::new();
    if let Some(ast::OrderByKind::Expressions(keys)) =
        query.order_by.as_ref().map(|order| &order.kind)
    {
        sorted_by.extend(keys.iter().filter_map(|key| column_name(&key.expr)));
    }
    let limited = query.limit_clause.is_some() || query.fetch.is_some();
    read_body(&query.body, (&sorted_by, limited), readings);
}

fn read_body(body: &SetExpr, (sorted_by, limited): (&[String], bool), readings: &mut Vec<Reading>) {
    match body {
        SetExpr::Select(select) => {
            let mut reading = Reading {
                sorted_by: sorted_by.to_vec(),
                limited,
                ..Reading::default()
            };
            read_tables(&select.from, &mut reading);
            filter(select.selection.as_ref(), &mut reading);
            for from in &select.from {
                let factors = std::iter::once(&from.relation)
                    .chain(from.joins.iter().map(|join| &join.relation));
                for factor in factors {
                    if let TableFactor::Derived { subquery, .. } = factor {
                        read_query(subquery, readings);
                    }
                }
            }
            readings.push(reading);
        }
        SetExpr::Query(query) => read_query(query, readings),
        SetExpr::SetOperation { left, right, .. } => {
            read_body(left, (&[], false), readings);
            read_body(right, (&[], false), readings);
        }
        _ => {}
    }
}

fn read_tables(from: &[ast::TableWithJoins], reading: &mut Reading) {
    for tables in from {
        read_factor(&tables.relation, reading);
        for join in &tables.joins {
            read_factor(&join.relation, reading);
            if let Some(constraint) = constraint(&join.join_operator) {
                match constraint {
                    ast::JoinConstraint::On(on) => reading.bound.append(&mut bound(on)),
                    ast::JoinConstraint::Using(names) => {
                        reading.bound.extend(
                            names
                                .iter()
                                .map(|name| name.to_string().to_ascii_lowercase()),
                        );
                    }
                    _ => {}
                }
            }
        }
    }
}

fn constraint(operator: &ast::JoinOperator) -> Option<&ast::JoinConstraint> {
    use ast::JoinOperator as J;
    match operator {
        J::Join(on)
        | J::Inner(on)
        | J::Left(on)
        | J::LeftOuter(on)
        | J::Right(on)
        | J::RightOuter(on)
        | J::FullOuter(on)
        | J::Semi(on)
        | J::LeftSemi(on)
        | J::RightSemi(on)
        | J::Anti(on)
        | J::LeftAnti(on)
        | J::RightAnti(on) => Some(on),
        _ => None,
    }
}

fn read_factor(factor: &TableFactor, reading: &mut Reading) {
    if let TableFactor::Table { name, alias, .. } = factor {
        let last = name.0.last().and_then(ast::ObjectNamePart::as_ident);
        if let Some(ident) = last {
            reading.tables.push(Named {
                name: ident.value.clone(),
                alias: alias.as_ref().map(|alias| alias.name.value.clone()),
                span: Span::from(ident.span),
            });
        }
    }
}

fn filter(selection: Option<&Expr>, reading: &mut Reading) {
    reading.filtered = selection.is_some();
    if let Some(selection) = selection {
        reading.bound.append(&mut bound(selection));
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
