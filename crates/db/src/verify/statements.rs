//! What a recorded operation does, as SQL on the scratch table.
//!
//! A trace has the conditions, the order and the rows of a statement and not its text with values, so a
//! statement is made that asks the same of the table. What values a trace leaves out is filled in.

use advisor::advise::Key;
use advisor::trace::{Column, Kind, Op, Row, Table};
use keys::{Type, Value};

/// Filler of one text is not longer than this.
const FILLER_BYTES_MAX: u64 = 1_024;

/// A statement with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) parameters: Vec<Value>,
    pub(super) types: Vec<Option<Type>>,
}

/// How statements on a table are made.
#[derive(Debug)]
pub(super) struct Maker<'t> {
    table: &'t Table,
    /// The scratch table, quoted.
    name: String,
    /// A column that UPDATE sets to what it is.
    set: Option<String>,
    filler: Box<str>,
}

impl<'t> Maker<'t> {
    /// Statements on the table of this name, which has the columns of `table` and this key.
    pub(super) fn new(table: &'t Table, key: &Key, name: &str) -> Self {
        let in_key = |place: u16| key.parts.iter().any(|part| part.inputs().contains(&place));
        let set = (0..)
            .zip(&table.columns)
            .find(|(place, column)| column.generated.is_none() && !in_key(*place));
        Self {
            table,
            name: quoted(name),
            set: set.map(|(_, column)| quoted(&column.name)),
            filler: "x".repeat(filler_bytes(table)).into(),
        }
    }

    /// What an operation asks, one statement after the other; nothing if nothing is known of it.
    pub(super) fn op(&self, op: &Op, kind: Kind) -> Vec<Asked> {
        match kind {
            Kind::Insert => self.rows("INSERT", &op.rows),
            Kind::Upsert => self.rows("UPSERT", &op.rows),
            Kind::Read => vec![self.read(op)],
            Kind::Update => {
                let set = self.set.as_ref();
                let set = set.map(|set| format!("UPDATE {} SET {set} = {set}", self.name));
                // A table of nothing but its key has nothing to update.
                vec![set.map_or_else(|| self.read(op), |set| self.looking(set, op))]
            }
            Kind::Delete => vec![self.looking(format!("DELETE FROM {}", self.name), op)],
        }
    }

    /// Writes rows whether they are there or not.
    pub(super) fn arrive(&self, row: &Row) -> Asked {
        self.write("UPSERT", row)
    }

    fn rows(&self, verb: &str, rows: &[Row]) -> Vec<Asked> {
        rows.iter().map(|row| self.write(verb, row)).collect()
    }

    fn write(&self, verb: &str, row: &Row) -> Asked {
        let mut names = Vec::new();
        let mut asked = Asked::new();
        for (place, column) in (0..).zip(&self.table.columns) {
            if column.generated.is_some() {
                continue;
            }
            let known = row.iter().find(|(known, _)| *known == place);
            let value = match known {
                Some((_, value)) => value.clone(),
                None => self.filled(column),
            };
            names.push(quoted(&column.name));
            asked.bind(value, column.kind);
        }
        let places: Vec<String> = (1..=names.len()).map(|place| format!("${place}")).collect();
        asked.text = format!(
            "{verb} INTO {} ({}) VALUES ({})",
            self.name,
            names.join(", "),
            places.join(", ")
        );
        asked
    }

    /// A value for a column that a trace does not know.
    pub(super) fn filled(&self, column: &Column) -> Value {
        match column.kind {
            Type::Utf8 => Value::Utf8(self.filler.clone()),
            Type::String => Value::String(self.filler.as_bytes().into()),
            kind if column.not_null => zero(kind),
            _ => Value::Null,
        }
    }

    fn read(&self, op: &Op) -> Asked {
        let mut asked = self.looking(format!("SELECT * FROM {}", self.name), op);
        let order = op.order.iter().filter_map(|order| {
            let column = self.column(order.column)?;
            let down = if order.descending { " DESC" } else { "" };
            Some(quoted(&column.name) + down)
        });
        let order: Vec<String> = order.collect();
        if !order.is_empty() {
            asked.text += &format!(" ORDER BY {}", order.join(", "));
        }
        if let Some(limit) = op.limit {
            asked.text += &format!(" LIMIT {limit}");
        }
        asked
    }

    /// A statement with the conditions of an operation.
    fn looking(&self, begin: String, op: &Op) -> Asked {
        let mut asked = Asked::new();
        let mut conditions = Vec::new();
        for (column, values) in &op.eq {
            let Some(column) = self.column(*column) else {
                continue;
            };
            let name = quoted(&column.name);
            conditions.push(match values.as_slice() {
                [Value::Null] => format!("{name} IS NULL"),
                [value] => format!("{name} = {}", asked.bind(value.clone(), column.kind)),
                values => {
                    let places = values.iter();
                    let places: Vec<String> = places
                        .map(|value| asked.bind(value.clone(), column.kind))
                        .collect();
                    format!("{name} IN ({})", places.join(", "))
                }
            });
        }
        for (sign, bounds) in [(">=", &op.low), ("<=", &op.high)] {
            for (column, value) in bounds {
                if let Some(column) = self.column(*column) {
                    let place = asked.bind(value.clone(), column.kind);
                    conditions.push(format!("{} {sign} {place}", quoted(&column.name)));
                }
            }
        }
        asked.text = match conditions.is_empty() {
            true => begin,
            false => format!("{begin} WHERE {}", conditions.join(" AND ")),
        };
        asked
    }

