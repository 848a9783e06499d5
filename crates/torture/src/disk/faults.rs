//! Faults: one call of one call site fails, and the engine has to live with it.
//!
//! ```text
//!   survey     the steps are taken once without a fault; the log names the call sites
//!   cases      call site × (no space │ input/output error) × (once │ until lifted) [× half of a write]
//!   a case     the steps are taken, and the call fails
//!                ├─ what the subject said: errors in words that help, nothing done by halves
//!                ├─ what is in the directory afterwards, opened without the fault
//!                └─ what a crash after the fault leaves: a failed sync leaves doubtful pages behind
//! ```
//!
//! A call site is a stack of return addresses. Threads take turns in another way in every run, so a site
//! may not be met again; it is tried a few times, and counted if it was never met.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use storage::env::{Random, SeededRandom};

use super::judge::Window;
use super::life::{Orders, Seeds};
use super::log::{self, Kind, Record};
use super::subject::Progress;
use crate::Result;

const NO_SPACE: i32 = 28;
const IO_ERROR: i32 = 5;

/// How often a case is tried whose call site is not met.
const TRIES: u32 = 3;

/// Steps of a plan with a fault: enough for flushes, compactions and journals that change.
const STEPS: usize = 80;

/// Plans whose call sites are tried.
const PLANS: u64 = 3;

/// A call that fails.
#[derive(Clone, Debug)]
pub struct Case {
    /// The plan that is carried out.
    pub seed: u64,
    /// The call site, or 0 for any.
    pub site: u64,
    /// Which of its calls.
    pub nth: u64,
    /// The system's number of the error.
    pub error: i32,
    /// How it fails, in the recorder's letters.
    pub mode: &'static str,
    /// What is called there, and on what.
    pub call: String,
    tries: u32,
}

impl Case {
    /// What the recorder is told.
    pub fn fault(&self) -> String {
        format!("{:x}:{}:{}:{}", self.site, self.nth, self.error, self.mode)
    }

    /// What the recorder does.
    pub fn orders(&self) -> Orders {
        Orders {
            fault: Some(self.fault()),
            reads: self.call.starts_with(Kind::Read.name()),
        }
    }

    /// The name of its error.
    pub fn error_name(&self) -> &'static str {
        match self.error {
            NO_SPACE => "ENOSPC",
            _ => "EIO",
        }
    }

    /// What decides a life with this fault.
    pub fn seeds(&self, number: u64) -> Seeds {
        seeds(self.seed, number)
    }
}

/// What decides a life without one.
pub fn seeds(seed: u64, number: u64) -> Seeds {
    Seeds {
        seed,
        steps: STEPS,
        count: STEPS,
        window: Window { low: 0, high: 0 },
        number,
    }
}

/// The plans of a run.
pub fn plans(seed: u64) -> Vec<u64> {
    let random = SeededRandom::new(seed ^ 0xFA17);
    (0..PLANS).map(|_| random.next_u64()).collect()
}

/// Cases that are left, and the call sites that were met.
#[derive(Debug, Default)]
pub struct Cases {
    queue: VecDeque<Case>,
    later: Vec<Case>,
    sites: BTreeMap<u64, bool>,
}

