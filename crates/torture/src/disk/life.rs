//! One life of an engine, recorded: the directory that it began with, and the log of what it did.
//!
//! ```text
//!   <life>/
//!   ├── base/     the directory at its beginning: empty, or what a crash left of another life
//!   ├── live/     where it ran
//!   ├── log       the recorder's
//!   └── life      its seeds and numbers
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use storage::env::{Random, SeededRandom};

use super::children::{self, End};
use super::crash::{Loss, crash, pick};
use super::judge::Window;
use super::log::{self, Kind, Record};
use super::medium::Medium;
use super::plan::Plan;
use super::subject::{Job, Progress};
use super::tree::Tree;
use crate::{Error, Result};

/// Longer than a life may be silent, since a lasting failure may be waited for.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Journals are taken for almost full from the beginning, and change after so many bytes.
const JOURNAL_BYTES: u64 = 300_000;
const JOURNAL_FULL_BYTES: u64 = 64_000_000;

const RECORDER: &str = include_str!("recorder.c");

/// The recorder, compiled.
#[derive(Debug)]
pub struct Recorder {
    library: PathBuf,
    program: PathBuf,
}

impl Recorder {
    /// Compiles the recorder into a folder. `program` is this program.
    pub fn build(folder: &Path, program: &Path) -> Result<Self> {
        let source = folder.join("recorder.c");
        let library = folder.join("recorder.so");
        fs::write(&source, RECORDER)?;
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::Disk(format!("cc cannot build the recorder: {text}")));
        }
        Ok(Self {
            library,
            program: program.to_path_buf(),
        })
    }

    /// Runs a subject under the recorder.
    pub fn run(&self, job: &Job, log: &Path, orders: &Orders) -> Result<End> {
        let mut command = children::command(&self.program, super::SUBJECT);
        let shift = JOURNAL_FULL_BYTES - JOURNAL_BYTES;
        command
            .args(job.words())
            .env("LD_PRELOAD", &self.library)
            .env("EVENKEEL_DISK_ROOT", &job.directory)
            .env("EVENKEEL_DISK_LOG", log)
            .env("EVENKEEL_DISK_MARKS", &job.marks)
            .env("EVENKEEL_DISK_LIFTED", &job.lifted)
            .env("EVENKEEL_DISK_SHIFT", shift.to_string());
        if let Some(fault) = &orders.fault {
            command.env("EVENKEEL_DISK_FAULT", fault);
        }
        if orders.reads {
            command.env("EVENKEEL_DISK_READS", "1");
        }
        children::watch(&mut command, SILENCE_MAX, |_| {})
    }
}

/// What the recorder does besides writing down what changes files.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// What it fails, in its own words.
    pub fault: Option<String>,
    /// Whether it writes down reads too, and fails them.
    pub reads: bool,
}

/// What decides a life.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// The seed of the plan.
    pub seed: u64,
    /// How many steps the plan has.
    pub steps: usize,
    /// How many of them are taken in this life.
    pub count: usize,
    /// The states that the base may be in.
    pub window: Window,
    /// The number of the life in the run.
    pub number: u64,
}

/// A life, read back.
#[derive(Debug)]
pub struct Life {
    /// What decided it.
    pub seeds: Seeds,
    /// The plan.
    pub plan: Plan,
    /// The directory at its beginning.
    pub base: Medium,
    /// What it did.
    pub records: Vec<Record>,
}

impl Life {
    /// Lives it in `folder`, which holds the base or nothing.
    pub fn record(
        folder: &Path,
        seeds: Seeds,
        recorder: &Recorder,
        orders: &Orders,
    ) -> Result<End> {
        let base = folder.join("base");
        fs::create_dir_all(&base)?;
        let live = folder.join("live");
        Tree::read(&base)?.write(&live)?;
        let Seeds {
            seed,
            steps,
            count,
            window,
            number,
        } = seeds;
        let text = format!(
            "{seed} {steps} {count} {} {} {number}\n",
            window.low, window.high
        );
        fs::write(folder.join("life"), text)?;
        let job = Job {
            directory: live,
            marks: folder.join("marks"),
            lifted: folder.join("lifted"),
            seed,
            steps,
            count,
            window,
        };
        recorder.run(&job, &folder.join("log"), orders)
    }

