//! What a table's rows look like, and how they become bytes.

use keys::{KEY_COLUMNS_MAX, RowView, Type, Value, encode_key, encode_row, format_key};
use txn::Bytes;

use crate::{Error, Result};

/// How long the name of a table or column may be.
pub const NAME_CHARS_MAX: usize = 255;

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether NULL is refused.
    pub not_null: bool,
}

impl Column {
    /// A column that may be NULL.
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self {
            name: name.into(),
            kind,
            not_null: false,
        }
    }

    /// The same column, refusing NULL.
    #[must_use]
    pub fn not_null(mut self) -> Self {
        self.not_null = true;
        self
    }
}

/// The columns of a table and its primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    name: String,
    columns: Vec<Column>,
    /// Positions of the key columns, in the order of the key.
    key: Vec<usize>,
    /// Positions of the other columns, in order.
    rest: Vec<usize>,
    /// For each column its place in the key, if it has one.
    places: Vec<Option<usize>>,
}

impl Schema {
    /// A table with these columns, sorted by the columns named in `key`.
    pub fn new(name: impl Into<String>, columns: Vec<Column>, key: &[&str]) -> Result<Self> {
        let name = name.into();
        let mut positions = Vec::with_capacity(key.len());
        for column in key {
            let no_such = || Error::NoSuchColumn {
                table: name.clone(),
                column: (*column).into(),
            };
            let position = columns
                .iter()
                .position(|one| one.name == *column)
                .ok_or_else(no_such)?;
            positions.push(position);
        }
        Self::from_positions(name, columns, positions)
    }

    pub(crate) fn from_positions(
        name: String,
        columns: Vec<Column>,
        key: Vec<usize>,
    ) -> Result<Self> {
        let place = |position| key.iter().position(|of_key| *of_key == position);
        let places: Vec<Option<usize>> = (0..columns.len()).map(place).collect();
        let rest = (0..columns.len())
            .filter(|at| place(*at).is_none())
            .collect();
        let schema = Self {
            name,
            columns,
            key,
            rest,
            places,
        };
        match schema.fault() {
            Some(reason) => Err(Error::Schema {
                table: schema.name,
                reason,
            }),
            None => Ok(schema),
        }
    }

    /// What is wrong with the schema, if anything.
    fn fault(&self) -> Option<String> {
        if let Some(fault) = name_fault("table", &self.name) {
            return Some(fault);
        }
        if self.columns.len() > keys::COLUMNS_MAX {
            let (limit, size) = (keys::COLUMNS_MAX, self.columns.len());
            return Some(format!(
                "a table may have {limit} columns, this one has {size}"
            ));
        }
        for (position, column) in self.columns.iter().enumerate() {
            if let Some(fault) = name_fault("column", &column.name) {
                return Some(fault);
            }
            if self
                .columns
                .iter()
                .take(position)
                .any(|other| other.name == column.name)
            {
                return Some(format!("column `{}` is there twice", column.name));
            }
        }
        self.key_fault()
    }

    fn key_fault(&self) -> Option<String> {
        if self.key.is_empty() {
            return Some("a table needs a primary key: name at least one column".to_owned());
        }
        if self.key.len() > KEY_COLUMNS_MAX {
            let size = self.key.len();
            return Some(format!(
                "a primary key may have {KEY_COLUMNS_MAX} columns, this one has {size}"
            ));
        }
        for (index, position) in self.key.iter().enumerate() {
            let Some(column) = self.columns.get(*position) else {
                return Some("the primary key names a column that is not there".to_owned());
            };
            if self.key.iter().take(index).any(|other| other == position) {
                return Some(format!(
                    "column `{}` is in the primary key twice",
                    column.name
                ));
            }
            if !column.kind.is_key_type() {
                let Column { name, kind, .. } = column;
                return Some(format!(
                    "column `{name}` of type {kind} cannot be part of the primary key: \
                     choose an integer, text, date or UUID column"
                ));
            }
        }
        None
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The key columns, in the order of the key.
    pub fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.key
            .iter()
            .filter_map(|position| self.columns.get(*position))
    }

    /// Where the column of this name stands.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Where the column of this name stands, or an error.
    pub(crate) fn column_position(&self, name: &str) -> Result<usize> {
        let no_such = || Error::NoSuchColumn {
            table: self.name.clone(),
            column: name.to_owned(),
        };
        self.position(name).ok_or_else(no_such)
    }

    /// The key of a row.
    pub(crate) fn key_of(&self, row: &[Value]) -> Vec<Value> {
        self.key
            .iter()
            .filter_map(|position| row.get(*position).cloned())
            .collect()
    }

