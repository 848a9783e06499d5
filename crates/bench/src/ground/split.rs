//! Splitting and merging a partition of 1 GB while eight threads read and write it.
//!
//! ```text
//!   readers  ×4   get ── get ── get ── get ──►
//!   writers  ×4   durable commit ── durable commit ──►
//!   splitter      split at the middle, wait, merge back, wait, split …
//! ```
//!
//! What is reported: the longest split, the longest merge, the longest request that was under way
//! during one of them, and requests that failed, of which there may be none. Blind writes cannot
//! conflict, so nothing is tried again. The readers never rest, so all processors are busy and a split
//! has to compete for them as it would on a loaded machine.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use db::{Durability, Row, Value};

use super::ours::Ours;
use super::rows;
use crate::measure::{Report, Sample, Stopwatch, drain, millis};
use crate::{Error, Result};

const READERS: u32 = 4;
const WRITERS: u32 = 4;

/// Times that the partition is split and merged back.
const ROUNDS: u32 = 10;

/// How long requests go on between two changes of the map.
const PAUSE: Duration = Duration::from_millis(300);

const BATCH_ROWS: u32 = 1_000;
const SPLIT_MS_LIMIT: f64 = 50.0;

/// Loads the rows, splits and merges under load, and judges.
pub(crate) fn judge(report: &mut Report, dir: &Path, rows: u32) -> Result<()> {
    let ours = Ours::open(&dir.join("split"))?;
    eprintln!("  split: loading {rows} rows of 1 KB");
    for first in (0..rows).step_by(usize::try_from(BATCH_ROWS).unwrap_or(1)) {
        let batch: Vec<Row> = (first..rows.min(first + BATCH_ROWS))
            .map(|number| rows::row(number, rows::NOTE_WORDS_LARGE))
            .collect();
        ours.write(&batch, Durability::Buffered)?;
    }
    ours.database.sync()?;
    drain();
    let bytes: u64 = describe_bytes(&ours)?;
    let traffic = Traffic::default();
    let changes = std::thread::scope(|scope| {
        for seed in 0..READERS + WRITERS {
            let (ours, traffic) = (&ours, &traffic);
            scope.spawn(move || traffic.run(ours, seed, rows));
        }
        let changes = split_and_merge(&ours, &traffic);
        traffic.stop.store(true, Ordering::SeqCst);
        changes
    });
    let changes = changes?;
    let requests = traffic.requests.into_inner();
    let failed = traffic.failed.into_inner();
    let how = format!(
        "ms for the longest of {ROUNDS} splits of {} MB (median {:.1}; longest merge {:.1})",
        bytes >> 20,
        changes.split_ms.median(),
        changes.merge_ms.most()
    );
    report.limit(
        "SPLIT_MS_MAX",
        changes.split_ms.most(),
        SPLIT_MS_LIMIT,
        &how,
    );
    let [during, outside] = traffic.longest_us.map(|us| {
        let us = u32::try_from(us.into_inner()).unwrap_or(u32::MAX);
        f64::from(us) / 1_000.0
    });
    report.say(&format!(
        "split_request_ms_max       longest of {requests} requests: {during:.1} ms during a split \
         or merge, {outside:.1} ms otherwise"
    ));
    report.must(
        "split_failed_requests",
        failed == 0 && requests > 0,
        &format!("{failed} of {requests} requests failed, none may"),
    );
    Ok(())
}

fn describe_bytes(ours: &Ours) -> Result<u64> {
    let partitions = ours.database.describe(&ours.table)?;
    match partitions.as_slice() {
        [one] => Ok(one.bytes),
        more => Err(Error::Wrong(format!(
            "{} partitions to begin with",
            more.len()
        ))),
    }
}

#[derive(Default)]
struct Changes {
    split_ms: Sample,
    merge_ms: Sample,
}

fn split_and_merge(ours: &Ours, traffic: &Traffic) -> Result<Changes> {
    let mut changes = Changes::default();
    pause();
    for round in 0..ROUNDS {
        let watch = Stopwatch::start();
        traffic.changing.fetch_add(1, Ordering::SeqCst);
        let halves = ours
            .database
            .split(&ours.table, &[Value::Uint64(u64::MAX / 2)])?;
        traffic.changing.fetch_add(1, Ordering::SeqCst);
        let split_ms = millis(watch.elapsed());
        pause();
        let watch = Stopwatch::start();
        traffic.changing.fetch_add(1, Ordering::SeqCst);
        ours.database.merge(&ours.table, &halves)?;
        traffic.changing.fetch_add(1, Ordering::SeqCst);
        let merge_ms = millis(watch.elapsed());
        eprintln!(
            "  split, round {}: {split_ms:.1} ms, merge {merge_ms:.1} ms",
            round + 1
        );
        changes.split_ms.add(split_ms);
        changes.merge_ms.add(merge_ms);
        pause();
    }
    Ok(changes)
}

fn pause() {
    std::thread::park_timeout(PAUSE);
}

/// The requests that go on meanwhile.
#[derive(Default)]
struct Traffic {
    stop: AtomicBool,
    /// Odd while a split or merge is under way, and another number after each.
    changing: AtomicU32,
    requests: AtomicU32,
    failed: AtomicU32,
    /// The longest request in microseconds: during a change, and otherwise.
    longest_us: [AtomicU64; 2],
}

impl Traffic {
    /// One thread of it: the first few read, the others write.
    fn run(&self, ours: &Ours, seed: u32, rows: u32) {
        for number in rows::draw(seed, rows) {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let new = rows::row(number, rows::NOTE_WORDS_LARGE);
            let before = self.changing.load(Ordering::SeqCst);
            let watch = Stopwatch::start();
            let outcome = if seed < READERS {
                read(ours, number)
            } else {
                ours.write(std::slice::from_ref(&new), Durability::Synced)
            };
            let took_us = u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX);
            let after = self.changing.load(Ordering::SeqCst);
            let during = !before.is_multiple_of(2) || before != after;
            let [in_change, in_peace] = &self.longest_us;
            let longest = if during { in_change } else { in_peace };
            longest.fetch_max(took_us, Ordering::Relaxed);
            self.requests.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = outcome {
                eprintln!("  split: a request failed: {error}");
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn read(ours: &Ours, number: u32) -> Result<()> {
    let row = ours
        .database
        .snapshot()
        .get(&ours.table, &[rows::key(number)])?;
    row.map(|_| ())
        .ok_or_else(|| Error::Wrong(format!("row {number} is gone")))
}
