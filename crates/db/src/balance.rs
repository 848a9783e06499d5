//! Keeping tables even: look at the heat, decide, split and merge, and say what could not be done.
//!
//! ```text
//!   every second                    observe         heat by the second
//!   every partition_check_interval  for each table and each index
//!                                     settings ◄──── the table's options, and those of the database
//!                                     decide   ────► Split    one metadata write
//!                                                    Merge    one metadata write
//!                                                    refusal  an event, counted while it lasts
//! ```
//!
//! What decides is `partitions::decide`, which is pure. What is done here may fail, when somebody
//! else changed the table meanwhile or an engine is down: the next round sees what is there then.

use sql::{Catalog, TableOptions};
use txn::decide::{Decision, Settings, Verdict};
use txn::{Cause, Cut, Store, TableId};

use crate::policy::Policy;
use crate::{Database, Error, Kind, Result};

/// What a round of balancing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balanced {
    /// Partitions that were split.
    pub splits: usize,
    /// Merges.
    pub merges: usize,
    /// Partitions that are too large or too hot, and could not be helped.
    pub refusals: usize,
}

impl Database {
    /// One round: looks at the heat of all partitions, and splits and merges where that helps. It goes
    /// on by itself in the background unless [`crate::Options::background`] is off.
    pub fn balance(&self) -> Result<Balanced> {
        self.store.observe();
        balance(&self.store, &self.catalog, &self.policy.get())
    }
}

/// Decides for all tables and their indexes, and acts.
pub(crate) fn balance(store: &Store, catalog: &Catalog, policy: &Policy) -> Result<Balanced> {
    let mut done = Balanced::default();
    if !policy.auto {
        return Ok(done);
    }
    for table in catalog.all() {
        let settings = settings(table.schema().options(), policy);
        balance_one(store, table.id(), &settings, &mut done)?;
        // An index is split as its table is; how few partitions it has is its own affair.
        let settings = Settings {
            partitions_min: 1,
            ..settings
        };
        for index in table.schema().indexes() {
            balance_one(store, index.id, &settings, &mut done)?;
        }
    }
    Ok(done)
}

fn balance_one(
    store: &Store,
    table: TableId,
    settings: &Settings,
    done: &mut Balanced,
) -> Result<()> {
    let decisions = match store.decide(table, settings).map_err(Error::from) {
        // Dropped meanwhile.
        Err(error) if error.kind() == Kind::NotFound => return Ok(()),
        other => other?,
    };
    for decision in &decisions {
        match act(store, table, decision, done) {
            // Changed by hand meanwhile, or not possible now: the next round decides anew.
            Err(error)
                if matches!(
                    error.kind(),
                    Kind::NotFound | Kind::Invalid | Kind::Unavailable
                ) => {}
            other => other?,
        }
    }
    Ok(())
}

fn act(store: &Store, table: TableId, decision: &Decision, done: &mut Balanced) -> Result<()> {
    let verdict = &decision.verdict;
    match (verdict, decision.partitions.as_slice()) {
        (
            Verdict::Split {
                key,
                left_bytes,
                left_load,
                ..
            },
            [partition],
        ) => {
            let cut = Cut {
                partition: *partition,
                at: key,
                left_rows: *left_bytes,
                left_load: *left_load,
            };
            store.split_because(table, cut, Cause::from(verdict))?;
            done.splits += 1;
        }
        (Verdict::Merge { .. }, partitions) => {
            store.merge_because(table, partitions, Cause::from(verdict))?;
            done.merges += 1;
        }
        (_, [partition]) if verdict.is_refusal() => {
            store.refuse(table, *partition, verdict)?;
            done.refusals += 1;
        }
        _ => {}
    }
    Ok(())
}

/// What a table's options and the database's policy say together.
pub(crate) fn settings(options: &TableOptions, policy: &Policy) -> Settings {
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Settings {
        by_size: options.splits_by_size(),
        by_load: options.splits_by_load(),
        partition_size_mib: options.partition_bytes() >> 20,
        partitions_min: count(options.partitions_min()),
        partitions_max: options.max_partitions_count.map(count),
        force_split_size_mib: policy.force_split_size_mb,
        split_load_percent: policy.split_load_percent,
        split_load_lasting_s: policy.split_load_lasting_s,
        merge_uptime_s_min: policy.merge_uptime_s,
        merge_low_load_s: policy.merge_low_load_s,
        merge_load_percent: policy.merge_load_percent,
        merge_size_percent: policy.merge_size_percent,
    }
}
