//! [`Scratch`]: a database that is made to be thrown away, on a clock that a trace moves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::Mutex;
use storage::env::{Clock, SeededRandom};
use storage::{Engine, FjallEngine, FjallOptions, MemoryEngine, MemoryMedium, SharedPlacement};
use txn::Store;

use super::VerifyError;
use crate::policy::Policy;
use crate::{Database, Options, Reply, Result, Session};

/// A database for one trial. Its folder goes with it.
#[derive(Debug)]
pub(super) struct Scratch {
    // Before the folder, so that it is closed when that is removed.
    pub(super) database: Arc<Database>,
    pub(super) clock: Arc<TraceClock>,
    _folder: Option<Folder>,
}

/// How closely it looks at its transactions.
pub(super) struct Looks {
    pub(super) seed: u64,
    pub(super) one_in: u64,
}

#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what a crash left behind.
pub(crate) fn sweep(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            // It takes room and does nothing; the next start tries again.
        }
        _ => {}
    }
}

impl Scratch {
    /// A new one in a folder of its own below `below`, or in memory. Its time is measured by the clock of
    /// the live one.
    pub(super) fn open(live: &Arc<Store>, below: Option<&Path>, looks: &Looks) -> Result<Self> {
        let folder = below.map(|below| below.join(format!("{:016x}", live.random())));
        let clock = Arc::new(TraceClock::new(Arc::clone(live)));
        let placed: Arc<SharedPlacement> = match folder.clone() {
            Some(path) => {
                let failed = |reason: String| VerifyError::Scratch {
                    path: path.clone(),
                    reason,
                };
                fs::create_dir_all(&path).map_err(|error| failed(error.to_string()))?;
                let path = path.clone();
                Arc::new(SharedPlacement::new(
                    move || -> storage::Result<Arc<dyn Engine>> {
                        Ok(Arc::new(FjallEngine::open(&path, FjallOptions::default())?))
                    },
                ))
            }
            None => {
                let medium = MemoryMedium::new();
                Arc::new(SharedPlacement::new(
                    move || -> storage::Result<Arc<dyn Engine>> {
                        Ok(Arc::new(MemoryEngine::open(&medium)))
                    },
                ))
            }
        };
        let folder = folder.map(Folder);
        let mut options = Options::new(placed);
        options.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        options.random = Arc::new(SeededRandom::new(looks.seed));
        options.sampled_one_in = Some(looks.one_in);
        options.background = false;
        Ok(Self {
            database: Arc::new(Database::open_with(options)?),
            clock,
            _folder: folder,
        })
    }

    /// Takes over when partitions are split and merged.
    pub(super) fn follow(&self, policy: &Policy) -> Result<()> {
        let names = Policy::names().filter(|name| name.starts_with("partition_"));
        // Nobody tries out a key to see what happens without splits.
        for name in names.filter(|name| *name != "partition_auto") {
            let value = policy.show(name);
            let store = &self.database.store;
            self.database.policy.set(store, name, value.as_deref())?;
        }
        Ok(())
    }

    /// Runs a statement that makes a table.
    pub(super) async fn define(&self, text: &str) -> Result<()> {
        let mut session = Session::new(Arc::clone(&self.database));
        for statement in session.parse(text)? {
            let prepared = session.prepare(statement, &[]).await?;
            if let Reply::Rows(mut rows) = session.execute(&prepared, &[]).await? {
                while let Some(more) = rows.next().await {
                    more?;
                }
            }
        }
        Ok(())
    }
}

/// A clock that shows the time of a trace, and measures what work takes by the clock of the live database,
/// so many times over.
///
/// A transaction stands for hundreds here. Were it taken for slow because somebody else had the processor
/// for a moment, hundreds would be: so what counts is how long the thread worked.
#[derive(Debug)]
pub(super) struct TraceClock {
    live: Arc<Store>,
    state: Mutex<Shown>,
}

