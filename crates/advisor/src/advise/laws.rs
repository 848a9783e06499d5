//! Laws of plans and replays, for any key and any small workload.

use keys::{Type, Value};
use partitions::decide::Settings;
use proptest::prelude::*;

use super::content::{Content, Known};
use super::key::{Function, Key, Part};
use super::plan::{Plan, Ranges};
use super::replay::{Outcome, Pace, Setting, replay};
use super::workload::{Builder, Workload};
use crate::trace::{Column, Header, Kind, Op, Order, Statement, Table, Trace, Txn};

/// A small table: a, b and c are the key.
fn table() -> Table {
    let column = |name: &str, kind| Column {
        name: name.to_owned(),
        kind,
        not_null: true,
        generated: None,
        counted: false,
    };
    Table {
        id: 1,
        name: "t".to_owned(),
        columns: vec![
            column("a", Type::Uint64),
            column("b", Type::Utf8),
            column("c", Type::Int64),
        ],
        key: ["a", "b", "c"].map(str::to_owned).to_vec(),
        ..Table::default()
    }
}

fn row(a: u64, b: u8, c: i64) -> Vec<(u16, Value)> {
    vec![
        (0, Value::Uint64(a)),
        (1, Value::from(format!("b{b}").as_str())),
        (2, Value::Int64(c)),
    ]
}

fn workload(txns: Vec<Txn>) -> Workload {
    let kinds = [Kind::Insert, Kind::Read];
    let statements = (0..).zip(kinds).map(|(id, kind)| Statement {
        id,
        fingerprint: String::new(),
        text: String::new(),
        table: 1,
        kind,
    });
    let trace = Trace {
        header: Header {
            to_us: 120_000_000,
            ..Header::default()
        },
        tables: vec![table()],
        statements: statements.collect(),
        txns,
        ..Trace::default()
    };
    let mut builder = Builder::new("t", &[]);
    builder.learn(&trace.tables, &trace.statements);
    for txn in &trace.txns {
        builder.add(txn);
    }
    builder.finish(&trace.header, &trace.tables).unwrap()
}

fn insert(rows: Vec<Vec<(u16, Value)>>) -> Op {
    Op {
        statement: 0,
        rows,
        ..Op::default()
    }
}

fn key() -> impl Strategy<Value = Key> {
    let order = Just(vec![0_u16, 1, 2]).prop_shuffle();
    let first = prop_oneof![
        Just(None),
        Just(Some(Part::Hash {
            columns: vec![0],
            function: Function::Numeric
        })),
        Just(Some(Part::Hash {
            columns: vec![1, 2],
            function: Function::Values
        })),
        Just(Some(Part::Bucket {
            columns: vec![0, 1, 2],
            function: Function::Values,
            count: 7,
            kind: Type::Uint32
        })),
        Just(Some(Part::Bucket {
            columns: vec![2],
            function: Function::Numeric,
            count: 4,
            kind: Type::Uint64
        })),
        Just(Some(Part::Random {
            columns: vec![0, 1, 2]
        })),
    ];
    (order, first, 0_usize..3).prop_map(|(order, part, place)| {
        let mut parts: Vec<Part> = order.into_iter().map(Part::Column).collect();
        if let Some(part) = part {
            parts.insert(place, part);
        }
        Key { parts }
    })
}

/// Conditions that a row fits: which of its columns are named, how, and with what besides.
fn condition(row: &[(u16, Value)], how: &[u8], order: Option<u16>) -> Op {
    let mut op = Op {
        statement: 1,
        ..Op::default()
    };
    for ((column, value), how) in row.iter().zip(how) {
        let other = match value {
            Value::Uint64(_) => Value::Uint64(99),
            Value::Int64(_) => Value::Int64(-99),
            _ => Value::from("other"),
        };
        match how {
            0 => op.eq.push((*column, vec![value.clone()])),
            1 => op.eq.push((*column, vec![other, value.clone()])),
            2 => op.low.push((*column, value.clone())),
            3 => op.high.push((*column, value.clone())),
            4 => {
                op.low.push((*column, value.clone()));
                op.high.push((*column, value.clone()));
            }
            _ => {}
        }
    }
    op.order = order
        .into_iter()
        .map(|column| Order {
            column,
            descending: false,
        })
        .collect();
    op.limit = order.map(|_| 3);
    op
}

