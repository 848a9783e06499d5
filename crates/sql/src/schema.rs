//! What a table's rows look like, and how they become bytes.
//!
//! Key columns lie in the key, the others in *slots* of the row. A slot is never used again:
//!
//! ```text
//!   CREATE TABLE t (k, a, b, PRIMARY KEY (k))     a → 0   b → 1
//!   ALTER TABLE t DROP COLUMN a                   –   0   b → 1
//!   ALTER TABLE t ADD COLUMN c DEFAULT 7          –   0   b → 1   c → 2
//!
//!   a row from before the DROP   │ 0: 5 │ 1: 6 │           reads b = 6, c = 7 (missing)
//!   a row from now               │ 0: – │ 1: 6 │ 2: 8 │    reads b = 6, c = 8
//! ```
//!
//! So columns come, go and change their names without a row being written: what rows have in a slot
//! that is younger than they are is in the schema, and the type of a dropped column stays there.

mod before;
mod column;
mod constraint;
mod fault;
mod parts;

use std::sync::Arc;

use keys::declared::Fit;
use keys::{RowView, Type, Value, append_key_value, append_row, encode_key, format_key};
use txn::Bytes;

use crate::check::Condition;
use crate::generated::Generated;
use crate::options::TableOptions;
use crate::{Error, Result};

pub(crate) use before::Before;
pub use column::{Column, Identity, Index};
pub(crate) use column::{Owned, Slot};
pub use constraint::{Action, CONSTRAINTS_MAX, Check, Checked, ForeignKey, Target};
pub(crate) use fault::name_fault;
pub(crate) use parts::Parts;

/// How long the name of a table or column may be.
pub const NAME_CHARS_MAX: usize = 255;

/// How long the expression of a default may be.
pub const DEFAULT_BYTES_MAX: usize = 16 * 1024;

/// How many indexes a table may have.
pub const INDEXES_MAX: usize = 64;

/// The bytes of a row.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) key: Vec<u8>,
    pub(crate) row: Vec<u8>,
}

