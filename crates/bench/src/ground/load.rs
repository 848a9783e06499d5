//! Loading a new table at once, beside the engine's own ingestion of the same rows.
//!
//! ```text
//!   bulk_load          rows in random order: ours sorts them, the raw side's were sorted before
//!   bulk_load_sorted   rows in key order
//! ```
//!
//! Ours is given values, encodes them, proves that none is there or comes twice, and counts them. The
//! raw side is given sorted bytes. Both are durable at the end.

use std::path::Path;

use super::ours::{self, Ours};
use super::raw::{self, Raw};
use super::rows;
use crate::Result;
use crate::measure::{Duel, Stopwatch, alternate, per_second};

/// Loads all rows into new directories, both sides in turns.
pub(crate) fn duel(dir: &Path, rows: u32, rounds: u32, sorted: bool) -> Result<Duel> {
    let mut by_key: Vec<u32> = (0..rows).collect();
    by_key.sort_unstable_by_key(|number| rows::spread(*number));
    let any_order: Vec<u32> = (0..rows).collect();
    let numbers = if sorted { &by_key } else { &any_order };
    alternate(
        "bulk_load",
        rounds,
        |round| {
            let path = dir.join(format!("ours-load-{sorted}-{round}"));
            let ours = Ours::open(&path)?;
            let batch = ours::build(numbers);
            let watch = Stopwatch::start();
            ours.database.load(&ours.table, batch)?;
            let took = watch.elapsed();
            drop(ours);
            std::fs::remove_dir_all(&path)?;
            Ok(per_second(rows, took))
        },
        |round| {
            let path = dir.join(format!("raw-load-{sorted}-{round}"));
            let raw = Raw::open(&path)?;
            let batch = raw::encode(&by_key)?;
            let watch = Stopwatch::start();
            raw.ingest(batch)?;
            let took = watch.elapsed();
            drop(raw);
            std::fs::remove_dir_all(&path)?;
            Ok(per_second(rows, took))
        },
    )
}
