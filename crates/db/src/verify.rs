//! ADVISE TABLE … VERIFY: a key that was advised is tried out, and what was predicted stands beside what
//! was measured.
//!
//! ```text
//!   trace ─► advice ─► one of its keys ─► CREATE TABLE ──► a scratch database of its own
//!                                                           │  rows of the live table, as they came
//!   transactions of the trace, on a clock that they move ──►│  executors, commits, partitions,
//!                                                           │  the control loop: all of it real
//!                            what reads and commits touched ◄┘  where the time went
//! ```
//!
//! An hour is replayed in a minute, so the clock is the trace's: it stands still while a transaction
//! runs, and the control loop sees as much time pass as there was. What is measured as time is real,
//! multiplied so that the whole makes the load that the key was judged at: a recorded transaction stands
//! for many, and each of those would have taken as long.
//!
//! The scratch database lies in a folder of its own below the data directory and goes when this is done,
//! or at the next start. Nothing of the live tables is changed, and looking at their rows warms nobody.
//!
//! Rows that came while the trace was recorded, and that are not in it because they had no turn, arrive
//! in the scratch table when they did in the live one, so that tables grow as they did.

mod client;
mod figures;
mod replay;
mod sample;
mod scratch;
mod statements;
mod work;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use advisor::advise::{Advice, Judged};
use keys::Value;
use sql::Catalog;
use syntax::statement::Verify;
use txn::Store;

use crate::advice::Advices;
use crate::errands::GivenUp;
use crate::policy::Policies;
use crate::record::{Ground, Recorder};
use crate::{Error, Kind, Result};

use self::figures::Outcome;
pub(crate) use self::figures::columns;
use self::sample::Sample;
use self::scratch::Scratch;
pub(crate) use self::scratch::sweep;
use self::work::Work;

/// Where a split falls is a matter of chance, so the work is done with several draws, as the advisor does:
/// with so few at least, and with more as long as that is soon done.
const RUNS_MIN: u32 = 3;
const RUNS_MAX: u32 = 8;
const SOON: Duration = Duration::from_secs(15);
/// The first draw.
const SEED: u64 = 7;

/// Why a key cannot be tried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    #[error(
        "the advice on table {table} has {known} keys, and none of rank {rank}: ADVISE TABLE shows them"
    )]
    NoSuchRank {
        table: String,
        rank: u64,
        known: usize,
    },
    #[error("the advice on table {table} has no key {key}; it has {}", known.join(", "))]
    NoSuchKey {
        table: String,
        key: String,
        known: Vec<String>,
    },
    #[error("cannot make a scratch database in {}: {reason}: see to it that there is room", path.display())]
    Scratch { path: PathBuf, reason: String },
    #[error(
        "trying out {key} takes more than {seconds} seconds: {done} of {all} transactions were run. \
         Try another key, or record less (record_size_mb)"
    )]
    TooSlow {
        key: String,
        seconds: u64,
        done: usize,
        all: usize,
    },
    #[error("the statement was cancelled")]
    GivenUp,
}

impl VerifyError {
    pub(crate) fn sqlstate(&self) -> &'static str {
        match self {
            Self::NoSuchRank { .. } | Self::NoSuchKey { .. } => "22023",
            Self::Scratch { .. } => "53100",
            Self::TooSlow { .. } => "54000",
            Self::GivenUp => "57014",
        }
    }
}

impl From<VerifyError> for Error {
    fn from(error: VerifyError) -> Self {
        let kind = match error {
            VerifyError::Scratch { .. } | VerifyError::GivenUp => Kind::Unavailable,
            _ => Kind::Invalid,
        };
        Self::new(kind, error)
    }
}

/// What it takes to try out a key of a table.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) store: Arc<Store>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policy: Arc<Policies>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) advices: Arc<Advices>,
    /// Where scratch databases are made; in memory without it.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) table: String,
    pub(crate) key: Verify,
}

impl Trial {
    /// Advises anew, tries the key out, and answers with a row for each figure.
    pub(crate) async fn run(self, given_up: GivenUp) -> Result<Vec<Vec<Value>>> {
        let ground = Ground {
            store: &self.store,
            catalog: &self.catalog,
            policy: &self.policy,
        };
        let before = self.advices.name_at(&self.table, &self.key);
        let (advice, lines) = self.advices.judge(&self.recorder, ground, &self.table)?;
        let judged = self.chosen(&advice, before)?;
        let live = self.catalog.get(&self.table)?;
        let work = Work::read(&lines, &advice)?;
        drop(lines);
        let sample = Sample::of(&self.store, &live, &work)?;
        let mut measured = replay::Measured::default();
        let began = self.store.monotonic();
        for run in 0..RUNS_MAX {
            let took = self.store.monotonic().saturating_sub(began);
            if run >= RUNS_MIN && took + took / run > SOON {
                break;
            }
            let seed = SEED + u64::from(run);
            let scratch = self.scratch(&advice, judged, seed).await?;
            let limit = replay::Limit {
                live: Arc::clone(&self.store),
                parts: RUNS_MIN,
                given_up: given_up.clone(),
            };
            let run = replay::Run::new(scratch, &work, judged, limit)?;
            measured.add(run.measure(&sample).await?);
        }
        let outcome = Outcome {
            advice: &advice,
            judged,
            work: &work,
            sample: &sample,
            measured: &measured,
        };
        Ok(outcome.rows())
    }

    fn chosen<'a>(&self, advice: &'a Advice, before: Option<String>) -> Result<&'a Judged> {
        let named = |name: &str| advice.keys.iter().find(|judged| judged.name == name);
        let found = match (&self.key, before) {
            (Verify::Best, _) => {
                let better = advice.best().find(|judged| !judged.is_current);
                better.or_else(|| advice.best().next())
            }
            (Verify::Rank(rank), None) => {
                let place = usize::try_from(*rank)
                    .ok()
                    .and_then(|one| one.checked_sub(1));
                place.and_then(|place| advice.keys.get(place))
            }
            (Verify::Rank(_), Some(name)) => named(&name),
            (Verify::Key(key), _) => named(key),
        };
        let missing = || match &self.key {
            Verify::Key(key) => VerifyError::NoSuchKey {
                table: self.table.clone(),
                key: key.clone(),
                known: advice.keys.iter().map(|one| one.name.clone()).collect(),
            },
            Verify::Best => VerifyError::NoSuchRank {
                table: self.table.clone(),
                rank: 1,
                known: 0,
            },
            Verify::Rank(rank) => VerifyError::NoSuchRank {
                table: self.table.clone(),
                rank: *rank,
                known: advice.keys.len(),
            },
        };
        Ok(found.ok_or_else(missing)?)
    }

    async fn scratch(&self, advice: &Advice, judged: &Judged, seed: u64) -> Result<Scratch> {
        let weight = advice.txns_weight / replay::as_float(advice.txns.max(1));
        let looks = scratch::Looks {
            seed,
            one_in: replay::sampled_one_in(weight * judged.figures.load),
        };
        let scratch = Scratch::open(&self.store, self.folder.as_deref(), &looks)?;
        scratch.follow(&self.policy.get())?;
        scratch.define(&judged.ddl.create).await?;
        Ok(scratch)
    }
}
