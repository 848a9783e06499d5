//! What it costs to find one partition among 10,000.
//!
//! The map is not reachable by itself from here, and what counts is the cost to a request anyway.
//! So the same gets run on two tables in memory, with the same rows: one of a single partition, one
//! of 10,000. The difference is the routing, with every cache miss that so many partitions bring.
//!
//! Nothing here waits for anything, so whatever makes a round longer than another is somebody else's
//! work: the shortest round is the one that tells the cost. A round is long enough to
//! meet each partition many times, so that the caches hold what they can.

use std::hint::black_box;
use std::sync::Arc;

use db::{Database, Durability, Table, Value};

use super::rows;
use crate::Result;
use crate::measure::{Report, Sample, Stopwatch, settle};

const PARTITIONS: u32 = 10_000;
const ROUNDS: u32 = 9;
const GETS: u32 = 200_000;
const ROUTE_NS_LIMIT: f64 = 1_000.0;

/// Measures the difference and judges it.
pub(crate) fn judge(report: &mut Report) -> Result<()> {
    let database = Database::memory()?;
    let whole = database.create_table(rows::schema("whole")?, &[])?;
    let step = u64::MAX / u64::from(PARTITIONS);
    let bounds: Vec<Vec<Value>> = (1..PARTITIONS)
        .map(|part| vec![Value::Uint64(u64::from(part) * step)])
        .collect();
    let parted = database.create_table(rows::schema("parted")?, &bounds)?;
    for table in [&whole, &parted] {
        let mut txn = database.begin();
        for number in 0..PARTITIONS {
            txn.replace(table, &rows::row(number, rows::NOTE_WORDS_SMALL))?;
        }
        txn.commit_with(Durability::Buffered)?;
    }
    let (mut one, mut many) = (Sample::default(), Sample::default());
    settle();
    for round in 0..ROUNDS {
        one.add(get_ns(&database, &whole, round)?);
        many.add(get_ns(&database, &parted, round)?);
    }
    let how = format!(
        "ns more for a get in memory: {:.0} ns with 1 partition, {:.0} with {PARTITIONS}",
        one.least(),
        many.least()
    );
    let more = (many.least() - one.least()).max(0.0);
    report.limit("ROUTE_NS", more, ROUTE_NS_LIMIT, &how);
    Ok(())
}

fn get_ns(database: &Database, table: &Arc<Table>, round: u32) -> Result<f64> {
    let drawn = (0..GETS).zip(rows::draw(round, PARTITIONS));
    let keys: Vec<Value> = drawn.map(|(_, number)| rows::key(number)).collect();
    let watch = Stopwatch::start();
    for key in &keys {
        let row = database.snapshot().get(table, std::slice::from_ref(key))?;
        black_box(row);
    }
    Ok(watch.elapsed().as_secs_f64() * 1e9 / f64::from(GETS))
}
