//! Reads and bulk writes of a table that fits the cache, both sides in turns.
//!
//! ```text
//!   load      every row, in batches of 1,000, into new directories    bulk_upsert
//!             the same, and the raw side looks for each row first     bulk_upsert_read
//!   compact   close both, bring both into one sorted run, open again
//!   warm      read every row once, by scan and by key
//!   measure   gets of random rows                                     point_get
//!             every row in key order                                  scan_rows
//!             random rows again, in batches of 1,000, known keys      bulk_overwrite
//!             the same, and the raw side reads each row first         bulk_overwrite_read
//! ```
//!
//! Our side reads what a write replaces, for its counters and for older snapshots. For a new key that
//! is a search of the memtable and a look into a filter, which takes about as long as the write: what is
//! left of `bulk_upsert` without it is `bulk_upsert_read`. For a known key it is a whole get, which takes the engine longer than the
//! write itself: no layer that reads first can come to half of one that does not, so overwriting is
//! shown beside both kinds of raw writer and has no target.
//!
//! The rows of a round are made before its clock starts. Ours is given values and answers with
//! values: encoding and decoding are on its bill. The raw side is given bytes and answers with bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use db::{Durability, Value};
use fjall::PersistMode;

use super::ours::{self, Ours};
use super::raw::{self, Raw};
use super::rows;
use crate::Result;
use crate::measure::{Duel, Stopwatch, alternate, per_second};

const BATCH_ROWS: usize = 1_000;

/// Both sides, loaded with the same rows.
pub(crate) struct Hot {
    pub(crate) ours: Ours,
    pub(crate) raw: Raw,
    rows: u32,
}

/// Where one side of a round lies.
fn directory(dir: &Path, side: &str, round: u32) -> PathBuf {
    dir.join(format!("{side}-{round}"))
}

/// Loads all rows into new directories, both sides in turns. The raw side writes blindly, or looks for
/// each row before, as ours has to.
pub(crate) fn load(
    dir: &Path,
    name: &'static str,
    (rows, rounds): (u32, u32),
    read: bool,
) -> Result<Duel> {
    let numbers: Vec<u32> = (0..rows).collect();
    let path = |side: &str, round: u32| directory(dir, side, round);
    alternate(
        name,
        rounds,
        |round| {
            forget(&path("ours", round.wrapping_sub(1)))?;
            write_ours(&Ours::open(&path("ours", round))?, &numbers)
        },
        |round| {
            forget(&path("raw", round.wrapping_sub(1)))?;
            write_raw(&Raw::open(&path("raw", round))?, &numbers, read)
        },
    )
}

impl Hot {
    /// Loads both sides in turns, all rows into new directories each round, and brings the last ones
    /// into one shape.
    pub(crate) fn load(dir: &Path, rows: u32, rounds: u32) -> Result<(Self, Duel)> {
        let duel = load(dir, "bulk_upsert", (rows, rounds), false)?;
        let [ours_path, raw_path] = ["ours", "raw"].map(|side| directory(dir, side, rounds - 1));
        eprintln!("  compacting both sides");
        raw::compact(&Ours::engine_path(&ours_path))?;
        raw::compact(&raw_path)?;
        let hot = Self {
            ours: Ours::open(&ours_path)?,
            raw: Raw::open(&raw_path)?,
            rows,
        };
        hot.warm()?;
        Ok((hot, duel))
    }

    fn warm(&self) -> Result<()> {
        eprintln!("  reading every row once");
        let keys: Vec<Value> = (0..self.rows).map(rows::key).collect();
        raw::expect("our warm-up", self.rows, self.ours.get_all(&keys)?)?;
        let keys = (0..self.rows).map(rows::key_bytes);
        let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
        raw::expect("the raw warm-up", self.rows, self.raw.get_all(&keys)?)?;
        raw::expect("our warm-up", self.rows, self.ours.scan()?)?;
        raw::expect("the raw warm-up", self.rows, self.raw.scan()?)
    }

    fn draw(&self, round: u32, count: u32) -> Vec<u32> {
        let drawn = (0..count).zip(rows::draw(round, self.rows));
        drawn.map(|(_, number)| number).collect()
    }

    /// Rows by key, in random order, each read by itself.
    pub(crate) fn point_get(&self, rounds: u32, gets: u32) -> Result<Duel> {
        alternate(
            "point_get",
            rounds,
            |round| {
                let drawn = self.draw(round, gets);
                let keys: Vec<Value> = drawn.into_iter().map(rows::key).collect();
                let watch = Stopwatch::start();
                let found = self.ours.get_all(&keys)?;
                let took = watch.elapsed();
                raw::expect("our gets", gets, found)?;
                Ok(per_second(gets, took))
            },
            |round| {
                let drawn = self.draw(round, gets);
                let keys: Vec<Vec<u8>> = drawn
                    .into_iter()
                    .map(rows::key_bytes)
                    .collect::<Result<_>>()?;
                let watch = Stopwatch::start();
                let found = self.raw.get_all(&keys)?;
                let took = watch.elapsed();
                raw::expect("the raw gets", gets, found)?;
                Ok(per_second(gets, took))
            },
        )
    }

    /// Every row, in key order.
    pub(crate) fn scan_rows(&self, rounds: u32) -> Result<Duel> {
        let pass = |scan: &dyn Fn() -> Result<u32>| {
            let watch = Stopwatch::start();
            let found = scan()?;
            let took = watch.elapsed();
            raw::expect("a scan", self.rows, found)?;
            Ok(per_second(found, took))
        };
        alternate(
            "scan_rows",
            rounds,
            |_| pass(&|| self.ours.scan()),
            |_| pass(&|| self.raw.scan()),
        )
    }

    /// Random rows over what is there, in large batches. The raw side writes blindly, or reads each
    /// row before, as ours has to.
    pub(crate) fn bulk_overwrite(&self, rounds: u32, writes: u32, read: bool) -> Result<Duel> {
        alternate(
            "bulk_overwrite",
            rounds,
            |round| write_ours(&self.ours, &self.draw(round, writes)),
            |round| write_raw(&self.raw, &self.draw(round, writes), read),
        )
    }
}

fn write_ours(ours: &Ours, numbers: &[u32]) -> Result<f64> {
    let mut took = Duration::ZERO;
    for batch in numbers.chunks(BATCH_ROWS) {
        let rows = ours::build(batch);
        let watch = Stopwatch::start();
        ours.write(&rows, Durability::Buffered)?;
        took += watch.elapsed();
    }
    Ok(per_second(count(numbers), took))
}

fn write_raw(raw: &Raw, numbers: &[u32], read: bool) -> Result<f64> {
    let mut took = Duration::ZERO;
    for batch in numbers.chunks(BATCH_ROWS) {
        let rows = raw::encode(batch)?;
        let watch = Stopwatch::start();
        if read {
            raw.get_all(rows.iter().map(|(key, _)| key))?;
        }
        raw.write(rows, PersistMode::Buffer)?;
        took += watch.elapsed();
    }
    Ok(per_second(count(numbers), took))
}

/// Makes room for the next round.
fn forget(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

fn count(numbers: &[u32]) -> u32 {
    u32::try_from(numbers.len()).expect("row numbers are 32 bits, and so is their count")
}
