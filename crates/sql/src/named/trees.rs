//! Names in trees: what a parameter, a definition and a table become.
//!
//! Everything is replaced on the way back up. What is put in was resolved when it was defined, so it
//! is not walked again, and a prefix is not put before a table twice.

use std::ops::ControlFlow;

use syntax::statement::{CopySource, Insert};
use syntax::{Kind, Mode, ast};

use super::{AS_TABLE, Defined, EXPRESSIONS_MAX, Names, build, rows, tables};
use crate::names::tree_name;
use crate::{Error, Result};

/// Resolves the names in a statement, and answers whether it uses a parameter.
pub(super) fn resolve(kind: &mut Kind, names: &mut Names) -> Result<bool> {
    if let Kind::Insert(insert) = kind {
        name_columns(insert, names);
    }
    let qualified = names.prefix.is_some() && tables::qualifies(kind);
    tables::prefix(kind, names.prefix.as_deref());
    let mut walk = Walk::new(names, qualified);
    let flow = visit(kind, &mut walk);
    let used = walk.used;
    done(flow)?;
    if let Kind::Insert(insert) = kind {
        rows::inline(insert);
    }
    Ok(used)
}

/// Resolves the names in what a name stands for.
pub(super) fn resolve_definition(mut value: ast::Expr, names: &mut Names) -> Result<ast::Expr> {
    let qualified = names.prefix.is_some() && tables::qualifies_expr(&mut value);
    let flow = ast::VisitMut::visit(&mut value, &mut Walk::new(names, qualified));
    done(flow)?;
    Ok(value)
}

pub(super) fn done(flow: ControlFlow<Box<Error>>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Visits every tree of the parser's in a statement.
pub(crate) fn visit<V: ast::VisitorMut>(kind: &mut Kind, visitor: &mut V) -> ControlFlow<V::Break> {
    use ast::VisitMut as _;
    match kind {
        Kind::Query(query) => query.query.visit(visitor),
        Kind::DeclareCursor(cursor) => cursor.query.visit(visitor),
        Kind::Insert(insert) => {
            insert.source.visit(visitor)?;
            insert.on_conflict.visit(visitor)?;
            insert.returning.visit(visitor)
        }
        Kind::Update(update) => update.visit(visitor),
        Kind::Delete(delete) => delete.visit(visitor),
        Kind::Call(function) => function.visit(visitor),
        Kind::Copy(copy) => match &mut copy.source {
            CopySource::Query(query) => query.visit(visitor),
            CopySource::Table { .. } => ControlFlow::Continue(()),
        },
        Kind::Explain(explain) => visit(&mut explain.statement.kind, visitor),
        _ => ControlFlow::Continue(()),
    }
}

/// Rows of a list have names and no order, so they find their columns by name, as in YQL. So do
/// those of UPDATE … ON and DELETE … ON, which are seldom whole.
pub(super) fn name_columns(insert: &mut Insert, names: &Names) {
    let partial = matches!(insert.mode, Mode::UpdateOn | Mode::DeleteOn);
    if insert.columns.is_empty()
        && let Some(source) = &insert.source
        && let Some(columns) = rows::names(source, names, partial)
    {
        let ident = |value| syntax::Ident {
            value,
            quote: Some('"'),
            span: insert.table.span,
        };
        insert.columns = columns.into_iter().map(ident).collect();
    }
}

struct Walk<'n> {
    names: &'n mut Names,
    /// Whether tables whose name changes keep their old one as an alias.
    qualified: bool,
    used: bool,
    /// Names of WITH that are in scope.
    ctes: Vec<String>,
    /// For each open query its WITH, set aside, and how many names were in scope before it.
    open: Vec<(Option<ast::With>, usize)>,
}

impl<'n> Walk<'n> {
    fn new(names: &'n mut Names, qualified: bool) -> Self {
        Self {
            names,
            qualified,
            used: false,
            ctes: Vec::new(),
            open: Vec::new(),
        }
    }

    /// What `$name` stands for, in parentheses where operators around it could pull it apart.
    fn placeholder(&mut self, name: &str) -> Result<Option<ast::Expr>> {
        if !is_named(name) {
            self.names.numbered.get_or_insert_with(|| name.to_owned());
            return Ok(None);
        }
        self.names.named.get_or_insert_with(|| name.to_owned());
        if let Some(Defined { value, size }) = self.names.defined.get(name) {
            self.names.put += size;
            if self.names.put > EXPRESSIONS_MAX {
                let reason =
                    format!("definitions make this text longer than {EXPRESSIONS_MAX} expressions");
                return Err(Error::Name {
                    name: name.to_owned(),
                    reason,
                });
            }
            return Ok(Some(match value {
                ast::Expr::BinaryOp { .. }
                | ast::Expr::UnaryOp { .. }
                | ast::Expr::Between { .. }
                | ast::Expr::InList { .. }
                | ast::Expr::InSubquery { .. }
                | ast::Expr::Like { .. }
                | ast::Expr::ILike { .. }
                | ast::Expr::IsNull(_)
                | ast::Expr::IsNotNull(_) => ast::Expr::Nested(Box::new(value.clone())),
                whole => whole.clone(),
            }));
        }
        match self.names.position(name) {
            Some(position) => {
                self.used = true;
                Ok(Some(build::placeholder(position + 1)))
            }
            None => Err(Error::Undeclared {
                name: name.to_owned(),
            }),
        }
    }

