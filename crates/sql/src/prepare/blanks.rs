//! Blanks at the end of what is compared with a `char(n)`: they mean nothing, and columns keep none.
//!
//! ```text
//!   … WHERE code = 'ab   '         'ab', as the column has it
//!   … WHERE code = $1              $1 loses its blanks in each run
//!   … WHERE code = ANY ($1)        so does each element of $1
//!   … WHERE code = 'ab  '::text    as it is: texts are compared with all their blanks
//!   … WHERE code LIKE 'ab   '      patterns see the blanks, so the column is filled up
//!   … WHERE code LIKE 'ab%'        as it is: blanks change nothing
//! ```
//!
//! A name means the column of the table it is qualified by; by itself it means a `char(n)` only if it is
//! one in every table of the statement that has it.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use keys::{Declared, Value};
use syntax::statement::CopySource;
use syntax::{Kind, Statement, ast};

use crate::names::{table_name, tree_name, tree_table_name};
use crate::query::FILLED;
use crate::scalar::{compares, spelled_out};
use crate::{Catalog, Table};

/// The statement without blanks that mean nothing.
pub(super) fn without(catalog: &Catalog, statement: Arc<Statement>) -> Arc<Statement> {
    let mut tables = Tables::new(catalog);
    tables.collect(&statement.kind);
    if !tables.have_chars() {
        return statement;
    }
    let mut statement = Statement::clone(&statement);
    let mut blanks = Blanks { tables };
    let _ = syntax::deep(|| crate::named::visit(&mut statement.kind, &mut blanks));
    Arc::new(statement)
}

/// The same of a query.
pub(crate) fn without_in<'q>(catalog: &Catalog, query: &'q ast::Query) -> Cow<'q, ast::Query> {
    let mut tables = Tables::new(catalog);
    let _ = syntax::deep(|| ast::Visit::visit(query, &mut tables));
    if !tables.have_chars() {
        return Cow::Borrowed(query);
    }
    let mut query = query.clone();
    let mut blanks = Blanks { tables };
    let _ = syntax::deep(|| ast::VisitMut::visit(&mut query, &mut blanks));
    Cow::Owned(query)
}

/// The values of parameters that are declared so, as they are compared and stored. `is_list` tells which
/// of them are lists of what is declared.
pub(super) fn taken<'v>(
    declared: &[Declared],
    values: &'v [Value],
    is_list: impl Fn(usize) -> bool,
) -> Cow<'v, [Value]> {
    let is_char = |one: &Declared| matches!(one, Declared::Char(_));
    if !declared.iter().any(is_char) {
        return Cow::Borrowed(values);
    }
    let mut values = values.to_vec();
    for (place, (value, declared)) in values.iter_mut().zip(declared).enumerate() {
        let (Value::Utf8(text), true) = (&*value, is_char(declared)) else {
            continue;
        };
        if is_list(place) {
            let list = crate::query::list_with(text, |element| element.trim_end_matches(' '));
            // What is no list is refused by whoever reads it.
            *value = list.map_or_else(|| value.clone(), |list| Value::from(list.as_str()));
        } else if text.ends_with(' ') {
            *value = Value::from(text.trim_end_matches(' '));
        }
    }
    Cow::Owned(values)
}

/// The tables of a statement, and the names they go by.
struct Tables<'c> {
    catalog: &'c Catalog,
    all: Vec<(String, Arc<Table>)>,
}

impl<'c> Tables<'c> {
    fn new(catalog: &'c Catalog) -> Self {
        Self {
            catalog,
            all: Vec::new(),
        }
    }

    fn collect(&mut self, kind: &Kind) {
        let _ = syntax::deep(|| match kind {
            Kind::Query(query) => ast::Visit::visit(query.query.as_ref(), self),
            Kind::DeclareCursor(cursor) => ast::Visit::visit(&cursor.query, self),
            Kind::Insert(insert) => {
                let name = table_name(&insert.table).ok();
                self.add(name, None);
                ast::Visit::visit(&insert.source, self)
            }
            Kind::Update(update) => ast::Visit::visit(update.as_ref(), self),
            Kind::Delete(delete) => ast::Visit::visit(delete.as_ref(), self),
            Kind::Copy(copy) => match &copy.source {
                CopySource::Query(query) => ast::Visit::visit(query, self),
                CopySource::Table { .. } => ControlFlow::Continue(()),
            },
            Kind::Explain(explain) => {
                self.collect(&explain.statement.kind);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        });
    }

    fn add(&mut self, name: Option<String>, alias: Option<String>) {
        if let Some(name) = name
            && let Some(table) = self.catalog.find(&name)
        {
            self.all.push((alias.unwrap_or(name), table));
        }
    }

    fn have_chars(&self) -> bool {
        let mut columns = self.all.iter().flat_map(|(_, one)| one.schema().columns());
        columns.any(|column| matches!(column.declared, Declared::Char(_)))
    }

    /// What a column is declared as, if it is a `char(n)`.
    fn char_column(&self, qualifier: Option<&str>, name: &str) -> Option<Declared> {
        let qualified = |(known, _): &&(String, Arc<Table>)| qualifier == Some(known.as_str());
        let known = self.all.iter().any(|one| qualified(&one));
        let tables = self.all.iter().filter(|one| !known || qualified(one));
        let columns = tables.flat_map(|(_, table)| table.schema().columns());
        let mut found = None;
        for column in columns.filter(|column| column.name == name) {
            if !matches!(column.declared, Declared::Char(_)) {
                return None;
            }
            found.get_or_insert(column.declared);
        }
        found
    }

    /// What an expression is declared as, if it is a `char(n)`.
    fn char_of(&self, expr: &ast::Expr) -> Option<Declared> {
        match expr {
            ast::Expr::Identifier(name) => self.char_column(None, &tree_name(name)),
            ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., of, name] => self.char_column(Some(&tree_name(of)), &tree_name(name)),
                _ => None,
            },
            ast::Expr::Nested(inner) => self.char_of(inner),
            ast::Expr::Cast { data_type, .. } => {
                let declared = syntax::cast_declared(data_type);
                Some(declared).filter(|one| matches!(one, Declared::Char(_)))
            }
            _ => None,
        }
    }
}