    /// Where a column that is not in the key lies in the row.
    pub(crate) fn rest_index(&self, position: usize) -> usize {
        self.rest
            .iter()
            .take_while(|other| **other < position)
            .count()
    }

    /// An error for stored bytes that do not fit this table.
    pub(crate) fn damaged(&self, key: &[u8], detail: String) -> Error {
        Error::Damaged {
            table: self.name.clone(),
            key: format_key(key),
            detail,
        }
    }

    pub(crate) fn key_positions(&self) -> &[usize] {
        &self.key
    }

    /// The bytes of a whole key, or of the first columns of one.
    pub fn encode_key_prefix(&self, values: &[Value]) -> Result<Bytes> {
        if values.len() > self.key.len() {
            return Err(self.wrong_count("key columns", self.key.len(), values.len()));
        }
        for (column, value) in self.key_columns().zip(values) {
            self.check(column, value)?;
        }
        Ok(encode_key(values)?.into())
    }

    /// The bytes of a whole key.
    pub fn encode_key(&self, values: &[Value]) -> Result<Bytes> {
        if values.len() != self.key.len() {
            return Err(self.wrong_count("key columns", self.key.len(), values.len()));
        }
        self.encode_key_prefix(values)
    }

    /// The key and row bytes of a row, its values in the order of the columns.
    pub fn encode(&self, row: &[Value]) -> Result<(Bytes, Bytes)> {
        if row.len() != self.columns.len() {
            return Err(self.wrong_count("columns", self.columns.len(), row.len()));
        }
        for (column, value) in self.columns.iter().zip(row) {
            self.check(column, value)?;
        }
        let pick = |positions: &[usize]| -> Vec<Value> {
            positions
                .iter()
                .filter_map(|position| row.get(*position).cloned())
                .collect()
        };
        let key = encode_key(&pick(&self.key))?;
        let rest = encode_row(&pick(&self.rest))?;
        Ok((key.into(), rest.into()))
    }

    /// The inverse of [`Schema::encode`].
    pub fn decode(&self, key: &[u8], row: &[u8]) -> Result<Vec<Value>> {
        let damaged = |detail: String| self.damaged(key, detail);
        let wrong = |error: keys::Error| damaged(error.to_string());
        let mut key_columns = keys::key::columns(key);
        let mut next_key = || -> Result<Option<Value>> {
            let column = key_columns.next().transpose().map_err(wrong)?;
            column
                .map(|column| column.decode())
                .transpose()
                .map_err(wrong)
        };
        // Nearly always the key columns stand in the order of the key.
        let mut taken = Vec::new();
        if !self.key.is_sorted() {
            for _ in &self.key {
                taken.push(next_key()?);
            }
        }
        let view = RowView::new(row).map_err(wrong)?;
        let mut values = Vec::with_capacity(self.columns.len());
        let mut rest = 0;
        for (column, place) in self.columns.iter().zip(&self.places) {
            let value = match place {
                Some(index) => match taken.get_mut(*index) {
                    Some(value) => value.take(),
                    None => next_key()?,
                }
                .ok_or_else(|| damaged("its key has too few columns".to_owned()))?,
                None => {
                    let value = view.column(rest, column.kind).map_err(wrong)?;
                    rest += 1;
                    value.unwrap_or(Value::Null)
                }
            };
            values.push(value);
        }
        match next_key()? {
            None => Ok(values),
            Some(_) => Err(damaged("its key has too many columns".to_owned())),
        }
    }

    fn check(&self, column: &Column, value: &Value) -> Result<()> {
        if value.is_null() {
            if !column.not_null {
                return Ok(());
            }
            let (table, column) = (self.name.clone(), column.name.clone());
            return Err(Error::NullValue { table, column });
        }
        if value.type_matches(column.kind) {
            return Ok(());
        }
        let given = value.value_type();
        Err(Error::ValueType {
            table: self.name.clone(),
            column: column.name.clone(),
            expected: column.kind,
            given: given.map_or("NULL".to_owned(), |kind| kind.to_string()),
        })
    }

    fn wrong_count(&self, what: &'static str, expected: usize, given: usize) -> Error {
        Error::ValueCount {
            table: self.name.clone(),
            what,
            expected,
            given,
        }
    }
}

fn name_fault(what: &str, name: &str) -> Option<String> {
    let chars = name.chars().count();
    if chars == 0 {
        return Some(format!("a {what} needs a name"));
    }
    if chars > NAME_CHARS_MAX {
        return Some(format!(
            "the name of a {what} may have {NAME_CHARS_MAX} characters, this one has {chars}"
        ));
    }
    name.chars()
        .any(char::is_control)
        .then(|| format!("the name of a {what} may not have control characters"))
}
