//! The kind `disk`: the storage engine on disks that lose power, damage what they hold, and fail.
//!
//! ```text
//!   life     a process takes the steps of a plan; a preloaded library writes down what it does to files
//!     ├─ states    the log is cut; what was not synced is there, or not, or in part; the engine opens it
//!     ├─ flips     bytes of a directory are changed, files cut short, removed, swapped; the engine reads it
//!     └─ faults    the same steps, and one call of one call site fails, once or until the fault is lifted
//! ```
//!
//! # What is judged
//! One client takes one step after the other, so what is left is right if it is the state after one of
//! them: not before the last that was acknowledged as durable, and not after the last that was begun
//! (`judge.rs`). The judge's rows are plain maps, and it shares no code with the engine.
//!
//! - **States.** The engine opens, its rows are a right state, scans and gets agree, and it takes writes
//!   that are there when it is opened once more. An error here is a loss: nothing was damaged.
//! - **Flips.** An error that names the place, or every answer as if nothing had happened.
//! - **Faults.** No hang and no panic; a step that failed was not done, unless the engine said that it
//!   does not know; the engine goes on by itself when the fault is over.
//!
//! # What a seed fixes
//! The plans, the cuts and the damage. The engine has threads, so the log of a life differs from run to
//! run; `--keep DIR` keeps the lives with findings, whose states and flips are judged again by
//! `torture disk-worker states DIR/life-1 SCRATCH NUMBER 1 0` (`flips` likewise).

pub mod children;
pub mod content;
pub mod crash;
pub mod faults;
pub mod flips;
pub mod judge;
pub mod life;
pub mod log;
pub mod medium;
pub mod plan;
pub mod subject;
pub mod tally;
pub mod tree;
pub mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use storage::env::{Clock, Random, SeededRandom, SystemClock};

use crate::{Error, Options, Result};
use children::End;
use faults::{Case, Cases};
use judge::Window;
use life::{Life, Orders, Recorder, Seeds};
use tally::Tally;

/// The hidden words of the program that start its children.
pub const SUBJECT: &str = "disk-subject";
/// As [`SUBJECT`].
pub const WORKER: &str = "disk-worker";

/// The file that keeps room on the disk free.
const RESERVE: &str = "RESERVE";

/// How long a worker may look at one state.
const SILENCE_MAX: Duration = Duration::from_secs(40);

/// How many processes judge at a time.
const WORKERS: u64 = 2;

/// Steps of a plan, and of one life.
const PLAN_STEPS: usize = 700;
const LIFE_STEPS: usize = 260;

/// What one round does, in a run that is long enough and in a short one.
const LONG: Round = Round {
    states: 100,
    flips: 600,
    cases: 120,
};
const SHORT: Round = Round {
    states: 15,
    flips: 60,
    cases: 6,
};
/// Crash states of each case.
const STATES_OF_A_CASE: u64 = 3;

const SHORT_SECONDS: u64 = 30;

/// How much each worker does in a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    states: u64,
    flips: u64,
    cases: u64,
}

/// A run of this kind; `true` if nothing was found and enough was reached.
pub fn run(options: &Options) -> Result<bool> {
    let tally = torture(options, &std::env::current_exe()?)?;
    let missed = tally.missed(options.duration);
    for line in &missed {
        println!("not reached: {line}");
    }
    println!("{tally}");
    Ok(tally.is_sound() && missed.is_empty())
}

/// Tortures the engine; `program` is this program, for its children.
pub fn torture(options: &Options, program: &Path) -> Result<Tally> {
    let folder = scratch()?;
    let run = Run {
        options,
        program: program.to_path_buf(),
        recorder: Recorder::build(folder.path(), program)?,
        folder: folder.path().to_path_buf(),
        tally: Mutex::new(Tally::default()),
        cases: Mutex::new(Cases::default()),
        clock: SystemClock::new(),
    };
    let mut number = 0;
    let mut next = Next::default();
    let size = match options.duration.as_secs() {
        ..SHORT_SECONDS => SHORT,
        _ => LONG,
    };
    loop {
        run.round(number, size, &mut next)?;
        run.faults(number, size.cases)?;
        number += 1;
        if run.is_over() {
            break;
        }
    }
    let (sites, met) = run.cases().sites();
    let mut tally = run.tally();
    tally.sites = u64::try_from(sites).unwrap_or(u64::MAX);
    tally.sites_missed = u64::try_from(sites - met).unwrap_or(u64::MAX);
    println!(
        "{sites} call sites, {met} of them met a fault, {} cases left",
        run.cases().left()
    );
    drop(tally);
    let tally = run.tally.into_inner();
    let tally = tally.unwrap_or_else(PoisonError::into_inner);
    report(&tally);
    Ok(tally)
}

/// A folder in memory, if there is such a file system.
fn scratch() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    Ok(place?)
}

fn report(tally: &Tally) {
    for (kind, count) in &tally.kinds {
        println!("{kind:<40} {count}");
    }
    for (sort, count) in &tally.sorts {
        println!("found {sort:<34} {count}");
    }
}

