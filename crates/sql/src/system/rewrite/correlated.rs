//! Columns that look something up in another table.
//!
//! A query that stands for one value has at most one row, so looking it up is joining it:
//!
//! ```text
//!   SELECT a.name, (SELECT d.text FROM d WHERE d.id = a.id AND a.has) FROM a
//!   SELECT a.name, CASE WHEN _1.matched THEN _1.text END
//!     FROM a LEFT JOIN (SELECT *, true AS matched FROM d) _1 ON _1.id = a.id AND a.has
//! ```
//!
//! DataFusion takes such queries only if they aggregate; this form it takes whatever the condition.

use std::ops::ControlFlow;

use syntax::ast::{
    CaseWhen, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query,
    Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Visit, VisitMut, Visitor,
    VisitorMut,
};
use syntax::{Kind, ast};

use super::{name_parts, take};
use crate::names::tree_name;

const MATCHED: &str = "matched";

/// Joins what the columns and the condition of a SELECT look up.
pub(super) fn join(select: &mut Select, joins: &mut usize) {
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if grouped || select.from.is_empty() {
        return;
    }
    let mut lookups = Lookups {
        joins,
        found: Vec::new(),
        depth: 0,
    };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            let _ = VisitMut::visit(expr, &mut lookups);
        }
    }
    if let Some(condition) = &mut select.selection {
        let _ = VisitMut::visit(condition, &mut lookups);
    }
    let found = lookups.found;
    if found.is_empty() {
        return;
    }
    let mut from = one_join(std::mem::take(&mut select.from));
    from.joins.extend(found);
    select.from = vec![from];
}

/// All of a FROM as one chain of joins.
fn one_join(from: Vec<TableWithJoins>) -> TableWithJoins {
    let mut all = from.into_iter();
    let mut first = all.next().expect("there is a FROM");
    for other in all {
        let relation = match other.joins.is_empty() {
            true => other.relation,
            false => TableFactor::NestedJoin {
                table_with_joins: Box::new(other),
                alias: None,
            },
        };
        first.joins.push(Join {
            relation,
            global: false,
            join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
        });
    }
    first
}

/// Finds queries that stand for one value and puts in their place what is joined.
struct Lookups<'j> {
    joins: &'j mut usize,
    found: Vec<Join>,
    /// How many queries this is inside of.
    depth: usize,
}

impl VisitorMut for Lookups<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Subquery(query) = expr
            && let Some((value, join)) = lookup(query, self.joins)
        {
            self.found.push(join);
            *expr = value;
        }
        ControlFlow::Continue(())
    }
}

/// The value and the join that stand for a query, if it is a plain lookup.
fn lookup(query: &Query, joins: &mut usize) -> Option<(Expr, Join)> {
    if query.with.is_some() || query.limit_clause.is_some() || query.order_by.is_some() {
        return None;
    }
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let mut select = select.as_ref().clone();
    let plain = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
        && select.having.is_none()
        && select.distinct.is_none();
    let mut condition = select.selection.take()?;
    let [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] =
        select.projection.as_mut_slice()
    else {
        return None;
    };
    let mut value = take(value);
    if !plain || aggregates(&value) {
        return None;
    }
    let mut from = one_join_of(select.from)?;
    let mut names = Renamed::default();
    names.rename_all(&mut from, joins)?;
    let _ = VisitMut::visit(&mut from, &mut names);
    let _ = VisitMut::visit(&mut condition, &mut names);
    let _ = VisitMut::visit(&mut value, &mut names);
    let marker = names.first()?;
    let value = Expr::Case {
        case_token: ast::helpers::attached_token::AttachedToken::empty(),
        end_token: ast::helpers::attached_token::AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition: Expr::CompoundIdentifier(vec![marker, Ident::new(MATCHED)]),
            result: value,
        }],
        else_result: None,
    };
    let relation = match from.joins.is_empty() {
        true => from.relation,
        false => TableFactor::NestedJoin {
            table_with_joins: Box::new(from),
            alias: None,
        },
    };
    let join_operator = JoinOperator::LeftOuter(JoinConstraint::On(condition));
    Some((
        value,
        Join {
            relation,
            global: false,
            join_operator,
        },
    ))
}

fn one_join_of(from: Vec<TableWithJoins>) -> Option<TableWithJoins> {
    (!from.is_empty()).then(|| one_join(from))
}

/// Whether a value is made of many rows.
fn aggregates(value: &Expr) -> bool {
    const AGGREGATES: [&str; 9] = [
        "array_agg",
        "string_agg",
        "count",
        "min",
        "max",
        "sum",
        "bool_and",
        "bool_or",
        "avg",
    ];
    struct Finds;
    impl Visitor for Finds {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if name_parts(&function.name)
                        .last()
                        .is_some_and(|name| AGGREGATES.contains(&name.as_str())) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    value.visit(&mut Finds).is_break()
}

/// The tables of a lookup under names of their own, and their columns after them.
#[derive(Default)]
struct Renamed {
    /// What a table was called, in parts, and what it is called now.
    tables: Vec<(Vec<String>, Ident)>,
}

impl Renamed {
    fn rename_all(&mut self, from: &mut TableWithJoins, joins: &mut usize) -> Option<()> {
        self.rename(&mut from.relation, joins)?;
        for join in &mut from.joins {
            self.rename(&mut join.relation, joins)?;
        }
        Some(())
    }

    fn rename(&mut self, factor: &mut TableFactor, joins: &mut usize) -> Option<()> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return None;
        };
        let before = match alias {
            Some(alias) => vec![tree_name(&alias.name)],
            None => name_parts(name),
        };
        *joins += 1;
        let after = Ident::new(format!("_{joins}"));
        *factor = marked(name, after.clone())?;
        self.tables.push((before, after));
        Some(())
    }

    fn first(&self) -> Option<Ident> {
        self.tables.first().map(|(_, after)| after.clone())
    }

    /// What a table is called now that was called so, with or without its schema.
    fn find(&self, parts: &[String]) -> Option<&Ident> {
        let found = self
            .tables
            .iter()
            .find(|(before, _)| before == parts || before.ends_with(parts));
        found.map(|(_, after)| after)
    }
}

impl VisitorMut for Renamed {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundIdentifier(parts) => {
                if let Some((column, table)) = parts.split_last() {
                    let names: Vec<String> = table.iter().map(tree_name).collect();
                    if let Some(after) = self.find(&names) {
                        *parts = vec![after.clone(), column.clone()];
                    }
                }
            }
            Expr::Identifier(column) => {
                if let [(_, after)] = self.tables.as_slice() {
                    *expr = Expr::CompoundIdentifier(vec![after.clone(), column.clone()]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// A table with a column that says that there is a row.
fn marked(name: &ObjectName, alias: Ident) -> Option<TableFactor> {
    let text = format!("SELECT *, true AS {MATCHED} FROM {name}");
    let statement = syntax::parse(&text).ok()?.pop()?;
    let Kind::Query(query) = statement.kind else {
        return None;
    };
    Some(TableFactor::Derived {
        lateral: false,
        subquery: query.query,
        alias: Some(TableAlias {
            explicit: true,
            name: alias,
            columns: Vec::new(),
            at: None,
        }),
        sample: None,
    })
}