impl Cases {
    /// Adds the cases of call sites that are new.
    pub fn add(&mut self, seed: u64, log: &Path) -> Result<()> {
        let random = SeededRandom::new(seed);
        let mut calls: BTreeMap<u64, (String, bool, u64)> = BTreeMap::new();
        let mut names: BTreeMap<u64, String> = BTreeMap::new();
        for record in log::read(log)? {
            if matches!(record.kind, Kind::Open) && record.error == 0 {
                names.insert(record.ino, class(&record.path).to_owned());
            }
            if record.kind == Kind::Mark {
                continue;
            }
            let call = || (call(&record, &names), false, 0);
            let known = calls.entry(record.site).or_insert_with(call);
            known.1 |= record.needs_room();
            known.2 += 1;
        }
        let (mut first, mut added) = (Vec::new(), Vec::new());
        for (site, (call, needs_room, count)) in calls {
            if self.sites.contains_key(&site) {
                continue;
            }
            self.sites.insert(site, false);
            let mut modes = vec!["o", "l"];
            if call.starts_with("write") {
                modes.push("os");
                modes.push("ls");
            }
            for error in [NO_SPACE, IO_ERROR] {
                if error == NO_SPACE && !needs_room {
                    continue;
                }
                let chosen = random.below(u64::try_from(modes.len()).unwrap_or(1));
                for (place, mode) in (0..).zip(&modes) {
                    let case = Case {
                        seed,
                        site,
                        nth: 1 + random.below(count.max(2) / 2),
                        error,
                        mode,
                        call: call.clone(),
                        tries: 0,
                    };
                    let list = if place == chosen {
                        &mut first
                    } else {
                        &mut added
                    };
                    list.push(case);
                }
            }
        }
        self.shuffle(first, &random);
        self.later.append(&mut added);
        Ok(())
    }

    fn shuffle(&mut self, mut added: Vec<Case>, random: &SeededRandom) {
        // In no order, so that any part of them is a sample.
        while !added.is_empty() {
            let count = u64::try_from(added.len()).unwrap_or(1);
            let place = usize::try_from(random.below(count)).unwrap_or_default();
            self.queue.push_back(added.swap_remove(place));
        }
    }

    /// The next case: each call site with each error in some way, and then in the other ways.
    pub fn take(&mut self) -> Option<Case> {
        if self.queue.is_empty() {
            let later = std::mem::take(&mut self.later);
            let seed = later.first().map_or(0, |case| case.seed);
            self.shuffle(later, &SeededRandom::new(seed));
        }
        self.queue.pop_front()
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.queue.len() + self.later.len()
    }

    /// How many call sites there are, and how many of them were met.
    pub fn sites(&self) -> (usize, usize) {
        let met = self.sites.values().filter(|met| **met).count();
        (self.sites.len(), met)
    }

    /// Takes account of a case: whether its call site was met.
    pub fn done(&mut self, mut case: Case, met: bool) {
        if met {
            self.sites.insert(case.site, true);
        } else if case.tries < TRIES {
            case.tries += 1;
            case.nth = 1;
            self.queue.push_back(case);
        }
    }
}

fn call(record: &Record, names: &BTreeMap<u64, String>) -> String {
    let unknown = "file".to_owned();
    let on = match record.path.as_str() {
        "" => names.get(&record.ino).unwrap_or(&unknown).clone(),
        path => class(path).to_owned(),
    };
    format!("{} {on}", record.kind.name())
}

fn class(path: &str) -> &'static str {
    match path.rsplit('/').next() {
        Some(name) if name.starts_with(".tmp") => "draft",
        _ => super::flips::class(path),
    }
}

/// What is wrong with what a subject said under a fault.
pub fn complaints(case: &Case, progress: &Progress) -> Vec<String> {
    let mut complaints = progress.odd.clone();
    // A disk that was full for a moment leaves no trace that a thread in the background could tell of.
    if case.error == NO_SPACE && case.mode.contains('l') {
        let unhelpful = progress.failures.iter().find(|text| {
            let text = text.to_lowercase();
            !["space", "disk", "again"]
                .iter()
                .any(|word| text.contains(word))
        });
        complaints.extend(unhelpful.map(|text| format!("says nothing of a full disk: {text}")));
    }
    complaints
}

/// What the marks of a log say, and whether a call was made to fail.
pub fn heard(path: &Path) -> Result<(Progress, bool)> {
    let mut progress = Progress::default();
    let mut met = false;
    for record in log::read(path)? {
        met |= record.injected();
        if record.kind == Kind::Mark {
            progress.read(&record.data);
        }
    }
    Ok((progress, met))
}
