//! Background jobs: what each of them did, and whether one goes on failing.
//!
//! ```text
//!   thread          jobs, each again and again
//!   housekeeping    engine_reopen  garbage_collection  partition_count  ttl_expiry
//!                   cache_warming  bucket_moves
//!   committer       group_commit
//!   balancing       balancing
//!   recording       trace  advice_measurement
//!   advising        advise
//!   sweeping        object_sweep
//! ```
//!
//! A run of a job ends well, with an error or in a panic. Neither ends its thread: the error is kept, and the
//! job is run again after the rest that its thread takes. A job that failed [`FAILURES_MAX`] times in
//! [`FAILURES_WINDOW`] makes the database unwell until the first of these failures is older than that.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use storage::EngineId;
use storage::env::{Clock, SystemClock};

use crate::Database;

/// How often a job may fail in [`FAILURES_WINDOW`].
const FAILURES_MAX: usize = 3;

/// Longer than two rests of the job that rests longest after it failed, which is the expiry of rows.
const FAILURES_WINDOW: Duration = Duration::from_mins(3);

/// All jobs.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(crate) reopen: Job,
    pub(crate) collect: Job,
    pub(crate) count: Job,
    pub(crate) expire: Job,
    pub(crate) warm_up: Job,
    pub(crate) move_rows: Job,
    pub(crate) commit: Job,
    pub(crate) balance: Job,
    pub(crate) record: Job,
    pub(crate) measure_advice: Job,
    pub(crate) advise: Job,
    pub(crate) sweep: Job,
}

impl Jobs {
    /// Jobs that did not run yet.
    pub(crate) fn new() -> Self {
        // Threads take real time, also where the database's clock is made up.
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let job = |name| Job::new(name, Arc::clone(&clock));
        Self {
            reopen: job("engine_reopen"),
            collect: job("garbage_collection"),
            count: job("partition_count"),
            expire: job("ttl_expiry"),
            warm_up: job("cache_warming"),
            move_rows: job("bucket_moves"),
            commit: job("group_commit"),
            balance: job("balancing"),
            record: job("trace"),
            measure_advice: job("advice_measurement"),
            advise: job("advise"),
            sweep: job("object_sweep"),
        }
    }

    /// What each of them did.
    pub(crate) fn all(&self) -> Vec<JobStatus> {
        let Self {
            reopen,
            collect,
            count,
            expire,
            warm_up,
            move_rows,
            commit,
            balance,
            record,
            measure_advice,
            advise,
            sweep,
        } = self;
        let all = [
            reopen,
            collect,
            count,
            expire,
            warm_up,
            move_rows,
            commit,
            balance,
            record,
            measure_advice,
            advise,
            sweep,
        ];
        all.map(Job::status).into()
    }
}

/// A job of the background.
#[derive(Debug)]
pub(crate) struct Job {
    name: &'static str,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    runs: u64,
    failures: u64,
    last_error: Option<String>,
    /// When it failed the last times, at most [`FAILURES_MAX`] of them.
    failed_at: VecDeque<Duration>,
}

/// What a background job did since the database was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStatus {
    /// Its name, such as `ttl_expiry`.
    pub name: &'static str,
    /// How often it ran.
    pub runs: u64,
    /// How often it failed.
    pub failures: u64,
    /// Why it failed the last time.
    pub last_error: Option<String>,
    /// Whether it goes on failing.
    pub failing: bool,
}

impl Job {
    fn new(name: &'static str, clock: Arc<dyn Clock>) -> Self {
        Self {
            name,
            clock,
            state: Mutex::default(),
        }
    }

    /// Runs it once. `None` if it failed.
    pub(crate) fn run<T, E: fmt::Display>(&self, work: impl FnOnce() -> Result<T, E>) -> Option<T> {
        // Locks are not poisoned by a panic, and no run counts on what the one before it left half done.
        let outcome = catch_unwind(AssertUnwindSafe(work));
        let mut state = self.state.lock();
        state.runs += 1;
        let error = match outcome {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panicked: {}", message(&*panic)),
        };
        state.failures += 1;
        state.last_error = Some(error);
        if state.failed_at.len() == FAILURES_MAX {
            state.failed_at.pop_front();
        }
        state.failed_at.push_back(self.clock.monotonic());
        None
    }

    fn status(&self) -> JobStatus {
        let state = self.state.lock();
        let first = state.failed_at.front();
        let age = first.map(|at| self.clock.monotonic().saturating_sub(*at));
        JobStatus {
            name: self.name,
            runs: state.runs,
            failures: state.failures,
            last_error: state.last_error.clone(),
            failing: state.failed_at.len() == FAILURES_MAX
                && age.is_some_and(|age| age < FAILURES_WINDOW),
        }
    }
}

/// What a panic said.
fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(owned).unwrap_or("without a message")
}

/// What keeps a database from doing its work, if anything does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Engines that failed and are not open again yet.
    pub engines_down: Vec<EngineId>,
    /// Background jobs that go on failing.
    pub jobs_failing: Vec<JobStatus>,
}

impl Database {
    /// What keeps the database from doing its work.
    pub fn health(&self) -> Health {
        let mut jobs = self.jobs.all();
        jobs.retain(|job| job.failing);
        Health {
            engines_down: self.engines_down(),
            jobs_failing: jobs,
        }
    }
}

#[cfg(test)]
mod tests {
    use storage::env::SimulatedClock;

    use super::*;

    type Outcome = Result<u8, String>;

    #[test]
    fn errors_and_panics_are_counted_and_the_last_is_kept() {
        let jobs = Jobs::new();
        let job = &jobs.expire;
        assert_eq!(job.run(|| Outcome::Ok(7)), Some(7));
        assert_eq!(job.run(|| Outcome::Err("no room".to_owned())), None);
        assert_eq!(job.status().last_error.as_deref(), Some("no room"));
        let number = 3;
        assert_eq!(job.run(|| -> Outcome { panic!("as asked") }), None);
        assert_eq!(job.run(|| -> Outcome { panic!("by {number}") }), None);
        let expected = JobStatus {
            name: "ttl_expiry",
            runs: 4,
            failures: 3,
            last_error: Some("panicked: by 3".to_owned()),
            failing: true,
        };
        assert!(jobs.all().contains(&expected), "{:?}", jobs.all());
    }

    #[test]
    fn a_job_fails_as_long_as_its_failures_are_close_to_each_other() {
        let clock = Arc::new(SimulatedClock::new(1));
        let job = Job::new("job", Arc::clone(&clock) as Arc<dyn Clock>);
        let fails_after = |rest: Duration| {
            clock.advance(rest);
            job.run(|| Outcome::Err("as asked".to_owned()));
            job.status().failing
        };
        let minute = Duration::from_mins(1);
        assert!(
            ![minute, minute * 2, minute * 2]
                .map(fails_after)
                .contains(&true)
        );
        assert_eq!([minute, minute].map(fails_after), [false, true]);
        clock.advance(minute);
        job.run(|| Outcome::Ok(1));
        assert!(
            !job.status().failing,
            "the first of three is three minutes old"
        );
        assert_eq!(job.status().failures, 5);
    }
}