fn replayed(workload: &Workload, key: &Key, load: f64) -> (Outcome, f64) {
    let known = Known::new(workload, &[0, 1, 2]);
    let mut content = Content::new(workload, &known, key);
    let settings = Settings {
        split_load_lasting_s: 5,
        ..Settings::default()
    };
    let setting = Setting {
        workload,
        key,
        is_current: false,
        settings: &settings,
        interval_us: 5_000_000,
        window_ticks: 1,
        pace: Pace { load, stretch: 1.0 },
        seed: 1,
        draw: true,
    };
    let outcome = replay(&setting, &mut content);
    let rows = content.rows(0, content.len());
    (outcome, rows)
}

fn some_row() -> impl Strategy<Value = Vec<(u16, Value)>> {
    (0_u64..6, 0_u8..4, -5_i64..5).prop_map(|(a, b, c)| row(a, b, c))
}

proptest! {
    #[test]
    fn a_row_lies_in_the_ranges_of_what_it_fits(
        row in some_row(),
        how in proptest::collection::vec(0_u8..6, 3),
        order in proptest::option::of(0_u16..3),
        key in key(),
    ) {
        let txn = |ops| Txn { at_us: 0, weight: 1.0, ops };
        let workload = workload(vec![
            txn(vec![insert(vec![row.clone()])]),
            txn(vec![condition(&row, &how, order)]),
        ]);
        let op = &workload.ops[1];
        let shape = &workload.shapes[usize::try_from(op.shape).unwrap()];
        let plan = Plan::new(&key, shape);
        let mut ranges = Ranges::default();
        plan.ranges(op, shape, (&workload.values, &workload.cells), &mut ranges);
        let mut bytes = Vec::new();
        key.append(&workload.values, workload.rows.get(0), &mut bytes);
        let hit = ranges.iter().any(|span| match span.point {
            true => span.lower == bytes,
            false => span.lower <= bytes.as_slice()
                && (span.upper.is_empty() || bytes.as_slice() < span.upper),
        });
        prop_assert!(hit, "{key:?} {op:?}");
        let one_place = key.parts.iter().all(|part| matches!(part, Part::Column(_)));
        if one_place && how.iter().all(|how| *how == 0) {
            prop_assert!(plan.exact);
            prop_assert_eq!(ranges.len(), 1);
        }
    }

    #[test]
    fn every_transaction_counts_once_and_no_time_is_lost(
        rows in proptest::collection::vec(some_row(), 1..300),
        key in key(),
        load in 1.0_f64..100_000.0,
    ) {
        let count = u32::try_from(rows.len()).unwrap();
        let step = 120_000_000 / u64::from(count);
        let txns: Vec<Txn> = (0..).zip(rows).map(|(at, row)| Txn {
            at_us: at * step,
            weight: 2.0,
            ops: vec![insert(vec![row])],
        }).collect();
        let workload = workload(txns);
        let (outcome, rows) = replayed(&workload, &key, load);
        prop_assert_eq!(outcome.replayed, u64::from(count));
        let busy_us = 2.0 * workload.rates.write_us * f64::from(count);
        prop_assert!((outcome.busy_us - busy_us).abs() < 1e-6 * busy_us);
        let heat = outcome.heat.as_ref().unwrap();
        prop_assert!((heat.total_us() - busy_us).abs() < 1e-6 * busy_us);
        prop_assert!(outcome.single == outcome.txns, "an insert of one row touches one partition");
        // Every row that was inserted is there in the end, once for each row it stands for.
        prop_assert!((rows - 2.0 * f64::from(count)).abs() < 1e-6 * rows, "{rows}");
        for window in outcome.runs.iter().flatten() {
            prop_assert!(window.peak_us <= window.busy_us * (1.0 + 1e-9));
            prop_assert!(window.peak_us > 0.0);
        }
        prop_assert!(outcome.partitions == 1 + outcome.splits - outcome.merges.min(outcome.splits));
    }
}
