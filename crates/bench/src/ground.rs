//! The ground bench: what our layers cost over the engine by itself, and the few absolute targets.
//!
//! ```text
//!                        ours                                   raw fjall, same settings
//!   point_get            values in, row of values out,          bytes in, bytes out
//!                        a snapshot for each get
//!   scan_rows            all rows as values                     all pairs as bytes
//!   bulk_upsert          transactions of 1,000 new rows,        batches of 1,000 pairs,
//!                        handed to the system, not synced       the same; …_read: a get before each
//!   bulk_overwrite       the same with rows that are there      the same; …_read: a get before each
//!   bulk_load            all rows at once into a new table      the same pairs, sorted before
//!   durable_commit_16    16 threads, one row a commit, synced   16 threads, one pair a batch, synced
//! ```
//!
//! Each line of the table ends with a name and a number: `RATIO <name> <ours over raw>`, or the name
//! of an absolute number. A line with a target says PASS or FAIL before that, and one miss makes the
//! whole run end with exit code 1. Progress is told on the standard error, the table on the standard
//! output.
//!
//! Everything lies in one new directory below the system's directory for temporary files, which
//! `TMPDIR` moves; both sides of a comparison are on the same disk. The full run needs about 4 GB
//! there.

mod durable;
mod hot;
mod load;
mod open;
mod ours;
mod raw;
mod route;
mod rows;
mod split;

use std::path::Path;

use crate::measure::Report;
use crate::{Error, Result};

/// What the list of benches says.
pub(crate) const ABOUT: &str =
    "ours beside raw fjall, opening, routing, splitting [--quick] [--only SECTION]";

const POINT_GET_FLOOR: f64 = 0.5;
const SCAN_ROWS_FLOOR: f64 = 0.5;
const BULK_UPSERT_FLOOR: f64 = 0.5;
const DURABLE_COMMIT_FLOOR: f64 = 3.0;

/// Loads of the whole table on each side.
const LOAD_ROUNDS: u32 = 3;

/// How much is done.
struct Scale {
    /// Rows of about 150 bytes on each side.
    rows: u32,
    /// Rows of about 1 KB in the partition that is split.
    split_rows: u32,
    rounds: u32,
    /// Gets and upserts in a round.
    requests: u32,
    /// Rounds of durable writers: short and many, because disks have moods.
    durable_rounds: u32,
}

const FULL: Scale = Scale {
    rows: 1_000_000,
    split_rows: 1_050_000,
    rounds: 5,
    requests: 200_000,
    durable_rounds: 15,
};

const QUICK: Scale = Scale {
    rows: 100_000,
    split_rows: 100_000,
    rounds: 3,
    requests: 50_000,
    durable_rounds: 5,
};

type Section = fn(&mut Report, &Path, &Scale) -> Result<()>;

const SECTIONS: &[(&str, Section)] = &[
    ("open", |report, dir, _| open::judge(report, dir)),
    ("route", |report, _, _| route::judge(report)),
    ("load", judge_load),
    ("hot", judge_hot),
    ("proof", |report, dir, _| durable::prove_syncs(report, dir)),
    ("split", |report, dir, scale| {
        split::judge(report, dir, scale.split_rows)
    }),
];

/// Runs the bench, and answers whether every target was met.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let mut scale = &FULL;
    let mut only: Option<&String> = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--quick" => scale = &QUICK,
            "--only" => only = Some(rest.next().ok_or_else(no_section)?),
            other => return Err(Error::Usage(format!("unknown option `{other}`"))),
        }
    }
    let chosen = SECTIONS
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| only == name));
    if chosen.clone().count() == 0 {
        return Err(no_section());
    }
    let mut report = Report::default();
    for (name, section) in chosen {
        eprintln!("{name}");
        let dir = tempfile::Builder::new().prefix("bench-ground-").tempdir()?;
        section(&mut report, dir.path(), scale)?;
    }
    if report.passed() {
        report.say("every target is met");
    } else {
        report.say(&format!("missed: {}", report.missed().join(", ")));
    }
    Ok(report.passed())
}

/// Does what the bench asks of processes that it starts; `None` if the name is none of theirs.
pub(crate) fn run_child(name: &str, arguments: &[String]) -> Option<Result<()>> {
    match name {
        durable::CHILD => Some(durable::run_child(arguments)),
        open::CHILD => Some(open::run_child(arguments)),
        _ => None,
    }
}

fn no_section() -> Error {
    let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
    Error::Usage(format!("--only takes one of: {}", names.join(", ")))
}

fn judge_load(report: &mut Report, dir: &Path, scale: &Scale) -> Result<()> {
    for (name, sorted) in [("bulk_load", false), ("bulk_load_sorted", true)] {
        let duel = load::duel(dir, scale.rows, LOAD_ROUNDS, sorted)?;
        report.ratio(name, &duel, None);
    }
    Ok(())
}

fn judge_hot(report: &mut Report, dir: &Path, scale: &Scale) -> Result<()> {
    let Scale {
        rows,
        rounds,
        requests,
        durable_rounds,
        ..
    } = *scale;
    let beside = dir.join("beside");
    let read = hot::load(&beside, "bulk_upsert_read", (rows, LOAD_ROUNDS), true)?;
    report.ratio("bulk_upsert_read", &read, None);
    let (hot, loaded) = hot::Hot::load(dir, rows, LOAD_ROUNDS)?;
    report.ratio("bulk_upsert", &loaded, Some(BULK_UPSERT_FLOOR));
    let duel = hot.point_get(rounds, requests)?;
    report.ratio("point_get", &duel, Some(POINT_GET_FLOOR));
    let duel = hot.scan_rows(rounds)?;
    report.ratio("scan_rows", &duel, Some(SCAN_ROWS_FLOOR));
    let duel = durable::duel(&hot.ours, &hot.raw, rows, durable_rounds)?;
    report.ratio(
        "durable_commit_16_writers",
        &duel,
        Some(DURABLE_COMMIT_FLOOR),
    );
    for (name, read) in [("bulk_overwrite", false), ("bulk_overwrite_read", true)] {
        let duel = hot.bulk_overwrite(rounds, requests, read)?;
        report.ratio(name, &duel, None);
    }
    Ok(())
}