#[derive(Debug)]
struct Shown {
    now_us: u64,
    /// What was measured until the last look, and what a second counts as from there on.
    measured: Duration,
    last: Look,
    times: f64,
}

/// A look at the clock of the live database.
#[derive(Debug)]
struct Look {
    thread: ThreadId,
    worked: Duration,
}

impl Look {
    fn now(live: &Store) -> Self {
        Self {
            thread: thread::current().id(),
            worked: live.worked(),
        }
    }

    /// What was worked since another look. Nothing is timed from one thread to another.
    fn since(&self, earlier: &Self) -> Duration {
        match self.thread == earlier.thread {
            true => self.worked.saturating_sub(earlier.worked),
            false => Duration::ZERO,
        }
    }
}

impl Shown {
    fn look(&mut self, live: &Store) {
        let look = Look::now(live);
        let more = look.since(&self.last).as_secs_f64() * self.times;
        let more = Duration::try_from_secs_f64(more).unwrap_or_default();
        self.measured = self.measured.saturating_add(more);
        self.last = look;
    }
}

impl TraceClock {
    fn new(live: Arc<Store>) -> Self {
        Self {
            state: Mutex::new(Shown {
                now_us: live.now_us(),
                measured: Duration::ZERO,
                last: Look::now(&live),
                times: 0.0,
            }),
            live,
        }
    }

    /// From now on it is `now_us`, and what takes a second counts as so many.
    pub(super) fn set(&self, now_us: u64, times: f64) {
        let mut shown = self.state.lock();
        shown.look(&self.live);
        shown.times = times;
        shown.now_us = now_us;
    }
}

impl Clock for TraceClock {
    fn now_us(&self) -> u64 {
        self.state.lock().now_us
    }

    fn monotonic(&self) -> Duration {
        let mut shown = self.state.lock();
        shown.look(&self.live);
        shown.measured
    }

    fn passed_rows(&self, rows: u64) {
        self.live.passed_rows(rows);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A machine on which others work: of each second that passes this thread has a hundredth.
    #[derive(Debug, Default)]
    struct Crowded {
        worked_ns: AtomicU64,
    }

    impl Clock for Crowded {
        fn now_us(&self) -> u64 {
            self.worked_ns.load(Ordering::SeqCst) / 10
        }

        fn monotonic(&self) -> Duration {
            self.worked() * 100
        }

        fn worked(&self) -> Duration {
            Duration::from_nanos(self.worked_ns.load(Ordering::SeqCst))
        }
    }

    #[test]
    fn other_work_on_the_machine_does_not_disturb_a_trial() {
        let crowded = Arc::new(Crowded::default());
        let medium = MemoryMedium::new();
        let mut options = Options::new(Arc::new(SharedPlacement::new(
            move || -> storage::Result<Arc<dyn Engine>> {
                Ok(Arc::new(MemoryEngine::open(&medium)))
            },
        )));
        options.clock = Arc::clone(&crowded) as Arc<dyn Clock>;
        options.background = false;
        let live = Database::open_with(options).expect("a database in memory opens");
        let looks = Looks { seed: 1, one_in: 1 };
        let scratch = Scratch::open(&live.store, None, &looks).expect("a trial can be made");
        scratch.clock.set(1_000_000, 3.0);
        let store = &scratch.database.store;
        let (shown, begun) = (store.now_us(), store.monotonic());
        crowded.worked_ns.fetch_add(2_000_000, Ordering::SeqCst);
        // Two milliseconds of work count as six, though two hundred have passed.
        assert_eq!(store.monotonic() - begun, Duration::from_millis(6));
        assert_eq!((shown, store.now_us()), (1_000_000, 1_000_000));
        // What another thread looks at is not timed against what this one worked.
        let elsewhere = thread::scope(|scope| {
            let looks = scope.spawn(|| store.monotonic());
            looks.join().expect("a thread looks at the clock")
        });
        assert_eq!(elsewhere - begun, Duration::from_millis(6));
    }
}
