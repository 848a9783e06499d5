//! Sixteen writers whose commits survive a crash, and the proof that they do.
//!
//! Raw fjall syncs once for each commit, one after another. Ours gathers the commits that arrive
//! during a sync into one batch, and acknowledges them all after the next one. That would be easy to
//! win by not syncing at all, so the system calls are watched from outside: a child process commits
//! under `strace`, looks for a file that is not there before each commit, and each of these marks has to
//! be followed by a sync of the journal before the next. Syncs of other files do not count; a difference
//! of two counts, as it was taken before, hides one where opening takes another number of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use db::Durability;
use fjall::PersistMode;

use super::ours::{self, Ours};
use super::raw::{self, Raw};
use super::rows;
use crate::measure::{Duel, Report, Stopwatch, alternate, drain, per_second};
use crate::{Error, Result};

pub(crate) const WRITERS: u32 = 16;

/// The name under which the bench starts itself to be watched.
pub(crate) const CHILD: &str = "child-commit";

/// How long the writers of a round go on.
const SPAN: Duration = Duration::from_secs(1);

/// A file that is never there.
const MARK: &str = "/evenkeel-commits-next";

/// Commits of each writer that are watched.
const WATCHED_COMMITS: u32 = 100;

/// Both sides in turns.
pub(crate) fn duel(ours: &Ours, raw: &Raw, rows: u32, rounds: u32) -> Result<Duel> {
    let ours_commit = |number: u32| ours.write(&ours::build(&[number]), Durability::Synced);
    let raw_commit = |number: u32| raw.write(raw::encode(&[number])?, PersistMode::SyncData);
    drain();
    alternate(
        "durable_commit_16_writers",
        rounds,
        |round| commits_per_second(rows, round, &ours_commit),
        |round| commits_per_second(rows, round, &raw_commit),
    )
}

/// Sixteen threads that commit one row after another, until the time is over.
fn commits_per_second(
    rows: u32,
    round: u32,
    commit: &(impl Fn(u32) -> Result<()> + Sync),
) -> Result<f64> {
    let watch = Stopwatch::start();
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let write = |writer: u32| {
            let (watch, done) = (&watch, &done);
            move || -> Result<()> {
                for number in rows::draw(round * WRITERS + writer, rows) {
                    if watch.elapsed() >= SPAN {
                        break;
                    }
                    commit(number)?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }
        };
        let writers: Vec<_> = (0..WRITERS).map(|w| scope.spawn(write(w))).collect();
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().expect("a writer that panicked said why"))
    })?;
    Ok(per_second(done.into_inner(), watch.elapsed()))
}

/// What the watched child does: each writer commits durably as often as told.
pub(crate) fn run_child(arguments: &[String]) -> Result<()> {
    let [path, writers, commits] = arguments else {
        return Err(Error::Usage(format!("{CHILD} PATH WRITERS COMMITS")));
    };
    let number = |text: &String| {
        text.parse::<u32>()
            .map_err(|error| Error::Usage(format!("`{text}`: {error}")))
    };
    let (writers, commits) = (number(writers)?, number(commits)?);
    let ours = Ours::open(Path::new(path))?;
    std::thread::scope(|scope| {
        let write = |writer: u32| {
            let ours = &ours;
            move || -> Result<()> {
                for commit in 0..commits {
                    // Nothing is there; the look is the mark.
                    let _ = fs::metadata(MARK);
                    let row = ours::build(&[writer * commits + commit]);
                    ours.write(&row, Durability::Synced)?;
                }
                let _ = fs::metadata(MARK);
                Ok(())
            }
        };
        let threads: Vec<_> = (0..writers).map(|w| scope.spawn(write(w))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a writer that panicked said why"))
    })
}

/// Counts the syncs behind durable commits, where `strace` is there to do it.
pub(crate) fn prove_syncs(report: &mut Report, dir: &Path) -> Result<()> {
    let version = Command::new("strace").arg("-V").output();
    if !version.is_ok_and(|output| output.status.success()) {
        report.say("durable_commit_proof       skipped: strace is not installed");
        return Ok(());
    }
    // The first run makes the table.
    watched(dir, 0, 0)?;
    let (Some(alone), Some(many)) = (
        watched(dir, 1, WATCHED_COMMITS)?,
        watched(dir, WRITERS, WATCHED_COMMITS)?,
    ) else {
        report.say("durable_commit_proof       skipped: strace may not watch processes here");
        return Ok(());
    };
    let how = format!(
        "strace sees fdatasync and fsync of the journal: 1 writer, {WATCHED_COMMITS} commits, {} of \
         them with a sync of their own; {WRITERS} writers, {} commits, {} syncs",
        alone.covered,
        WRITERS * WATCHED_COMMITS,
        many.syncs
    );
    // No group is larger than the number of writers, so fewer syncs than this would be a lie.
    let enough = alone.covered == WATCHED_COMMITS && many.syncs >= WATCHED_COMMITS;
    report.must("durable_commit_proof", enough, &how);
    Ok(())
}

/// What was seen of a child.
#[derive(Debug, Default)]
struct Seen {
    /// Syncs of the journal.
    syncs: u32,
    /// Marks that a sync of the journal was seen before, since the mark before them.
    covered: u32,
}

/// What a child does; `None` if it could not be watched.
fn watched(dir: &Path, writers: u32, commits: u32) -> Result<Option<Seen>> {
    let trace = dir.join("strace.txt");
    let status = Command::new("strace")
        .args(["-f", "-y", "-qq", "-e", "trace=fdatasync,fsync,statx,stat"])
        .arg("-o")
        .arg(&trace)
        .arg(std::env::current_exe()?)
        .arg(CHILD)
        .arg(dir.join("proof"))
        .args([writers.to_string(), commits.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Ok(None);
    }
    let (mut seen, mut begun, mut synced) = (Seen::default(), false, false);
    // A call that another thread interrupts is shown in two lines; the second one says `resumed`.
    let calls = fs::read_to_string(&trace)?;
    for call in calls.lines().filter(|line| !line.contains("resumed")) {
        if call.contains(MARK) {
            seen.covered += u32::from(synced);
            (begun, synced) = (true, false);
        } else if call.contains("sync(") && call.contains(".jnl>") {
            seen.syncs += 1;
            // What comes before the first mark made the table, and after the last one closed it.
            synced = begun;
        }
    }
    Ok(Some(seen))
}
