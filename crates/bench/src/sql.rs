//! The SQL bench: the server beside PostgreSQL, through the same client, in the same run.
//!
//! ```text
//!                       ┌── loopback ──► evenkeel serve     one process
//!   pgbench, psql ──────┤
//!                       └── loopback ──► postgres           one process for each connection
//!
//!   round        1                   2                   3
//!   order     ours theirs        theirs ours        ours theirs
//!             └ before each turn: wait until neither server works in the background
//! ```
//!
//! Lines with `_simple` send statements as text with the values written in it, the others prepare them.
//!
//! Both are durable: a commit that was acknowledged is on the disk. Both start with an empty
//! directory on the same disk and are given the same rows. Ours is serializable and PostgreSQL runs
//! as most people run it, at read committed; transactions that are told to try again do so within
//! pgbench, and count once.
//!
//! Each comparison is one line: `RATIO <name> <ours over PostgreSQL's>`, the median of what the rounds
//! say, because the machine may be a fifth slower in the next; the least that is accepted, and both figures with the processor time of the server for each transaction. A line below its
//! floor, or a part that could not be run, makes the whole run end with exit code 1; the other parts
//! run all the same. Where there is little of the machine left for the servers, because pgbench
//! takes a core of two, the processor time tells more than the rate.

pub(crate) mod client;
mod parts;
pub(crate) mod process;
pub(crate) mod server;
mod tables;
mod turns;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use server::Server;

use crate::measure::Report;
use crate::options::Options;
use crate::{Error, Result};

/// What the list of benches says.
pub(crate) const ABOUT: &str =
    "the server beside PostgreSQL, by pgbench [--quick] [--only PART] [--server PATH]";

/// What ours may hold at its peak.
const MEMORY_MIB_MAX: f64 = 1_024.0;

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Rows of the table that points and ranges are read from.
    rows: u32,
    /// Rows that are copied in and scanned.
    copy_rows: u32,
    /// pgbench's own scale: 100,000 accounts each.
    tpcb_scale: u32,
    /// Rounds of a load by pgbench.
    rounds: u32,
    /// How long a turn of it takes.
    seconds: u32,
    /// Rounds of a piece of work that takes as long as it takes.
    works: u32,
}

const FULL: Scale = Scale {
    rows: 1_000_000,
    copy_rows: 2_000_000,
    tpcb_scale: 10,
    rounds: 9,
    seconds: 2,
    works: 3,
};

const QUICK: Scale = Scale {
    rows: 20_000,
    copy_rows: 50_000,
    tpcb_scale: 1,
    rounds: 1,
    seconds: 2,
    works: 1,
};

/// The two servers, and where files for both may lie.
struct Arena<'a> {
    ours: Server,
    theirs: Server,
    dir: &'a Path,
    scale: Scale,
}

/// Runs the bench, and answers whether every floor was held.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let options = Options::read(arguments)?;
    if !options.server.exists() {
        let path = options.server.display();
        return Err(Error::Usage(format!(
            "there is no server at {path}; build it, or name it with --server PATH"
        )));
    }
    let chosen = options.chosen(parts::PARTS, |part| part.name)?;
    let dir = tempfile::Builder::new().prefix("bench-sql-").tempdir()?;
    // PostgreSQL refuses to run as root and so may run as somebody else.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
    let mut arena = Arena {
        ours: Server::ours(&options.server, dir.path())?,
        theirs: Server::postgresql(dir.path())?,
        dir: dir.path(),
        scale: if options.quick { QUICK } else { FULL },
    };
    let mut report = Report::default();
    introduce(&report, &arena)?;
    for part in chosen {
        eprintln!("{}", part.name);
        if let Err(error) = (part.run)(&mut report, &mut arena) {
            report.broken(part.name, &error);
        }
    }
    judge_memory(&mut report, &mut arena);
    if report.passed() {
        report.say("every floor is held");
    } else {
        report.say(&format!("missed: {}", report.missed().join(", ")));
    }
    Ok(report.passed())
}

fn introduce(report: &Report, arena: &Arena<'_>) -> Result<()> {
    let Scale {
        rows,
        copy_rows,
        tpcb_scale,
        rounds,
        seconds,
        works: _,
    } = arena.scale;
    let version = client::ask(&arena.theirs, "SHOW server_version")?;
    report.say(&format!("evenkeel:   {}", arena.ours.settings));
    report.say(&format!("postgresql: {version}, {}", arena.theirs.settings));
    report.say(&format!(
        "scale:      {rows} rows, {copy_rows} rows copied, tpcb at scale {tpcb_scale}, \
         medians of {rounds} rounds, turns of {seconds} s"
    ));
    Ok(())
}

fn judge_memory(report: &mut Report, arena: &mut Arena<'_>) {
    arena.theirs.note_memory();
    arena.ours.note_memory();
    let (ours, theirs) = (arena.ours.memory_mib(), arena.theirs.memory_mib());
    let how = "shared buffers in use and what each process has for itself, sampled";
    report.say(&format!("MEMORY postgresql {theirs:.1}   MiB: {how}"));
    let how = "MiB that it held at its peak";
    report.limit("MEMORY evenkeel", ours, MEMORY_MIB_MAX, how);
}
