//! What PostgreSQL says in ways that DataFusion does not know, said otherwise.
//!
//! ```text
//!   SELECT count(*), 1 + 1           columns get the names that PostgreSQL gives them, so that what
//!                                    stands around a subquery can call them so
//!   FETCH FIRST 2 ROWS ONLY          LIMIT 2
//!   generate_series(1, 3) g          the column is called g as well
//!   unnest('{1,2}'::int[])           the column is called unnest
//!   SELECT generate_series(1, 3)     SELECT unnest(generate_series(1, 3))
//!   SELECT EXISTS (SELECT …)         SELECT (SELECT count(*) > 0 …)
//!   a SIMILAR TO 'x%'                a ~ '^(?s:x.*)$'
//!   t AT TIME ZONE 'utc'             t, whose instants are those of UTC already
//!   to_char(t, 'YYYY')               to_char(t, '%Y')
//! ```
//!
//! What it knows and means otherwise is refused: other time zones, and numbers above what a float holds.

use std::ops::ControlFlow;

use keys::{Type, Value};
use syntax::ast::{self, VisitMut, VisitorMut};

use super::titles::title;
use super::{formats, patterns, unique};
use crate::named::build;
use crate::names::tree_name;
use crate::{Error, Fault, Result, cast, number};

/// What the elements of lists are called as rows.
const UNNEST: &str = "unnest";

