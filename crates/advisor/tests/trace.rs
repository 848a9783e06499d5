//! Traces: what is written reads back, and what is broken is named and counted.

#![cfg(test)]

use advisor::Error;
use advisor::trace::{
    Column, Header, Index, Kind, Op, Order, Spent, Statement, Table, Trace, Txn, Writer,
};
use keys::{Decimal, Type, Value};
use partitions::decide::Settings;
use proptest::prelude::*;

fn column(name: &str, kind: Type) -> Column {
    Column {
        name: name.to_owned(),
        kind,
        not_null: true,
        generated: None,
        counted: false,
    }
}

fn table() -> Table {
    Table {
        id: 1,
        name: "events".to_owned(),
        columns: vec![
            column("ts", Type::Timestamp),
            column("userid", Type::Uint64),
            Column {
                generated: Some("Digest::NumericHash(userid)".to_owned()),
                ..column("userhash", Type::Uint64)
            },
            Column {
                not_null: false,
                counted: true,
                ..column("naïve \"name\"", Type::Utf8)
            },
        ],
        key: vec!["ts".to_owned(), "userid".to_owned()],
        unique: vec![vec!["userid".to_owned(), "ts".to_owned()]],
        indexes: vec![
            Index {
                name: "by \"name\"".to_owned(),
                columns: vec!["naïve \"name\"".to_owned()],
                cover: vec!["userhash".to_owned()],
                unique: true,
            },
            Index {
                columns: vec!["userid".to_owned()],
                ..Index::default()
            },
        ],
        rows: 1000,
        bytes: 700_000,
        partitions: 3,
        spent: Some(Spent {
            gets: 4000,
            scans: 300,
            rows: 90_000,
            writes: 1200,
            get_us: 11_000,
            scan_us: 51_000,
            commit_us: 17_000,
        }),
        settings: Settings {
            by_load: false,
            partitions_max: Some(7),
            ..Settings::default()
        },
        check_interval_s: 5,
    }
}

/// Events by time and user, one insert and one read.
fn events() -> Trace {
    let statement = |id, text: &str, kind| Statement {
        id,
        fingerprint: format!("{id:016x}"),
        text: text.to_owned(),
        table: 1,
        kind,
    };
    let insert = Op {
        statement: 1,
        rows: vec![vec![
            (0, Value::Timestamp(1_700_000_000_000_000)),
            (1, Value::Uint64(u64::MAX)),
            (3, Value::Null),
        ]],
        busy_us: Some(35),
        ..Op::default()
    };
    let read = Op {
        statement: 7,
        eq: vec![(1, vec![Value::Uint64(7), Value::Uint64(8)])],
        low: vec![(0, Value::Timestamp(-5))],
        high: vec![(0, Value::Timestamp(5))],
        limit: Some(10),
        order: vec![Order {
            column: 0,
            descending: true,
        }],
        rows: Vec::new(),
        found: Some(3),
        rows_read: Some(12),
        busy_us: None,
    };
    Trace {
        header: Header {
            made_by: "evenkeel 0.1.0".to_owned(),
            from_us: 1_700_000_000_000_000,
            to_us: 1_700_000_060_000_000,
            transactions_seen: 16,
            transactions_kept: 2,
        },
        tables: vec![table()],
        statements: vec![
            statement(1, "INSERT INTO events VALUES ($1, $2)", Kind::Insert),
            statement(7, "SELECT * FROM events WHERE userid IN ($1)", Kind::Read),
        ],
        txns: vec![
            Txn {
                at_us: 120,
                weight: 8.0,
                ops: vec![insert.clone(), read.clone()],
            },
            Txn {
                at_us: 240,
                weight: 0.5,
                ops: vec![read],
            },
        ],
        ..Trace::default()
    }
}

fn written(trace: &Trace) -> String {
    let mut out = Vec::new();
    trace.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn read(text: &str) -> Result<Trace, Error> {
    Trace::read(text.as_bytes())
}

#[test]
fn a_trace_reads_back_as_it_was_written() {
    let trace = events();
    assert_eq!(read(&written(&trace)).unwrap(), trace);
}

#[test]
fn the_lines_are_those_of_the_documents() {
    let page = include_str!("../../../docs/trace.md");
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("{\""))
        .collect();
    let shown = lines.join("\n") + "\n";
    let trace = read(&shown).unwrap();
    assert_eq!(trace.flaws.lines, 0, "{:?}", trace.flaws);
    assert_eq!(trace.txns.len(), 2);
    assert_eq!(written(&trace), shown);
}

