//! A whole database run from one seed, with faults, against a model.
//!
//! One seed is one history: every choice, the clock and the faults come from it, in one thread, so a
//! failure is replayed by its seed.
//!
//! ```text
//!   seed ─► chance ─┬─► actions     begin, get, scan, write, savepoint, commit …  up to 7 at a time
//!                   ├─► loads       many new rows at once
//!                   ├─► upheaval    split, merge, collect, count; faults, crashes, coming back
//!                   └─► doom        coordinators that die, engines that crash within a commit
//!                            │
//!              db::Database ─┴─ model     every answer must be one that the model explains
//!                   │               └─── history   … and the transactions serializable
//!                 ground     media that outlive the process: memory, or a directory
//! ```
//!
//! # What is checked
//! - **Reads.** Every row that a get or a scan finds, and every place a scan passes, is what the model
//!   has at the snapshot, under the transaction's own writes. A fresh snapshot sees all commits that
//!   were acknowledged.
//! - **Commits.** What a transaction read was still true at its timestamp, timestamps rise, and the
//!   graph of dependencies of each life has no cycle (`history.rs`).
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
//! Threads: commits come one by one, so groups have one member. The crate `torture`, which kills a real
//! server under many clients, is for that.

mod actions;
mod actor;
mod chance;
mod checks;
mod coverage;
mod disk;
mod doom;
mod error;
mod ground;
mod history;
mod loads;
mod log;
mod model;
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
const STEPS: u64 = 700;

/// How many on disk, where each takes longer.
const DISK_STEPS: u64 = 300;

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
