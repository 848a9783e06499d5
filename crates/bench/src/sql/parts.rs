//! What is compared, and the least that is accepted.

use std::fs;

use super::client::Mode;
use super::turns::{self, Scripts};
use super::{Arena, client, tables};
use crate::measure::Report;
use crate::{Error, Result};

const SELECT_POINT_8_FLOOR: f64 = 1.3;
const SELECT_POINT_32_FLOOR: f64 = 1.7;
const CPU_SELECT_POINT_FLOOR: f64 = 2.0;
const SELECT_RANGE_FLOOR: f64 = 1.5;
const UPDATE_POINT_FLOOR: f64 = 1.8;
const INSERT_FLOOR: f64 = 1.8;
const UPSERT_HASH_KEY_FLOOR: f64 = 1.8;
const COPY_IN_FLOOR: f64 = 1.5;
const SCAN_AGGREGATE_FLOOR: f64 = 2.0;
const TPCB_FLOOR: f64 = 1.2;

const SELECT_POINT: &str =
    "\\set k random(0, :rows - 1)\nSELECT n, note FROM points WHERE k = :k;\n";

const SELECT_RANGE: &str = "\\set k random(0, :rows - 100)\n\
    SELECT k, n, note FROM points WHERE k >= :k ORDER BY k LIMIT 100;\n";

const UPDATE_POINT: &str = "\\set k random(0, :rows - 1)\n\
    UPDATE points SET n = n + 1 WHERE k = :k;\n";

/// Each client counts for itself, in a range of keys that is its own in this round.
const INSERT: &str = "\\set n :n + 1\n\\set k (:round * 1000 + :client_id) * 100000000 + :n\n\
    INSERT INTO inserted (k, n, kind, note) VALUES (:k, :n, 1, 'a note of some length');\n";

const UPSERT_OURS: &str = "\\set u random(1, 100000)\n\\set at random(1, 100)\n\
    UPSERT INTO events (userhash, userid, at, userevent) \
    VALUES (Digest::NumericHash(:u), :u, :at, 'an event of some length');\n";

const UPSERT_THEIRS: &str = "\\set u random(1, 100000)\n\\set at random(1, 100)\n\
    INSERT INTO events (userhash, userid, at, userevent) \
    VALUES (hashint8(:u), :u, :at, 'an event of some length') \
    ON CONFLICT (userhash, userid, at) DO UPDATE SET userevent = EXCLUDED.userevent;\n";

const SCAN: &str = "SELECT kind, count(*), sum(n), avg(n), max(note) FROM copied GROUP BY kind;\n";

/// Something that can be run by itself.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Report, &mut Arena<'_>) -> Result<()>,
}

/// All of them.
pub(crate) const PARTS: &[Part] = &[
    Part {
        name: "points",
        run: points,
    },
    Part {
        name: "insert_32",
        run: insert,
    },
    Part {
        name: "upsert_hash_key_32",
        run: upsert_hash_key,
    },
    Part {
        name: "copy_in",
        run: copy_in,
    },
    Part {
        name: "scan_aggregate",
        run: scan_aggregate,
    },
    Part {
        name: "tpcb_8",
        run: tpcb,
    },
];

/// Reads and updates by key. One that fails does not keep the others from being measured.
fn points(report: &mut Report, arena: &mut Arena<'_>) -> Result<()> {
    tables::POINTS.fill(arena, arena.scale.rows)?;
    let rows = [
        ("select_point_8", SELECT_POINT, 8, SELECT_POINT_8_FLOOR),
        ("select_point_32", SELECT_POINT, 32, SELECT_POINT_32_FLOOR),
        ("select_range_100_8", SELECT_RANGE, 8, SELECT_RANGE_FLOOR),
        ("update_point_32", UPDATE_POINT, 32, UPDATE_POINT_FLOOR),
    ];
    for (name, script, clients, floor) in rows {
        eprintln!(" {name}");
        let contest = match same_script(arena, name, script, clients) {
            Ok(contest) => contest,
            Err(error) => {
                report.broken(name, &error);
                continue;
            }
        };
        contest.tell(report, name, Some(floor));
        if name == "select_point_32" {
            contest.tell_cpu(report, "cpu_select_point", Some(CPU_SELECT_POINT_FLOOR));
        }
    }
    let path = script(arena, "select_point", SELECT_POINT)?;
    let both: &[&str] = &["-f", &path];
    let scripts = Scripts {
        mode: Mode::Simple,
        ..same(both, 8)
    };
    let contest = turns::pgbench(arena, scripts)?;
    contest.tell(report, "select_point_8_simple", None);
    Ok(())
}

