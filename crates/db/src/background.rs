//! The only place where the database starts threads, and joins them.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sql::Executor;
use txn::Store;

/// How long housekeeping rests between rounds.
const REST: Duration = Duration::from_millis(200);

/// How many rounds of collection follow each other without a rest.
const ROUNDS_MAX: usize = 64;

/// How many rows a round looks at to see whether their time is over.
pub(crate) const EXPIRE_ROWS_MAX: usize = 8192;

/// How many rows a round looks at to see whether they lie in the right bucket.
pub(crate) const MOVE_ROWS_MAX: usize = 16_384;

/// How long the committer waits for work before it looks whether to stop.
const STAND_BY: Duration = Duration::from_millis(200);

/// Work that goes on while the database is open. Dropping it stops the work and waits for its end.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Rests, and answers whether to stop.
    fn rest(&self) -> bool {
        let mut asked = self.asked.lock();
        if !*asked {
            self.changed.wait_for(&mut asked, REST);
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

impl Background {
    pub(crate) fn start(store: &Arc<Store>, executor: &Arc<Executor>) -> Self {
        let stop = Arc::new(Stop::default());
        let (kept, seen) = (Arc::clone(store), Arc::clone(&stop));
        let swept = Arc::clone(executor);
        let housekeeping = thread("housekeeping", move || {
            while !seen.rest() {
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
        Self {
            stop,
            threads: vec![housekeeping, committer],
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .expect("the operating system can start one more thread")
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.ask();
        for thread in self.threads.drain(..) {
            // A panic in the background was printed when it happened.
            let _ = thread.join();
        }
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
