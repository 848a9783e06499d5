//! What was taken, in the place of the queries that took it.
//!
//! ```text
//!   id IN (SELECT … SKIP LOCKED)                     id IN ($1, $2)
//!   FROM (SELECT … SKIP LOCKED) AS job               FROM (VALUES ($1, $2)) AS job
//!   (SELECT … WHERE queue = q.id … SKIP LOCKED)      CASE WHEN q.id = $1 THEN $2 WHEN q.id = $3 THEN $4 END
//!   EXISTS (SELECT … WHERE queue = q.id … )          q.id = $1 OR q.id = $3
//!   LATERAL (SELECT … WHERE queue = q.id … )         LATERAL (SELECT … FROM (VALUES …) WHERE outer = q.id)
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use keys::{Type, Value};
use syntax::{Kind, ast};

use super::correlated::outer_name;
use crate::named::build;
use crate::names::tree_name;
use crate::query::ResultColumn;
use crate::{Error, Fault, Result};

/// Values around a query, and the rows that it took for them.
pub(super) type Group = (Vec<Value>, Vec<Vec<Value>>);

/// What a query took: one group if it speaks of nothing around it.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) query: ast::Query,
    pub(super) columns: Arc<[ResultColumn]>,
    /// What it speaks of around it.
    pub(super) outer: Vec<(ast::Expr, Type)>,
    pub(super) groups: Vec<Group>,
}

impl Taken {
    /// The place of a column.
    fn named(&self, name: &ast::Ident) -> Option<usize> {
        let name = tree_name(name);
        self.columns.iter().position(|column| column.name == name)
    }

    fn kind(&self, column: usize) -> Type {
        self.columns.get(column).map_or(Type::Utf8, |one| one.kind)
    }

    /// Groups with rows in them, and of those one column.
    fn column(&self, column: usize) -> Vec<(&[Value], Vec<Value>)> {
        let groups = self.groups.iter().filter(|(_, rows)| !rows.is_empty());
        let groups = groups.map(|(values, rows)| {
            let cells = rows.iter().filter_map(|row| row.get(column).cloned());
            (values.as_slice(), cells.collect())
        });
        groups.collect()
    }
}

/// Puts what was taken in the place of the queries that took it.
pub(super) struct Fill {
    taken: Vec<Arc<Taken>>,
    /// The values of all parameters; those of the rows come last.
    values: Vec<Value>,
    kinds: Vec<Option<Type>>,
    failed: Option<Error>,
}

impl Fill {
    pub(super) fn new(taken: Vec<Taken>, values: &[Value], kinds: Vec<Option<Type>>) -> Self {
        Self {
            taken: taken.into_iter().map(Arc::new).collect(),
            values: values.to_vec(),
            kinds,
            failed: None,
        }
    }