    /// Reads what decided a life.
    pub fn seeds(folder: &Path) -> Result<Seeds> {
        let text = fs::read_to_string(folder.join("life"))?;
        let numbers: Vec<u64> = text
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let &[seed, steps, count, low, high, number] = numbers.as_slice() else {
            return Err(Error::Disk(format!("{} is no life", folder.display())));
        };
        let place = |number| usize::try_from(number).unwrap_or_default();
        Ok(Seeds {
            seed,
            steps: place(steps),
            count: place(count),
            window: Window {
                low: place(low),
                high: place(high),
            },
            number,
        })
    }

    /// Reads a life that was recorded.
    pub fn load(folder: &Path) -> Result<Self> {
        let seeds = Self::seeds(folder)?;
        Ok(Self {
            seeds,
            plan: Plan::new(seeds.seed, seeds.steps),
            base: Tree::read(&folder.join("base"))?.medium(),
            records: log::read(&folder.join("log"))?,
        })
    }

    /// Where power is cut in a crash state, and how: the number of the state decides.
    pub fn cut(&self, number: u64) -> Cut {
        let mut random = SeededRandom::new(self.seeds.seed ^ self.seeds.number.rotate_left(40));
        random = SeededRandom::new(random.next_u64() ^ number.wrapping_mul(0x9E37_79B9));
        let kind = *pick(&CUT_AT, &random).unwrap_or(&Kind::Write);
        // Where a fault was injected, what comes before it is as in any other life.
        let fault = self.records.iter().position(Record::injected);
        let places: Vec<usize> = self
            .records
            .iter()
            .enumerate()
            .skip(fault.unwrap_or_default())
            .filter(|(_, record)| record.kind == kind && !record.is_elided())
            .filter(|(_, record)| kind != Kind::Open || record.created())
            .map(|(place, _)| place)
            .collect();
        let place = pick(&places, &random).or(fault.as_ref());
        let place = place.copied().unwrap_or_default();
        let after = random.below(2) == 1;
        let loss = match random.below(8) {
            0 => Loss::Ended,
            1..=4 => Loss::Ordered,
            _ => Loss::Loose,
        };
        Cut {
            kind,
            loss,
            after,
            place: place + usize::from(after),
            random,
        }
    }

    /// The medium at some places of the log, which come in order, and what was promised by then.
    pub fn replay(&self, places: &[usize], mut tell: impl FnMut(usize, &Medium, &Progress)) {
        let mut medium = self.base.clone();
        let mut progress = Progress::from(self.seeds.window);
        let mut next = 0;
        for (index, place) in places.iter().enumerate() {
            for record in self.records.iter().take(*place).skip(next) {
                if record.kind == Kind::Mark {
                    progress.read(&record.data);
                } else {
                    medium.replay(record);
                }
            }
            next = next.max(*place);
            tell(index, &medium, &progress);
        }
    }

    /// The states that are right at a cut.
    pub fn window(&self, loss: Loss, progress: &Progress) -> Window {
        let states = self.plan.steps.len();
        match loss {
            Loss::Ended => progress.window_of_ended(states),
            Loss::Ordered | Loss::Loose => progress.window(states),
        }
    }

    /// A crash state and the states that are right in it, to begin another life with.
    pub fn state(&self, number: u64) -> (Tree, Window) {
        let cut = self.cut(number);
        let mut state = (Tree::default(), self.seeds.window);
        self.replay(&[cut.place], |_, medium, progress| {
            let window = self.window(cut.loss, progress);
            state = (crash(medium, cut.loss, &cut.random), window);
        });
        state
    }
}

/// What power is cut beside, each as often as the others.
const CUT_AT: [Kind; 9] = [
    Kind::Open,
    Kind::Write,
    Kind::Truncate,
    Kind::Sync,
    Kind::Sync,
    Kind::Rename,
    Kind::Unlink,
    Kind::MakeFolder,
    Kind::Mark,
];

/// Where and how power is cut.
#[derive(Debug)]
pub struct Cut {
    /// What was done beside it.
    pub kind: Kind,
    /// How names and bytes were lost.
    pub loss: Loss,
    /// Whether it is after that, or before.
    pub after: bool,
    /// So many records took effect.
    pub place: usize,
    /// Decides what is lost.
    pub random: SeededRandom,
}
