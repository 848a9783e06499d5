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
        let rest = (0..columns.len()).filter(|at| !key.contains(at)).collect();
        let schema = Self {
            name,
            columns,
            key,
            rest,
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

    /// Whether two rows have the same key.
    pub(crate) fn same_key(&self, one: &[Value], other: &[Value]) -> bool {
        let mut key = self.key.iter();
        key.all(|position| one.get(*position) == other.get(*position))
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
        let wrong = |error: keys::Error| self.damaged(key, error.to_string());
        let mut values = Vec::with_capacity(self.columns.len());
        for column in keys::key::columns(key) {
            values.push(column.and_then(|column| column.decode()).map_err(wrong)?);
        }
        if values.len() != self.key.len() {
            return Err(self.damaged(key, format!("its key has {} columns", values.len())));
        }
        let rest = self.rest.iter().filter_map(|at| self.columns.get(*at));
        let view = RowView::new(row).map_err(wrong)?;
        view.decode_into(rest.map(|column| column.kind), &mut values)
            .map_err(wrong)?;
        // Nearly always the key columns come first and in order, and so do the values now.
        if self.key.iter().copied().eq(0..self.key.len()) {
            return Ok(values);
        }
        let mut placed = vec![Value::Null; values.len()];
        for (position, value) in self.key.iter().chain(&self.rest).zip(values) {
            if let Some(place) = placed.get_mut(*position) {
                *place = value;
            }
        }
        Ok(placed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_wherever_the_key_columns_stand() {
        let columns = || {
            ["a", "b", "c", "d"]
                .map(|name| Column::new(name, Type::Int64))
                .to_vec()
        };
        let row: Vec<Value> = [1, 2, 3]
            .map(Value::Int64)
            .into_iter()
            .chain([Value::Null])
            .collect();
        for key in [
            &["a"][..],
            &["a", "b"],
            &["b", "a"],
            &["d", "b"],
            &["c", "a", "b", "d"],
        ] {
            let schema = Schema::new("t", columns(), key).unwrap();
            let (key_bytes, row_bytes) = schema.encode(&row).unwrap();
            assert_eq!(
                schema.decode(&key_bytes, &row_bytes).unwrap(),
                row,
                "{key:?}"
            );
        }
    }

    #[test]
    fn a_row_that_is_older_than_a_column_has_null_there() {
        let columns =
            |count| ["k", "a", "b"].map(|name| Column::new(name, Type::Int64))[..count].to_vec();
        let old = Schema::new("t", columns(2), &["k"]).unwrap();
        let new = Schema::new("t", columns(3), &["k"]).unwrap();
        let (key, row) = old.encode(&[Value::Int64(1), Value::Int64(2)]).unwrap();
        let now = new.decode(&key, &row).unwrap();
        assert_eq!(now, [Value::Int64(1), Value::Int64(2), Value::Null]);
    }

    #[test]
    fn bytes_of_another_table_are_damage_and_not_a_panic() {
        let schema = Schema::new("t", vec![Column::new("k", Type::Int64)], &["k"]).unwrap();
        let two = encode_key(&[Value::Int64(1), Value::Int64(2)]).unwrap();
        let (key, row) = schema.encode(&[Value::Int64(1)]).unwrap();
        for (key, row) in [
            (&two[..], &row[..]),
            (&key[..], &[9, 9][..]),
            (&[0xfe][..], &row[..]),
        ] {
            assert!(matches!(
                schema.decode(key, row),
                Err(Error::Damaged { .. })
            ));
        }
    }
}