    /// The values of all parameters, and their types.
    pub(super) fn finish(self) -> Result<(Vec<Value>, Vec<Option<Type>>)> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok((self.values, self.kinds)),
        }
    }

    fn find(&self, query: &ast::Query) -> Option<Arc<Taken>> {
        self.taken.iter().find(|one| one.query == *query).cloned()
    }

    /// Whether the row around a query has these values; nothing if it does not speak of that.
    fn matched(&mut self, taken: &Taken, values: &[Value]) -> Option<ast::Expr> {
        let outer = taken.outer.iter().zip(values);
        let each = outer.map(|((column, kind), value)| {
            let value = self.parameter(value.clone(), *kind);
            binary(column.clone(), ast::BinaryOperator::Eq, value)
        });
        let each: Vec<_> = each.collect();
        chained(each, ast::BinaryOperator::And)
    }

    /// `sought IN (…)` with one column of what was taken for the row around the query.
    fn among(&mut self, sought: &ast::Expr, taken: &Taken, column: usize) -> ast::Expr {
        let mut each = Vec::new();
        for (values, cells) in taken.column(column) {
            let matched = self.matched(taken, values);
            let kind = taken.kind(column);
            let list = cells.into_iter().map(|cell| self.parameter(cell, kind));
            let among = ast::Expr::InList {
                expr: Box::new(sought.clone()),
                list: list.collect(),
                negated: false,
            };
            let both = matched.into_iter().chain([among]).collect();
            each.extend(chained(both, ast::BinaryOperator::And));
        }
        chained(each, ast::BinaryOperator::Or).unwrap_or_else(|| boolean(false))
    }

    /// Whether anything was taken for the row around the query.
    fn exists(&mut self, taken: &Taken) -> ast::Expr {
        let groups = taken.column(0).into_iter();
        let each = groups.map(|(values, _)| {
            let matched = self.matched(taken, values);
            matched.unwrap_or_else(|| boolean(true))
        });
        let each = each.collect();
        chained(each, ast::BinaryOperator::Or).unwrap_or_else(|| boolean(false))
    }

    /// The one value that was taken for the row around a query.
    fn chosen(&mut self, taken: &Taken, column: usize) -> ast::Expr {
        let kind = taken.kind(column);
        let null = build::cast(build::value(ast::Value::Null), kind);
        let mut conditions = Vec::new();
        for (values, mut cells) in taken.column(column) {
            if cells.len() > 1 {
                self.failed = Some(Error::Refused {
                    fault: Fault::Cardinality,
                    what: "a query that stands for a value took more than one row: add LIMIT 1"
                        .to_owned(),
                });
            }
            let condition = self.matched(taken, values);
            let result = self.parameter(cells.pop().unwrap_or(Value::Null), kind);
            let Some(condition) = condition else {
                return result;
            };
            conditions.push(ast::CaseWhen { condition, result });
        }
        if conditions.is_empty() {
            return null;
        }
        ast::Expr::Case {
            case_token: ast::helpers::attached_token::AttachedToken::empty(),
            end_token: ast::helpers::attached_token::AttachedToken::empty(),
            operand: None,
            conditions,
            else_result: Some(Box::new(null)),
        }
    }

    /// The rows that were taken for the row around a query, as a query.
    fn rows(&mut self, taken: &Taken) -> Option<ast::Query> {
        let own = taken.columns.iter().map(|one| (one.name.clone(), one.kind));
        let around = taken.outer.iter().enumerate();
        let around = around.map(|(number, (_, kind))| (outer_name(number), *kind));
        let columns: Vec<(String, Type)> = own.chain(around).collect();
        let rows = taken.groups.iter().flat_map(|(values, rows)| {
            let rows = rows.iter();
            rows.map(move |row| row.iter().chain(values).cloned().collect())
        });
        let table = self.table(rows.collect(), &columns);
        let mut whole = every_row(table)?;
        let same = taken.outer.iter().enumerate();
        let same = same.map(|(number, (column, _))| {
            let name = ast::Expr::Identifier(build::quoted(&outer_name(number)));
            binary(name, ast::BinaryOperator::Eq, column.clone())
        });
        let same = chained(same.collect(), ast::BinaryOperator::And);
        if let (ast::SetExpr::Select(select), Some(same)) = (whole.body.as_mut(), same) {
            let items = taken.columns.iter().map(|column| {
                ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(build::quoted(&column.name)))
            });
            select.projection = items.collect();
            select.selection = Some(same);
        }
        Some(whole)
    }

    /// A new parameter.
    fn parameter(&mut self, value: Value, kind: Type) -> ast::Expr {
        // Values that were not given would come to stand before it.
        self.values
            .resize(self.values.len().max(self.kinds.len()), Value::Null);
        self.values.push(value);
        self.kinds.push(Some(kind));
        build::placeholder(self.values.len())
    }

    /// Rows as a table with these columns.
    fn table(&mut self, rows: Vec<Vec<Value>>, columns: &[(String, Type)]) -> ast::TableFactor {
        let mut shown = Vec::with_capacity(rows.len());
        for row in rows {
            let cells = row.into_iter().zip(columns).map(|(value, (_, kind))| {
                let parameter = self.parameter(value, *kind);
                build::cast(parameter, *kind)
            });
            shown.push(cells.collect());
        }
        let names = columns.iter().map(|(name, kind)| {
            let null = build::value(ast::Value::Null);
            (name.clone(), build::cast(null, *kind))
        });
        let names: Vec<_> = names.collect();
        build::table_of(shown, &names, None)
    }

    /// Tells a statement that joins what was taken which of its own rows those are.
    pub(super) fn narrow(&mut self, kind: &mut Kind) {
        let (others, selection) = match kind {
            Kind::Update(update) => match &update.from {
                Some(
                    ast::UpdateTableFromKind::BeforeSet(from)
                    | ast::UpdateTableFromKind::AfterSet(from),
                ) => (from.clone(), &mut update.selection),
                None => return,
            },
            Kind::Delete(delete) => match &delete.using {
                Some(using) => (using.clone(), &mut delete.selection),
                None => return,
            },
            _ => return,
        };
        let Some(filter) = selection.take() else {
            return;
        };
        let mut narrowed = filter.clone();
        for other in others {
            let ast::TableFactor::Derived {
                subquery,
                alias: Some(alias),
                ..
            } = &other.relation
            else {
                continue;
            };
            let Some(taken) = self.find(subquery) else {
                continue;
            };
            for part in crate::scalar::conjuncts(&filter) {
                if let Some((expr, column)) = joined(part, &taken, alias) {
                    let known = self.among(&expr, &taken, column);
                    let nested = ast::Expr::Nested(Box::new(narrowed));
                    narrowed = binary(nested, ast::BinaryOperator::And, known);
                }
            }
        }
        *selection = Some(narrowed);
    }

    /// What a query took of which it gives one column, as `SELECT id FROM (taken) AS job` does, and that
    /// column.
    fn of_taken(&self, query: &ast::Query) -> Option<(Arc<Taken>, usize)> {
        if let Some(taken) = self.find(query) {
            return (taken.columns.len() == 1).then_some((taken, 0));
        }
        let ast::SetExpr::Select(select) = query.body.as_ref() else {
            return None;
        };
        let bare = query.limit_clause.is_none()
            && query.fetch.is_none()
            && query.with.is_none()
            && select.selection.is_none()
            && select.having.is_none()
            && select.distinct.is_none();
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
        let taken = self.find(subquery)?;
        let [ast::SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() else {
            return None;
        };
        let name = match expr {
            ast::Expr::Identifier(name) => name,
            ast::Expr::CompoundIdentifier(parts) => parts.last()?,
            _ => return None,
        };
        let plain = bare && from.joins.is_empty() && alias.columns.is_empty();
        let column = taken.named(name).filter(|_| plain)?;
        Some((taken, column))
    }
}