impl ast::Visitor for Tables<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &ast::TableFactor) -> ControlFlow<()> {
        if let ast::TableFactor::Table { name, alias, .. } = factor {
            let alias = alias.as_ref().map(|alias| tree_name(&alias.name));
            self.add(tree_table_name(name).ok(), alias);
        }
        ControlFlow::Continue(())
    }
}

struct Blanks<'c> {
    tables: Tables<'c>,
}

impl Blanks<'_> {
    /// Both sides of a comparison, or of one after the other of each.
    fn pair(&self, left: &mut ast::Expr, right: &mut ast::Expr) {
        if let (ast::Expr::Tuple(left), ast::Expr::Tuple(right)) = (&mut *left, &mut *right) {
            for (left, right) in left.iter_mut().zip(right) {
                self.pair(left, right);
            }
            return;
        }
        if self.tables.char_of(left).is_some() {
            strip(right);
        } else if self.tables.char_of(right).is_some() {
            strip(left);
        }
    }

    /// Fills up what is looked at by a pattern that can tell.
    fn fill(&self, expr: &mut ast::Expr, pattern: &ast::Expr) {
        let length = self.tables.char_of(expr).and_then(Declared::length);
        if let Some(length) = length.filter(|_| !ignores_blanks(pattern)) {
            let length = ast::Value::Number(length.to_string(), false);
            let arguments = vec![expr.clone(), ast::Expr::Value(length.into())];
            *expr = crate::system::call(FILLED, arguments);
        }
    }
}

/// Whether a pattern of LIKE says the same of a text with blanks behind it as of one without: it ends in
/// `%`, which takes them, and nothing else in it can.
fn ignores_blanks(pattern: &ast::Expr) -> bool {
    let ast::Expr::Value(value) = pattern else {
        return false;
    };
    match &value.value {
        ast::Value::SingleQuotedString(text) => {
            text.ends_with('%') && !text.contains([' ', '_', '\\'])
        }
        _ => false,
    }
}

/// Takes the blanks from the end of a text that is written, or of each in a list of them.
fn strip(expr: &mut ast::Expr) {
    match expr {
        ast::Expr::Nested(inner) => strip(inner),
        ast::Expr::Array(list) => list.elem.iter_mut().for_each(strip),
        ast::Expr::Value(value) => {
            if let ast::Value::SingleQuotedString(text) = &mut value.value {
                text.truncate(text.trim_end_matches(' ').len());
            }
        }
        _ => {}
    }
}

impl ast::VisitorMut for Blanks<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let Some(plain) = spelled_out(expr) {
            *expr = plain;
        }
        match expr {
            ast::Expr::BinaryOp { left, op, right } if compares(op) => self.pair(left, right),
            ast::Expr::BinaryOp { left, op, right } if matches(op) => self.fill(left, right),
            ast::Expr::Like {
                expr,
                pattern,
                escape_char: None,
                ..
            }
            | ast::Expr::ILike {
                expr,
                pattern,
                escape_char: None,
                ..
            } => self.fill(expr, pattern),
            ast::Expr::Like { expr, .. }
            | ast::Expr::ILike { expr, .. }
            | ast::Expr::SimilarTo { expr, .. } => {
                self.fill(expr, &ast::Expr::value(ast::Value::Null))
            }
            ast::Expr::IsDistinctFrom(left, right)
            | ast::Expr::IsNotDistinctFrom(left, right)
            | ast::Expr::AnyOp { left, right, .. }
            | ast::Expr::AllOp { left, right, .. } => self.pair(left, right),
            ast::Expr::Between {
                expr, low, high, ..
            } => {
                self.pair(expr, low);
                self.pair(expr, high);
            }
            ast::Expr::InList { expr, list, .. } => {
                list.iter_mut().for_each(|one| self.pair(expr, one));
            }
            ast::Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("nullif") => {
                if let ast::FunctionArguments::List(list) = &mut call.args
                    && let [
                        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(left)),
                        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(right)),
                    ] = list.args.as_mut_slice()
                {
                    self.pair(left, right);
                }
            }
            ast::Expr::Case {
                operand: Some(operand),
                conditions,
                ..
            } => {
                let conditions = conditions.iter_mut();
                conditions.for_each(|when| self.pair(operand, &mut when.condition));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether an operator looks at its left side by a regular expression.
fn matches(op: &ast::BinaryOperator) -> bool {
    matches!(
        op,
        ast::BinaryOperator::PGRegexMatch
            | ast::BinaryOperator::PGRegexIMatch
            | ast::BinaryOperator::PGRegexNotMatch
            | ast::BinaryOperator::PGRegexNotIMatch
    )
}
