//! One model of a table for all dialects: what the rules judge.

use syntax::schema::{Change, Definition, DefinitionKind, Dialect, Part, Setting};
use syntax::{Ident, Name, Span, schema};

pub use super::types::Class;
use super::types::{bytes_max, class};

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, without the schema before it.
    pub name: String,
    /// Where the name stands.
    pub name_span: Span,
    /// The dialect it is written in.
    pub dialect: Dialect,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its key, and then its indexes.
    pub orders: Vec<Order>,
    /// Its options.
    pub settings: Vec<Setting>,
    /// CREATE TABLE as written.
    pub written: schema::Table,
    /// Where CREATE TABLE stands.
    pub statement: Span,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// What kind of values it holds.
    pub class: Class,
    /// The bytes of its longest value, unless nothing bounds it.
    pub bytes_max: Option<u64>,
    /// Whether it may be NULL, apart from what a key says.
    pub nullable: bool,
    /// The column as written.
    pub written: schema::Column,
}

/// An order in which rows are kept: the primary key or an index.
#[derive(Clone, Debug)]
pub struct Order {
    /// What it is.
    pub kind: OrderKind,
    /// Its columns.
    pub parts: Vec<Part>,
    /// USING HASH and what follows it.
    pub hash: Option<Span>,
    /// Whether the rows lie elsewhere than under the key.
    pub apart: bool,
    /// The columns with their parentheses.
    pub list: Span,
    /// All of it.
    pub span: Span,
}

/// What an order of rows is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderKind {
    /// The primary key after the columns.
    Key,
    /// The primary key at a column.
    InlineKey,
    /// An index.
    Index {
        /// Its name.
        name: Option<String>,
        /// Whether two rows may not share its columns.
        unique: bool,
    },
}

impl Table {
    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let found = |column: &&Column| column.written.name.value.eq_ignore_ascii_case(name);
        self.columns.iter().find(found)
    }

    /// The column of a part of a key, unless that is an expression.
    pub fn column_of(&self, part: &Part) -> Option<&Column> {
        self.column(&part.column.as_ref()?.value)
    }

    /// The primary key.
    pub fn key(&self) -> Option<&Order> {
        self.orders.iter().find(|order| order.is_key())
    }

    /// The value of an option, which the name begins.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings
            .iter()
            .rev()
            .find(|setting| setting.name == name)
    }

    /// An option that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.setting(name)?.value.parse().ok()
    }
}

impl Order {
    /// Whether it is the primary key.
    pub fn is_key(&self) -> bool {
        !matches!(self.kind, OrderKind::Index { .. })
    }

    /// What people call it.
    pub fn title(&self) -> String {
        match &self.kind {
            OrderKind::Index {
                name: Some(name), ..
            } => format!("index `{name}`"),
            OrderKind::Index {
                name: None,
                unique: true,
            } => "unique constraint".to_owned(),
            OrderKind::Index { .. } => "index".to_owned(),
            _ => "primary key".to_owned(),
        }
    }

    /// The names of its columns as they are written.
    pub fn names(&self) -> Vec<&str> {
        let text = |part: &'_ Part| part.column.is_some();
        let names = self.parts.iter().filter(|part| text(part));
        names
            .filter_map(|part| part.column.as_ref())
            .map(|ident| ident.value.as_str())
            .collect()
    }
}

/// Takes what a statement says about a table into the tables.
pub(crate) fn add(tables: &mut Vec<Table>, dialect: Dialect, definition: Definition) {
    let span = definition.span;
    match definition.kind {
        DefinitionKind::Table(table) => tables.push(new_table(dialect, *table, span)),
        DefinitionKind::Index { table, index } => {
            if let Some(table) = find(tables, &table) {
                table.orders.push(index_order(*index));
            }
        }
        DefinitionKind::Alter { table, changes } => {
            if let Some(table) = find(tables, &table) {
                for part in changes {
                    change(table, part);
                }
            }
        }
        DefinitionKind::Other => {}
    }
}

fn find<'a>(tables: &'a mut [Table], name: &Name) -> Option<&'a mut Table> {
    let last = name.parts.last()?;
    tables
        .iter_mut()
        .rev()
        .find(|table| table.name.eq_ignore_ascii_case(&last.value))
}

fn new_table(dialect: Dialect, written: schema::Table, statement: Span) -> Table {
    let name = written.name.parts.last().map(|part| part.value.clone());
    let mut orders: Vec<Order> = written.key.clone().map(key_order).into_iter().collect();
    orders.extend(written.indexes.iter().cloned().map(index_order));
    Table {
        name: name.unwrap_or_default(),
        name_span: written.name.span,
        dialect,
        columns: written
            .columns
            .iter()
            .cloned()
            .map(|column| new_column(dialect, column))
            .collect(),
        orders,
        settings: written.settings.clone(),
        written,
        statement,
    }
}

fn new_column(dialect: Dialect, written: schema::Column) -> Column {
    let class = class(dialect, &written.type_name, &written.type_args);
    Column {
        class,
        bytes_max: bytes_max(dialect, class, &written.type_name, &written.type_args),
        nullable: written.not_null != Some(true),
        written,
    }
}

fn key_order(key: schema::Key) -> Order {
    Order {
        kind: if key.inline {
            OrderKind::InlineKey
        } else {
            OrderKind::Key
        },
        parts: key.parts,
        hash: key.hash,
        apart: key.apart,
        list: key.list,
        span: key.span,
    }
}

fn index_order(index: schema::Index) -> Order {
    Order {
        kind: OrderKind::Index {
            name: index.name.map(|name| name.value),
            unique: index.unique,
        },
        parts: index.parts,
        hash: index.hash,
        apart: false,
        list: index.list,
        span: index.span,
    }
}

fn change(table: &mut Table, change: Change) {
    let dialect = table.dialect;
    match change {
        Change::Key(key) => {
            table.orders.retain(|order| !order.is_key());
            table.orders.insert(0, key_order(key));
        }
        Change::Index(index) => table.orders.push(index_order(index)),
        Change::Column(column) => {
            let column = new_column(dialect, *column);
            match column_mut(table, &column.written.name) {
                Some(known) => *known = column,
                None => table.columns.push(column),
            }
        }
        Change::Default(name, text) => {
            if let Some(column) = column_mut(table, &name) {
                column.written.default = Some(text);
            }
        }
        Change::Counts(name, counts) => {
            if let Some(column) = column_mut(table, &name) {
                column.written.counts = Some(counts);
            }
        }
        Change::NotNull(name, not_null) => {
            if let Some(column) = column_mut(table, &name) {
                column.nullable = !not_null;
            }
        }
        Change::Settings(settings) => table.settings.extend(settings),
    }
}

fn column_mut<'a>(table: &'a mut Table, name: &Ident) -> Option<&'a mut Column> {
    let same = |column: &&mut Column| column.written.name.value.eq_ignore_ascii_case(&name.value);
    table.columns.iter_mut().find(same)
}