impl ast::VisitorMut for Fill {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let filled = match expr {
            ast::Expr::InSubquery {
                expr: of,
                subquery,
                negated,
            } => self
                .of_taken(subquery)
                .map(|(taken, column)| (self.among(of, &taken, column), *negated)),
            ast::Expr::Exists { subquery, negated } => self
                .find(subquery)
                .map(|taken| (self.exists(&taken), *negated)),
            ast::Expr::Subquery(query) => self
                .of_taken(query)
                .map(|(taken, column)| (self.chosen(&taken, column), false)),
            _ => None,
        };
        if let Some((filled, negated)) = filled {
            let nested = ast::Expr::Nested(Box::new(filled));
            *expr = match negated {
                true => ast::Expr::UnaryOp {
                    op: ast::UnaryOperator::Not,
                    expr: Box::new(nested),
                },
                false => nested,
            };
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        if let Some(taken) = self.find(query)
            && let Some(rows) = self.rows(&taken)
        {
            *query = rows;
        }
        ControlFlow::Continue(())
    }
}

/// What a condition compares a column of the taken rows with, and that column.
fn joined(part: &ast::Expr, taken: &Taken, alias: &ast::TableAlias) -> Option<(ast::Expr, usize)> {
    let ast::Expr::BinaryOp {
        left,
        op: ast::BinaryOperator::Eq,
        right,
    } = part
    else {
        return None;
    };
    let column = |expr: &ast::Expr| match expr {
        ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [of, name] if tree_name(of) == tree_name(&alias.name) => taken.named(name),
            _ => None,
        },
        _ => None,
    };
    if !alias.columns.is_empty() {
        return None;
    }
    match (column(left), column(right)) {
        (Some(at), None) => Some((right.as_ref().clone(), at)),
        (None, Some(at)) => Some((left.as_ref().clone(), at)),
        _ => None,
    }
}

fn binary(left: ast::Expr, op: ast::BinaryOperator, right: ast::Expr) -> ast::Expr {
    ast::Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

fn boolean(value: bool) -> ast::Expr {
    build::value(ast::Value::Boolean(value))
}

/// These conditions with AND or OR between them, if there are any.
fn chained(each: Vec<ast::Expr>, op: ast::BinaryOperator) -> Option<ast::Expr> {
    let many = each.len() > 1;
    let chained = each
        .into_iter()
        .reduce(|left, right| binary(left, op.clone(), right))?;
    Some(match many {
        true => ast::Expr::Nested(Box::new(chained)),
        false => chained,
    })
}

/// `SELECT * FROM table`.
fn every_row(table: ast::TableFactor) -> Option<ast::Query> {
    let parsed = syntax::parse("SELECT * FROM t").ok()?;
    let Kind::Query(query) = parsed.into_iter().next()?.kind else {
        return None;
    };
    let mut query = *query.query;
    if let ast::SetExpr::Select(select) = query.body.as_mut() {
        select.from.first_mut()?.relation = table;
    }
    Some(query)
}
