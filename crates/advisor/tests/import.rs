//! Logs of other databases in `golden/import`, and the traces that are made of them.

#![cfg(test)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use advisor::advise::{Options, advise};
use advisor::import::{Format, Imported, import, tables};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/import")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

fn imported(format: Format, schema: &str, log: &str) -> (Imported, Vec<String>) {
    let (tables, complaints) = tables(schema, None);
    (import(format, log.as_bytes(), tables).unwrap(), complaints)
}

/// The trace, and what was said about the text.
fn told((imported, complaints): &(Imported, Vec<String>)) -> String {
    let mut told = Vec::new();
    imported.trace.write(&mut told).unwrap();
    let mut told = String::from_utf8(told).unwrap();
    for complaint in complaints {
        writeln!(told, "# {complaint}").unwrap();
    }
    let report = &imported.report;
    writeln!(
        told,
        "# {} lines, {} statements, {} elsewhere, {} unfinished, {} not understood",
        report.lines, report.statements, report.elsewhere, report.unfinished, report.flaws
    )
    .unwrap();
    for flaw in &report.first {
        writeln!(told, "# line {}: {}", flaw.line, flaw.reason).unwrap();
    }
    told
}

#[test]
fn logs_become_the_golden_traces() {
    let cases = [
        (Format::Csvlog, "postgres.sql", "csvlog.csv"),
        (Format::Jsonlog, "postgres.sql", "jsonlog.json"),
        (Format::Mysql, "mysql.sql", "mysql.log"),
        (Format::Mysql, "mysql.sql", "tidb.log"),
        (
            Format::PgStatStatements,
            "postgres.sql",
            "pg_stat_statements.csv",
        ),
    ];
    for (format, schema, log) in cases {
        let told = told(&imported(format, &read(schema), &read(log)));
        let path = folder().join(format!("{log}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &told).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(told, expected, "{log}");
    }
}

#[test]
fn what_is_imported_reads_back() {
    let (imported, _) = imported(Format::Csvlog, &read("postgres.sql"), &read("csvlog.csv"));
    let mut text = Vec::new();
    imported.trace.write(&mut text).unwrap();
    let again = advisor::trace::Trace::read(text.as_slice()).unwrap();
    assert_eq!(again.txns, imported.trace.txns);
    assert_eq!(again.flaws, Default::default());
}

#[test]
fn a_log_of_inserts_by_now_and_reads_by_user_gives_the_key_by_user() {
    let schema = "CREATE TABLE events (at timestamptz NOT NULL DEFAULT now(), userid bigint NOT NULL, \
                  what text, PRIMARY KEY (at, userid));";
    let mut log = String::new();
    for turn in 0..1500_u64 {
        let user = turn * turn % 101;
        let text = match turn % 3 {
            0 => format!("INSERT INTO events VALUES (now(), {user}, 'in')"),
            1 => format!("INSERT INTO events (userid) VALUES ({user})"),
            _ => format!("SELECT * FROM events WHERE userid = {user} ORDER BY at DESC LIMIT 10"),
        };
        let seconds = turn / 10;
        writeln!(
            log,
            "{{\"timestamp\":\"2024-05-01 12:{:02}:{:02}.{}00 UTC\",\"session_id\":\"a\",\
             \"error_severity\":\"LOG\",\"message\":\"duration: 0.2 ms  statement: {text}\"}}",
            seconds / 60,
            seconds % 60,
            turn % 10
        )
        .unwrap();
    }
    let (imported, _) = imported(Format::Jsonlog, schema, &log);
    assert_eq!(imported.report.flaws, 0, "{:?}", imported.report);
    let advice = advise(&imported.trace, "events", &Options::default()).unwrap();
    let best = advice.best().next().unwrap();
    assert_eq!(best.name, "(userid, at)", "{}", advice.text());
    // Nobody said how many rows were found: as many as there are of a user, up to the limit.
    let rows = best.figures.per_read.rows;
    assert!((1.0..=10.0).contains(&rows), "{rows}");
}

#[test]
fn calls_beyond_fifty_weigh_more_and_spread_over_the_hour() {
    let log = "query,calls\n\"SELECT state FROM orders WHERE id = $1\",100000\n";
    let (imported, _) = imported(Format::PgStatStatements, &read("postgres.sql"), log);
    let txns = &imported.trace.txns;
    assert_eq!(txns.len(), 50);
    assert!(txns.iter().all(|txn| txn.weight == 2000.0));
    assert_eq!(imported.trace.header.transactions_seen, 100_000);
    let hour_us = 3_600_000_000;
    let length_us = imported.trace.header.to_us - imported.trace.header.from_us;
    assert!((hour_us * 9 / 10..hour_us).contains(&length_us));
}

#[test]
fn a_text_of_another_form_is_named() {
    let (tables, _) = tables(&read("postgres.sql"), None);
    let log = "a,b\n1,2\n".as_bytes();
    let error = import(Format::PgStatStatements, log, tables.clone()).unwrap_err();
    assert!(error.to_string().contains("query and calls"), "{error}");
    for format in [Format::Csvlog, Format::Jsonlog, Format::Mysql] {
        let imported = import(format, "a,b\n1,2\n".as_bytes(), tables.clone()).unwrap();
        assert!(imported.report.flaws > 0, "{format:?}");
        assert_eq!(imported.trace.txns, []);
    }
}
