//! Requests of front ends that have no statement of SQL, as the recorder sees them.
//!
//! ```text
//!   request("GetItem users/cars/") ── not its turn: nothing, and the request goes on as ever
//!            │ its turn
//!            ▼
//!         Request ── did(table, what) ─► a transaction of the trace
//!            └────── dropped, because the request failed: nothing is recorded
//! ```

use std::sync::Arc;

use advisor::trace::{Kind, Op, Row};
use advisor::work::{self, ROWS_MAX};
use keys::digest::city_hash;
use sql::{Table, Tally};

use super::take::{Asked, Take};
use crate::Database;

/// Ops of one request that are recorded.
const OPS_MAX: usize = 64;

/// A request that is being recorded.
#[derive(Debug)]
pub struct Request<'d> {
    database: &'d Database,
    tally: Arc<Tally>,
    take: Take,
    started_ns: u64,
}

impl Database {
    /// Counts a request that begins now, a transaction of its own. If it is its turn to be recorded,
    /// [`Request::did`] wants to know what it did. All requests of one name take turns; a name is what
    /// the text of a statement without its values would be.
    pub fn request(&self, name: &str) -> Option<Request<'_>> {
        if !self.recorder.is_on() {
            return None;
        }
        let started_ns = self.latencies.now_ns();
        let statements = self.executor().statements();
        let tally = statements.tally(city_hash(name.as_bytes()), name, started_ns);
        let weight = self.recorder.turn(&tally, started_ns)?;
        Some(Request {
            database: self,
            tally,
            take: Take::new(weight, self.store.now_us(), true),
            started_ns,
        })
    }
}

impl Request<'_> {
    /// The request was answered, and did this to rows of a table. Columns are places in the table, and
    /// statements have no numbers yet.
    pub fn did(mut self, table: &Table, mut ops: Vec<(Kind, Op)>) {
        ops.truncate(OPS_MAX);
        let writes = ops.iter().any(|(kind, _)| kind.writes());
        let took_ns = self
            .database
            .latencies
            .now_ns()
            .saturating_sub(self.started_ns);
        let count = u64::try_from(ops.len()).unwrap_or(u64::MAX).max(1);
        for (_, op) in &mut ops {
            shorten(op);
            // One that writes has waited for the disk.
            op.busy_us = (!writes).then_some(took_ns / 1_000 / count);
        }
        self.take.ask(Asked {
            tally: self.tally,
            table: table.schema().name().to_owned(),
            ops,
        });
        self.take.end(self.database.store.now_us());
        self.database.recorder.push(self.take);
    }
}

/// Leaves out what no key would hold, and most of very many rows.
fn shorten(op: &mut Op) {
    let short = |row: &mut Row| row.retain(|(_, value)| work::is_kept(value));
    op.eq.retain(|(_, values)| values.iter().all(work::is_kept));
    short(&mut op.low);
    short(&mut op.high);
    let rows = std::mem::take(&mut op.rows);
    let total = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    op.rows = work::spread(rows, ROWS_MAX);
    op.rows.iter_mut().for_each(short);
    if op.rows.len() < usize::try_from(total).unwrap_or(usize::MAX) {
        op.found = Some(total);
    }
}