    /// A column that the scratch table has too: what is generated depends on the key.
    fn column(&self, place: u16) -> Option<&'t Column> {
        let column = self.table.columns.get(usize::from(place))?;
        column.generated.is_none().then_some(column)
    }
}

impl Asked {
    fn new() -> Self {
        Self {
            text: String::new(),
            parameters: Vec::new(),
            types: Vec::new(),
        }
    }

    /// One more parameter, and what stands for it.
    fn bind(&mut self, value: Value, kind: Type) -> String {
        self.parameters.push(value);
        self.types.push(Some(kind));
        format!("${}", self.parameters.len())
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// How long texts are that nobody knows, so that rows are about as long as they were.
fn filler_bytes(table: &Table) -> usize {
    const COLUMN_BYTES: u64 = 12;
    let texts = table.columns.iter();
    let texts = texts.filter(|one| matches!(one.kind, Type::Utf8 | Type::String));
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let row = table.bytes / table.rows.max(1);
    let rest = row.saturating_sub(COLUMN_BYTES * count(table.columns.len()));
    let each = rest / count(texts.count().max(1));
    usize::try_from(each.clamp(1, FILLER_BYTES_MAX)).unwrap_or(1)
}

/// The plainest value of a type.
fn zero(kind: Type) -> Value {
    match kind {
        Type::Bool => Value::Bool(false),
        Type::Utf8 => Value::from(""),
        Type::String => Value::String(Box::default()),
        Type::Date => Value::Date(0),
        Type::Datetime => Value::Datetime(0),
        Type::Timestamp => Value::Timestamp(0),
        Type::Interval => Value::Interval(0),
        Type::Uuid => Value::Uuid([0; 16]),
        Type::Json => Value::Json("{}".into()),
        number => Value::parse(number, "0").unwrap_or(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use advisor::trace::Order;

    use super::*;

    fn table() -> Table {
        let column = |name: &str, kind, not_null| Column {
            name: name.to_owned(),
            kind,
            not_null,
            generated: None,
            counted: false,
        };
        Table {
            name: "events".to_owned(),
            columns: vec![
                column("ts", Type::Int64, true),
                column("userid", Type::Uint64, true),
                Column {
                    generated: Some("Hash(userid)".to_owned()),
                    ..column("h", Type::Uint64, true)
                },
                column("a`b", Type::Utf8, false),
                column("price", Type::Double, true),
            ],
            key: vec!["ts".to_owned(), "userid".to_owned()],
            ..Table::default()
        }
    }

    fn text(op: &Op, kind: Kind) -> Vec<String> {
        let table = table();
        let maker = Maker::new(&table, &Key::of(&table), "scratch");
        let told = |asked: Asked| {
            assert_eq!(asked.parameters.len(), asked.types.len());
            let values: Vec<String> = asked.parameters.iter().map(Value::to_string).collect();
            format!("{} -- {}", asked.text, values.join(" "))
        };
        maker.op(op, kind).into_iter().map(told).collect()
    }

    #[test]
    fn an_operation_asks_what_it_asked_and_fills_in_what_is_not_known() {
        let op = Op {
            eq: vec![
                (1, vec![Value::Uint64(7), Value::Uint64(8)]),
                (2, vec![Value::Uint64(1)]),
                (3, vec![Value::Null]),
            ],
            low: vec![(0, Value::Int64(5))],
            limit: Some(3),
            order: vec![Order {
                column: 0,
                descending: true,
            }],
            rows: vec![vec![(1, Value::Uint64(7)), (0, Value::Int64(5))]],
            ..Op::default()
        };
        let wheres = "WHERE `userid` IN ($1, $2) AND `a``b` IS NULL AND `ts` >= $3";
        let read = format!("SELECT * FROM `scratch` {wheres} ORDER BY `ts` DESC LIMIT 3 -- 7 8 5");
        assert_eq!(text(&op, Kind::Read), [read]);
        let update = format!("UPDATE `scratch` SET `a``b` = `a``b` {wheres} -- 7 8 5");
        assert_eq!(text(&op, Kind::Update), [update]);
        let delete = format!("DELETE FROM `scratch` {wheres} -- 7 8 5");
        assert_eq!(text(&op, Kind::Delete), [delete]);
        let insert = "INSERT INTO `scratch` (`ts`, `userid`, `a``b`, `price`) \
                      VALUES ($1, $2, $3, $4) -- 5 7 x 0";
        assert_eq!(text(&op, Kind::Insert), [insert]);
        assert_eq!(
            text(&Op::default(), Kind::Read),
            ["SELECT * FROM `scratch` -- "]
        );
    }
}
