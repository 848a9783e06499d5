//! The only place where the database starts threads, and joins them.
//!
//! A thread runs [jobs](crate::jobs) until it is to stop, and no job ends it: one that fails or panics is
//! run again after a rest.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sql::{Catalog, Executor};
use txn::Store;

use crate::advice::{Advices, Gauges};
use crate::balance::balance;
use crate::errands::Errands;
use crate::jobs::Jobs;
use crate::objects::{self, Objects};
use crate::policy::Policies;
use crate::record::{Ground, Recorder};
use crate::{Error, Kind, Result};

/// How long housekeeping rests between rounds, and every thread after a job that panicked.
const REST: Duration = Duration::from_millis(200);

/// How long balancing rests between two looks at the heat: it is kept by the second.
const LOOK: Duration = Duration::from_secs(1);

/// How many rounds of collection follow each other without a rest.
const ROUNDS_MAX: usize = 64;

/// How many rows a round looks at to see whether their time is over.
pub(crate) const EXPIRE_ROWS_MAX: usize = 8192;

/// How many rows a round looks at to see whether they lie in the right bucket.
pub(crate) const MOVE_ROWS_MAX: usize = 16_384;

/// How long the committer waits for work before it looks whether to stop.
const STAND_BY: Duration = Duration::from_millis(200);

/// Stack of each thread. Planning a statement was measured to need more than the usual 2 MiB when it is
/// not optimised, and walking one, as the recorder does, maps a stack of its own where fewer than 16 MiB
/// are left. Only what was used takes memory.
const STACK_BYTES: usize = 48 << 20;

/// Work that goes on while the database is open. Dropping it stops the work and waits for its end.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<Stop>,
    errands: Arc<Errands>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Rests for so long, and answers whether to stop.
    fn rest(&self, most: Duration) -> bool {
        let mut asked = self.asked.lock();
        if !*asked {
            self.changed.wait_for(&mut asked, most);
        }
        *asked
    }

    fn ask(&self) {
        *self.asked.lock() = true;
        self.changed.notify_all();
    }

    fn asked(&self) -> bool {
        *self.asked.lock()
    }
}

/// What the work is done on.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) store: Arc<Store>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) policy: Arc<Policies>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) advices: Arc<Advices>,
    pub(crate) objects: Arc<Objects>,
    pub(crate) errands: Arc<Errands>,
    pub(crate) jobs: Arc<Jobs>,
}

/// What a thread runs until it is to stop.
type Run = fn(&Work, &Stop);

