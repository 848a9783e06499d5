//! What PostgreSQL calls the types of a statement's parameters.
//!
//! ```text
//!   INSERT INTO t (at) VALUES ($1)     $1 is what the column is
//!   … WHERE at >= $1                   $1 is what it is compared with
//!   $1::varchar(3)                     $1 is what the cast says
//! ```
//!
//! Types themselves are worked out elsewhere; this adds which of several types that are stored alike is
//! meant. A name is looked for in all tables that the statement names, so a column that is called the
//! same in two of them is the first one's.

use std::ops::ControlFlow;
use std::sync::Arc;

use keys::{Declared, Type};
use syntax::statement::Insert;
use syntax::{Kind, Statement, ast};

use crate::names::{column_name, table_name, tree_name, tree_table_name};
use crate::{Catalog, Table};

/// What `$1`, `$2`, … of these types are declared as, as far as the statement tells.
pub(super) fn declared(catalog: &Catalog, statement: &Statement, kinds: &[Type]) -> Vec<Declared> {
    if kinds.is_empty() {
        return Vec::new();
    }
    let mut finds = Finds {
        tables: Tables {
            catalog,
            all: Vec::new(),
        },
        found: Vec::new(),
    };
    finds.statement(&statement.kind);
    let pairs = finds.found.iter().zip(kinds);
    pairs.map(|(declared, kind)| declared.of(*kind)).collect()
}

struct Tables<'c> {
    catalog: &'c Catalog,
    all: Vec<Arc<Table>>,
}

impl Tables<'_> {
    /// What a column of that name is declared as.
    fn declared(&self, name: &str) -> Declared {
        let columns = self.all.iter().flat_map(|table| table.schema().columns());
        let mut named = columns.filter(|column| column.name == name);
        named
            .next()
            .map(|column| column.declared)
            .unwrap_or_default()
    }
}

impl ast::Visitor for Tables<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
        let name = tree_table_name(name).ok();
        self.all
            .extend(name.and_then(|name| self.catalog.find(&name)));
        ControlFlow::Continue(())
    }
}

struct Finds<'c> {
    tables: Tables<'c>,
    found: Vec<Declared>,
}

