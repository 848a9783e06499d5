//! The subject: a process of its own that takes the steps of a plan under the recorder.
//!
//! It says what it does by marks in the log, one word and one number each:
//!
//! ```text
//!   begin 7     step 7 is about to be taken
//!   done 7      it returned
//!   ack 7       it returned, and it and all before it are durable
//!   fail 7 …    it returned an error, in these words
//!   there 7 …   what failed was done nevertheless; or `absent 7`
//!   odd 7 …     after a failure the rows are not what they should be, in these words
//! ```

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use storage::FjallEngine;
use storage::env::{Clock, SystemClock};

use super::judge::{self, Fault, Unread, Window};
use super::plan::{Plan, Step};
use crate::{Error, Result};

/// How often a step is tried before a lasting fault is lifted.
const TRIES_UNDER_FAULT: u32 = 3;

/// How long the engine may take to come back after a fault is lifted.
const COME_BACK: Duration = Duration::from_secs(15);

/// What the process is told.
#[derive(Clone, Debug)]
pub struct Job {
    /// The directory of the engine.
    pub directory: PathBuf,
    /// Where marks go.
    pub marks: PathBuf,
    /// The file that lifts a fault.
    pub lifted: PathBuf,
    /// The plan's seed.
    pub seed: u64,
    /// How many steps the plan has.
    pub steps: usize,
    /// How many of them are taken at most.
    pub count: usize,
    /// The states that the directory may be in.
    pub window: Window,
}

impl Job {
    /// The words of a command line.
    pub fn words(&self) -> Vec<String> {
        let paths = [&self.directory, &self.marks, &self.lifted];
        let paths = paths.map(|path| path.display().to_string());
        let numbers = [
            self.seed.to_string(),
            self.steps.to_string(),
            self.count.to_string(),
            self.window.low.to_string(),
            self.window.high.to_string(),
        ];
        paths.into_iter().chain(numbers).collect()
    }

    /// The job that a command line tells.
    pub fn parse(words: &[String]) -> Result<Self> {
        let usage = || Error::Usage("a subject is told three paths and five numbers".to_owned());
        let [directory, marks, lifted, numbers @ ..] = words else {
            return Err(usage());
        };
        let numbers: Vec<u64> = numbers
            .iter()
            .filter_map(|word| word.parse().ok())
            .collect();
        let &[seed, steps, count, low, high] = numbers.as_slice() else {
            return Err(usage());
        };
        let place = |number: u64| usize::try_from(number).map_err(|_| usage());
        Ok(Self {
            directory: directory.into(),
            marks: marks.into(),
            lifted: lifted.into(),
            seed,
            steps: place(steps)?,
            count: place(count)?,
            window: Window {
                low: place(low)?,
                high: place(high)?,
            },
        })
    }
}

/// Runs the process; `true` if it came to its end.
pub fn run(words: &[String]) -> Result<bool> {
    let job = Job::parse(words)?;
    let mut marks = File::options().create(true).append(true).open(&job.marks)?;
    let plan = Plan::new(job.seed, job.steps);
    let mut subject = Subject {
        job: &job,
        plan: &plan,
        marks: &mut marks,
        engine: None,
        failed: None,
        failures: 0,
        clock: SystemClock::new(),
    };
    let first = subject.begin()?;
    let steps = plan.steps.iter().enumerate();
    for (number, step) in steps.skip(first).take(job.count) {
        subject.step(number, step)?;
    }
    let last = (first + job.count).min(plan.steps.len());
    subject.take(last, &Step::Sync)?;
    if let Some(last) = last.checked_sub(1) {
        subject.mark("ack", last, "")?;
    }
    subject.engine = None;
    subject.mark("closed", last, "")?;
    Ok(true)
}

struct Subject<'a> {
    job: &'a Job,
    plan: &'a Plan,
    marks: &'a mut File,
    engine: Option<FjallEngine>,
    /// When something failed first since all was well.
    failed: Option<Duration>,
    failures: u32,
    clock: SystemClock,
}

