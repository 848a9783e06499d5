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

/// What a query took.
pub(super) struct Taken {
    pub(super) query: ast::Query,
    pub(super) columns: Arc<[ResultColumn]>,
    /// What it speaks of around it.
    pub(super) outer: Option<Vec<(ast::Expr, Type)>>,
    pub(super) groups: Vec<Group>,
}

/// Groups with rows in them, what the query speaks of around it, and the type of its first column.
type Grouped = (Vec<Group>, Vec<(ast::Expr, Type)>, Type);

impl Taken {
    fn rows(&self) -> impl Iterator<Item = &Vec<Value>> {
        self.groups.iter().flat_map(|(_, rows)| rows)
    }
}

/// Puts what was taken in the place of the queries that took it.
pub(super) struct Fill {
    taken: Vec<Taken>,
    /// The values of all parameters; those of the rows come last.
    values: Vec<Value>,
    kinds: Vec<Option<Type>>,
    failed: Option<Error>,
}

impl Fill {
    pub(super) fn new(taken: Vec<Taken>, values: &[Value], kinds: Vec<Option<Type>>) -> Self {
        Self {
            taken,
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

    /// What a query took that stands for itself.
    fn taken(&self, query: &ast::Query) -> Option<usize> {
        let taken = self.find(query)?;
        let plain = self.taken.get(taken)?.outer.is_none();
        plain.then_some(taken)
    }

    fn find(&self, query: &ast::Query) -> Option<usize> {
        self.taken.iter().position(|one| one.query == *query)
    }

    /// What a query took that speaks of what is around it.
    fn grouped(&self, query: &ast::Query) -> Option<Grouped> {
        let one = self.taken.get(self.find(query)?)?;
        let kind = one.columns.first().map_or(Type::Utf8, |one| one.kind);
        let mut groups = one.groups.clone();
        groups.retain(|(_, rows)| !rows.is_empty());
        Some((groups, one.outer.clone()?, kind))
    }

    /// Whether the row around a query has these values.
    fn matched(&mut self, outer: &[(ast::Expr, Type)], values: Vec<Value>) -> ast::Expr {
        let each = outer.iter().zip(values).map(|((column, kind), value)| {
            let value = self.parameter(value, *kind);
            binary(column.clone(), ast::BinaryOperator::Eq, value)
        });
        let each: Vec<_> = each.collect();
        any_or_all(each, ast::BinaryOperator::And, true)
    }

    /// Whether a value is among what was taken for the row around the query, or anything at all was.
    fn among(&mut self, sought: Option<&ast::Expr>, query: &ast::Query) -> Option<ast::Expr> {
        let (groups, outer, kind) = self.grouped(query)?;
        let mut each = Vec::with_capacity(groups.len());
        for (values, rows) in groups {
            let matched = self.matched(&outer, values);
            each.push(match sought {
                None => matched,
                Some(sought) => {
                    let firsts = rows.into_iter().filter_map(|row| row.into_iter().next());
                    let firsts: Vec<Value> = firsts.collect();
                    let list = firsts.into_iter();
                    let list = list.map(|value| self.parameter(value, kind)).collect();
                    let among = ast::Expr::InList {
                        expr: Box::new(sought.clone()),
                        list,
                        negated: false,
                    };
                    binary(matched, ast::BinaryOperator::And, among)
                }
            });
        }
        Some(any_or_all(each, ast::BinaryOperator::Or, false))
    }

    /// The one value that was taken for the row around a query.
    fn chosen(&mut self, query: &ast::Query) -> Option<ast::Expr> {
        let (groups, outer, kind) = self.grouped(query)?;
        if groups.iter().any(|(_, rows)| rows.len() > 1) {
            self.failed = Some(Error::Refused {
                fault: Fault::Cardinality,
                what: "a query that stands for a value took more than one row: add LIMIT 1"
                    .to_owned(),
            });
        }
        let null = build::cast(build::value(ast::Value::Null), kind);
        let mut conditions = Vec::with_capacity(groups.len());
        for (values, rows) in groups {
            let condition = self.matched(&outer, values);
            let value = rows.into_iter().flatten().next().unwrap_or(Value::Null);
            let result = self.parameter(value, kind);
            conditions.push(ast::CaseWhen { condition, result });
        }
        if conditions.is_empty() {
            return Some(null);
        }
        Some(ast::Expr::Case {
            case_token: ast::helpers::attached_token::AttachedToken::empty(),
            end_token: ast::helpers::attached_token::AttachedToken::empty(),
            operand: None,
            conditions,
            else_result: Some(Box::new(null)),
        })
    }

    /// The rows that were taken for the row around a query, as a query.
    fn lateral(&mut self, query: &ast::Query) -> Option<ast::Query> {
        let (groups, outer, _) = self.grouped(query)?;
        let columns = Arc::clone(&self.taken.get(self.find(query)?)?.columns);
        let own = columns.iter().map(|one| (one.name.clone(), one.kind));
        let around = outer.iter().enumerate();
        let around = around.map(|(number, (_, kind))| (outer_name(number), *kind));
        let all: Vec<(String, Type)> = own.chain(around).collect();
        let rows = groups.into_iter().flat_map(|(values, rows)| {
            let rows = rows.into_iter();
            rows.map(move |row| row.into_iter().chain(values.clone()).collect::<Vec<_>>())
        });
        let table = self.values(rows.collect(), &all, None);
        let mut whole = every_row(table)?;
        let ast::SetExpr::Select(select) = whole.body.as_mut() else {
            return None;
        };
        let items = columns.iter().map(|column| {
            ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(build::quoted(&column.name)))
        });
        select.projection = items.collect();
        let same = outer.into_iter().enumerate().map(|(number, (column, _))| {
            let name = ast::Expr::Identifier(build::quoted(&outer_name(number)));
            binary(name, ast::BinaryOperator::Eq, column)
        });
        let same = same.collect();
        select.selection = Some(any_or_all(same, ast::BinaryOperator::And, true));
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

    /// `expr IN (…)` with the values of one column of what was taken.
    fn in_list(&mut self, expr: ast::Expr, taken: usize, column: usize) -> ast::Expr {
        let values = self.column(taken, column);
        if values.is_empty() {
            return build::value(ast::Value::Boolean(false));
        }
        ast::Expr::InList {
            expr: Box::new(expr),
            list: values,
            negated: false,
        }
    }

    fn column(&mut self, taken: usize, column: usize) -> Vec<ast::Expr> {
        let Some(one) = self.taken.get(taken) else {
            return Vec::new();
        };
        let kind = one.columns.get(column).map_or(Type::Utf8, |one| one.kind);
        let values = one.rows().filter_map(|row| row.get(column).cloned());
        let values: Vec<Value> = values.collect();
        let values = values.into_iter();
        values.map(|value| self.parameter(value, kind)).collect()
    }

    /// The rows that a query took, as a table.
    fn table(&mut self, taken: usize) -> Option<ast::TableFactor> {
        let one = self.taken.get(taken)?;
        let columns = one.columns.iter();
        let columns: Vec<_> = columns.map(|one| (one.name.clone(), one.kind)).collect();
        let rows = one.rows().cloned().collect();
        Some(self.values(rows, &columns, None))
    }

    /// Rows as a table with these columns.
    fn values(
        &mut self,
        rows: Vec<Vec<Value>>,
        columns: &[(String, Type)],
        alias: Option<ast::TableAlias>,
    ) -> ast::TableFactor {
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
        build::table_of(shown, &names, alias)
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
            let Some(taken) = self.taken(subquery) else {
                continue;
            };
            for part in crate::scalar::conjuncts(&filter) {
                if let Some((expr, column)) = self.joined(part, taken, alias) {
                    let known = self.in_list(expr, taken, column);
                    narrowed = ast::Expr::BinaryOp {
                        left: Box::new(ast::Expr::Nested(Box::new(narrowed))),
                        op: ast::BinaryOperator::And,
                        right: Box::new(known),
                    };
                }
            }
        }
        *selection = Some(narrowed);
    }

    /// What a condition compares a column of the taken rows with, and that column.
    fn joined(
        &self,
        part: &ast::Expr,
        taken: usize,
        alias: &ast::TableAlias,
    ) -> Option<(ast::Expr, usize)> {
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
                [of, name] if tree_name(of) == tree_name(&alias.name) => self.named(taken, name),
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

    fn named(&self, taken: usize, name: &ast::Ident) -> Option<usize> {
        let columns = &self.taken.get(taken)?.columns;
        let name = tree_name(name);
        columns.iter().position(|column| column.name == name)
    }

    /// The one column that a query gives of rows that were taken: `SELECT id FROM (taken) AS job`.
    fn of_taken(&self, query: &ast::Query) -> Option<(usize, usize)> {
        if let Some(taken) = self.taken(query) {
            let one = self.taken.get(taken)?.columns.len() == 1;
            return one.then_some((taken, 0));
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
        let taken = self.taken(subquery)?;
        let [ast::SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() else {
            return None;
        };
        let name = match expr {
            ast::Expr::Identifier(name) => name,
            ast::Expr::CompoundIdentifier(parts) => parts.last()?,
            _ => return None,
        };
        let plain = bare && from.joins.is_empty() && alias.columns.is_empty();
        let column = self.named(taken, name).filter(|_| plain)?;
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
            } => match self.of_taken(subquery) {
                Some((taken, column)) if !*negated => {
                    Some((self.in_list(of.as_ref().clone(), taken, column), false))
                }
                Some(_) => None,
                None => self.among(Some(of), subquery).map(|one| (one, *negated)),
            },
            ast::Expr::Exists { subquery, negated } => {
                self.among(None, subquery).map(|one| (one, *negated))
            }
            ast::Expr::Subquery(query) => match self.of_taken(query) {
                Some((taken, column)) => {
                    let few = self
                        .taken
                        .get(taken)
                        .is_some_and(|one| one.rows().count() <= 1);
                    few.then(|| {
                        let value = self.column(taken, column).pop();
                        let null = || build::value(ast::Value::Null);
                        (value.unwrap_or_else(null), false)
                    })
                }
                None => self.chosen(query).map(|one| (one, false)),
            },
            _ => None,
        };
        if let Some((filled, negated)) = filled {
            let filled = Box::new(filled);
            *expr = match negated {
                true => ast::Expr::UnaryOp {
                    op: ast::UnaryOperator::Not,
                    expr: Box::new(ast::Expr::Nested(filled)),
                },
                false => ast::Expr::Nested(filled),
            };
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let whole = match self.taken(query) {
            Some(taken) => self.table(taken).and_then(every_row),
            None => self.lateral(query),
        };
        if let Some(whole) = whole {
            *query = whole;
        }
        ControlFlow::Continue(())
    }
}

fn binary(left: ast::Expr, op: ast::BinaryOperator, right: ast::Expr) -> ast::Expr {
    ast::Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

/// These conditions with AND or OR between them; what is true of none of them if there are none.
fn any_or_all(each: Vec<ast::Expr>, op: ast::BinaryOperator, of_none: bool) -> ast::Expr {
    let chained = each
        .into_iter()
        .reduce(|left, right| binary(left, op.clone(), right));
    match chained {
        Some(chained) => ast::Expr::Nested(Box::new(chained)),
        None => build::value(ast::Value::Boolean(of_none)),
    }
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
