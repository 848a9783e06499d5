//! The rows of `sys.partition_events`, `sys.heat`, `sys.hot_keys` and of `sys.top_partitions_…`: what
//! happened to partitions, how hot they were, and which keys made them so.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use keys::format_key;
use txn::{Cell as HeatCell, Event, PartitionId, Slice, Store, TableId};

use super::partitions::{NODE, paths};
use super::rows::{Cell, Rows};
use crate::Catalog;

/// How many partitions of an interval the top views show.
const TOP_MAX: usize = 10;

const SECOND_US: u64 = 1_000_000;

/// The tables that have a path, by number.
type Paths = BTreeMap<TableId, String>;

pub(super) fn fill(name: &str, catalog: &Catalog, store: &Store, rows: &mut Rows) {
    let paths = paths(catalog);
    match name {
        "partition_events" => events(store, &paths, rows),
        "heat" => heat(store, &paths, rows),
        "top_partitions_one_minute" => {
            let chart = store.watch().chart();
            chart
                .minutes()
                .for_each(|slice| push_top(slice, &paths, rows));
        }
        "top_partitions_one_hour" => {
            let chart = store.watch().chart();
            chart
                .hours()
                .for_each(|slice| push_top(slice, &paths, rows));
        }
        "hot_keys" => hot_keys(store, &paths, rows),
        _ => {}
    }
}

fn hot_keys(store: &Store, paths: &Paths, rows: &mut Rows) {
    for (table, path) in paths {
        // Dropped meanwhile.
        let Ok(found) = store.hot_keys(*table) else {
            continue;
        };
        for one in found {
            rows.push([
                ("Path", path.as_str().into()),
                (
                    "KeyColumns",
                    u64::try_from(one.columns).unwrap_or(u64::MAX).into(),
                ),
                ("Key", format_key(&one.prefix).into()),
                ("LoadShare", Cell::Float(one.share.ratio())),
                ("LoadShareLower", Cell::Float(one.bounds.0.ratio())),
                ("LoadShareUpper", Cell::Float(one.bounds.1.ratio())),
                ("WriteShare", Cell::Float(one.writes.ratio())),
                (
                    "Samples",
                    u64::try_from(one.samples).unwrap_or(u64::MAX).into(),
                ),
            ]);
        }
    }
}

fn events(store: &Store, paths: &Paths, rows: &mut Rows) {
    for event in store.events().all() {
        push_event(event, paths, rows);
    }
}

fn push_event(event: &Event, paths: &Paths, rows: &mut Rows) {
    let news = &event.news;
    let ids = |list: &[PartitionId]| -> String {
        let ids: Vec<_> = list.iter().map(|id| id.0.to_string()).collect();
        ids.join(", ")
    };
    rows.push([
        ("EventId", event.number.into()),
        ("Time", time(event.at_us)),
        ("LastTime", time(event.last_us)),
        ("Count", event.count.into()),
        ("Path", paths.get(&news.table).cloned().into()),
        ("Kind", news.kind.name().into()),
        ("Reason", news.reason.as_ref().into()),
        ("OldPartitions", ids(&news.old).into()),
        ("NewPartitions", ids(&news.new).into()),
        ("Key", news.key.as_deref().map(format_key).into()),
        ("Detail", news.detail.as_str().into()),
    ]);
}

/// Seconds of the last minutes, and minutes of the last days.
fn heat(store: &Store, paths: &Paths, rows: &mut Rows) {
    let chart = store.watch().chart();
    for slice in chart.minutes().chain(chart.seconds()) {
        for cell in slice.cells.values() {
            push_heat(slice, cell, paths, rows);
        }
    }
}

fn push_heat(slice: &Slice, cell: &HeatCell, paths: &Paths, rows: &mut Rows) {
    let HeatCell { place, totals, .. } = cell;
    rows.push([
        ("IntervalEnd", interval_end(slice)),
        ("IntervalSeconds", slice.seconds.into()),
        ("Path", paths.get(&place.table).cloned().into()),
        ("TabletId", place.partition.0.into()),
        ("FromKey", format_key(&place.range.lower).into()),
        ("ToKey", place.range.upper.as_deref().map(format_key).into()),
        ("RowReads", totals.reads.into()),
        ("RowUpdates", totals.writes.into()),
        ("RangeReads", totals.scans.into()),
        ("RangeReadRows", totals.scanned_rows.into()),
        ("ReadBytes", totals.read_bytes.into()),
        ("WrittenBytes", totals.written_bytes.into()),
        ("CPUCores", cores(totals.busy_ns, slice.seconds)),
        ("ImmediateTxCompleted", totals.single_partition_txns.into()),
        ("CoordinatedTxCompleted", totals.multi_partition_txns.into()),
        ("RowCount", cell.rows.into()),
        ("DataSize", cell.bytes.into()),
    ]);
}

/// The busiest partitions of an interval.
fn push_top(slice: &Slice, paths: &Paths, rows: &mut Rows) {
    let mut cells: Vec<_> = slice.cells.values().collect();
    cells.sort_by_key(|cell| (Reverse(cell.peak_busy_ns), cell.place.partition));
    for (rank, cell) in (1_u64..).zip(cells.into_iter().take(TOP_MAX)) {
        let peak_us = cell.peak_at_s.saturating_mul(SECOND_US);
        rows.push([
            ("IntervalEnd", interval_end(slice)),
            ("Rank", rank.into()),
            ("TabletId", cell.place.partition.0.into()),
            ("FollowerId", Cell::Number(0)),
            ("Path", paths.get(&cell.place.table).cloned().into()),
            ("PeakTime", time(peak_us)),
            ("CPUCores", cores(cell.peak_busy_ns, 1)),
            ("NodeId", NODE.into()),
            ("DataSize", cell.bytes.into()),
            ("RowCount", cell.rows.into()),
        ]);
    }
}

fn interval_end(slice: &Slice) -> Cell {
    time(
        slice
            .start_s
            .saturating_add(slice.seconds)
            .saturating_mul(SECOND_US),
    )
}

fn time(us: u64) -> Cell {
    Cell::Time(i64::try_from(us).unwrap_or(i64::MAX))
}

/// Busy time as a share of one core.
#[expect(
    clippy::cast_precision_loss,
    reason = "a share of a core is told to a few digits"
)]
fn cores(busy_ns: u64, seconds: u64) -> Cell {
    Cell::Float(busy_ns as f64 / (seconds.max(1) as f64 * 1e9))
}