impl Subject<'_> {
    fn mark(&mut self, word: &str, number: usize, text: &str) -> Result<()> {
        let text = text.replace('\n', " ");
        self.marks
            .write_all(format!("{word} {number} {text}\n").as_bytes())?;
        Ok(())
    }

    /// Opens the engine and finds the state that it is in.
    fn begin(&mut self) -> Result<usize> {
        let window = self.job.window;
        self.reopen(window.low)?;
        let Some(engine) = self.engine.as_ref().filter(|_| window.high > 0) else {
            return Ok(0);
        };
        let found = judge::read(engine, 50).map_err(|unread| unread.fault("it cannot be read"));
        match found.and_then(|found| judge::place(self.plan, &found, window)) {
            Ok(state) => Ok(state),
            Err(Fault::Lost(text) | Fault::Wrong(text)) => Err(Error::Disk(text)),
        }
    }

    fn step(&mut self, number: usize, step: &Step) -> Result<()> {
        self.mark("begin", number, "")?;
        match step {
            Step::Reopen => {
                self.engine = None;
                self.reopen(number)?;
            }
            Step::Pause(milliseconds) => pause(Duration::from_millis(*milliseconds)),
            _ => self.take(number, step)?,
        }
        let durable = !matches!(step, Step::Batch(_, false) | Step::Reopen | Step::Pause(_));
        self.mark(if durable { "ack" } else { "done" }, number, "")
    }

    fn reopen(&mut self, number: usize) -> Result<()> {
        loop {
            match judge::open(&self.job.directory) {
                Ok(engine) => {
                    self.engine = Some(engine);
                    self.failed = None;
                    return Ok(());
                }
                Err(error) => self.failed(number, &error)?,
            }
        }
    }

    /// Takes a step until it is done.
    fn take(&mut self, number: usize, step: &Step) -> Result<()> {
        loop {
            let Some(engine) = &self.engine else {
                return Err(Error::Disk("the engine is closed".to_owned()));
            };
            let Err(error) = judge::take(engine, step) else {
                self.failed = None;
                return Ok(());
            };
            self.failed(number, &error)?;
            if self.look(number, &error)? {
                return Ok(());
            }
        }
    }

    /// Tells of a failure, and waits a little before the next try.
    fn failed(&mut self, number: usize, error: &storage::Error) -> Result<()> {
        self.mark("fail", number, &error.to_string())?;
        self.failures += 1;
        if self.failures == TRIES_UNDER_FAULT {
            File::create(&self.job.lifted)?;
        }
        let now = self.clock.monotonic();
        if now - *self.failed.get_or_insert(now) > COME_BACK {
            return Err(Error::Disk(format!(
                "step {number} fails for {} s: {error}",
                COME_BACK.as_secs()
            )));
        }
        pause(Duration::from_millis(20));
        Ok(())
    }

    /// Looks whether a step that failed was done nevertheless.
    fn look(&mut self, number: usize, error: &storage::Error) -> Result<bool> {
        let Some(engine) = &self.engine else {
            return Ok(false);
        };
        let unknown = matches!(
            error,
            storage::Error::Poisoned { .. } | storage::Error::Unknown { .. }
        );
        let window = Window {
            low: number,
            high: (number + 1).min(self.plan.steps.len()),
        };
        let found = match judge::read(engine, 5) {
            Ok(found) => found,
            // Readers of an opening that ended may be told so.
            Err(Unread::Refused(storage::Error::Interrupted { .. })) => return Ok(false),
            // What fails may be what a reader needs.
            Err(Unread::Refused(storage::Error::Io { .. })) => return Ok(false),
            Err(Unread::Refused(error)) => {
                let text = format!("it cannot be read: {error}");
                self.mark("odd", number, &text)?;
                return Ok(false);
            }
            Err(Unread::Contradiction(text)) => {
                self.mark("odd", number, &text)?;
                return Ok(false);
            }
        };
        match judge::place(self.plan, &found, window) {
            Ok(state) => {
                let there = state > number
                    && self
                        .plan
                        .find(number, number, super::plan::fingerprint(&found))
                        .is_none();
                if there && !unknown {
                    let step = self.plan.steps.get(number).map_or("sync", Step::name);
                    let text = format!("a {step} that failed was done: {error}");
                    self.mark("odd", number, &text)?;
                }
                self.mark(if there { "there" } else { "absent" }, number, "")?;
                Ok(there)
            }
            Err(Fault::Lost(text) | Fault::Wrong(text)) => {
                self.mark("odd", number, &text)?;
                Ok(false)
            }
        }
    }
}

/// Does nothing for a while.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine's own threads are to work meanwhile, and nothing tells when they did"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// What a log says about steps, up to a record.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// States that are durable: so many steps were acknowledged.
    pub durable: usize,
    /// So many steps returned.
    pub done: usize,
    /// So many steps were begun.
    pub begun: usize,
    /// What failed.
    pub failures: Vec<String>,
    /// What was not as it should be after a failure.
    pub odd: Vec<String>,
    /// Whether it was closed in the end.
    pub closed: bool,
}

impl Progress {
    /// A subject that has gone on from a state.
    pub fn from(window: Window) -> Self {
        Self {
            durable: window.low,
            done: window.low,
            begun: window.high,
            ..Self::default()
        }
    }

    /// Takes account of marks.
    pub fn read(&mut self, marks: &[u8]) {
        for line in String::from_utf8_lossy(marks).lines() {
            let mut words = line.splitn(3, ' ');
            let word = words.next().unwrap_or_default();
            let number: Option<usize> = words.next().and_then(|number| number.parse().ok());
            let text = words.next().unwrap_or_default();
            let Some(number) = number else {
                continue;
            };
            match word {
                "begin" => self.begun = self.begun.max(number + 1),
                "done" => self.done = number + 1,
                "ack" => {
                    self.done = number + 1;
                    self.durable = number + 1;
                }
                "fail" => self.failures.push(text.to_owned()),
                "odd" => self.odd.push(format!("step {number}: {text}")),
                "closed" => self.closed = true,
                _ => {}
            }
        }
    }

    /// The right states after a loss of power.
    pub fn window(&self, states: usize) -> Window {
        Window {
            low: self.durable.min(states),
            high: self.begun.min(states),
        }
    }

    /// The right states after the end of the process alone.
    pub fn window_of_ended(&self, states: usize) -> Window {
        Window {
            low: self.done.min(states),
            high: self.begun.min(states),
        }
    }
}