fn insert(report: &mut Report, arena: &mut Arena<'_>) -> Result<()> {
    tables::INSERTED.make_both(arena)?;
    let contest = same_script(arena, "insert_32", INSERT, 32)?;
    contest.tell(report, "insert_32", Some(INSERT_FLOOR));
    Ok(())
}

fn upsert_hash_key(report: &mut Report, arena: &mut Arena<'_>) -> Result<()> {
    tables::EVENTS.make_both(arena)?;
    let ours = script(arena, "upsert-ours", UPSERT_OURS)?;
    let theirs = script(arena, "upsert-theirs", UPSERT_THEIRS)?;
    let scripts = Scripts {
        ours: &["-f", &ours],
        theirs: &["-f", &theirs],
        clients: 32,
        mode: Mode::Prepared,
        isolation: None,
    };
    let contest = turns::pgbench(arena, scripts)?;
    contest.tell(report, "upsert_hash_key_32", Some(UPSERT_HASH_KEY_FLOOR));
    Ok(())
}

fn copy_in(report: &mut Report, arena: &mut Arena<'_>) -> Result<()> {
    let table = tables::COPIED;
    let rows = arena.scale.copy_rows;
    let lines = tables::lines(arena.dir, rows)?;
    let contest = turns::work(
        arena,
        rows,
        |server| table.make(server),
        |server| client::feed(server, &lines, Some(&table.copy())),
    )?;
    table.compare(arena, rows)?;
    contest.tell(report, "copy_in", Some(COPY_IN_FLOOR));
    Ok(())
}

fn scan_aggregate(report: &mut Report, arena: &mut Arena<'_>) -> Result<()> {
    tables::COPIED.fill(arena, arena.scale.copy_rows)?;
    let contest = same_script(arena, "scan", SCAN, 1)?;
    contest.tell(report, "scan_aggregate", Some(SCAN_AGGREGATE_FLOOR));
    Ok(())
}

/// pgbench's own transaction. Money moves between accounts, tellers and branches, of which there
/// are few: a tenth of the transactions meet at each branch.
fn tpcb(report: &mut Report, arena: &mut Arena<'_>) -> Result<()> {
    for server in [&arena.ours, &arena.theirs] {
        client::pgbench_tables(server, arena.scale.tpcb_scale)?;
    }
    turns::settle(arena);
    let (plain, serializable) = (None, Some("serializable"));
    let rows = [
        ("tpcb_8", Mode::Prepared, plain, Some(TPCB_FLOOR)),
        ("tpcb_8_simple", Mode::Simple, plain, None),
        (
            "tpcb_8_both_serializable",
            Mode::Prepared,
            serializable,
            None,
        ),
    ];
    for (name, mode, isolation, floor) in rows {
        eprintln!(" {name}");
        let scripts = Scripts {
            mode,
            isolation,
            ..same(&["-b", "tpcb-like"], 8)
        };
        let contest = turns::pgbench(arena, scripts)?;
        contest.tell(report, name, floor);
    }
    report.say("  (tpcb_8: PostgreSQL at read committed, ours serializable)");
    [&arena.ours, &arena.theirs]
        .into_iter()
        .try_for_each(check_sums)
}

/// No money was made or lost.
fn check_sums(server: &super::Server) -> Result<()> {
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts), \
        (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(bbalance) FROM pgbench_branches), \
        (SELECT sum(delta) FROM pgbench_history)";
    let answer = client::ask(server, sums)?;
    let mut sums = answer.split('|');
    let first = sums.next();
    if first.is_some_and(|first| !first.is_empty()) && sums.all(|sum| Some(sum) == first) {
        return Ok(());
    }
    Err(Error::Wrong(format!(
        "{}: {answer} should be all the same",
        server.name
    )))
}

fn same_script(
    arena: &mut Arena<'_>,
    name: &str,
    text: &str,
    clients: u32,
) -> Result<turns::Contest> {
    let path = script(arena, name, text)?;
    turns::pgbench(arena, same(&["-f", &path], clients))
}

/// The same for both, prepared.
fn same<'s>(script: &'s [&'s str], clients: u32) -> Scripts<'s> {
    Scripts {
        ours: script,
        theirs: script,
        clients,
        mode: Mode::Prepared,
        isolation: None,
    }
}

/// Writes a script where pgbench finds it.
fn script(arena: &Arena<'_>, name: &str, text: &str) -> Result<String> {
    let path = arena.dir.join(format!("{name}.sql"));
    fs::write(&path, text)?;
    Ok(path.to_string_lossy().into_owned())
}
