//! A whole database run from one seed, with faults, against a model.
//!
//! One seed is one history: every choice, the clock and the faults come from it, in one thread, so a
//! failure is replayed by its seed. What waits for others, commits in line and row locks, are futures
//! that the simulator polls when the seed says so; it drives the line of commits itself.
//!
//! ```text
//!   seed ─► chance ─┬─► actions     begin, get, write, patch, savepoint …  up to 7 at a time
//!                   ├─► scans       row by row, or several rows at once, over cached pages
//!                   ├─► row_locks   wait, give up, go on at a later snapshot
//!                   ├─► foreign     children that need their parents
//!                   ├─► commits     stand in line, lead or be led, in groups
//!                   ├─► loads       many new rows at once
//!                   ├─► upheaval    split, merge, collect, count; faults, crashes of one engine
//!                   ├─► restarts    crashes of the whole, clocks that go back, coming back
//!                   └─► doom        coordinators that die, engines that crash within a commit
//!                            │
//!              db::Database ─┴─ model     every answer must be one that the model explains
//!                   │               └─── history   … and the transactions serializable
//!                 ground     media that outlive the process: memory, or a directory
//! ```
//!
//! # What is checked
//! - **Reads.** Every row that a get, a scan or a visit finds, and every place one passes, is what the
//!   model has at the snapshot, under the transaction's own writes and patches. A fresh snapshot sees
//!   all commits that were acknowledged.
//! - **Commits.** What a transaction read was still true at its timestamp, what it counted on was
//!   there, timestamps rise wherever the clock goes, and the graph of dependencies of each life has no
//!   cycle (`history.rs`). All that stand in line are written when a leader comes.
//! - **Foreign keys.** No snapshot shows a child without its parent (`foreign.rs`).
//! - **Row locks.** One has a row at a time, who gets it is woken, nobody waits for ever, and a
//!   snapshot that moved forward sees all that was read before as it was (`row_locks.rs`).
//! - **Open outcomes.** Such a commit happened wholly or not at all, the same for everyone (`model.rs`).
//!   One that was refused never shows.
//! - **Crashes.** What was acknowledged as synced is there. Of the buffered commits of one engine a
//!   prefix is there, in the order of their timestamps; a kill without a power failure loses none. A
//!   commit across engines is synced on each of them, so it is there wholly whatever was asked for.
//!   What was read after coming back is durable.
//! - **Partitions.** They tile the table, no engine holds two, and counters that claim to be exact
//!   are. When nobody reads and nothing is wrong, housekeeping leaves no tombstone.
//! - **Errors.** `Unavailable` and `Conflict` need a cause; no other kind ever comes.
//!
//! An engine that crashes alone may lose buffered commits while the database lives on. That is as if
//! somebody had put the older rows back at the moment it is reopened: whoever read what was lost may
//! not commit after that moment.
//!
//! # What is not simulated
//! - **Threads.** Steps come one after another, so nothing happens while a call is under way. The
//!   crate `torture`, which kills a real server under many clients, is for that.
//! - **SQL.** Statements, schema changes, indexes and deferred constraints: rows are read and written
//!   through `db::Transaction`, and foreign keys are kept here as SQL keeps them.
//! - **Disks that lie.** A sync that is acknowledged is one; a journal loses an end, never a middle.

mod actions;
mod actor;
mod chance;
mod checks;
mod commits;
mod coverage;
mod disk;
mod doom;
mod edits;
mod error;
mod foreign;
mod ground;
mod history;
mod loads;
mod log;
mod model;
mod restarts;
mod row_locks;
mod scans;
mod tables;
mod upheaval;
mod world;

use std::fmt;
use std::str::FromStr;

pub use coverage::Coverage;
pub use error::Failure;

use error::Checked;
use log::Log;
use world::World;

/// Where partitions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// All in one memory engine.
    Shared,
    /// Each in a memory engine of its own.
    Separate,
    /// All in one engine on disk.
    Disk,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "shared",
            Self::Separate => "separate",
            Self::Disk => "disk",
        })
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "shared" => Ok(Self::Shared),
            "separate" => Ok(Self::Separate),
            "disk" => Ok(Self::Disk),
            other => Err(format!("{other} is no placement: shared, separate or disk")),
        }
    }
}

/// What a simulation that ended well has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What happened.
    pub coverage: Coverage,
    /// A number that two runs share only if all their steps were the same.
    pub digest: u64,
}

/// How many steps a history has.
const STEPS: u64 = 1_200;

/// How many on disk, where each takes longer.
const DISK_STEPS: u64 = 400;

/// Runs the history of a seed.
pub fn run(seed: u64, setting: Setting, verbose: bool) -> Result<Report, Failure> {
    let fail = |what: String, last_steps: String| Failure {
        seed,
        setting,
        what,
        last_steps,
    };
    let mut world = World::new(seed, setting, Log::new(verbose))
        .map_err(|wrong| fail(wrong.to_string(), String::new()))?;
    match live(&mut world, setting) {
        Ok(()) => Ok(Report {
            coverage: world.coverage.clone(),
            digest: world.log.digest(),
        }),
        Err(wrong) => Err(fail(wrong.to_string(), world.log.last_steps())),
    }
}

fn live(world: &mut World, setting: Setting) -> Checked<()> {
    let steps = match setting {
        Setting::Disk => DISK_STEPS,
        Setting::Shared | Setting::Separate => STEPS,
    };
    for _ in 0..steps {
        world.step()?;
    }
    world.finish()
}
