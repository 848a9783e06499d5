//! The only place where the database starts threads, and joins them.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sql::{Catalog, Executor};
use txn::Store;

use crate::advice::{Advices, Gauges};
use crate::balance::balance;
use crate::errands::Errands;
use crate::policy::Policies;
use crate::record::{Ground, Recorder};

/// How long housekeeping rests between rounds.
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
    pub(crate) errands: Arc<Errands>,
}

impl Background {
    pub(crate) fn start(work: &Work) -> Self {
        let Work {
            store, executor, ..
        } = work;
        let stop = Arc::new(Stop::default());
        let (kept, seen) = (Arc::clone(store), Arc::clone(&stop));
        let swept = Arc::clone(executor);
        let housekeeping = thread("housekeeping", move || {
            while !seen.rest(REST) {
                housekeep(&kept, &seen);
                // What fails is tried again in the next round.
                let _ = swept.expire(EXPIRE_ROWS_MAX);
                let _ = kept.warm_up();
                let _ = swept.move_rows(MOVE_ROWS_MAX);
            }
        });
        let (driven, seen) = (Arc::clone(store), Arc::clone(&stop));
        let committer = thread("committer", move || {
            while !seen.asked() {
                driven.drive_commits(STAND_BY);
            }
            driven.stop_driving_commits();
        });
        let (recorded, seen) = (work.clone(), Arc::clone(&stop));
        let recording = thread("recording", move || record(&recorded, &seen));
        let (errands, seen) = (Arc::clone(&work.errands), Arc::clone(&stop));
        let advising = thread("advising", move || {
            while !seen.asked() {
                errands.run_one(STAND_BY);
            }
        });
        let errands = Arc::clone(&work.errands);
        let (work, seen) = (work.clone(), Arc::clone(&stop));
        let balancing = thread("balancing", move || keep_even(&work, &seen));
        Self {
            stop,
            errands,
            threads: vec![housekeeping, committer, balancing, recording, advising],
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

/// Looks at the heat every second, and decides as often as the policy says.
fn keep_even(work: &Work, stop: &Stop) {
    let mut decided_us = work.store.now_us();
    while !stop.rest(LOOK) {
        work.store.observe();
        let policy = work.policy.get();
        let now_us = work.store.now_us();
        let interval_us = policy.check_interval_s.saturating_mul(1_000_000);
        // A little early is better than a whole look late.
        let due = now_us.abs_diff(decided_us) + 500_000 >= interval_us;
        if due {
            decided_us = now_us;
            // What fails is tried again in the next round.
            let _ = balance(&work.store, &work.catalog, &policy);
        }
    }
}

/// Writes down every second what was recorded, and looks at what became of advice; both once more at the
/// end.
fn record(work: &Work, stop: &Stop) {
    let mut stopped = false;
    while !stopped {
        stopped = stop.rest(LOOK);
        let ground = Ground {
            store: &work.store,
            catalog: &work.catalog,
            policy: &work.policy,
        };
        work.recorder.round(ground);
        let gauges = Gauges {
            ground,
            recorder: &work.recorder,
            statements: work.executor.statements(),
        };
        work.advices.look(gauges, stopped);
    }
}

/// Collects, counts what is estimated, and reopens engines that failed. What fails is tried again in
/// the next round; whoever asks for the data is told why it fails.
fn housekeep(store: &Store, stop: &Stop) {
    for engine in store.engines_down() {
        let _ = store.reopen(engine);
    }
    for _ in 0..ROUNDS_MAX {
        match store.collect() {
            Ok(collected) if collected.more && !stop.asked() => {}
            _ => break,
        }
    }
    for table in store.tables() {
        let Ok(map) = store.map(table) else { continue };
        for one in map.partitions() {
            if !one.counters.counts().exact() && !stop.asked() {
                let _ = store.measure(table, one.descriptor.id);
            }
        }
    }
}
