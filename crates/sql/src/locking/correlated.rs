//! SKIP LOCKED in a query that speaks of the rows around it: it takes rows for each of those.
//!
//! ```text
//!   SELECT q.name, j.id FROM queues q CROSS JOIN LATERAL
//!     (SELECT id FROM jobs WHERE queue = q.id ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) AS j
//!   first      SELECT DISTINCT q.id FROM queues q                              7 and 9
//!   for each   SELECT id FROM jobs WHERE queue = $1 … LIMIT 2 SKIP LOCKED      takes 70, 71 and 90
//!   then       … LATERAL (SELECT id FROM (rows that were taken) WHERE outer = q.id) AS j
//! ```
//!
//! What the query speaks of has to be named with its table, as `q.id` is. Rows are taken for all rows
//! around it that the rest of the WHERE clause leaves, so none of those may be dropped by a LIMIT: that is
//! refused, because what was taken for them would stay claimed for nothing.

use std::collections::HashSet;
use std::ops::ControlFlow;

use syntax::ast::{self, Visit as _};
use syntax::{Kind, Statement};

use super::{Stops, skips};
use crate::named::build;
use crate::names::tree_name;

/// What stands around a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    with: Option<ast::With>,
    from: Vec<ast::TableWithJoins>,
    selection: Option<ast::Expr>,
    /// Whether some of its rows may be left out at the end.
    pub(super) limited: bool,
}

/// What a query speaks of that is around it.
#[derive(Debug)]
pub(super) struct Outer {
    /// The columns, each once.
    pub(super) columns: Vec<ast::Expr>,
    /// The query for the values that they have.
    pub(super) query: ast::Query,
}

impl Frame {
    /// What stands around the queries inside of an UPDATE or DELETE.
    pub(super) fn of_statement(kind: &Kind) -> Self {
        let (target, others, selection) = match kind {
            Kind::Update(update) => {
                let others = match &update.from {
                    Some(
                        ast::UpdateTableFromKind::BeforeSet(from)
                        | ast::UpdateTableFromKind::AfterSet(from),
                    ) => from.clone(),
                    None => Vec::new(),
                };
                (vec![update.table.clone()], others, &update.selection)
            }
            Kind::Delete(delete) => {
                let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                    &delete.from;
                let others = delete.using.clone().unwrap_or_default();
                (from.clone(), others, &delete.selection)
            }
            _ => return Self::default(),
        };
        Self {
            with: None,
            from: target.into_iter().chain(others).collect(),
            selection: selection.clone(),
            limited: false,
        }
    }

    /// What stands around the queries inside of a query.
    pub(super) fn of_query(query: &ast::Query) -> Self {
        let limited = query.limit_clause.is_some() || query.fetch.is_some();
        match query.body.as_ref() {
            ast::SetExpr::Select(select) => Self {
                with: query.with.clone(),
                from: select.from.clone(),
                selection: select.selection.clone(),
                limited,
            },
            _ => Self {
                limited,
                ..Self::default()
            },
        }
    }

    /// `SELECT DISTINCT columns` of it, without what takes rows.
    fn values(&self, columns: &[ast::Expr]) -> Option<ast::Query> {
        let parsed = syntax::parse("SELECT DISTINCT 1 FROM t").ok()?;
        let Kind::Query(query) = parsed.into_iter().next()?.kind else {
            return None;
        };
        let mut query = *query.query;
        query.with.clone_from(&self.with);
        let ast::SetExpr::Select(select) = query.body.as_mut() else {
            return None;
        };
        let items = columns.iter().enumerate();
        let items = items.map(|(number, expr)| ast::SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: build::quoted(&outer_name(number)),
        });
        select.projection = items.collect();
        let mut gone = HashSet::new();
        let mut stays = |factor: &ast::TableFactor| {
            let takes = factor.visit(&mut Stops(skips)).is_break();
            if takes {
                gone.extend(name_of(factor));
            }
            !takes
        };
        let mut from = self.from.clone();
        from.retain(|one| stays(&one.relation));
        for one in &mut from {
            one.joins.retain(|join| stays(&join.relation));
        }
        select.from = from;
        let parts = self.selection.iter().flat_map(crate::scalar::conjuncts);
        let parts = parts.filter(|part| {
            let mut speaks = Speaks::default();
            let _ = part.visit(&mut speaks);
            part.visit(&mut Stops(skips)).is_continue() && speaks.of.is_disjoint(&gone)
        });
        let both = parts.cloned().reduce(|left, right| ast::Expr::BinaryOp {
            left: Box::new(left),
            op: ast::BinaryOperator::And,
            right: Box::new(right),
        });
        select.selection = both;
        Some(query)
    }
}