    fn expr(&mut self, expr: &mut ast::Expr) -> Result<()> {
        match expr {
            ast::Expr::Value(value) => {
                if let ast::Value::Placeholder(name) = &value.value
                    && let Some(stands_for) = self.placeholder(name)?
                {
                    *expr = stands_for;
                }
            }
            ast::Expr::InList {
                expr: item,
                list,
                negated,
            } => {
                if let [ast::Expr::Subquery(query)] = list.as_slice() {
                    *expr = ast::Expr::InSubquery {
                        expr: item.clone(),
                        subquery: query.clone(),
                        negated: *negated,
                    };
                } else if let [one] = list.as_slice()
                    && let Some(items) = rows::items(one)
                {
                    *list = items;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn table(&mut self, factor: &mut ast::TableFactor) -> Result<()> {
        let ast::TableFactor::Table {
            name, alias, args, ..
        } = factor
        else {
            return Ok(());
        };
        let [ast::ObjectNamePart::Identifier(word)] = name.0.as_slice() else {
            return Ok(());
        };
        if let Some(args) = args {
            if word.value.eq_ignore_ascii_case(AS_TABLE)
                && let Some(table) = rows::as_table(args, alias)?
            {
                *factor = table;
            }
            return Ok(());
        }
        if is_named(&word.value) {
            *factor = self.named_table(&word.value.clone(), alias.take())?;
            return Ok(());
        }
        let written = word.clone();
        if !self.ctes.contains(&tree_name(&written))
            && let Some(path) = tables::path(&tree_name(&written), self.names.prefix.as_deref())
        {
            *name = ast::ObjectName::from(vec![ast::Ident::with_quote('`', path)]);
            if self.qualified && alias.is_none() {
                *alias = Some(build::named(written));
            }
        }
        Ok(())
    }

    /// `FROM $name`: a query, or a table whose name is a string.
    fn named_table(
        &mut self,
        name: &str,
        alias: Option<ast::TableAlias>,
    ) -> Result<ast::TableFactor> {
        let refused = |reason: &str| Error::Name {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        match self.placeholder(name)? {
            Some(ast::Expr::Subquery(query)) => Ok(build::derived(*query, alias)),
            Some(expr) => match syntax::literal_text(&expr) {
                Some((_, table)) => {
                    let prefix = self.names.prefix.as_deref();
                    let path = tables::path(&table, prefix).unwrap_or(table);
                    Ok(build::table(&path, alias))
                }
                None if self.names.position(name).is_some() => Err(refused(
                    "a parameter cannot name a table; a list of rows goes in AS_TABLE(…)",
                )),
                None => Err(refused(
                    "it is no query and no table's name; a list of rows goes in AS_TABLE(…)",
                )),
            },
            None => Err(refused("it stands for no table")),
        }
    }

    fn open(&mut self, query: &mut ast::Query) -> ControlFlow<Box<Error>> {
        let before = self.ctes.len();
        if let Some(with) = &mut query.with {
            for cte in &mut with.cte_tables {
                let name = tree_name(&cte.alias.name);
                // Only RECURSIVE lets a query see its own name.
                if with.recursive {
                    self.ctes.push(name);
                    ast::VisitMut::visit(&mut cte.query, self)?;
                } else {
                    ast::VisitMut::visit(&mut cte.query, self)?;
                    self.ctes.push(name);
                }
            }
        }
        self.open.push((query.with.take(), before));
        ControlFlow::Continue(())
    }
}

impl ast::VisitorMut for Walk<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<Self::Break> {
        self.open(query)
    }

    fn post_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<Self::Break> {
        if let Some((with, before)) = self.open.pop() {
            query.with = with;
            self.ctes.truncate(before);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(
        &mut self,
        factor: &mut ast::TableFactor,
    ) -> ControlFlow<Self::Break> {
        flow(self.table(factor))
    }

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Self::Break> {
        flow(self.expr(expr))
    }
}

pub(super) fn flow(result: Result<()>) -> ControlFlow<Box<Error>> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

/// Whether this is a name of YQL (`$id`) and not a number of PostgreSQL (`$1`) or no parameter.
fn is_named(word: &str) -> bool {
    word.strip_prefix('$')
        .and_then(|name| name.chars().next())
        .is_some_and(|first| !first.is_ascii_digit())
}
