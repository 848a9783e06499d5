//! PostgreSQL's dialect of system queries, made plain before planning.
//!
//! ```text
//!   a OPERATOR(pg_catalog.~) b COLLATE x     a ~ b
//!   pg_catalog.f(x)                          f(x)
//!   'boats'::regclass, oid::regtype::text    regclass_oid('boats'), regtype_name(oid)     [casts]
//!   '{a,b}'::text[]                          ARRAY['a','b']
//!   generate_subscripts(k, 1)                unnest(subscripts(k))
//!   (information_schema._pg_expandarray(k)).n   unnest(places(k))
//!   a LIKE p ESCAPE '/'                      a LIKE like_pattern(p, '/')
//!   (SELECT d FROM t WHERE t.x = a.x)        a LEFT JOIN t ON t.x = a.x, and d            [correlated]
//!   ARRAY(SELECT … FROM a table that is always empty)   an empty list                     [empty]
//!   FROM t, unnest(t.list) WITH ORDINALITY l(x, n)      FROM (SELECT t.*, unnest(…) …)     [unnested]
//! ```
//!
//! Every rule is about a construct and none about a whole text, so what a client sends in its next
//! version has a chance. Only queries that mention system tables or functions come here; all others
//! are planned as they were written.

mod casts;
mod correlated;
mod empty;
mod lists;
mod mentions;
mod spelling;
mod unnested;

use std::ops::ControlFlow;

pub(crate) use casts::plain_type;

use syntax::ast::{
    self, AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, Query, Select, TableFactor, Value, VisitMut, VisitorMut,
};

use super::definition;
use crate::names::tree_name;

/// Schemas whose functions are found without naming them.
const FUNCTION_SCHEMAS: [&str; 2] = ["pg_catalog", "information_schema"];

/// Makes a query plain if it mentions system tables or functions, and says whether it does. What it
/// reads is then as of now, so a plan of it must not be kept for later.
pub(crate) fn rewrite(query: &mut Query) -> bool {
    if !mentions::mentions(query) {
        return false;
    }
    let _ = query.visit(&mut Plain::default());
    true
}

/// Whether a name in FROM may mean a system table, or a schema of them.
pub(crate) fn is_table(name: &ObjectName) -> bool {
    let parts = name_parts(name);
    let schema = parts.iter().rev().nth(1);
    system_table(name).is_some() || schema.is_some_and(|name| definition::schema(name).is_some())
}

/// Spells columns of `sys` in a query as they are; the columns of its result are called so too.
pub(crate) fn spell(query: &mut Query) {
    spelling::spell(query);
}

#[derive(Default)]
struct Plain {
    /// How many joins were added, for their names.
    joins: usize,
}

impl VisitorMut for Plain {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        // Before their parts are made plain, while they are still recognised.
        empty::settle(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        casts::shown(select);
        unnested::fold(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        lists::count_instead(select);
        correlated::join(select, &mut self.joins);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        self::factor(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        // What is looked up through others is the base of a domain, and there are none.
        if let Expr::Subquery(query) = expr
            && query.with.as_ref().is_some_and(|with| with.recursive)
        {
            *expr = null();
        }
        casts::plain(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self::expr(expr);
        ControlFlow::Continue(())
    }
}

/// A table function without its schema, or the table that stands for it.
fn factor(factor: &mut TableFactor) {
    let TableFactor::Table { name, args, .. } = factor else {
        return;
    };
    if args.is_none() {
        return;
    }
    unqualify(name);
    if last_name(name).as_deref() == Some("pg_get_keywords") {
        *args = None;
        *name = ObjectName::from(vec![Ident::new("pg_catalog"), Ident::new("pg_keywords")]);
    }
}

fn expr(expr: &mut Expr) {
    match expr {
        Expr::Collate { expr: inner, .. } => {
            let inner = take(inner);
            *expr = inner;
        }
        Expr::Function(function) => {
            unqualify(&mut function.name);
            if let Some(replaced) = lists::gathered(function).or_else(|| replaced(function)) {
                *expr = replaced;
            }
        }
        Expr::Like {
            pattern,
            escape_char,
            ..
        }
        | Expr::ILike {
            pattern,
            escape_char,
            ..
        } => {
            if let Some(escape) = escape_char.take() {
                let inner = take(pattern);
                **pattern = call("like_pattern", vec![inner, Expr::Value(escape)]);
            }
        }
        // What has no parentheses in PostgreSQL and is no word of the parser's.
        Expr::Identifier(name) if mentions::is_bare_call(name) => {
            *expr = call(&tree_name(name), Vec::new());
        }
        // The table that a row of a system table is in; nothing has comments that are found by it.
        Expr::CompoundIdentifier(parts)
            if parts
                .last()
                .is_some_and(|last| tree_name(last) == "tableoid") =>
        {
            *expr = Expr::Value(Value::Number("0".to_owned(), false).into());
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            if let Some(replaced) = field(root, access_chain) {
                *expr = replaced;
            }
        }
        _ => {}
    }
}

/// What stands for a function that is none here.
fn replaced(function: &Function) -> Option<Expr> {
    let first = || arguments(function).into_iter().next();
    match last_name(&function.name)?.as_str() {
        "generate_subscripts" => Some(unnest(call("subscripts", vec![first()?]))),
        // The pairs of value and place; alone they stand for the values.
        "_pg_expandarray" => Some(unnest(first()?)),
        // Partitions are no relations here, so none has others above it.
        "pg_partition_ancestors" => Some(unnest(call("subscripts", vec![null()]))),
        _ => None,
    }
}

/// A field of what `_pg_expandarray` gave: `x` is the value, `n` the place.
fn field(root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
    let [AccessExpr::Dot(Expr::Identifier(name))] = chain else {
        return None;
    };
    let mut inner = root;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    match (tree_name(name).as_str(), inner) {
        ("x", _) => Some(inner.clone()),
        ("n", Expr::Function(function)) => {
            // It was made an `unnest` before this was reached.
            let values = arguments(function).into_iter().next()?;
            Some(unnest(call("places", vec![values])))
        }
        _ => None,
    }
}

fn unnest(list: Expr) -> Expr {
    call("unnest", vec![list])
}

/// Takes an expression out of its place.
fn take(place: &mut Expr) -> Expr {
    std::mem::replace(place, Expr::Value(Value::Null.into()))
}

fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// The call of a function.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments
        .into_iter()
        .map(|one| FunctionArg::Unnamed(FunctionArgExpr::Expr(one)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The arguments of a call that are plain expressions.
pub(crate) fn arguments(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let plain = list.args.iter().filter_map(|one| match one {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    plain.collect()
}

/// Drops the schema from the name of a function.
fn unqualify(name: &mut ObjectName) {
    if let [schema, _] = name.0.as_slice()
        && let Some(schema) = schema.as_ident().map(tree_name)
        && FUNCTION_SCHEMAS.contains(&schema.as_str())
    {
        name.0.remove(0);
    }
}

/// The last part of a name.
pub(crate) fn last_name(name: &ObjectName) -> Option<String> {
    name.0.last()?.as_ident().map(tree_name)
}

/// The parts of a name, folded.
fn name_parts(name: &ObjectName) -> Vec<String> {
    let idents = name.0.iter().filter_map(ast::ObjectNamePart::as_ident);
    idents.map(tree_name).collect()
}

/// The system table that a name in FROM means.
fn system_table(name: &ObjectName) -> Option<&'static definition::Definition> {
    match name_parts(name).as_slice() {
        [table] => definition::find(definition::PG_CATALOG.0, table),
        [schema, table] => definition::find(schema, table),
        _ => None,
    }
}