#[test]
fn what_is_spent_adds_up() {
    let mut trace = events();
    trace.tables[0].spent = None;
    let more = Spent {
        gets: 5,
        scan_us: 70,
        ..Spent::default()
    };
    let mut writer = Writer::new(Vec::new(), &trace.header).unwrap();
    writer.table(&trace.tables[0]).unwrap();
    writer.spent(trace.tables[0].id, &more).unwrap();
    writer.spent(trace.tables[0].id, &more).unwrap();
    writer.spent(trace.tables[0].id + 1, &more).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let read = read(&text).unwrap();
    let sum = Spent {
        gets: 10,
        scan_us: 140,
        ..Spent::default()
    };
    assert_eq!(read.tables[0].spent, Some(sum));
    assert_eq!(read.flaws.lines, 1, "one names a table that is not there");
}

#[test]
fn the_usual_is_left_out() {
    let text = "{\"evenkeel_trace\":1}\n\
                {\"table\":{\"id\":1,\"name\":\"t\",\"columns\":[{\"name\":\"a\",\"type\":\"bigint\"}],\"key\":[\"a\"]}}\n\
                {\"statement\":{\"id\":1,\"table\":1,\"kind\":\"read\"}}\n\
                {\"txn\":{\"at_us\":1,\"ops\":[{\"s\":1,\"eq\":{\"a\":[-3]}}]}}\n";
    let trace = read(text).unwrap();
    assert_eq!(trace.flaws.lines, 0, "{:?}", trace.flaws);
    assert_eq!(trace.txns[0].weight, 1.0);
    assert_eq!(trace.txns[0].ops[0].eq, [(0, vec![Value::Int64(-3)])]);
    assert_eq!(trace.tables[0].settings, Settings::default());
}

#[test]
fn a_later_version_is_refused_by_name() {
    let text = "{\"evenkeel_trace\":2,\"made_by\":\"evenkeel 9.0.0\"}\n";
    let error = read(text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trace has version 2, and this program reads versions up to 1: use the evenkeel that \
         recorded it, evenkeel 9.0.0, or a later one"
    );
}

