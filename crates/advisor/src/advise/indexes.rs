//! [`Indexes`]: which operations read or change an index, and so another partition.
//!
//! ```text
//!   INSERT, DELETE                    a partition of each index, beside that of the row
//!   UPDATE … SET city = …             one of each index that holds `city`
//!   SELECT … WHERE city = 'Oslo'      one of the index, and those of the rows it finds,
//!                                     unless the index holds all that is asked for
//! ```
//!
//! As in the database, the way that binds the most columns is taken, and the key if an index does not
//! bind more. Where the entries of an index lie is not simulated: whatever a transaction does with one
//! index counts as one partition more, and what that costs is no work of the table's partitions.

use super::key::{Key, Part};
use super::plan::Plan;
use super::workload::Workload;
use crate::trace::{Kind, Statement, Table};

/// What indexes do, for one key of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indexes {
    /// For each shape the index that its rows are found by.
    ways: Vec<Option<usize>>,
    /// For each statement the indexes that it changes.
    changed: Vec<Vec<usize>>,
    /// For each statement the indexes that hold all that it asks for.
    covering: Vec<Vec<usize>>,
}

/// An index with the places of its columns.
struct Index {
    columns: Vec<u16>,
    /// All that its entries hold but the key.
    held: Vec<u16>,
}

impl Indexes {
    pub(crate) fn new(workload: &Workload, key: &Key, plans: &[Plan]) -> Self {
        let table = &workload.table;
        let indexes: Vec<Index> = table.indexes.iter().map(|one| found(table, one)).collect();
        if indexes.is_empty() {
            return Self::default();
        }
        let way = |(shape, by_key): (_, &Plan)| {
            let mut best = (by_key.bound(), None);
            for (number, index) in indexes.iter().enumerate() {
                let bound = Plan::new(&index.key(key), shape).bound();
                if bound > best.0 {
                    best = (bound, Some(number));
                }
            }
            best.1
        };
        let in_key: Vec<u16> = key.columns().collect();
        let numbers = |fits: &dyn Fn(&Index) -> bool| {
            let fitting = indexes.iter().enumerate().filter(|(_, index)| fits(index));
            fitting.map(|(number, _)| number).collect::<Vec<usize>>()
        };
        let changed = |statement: &Statement| {
            let set = set_columns(table, statement);
            numbers(&|index| match &set {
                Some(set) => set.iter().any(|column| index.held.contains(column)),
                None => statement.kind.writes(),
            })
        };
        let covering = |statement: &Statement| {
            let asked = asked_columns(table, &statement.text);
            numbers(&|index| {
                let has = |column: &u16| index.held.contains(column) || in_key.contains(column);
                asked.iter().all(has)
            })
        };
        Self {
            ways: workload.shapes.iter().zip(plans).map(way).collect(),
            changed: workload.statements.iter().map(changed).collect(),
            covering: workload.statements.iter().map(covering).collect(),
        }
    }

    /// The index that rows of a shape are found by, if it is not the key.
    pub(crate) fn way(&self, shape: usize) -> Option<usize> {
        self.ways.get(shape).copied().flatten()
    }

    /// The indexes that a statement changes.
    pub(crate) fn changed(&self, statement: usize) -> &[usize] {
        self.changed.get(statement).map_or(&[], Vec::as_slice)
    }

    /// Whether an index holds all that a statement asks for.
    pub(crate) fn covers(&self, statement: usize, index: usize) -> bool {
        let covering = self.covering.get(statement);
        covering.is_some_and(|covering| covering.contains(&index))
    }
}

impl Index {
    /// What its entries are sorted by: its columns, and then those of the table's key.
    fn key(&self, table_key: &Key) -> Key {
        let own = self.columns.iter().copied();
        let rest = table_key.columns();
        let rest = rest.filter(|column| !self.columns.contains(column));
        Key {
            parts: own.chain(rest).map(Part::Column).collect(),
        }
    }
}

fn found(table: &Table, index: &crate::trace::Index) -> Index {
    let places = |names: &[String]| -> Vec<u16> {
        let places = names.iter().filter_map(|name| table.column(name));
        places.collect()
    };
    let columns = places(&index.columns);
    let held = [columns.clone(), places(&index.cover)].concat();
    Index { columns, held }
}

/// The columns that an UPDATE sets, as far as its text tells.
fn set_columns(table: &Table, statement: &Statement) -> Option<Vec<u16>> {
    if statement.kind != Kind::Update {
        return None;
    }
    let lower = statement.text.to_lowercase();
    let (_, rest) = lower.split_once(" set ")?;
    let (set, _) = rest.split_once(" where ").unwrap_or((rest, ""));
    Some(named_columns(table, set))
}

/// The columns that a read takes in.
fn asked_columns(table: &Table, text: &str) -> Vec<u16> {
    let lower = text.to_lowercase();
    let squeezed: String = lower.split_whitespace().collect();
    match squeezed.replace("count(*)", "").contains('*') {
        true => (0..u16::try_from(table.columns.len()).unwrap_or(u16::MAX)).collect(),
        false => named_columns(table, &lower),
    }
}

/// The columns whose names are words of a text in lower case.
fn named_columns(table: &Table, lower: &str) -> Vec<u16> {
    let is_inside = |char: char| char.is_alphanumeric() || char == '_';
    let words: Vec<&str> = lower.split(|char| !is_inside(char)).collect();
    let named = (0..).zip(&table.columns).filter(|(_, column)| {
        let name = column.name.to_lowercase();
        words.contains(&name.as_str())
    });
    named.map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use keys::Type;

    use super::*;
    use crate::trace::Column;

    fn table() -> Table {
        let column = |name: &str| Column {
            name: name.to_owned(),
            kind: Type::Utf8,
            not_null: true,
            generated: None,
            counted: false,
        };
        Table {
            columns: ["id", "City", "score"].map(column).to_vec(),
            ..Table::default()
        }
    }

    #[test]
    fn texts_tell_which_columns_are_set_and_asked_for() {
        let set = |kind, text: &str| {
            let statement = Statement {
                id: 1,
                fingerprint: String::new(),
                text: text.to_owned(),
                table: 1,
                kind,
            };
            set_columns(&table(), &statement)
        };
        let update = "UPDATE t SET score = ? WHERE city = ?";
        assert_eq!(set(Kind::Update, update), Some(vec![2]));
        assert_eq!(set(Kind::Update, "UPDATE t SET City = ?"), Some(vec![1]));
        assert_eq!(set(Kind::Update, "UpdateItem users/"), None);
        assert_eq!(set(Kind::Delete, update), None);
        let asked = |text| asked_columns(&table(), text);
        assert_eq!(asked("SELECT id FROM t WHERE city = ?"), [0, 1]);
        assert_eq!(asked("SELECT count(*) FROM t WHERE city_2 = ?"), [0_u16; 0]);
        assert_eq!(asked("SELECT * FROM t"), [0, 1, 2]);
    }
}
