//! How long the advisor takes: linting very many tables, and replaying a million transactions under
//! twenty keys, with the memory that takes.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::Path;

use advisor::lint::{Dialect, Source};
use advisor::trace::{Column, Header, Kind, Op, Reader, Statement, Table, Txn, Writer};
use advisor::{Options as Advised, advise_on};
use keys::{Type, Value};
use storage::env::{Random, SeededRandom};

use crate::measure::{Report, Stopwatch};
use crate::options::{Options, Part, run_parts};
use crate::{Error, Result};

/// What the list of benches says.
pub(crate) const ABOUT: &str = "how long linting and advising take [--quick] [--only PART]";

const TABLES: usize = 1000;
const LINT_SECONDS_MAX: f64 = 1.0;
const TXNS: u64 = 1_000_000;
const TXNS_QUICK: u64 = 50_000;
const REPLAY_SECONDS_MAX: f64 = 120.0;
const REPLAY_GIB_MAX: f64 = 2.0;
const KEYS_MIN: usize = 20;
/// The recorded hour.
const HOUR_US: u64 = 3_600_000_000;

const PARTS: [(&str, Part); 2] = [("lint", lint), ("replay", replay)];

/// Runs the bench, and answers whether every target was met.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    run_parts(arguments, &PARTS)
}

fn lint(report: &mut Report, _options: &Options) -> Result<()> {
    let mut text = String::new();
    for number in 0..TABLES {
        text.push_str(&format!(
            "CREATE TABLE events_{number} (ts timestamptz NOT NULL DEFAULT now(), userid bigint NOT \
             NULL, kind text, body jsonb, price numeric(10, 2), PRIMARY KEY (ts, userid));\n\
             CREATE INDEX by_kind_{number} ON events_{number} (kind, ts);\n"
        ));
    }
    let watch = Stopwatch::start();
    let findings = Source::read(&text, Some(Dialect::Postgres))
        .findings()
        .len();
    let took = watch.elapsed().as_secs_f64();
    if findings < TABLES {
        return Err(Error::Wrong(format!(
            "{findings} findings in {TABLES} tables"
        )));
    }
    let how = format!("seconds for {TABLES} tables and as many indexes, {findings} findings");
    report.limit("lint", took, LINT_SECONDS_MAX, &how);
    Ok(())
}

fn replay(report: &mut Report, options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("trace.jsonl");
    let txns = if options.quick { TXNS_QUICK } else { TXNS };
    write_trace(&path, txns)?;
    let bytes = fs::metadata(&path)?.len();
    eprintln!("  a trace of {txns} transactions has {} MiB", bytes >> 20);
    let watch = Stopwatch::start();
    let mut reader = Reader::new(BufReader::new(File::open(&path)?)).map_err(wrong)?;
    let advice = advise_on(&mut reader, "events", &Advised::default()).map_err(wrong)?;
    let took = watch.elapsed().as_secs_f64();
    eprint!("{}", advice.text());
    let keys = advice.keys.len();
    report.must(
        "advise_keys",
        keys >= KEYS_MIN,
        &format!("{keys} keys were replayed"),
    );
    let how = format!("seconds from a file of {txns} transactions to advice");
    report.limit("advise", took, REPLAY_SECONDS_MAX, &how);
    let how = "GiB of memory at most";
    report.limit("advise_memory", most_memory_gib(), REPLAY_GIB_MAX, how);
    Ok(())
}

fn wrong(error: advisor::Error) -> Error {
    Error::Wrong(error.to_string())
}

/// The most memory that this process ever had; nothing where the system does not tell.
fn most_memory_gib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0 / 1024.0
}

/// An hour of events by time and user: seven inserts, two reads of a user's latest, one by key.
fn write_trace(path: &Path, txns: u64) -> Result<()> {
    const USERS: u64 = 20_000;
    let header = Header {
        made_by: "bench".to_owned(),
        from_us: 1_704_067_200_000_000,
        to_us: 1_704_067_200_000_000 + HOUR_US,
        transactions_seen: txns,
        transactions_kept: txns,
    };
    let mut writer = Writer::new(BufWriter::new(File::create(path)?), &header)?;
    let (table, statements) = shapes(txns);
    writer.table(&table)?;
    for statement in &statements {
        writer.statement(statement)?;
    }
    let random = SeededRandom::new(5);
    let mut last = Vec::new();
    // The last ten minutes of an hour.
    let rows = txns * 8 * 7 / 10 / 6;
    for number in 0..txns {
        let at_us = number * HOUR_US / txns;
        let stamp = i64::try_from(header.from_us + at_us).unwrap_or(i64::MAX);
        // Low numbers come more often.
        let user = random.below(random.below(USERS) + 1);
        let key = vec![(0, Value::Timestamp(stamp)), (1, Value::Uint64(user))];
        let op = match number % 10 {
            7 | 8 => Op {
                statement: 2,
                eq: vec![(1, vec![Value::Uint64(user)])],
                low: vec![(0, Value::Timestamp(stamp - 600_000_000))],
                found: Some(10),
                rows_read: Some(rows),
                busy_us: Some(20 + rows / 10),
                ..Op::default()
            },
            9 => Op {
                statement: 3,
                eq: std::mem::take(&mut last),
                found: Some(1),
                rows_read: Some(1),
                busy_us: Some(15),
                ..Op::default()
            },
            _ => {
                last = key
                    .iter()
                    .map(|(column, value)| (*column, vec![value.clone()]))
                    .collect();
                Op {
                    statement: 1,
                    rows: vec![key],
                    busy_us: Some(40),
                    ..Op::default()
                }
            }
        };
        writer.txn(&Txn {
            at_us,
            weight: 8.0,
            ops: vec![op],
        })?;
    }
    writer.finish()?;
    Ok(())
}

fn shapes(txns: u64) -> (Table, [Statement; 3]) {
    let column = |name: &str, kind| Column {
        name: name.to_owned(),
        kind,
        not_null: true,
        generated: None,
        counted: false,
    };
    let table = Table {
        id: 1,
        name: "events".to_owned(),
        columns: vec![
            column("ts", Type::Timestamp),
            column("userid", Type::Uint64),
            column("body", Type::Utf8),
        ],
        key: vec!["ts".to_owned(), "userid".to_owned()],
        rows: txns * 8,
        bytes: txns * 8 * 300,
        partitions: 1,
        check_interval_s: 5,
        ..Table::default()
    };
    let statement = |id, text: &str, kind| Statement {
        id,
        fingerprint: format!("{id:016x}"),
        text: text.to_owned(),
        table: 1,
        kind,
    };
    let statements = [
        statement(1, "INSERT INTO events VALUES ($1, $2, $3)", Kind::Insert),
        statement(
            2,
            "SELECT * FROM events WHERE userid = $1 AND ts > $2",
            Kind::Read,
        ),
        statement(
            3,
            "SELECT * FROM events WHERE ts = $1 AND userid = $2",
            Kind::Read,
        ),
    ];
    (table, statements)
}