/// The query in words that DataFusion understands.
pub(crate) fn understood(query: &ast::Query) -> Result<ast::Query> {
    let mut query = query.clone();
    match VisitMut::visit(&mut query, &mut Phrases) {
        ControlFlow::Continue(()) => Ok(query),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Phrases;

impl VisitorMut for Phrases {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Error> {
        let said = match expr {
            ast::Expr::AtTimeZone { .. } => instant(expr),
            ast::Expr::SimilarTo { .. } => similar(expr),
            ast::Expr::Function(function) => formatted(function),
            ast::Expr::Value(value) => held(&value.value),
            _ => return ControlFlow::Continue(()),
        };
        match said {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<Error> {
        fetch_to_limit(query);
        limit_to_number(query);
        name_columns(query.body.as_mut());
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<Error> {
        let (name, alias) = match factor {
            ast::TableFactor::UNNEST {
                alias,
                array_exprs,
                with_ordinality: false,
                with_offset: false,
                ..
            } => {
                name_elements(alias, array_exprs.len());
                return ControlFlow::Continue(());
            }
            ast::TableFactor::Table {
                name,
                alias,
                args: Some(_),
                ..
            }
            | ast::TableFactor::Function { name, alias, .. } => (name, alias),
            _ => return ControlFlow::Continue(()),
        };
        let function = name.0.last().and_then(|part| part.as_ident());
        if function.is_some_and(|name| tree_name(name) == "generate_series") {
            name_series(alias);
        }
        ControlFlow::Continue(())
    }
}

fn text(expr: &ast::Expr) -> Option<&str> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn unanswered(what: &str) -> Error {
    Error::Refused {
        fault: Fault::Feature,
        what: what.to_owned(),
    }
}

/// A time in a zone: all times are those of UTC.
fn instant(expr: &mut ast::Expr) -> Result<()> {
    let ast::Expr::AtTimeZone {
        timestamp,
        time_zone,
    } = expr
    else {
        return Ok(());
    };
    let zone = text(time_zone).map(str::to_ascii_lowercase);
    match zone.as_deref() {
        Some("utc" | "gmt" | "z" | "zulu" | "etc/utc" | "+00" | "+00:00") => {
            *expr = ast::Expr::Nested(timestamp.clone());
            Ok(())
        }
        _ => Err(unanswered(
            "AT TIME ZONE with another zone than UTC: convert times where they are shown",
        )),
    }
}

/// A time as text, or the other way round, in PostgreSQL's format; one with `%` is DataFusion's own.
fn formatted(function: &mut ast::Function) -> Result<()> {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let name = name.map(tree_name).unwrap_or_default();
    let ast::FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    let [
        _,
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(format)),
    ] = list.args.as_mut_slice()
    else {
        return Ok(());
    };
    if !matches!(name.as_str(), "to_char" | "to_timestamp" | "to_date") {
        return Ok(());
    }
    let Some(written) = text(format) else {
        let what = format!("{name} with a format that is not written in the statement");
        return Err(unanswered(&what));
    };
    if written.contains('%') {
        return Ok(());
    }
    let understood = formats::understood(written)
        .map_err(|part| unanswered(&format!("{name} with `{part}` in its format")))?;
    *format = ast::Expr::Value(ast::Value::SingleQuotedString(understood).into());
    Ok(())
}

fn similar(expr: &mut ast::Expr) -> Result<()> {
    let ast::Expr::SimilarTo {
        negated,
        expr: of,
        pattern,
        escape_char,
    } = expr
    else {
        return Ok(());
    };
    let escape = match escape_char {
        None => Some('\\'),
        Some(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text.chars().next(),
            _ => return Err(unanswered("SIMILAR TO with such an ESCAPE")),
        },
    };
    let regular = text(pattern).and_then(|pattern| patterns::regular(pattern, escape));
    let Some(regular) = regular else {
        return Err(unanswered(
            "SIMILAR TO with a pattern that is not written as a whole: use ~",
        ));
    };
    let op = match negated {
        true => ast::BinaryOperator::PGRegexNotMatch,
        false => ast::BinaryOperator::PGRegexMatch,
    };
    let regular = ast::Value::SingleQuotedString(regular);
    *expr = ast::Expr::Nested(Box::new(ast::Expr::BinaryOp {
        left: of.clone(),
        op,
        right: Box::new(ast::Expr::Value(regular.into())),
    }));
    Ok(())
}

/// Refuses a number that only infinity would be near.
fn held(value: &ast::Value) -> Result<()> {
    match value {
        ast::Value::Number(digits, _) if digits.parse().is_ok_and(f64::is_infinite) => {
            Err(Error::OutOfRange {
                value: digits.clone(),
                kind: Type::Double,
            })
        }
        _ => Ok(()),
    }
}

fn fetch_to_limit(query: &mut ast::Query) {
    let Some(fetch) = &query.fetch else { return };
    if fetch.with_ties || fetch.percent {
        return;
    }
    let one = || ast::Expr::Value(ast::Value::Number("1".to_owned(), false).into());
    let quantity = fetch.quantity.clone().unwrap_or_else(one);
    match &mut query.limit_clause {
        Some(ast::LimitClause::LimitOffset {
            limit: limit @ None,
            ..
        }) => *limit = Some(quantity),
        clause @ None => {
            *clause = Some(ast::LimitClause::LimitOffset {
                limit: Some(quantity),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        Some(_) => return,
    }
    query.fetch = None;
}

/// `LIMIT '7'` is seven and `LIMIT 6.5` too, as in PostgreSQL.
fn limit_to_number(query: &mut ast::Query) {
    let Some(ast::LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause else {
        return;
    };
    let offset = offset.as_mut().map(|offset| &mut offset.value);
    for expr in limit.iter_mut().chain(offset) {
        let Some((None, text)) = syntax::literal_text(expr) else {
            continue;
        };
        let number = match text.contains(['.', 'e', 'E']) {
            true => number::written(&text),
            false => Ok(Value::from(text)),
        };
        // What is no number is refused by who plans it.
        if let Ok(Value::Int64(rows)) = number.and_then(|number| cast(number, Type::Int64)) {
            let digits = ast::Value::Number(rows.unsigned_abs().to_string(), false);
            let digits = ast::Expr::Value(digits.into());
            *expr = match rows < 0 {
                true => ast::Expr::UnaryOp {
                    op: ast::UnaryOperator::Minus,
                    expr: Box::new(digits),
                },
                false => digits,
            };
        }
    }
}

fn name_series(alias: &mut Option<ast::TableAlias>) {
    let alias = alias.get_or_insert_with(|| ast::TableAlias {
        explicit: true,
        name: ast::Ident::new("generate_series"),
        columns: Vec::new(),
        at: None,
    });
    if alias.columns.is_empty() {
        alias.columns.push(ast::TableAliasColumnDef {
            name: alias.name.clone(),
            data_type: None,
        });
    }
}

/// The columns of UNNEST are called so, or as its alias if there is one of them.
fn name_elements(alias: &mut Option<ast::TableAlias>, columns: usize) {
    let named = alias.as_ref().map(|alias| tree_name(&alias.name));
    let column = named.filter(|_| columns == 1);
    let column = column.unwrap_or_else(|| UNNEST.to_owned());
    let alias = alias.get_or_insert_with(|| ast::TableAlias {
        explicit: true,
        name: ast::Ident::new(UNNEST),
        columns: Vec::new(),
        at: None,
    });
    if !alias.columns.is_empty() {
        return;
    }
    for place in 0..columns {
        let name = match place {
            0 => column.clone(),
            place => unique::marked(&column, place),
        };
        alias.columns.push(ast::TableAliasColumnDef {
            name: ast::Ident::with_quote('"', name),
            data_type: None,
        });
    }
}

fn name_columns(body: &mut ast::SetExpr) {
    let select = match body {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { left, right, .. } => {
            name_columns(left);
            name_columns(right);
            return;
        }
        _ => return,
    };
    let mut taken: Vec<String> = Vec::new();
    let mut plain: Vec<ast::Expr> = Vec::new();
    for item in &mut select.projection {
        match item {
            ast::SelectItem::UnnamedExpr(expr) => {
                let column = matches!(
                    expr,
                    ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
                );
                if column && !plain.contains(expr) {
                    plain.push(expr.clone());
                    taken.extend(title(expr));
                    continue;
                }
                let Some(name) = title(expr) else { continue };
                let name = fresh(name, &taken);
                taken.push(name.clone());
                let mut expr = expr.clone();
                count_instead(&mut expr);
                unnest_series(&mut expr);
                let alias = ast::Ident::with_quote('"', name);
                *item = ast::SelectItem::ExprWithAlias { expr, alias };
            }
            ast::SelectItem::ExprWithAlias { expr, alias } => {
                taken.push(tree_name(alias));
                count_instead(expr);
                unnest_series(expr);
            }
            _ => {}
        }
    }
}

/// `generate_series` among the columns is rows, and not a list.
fn unnest_series(expr: &mut ast::Expr) {
    let ast::Expr::Function(function) = expr else {
        return;
    };
    let name = function.name.0.last().and_then(|part| part.as_ident());
    if name.is_none_or(|name| tree_name(name) != "generate_series") {
        return;
    }
    let mut rows = function.clone();
    rows.name = ast::ObjectName::from(vec![ast::Ident::new("unnest")]);
    if let ast::FunctionArguments::List(list) = &mut rows.args {
        let series = ast::FunctionArgExpr::Expr(expr.clone());
        list.args = vec![ast::FunctionArg::Unnamed(series)];
        *expr = ast::Expr::Function(rows);
    }
}

/// DataFusion wants every column to have a name of its own.
fn fresh(name: String, taken: &[String]) -> String {
    if !taken.contains(&name) {
        return name;
    }
    let mut number = 1_usize;
    loop {
        let other = format!("{name}:{number}");
        if !taken.contains(&other) {
            return other;
        }
        number += 1;
    }
}

/// `EXISTS` outside of a condition, where DataFusion does not know it.
fn count_instead(expr: &mut ast::Expr) {
    let ast::Expr::Exists { subquery, negated } = expr else {
        return;
    };
    let plain = subquery.with.is_none() && subquery.limit_clause.is_none();
    let ast::SetExpr::Select(select) = subquery.body.as_mut() else {
        return;
    };
    let grouped = !matches!(&select.group_by, ast::GroupByExpr::Expressions(by, _) if by.is_empty())
        || select.having.is_some()
        || select.distinct.is_some();
    if !plain || grouped {
        return;
    }
    let op = if *negated { "=" } else { ">" };
    let Some(count) = counted(op) else { return };
    select.projection = vec![ast::SelectItem::UnnamedExpr(count)];
    *expr = ast::Expr::Subquery(subquery.clone());
}

/// `count(*) > 0`, or `= 0`.
fn counted(op: &str) -> Option<ast::Expr> {
    build::first_item(build::selected(&format!("count(*) {op} 0"))?)
}