#[test]
fn what_is_no_trace_is_refused() {
    for (text, said) in [
        ("", "the file is empty"),
        ("CREATE TABLE t (a int)", "it is no JSON"),
        ("{\"a\":1}\n", "it is {\"a\":1}"),
        ("[]", "it is []"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn broken_lines_are_named_and_counted_and_the_rest_is_used() {
    let whole = written(&events());
    let mut lines: Vec<&str> = whole.lines().collect();
    let txn = lines.pop().unwrap();
    let broken = [
        "{\"txn\":{\"at_us\":1,\"ops\":[{\"s\":99}]}}",
        "{\"txn\":{\"at_us\":1,\"ops\":[{\"s\":7,\"eq\":{\"nobody\":[1]}}]}}",
        "{\"txn\":{\"at_us\":1,\"ops\":[{\"s\":7,\"eq\":{\"userid\":[-1]}}]}}",
        "{\"txn\":{\"at_us\":1,\"weight\":-1,\"ops\":[]}}",
        "{\"what\":1}",
        "}",
        "{\"txn\":{\"ops\":[]}}",
    ];
    lines.extend(broken);
    lines.push(txn);
    let cut = txn.split_at(txn.len() / 2).0;
    let trace = read(&format!("{}\n{cut}", lines.join("\n"))).unwrap();
    assert_eq!(trace.txns, events().txns);
    assert_eq!(trace.flaws.lines, 8);
    let said: Vec<String> = trace
        .flaws
        .first
        .iter()
        .map(|flaw| format!("{}: {}", flaw.line, flaw.reason))
        .collect();
    assert_eq!(
        said,
        [
            "6: statement 99 is not there",
            "7: table events has no column nobody",
            "8: column userid: -1 is no Uint64",
            "9: its weight is no number above zero",
            "10: it is neither a table nor a statement nor a txn nor spent",
        ]
    );
}

#[test]
fn a_cut_off_trace_says_so() {
    let whole = written(&events());
    let cut = &whole[..whole.len() - 30];
    let trace = read(cut).unwrap();
    assert_eq!(trace.txns.len(), 1);
    assert_eq!(trace.flaws.lines, 1);
    assert_eq!(
        trace.flaws.first[0].reason,
        "it is cut off: the file ends in the middle of it"
    );
    let at_line_end = &whole[..whole.trim_end().rfind('\n').unwrap() + 1];
    let trace = read(at_line_end).unwrap();
    assert_eq!((trace.flaws.lines, trace.flaws.missing), (0, 1));
}

#[test]
fn a_line_without_end_is_passed_over() {
    let whole = written(&events());
    let long = "x".repeat(advisor::trace::LINE_BYTES_MAX * 2 + 5);
    let (first, rest) = whole.split_once('\n').unwrap();
    let trace = read(&format!("{first}\n{long}\n{rest}")).unwrap();
    assert_eq!(trace.txns, events().txns);
    assert_eq!(trace.flaws.lines, 1);
}

#[test]
fn what_names_something_unknown_is_not_written() {
    let trace = events();
    let mut writer = Writer::new(Vec::new(), &trace.header).unwrap();
    assert!(writer.statement(&trace.statements[0]).is_err());
    writer.table(&trace.tables[0]).unwrap();
    assert!(writer.txn(&trace.txns[0]).is_err());
    writer.statement(&trace.statements[0]).unwrap();
    writer.statement(&trace.statements[1]).unwrap();
    writer.txn(&trace.txns[0]).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let read_back = read(&text).unwrap();
    assert_eq!(read_back.flaws.lines, 0, "{:?}", read_back.flaws);
    assert_eq!(read_back.txns, trace.txns[..1]);
}

/// A type and a value of it.
fn typed() -> impl Strategy<Value = (Type, Value)> {
    let decimal = Type::Decimal {
        precision: 22,
        scale: 9,
    };
    prop_oneof![
        any::<bool>().prop_map(|v| (Type::Bool, Value::Bool(v))),
        any::<i8>().prop_map(|v| (Type::Int8, Value::Int8(v))),
        any::<i16>().prop_map(|v| (Type::Int16, Value::Int16(v))),
        any::<i32>().prop_map(|v| (Type::Int32, Value::Int32(v))),
        any::<i64>().prop_map(|v| (Type::Int64, Value::Int64(v))),
        any::<u8>().prop_map(|v| (Type::Uint8, Value::Uint8(v))),
        any::<u64>().prop_map(|v| (Type::Uint64, Value::Uint64(v))),
        any::<i16>().prop_map(|v| (Type::Float, Value::Float(f32::from(v) / 8.0))),
        any::<i32>().prop_map(|v| (Type::Double, Value::Double(f64::from(v) / 8.0))),
        Just((Type::Double, Value::Double(f64::INFINITY))),
        any::<i64>().prop_map(move |v| {
            let value = Decimal::new(i128::from(v), 9).unwrap();
            (decimal, Value::Decimal(value))
        }),
        ".*".prop_map(|v| (Type::Utf8, Value::from(v))),
        any::<Vec<u8>>().prop_map(|v| (Type::String, Value::from(v))),
        any::<i32>().prop_map(|v| (Type::Date, Value::Date(v))),
        any::<i64>().prop_map(|v| (Type::Datetime, Value::Datetime(v))),
        any::<i64>().prop_map(|v| (Type::Timestamp, Value::Timestamp(v))),
        any::<i64>().prop_map(|v| (Type::Interval, Value::Interval(v))),
        any::<[u8; 16]>().prop_map(|v| (Type::Uuid, Value::Uuid(v))),
        Just((Type::Json, Value::Json("{\"a\": [1]}".into()))),
        Just((Type::Int64, Value::Null)),
    ]
}

proptest! {
    #[test]
    fn every_value_reads_back((kind, value) in typed()) {
        let mut trace = events();
        trace.tables[0].columns[3].kind = kind;
        trace.txns[0].ops[0].rows[0][2].1 = value.clone();
        let back = read(&written(&trace)).unwrap();
        prop_assert_eq!(back.flaws.lines, 0, "{:?}", back.flaws);
        prop_assert_eq!(&back.txns[0].ops[0].rows[0][2].1, &value);
    }

    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>(), at in 0_usize..2000) {
        let mut whole = written(&events()).into_bytes();
        let at = at.min(whole.len());
        whole.splice(at..at, bytes);
        // Whatever it says: it says something.
        if let Ok(trace) = Trace::read(whole.as_slice()) {
            prop_assert!(trace.txns.len() <= 2);
        }
    }
}
