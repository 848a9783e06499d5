//! Background jobs that panic or fail: what waits for them goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use db::{Database, Health, Kind, Value};
use parking_lot::Mutex;
use storage::env::{Clock, SystemClock};
use storage::{Fault, FaultyEngine, MemoryEngine};

use crate::database::{ask, opened};

const PATIENCE: Duration = Duration::from_secs(20);

/// A clock that panics when a thread of some name asks it.
#[derive(Debug, Default)]
struct Panicking {
    inner: SystemClock,
    thread: Mutex<&'static str>,
    times: AtomicU64,
}

impl Panicking {
    fn panic_in(&self, thread: &'static str, times: u64) {
        *self.thread.lock() = thread;
        self.times.store(times, Ordering::SeqCst);
    }

    fn is_done(&self) -> bool {
        self.times.load(Ordering::SeqCst) == 0
    }

    fn ask(&self) {
        let here = std::thread::current();
        let less = |times: u64| times.checked_sub(1);
        let order = Ordering::SeqCst;
        if here.name() == Some(*self.thread.lock())
            && self.times.fetch_update(order, order, less).is_ok()
        {
            panic!("as asked");
        }
    }
}

impl Clock for Panicking {
    fn now_us(&self) -> u64 {
        self.ask();
        self.inner.now_us()
    }

    fn monotonic(&self) -> Duration {
        self.ask();
        self.inner.monotonic()
    }
}

/// A database whose background runs, with a table of one row.
async fn open(clock: &Arc<Panicking>) -> Arc<Database> {
    let engine = Arc::new(MemoryEngine::new());
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let db = opened(
        move || Arc::clone(&engine) as _,
        |options| {
            options.clock = clock;
            options.background = true;
        },
    );
    let db = db.unwrap();
    let made = "CREATE TABLE t (a Int32, PRIMARY KEY (a)); INSERT INTO t VALUES (1)";
    ask(&db, made).await.unwrap();
    db
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("{what} waits for ever"))
}

async fn until(what: &str, happened: impl Fn() -> bool) {
    within(what, async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_commit_whose_committer_panics_is_open_and_later_ones_go_on() {
    let clock = Arc::<Panicking>::default();
    let db = open(&clock).await;
    let table = db.table("t").unwrap();
    let commit = async |row: i32| {
        let mut transaction = db.begin();
        transaction.insert(&table, &[Value::Int32(row)]).unwrap();
        within("the commit", transaction.commit_later()).await
    };
    for round in 0..4 {
        clock.panic_in("committer", 1);
        let mut rows = (1..).map(|row| 1000 * round + 1 + row);
        // Until the committer stands by the first one leads itself.
        let error = loop {
            if let Err(error) = commit(rows.next().unwrap()).await {
                break error;
            }
        };
        assert_eq!(error.kind(), Kind::Unavailable, "{error}");
        assert!(error.unknown_commit().is_some(), "{error}");
        commit(rows.next().unwrap()).await.unwrap();
    }
}

#[tokio::test]
async fn housekeeping_goes_on_after_a_panic() {
    let clock = Arc::<Panicking>::default();
    let db = open(&clock).await;
    let table = db.table("t").unwrap();
    clock.panic_in("housekeeping", 10);
    until("the panics", || clock.is_done()).await;
    ask(&db, "DELETE FROM t").await.unwrap();
    let collected = || db.describe(&table).unwrap()[0].tombstones == 0;
    until("the tombstone", collected).await;
    let health = db.health();
    let failing = health.jobs_failing.first().unwrap();
    assert_eq!(failing.last_error.as_deref(), Some("panicked: as asked"));
    let jobs = db.metrics().unwrap().jobs;
    let failures: u64 = jobs.iter().map(|job| job.failures).sum();
    assert_eq!(failures, 10);
}

#[tokio::test]
async fn what_keeps_an_engine_from_being_reopened_is_told() {
    let engine = FaultyEngine::new(Arc::new(MemoryEngine::new()));
    let known = Arc::new(engine.clone());
    let db = opened(
        move || Arc::clone(&known) as _,
        |options| options.background = true,
    );
    let db = db.unwrap();
    assert_eq!(db.health(), Health::default());
    let made = "CREATE TABLE t (a Int32, PRIMARY KEY (a))";
    ask(&db, made).await.unwrap();
    engine.inject(Fault::BreakWrite { nth: 1 });
    assert!(ask(&db, "INSERT INTO t VALUES (1)").await.is_err());
    let tells = || {
        let failing = db.health().jobs_failing;
        let mut errors = failing.iter().filter_map(|job| job.last_error.as_deref());
        errors.any(|error| error.contains("the whole database has to be reopened"))
    };
    until("the failure", tells).await;
}

#[tokio::test]
async fn whoever_waits_for_advice_hears_of_a_panic() {
    let clock = Arc::<Panicking>::default();
    let db = open(&clock).await;
    clock.panic_in("advising", 1);
    let advised = within("the advice", ask(&db, "ADVISE TABLE t")).await;
    let error = advised.unwrap_err();
    assert_eq!(error.kind(), Kind::Internal, "{error}");
    // There is too little for advice, as the next one is told.
    let advised = within("the advice", ask(&db, "ADVISE TABLE t")).await;
    assert_eq!(advised.unwrap_err().kind(), Kind::Unavailable);
}
