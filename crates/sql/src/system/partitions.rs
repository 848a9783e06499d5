//! The rows of `sys.partition_stats`: every partition of every table, its bounds, size and heat. And
//! those of `sys.index_builds` and `sys.bucket_moves`: how far the indexes are that are being built, and
//! the rows that are on their way to other buckets.
//!
//! Columns that this database does not measure are NULL. YDB shows no bounds; here they are paths,
//! as everywhere keys are printed.

use std::collections::BTreeMap;

use keys::format_key;
use txn::{Partition, Store, TableId};

use super::rows::{Cell, Rows};
use crate::Catalog;
use crate::rebucket::moves;

/// What YDB calls the table of an index, below the index.
const INDEX_TABLE: &str = "indexImplTable";
/// The only node there is.
pub(super) const NODE: i64 = 1;

pub(super) fn fill(catalog: &Catalog, store: &Store, rows: &mut Rows) {
    for (table, path) in paths(catalog) {
        partitions(store, table, &path, rows);
    }
}

/// The tables and indexes that there are, by number, with the paths that YDB gives them.
pub(super) fn paths(catalog: &Catalog) -> BTreeMap<TableId, String> {
    let mut paths = BTreeMap::new();
    for table in catalog.all() {
        let name = table.schema().name();
        paths.insert(table.id(), name.to_owned());
        for index in table.schema().indexes() {
            let path = format!("{name}/{}/{INDEX_TABLE}", index.name);
            paths.insert(index.id, path);
        }
    }
    paths
}

pub(super) fn fill_builds(catalog: &Catalog, rows: &mut Rows) {
    for build in catalog.progress() {
        rows.push([
            ("Path", build.table.into()),
            ("IndexName", build.index.into()),
            ("RowsDone", build.rows_done.into()),
            ("RowsTotal", build.rows_total.into()),
        ]);
    }
}

pub(super) fn fill_moves(catalog: &Catalog, store: &Store, rows: &mut Rows) {
    for one in moves(catalog, store) {
        rows.push([
            ("Path", one.table.into()),
            ("Buckets", one.buckets.into()),
            ("RowsDone", one.rows_done.into()),
            ("RowsTotal", one.rows_total.into()),
        ]);
    }
}

fn partitions(store: &Store, table: TableId, path: &str, rows: &mut Rows) {
    // Dropped meanwhile.
    let Ok(map) = store.map(table) else {
        return;
    };
    for (index, one) in (0_u64..).zip(map.partitions()) {
        let load = store.watch().load(one.descriptor.id);
        let cores = load.map(|load| load.current.ratio());
        partition(path, (index, one), cores, rows);
    }
}

fn partition(path: &str, place: (u64, &Partition), cores: Option<f64>, rows: &mut Rows) {
    let (index, one) = place;
    let descriptor = &one.descriptor;
    let counts = one.counters.counts();
    let totals = counts.totals();
    let heat = one.heat.totals();
    let made_us = i64::try_from(descriptor.created_us).unwrap_or(i64::MAX);
    rows.push([
        ("OwnerId", descriptor.table.0.into()),
        ("PathId", descriptor.table.0.into()),
        ("PartIdx", index.into()),
        ("FollowerId", Cell::Number(0)),
        ("TabletId", descriptor.id.0.into()),
        ("Path", path.into()),
        ("NodeId", NODE.into()),
        ("DataSize", totals.bytes.into()),
        ("RowCount", totals.rows.into()),
        ("CPUCores", cores.map_or(Cell::Null, Cell::Float)),
        ("StartTime", Cell::Time(made_us)),
        ("RowReads", heat.reads.into()),
        ("RowUpdates", heat.writes.into()),
        ("RangeReads", heat.scans.into()),
        ("RangeReadRows", heat.scanned_rows.into()),
        ("ImmediateTxCompleted", heat.single_partition_txns.into()),
        ("CoordinatedTxCompleted", heat.multi_partition_txns.into()),
        ("FromKey", format_key(&descriptor.range.lower).into()),
        (
            "ToKey",
            descriptor.range.upper.as_deref().map(format_key).into(),
        ),
        ("Generation", descriptor.generation.into()),
        ("EngineId", descriptor.engine.0.into()),
        ("Tombstones", totals.tombstones.into()),
        ("Exact", counts.exact().into()),
        ("ReadBytes", heat.read_bytes.into()),
        ("WrittenBytes", heat.written_bytes.into()),
        ("BusyNs", heat.busy_ns.into()),
    ]);
}