/// What a column of the values around a query is called.
pub(super) fn outer_name(number: usize) -> String {
    format!("outer {number}")
}

/// The query with a parameter for each column that it speaks of around it, after this many others, and
/// those columns; `None` if it speaks of nothing around it.
pub(super) fn separated(
    query: &ast::Query,
    frame: &Frame,
    parameters: usize,
) -> Option<(ast::Query, Outer)> {
    let mut own = Speaks::default();
    let _ = query.visit(&mut own);
    let mut around = Speaks::default();
    let _ = frame.from.visit(&mut around);
    let mut parted = Parted {
        around: around.tables.difference(&own.tables).cloned().collect(),
        parameters,
        columns: Vec::new(),
    };
    let mut query = query.clone();
    let _ = ast::VisitMut::visit(&mut query, &mut parted);
    if parted.columns.is_empty() {
        return None;
    }
    let outer = Outer {
        query: frame.values(&parted.columns)?,
        columns: parted.columns,
    };
    Some((query, outer))
}

/// How many parameters a statement has.
pub(super) fn parameters(statement: &Statement) -> usize {
    let mut most = Most(0);
    let mut kind = statement.kind.clone();
    let _ = crate::named::visit(&mut kind, &mut most);
    most.0
}

struct Most(usize);

impl ast::VisitorMut for Most {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|one| one.parse().ok())
        {
            self.0 = self.0.max(number);
        }
        ControlFlow::Continue(())
    }
}

/// The tables that something names, and the names that columns are qualified with.
#[derive(Default)]
struct Speaks {
    tables: HashSet<String>,
    of: HashSet<String>,
}

impl ast::Visitor for Speaks {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &ast::TableFactor) -> ControlFlow<()> {
        self.tables.extend(name_of(factor));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::CompoundIdentifier(parts) = expr
            && let [of, _] = parts.as_slice()
        {
            self.of.insert(tree_name(of));
        }
        ControlFlow::Continue(())
    }
}

/// The name that columns of something in FROM go by.
fn name_of(factor: &ast::TableFactor) -> Option<String> {
    match factor {
        ast::TableFactor::Table { name, alias, .. } => match alias {
            Some(alias) => Some(tree_name(&alias.name)),
            None => name.0.last()?.as_ident().map(tree_name),
        },
        ast::TableFactor::Derived { alias, .. } => {
            alias.as_ref().map(|alias| tree_name(&alias.name))
        }
        _ => None,
    }
}

/// Puts parameters in the place of columns around a query.
struct Parted {
    around: HashSet<String>,
    parameters: usize,
    columns: Vec<ast::Expr>,
}

impl ast::VisitorMut for Parted {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::CompoundIdentifier(parts) = expr
            && let [of, _] = parts.as_slice()
            && self.around.contains(&tree_name(of))
        {
            let known = self.columns.iter().position(|one| one == expr);
            let place = known.unwrap_or_else(|| {
                self.columns.push(expr.clone());
                self.columns.len() - 1
            });
            *expr = build::placeholder(self.parameters + place + 1);
        }
        ControlFlow::Continue(())
    }
}
