//! [`Applied`]: advice that was followed, and what became of it.
//!
//! ```text
//!   the table has now a key that was advised ──► applied: its prediction stays
//!   every minute since ──► what was added to heat and to the counts of statements ──► sums
//! ```
//!
//! What is measured are sums that only grow, so a restart loses a minute and nothing else.

use std::collections::{BTreeMap, HashMap};

use keys::Value;
use partitions::HeatTotals;
use sql::{Origin, Reach, Statements, Table};
use txn::PartitionId;

use crate::record::{Ground, Recorder};

/// Advice that was followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Applied {
    /// When it was given, and when the table was found to have the key.
    pub(super) advised_us: u64,
    pub(super) applied_us: u64,
    /// The table that has it.
    pub(super) table: u64,
    /// What was predicted.
    pub(super) row: Vec<Value>,
    pub(super) sums: Sums,
    pub(super) seen: Seen,
}

/// What was measured since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Busy time of all partitions, and of the busiest of each minute.
    pub(super) busy_ns: u64,
    pub(super) peak_ns: u64,
    /// Partitions touched by transactions that touched one, and by those that touched several.
    pub(super) single: u64,
    pub(super) multi: u64,
    /// Reads, and what they went over.
    pub(super) reads: u64,
    pub(super) partitions: u64,
    pub(super) rows: u64,
}

/// What the counters said at the last look; nothing before the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) at_us: Option<u64>,
    heat: BTreeMap<PartitionId, HeatTotals>,
    reaches: HashMap<u64, Reach>,
}

/// Where measurements come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges<'g> {
    pub(crate) ground: Ground<'g>,
    pub(crate) recorder: &'g Recorder,
    pub(crate) statements: &'g Statements,
}

impl Applied {
    /// Adds what was done since the last look; the first look only begins.
    pub(super) fn measure(&mut self, gauges: Gauges<'_>, table: &Table, now_us: u64) {
        let begun = self.seen.at_us.replace(now_us).is_some();
        let Ok(map) = gauges.ground.store.map(table.id()) else {
            return;
        };
        let mut heat = BTreeMap::new();
        let mut peak_ns = 0;
        for one in map.partitions() {
            let totals = one.heat.totals();
            let id = one.descriptor.id;
            let before = self.seen.heat.get(&id).copied().unwrap_or_default();
            let since = totals.since(&before);
            heat.insert(id, totals);
            if begun {
                let sums = &mut self.sums;
                sums.busy_ns = sums.busy_ns.saturating_add(since.busy_ns);
                sums.single = sums.single.saturating_add(since.single_partition_txns);
                sums.multi = sums.multi.saturating_add(since.multi_partition_txns);
                peak_ns = peak_ns.max(since.busy_ns);
            }
        }
        self.sums.peak_ns = self.sums.peak_ns.saturating_add(peak_ns);
        self.seen.heat = heat;
        self.measure_reads(gauges, table, begun);
    }

    fn measure_reads(&mut self, gauges: Gauges<'_>, table: &Table, begun: bool) {
        let number = Origin::table_number(table);
        let statements = number.map(|number| gauges.recorder.reads_of(number));
        for fingerprint in statements.into_iter().flatten() {
            let Some(reach) = gauges.statements.reach(fingerprint) else {
                continue;
            };
            let before = self.seen.reaches.insert(fingerprint, reach);
            // A statement that is seen for the first time may have run before the key was changed.
            if let (true, Some(before)) = (begun, before) {
                let sums = &mut self.sums;
                sums.reads += reach.calls.saturating_sub(before.calls);
                sums.partitions += reach.partitions.saturating_sub(before.partitions);
                sums.rows += reach.rows_read.saturating_sub(before.rows_read);
            }
        }
    }
}

impl Sums {
    /// What `sys.advice` shows: shares, per read, and how many reads that is known of.
    pub(super) fn values(&self) -> [Value; 5] {
        let share = |part: u64, whole: u64| match whole {
            0 => Value::Null,
            whole => Value::Double(as_float(part) / as_float(whole)),
        };
        [
            share(self.peak_ns, self.busy_ns),
            share(self.single, self.single.saturating_add(self.multi)),
            share(self.partitions, self.reads),
            share(self.rows, self.reads),
            Value::Uint64(self.reads),
        ]
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts for shares that are told to a few digits"
)]
fn as_float(number: u64) -> f64 {
    number as f64
}