/// The columns of a table, its primary key, and what else is known of it.
#[derive(Clone, Debug)]
pub struct Schema {
    parts: Parts,
    /// Whether the key columns come first and in order, and then the slots'.
    in_order: bool,
    /// Whether a column has a length that values must keep.
    limited: bool,
    /// The columns that are worked out from others.
    generated: Vec<Arc<Generated>>,
    /// The conditions that its rows keep.
    conditions: Vec<Arc<Condition>>,
    /// Columns that are about to be NOT NULL: writers fill them, and readers may find NULLs yet.
    filled: Vec<String>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl Eq for Schema {}

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
        Self::from_parts(Parts::new(name, columns, positions))
    }

    /// The schema that is made of these parts, if one is.
    pub(crate) fn from_parts(parts: Parts) -> Result<Self> {
        if let Some(reason) = fault::fault(&parts) {
            let table = parts.name;
            return Err(Error::Schema { table, reason });
        }
        let slots = parts.slots.iter().map(|slot| slot.column);
        let stored = parts.key.iter().copied().map(Some).chain(slots);
        let in_order = stored.eq((0..parts.columns.len()).map(Some));
        let limited = parts.columns.iter().any(|one| one.declared.limits());
        let mut schema = Self {
            parts,
            in_order,
            limited,
            generated: Vec::new(),
            conditions: Vec::new(),
            filled: Vec::new(),
        };
        let mut generated = Vec::new();
        for (position, column) in schema.columns().iter().enumerate() {
            if let Some(text) = &column.generated {
                generated.push(Arc::new(Generated::new(&schema, position, text)?));
            }
        }
        schema.generated = generated;
        for check in &schema.parts.checks {
            let condition = Condition::new(&schema, check)?;
            schema.conditions.push(Arc::new(condition));
        }
        Ok(schema)
    }

    /// The same, by which writers fill these columns although readers may find NULLs in them.
    pub(crate) fn filling(mut self, columns: Vec<String>) -> Self {
        self.filled = columns;
        self
    }

    /// Whether writers fill a column although readers may find NULLs in it.
    pub(crate) fn fills(&self, column: &str) -> bool {
        self.filled.iter().any(|filled| filled == column)
    }

    /// The conditions that its rows keep, as CHECK says.
    pub(crate) fn conditions(&self) -> &[Arc<Condition>] {
        &self.conditions
    }

    /// The foreign keys, whose values stand in other tables.
    pub fn foreign_keys(&self) -> &[ForeignKey] {
        &self.parts.foreign_keys
    }

    /// The columns that are worked out from others.
    pub(crate) fn generated(&self) -> &[Arc<Generated>] {
        &self.generated
    }

    /// The column at this position, if it is worked out from others.
    pub(crate) fn generated_at(&self, position: usize) -> Option<&Arc<Generated>> {
        let mut generated = self.generated.iter();
        generated.find(|one| one.position == position)
    }

    /// Whether the column at this position is worked out from others, also while that is found out.
    pub(crate) fn generated_by(&self, position: usize) -> bool {
        let column = self.parts.columns.get(position);
        column.is_some_and(|one| one.generated.is_some())
    }

    /// How many buckets a key USING HASH has, and where the columns stand that were named.
    pub(crate) fn hashed_key(&self) -> Option<(usize, &[usize])> {
        let (first, rest) = self.parts.key.split_first()?;
        let hidden = self.parts.columns.get(*first)?.hidden;
        let buckets = self.generated_at(*first)?.count?;
        hidden.then_some((buckets, rest))
    }

    /// Positions of the key's columns that a statement may see, in order; none if it has no key that
    /// anybody asked for.
    pub(crate) fn visible_key(&self) -> &[usize] {
        let hidden = |position: &usize| {
            self.parts
                .columns
                .get(*position)
                .is_some_and(|one| one.hidden)
        };
        match self.hashed_key() {
            Some((_, rest)) => rest,
            None if self.parts.key.iter().any(hidden) => &[],
            None => &self.parts.key,
        }
    }

    /// Whether the key is ours alone, and drawn at random for each new row.
    pub(crate) fn draws_key(&self) -> bool {
        let [position] = self.key_positions() else {
            return false;
        };
        let column = self.columns().get(*position);
        column.is_some_and(|one| one.hidden && one.kind == Type::Uuid)
    }

    /// Whether a row can be written over another without a look at that one.
    pub fn writes_unseen(&self) -> bool {
        self.parts.indexes.is_empty() && !self.moves() && self.parts.foreign_keys.is_empty()
    }

    /// Whether rows may lie under keys that were worked out otherwise, until they are moved.
    pub(crate) fn moves(&self) -> bool {
        self.generated.iter().any(|one| one.moves())
    }

    /// The key under which a row may lie that was written before its generated columns were worked
    /// out as they are now, if that is another than its key.
    pub(crate) fn former_key(&self, row: &[Value]) -> Result<Option<Bytes>> {
        if !self.moves() {
            return Ok(None);
        }
        let mut former = row.to_vec();
        for generated in &self.generated {
            if let (Some(value), Some(place)) = (
                generated.values(row)?.pop(),
                former.get_mut(generated.position),
            ) {
                *place = value;
            }
        }
        match self.same_key(&former, row) {
            true => Ok(None),
            false => self.encode_key(&self.key_of(&former)).map(Some),
        }
    }

    /// A row of all columns with the generated ones worked out; those that are given may not
    /// contradict.
    pub fn complete<'r>(&self, row: &'r [Value]) -> Result<std::borrow::Cow<'r, [Value]>> {
        if self.generated.is_empty() {
            return Ok(row.into());
        }
        let mut row = row.to_vec();
        let given: Vec<usize> = (0..row.len()).collect();
        self.generate(&mut row, &given)?;
        Ok(row.into())
    }

    /// Works out the generated columns of a row. What was given for those at the positions `given`
    /// may not contradict; NULL leaves it to the expression.
    pub(crate) fn generate(&self, row: &mut [Value], given: &[usize]) -> Result<()> {
        for generated in &self.generated {
            let Some(column) = self.parts.columns.get(generated.position) else {
                continue;
            };
            let value = fitting(self.name(), column, generated.value(row)?)?;
            let Some(place) = row.get_mut(generated.position) else {
                continue;
            };
            let contradicts = given.contains(&generated.position) && *place != value;
            if contradicts && !place.is_null() {
                return Err(Error::GeneratedValue {
                    table: self.name().to_owned(),
                    column: column.name.clone(),
                    given: place.to_string(),
                    expected: value.to_string(),
                });
            }
            *place = value;
        }
        Ok(())
    }

    /// What it is made of.
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.parts.columns
    }

    /// Positions of the columns that `*` stands for.
    pub fn visible(&self) -> impl Iterator<Item = usize> {
        let columns = self.parts.columns.iter().enumerate();
        columns
            .filter(|(_, column)| !column.hidden)
            .map(|(position, _)| position)
    }

    /// Whether the table has a key that nobody asked for.
    pub fn has_hidden_columns(&self) -> bool {
        self.parts.columns.iter().any(|column| column.hidden)
    }

    /// The key columns, in the order of the key.
    pub fn key_columns(&self) -> impl Iterator<Item = &Column> {
        let columns = &self.parts.columns;
        self.parts
            .key
            .iter()
            .filter_map(|position| columns.get(*position))
    }

    /// The indexes.
    pub fn indexes(&self) -> &[Index] {
        &self.parts.indexes
    }

    /// The options.
    pub fn options(&self) -> &TableOptions {
        &self.parts.options
    }

    /// Where the column of this name stands.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let mut columns = self.parts.columns.iter();
        columns.position(|column| column.name == name)
    }

    /// The name of the column at a position.
    pub(crate) fn name_at(&self, position: usize) -> &str {
        let column = self.parts.columns.get(position);
        column.map_or("", |column| column.name.as_str())
    }

    /// Where the column of this name stands, or an error.
    pub(crate) fn column_position(&self, name: &str) -> Result<usize> {
        let no_such = || Error::NoSuchColumn {
            table: self.name().to_owned(),
            column: name.to_owned(),
        };
        self.position(name).ok_or_else(no_such)
    }

    /// The key of a row.
    pub(crate) fn key_of(&self, row: &[Value]) -> Vec<Value> {
        self.parts
            .key
            .iter()
            .filter_map(|position| row.get(*position).cloned())
            .collect()
    }

    /// Whether two rows have the same key.
    pub(crate) fn same_key(&self, one: &[Value], other: &[Value]) -> bool {
        let mut key = self.parts.key.iter();
        key.all(|position| one.get(*position) == other.get(*position))
    }

    /// Where a column that is not in the key lies in the row.
    pub(crate) fn rest_index(&self, position: usize) -> usize {
        let mut slots = self.parts.slots.iter();
        slots
            .position(|slot| slot.column == Some(position))
            .expect("a column outside of the key has a slot")
    }

    /// What rows have for a column that they are older than.
    pub(crate) fn missing(&self, position: usize) -> &Value {
        let mut slots = self.parts.slots.iter();
        slots
            .find(|slot| slot.column == Some(position))
            .map_or(&Value::Null, |slot| &slot.missing)
    }

    /// An error for stored bytes that do not fit this table.
    pub(crate) fn damaged(&self, key: &[u8], detail: String) -> Error {
        Error::Damaged {
            table: self.name().to_owned(),
            key: format_key(key),
            detail,
        }
    }

    pub(crate) fn key_positions(&self) -> &[usize] {
        &self.parts.key
    }

    /// The bytes of a whole key, or of the first columns of one.
    pub fn encode_key_prefix(&self, values: &[Value]) -> Result<Bytes> {
        let width = self.parts.key.len();
        if values.len() > width {
            return Err(self.wrong_count("key columns", width, values.len()));
        }
        for (column, value) in self.key_columns().zip(values) {
            self.check(column, value)?;
        }
        Ok(encode_key(values)?.into())
    }

    /// The bytes of a whole key.
    pub fn encode_key(&self, values: &[Value]) -> Result<Bytes> {
        let width = self.parts.key.len();
        if values.len() != width {
            return Err(self.wrong_count("key columns", width, values.len()));
        }
        self.encode_key_prefix(values)
    }

    /// Makes the values of a row fit the lengths and digits of their columns: times are rounded, blanks
    /// that are too many are cut off, and anything else that is too long is an error.
    pub(crate) fn fit(&self, row: &mut [Value]) -> Result<()> {
        if !self.limited {
            return Ok(());
        }
        for (column, value) in self.parts.columns.iter().zip(row) {
            if column.declared.limits() {
                *value = fitting(self.name(), column, std::mem::replace(value, Value::Null))?;
            }
        }
        Ok(())
    }

    /// The key and row bytes of a row, its values in the order of the columns.
    pub fn encode(&self, row: &[Value]) -> Result<(Bytes, Bytes)> {
        let mut encoded = Encoded::default();
        self.encode_into(row, &mut encoded)?;
        Ok((encoded.key.into(), encoded.row.into()))
    }

    /// The same, in place of a row that was encoded before.
    pub(crate) fn encode_into(&self, row: &[Value], encoded: &mut Encoded) -> Result<()> {
        let Parts {
            columns,
            key,
            slots,
            ..
        } = &self.parts;
        if row.len() != columns.len() {
            return Err(self.wrong_count("columns", columns.len(), row.len()));
        }
        for (column, value) in columns.iter().zip(row) {
            self.check(column, value)?;
            if let (true, Value::Utf8(text)) = (self.limited, value)
                && column.declared.fit(text) == Fit::TooLong
            {
                return Err(too_long(self.name(), column));
            }
        }
        for condition in &self.conditions {
            condition.check(self, row)?;
        }
        let pick = |position: usize| row.get(position).unwrap_or(&Value::Null);
        encoded.key.clear();
        for position in key {
            append_key_value(&mut encoded.key, pick(*position))?;
        }
        let rest: Vec<&Value> = slots
            .iter()
            .map(|slot| slot.column.map_or(&Value::Null, pick))
            .collect();
        encoded.row.clear();
        append_row(&mut encoded.row, &rest).map_err(|error| Error::of_row(self, error))
    }

    /// The inverse of [`Schema::encode`].
    pub fn decode(&self, key: &[u8], row: &[u8]) -> Result<Vec<Value>> {
        let wrong = |error: keys::Error| self.damaged(key, error.to_string());
        let slots = &self.parts.slots;
        let width = self.parts.key.len();
        let mut values = Vec::with_capacity(width + slots.len());
        for column in keys::key::columns(key) {
            values.push(column.and_then(|column| column.decode()).map_err(wrong)?);
        }
        if values.len() != width {
            return Err(self.damaged(key, format!("its key has {} columns", values.len())));
        }
        let view = RowView::new(row).map_err(wrong)?;
        view.decode_into(slots.iter().map(|slot| slot.kind), &mut values)
            .map_err(wrong)?;
        let younger = values.iter_mut().skip(width).zip(slots);
        for (value, slot) in younger.skip(view.columns()) {
            value.clone_from(&slot.missing);
        }
        // Nearly always the columns stand as they are stored, and so do the values now.
        if self.in_order {
            return Ok(values);
        }
        let mut placed = vec![Value::Null; self.parts.columns.len()];
        let rest = slots.iter().map(|slot| slot.column);
        let stored = self.parts.key.iter().copied().map(Some).chain(rest);
        for (position, value) in stored.zip(values) {
            if let Some(place) = position.and_then(|position| placed.get_mut(position)) {
                *place = value;
            }
        }
        Ok(placed)
    }

    /// A row that is refused, as PostgreSQL shows it.
    pub(crate) fn shown(&self, row: &[Value]) -> String {
        let shown = self.visible().filter_map(|position| row.get(position));
        let shown = shown.map(|value| match value {
            Value::Null => "null".to_owned(),
            value => value.to_string(),
        });
        let shown: Vec<String> = shown.collect();
        format!("Failing row contains ({}).", shown.join(", "))
    }

    /// Says that a key, or the beginning of one, is taken, as PostgreSQL says it.
    pub fn taken(&self, key: &[u8]) -> String {
        let values = keys::key::columns(key).map_while(|column| column.ok()?.decode().ok());
        let pairs = self.key_columns().zip(values);
        let shown = pairs.filter(|(column, _)| !column.hidden);
        let (names, values): (Vec<&str>, Vec<String>) = shown
            .map(|(column, value)| (column.name.as_str(), value.to_string()))
            .unzip();
        let (names, values) = (names.join(", "), values.join(", "));
        format!("Key ({names})=({values}) already exists.")
    }

    fn check(&self, column: &Column, value: &Value) -> Result<()> {
        if value.is_null() {
            if !column.not_null && !self.filled.contains(&column.name) {
                return Ok(());
            }
            let (table, column) = (self.name().to_owned(), column.name.clone());
            return Err(Error::NullValue { table, column });
        }
        if value.type_matches(column.kind) {
            return Ok(());
        }
        let given = value.value_type();
        Err(Error::ValueType {
            table: self.name().to_owned(),
            column: column.name.clone(),
            expected: column.kind,
            given: given.map_or("NULL".to_owned(), |kind: Type| kind.to_string()),
        })
    }

    fn wrong_count(&self, what: &'static str, expected: usize, given: usize) -> Error {
        Error::ValueCount {
            table: self.name().to_owned(),
            what,
            expected,
            given,
        }
    }
}