struct Run<'a> {
    options: &'a Options,
    program: PathBuf,
    recorder: Recorder,
    folder: PathBuf,
    tally: Mutex<Tally>,
    cases: Mutex<Cases>,
    clock: SystemClock,
}

/// What the next life begins with: what a crash left of the last one.
#[derive(Default)]
struct Next {
    left: Option<(tree::Tree, Window, u64)>,
}

impl Run<'_> {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn round(&self, number: u64, size: Round, next: &mut Next) -> Result<()> {
        let folder = self.folder.join(format!("life-{number}"));
        let random = SeededRandom::new(self.options.seed ^ number.rotate_left(32));
        let (window, seed) = match next.left.take() {
            Some((tree, window, seed)) => {
                tree.write(&folder.join("base"))?;
                (window, seed)
            }
            None => (Window { low: 0, high: 0 }, random.next_u64()),
        };
        let seeds = Seeds {
            seed,
            steps: PLAN_STEPS,
            count: LIFE_STEPS,
            window,
            number,
        };
        let before = self.findings();
        let end = Life::record(&folder, seeds, &self.recorder, &Orders::default())?;
        if self.lived(number, end) {
            let life = Life::load(&folder)?;
            self.tally().count("lives");
            self.work("states", &folder, size.states)?;
            self.work("flips", &folder, size.flips)?;
            // Another life goes on from here, as long as there are steps.
            let (tree, window) = life.state(random.next_u64());
            if window.high + LIFE_STEPS < PLAN_STEPS {
                next.left = Some((tree, window, seed));
            }
        }
        if let Some(keep) = &self.options.keep
            && self.findings() > before
        {
            copy(&folder, &keep.join(format!("life-{number}")))?;
        }
        fs::remove_dir_all(&folder)?;
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.clock.monotonic() >= self.options.duration
    }

    fn cases(&self) -> MutexGuard<'_, Cases> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for call sites, once for each plan, and tries some cases.
    fn faults(&self, round: u64, count: u64) -> Result<()> {
        let plans = faults::plans(self.options.seed);
        let plan = usize::try_from(round)
            .ok()
            .and_then(|round| plans.get(round));
        if let Some(seed) = plan {
            let folder = self.folder.join("survey");
            let orders = Orders {
                fault: None,
                reads: true,
            };
            let end = Life::record(
                &folder,
                faults::seeds(*seed, round),
                &self.recorder,
                &orders,
            )?;
            if self.lived(round, end) {
                self.cases().add(*seed, &folder.join("log"))?;
            }
            fs::remove_dir_all(&folder)?;
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WORKERS)
                .map(|worker| {
                    scope.spawn(move || {
                        for turn in 0..count / WORKERS {
                            let number = (round * WORKERS + worker) * count + turn;
                            let next = self.cases().take();
                            let Some(case) = next.filter(|_| turn == 0 || !self.is_over()) else {
                                break;
                            };
                            self.case(number, case)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            for thread in threads {
                let ended = thread.join();
                ended.unwrap_or_else(|_| Err(Error::Disk("a watcher panicked".to_owned())))?;
            }
            Ok(())
        })
    }

    fn case(&self, number: u64, case: Case) -> Result<()> {
        let folder = self.folder.join(format!("fault-{number}"));
        let before = self.findings();
        let end = Life::record(&folder, case.seeds(number), &self.recorder, &case.orders())?;
        let (progress, met) = faults::heard(&folder.join("log"))?;
        let kind = format!("{} {} {}", case.call, case.error_name(), case.mode);
        let about = format!("{kind} {} plan {}", case.fault(), case.seed);
        if met {
            self.tally().faults += 1;
            self.tally().count(&format!("faults {kind}"));
        }
        let said = progress.failures.last().cloned().unwrap_or_default();
        match end {
            End::Finished => {}
            End::Hung => {
                let mut tally = self.tally();
                tally.hangs += 1;
                tally.tell("hang fault", &format!("{about}: {said}"));
            }
            End::Died(text) => {
                let mut tally = self.tally();
                tally.wrong += 1;
                tally.tell(
                    "wrong fault: the process ended",
                    &format!("{about}: {text}: {said}"),
                );
            }
        }
        for text in faults::complaints(&case, &progress) {
            let mut tally = self.tally();
            tally.wrong += 1;
            tally.tell("wrong fault: complaint", &format!("{about}: {text}"));
        }
        if met {
            let window = progress.window_of_ended(case.seeds(number).steps);
            self.after(&folder, window, &about)?;
        }
        if let Some(keep) = &self.options.keep
            && self.findings() > before
        {
            copy(&folder, &keep.join(format!("fault-{number}")))?;
        }
        fs::remove_dir_all(&folder)?;
        self.cases().done(case, met);
        Ok(())
    }

    /// Judges what a life with a fault left, and what a crash after the fault would have.
    fn after(&self, folder: &Path, window: Window, about: &str) -> Result<()> {
        let number = |state: usize| u64::try_from(state).unwrap_or(u64::MAX);
        let job = worker::Job {
            what: "check".to_owned(),
            life: folder.to_path_buf(),
            scratch: folder.join("scratch"),
            first: number(window.low),
            count: number(window.high),
            skip: 0,
        };
        let mut lines = Vec::new();
        let mut command = children::command(&self.program, WORKER);
        let end = children::watch(command.args(job.words()), SILENCE_MAX, |line| {
            lines.push(line.to_owned());
        })?;
        let mut tally = self.tally();
        let line = lines.last().cloned().unwrap_or_default();
        match end {
            End::Hung => {
                tally.hangs += 1;
                tally.tell("hang fault: opened again", about);
            }
            End::Died(text) => {
                tally.wrong += 1;
                tally.tell("wrong fault: opened again", &format!("{about}: {text}"));
            }
            End::Finished if line.starts_with("lost") => {
                tally.lost += 1;
                tally.tell("lost fault: opened again", &format!("{about}: {line}"));
            }
            End::Finished if line.starts_with("wrong") => {
                tally.wrong += 1;
                tally.tell("wrong fault: opened again", &format!("{about}: {line}"));
            }
            End::Finished => {}
        }
        drop(tally);
        let job = worker::Job {
            what: "states".to_owned(),
            first: 0,
            count: STATES_OF_A_CASE,
            ..job
        };
        self.watch(job)
    }

    fn findings(&self) -> u64 {
        let tally = self.tally();
        tally.lost + tally.wrong + tally.hangs
    }

    /// Whether a life came to its end.
    fn lived(&self, number: u64, end: End) -> bool {
        let mut tally = self.tally();
        match end {
            End::Finished => return true,
            End::Hung => {
                tally.hangs += 1;
                tally.tell("hang", &format!("life {number}"));
            }
            End::Died(text) => {
                tally.wrong += 1;
                tally.tell("wrong life", &format!("life {number}: {text}"));
            }
        }
        false
    }

    /// Lets workers judge so many states or flips each.
    fn work(&self, what: &str, life: &Path, count: u64) -> Result<()> {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS)
                .map(|worker| {
                    scope.spawn(move || {
                        let job = worker::Job {
                            what: what.to_owned(),
                            life: life.to_path_buf(),
                            scratch: life.join(format!("{what}-{worker}")),
                            first: worker * count,
                            count,
                            skip: 0,
                        };
                        self.watch(job)
                    })
                })
                .collect();
            for worker in workers {
                let ended = worker.join();
                ended.unwrap_or_else(|_| Err(Error::Disk("a watcher panicked".to_owned())))?;
            }
            Ok(())
        })
    }

    /// Watches a worker, and starts another one behind what it did not survive.
    fn watch(&self, mut job: worker::Job) -> Result<()> {
        while job.skip < job.count {
            let mut at = String::from("the beginning");
            let mut begun = 0;
            let mut command = children::command(&self.program, WORKER);
            let end = children::watch(command.args(job.words()), SILENCE_MAX, |line| {
                match line.strip_prefix("begin ") {
                    Some(number) => {
                        at = number.to_owned();
                        begun += 1;
                    }
                    None => self.hear(&job, line),
                }
            })?;
            let place = format!("{} {} {at}", job.life.display(), job.what);
            match end {
                End::Finished => return Ok(()),
                End::Hung => {
                    let mut tally = self.tally();
                    tally.hangs += 1;
                    tally.tell(&format!("hang {}", job.what), &place);
                }
                End::Died(text) if begun == 0 => return Err(Error::Disk(text)),
                End::Died(text) => {
                    let mut tally = self.tally();
                    tally.wrong += 1;
                    tally.tell(&format!("abort {}", job.what), &format!("{place}: {text}"));
                }
            }
            job.skip += begun;
        }
        Ok(())
    }

    /// Takes account of what a worker says.
    fn hear(&self, job: &worker::Job, line: &str) {
        let (head, text) = line.split_once(": ").unwrap_or((line, ""));
        let mut words = head.splitn(3, ' ');
        let (Some(verdict), Some(number), Some(kind)) = (words.next(), words.next(), words.next())
        else {
            return;
        };
        let mut tally = self.tally();
        match job.what.as_str() {
            "states" => tally.states += 1,
            _ => tally.flips += 1,
        }
        tally.count(&format!("{} {kind}", job.what));
        let sort = format!("{verdict} {} {kind}", job.what);
        match verdict {
            "lost" => tally.lost += 1,
            "wrong" => tally.wrong += 1,
            "limit" => {
                tally.count("flips that went unseen, as flips.rs says");
                return;
            }
            _ => return,
        }
        let life = job.life.file_name().unwrap_or_default().to_string_lossy();
        let seed = self.options.seed;
        tally.tell(&sort, &format!("seed {seed} {life} {number}: {text}"));
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_name() == RESERVE {
            // Large, and of no use to a reader.
            fs::write(target, [])?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
