//! Tables of the documents, and traces of what is done to them.

use advisor::trace::{Column, Header, Kind, Op, Order, Statement, Table, Trace, Txn};
use keys::{Type, Value};
use partitions::decide::Settings;
use partitions::{Random, SeededRandom};

/// 2024-01-01.
pub(crate) const START_US: u64 = 1_704_067_200_000_000;
/// Events of a second.
const RATE: u64 = 40;

pub(crate) fn column(name: &str, kind: Type) -> Column {
    Column {
        name: name.to_owned(),
        kind,
        not_null: true,
        generated: None,
        counted: false,
    }
}

pub(crate) fn statement(id: u32, text: &str, kind: Kind) -> Statement {
    Statement {
        id,
        fingerprint: format!("{id:016x}"),
        text: text.to_owned(),
        table: 1,
        kind,
    }
}

/// A trace that is being made: transactions come one after the other.
pub(crate) struct Maker {
    pub(crate) trace: Trace,
    pub(crate) random: SeededRandom,
}

impl Maker {
    pub(crate) fn new(table: Table, statements: Vec<Statement>) -> Self {
        Self {
            trace: Trace {
                header: Header {
                    made_by: "evenkeel 0.1.0".to_owned(),
                    from_us: START_US,
                    ..Header::default()
                },
                tables: vec![table],
                statements,
                ..Trace::default()
            },
            random: SeededRandom::new(11),
        }
    }

    pub(crate) fn txn(&mut self, at_us: u64, ops: Vec<Op>) {
        self.trace.txns.push(Txn {
            at_us,
            weight: 1.0,
            ops,
        });
    }

    pub(crate) fn finish(mut self, seconds: u64) -> Trace {
        let header = &mut self.trace.header;
        header.to_us = START_US + seconds * 1_000_000;
        header.transactions_seen = u64::try_from(self.trace.txns.len()).unwrap();
        header.transactions_kept = header.transactions_seen;
        self.trace
    }
}

pub(crate) fn stamp(at_us: u64) -> Value {
    Value::Timestamp(i64::try_from(START_US + at_us).unwrap())
}

/// The events of the documents: by time and user.
pub(crate) fn events_table() -> Table {
    Table {
        id: 1,
        name: "events".to_owned(),
        columns: vec![
            column("ts", Type::Timestamp),
            column("userid", Type::Uint64),
            Column {
                not_null: false,
                ..column("userevent", Type::Utf8)
            },
        ],
        key: vec!["ts".to_owned(), "userid".to_owned()],
        partitions: 1,
        settings: Settings::default(),
        check_interval_s: 5,
        ..Table::default()
    }
}

/// Users make events, and one in twenty transactions reads those of one user. `user` draws the next.
pub(crate) fn events(seconds: u64, user: impl Fn(&SeededRandom) -> u64) -> Trace {
    let mut maker = Maker::new(
        events_table(),
        vec![
            statement(
                1,
                "INSERT INTO events (ts, userid, userevent) VALUES ($1, $2, $3)",
                Kind::Insert,
            ),
            statement(2, "SELECT * FROM events WHERE userid = $1", Kind::Read),
        ],
    );
    let mut by_user = std::collections::BTreeMap::<u64, u64>::new();
    let mut rows = 0;
    for number in 0..seconds * RATE {
        let at_us = number * 1_000_000 / RATE;
        let one = user(&maker.random);
        if number % 20 == 19 {
            let found = by_user.get(&one).copied().unwrap_or_default();
            maker.txn(
                at_us,
                vec![Op {
                    statement: 2,
                    eq: vec![(1, vec![Value::Uint64(one)])],
                    found: Some(found),
                    rows_read: Some(rows),
                    busy_us: Some(20 + rows / 50),
                    ..Op::default()
                }],
            );
            continue;
        }
        rows += 1;
        *by_user.entry(one).or_default() += 1;
        maker.txn(
            at_us,
            vec![Op {
                statement: 1,
                rows: vec![vec![(0, stamp(at_us)), (1, Value::Uint64(one))]],
                busy_us: Some(40),
                ..Op::default()
            }],
        );
    }
    let table = &mut maker.trace.tables[0];
    (table.rows, table.bytes) = (rows, rows * 700);
    maker.finish(seconds)
}

fn orders_table() -> Table {
    Table {
        id: 1,
        name: "orders".to_owned(),
        columns: vec![
            Column {
                counted: true,
                ..column("order_id", Type::Int64)
            },
            column("customer_id", Type::Uint64),
            Column {
                not_null: false,
                ..column("amount", Type::Double)
            },
        ],
        key: vec!["order_id".to_owned()],
        partitions: 1,
        check_interval_s: 5,
        ..Table::default()
    }
}

/// The orders of the documents: by a number that is counted up. Each is read again a few times, and
/// if `lists`, the latest ones are listed.
pub(crate) fn orders(seconds: u64, lists: bool) -> Trace {
    let mut maker = Maker::new(
        orders_table(),
        vec![
            statement(
                1,
                "INSERT INTO orders (customer_id, amount) VALUES ($1, $2)",
                Kind::Insert,
            ),
            statement(2, "SELECT * FROM orders WHERE order_id = $1", Kind::Read),
            statement(
                3,
                "SELECT * FROM orders ORDER BY order_id DESC LIMIT 20",
                Kind::Read,
            ),
        ],
    );
    let mut next = 1001_u64;
    for number in 0..seconds * RATE {
        let at_us = number * 1_000_000 / RATE;
        let op = match number % 4 {
            0 | 1 => {
                next += 1;
                let customer = maker.random.below(5000);
                let order = Value::Int64(i64::try_from(next).unwrap());
                Op {
                    statement: 1,
                    rows: vec![vec![(0, order), (1, Value::Uint64(customer))]],
                    busy_us: Some(40),
                    ..Op::default()
                }
            }
            3 if lists => Op {
                statement: 3,
                limit: Some(20),
                order: vec![Order {
                    column: 0,
                    descending: true,
                }],
                found: Some(20),
                rows_read: Some(20),
                busy_us: Some(25),
                ..Op::default()
            },
            _ => {
                let order = next - maker.random.below((next - 1000).min(2000));
                Op {
                    statement: 2,
                    eq: vec![(0, vec![Value::Int64(i64::try_from(order).unwrap())])],
                    found: Some(1),
                    rows_read: Some(1),
                    busy_us: Some(15),
                    ..Op::default()
                }
            }
        };
        maker.txn(at_us, vec![op]);
    }
    let table = &mut maker.trace.tables[0];
    (table.rows, table.bytes) = (next - 1001, (next - 1001) * 100);
    maker.finish(seconds)
}
