//! The judge: what an engine answers, against the states that it may be in.
//!
//! One client wrote, so what is left after any crash is the state after one of its steps: not an earlier
//! one than the last that was durable, and not a later one than the last that was begun. Half of a
//! batch, a batch without an earlier one, an old value or a made-up one all are no such state.

use std::collections::BTreeMap;
use std::path::Path;

use storage::{
    Batch, Bytes, Direction, Durability, Engine, FjallEngine, FjallOptions, KeyRange, SpaceId,
};

use super::plan::{Plan, Spaces, Step, apply, fingerprint};

/// How many differences a finding names.
const DIFFERENCES_MAX: usize = 6;

/// The states that are right: from the last that is durable to the last that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// What is durable at least.
    pub low: usize,
    /// What was begun at most.
    pub high: usize,
}

/// What is wrong with an engine.
#[derive(Debug)]
pub enum Fault {
    /// Something durable is missing, or the engine cannot be opened or read.
    Lost(String),
    /// It answers what was never so, or answers differently when asked in another way.
    Wrong(String),
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unread {
    /// The engine said so.
    Refused(storage::Error),
    /// Two answers contradict each other.
    Contradiction(String),
}

impl From<storage::Error> for Unread {
    fn from(error: storage::Error) -> Self {
        Self::Refused(error)
    }
}

/// Small limits, so that memtables are flushed and tables compacted all the time.
pub fn options() -> FjallOptions {
    FjallOptions {
        journal_zeros: true,
        cache_bytes_max: 1 << 20,
        memtable_bytes_max: 24 << 10,
        memtables_bytes_max: 256 << 10,
        journal_bytes_max: 1 << 20,
        worker_threads: Some(2),
    }
}

/// Opens the engine in a directory.
pub fn open(path: &Path) -> storage::Result<FjallEngine> {
    FjallEngine::open(path, options())
}

/// All rows, read in both directions and, one key in `step`, by themselves.
pub fn read(engine: &dyn Engine, step: usize) -> Result<Spaces, Unread> {
    let mut spaces = Spaces::new();
    let view = engine.snapshot()?;
    for space in engine.spaces()? {
        let mut rows = BTreeMap::new();
        let mut before: Option<Bytes> = None;
        for pair in view.scan(space, &KeyRange::all(), Direction::Ascending)? {
            let (key, value) = pair?;
            if before.is_some_and(|before| before >= key) {
                let text = format!("{space}: {} comes out of order", name(&key));
                return Err(Unread::Contradiction(text));
            }
            before = Some(key.clone());
            rows.insert(key.to_vec(), value.to_vec());
        }
        let mut back = view.scan(space, &KeyRange::all(), Direction::Descending)?;
        for (key, value) in rows.iter().rev() {
            let same = match back.next().transpose()? {
                Some((other, other_value)) => key == &other && value == &other_value,
                None => false,
            };
            if !same {
                let text = format!("{space}: scans differ at {}", name(key));
                return Err(Unread::Contradiction(text));
            }
        }
        if let Some((key, _)) = back.next().transpose()? {
            let text = format!("{space}: only backwards there is {}", name(&key));
            return Err(Unread::Contradiction(text));
        }
        for (key, value) in rows.iter().step_by(step) {
            let got = engine.get(space, key)?;
            if got.as_deref() != Some(value) || view.get(space, key)? != got {
                let text = format!("{space}: a get of {} differs from a scan", name(key));
                return Err(Unread::Contradiction(text));
            }
            let mut absent = key.clone();
            absent.push(b'!');
            if engine.get(space, &absent)?.is_some() {
                let text = format!("{space}: {} is only there for a get", name(&absent));
                return Err(Unread::Contradiction(text));
            }
        }
        spaces.insert(space.0, rows);
    }
    Ok(spaces)
}

fn name(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// The state that rows are, if it is one of the window.
pub fn place(plan: &Plan, found: &Spaces, window: Window) -> Result<usize, Fault> {
    let print = fingerprint(found);
    if let Some(state) = plan.find(window.low, window.high, print) {
        return Ok(state);
    }
    let states = format!("states {} to {}", window.low, window.high);
    if let Some(state) = plan.find(0, plan.steps.len(), print) {
        let text = format!("it is in state {state}, and {states} are right");
        return Err(if state < window.low {
            Fault::Lost(text)
        } else {
            Fault::Wrong(text)
        });
    }
    let mut nearest = (usize::MAX, window.low, Vec::new());
    let mut spaces = plan.contents(window.low);
    for state in window.low..=window.high {
        let found = differences(&spaces, found);
        if found.len() < nearest.0 {
            nearest = (found.len(), state, found);
        }
        if let Some(step) = plan.steps.get(state) {
            apply(step, &mut spaces);
        }
    }
    let (count, state, mut lines) = nearest;
    lines.truncate(DIFFERENCES_MAX);
    let lines = lines.join("; ");
    Err(Fault::Wrong(format!(
        "it is in no state that ever was; of {states}, {state} is nearest, with {count} differences: {lines}"
    )))
}

/// What `found` has that it should not have, and the other way round.
fn differences(right: &Spaces, found: &Spaces) -> Vec<String> {
    let mut lines = Vec::new();
    let empty = BTreeMap::new();
    for space in right.keys() {
        if !found.contains_key(space) {
            lines.push(format!("space {space} is missing"));
        }
    }
    for (space, rows) in found {
        if !right.contains_key(space) {
            lines.push(format!("space {space} should not be there"));
        }
        let expected = right.get(space).unwrap_or(&empty);
        for (key, value) in rows {
            match expected.get(key) {
                Some(same) if same == value => {}
                Some(other) => lines.push(format!(
                    "space {space}, {}: {} instead of {}",
                    name(key),
                    origin(value),
                    origin(other)
                )),
                None => lines.push(format!(
                    "space {space}, {}: {} instead of nothing",
                    name(key),
                    origin(value)
                )),
            }
        }
        for (key, value) in expected {
            if !rows.contains_key(key) {
                lines.push(format!(
                    "space {space}, {}: nothing instead of {}",
                    name(key),
                    origin(value)
                ));
            }
        }
    }
    lines
}

/// The readable start of a value.
fn origin(value: &[u8]) -> String {
    let end = value.iter().position(|byte| !(b' '..=b'~').contains(byte));
    let start = value.get(..end.unwrap_or(value.len()).min(16));
    String::from_utf8_lossy(start.unwrap_or_default()).into_owned()
}

/// Judges what is in a directory, then writes more, closes it and judges what is there again. The
/// answer is the state that it was in.
pub fn judge(path: &Path, plan: &Plan, window: Window) -> Result<usize, Fault> {
    let engine = open(path).map_err(|error| Fault::Lost(format!("it does not open: {error}")))?;
    let found = read(&engine, 1).map_err(|unread| unread.fault("it cannot be read"))?;
    let state = place(plan, &found, window)?;
    let expected = write_more(&engine, plan, state).map_err(|error| {
        Fault::Lost(format!("in state {state} it does not take writes: {error}"))
    })?;
    drop(engine);
    let engine = open(path).map_err(|error| {
        Fault::Lost(format!("in state {state} it does not open again: {error}"))
    })?;
    let found = read(&engine, 3).map_err(|unread| unread.fault("it cannot be read again"))?;
    if found != expected {
        let mut lines = differences(&expected, &found);
        lines.truncate(DIFFERENCES_MAX);
        let text = format!(
            "in state {state} it took writes, and is another when opened again: {}",
            lines.join("; ")
        );
        return Err(Fault::Wrong(text));
    }
    Ok(state)
}

impl Unread {
    /// What it means when everything should be readable.
    pub fn fault(self, when: &str) -> Fault {
        match self {
            Self::Refused(error) => Fault::Lost(format!("{when}: {error}")),
            Self::Contradiction(text) => Fault::Wrong(text),
        }
    }
}

/// Takes the next steps of the plan that write, durably; the answer is what must be there then.
fn write_more(engine: &dyn Engine, plan: &Plan, state: usize) -> storage::Result<Spaces> {
    let mut spaces = plan.contents(state);
    for space in [1, 2] {
        engine.create_space(SpaceId(space))?;
        spaces.entry(space).or_default();
    }
    for number in 0..3_u64 {
        let mut batch = Batch::new();
        for space in [1, 2] {
            let (key, value) = (format!("after {number}"), format!("written {state}"));
            batch.put(SpaceId(space), key.clone(), value.clone());
            let rows = spaces.entry(space).or_default();
            rows.insert(key.into_bytes(), value.into_bytes());
        }
        let durability = match number {
            0 => Durability::Synced,
            _ => Durability::Buffered,
        };
        engine.write(batch, durability)?;
    }
    engine.sync()?;
    Ok(spaces)
}

/// Takes a step.
pub fn take(engine: &dyn Engine, step: &Step) -> storage::Result<()> {
    match step {
        Step::Batch(changes, synced) => {
            let mut batch = Batch::new();
            for change in changes {
                let space = SpaceId(change.space);
                match &change.value {
                    Some(value) => batch.put(space, change.key.clone(), value.clone()),
                    None => batch.remove(space, change.key.clone()),
                }
            }
            let durability = match synced {
                true => Durability::Synced,
                false => Durability::Buffered,
            };
            engine.write(batch, durability)
        }
        Step::Sync => engine.sync(),
        Step::Ingest(space, rows) => {
            let mut rows = rows
                .iter()
                .map(|(key, value)| (Bytes::from(key.clone()), Bytes::from(value.clone())));
            engine.ingest(SpaceId(*space), &mut rows).map(|_| ())
        }
        Step::Create(space) => engine.create_space(SpaceId(*space)),
        Step::Drop(space) => engine.drop_space(SpaceId(*space)),
        Step::Reopen | Step::Pause(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
