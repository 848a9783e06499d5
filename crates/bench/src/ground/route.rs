//! What it costs to find one partition among 10,000.
//!
//! Nothing here waits for anything, so whatever makes a round longer than another is somebody else's
//! work: the shortest round is the one that tells the cost. A round is long enough to
//! meet each partition many times, so that the caches hold what they can.

use std::hint::black_box;

use db::{Database, Value};

use super::rows;
use crate::Result;
use crate::measure::{Report, Sample, Stopwatch, settle};

const PARTITIONS: u32 = 10_000;
const ROUNDS: u32 = 9;
const ROUTES: u32 = 200_000;
const ROUTE_NS_LIMIT: f64 = 1_000.0;

/// Measures and judges it.
pub(crate) fn judge(report: &mut Report) -> Result<()> {
    let database = Database::memory()?;
    let step = u64::MAX / u64::from(PARTITIONS);
    let bounds: Vec<Vec<Value>> = (1..PARTITIONS)
        .map(|part| vec![Value::Uint64(u64::from(part) * step)])
        .collect();
    let table = database.create_table(rows::schema("parted")?, &bounds)?;
    let mut sample = Sample::default();
    settle();
    for round in 0..ROUNDS {
        let drawn = (0..ROUTES).zip(rows::draw(round, PARTITIONS));
        let keys: Vec<Value> = drawn.map(|(_, number)| rows::key(number)).collect();
        let watch = Stopwatch::start();
        for key in &keys {
            black_box(database.partition_of(&table, std::slice::from_ref(key))?);
        }
        sample.add(watch.elapsed().as_secs_f64() * 1e9 / f64::from(ROUTES));
    }
    let how = format!("ns to encode a key and find its partition among {PARTITIONS}");
    report.limit("ROUTE_NS", sample.least(), ROUTE_NS_LIMIT, &how);
    Ok(())
}
