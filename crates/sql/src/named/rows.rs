//! Lists that are written out: `AsList(…)`, and `AS_TABLE` over a list of `AsStruct(…)`.
//!
//! The parser gives `AsStruct(1 AS a, "x" AS b)` as `AsStruct(1, 'a', 'x', 'b')`: a value, its name,
//! and so on.

use keys::Type;
use syntax::ast;
use syntax::statement::{Insert, ParameterType};

use super::{AS_TABLE, Names, build};
use crate::names::tree_name;
use crate::{Error, Result};

/// A row of a list: names and values.
type Row = Vec<(String, ast::Expr)>;

/// The items of a list that is written out, if it is one.
pub(super) fn items(expr: &ast::Expr) -> Option<Vec<ast::Expr>> {
    match expr {
        ast::Expr::Nested(inner) => items(inner),
        ast::Expr::Tuple(items) => Some(items.clone()),
        ast::Expr::Array(array) => Some(array.elem.clone()),
        ast::Expr::Function(function) => {
            let name = call_name(function)?;
            let list = ["aslist", "asset", "aslistmaybe"].contains(&name.as_str());
            let empty = name == "listcreate";
            if !list && !empty {
                return None;
            }
            let items = arguments(function)?;
            Some(if empty { Vec::new() } else { items })
        }
        _ => None,
    }
}

/// `AS_TABLE(…)` as a table, unless its rows are a parameter, which has none before it is bound.
pub(super) fn as_table(
    args: &ast::TableFunctionArgs,
    alias: &mut Option<ast::TableAlias>,
) -> Result<Option<ast::TableFactor>> {
    let unsupported = |what: &str| Error::Unsupported {
        what: format!("AS_TABLE of {what}"),
    };
    let argument = argument(args).ok_or_else(|| unsupported("more or less than one list"))?;
    if number(argument).is_some() {
        return Ok(None);
    }
    let items = items(argument).ok_or_else(|| unsupported("anything but a list of structs"))?;
    let rows: Option<Vec<Row>> = items.iter().map(members).collect();
    let rows =
        rows.ok_or_else(|| unsupported("a list of anything but AsStruct(value AS name, …)"))?;
    let Some(first) = rows.first() else {
        return Err(unsupported("an empty list, whose columns nobody knows"));
    };
    let columns: Vec<(String, ast::Expr)> = first.clone();
    let mut values = Vec::with_capacity(rows.len());
    for row in &rows {
        if row.len() != columns.len() {
            return Err(unsupported("structs with different members"));
        }
        let cells = columns.iter().map(|(name, _)| {
            let found = row.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        });
        let cells: Option<Vec<ast::Expr>> = cells.collect();
        values.push(cells.ok_or_else(|| unsupported("structs with different members"))?);
    }
    Ok(Some(build::table_of(values, &columns, alias.take())))
}

/// The `n` of an expression that is just `$n`.
pub(super) fn number(expr: &ast::Expr) -> Option<usize> {
    let ast::Expr::Value(value) = expr else {
        return None;
    };
    let ast::Value::Placeholder(name) = &value.value else {
        return None;
    };
    name.strip_prefix('$')?.parse().ok()
}

/// The only argument of a table's function.
pub(super) fn argument(args: &ast::TableFunctionArgs) -> Option<&ast::Expr> {
    match args.args.as_slice() {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))] => Some(argument),
        _ => None,
    }
}

/// The columns of a SELECT by name: of one from `AS_TABLE(…)`, or with `any` of every one that has
/// names for all of them.
pub(super) fn names(source: &ast::Query, names: &Names, any: bool) -> Option<Vec<String>> {
    let ast::SetExpr::Select(select) = source.body.as_ref() else {
        return None;
    };
    let list = list_of(select);
    if list.is_none() && !any {
        return None;
    }
    let mut columns = Vec::new();
    for item in &select.projection {
        match item {
            ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..) => {
                columns.extend(row_names(list?, names)?);
            }
            ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(name)) => {
                columns.push(tree_name(name));
            }
            ast::SelectItem::UnnamedExpr(ast::Expr::CompoundIdentifier(parts)) => {
                columns.push(tree_name(parts.last()?));
            }
            ast::SelectItem::ExprWithAlias { alias, .. } => columns.push(tree_name(alias)),
            _ => return None,
        }
    }
    Some(columns)
}

/// The list that a SELECT reads, if that is all it reads.
fn list_of(select: &ast::Select) -> Option<&ast::Expr> {
    let [from] = select.from.as_slice() else {
        return None;
    };
    let ast::TableFactor::Table {
        name,
        args: Some(args),
        ..
    } = &from.relation
    else {
        return None;
    };
    let function = name.0.last()?.as_ident()?;
    let alone = function.value.eq_ignore_ascii_case(AS_TABLE) && from.joins.is_empty();
    argument(args).filter(|_| alone)
}