impl Finds<'_> {
    fn statement(&mut self, kind: &Kind) {
        match kind {
            Kind::Query(query) => self.look(query.query.as_ref()),
            Kind::Insert(insert) => self.insert(insert),
            Kind::Update(update) => {
                self.look(update.as_ref());
                self.assignments(&update.assignments);
            }
            Kind::Delete(delete) => self.look(delete.as_ref()),
            Kind::Explain(explain) => self.statement(&explain.statement.kind),
            _ => {}
        }
    }

    fn look(&mut self, tree: &impl ast::Visit) {
        let _ = tree.visit(&mut self.tables);
        let _ = tree.visit(self);
    }

    fn insert(&mut self, insert: &Insert) {
        let table = table_name(&insert.table).ok();
        let Some(table) = table.and_then(|name| self.tables.catalog.find(&name)) else {
            return;
        };
        let columns: Vec<Declared> = match insert.columns.is_empty() {
            true => {
                let visible = table.schema().visible();
                let columns = visible.filter_map(|at| table.schema().columns().get(at));
                columns.map(|column| column.declared).collect()
            }
            false => {
                let named = insert.columns.iter().map(|name| {
                    let position = table.schema().position(&column_name(name));
                    let column = position.and_then(|at| table.schema().columns().get(at));
                    column.map(|column| column.declared).unwrap_or_default()
                });
                named.collect()
            }
        };
        self.tables.all.push(table);
        if let Some(source) = insert.source.as_deref() {
            self.rows(&source.body, &columns);
            self.look(source);
        }
        if let Some(conflict) = &insert.on_conflict
            && let ast::OnConflictAction::DoUpdate(update) = &conflict.action
        {
            self.assignments(&update.assignments);
            if let Some(selection) = &update.selection {
                self.look(selection);
            }
        }
    }

    /// The rows to be written into columns that are declared so.
    fn rows(&mut self, body: &ast::SetExpr, columns: &[Declared]) {
        match body {
            ast::SetExpr::Values(values) => {
                for row in &values.rows {
                    for (expr, declared) in row.content.iter().zip(columns) {
                        self.note(expr, *declared);
                    }
                }
            }
            ast::SetExpr::Select(select) => {
                for (item, declared) in select.projection.iter().zip(columns) {
                    if let ast::SelectItem::UnnamedExpr(expr)
                    | ast::SelectItem::ExprWithAlias { expr, .. } = item
                    {
                        self.note(expr, *declared);
                    }
                }
            }
            _ => {}
        }
    }

    fn assignments(&mut self, assignments: &[ast::Assignment]) {
        for assignment in assignments {
            if let ast::AssignmentTarget::ColumnName(name) = &assignment.target
                && let Some(name) = name.0.last().and_then(|part| part.as_ident())
            {
                let declared = self.tables.declared(&tree_name(name));
                self.note(&assignment.value, declared);
            }
        }
    }

    /// Both sides of a comparison are of one type.
    fn pair(&mut self, left: &ast::Expr, right: &ast::Expr) {
        for (one, other) in [(left, right), (right, left)] {
            if let Some(declared) = self.known(other) {
                self.note(one, declared);
            }
        }
    }

    /// A list of what stands beside it; blanks at the end of its elements may mean nothing.
    fn list(&mut self, value: &ast::Expr, list: &ast::Expr) {
        let declared = self.known(value);
        if let Some(declared @ Declared::Char(_)) = declared {
            self.note(list, declared);
        }
    }

    /// What an expression is declared as, if it is a column or a cast.
    fn known(&self, expr: &ast::Expr) -> Option<Declared> {
        match expr {
            ast::Expr::Identifier(name) => Some(self.tables.declared(&tree_name(name))),
            ast::Expr::CompoundIdentifier(parts) => {
                let name = parts.last()?;
                Some(self.tables.declared(&tree_name(name)))
            }
            ast::Expr::Nested(inner) => self.known(inner),
            ast::Expr::Cast { data_type, .. } => Some(syntax::cast_declared(data_type)),
            _ => None,
        }
    }

    /// Remembers what a parameter is, if the expression is one that is not known yet.
    fn note(&mut self, expr: &ast::Expr, declared: Declared) {
        let index = match expr {
            ast::Expr::Nested(inner) => return self.note(inner, declared),
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Placeholder(name) => name.strip_prefix('$'),
                _ => None,
            },
            _ => None,
        };
        let index = index.and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
        let Some(index) = index.filter(|index| *index < PARAMETERS_MAX) else {
            return;
        };
        if self.found.len() <= index {
            self.found.resize(index + 1, Declared::Usual);
        }
        if let Some(place @ Declared::Usual) = self.found.get_mut(index) {
            *place = declared;
        }
    }
}

/// The protocol counts parameters in 16 bits.
const PARAMETERS_MAX: usize = 1 << 16;

impl ast::Visitor for Finds<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        match expr {
            // Characters put together with others are text.
            ast::Expr::BinaryOp {
                op: ast::BinaryOperator::StringConcat,
                ..
            } => {}
            ast::Expr::BinaryOp { left, right, .. }
            | ast::Expr::IsDistinctFrom(left, right)
            | ast::Expr::IsNotDistinctFrom(left, right) => self.pair(left, right),
            ast::Expr::Between {
                expr, low, high, ..
            } => {
                self.pair(expr, low);
                self.pair(expr, high);
            }
            ast::Expr::InList { expr, list, .. } => {
                list.iter().for_each(|one| self.pair(expr, one));
            }
            ast::Expr::AnyOp { left, right, .. } | ast::Expr::AllOp { left, right, .. } => {
                self.list(left, right);
            }
            ast::Expr::Cast {
                expr, data_type, ..
            } => {
                let declared = match data_type {
                    ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, None)) => {
                        let element = syntax::cast_declared(element);
                        Some(element).filter(|one| matches!(one, Declared::Char(_)))
                    }
                    other => Some(syntax::cast_declared(other)),
                };
                self.note(expr, declared.unwrap_or_default());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
