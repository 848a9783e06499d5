//! The worker: a process that judges states and damaged directories, and says a line about each.
//!
//! An engine that hangs or aborts takes the process with it; the run sees which one it was, and starts
//! another worker behind it.
//!
//! ```text
//!   begin 12                               state or flip 12 is looked at
//!   ok 12 rename ordered                   it is right, and of this kind
//!   lost 12 rename ordered: in state …     or not
//! ```

use std::any::Any;
use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use storage::env::Random;

use super::crash::crash;
use super::flips;
use super::judge::{Fault, judge};
use super::life::{Cut, Life};
use super::plan::Plan;
use super::subject::Progress;
use crate::{Error, Result};

/// In one state of so many the reserve is as the crash left it. Otherwise it is there, so that the
/// engine does not fill it anew, which takes most of the time.
const RESERVE_LEFT: u64 = 16;

const ENGINE: &str = "engine";

/// What the process is told.
#[derive(Clone, Debug)]
pub struct Job {
    /// `states`, `flips` or `check`.
    pub what: String,
    /// The life.
    pub life: PathBuf,
    /// Where directories are made.
    pub scratch: PathBuf,
    /// The first number.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// How many of them are left out: they were judged.
    pub skip: u64,
}

impl Job {
    /// The words of a command line.
    pub fn words(&self) -> Vec<String> {
        let numbers = [self.first, self.count, self.skip].map(|number| number.to_string());
        let paths = [&self.life, &self.scratch].map(|path| path.display().to_string());
        let what = std::iter::once(self.what.clone());
        what.chain(paths).chain(numbers).collect()
    }

    fn parse(words: &[String]) -> Result<Self> {
        let usage = || Error::Usage("a worker is told a word, two paths, three numbers".to_owned());
        let [what, life, scratch, first, count, skip] = words else {
            return Err(usage());
        };
        let number = |word: &String| word.parse().map_err(|_| usage());
        Ok(Self {
            what: what.clone(),
            life: life.into(),
            scratch: scratch.into(),
            first: number(first)?,
            count: number(count)?,
            skip: number(skip)?,
        })
    }
}

/// Runs the process.
pub fn run(words: &[String]) -> Result<bool> {
    let job = Job::parse(words)?;
    // What panics is told by what becomes of it, unless a person looks for more.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    if job.what == "check" {
        return check(&job);
    }
    let life = Life::load(&job.life)?;
    fs::create_dir_all(&job.scratch)?;
    match job.what.as_str() {
        "states" => states(&job, &life)?,
        "flips" => flips::work(&job, &life)?,
        _ => return Err(Error::Usage("a worker judges states or flips".to_owned())),
    }
    Ok(true)
}

/// Says a line at once.
pub fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", line.replace('\n', " "))?;
    out.flush()?;
    Ok(())
}

/// Judges the directory that a life left, which must be in a state from the first number to the next.
fn check(job: &Job) -> Result<bool> {
    let seeds = Life::seeds(&job.life)?;
    let place = |number| usize::try_from(number).unwrap_or_default();
    let window = super::judge::Window {
        low: place(job.first),
        high: place(job.count),
    };
    say("begin 0")?;
    let plan = Plan::new(seeds.seed, seeds.steps);
    say(&match contained(&job.life.join("live"), &plan, window) {
        Ok(_) => "ok 0 check".to_owned(),
        Err(Fault::Lost(text)) => format!("lost 0 check: {text}"),
        Err(Fault::Wrong(text)) => format!("wrong 0 check: {text}"),
    })?;
    Ok(true)
}

fn states(job: &Job, life: &Life) -> Result<()> {
    let numbers = job.first..job.first + job.count;
    let mut cuts: Vec<(u64, Cut)> = numbers.map(|number| (number, life.cut(number))).collect();
    cuts.sort_by_key(|(number, cut)| (cut.place, *number));
    let skip = usize::try_from(job.skip).unwrap_or_default();
    let cuts = cuts.get(skip..).unwrap_or_default();
    let places: Vec<usize> = cuts.iter().map(|(_, cut)| cut.place).collect();
    let mut outcome = Ok(());
    life.replay(&places, |index, medium, progress| {
        if let Some((number, cut)) = cuts.get(index)
            && outcome.is_ok()
        {
            outcome = state(job, life, (*number, cut), medium, progress);
        }
    });
    outcome
}

fn state(
    job: &Job,
    life: &Life,
    (number, cut): (u64, &Cut),
    medium: &super::medium::Medium,
    progress: &Progress,
) -> Result<()> {
    let kind = format!("{} {}", cut.kind.name(), cut.loss.name());
    say(&format!("begin {number}"))?;
    let mut tree = crash(medium, cut.loss, &cut.random);
    if cut.random.below(RESERVE_LEFT) > 0 && tree.entries.contains_key(ENGINE) {
        tree.file(super::RESERVE, super::content::Content::default());
    }
    let place = job.scratch.join(format!("state-{number}"));
    tree.write(&place)?;
    let window = life.window(cut.loss, progress);
    let verdict = contained(&place, &life.plan, window);
    fs::remove_dir_all(&place)?;
    say(&match verdict {
        Ok(_) => format!("ok {number} {kind}"),
        Err(Fault::Lost(text)) => format!("lost {number} {kind}: {} {text}", at(cut)),
        Err(Fault::Wrong(text)) => format!("wrong {number} {kind}: {} {text}", at(cut)),
    })
}

fn at(cut: &Cut) -> String {
    format!("(record {})", cut.place)
}

/// Judges, and takes a panic for what it is.
fn contained(
    place: &Path,
    plan: &Plan,
    window: super::judge::Window,
) -> std::result::Result<usize, Fault> {
    let judged = catch_unwind(AssertUnwindSafe(|| judge(place, plan, window)));
    judged.unwrap_or_else(|panic| Err(Fault::Wrong(format!("a panic: {}", words(&panic)))))
}

/// What a panic said.
pub fn words(panic: &Box<dyn Any + Send>) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "no reason given".to_owned())
}
