//! The recorder: some transactions, whole, with the values that a key could be made of.
//!
//! ```text
//!   a transaction begins ── is it the turn of its first statement? ── no: an addition and a look
//!                                   │ yes
//!   each of its statements ─────────┴─► parameters, some rows written, some rows found ─► queue
//!                                                                                           │
//!   every second, in the background:  ops of a trace ─► lines ─► the newest segment ◄───────┘
//!                                     the oldest segments go when there is too much
//! ```
//!
//! Turns are by the *fingerprint* of the first statement that touches rows, so the job that runs once
//! an hour is there beside the lookup that runs ten thousand times a second. A transaction that is
//! recorded stands for all that began with the same statement since the last one: that is its weight.
//! When too many statements have their turns at once, all of them rest longer.
//!
//! What is recorded is worked out of statements and rows later, by a thread that has the time. A
//! transaction that rolls back is not recorded. Nothing waits for the recorder: what does not fit into
//! its queue is forgotten, and what it cannot write is too.

mod export;
mod lines;
mod request;
mod segments;
mod spending;
mod take;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keys::Value;
use parking_lot::Mutex;
use sql::{Catalog, Tally};
use txn::Store;

use crate::policy::{Policies, Policy};

use self::lines::Lines;
pub use self::request::Request;
pub(crate) use self::take::{Seen, Take};

/// How long one statement rests between two turns when there is room, and at most.
const REST_NS_MIN: u64 = 50_000_000;
const REST_NS_MAX: u64 = 60_000_000_000;
/// Transactions that wait to be written.
const QUEUE_MAX: usize = 2_000;
/// How long a transaction waits for a statement whose rows are still being taken.
const WAIT_US_MAX: u64 = 10_000_000;

/// Records transactions of all sessions.
#[derive(Debug)]
pub(crate) struct Recorder {
    on: AtomicBool,
    rest_ns: AtomicU64,
    /// How many may still be taken until the next round.
    room: AtomicU64,
    queue: Mutex<Vec<Take>>,
    lines: Mutex<Lines>,
}

/// What the recorder looks at when it writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'g> {
    pub(crate) store: &'g Store,
    pub(crate) catalog: &'g Catalog,
    pub(crate) policy: &'g Policies,
}

impl Recorder {
    /// A recorder that keeps its segments in a folder, or in memory if there is none.
    pub(crate) fn new(folder: Option<PathBuf>, policy: &Policy) -> Self {
        Self {
            on: AtomicBool::new(policy.record),
            rest_ns: AtomicU64::new(REST_NS_MIN),
            room: AtomicU64::new(policy.record_per_second),
            queue: Mutex::default(),
            lines: Mutex::new(Lines::new(folder)),
        }
    }

    /// Whether anything is recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// For how many transactions one stands that begins now with this statement, if it is to be
    /// recorded.
    #[inline]
    pub(crate) fn turn(&self, tally: &Tally, now_ns: u64) -> Option<u64> {
        if !self.is_on() {
            return None;
        }
        let rest_ns = self.rest_ns.load(Ordering::Relaxed);
        tally.turn(now_ns, rest_ns, || {
            let less = |room: u64| room.checked_sub(1);
            let order = Ordering::Relaxed;
            self.room.fetch_update(order, order, less).is_ok()
        })
    }

    /// A transaction has ended, or is a statement of its own.
    pub(crate) fn push(&self, take: Take) {
        let mut queue = self.queue.lock();
        if queue.len() < QUEUE_MAX {
            queue.push(take);
        }
    }

    /// A round: writes what has ended, and sees how long statements have to rest.
    pub(crate) fn round(&self, ground: Ground<'_>) {
        let policy = ground.policy.get();
        self.on.store(policy.record, Ordering::Relaxed);
        let left = self.room.swap(policy.record_per_second, Ordering::Relaxed);
        let rest_ns = self.rest_ns.load(Ordering::Relaxed);
        let rest_ns = match left {
            0 => rest_ns.saturating_mul(2).min(REST_NS_MAX),
            left if left > policy.record_per_second / 2 => (rest_ns / 2).max(REST_NS_MIN),
            _ => rest_ns,
        };
        self.rest_ns.store(rest_ns, Ordering::Relaxed);
        self.write(ground);
    }

    /// Writes what has ended.
    fn write(&self, ground: Ground<'_>) {
        let mut lines = self.lines.lock();
        let now_us = ground.store.now_us();
        let ended = |take: &mut Take| {
            take.has_ended() || now_us.saturating_sub(take.began_us) > WAIT_US_MAX
        };
        let ready: Vec<Take> = self.queue.lock().extract_if(.., ended).collect();
        if !ready.is_empty() {
            // A disk that is full is told by what matters; the recorder goes on when it can.
            let _ = lines.add(ground, ready);
        }
    }

    /// The statements that were seen to read a table and nothing else, by their fingerprints.
    pub(crate) fn reads_of(&self, table: u32) -> Vec<u64> {
        self.lines.lock().reads_of(table)
    }

    /// Everything that is recorded, as the lines of one trace.
    pub(crate) fn export(&self, ground: Ground<'_>, out: &mut dyn Write) -> advisor::Result<()> {
        self.write(ground);
        self.lines.lock().export(ground, out)
    }
}

/// A table as a trace describes it.
pub(crate) fn described(ground: Ground<'_>, table: &sql::Table) -> Option<advisor::trace::Table> {
    lines::described(ground, table, &ground.policy.get())
}

/// The lines of a trace, for those who ask with SQL.
pub(crate) fn shown(recorder: &Arc<Recorder>, ground: Ground<'_>) -> Vec<Value> {
    let mut shown = Shown::default();
    // A segment that cannot be read is left out, and so is what comes behind it.
    let _ = recorder.export(ground, &mut shown);
    shown.lines
}

/// Cuts what is written into lines as it comes, so that the text is nowhere as a whole.
#[derive(Debug, Default)]
struct Shown {
    lines: Vec<Value>,
    /// The line that has no end yet.
    open: Vec<u8>,
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            match part.split_last() {
                Some((b'\n', line)) => {
                    self.open.extend_from_slice(line);
                    let line = String::from_utf8_lossy(&self.open);
                    self.lines.push(Value::Utf8(line.as_ref().into()));
                    self.open.clear();
                }
                _ => self.open.extend_from_slice(part),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_into_lines_wherever_it_is_cut_into_pieces() {
        let text = "{\"a\":\"ü\"}\n\nsecond\nno end".as_bytes();
        for size in 1..=text.len() {
            let mut shown = Shown::default();
            for piece in text.chunks(size) {
                shown.write_all(piece).unwrap();
            }
            let lines: Vec<_> = shown.lines.iter().map(Value::to_string).collect();
            assert_eq!(lines, ["{\"a\":\"ü\"}", "", "second"], "{size}");
        }
    }
}
