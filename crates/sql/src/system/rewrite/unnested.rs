//! Lists of a row as rows beside it.
//!
//! ```text
//!   FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k(key, n)
//!   FROM (SELECT i.*, unnest(i.indkey) AS key, unnest(places(i.indkey)) AS n FROM pg_index i) i
//!
//!   ARRAY(SELECT attname FROM unnest(c.conkey) WITH ORDINALITY k(number, n)
//!           JOIN pg_attribute a ON a.attnum = k.number WHERE a.attrelid = c.conrelid ORDER BY k.n)
//!   attribute_names(c.conrelid, c.conkey)
//! ```
//!
//! DataFusion unnests lists of the columns of a SELECT, and those of a row outside of it never.

use std::ops::ControlFlow;

use syntax::ast::{
    BinaryOperator, Expr, Ident, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins, VisitMut,
    VisitorMut, WildcardAdditionalOptions,
};

use super::{call, last_name, unnest};
use crate::named::build;
use crate::names::tree_name;

/// What the columns of an UNNEST are called that nobody gave names.
const ELEMENT: &str = "unnest";
const PLACE: &str = "ordinality";

/// Lets lists of a table in FROM stand in the table itself.
pub(super) fn fold(select: &mut Select) {
    let mut at = 1;
    while at < select.from.len() {
        let folded = match select.from.get(at - 1..=at) {
            Some([table, lists]) => folded(table, lists),
            _ => None,
        };
        let Some((table, lists)) = folded else {
            at += 1;
            continue;
        };
        let alias = alias_of(&table.relation);
        select.from.splice(at - 1..=at, [table]);
        if let (Some(lists), Some(table)) = (lists, alias) {
            let mut moved = Moved { lists, table };
            let _ = VisitMut::visit(&mut select.projection, &mut moved);
            let _ = VisitMut::visit(&mut select.selection, &mut moved);
        }
    }
}

/// A table with its lists as columns, and the name that those went by.
fn folded(
    table: &TableWithJoins,
    lists: &TableWithJoins,
) -> Option<(TableWithJoins, Option<String>)> {
    let TableFactor::UNNEST {
        alias,
        array_exprs,
        with_ordinality,
        ..
    } = &lists.relation
    else {
        return None;
    };
    let name = alias_of(&table.relation)?;
    let own = |list: &Expr| {
        matches!(list, Expr::CompoundIdentifier(parts)
        if parts.len() == 2 && parts.first().is_some_and(|of| tree_name(of) == name))
    };
    if !table.joins.is_empty() || !lists.joins.is_empty() || !array_exprs.iter().all(own) {
        return None;
    }
    let mut query = build::selected("1")?;
    let SetExpr::Select(inner) = query.body.as_mut() else {
        return None;
    };
    let all = ObjectName::from(vec![build::quoted(&name)]);
    let all = SelectItemQualifiedWildcardKind::ObjectName(all);
    let all = SelectItem::QualifiedWildcard(all, WildcardAdditionalOptions::default());
    let mut items = vec![all];
    let mut columns = array_exprs
        .iter()
        .map(|list| unnest(list.clone()))
        .collect::<Vec<_>>();
    if *with_ordinality {
        columns.push(unnest(call("places", vec![array_exprs.first()?.clone()])));
    }
    let count = array_exprs.len();
    for (place, expr) in columns.into_iter().enumerate() {
        let given = alias.as_ref().and_then(|alias| alias.columns.get(place));
        let usual = if place < count { ELEMENT } else { PLACE };
        let alias = given.map_or_else(|| Ident::new(usual), |one| one.name.clone());
        items.push(SelectItem::ExprWithAlias { expr, alias });
    }
    inner.projection = items;
    inner.from = vec![table.clone()];
    let folded = TableWithJoins {
        relation: TableFactor::Derived {
            lateral: false,
            subquery: Box::new(query),
            alias: Some(TableAlias {
                explicit: true,
                name: build::quoted(&name),
                columns: Vec::new(),
                at: None,
            }),
            sample: None,
        },
        joins: Vec::new(),
    };
    Some((folded, alias.as_ref().map(|alias| tree_name(&alias.name))))
}

fn alias_of(relation: &TableFactor) -> Option<String> {
    match relation {
        TableFactor::Table { name, alias, .. } => match alias {
            Some(alias) => Some(tree_name(&alias.name)),
            None => last_name(name),
        },
        TableFactor::Derived { alias, .. } => alias.as_ref().map(|alias| tree_name(&alias.name)),
        _ => None,
    }
}

/// Calls what went by the name of the lists by that of their table.
struct Moved {
    lists: String,
    table: String,
}

impl VisitorMut for Moved {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [of, _] = parts.as_mut_slice()
            && tree_name(of) == self.lists
        {
            *of = build::quoted(&self.table);
        }
        ControlFlow::Continue(())
    }
}

/// The names of columns whose numbers are a list of the row around a query.
pub(super) fn attribute_names(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [SelectItem::UnnamedExpr(item)] = select.projection.as_slice() else {
        return None;
    };
    let [TableWithJoins { relation, joins }] = select.from.as_slice() else {
        return None;
    };
    let (TableFactor::UNNEST { array_exprs, .. }, [join]) = (relation, joins.as_slice()) else {
        return None;
    };
    let TableFactor::Table { name, .. } = &join.relation else {
        return None;
    };
    let ([numbers], Some("attname"), Some("pg_attribute")) = (
        array_exprs.as_slice(),
        column(item).as_deref(),
        last_name(name).as_deref(),
    ) else {
        return None;
    };
    match select.selection.as_ref()? {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => {
            let of = |expr: &Expr| column(expr).as_deref() == Some("attrelid");
            let relation = match (of(left), of(right)) {
                (true, false) => right,
                (false, true) => left,
                _ => return None,
            };
            let arguments = vec![relation.as_ref().clone(), numbers.clone()];
            Some(call("attribute_names", arguments))
        }
        _ => None,
    }
}

fn column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(tree_name(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(tree_name),
        _ => None,
    }
}
