//! Pieces of trees, made by hand.

use keys::Type;
use syntax::{Kind, ast};

/// A name that means itself.
pub(crate) fn quoted(name: &str) -> ast::Ident {
    ast::Ident::with_quote('"', name)
}

/// The query `SELECT text`.
pub(crate) fn selected(text: &str) -> Option<ast::Query> {
    let statements = syntax::parse(&format!("SELECT {text}")).ok()?;
    match statements.into_iter().next()?.kind {
        Kind::Query(query) => Some(*query.query),
        _ => None,
    }
}

/// What a query asks for first.
pub(crate) fn first_item(query: ast::Query) -> Option<ast::Expr> {
    let ast::SetExpr::Select(select) = *query.body else {
        return None;
    };
    match select.projection.into_iter().next()? {
        ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
            Some(expr)
        }
        _ => None,
    }
}

/// `$n`.
pub(crate) fn placeholder(number: usize) -> ast::Expr {
    value(ast::Value::Placeholder(format!("${number}")))
}

/// A literal.
pub(crate) fn value(value: ast::Value) -> ast::Expr {
    ast::Expr::Value(value.with_empty_span())
}

/// `CAST(expr AS kind)`.
pub(crate) fn cast(expr: ast::Expr, kind: Type) -> ast::Expr {
    let (name, modifiers) = match kind {
        Type::Decimal { precision, scale } => (
            "Decimal".to_owned(),
            vec![precision.to_string(), scale.to_string()],
        ),
        other => (other.to_string(), Vec::new()),
    };
    ast::Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(expr),
        data_type: ast::DataType::Custom(
            ast::ObjectName::from(vec![ast::Ident::new(name)]),
            modifiers,
        ),
        array: false,
        format: None,
    }
}

/// `(VALUES rows) AS name (columns)`; a list without rows is a query that finds none.
pub(crate) fn table_of(
    mut rows: Vec<Vec<ast::Expr>>,
    columns: &[(String, ast::Expr)],
    alias: Option<ast::TableAlias>,
) -> ast::TableFactor {
    let empty = rows.is_empty();
    if empty {
        rows.push(columns.iter().map(|(_, null)| null.clone()).collect());
    }
    let values = ast::SetExpr::Values(ast::Values {
        explicit_row: false,
        value_keyword: false,
        rows: rows.into_iter().map(ast::Parens::with_empty_span).collect(),
    });
    let mut subquery = query(values);
    if empty {
        subquery.limit_clause = Some(ast::LimitClause::LimitOffset {
            limit: Some(value(ast::Value::Number("0".to_owned(), false))),
            offset: None,
            limit_by: Vec::new(),
        });
    }
    let mut alias = alias.unwrap_or_else(|| named(ast::Ident::new(super::AS_TABLE)));
    if alias.columns.is_empty() {
        let column = |(name, _): &(String, ast::Expr)| ast::TableAliasColumnDef {
            name: quoted(name),
            data_type: None,
        };
        alias.columns = columns.iter().map(column).collect();
    }
    derived(subquery, Some(alias))
}

/// `(query) AS alias` after FROM.
pub(crate) fn derived(query: ast::Query, alias: Option<ast::TableAlias>) -> ast::TableFactor {
    ast::TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias,
        sample: None,
    }
}

/// A table after FROM.
pub(crate) fn table(path: &str, alias: Option<ast::TableAlias>) -> ast::TableFactor {
    ast::TableFactor::Table {
        name: ast::ObjectName::from(vec![ast::Ident::with_quote('`', path)]),
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// `AS name`.
pub(crate) fn named(name: ast::Ident) -> ast::TableAlias {
    ast::TableAlias {
        explicit: true,
        name,
        columns: Vec::new(),
        at: None,
    }
}

/// A query that is nothing but its body.
pub(crate) fn query(body: ast::SetExpr) -> ast::Query {
    ast::Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}
