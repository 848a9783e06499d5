//! The workload: steps that a seed decides, and what the spaces hold after each of them.
//!
//! One client takes the steps one after the other, so whatever a medium loses, what is left must be the
//! state after some step. Each state has a fingerprint, by which it is found.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use storage::env::{Random, SeededRandom};

/// A row of a space: no value means that it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number of the space.
    pub space: u64,
    /// The key.
    pub key: Vec<u8>,
    /// Its new value.
    pub value: Option<Vec<u8>>,
}

/// What the client does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A batch over several spaces, synced or buffered.
    Batch(Vec<Change>, bool),
    /// Everything becomes durable.
    Sync,
    /// Sorted rows are loaded into a space.
    Ingest(u64, Vec<(Vec<u8>, Vec<u8>)>),
    /// A space is made.
    Create(u64),
    /// A space is dropped.
    Drop(u64),
    /// The engine is closed and opened again.
    Reopen,
    /// Nothing is done for some milliseconds.
    Pause(u64),
}

impl Step {
    /// What it is called in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Batch(_, true) => "synced batch",
            Self::Batch(_, false) => "buffered batch",
            Self::Sync => "sync",
            Self::Ingest(..) => "load",
            Self::Create(_) => "creation of a space",
            Self::Drop(_) => "drop of a space",
            Self::Reopen => "reopening",
            Self::Pause(_) => "pause",
        }
    }
}

/// The rows of a space.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// The rows of all spaces.
pub type Spaces = BTreeMap<u64, Rows>;

/// Spaces that come and go have numbers from this on.
const PASSING: u64 = 4;
const SPACES: u64 = 6;

const KEYS: u64 = 250;
const CHANGES_MAX: u64 = 10;
const ROWS_MAX: u64 = 150;
const PAUSE_MS_MAX: u64 = 6;

/// So many steps sync now and then, and as many seldom.
const STRETCH: u64 = 30;

/// Every batch writes its number here, in each of its spaces.
const HEAD: &[u8] = b"head";

/// Steps, and the fingerprints of the states between them.
#[derive(Debug)]
pub struct Plan {
    /// The steps. State `n` is what there is after the first `n` of them.
    pub steps: Vec<Step>,
    fingerprints: Vec<u64>,
}

impl Plan {
    /// The plan of so many steps that the seed names.
    pub fn new(seed: u64, length: usize) -> Self {
        let mut drawing = Drawing {
            random: SeededRandom::new(seed),
            spaces: Vec::new(),
            number: 0,
        };
        let steps: Vec<Step> = (0..length).map(|_| drawing.step()).collect();
        let mut spaces = Spaces::new();
        let mut fingerprints = vec![fingerprint(&spaces)];
        let mut print = fingerprint(&spaces);
        for step in &steps {
            print ^= apply(step, &mut spaces);
            fingerprints.push(print);
        }
        Self {
            steps,
            fingerprints,
        }
    }

    /// The rows after the first `state` steps.
    pub fn contents(&self, state: usize) -> Spaces {
        let mut spaces = Spaces::new();
        for step in self.steps.iter().take(state) {
            apply(step, &mut spaces);
        }
        spaces
    }

    /// The last of the states from `low` to `high` that looks like that.
    pub fn find(&self, low: usize, high: usize, print: u64) -> Option<usize> {
        (low..=high)
            .rev()
            .find(|state| self.fingerprints.get(*state) == Some(&print))
    }
}

/// One number for the rows of all spaces.
pub fn fingerprint(spaces: &Spaces) -> u64 {
    let rows = |(space, rows): (&u64, &Rows)| {
        let each = rows
            .iter()
            .map(|(key, value)| print_of_row(*space, key, value));
        each.fold(print_of_space(*space), |all, one| all ^ one)
    };
    spaces.iter().map(rows).fold(0, |all, one| all ^ one)
}

fn print_of_row(space: u64, key: &[u8], value: &[u8]) -> u64 {
    hash(&(space, key, value))
}

