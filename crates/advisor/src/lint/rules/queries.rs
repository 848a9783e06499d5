//! KEY008: a query that binds no beginning of the key and so reads every partition.
//!
//! A table is reached well when a filter, or a join, binds the first column of its key or of an
//! index, or everything that this column is computed from. With LIMIT and no filter, or in the order
//! of the key, only the first rows are read.

mod reading;

use syntax::schema::{Dialect, read_queries};
use syntax::{Error, Statement};

use crate::lint::finding::Severity;
use crate::lint::model::{Order, Table};
use crate::lint::nature::{computed, sources};
use crate::lint::rewrite::table_name;
use crate::lint::{Finding, Source};

use super::growing::quoted;
use reading::{Named, Reading, readings};

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

fn judge(source: &Source<'_>, statement: &Statement, findings: &mut Vec<Finding>) {
    for reading in &readings(statement) {
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
    let first_rows = reading.limited && !reading.filtered && in_order && reading.sources == 1;
    if first_rows || table.orders.iter().any(reaches) {
        return None;
    }
    let bound: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.written.name.value.as_str())
        .filter(|name| reading.binds(named, name))
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
    let index: String = format!("{}_by_{column}", table.name)
        .chars()
        .map(|char| if char.is_alphanumeric() { char } else { '_' })
        .collect();
    let column = table
        .column(column)
        .map_or_else(|| column.to_owned(), quoted);
    match table.dialect {
        Dialect::Ydb => {
            let name = &table.name;
            format!("ALTER TABLE `{name}` ADD INDEX {index} GLOBAL ON ({column});")
        }
        _ => {
            let name = table_name(table);
            format!("CREATE INDEX {index} ON {name} ({column});")
        }
    }
}

fn is_reached(table: &Table, named: &Named, order: &Order, reading: &Reading) -> bool {
    let Some(first) = order.parts.first() else {
        return false;
    };
    let by_itself = first
        .column
        .as_ref()
        .is_some_and(|column| reading.binds(named, &column.value));
    let by_sources = computed(table, first).is_some_and(|text| {
        let sources = sources(table, text);
        !sources.is_empty()
            && sources
                .iter()
                .all(|column| reading.binds(named, &column.written.name.value))
    });
    by_itself || by_sources
}
