//! Removing parts that no row names: what was deleted or overwritten, and what a crash left behind.
//!
//! ```text
//!   1  list the uploads              what comes later is not looked at
//!   2  leave out those that are held what is named by a row from now on was held, or was named before
//!   3  take a snapshot, read rows    every manifest in it, whatever its table is called
//!   4  remove what none of them names, unless it is held now
//! ```
//!
//! Rows of all containers are read, so a sweep comes only when it is known that something may be found:
//! at the start, when an object was deleted or replaced, and otherwise now and then, because statements
//! of SQL take rows away as well. It rests for many times as long as it takes. Without large objects
//! there is nothing to look for, and no row is read.

use std::collections::HashMap;
use std::sync::Arc;

use sql::collection::{Manifest, TABLE_PREFIX};
use sql::{Catalog, Table};
use storage::{PartId, UploadId};
use txn::{Direction, Store};

use super::Objects;
use crate::{Error, Kind, Range, Result, Snapshot, Type, Value};

/// The column with the data of objects; a renamed table of a container keeps it.
const DATA: &str = "data";

/// How many times as long as it took a sweep rests at least.
const REST_FACTOR: u64 = 20;

/// The shortest rest of a sweep, in microseconds.
const REST_US_MIN: u64 = 1_000_000;

/// The longest, in microseconds: how long parts may lie there that a statement of SQL let go.
const REST_US_MAX: u64 = 600_000_000;

/// Rows between two looks whether to stop.
const TURN_ROWS: usize = 1024;

/// What a sweep reads.
pub(crate) struct Ground<'g> {
    pub(crate) store: &'g Arc<Store>,
    pub(crate) catalog: &'g Catalog,
    /// Whether to leave off.
    pub(crate) stopped: &'g dyn Fn() -> bool,
}

/// The parts of an upload that rows name, as numbers.
type Named = HashMap<UploadId, Vec<u32>>;

impl Objects {
    /// Sweeps if it is time for it.
    pub(crate) fn sweep_if_due(&self, ground: &Ground) -> Result<()> {
        self.remove_given_up()?;
        let begun_us = ground.store.now_us();
        {
            let mut state = self.state.lock();
            let due = match state.due {
                None => true,
                Some((from, _)) if state.loosened => begun_us >= from,
                Some((_, at)) => begun_us >= at,
            };
            if !due {
                return Ok(());
            }
            state.loosened = false;
        }
        let swept = self.sweep(ground);
        let ended_us = ground.store.now_us();
        let took_us = ended_us.saturating_sub(begun_us);
        let rest_us = took_us.saturating_mul(REST_FACTOR).max(REST_US_MIN);
        let mut state = self.state.lock();
        let at = |rest: u64| ended_us.saturating_add(rest);
        state.due = Some((at(rest_us), at(rest_us.max(REST_US_MAX))));
        state.loosened |= swept.is_err();
        swept.map(|_| ())
    }

    /// Removes all parts that no row names, and tells how many.
    pub(crate) fn sweep(&self, ground: &Ground) -> Result<usize> {
        let mut removed = self.remove_given_up()?;
        let mut uploads = self.parts.uploads()?;
        {
            let mut state = self.state.lock();
            let all = uploads.len();
            uploads.retain(|upload| !state.held.contains_key(upload));
            state.passed_over = uploads.len() < all;
        }
        if uploads.is_empty() {
            return Ok(removed);
        }
        let named = named(ground)?;
        for upload in uploads {
            if (ground.stopped)() {
                break;
            }
            removed += self.sweep_upload(upload, named.get(&upload))?;
        }
        Ok(removed)
    }

    fn sweep_upload(&self, upload: UploadId, named: Option<&Vec<u32>>) -> Result<usize> {
        let mut numbers = self.parts.numbers(upload)?;
        let all = numbers.len();
        if let Some(named) = named {
            numbers.retain(|number| named.binary_search(number).is_err());
        }
        // Who holds it from here on finds that the row has changed.
        let mut state = self.state.lock();
        if state.held.contains_key(&upload) {
            state.passed_over = true;
            return Ok(0);
        }
        drop(state);
        if numbers.len() == all && named.is_none() {
            self.parts.remove_upload(upload)?;
            return Ok(all);
        }
        for number in &numbers {
            let number = *number;
            self.parts.remove(PartId { upload, number })?;
        }
        Ok(numbers.len())
    }

    pub(super) fn remove_given_up(&self) -> Result<usize> {
        let mut removed = 0;
        loop {
            let Some(upload) = self.state.lock().given_up.pop() else {
                return Ok(removed);
            };
            let numbers = self.parts.numbers(upload);
            let gone = numbers.and_then(|numbers| {
                self.parts.remove_upload(upload)?;
                Ok(numbers.len())
            });
            removed += gone.inspect_err(|_| self.state.lock().given_up.push(upload))?;
        }
    }
}

/// The parts that rows of any table name.
fn named(ground: &Ground) -> Result<Named> {
    let mut named = Named::new();
    let snapshot = Snapshot::new(ground.store.quiet_view());
    for table in ground.catalog.all() {
        let columns = columns(&table);
        if columns.is_empty() {
            continue;
        }
        let rows = snapshot.scan(&table, &Range::all(), Direction::Ascending)?;
        for (at, row) in rows.enumerate() {
            if at % TURN_ROWS == 0 && (ground.stopped)() {
                return Err(Error::new(Kind::Unavailable, Stopped));
            }
            let row = row?;
            for column in &columns {
                if let Some(Value::String(data)) = row.get(*column)
                    && Manifest::is(data)
                {
                    note(&mut named, data)?;
                }
            }
        }
    }
    for numbers in named.values_mut() {
        numbers.sort_unstable();
        numbers.dedup();
    }
    Ok(named)
}

fn note(named: &mut Named, data: &[u8]) -> Result<()> {
    // An unreadable manifest keeps everything: the parts that it references are unknown.
    let manifest = Manifest::decode(data).map_err(|error| Error::new(Kind::Corrupt, error))?;
    for part in manifest.parts {
        let upload = UploadId(part.upload);
        named.entry(upload).or_default().push(part.number);
    }
    Ok(())
}

/// Which columns of a table may hold manifests.
fn columns(table: &Table) -> Vec<usize> {
    let schema = table.schema();
    let of_container = schema.name().starts_with(TABLE_PREFIX);
    let columns = schema.columns().iter().enumerate();
    let columns = columns
        .filter(|(_, column)| column.kind == Type::String && (of_container || column.name == DATA));
    columns.map(|(at, _)| at).collect()
}

#[derive(Debug, thiserror::Error)]
#[error("the database is being closed")]
struct Stopped;