/// The value as a column of a table takes it: no longer and no finer than it was declared.
pub(crate) fn fitting(table: &str, column: &Column, value: Value) -> Result<Value> {
    let Value::Utf8(text) = &value else {
        return Ok(column.declared.taken(value));
    };
    match column.declared.fit(text) {
        Fit::Whole => Ok(value),
        Fit::Cut(kept) => Ok(Value::from(kept)),
        Fit::TooLong => Err(too_long(table, column)),
    }
}

fn too_long(table: &str, column: &Column) -> Error {
    Error::TooLong {
        table: table.to_owned(),
        column: column.name.clone(),
        declared: column.declared,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

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

    /// The table drawn at the top of this file, before and after its two changes.
    fn before_and_after() -> (Schema, Schema) {
        let columns = ["k", "a", "b"].map(|name| Column::new(name, Type::Int64));
        let old = Schema::new("t", columns.to_vec(), &["k"]).unwrap();
        let mut parts = old.parts().clone();
        parts.drop_column(1);
        parts.add_column(Column::new("c", Type::Utf8), Value::from("seven"));
        (old, Schema::from_parts(parts).unwrap())
    }

    #[test]
    fn a_dropped_column_leaves_its_slot_and_a_new_one_takes_another() {
        let (old, new) = before_and_after();
        let [one, five, six] = [1, 5, 6].map(Value::Int64);
        let (key, row) = old.encode(&[one.clone(), five, six.clone()]).unwrap();
        let read = new.decode(&key, &row).unwrap();
        assert_eq!(read, [one.clone(), six.clone(), Value::from("seven")]);

        let now = [one, six, Value::Null];
        let (key, row) = new.encode(&now).unwrap();
        assert_eq!(new.decode(&key, &row).unwrap(), now);
        // Who still has the old schema reads what the old columns have now.
        assert_eq!(old.decode(&key, &row).unwrap()[1], Value::Null);
        let places = ["b", "c"].map(|name| new.rest_index(new.position(name).unwrap()));
        assert_eq!(places, [1, 2]);
    }

    #[test]
    fn positions_move_up_when_a_column_before_them_goes() {
        let names = ["a", "b", "c", "d"];
        let columns = names.map(|name| Column::new(name, Type::Int64)).to_vec();
        let mut parts = Schema::new("t", columns, &["d"]).unwrap().parts().clone();
        parts.indexes.push(Index {
            name: "i".into(),
            id: txn::TableId(9),
            unique: false,
            columns: vec![2],
            cover: vec![0],
            ready: true,
        });
        parts.drop_column(1);
        let schema = Schema::from_parts(parts).unwrap();
        assert_eq!(schema.key_positions(), [2]);
        assert_eq!(schema.indexes()[0].columns, [1]);
        assert_eq!(schema.indexes()[0].cover, [0]);
        assert_eq!(schema.rest_index(1), 2);
    }

    #[test]
    fn a_slot_is_never_used_again() {
        let (_, schema) = before_and_after();
        let mut parts = schema.parts().clone();
        while parts.slots.len() < keys::COLUMNS_MAX {
            parts.add_column(Column::new("x", Type::Bool), Value::Null);
            parts.drop_column(3);
        }
        assert!(Schema::from_parts(parts.clone()).is_ok());
        parts.add_column(Column::new("x", Type::Bool), Value::Null);
        let full = Schema::from_parts(parts).unwrap_err();
        assert!(full.to_string().contains("dropped ones included"), "{full}");
    }

    /// One step in the life of a table.
    #[derive(Clone, Debug)]
    enum Step {
        Add(i64),
        Drop(usize),
        Write,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            any::<i64>().prop_map(Step::Add),
            (0_usize..8).prop_map(Step::Drop),
            Just(Step::Write),
        ]
    }

    proptest! {
        #[test]
        fn rows_of_every_age_read_as_their_columns_say(steps in prop::collection::vec(step(), 0..60)) {
            // A column is known by its name; a row is what it had for each column there was.
            let columns = vec![Column::new("a", Type::Int64), Column::new("k", Type::Int64)];
            let mut parts = Parts::new("t".into(), columns, vec![1]);
            let mut missing: BTreeMap<String, i64> = BTreeMap::new();
            let mut rows = Vec::new();
            for (at, step) in steps.into_iter().enumerate() {
                let at = i64::try_from(at).unwrap();
                match step {
                    Step::Add(value) => {
                        let name = format!("c{at}");
                        parts.add_column(Column::new(&name, Type::Int64), Value::Int64(value));
                        missing.insert(name, value);
                    }
                    Step::Drop(position) => {
                        let position = position % parts.columns.len();
                        if !parts.key.contains(&position) {
                            parts.drop_column(position);
                        }
                    }
                    Step::Write => {
                        let schema = Schema::from_parts(parts.clone()).unwrap();
                        let width = i64::try_from(parts.columns.len()).unwrap();
                        let row: Vec<_> = (0..width).map(|i| Value::Int64(at * 100 + i)).collect();
                        let names = parts.columns.iter().map(|column| column.name.clone());
                        let had: BTreeMap<_, _> = names.zip(row.clone()).collect();
                        rows.push((schema.encode(&row).unwrap(), had));
                    }
                }
            }
            let schema = Schema::from_parts(parts).unwrap();
            for ((key, row), had) in rows {
                let read = schema.decode(&key, &row).unwrap();
                for (column, value) in schema.columns().iter().zip(read) {
                    let expected = had.get(&column.name).cloned();
                    let expected = expected.unwrap_or_else(|| missing[&column.name].into());
                    prop_assert_eq!(value, expected, "{}", column.name);
                }
            }
        }
    }
}