/// The names of the members of a list's rows.
fn row_names(list: &ast::Expr, names: &Names) -> Option<Vec<String>> {
    if let ast::Expr::Value(value) = list
        && let ast::Value::Placeholder(name) = &value.value
    {
        if let Some(defined) = names.defined.get(name) {
            return row_names(&defined.value, names);
        }
        let declare = names.declared.get(names.position(name)?)?;
        let ParameterType::List(inner) = &declare.kind else {
            return None;
        };
        let ParameterType::Struct(members) = inner.as_ref() else {
            return None;
        };
        return Some(members.iter().map(|(name, _)| column(name)).collect());
    }
    let first = items(list)?.into_iter().next()?;
    Some(members(&first)?.into_iter().map(|(name, _)| name).collect())
}

/// The column that a member of a struct becomes: in lower case, as every name without quotes.
pub(super) fn column(member: &str) -> String {
    member.to_lowercase()
}

/// Turns `INSERT … SELECT columns FROM (VALUES …)` into `INSERT … VALUES`, which needs no planner.
pub(super) fn inline(insert: &mut Insert) {
    if insert.columns.is_empty() {
        return;
    }
    if let Some(source) = &mut insert.source
        && let Some(values) = inlined(source)
    {
        **source = build::query(values);
    }
}

fn inlined(source: &ast::Query) -> Option<ast::SetExpr> {
    let ast::SetExpr::Select(select) = source.body.as_ref() else {
        return None;
    };
    let [from] = select.from.as_slice() else {
        return None;
    };
    let ast::TableFactor::Derived {
        subquery,
        alias: Some(alias),
        ..
    } = &from.relation
    else {
        return None;
    };
    let ast::SetExpr::Values(values) = subquery.body.as_ref() else {
        return None;
    };
    let plain = is_bare(source) && is_bare(subquery) && is_plain(select) && from.joins.is_empty();
    if !plain {
        return None;
    }
    let known: Vec<String> = alias
        .columns
        .iter()
        .map(|one| tree_name(&one.name))
        .collect();
    let mut positions = Vec::new();
    for item in &select.projection {
        match item {
            ast::SelectItem::Wildcard(options) if *options == Default::default() => {
                positions.extend(0..known.len());
            }
            ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(name))
            | ast::SelectItem::ExprWithAlias {
                expr: ast::Expr::Identifier(name),
                ..
            } => {
                let name = tree_name(name);
                positions.push(known.iter().position(|column| *column == name)?);
            }
            _ => return None,
        }
    }
    let mut rows = Vec::with_capacity(values.rows.len());
    for row in &values.rows {
        let cells = positions.iter().map(|at| row.content.get(*at).cloned());
        let cells: Option<Vec<ast::Expr>> = cells.collect();
        rows.push(ast::Parens::with_empty_span(cells?));
    }
    Some(ast::SetExpr::Values(ast::Values {
        rows,
        ..values.clone()
    }))
}

/// Whether a query is nothing but its body.
fn is_bare(query: &ast::Query) -> bool {
    query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
}

/// Whether a SELECT neither filters nor folds rows.
fn is_plain(select: &ast::Select) -> bool {
    select.selection.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && matches!(&select.group_by, ast::GroupByExpr::Expressions(by, _) if by.is_empty())
}

/// The members of `AsStruct(value, 'name', …)`.
fn members(expr: &ast::Expr) -> Option<Row> {
    let ast::Expr::Function(function) = expr else {
        return None;
    };
    if call_name(function)? != "asstruct" {
        return None;
    }
    let arguments = arguments(function)?;
    let mut members = Vec::with_capacity(arguments.len() / 2);
    let mut rest = arguments.into_iter();
    while let Some(value) = rest.next() {
        let (None, name) = syntax::literal_text(&rest.next()?)? else {
            return None;
        };
        members.push((name, value));
    }
    Some(members)
}

/// The name of a function, in lower case.
fn call_name(function: &ast::Function) -> Option<String> {
    let [ast::ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
        return None;
    };
    Some(name.value.to_lowercase())
}

fn arguments(function: &ast::Function) -> Option<Vec<ast::Expr>> {
    match &function.args {
        ast::FunctionArguments::None => Some(Vec::new()),
        ast::FunctionArguments::Subquery(_) => None,
        ast::FunctionArguments::List(list) => {
            let plain = |argument: &ast::FunctionArg| match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            };
            list.args.iter().map(plain).collect()
        }
    }
}

/// A NULL of a type, for a list that has no rows.
pub(super) fn null(kind: Type) -> ast::Expr {
    build::cast(build::value(ast::Value::Null), kind)
}