impl Background {
    pub(crate) fn start(work: &Work) -> Self {
        let stop = Arc::new(Stop::default());
        let threads: [(&str, Run); 6] = [
            ("housekeeping", housekeep),
            ("committer", commit),
            ("balancing", keep_even),
            ("recording", record),
            ("advising", advise),
            ("sweeping", sweep),
        ];
        let start = |(name, run): (&str, Run)| {
            let (work, stop) = (work.clone(), Arc::clone(&stop));
            thread(name, move || run(&work, &stop))
        };
        Self {
            threads: threads.map(start).into(),
            stop,
            errands: Arc::clone(&work.errands),
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .expect("the operating system can start one more thread")
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.ask();
        self.errands.give_up();
        for thread in self.threads.drain(..) {
            // A panic in the background was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// Leads the commits of those who cannot lead themselves.
fn commit(work: &Work, stop: &Stop) {
    let Work { store, jobs, .. } = work;
    let drive = || -> Result<()> {
        store.drive_commits(STAND_BY);
        Ok(())
    };
    while !stop.asked() {
        if jobs.commit.run(drive).is_none() {
            stop.rest(REST);
        }
    }
    let stop_driving = || -> Result<()> {
        store.stop_driving_commits();
        Ok(())
    };
    // A group is lost with each panic, and no other comes in line, so that it ends.
    while jobs.commit.run(stop_driving).is_none() {}
}

/// Runs what sessions send to the background.
fn advise(work: &Work, stop: &Stop) {
    let run_one = || -> Result<()> {
        work.errands.run_one(STAND_BY);
        Ok(())
    };
    while !stop.asked() {
        if work.jobs.advise.run(run_one).is_none() {
            stop.rest(REST);
        }
    }
}

/// Looks every second whether parts of large objects are to be removed.
fn sweep(work: &Work, stop: &Stop) {
    let stopped = || stop.asked();
    let ground = objects::Ground {
        store: &work.store,
        catalog: &work.catalog,
        stopped: &stopped,
    };
    while !stop.asked() {
        let jobs = &work.jobs;
        jobs.sweep.run(|| work.objects.sweep_if_due(&ground));
        stop.rest(LOOK);
    }
}

/// Looks at the heat every second, and decides as often as the policy says.
fn keep_even(work: &Work, stop: &Stop) {
    let mut decided_us = None;
    while !stop.rest(LOOK) {
        work.jobs.balance.run(|| look(work, &mut decided_us));
    }
}

/// One look at the heat, and a decision if it is time for one.
fn look(work: &Work, decided_us: &mut Option<u64>) -> Result<()> {
    work.store.observe();
    let policy = work.policy.get();
    let now_us = work.store.now_us();
    let interval_us = policy.check_interval_s.saturating_mul(1_000_000);
    let last_us = *decided_us.get_or_insert(now_us);
    // A little early is better than a whole look late.
    if now_us.abs_diff(last_us) + 500_000 >= interval_us {
        *decided_us = Some(now_us);
        balance(&work.store, &work.catalog, &policy)?;
    }
    Ok(())
}

/// Writes down every second what was recorded, and looks at what became of advice; both once more at the
/// end.
fn record(work: &Work, stop: &Stop) {
    let ground = Ground {
        store: &work.store,
        catalog: &work.catalog,
        policy: &work.policy,
    };
    let gauges = Gauges {
        ground,
        recorder: &work.recorder,
        statements: work.executor.statements(),
    };
    let mut stopped = false;
    while !stopped {
        stopped = stop.rest(LOOK);
        work.jobs.record.run(|| -> Result<()> {
            work.recorder.round(ground);
            Ok(())
        });
        work.jobs.measure_advice.run(|| -> Result<()> {
            work.advices.look(gauges, stopped);
            Ok(())
        });
    }
}

/// Collects, counts what is estimated, deletes rows whose time is over, and reopens engines that failed.
/// What fails is tried again in the next round; a statement that needs the data fails with the cause.
fn housekeep(work: &Work, stop: &Stop) {
    let Work {
        store,
        executor,
        jobs,
        ..
    } = work;
    while !stop.rest(REST) {
        for engine in store.engines_down() {
            jobs.reopen.run(|| store.reopen(engine));
        }
        for _ in 0..ROUNDS_MAX {
            match jobs.collect.run(|| store.collect()) {
                Some(collected) if collected.more && !stop.asked() => {}
                _ => break,
            }
        }
        jobs.count.run(|| count(store, stop));
        jobs.expire.run(|| executor.expire(EXPIRE_ROWS_MAX));
        jobs.warm_up.run(|| store.warm_up());
        jobs.move_rows.run(|| executor.move_rows(MOVE_ROWS_MAX));
    }
}

/// Counts the partitions whose numbers are estimates. One that fails does not keep the others from being
/// counted.
fn count(store: &Store, stop: &Stop) -> Result<()> {
    let mut counted = Ok(());
    for table in store.tables() {
        let Ok(map) = store.map(table) else { continue };
        for one in map.partitions() {
            if one.counters.counts().exact() || stop.asked() {
                continue;
            }
            match store.measure(table, one.descriptor.id).map_err(Error::from) {
                // Split, merged or dropped meanwhile.
                Err(error) if error.kind() == Kind::NotFound => {}
                Err(error) => counted = Err(error),
                Ok(_) => {}
            }
        }
    }
    counted
}