fn print_of_space(space: u64) -> u64 {
    hash(&(space, "space"))
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Does a step to the rows. The answer is how the fingerprint changes.
pub fn apply(step: &Step, spaces: &mut Spaces) -> u64 {
    let mut print = 0;
    match step {
        Step::Batch(changes, _) => {
            for change in changes {
                print ^= set(spaces, change.space, &change.key, change.value.as_ref());
            }
        }
        Step::Ingest(space, rows) => {
            for (key, value) in rows {
                print ^= set(spaces, *space, key, Some(value));
            }
        }
        Step::Create(space) => {
            if spaces.insert(*space, Rows::new()).is_none() {
                print = print_of_space(*space);
            }
        }
        Step::Drop(space) => {
            let rows = spaces.remove(space);
            print = rows.map_or(0, |rows| fingerprint(&Spaces::from([(*space, rows)])));
        }
        Step::Sync | Step::Reopen | Step::Pause(_) => {}
    }
    print
}

fn set(spaces: &mut Spaces, space: u64, key: &[u8], value: Option<&Vec<u8>>) -> u64 {
    let Some(rows) = spaces.get_mut(&space) else {
        return 0;
    };
    let old = match value {
        Some(value) => rows.insert(key.to_vec(), value.clone()),
        None => rows.remove(key),
    };
    let old = old.map_or(0, |old| print_of_row(space, key, &old));
    old ^ value.map_or(0, |value| print_of_row(space, key, value))
}

/// How steps are drawn.
struct Drawing {
    random: SeededRandom,
    spaces: Vec<u64>,
    number: u64,
}

impl Drawing {
    fn step(&mut self) -> Step {
        self.number += 1;
        if self.number < PASSING {
            return self.create(self.number);
        }
        let stretch = self.number / STRETCH % 2 == 1;
        match self.random.below(100) {
            0..54 => Step::Batch(self.changes(), false),
            54..76 => Step::Batch(self.changes(), !stretch),
            76..80 if stretch => Step::Batch(self.changes(), false),
            76..80 => Step::Sync,
            80..84 => Step::Ingest(self.space(), self.rows()),
            84..88 => self.passing(),
            88..90 => Step::Reopen,
            _ => Step::Pause(self.random.below(PAUSE_MS_MAX)),
        }
    }

    fn create(&mut self, space: u64) -> Step {
        self.spaces.push(space);
        Step::Create(space)
    }

    fn passing(&mut self) -> Step {
        let space = PASSING + self.random.below(SPACES - PASSING);
        if self.spaces.contains(&space) {
            self.spaces.retain(|other| *other != space);
            Step::Drop(space)
        } else {
            self.create(space)
        }
    }

    fn space(&self) -> u64 {
        let count = u64::try_from(self.spaces.len()).expect("there are few spaces");
        let place = usize::try_from(self.random.below(count)).expect("a place in a list");
        *self.spaces.get(place).expect("a number below the length")
    }

    fn changes(&self) -> Vec<Change> {
        let mut spaces = [self.space(), self.space(), self.space()].to_vec();
        spaces.sort_unstable();
        spaces.dedup();
        let mut changes: Vec<Change> = spaces
            .iter()
            .map(|space| Change {
                space: *space,
                key: HEAD.to_vec(),
                value: Some(self.number.to_string().into_bytes()),
            })
            .collect();
        for _ in 0..self.random.below(CHANGES_MAX) {
            let place = self.random.below(u64::try_from(spaces.len()).expect("few"));
            let place = usize::try_from(place).expect("few");
            changes.push(Change {
                space: *spaces.get(place).expect("a number below the length"),
                key: key(self.random.below(KEYS)),
                value: (self.random.below(4) > 0).then(|| self.value()),
            });
        }
        changes
    }

    fn rows(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let count = 1 + self.random.below(ROWS_MAX);
        let rows: BTreeMap<_, _> = (0..count)
            .map(|_| (key(self.random.below(KEYS)), self.value()))
            .collect();
        rows.into_iter().collect()
    }

    /// Bytes that do not compress, behind the number of the step.
    fn value(&self) -> Vec<u8> {
        let length = match self.random.below(100) {
            0..70 => 10 + self.random.below(150),
            70..90 => 200 + self.random.below(1_000),
            90..98 => 3_000 + self.random.below(6_000),
            _ => 10_000 + self.random.below(20_000),
        };
        let length = usize::try_from(length).expect("a short length");
        let mut value = format!("step {} ", self.number).into_bytes();
        while value.len() < length {
            value.extend(self.random.next_u64().to_le_bytes());
        }
        value
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number:04}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_the_plan() {
        assert_eq!(Plan::new(3, 50).steps, Plan::new(3, 50).steps);
        assert_ne!(Plan::new(3, 50).steps, Plan::new(4, 50).steps);
    }

    #[test]
    fn a_state_is_found_by_its_rows() {
        let plan = Plan::new(1, 80);
        for state in 0..=80 {
            let print = fingerprint(&plan.contents(state));
            let found = plan.find(0, 80, print).unwrap();
            assert_eq!(plan.contents(found), plan.contents(state));
        }
        assert_eq!(plan.find(0, 80, 12_345), None);
    }

    #[test]
    fn half_of_a_batch_is_no_state() {
        let plan = Plan::new(2, 60);
        for (state, step) in plan.steps.iter().enumerate() {
            let Step::Batch(changes, synced) = step else {
                continue;
            };
            for half in 1..changes.len() {
                let mut spaces = plan.contents(state);
                apply(&Step::Batch(changes[..half].to_vec(), *synced), &mut spaces);
                let same = spaces == plan.contents(state + 1);
                let found = plan.find(0, 60, fingerprint(&spaces));
                assert!(same || found.is_none(), "step {state}, {half} changes");
            }
        }
    }
}
