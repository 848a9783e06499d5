//! [`Workload`]: what a trace says about one table, in few bytes.
//!
//! ```text
//!   trace  ──Builder──►  txns   when, how many it stands for, its ops
//!                        ops    statement, shape, cells, rows, what it cost
//!                        cells  the values that conditions name        numbers, see values.rs
//!                        rows   the rows written, and some that were read
//!                        shapes which columns are bound how            few, shared by very many ops
//! ```
//!
//! It is made once and then replayed under each key. Nothing in it depends on a key but one thing:
//! what a recorded operation cost is known under the key that the table had, so it is kept as a
//! factor on what the [`Rates`] say it should have cost there.

use std::collections::HashMap;
use std::ops::Range;

use keys::Value;

use super::number::{at, small, weight};
use super::rates::{Fit, Rates};
use super::timeline::Timeline;
use super::values::{UNKNOWN, Values};
use crate::trace::{self, Order, Statement, Table};

/// The most columns that keys are made of.
const COLUMNS_KEPT_MAX: usize = 24;
/// The most values of one IN that are looked at.
const IN_MAX: usize = 64;
/// The most rows of one operation that are looked at.
const ROWS_MAX: usize = 1024;

/// What was done to one table.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) table: Table,
    pub(crate) statements: Vec<Statement>,
    pub(crate) values: Values,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) txns: Vec<Txn>,
    pub(crate) ops: Vec<Op>,
    pub(crate) cells: Vec<u32>,
    pub(crate) rows: Rows,
    pub(crate) rates: Rates,
    /// When the recording began, and when in it the work was done.
    pub(crate) from_us: u64,
    pub(crate) timeline: Timeline,
    pub(crate) usage: Usage,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Txn {
    /// When, on the timeline.
    pub(crate) at_us: u64,
    pub(crate) weight: f64,
    pub(crate) ops: Range<u32>,
}

/// What a statement did.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) statement: u32,
    pub(crate) shape: u32,
    /// Where its conditions begin among the cells.
    pub(crate) cells: u32,
    /// Its rows among all rows.
    pub(crate) rows: Range<u32>,
    /// Rows written or found in all.
    pub(crate) found: u32,
    /// Rows gone over under the key that the table had.
    pub(crate) rows_read: Option<u32>,
    pub(crate) limit: Option<u32>,
    pub(crate) busy_us: Option<f32>,
    /// What it cost, as a factor on what it should have cost.
    pub(crate) factor: f32,
    pub(crate) writes: bool,
    pub(crate) inserts: bool,
    /// Whether nothing tells how many rows fitted its conditions: a log of another database does not,
    /// and what adds rows up answers with others.
    pub(crate) uncounted: bool,
}

/// Which columns an operation binds, and how. The cells follow: for each of `eq` their number and
/// the values, then `low`, then `high`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) eq: Vec<u16>,
    pub(crate) low: Vec<u16>,
    pub(crate) high: Vec<u16>,
    pub(crate) order: Vec<(u16, bool)>,
    pub(crate) limited: bool,
    /// Whether rows are looked for at all: inserts only write.
    pub(crate) looks: bool,
}

/// Rows, each a cell for every column that is kept.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    width: usize,
    cells: Vec<u32>,
    /// For each whether it was written by an insert.
    pub(crate) inserted: Vec<bool>,
}

impl Rows {
    pub(crate) fn get(&self, row: u32) -> &[u32] {
        let start = at(row) * self.width;
        self.cells
            .get(start..start + self.width)
            .unwrap_or_default()
    }

    pub(crate) fn len(&self) -> u32 {
        small(self.inserted.len())
    }
}

/// How columns are used, by weight of operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    /// Operations that look for rows.
    pub(crate) looks: f64,
    /// Rows that were inserted.
    pub(crate) inserted: f64,
    /// By column of the table.
    pub(crate) columns: Vec<ColumnUsage>,
}

/// How one column is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnUsage {
    pub(crate) eq: f64,
    pub(crate) range: f64,
    pub(crate) order: f64,
    /// Of the rows written, how many name it, and how many there are.
    pub(crate) known: u64,
    pub(crate) written: u64,
}

/// Makes a workload of a trace, one transaction at a time.
#[derive(Debug)]
pub(crate) struct Builder {
    name: String,
    columns: Vec<trace::Column>,
    workload: Option<Workload>,
    tables_seen: usize,
    statements_seen: usize,
    /// The place of each statement on our table.
    places: HashMap<u32, u32>,
    shapes: HashMap<Shape, u32>,
    fit: Fit,
    scratch: Vec<u8>,
    /// Transactions that do not touch the table.
    pub(crate) others: u64,
}

impl Builder {
    /// For the table of this name, of which a schema may say more than the trace.
    pub(crate) fn new(name: &str, columns: &[trace::Column]) -> Self {
        Self {
            name: name.to_owned(),
            columns: columns.to_vec(),
            workload: None,
            tables_seen: 0,
            statements_seen: 0,
            places: HashMap::new(),
            shapes: HashMap::new(),
            fit: Fit::default(),
            scratch: Vec::new(),
            others: 0,
        }
    }

    /// Takes in tables and statements that are new since the last time.
    pub(crate) fn learn(&mut self, tables: &[Table], statements: &[Statement]) {
        for table in tables.iter().skip(self.tables_seen) {
            if self.workload.is_none() && table.name.eq_ignore_ascii_case(&self.name) {
                let mut table = table.clone();
                super::schema::complete(&mut table, &self.columns);
                self.workload = Some(Workload::new(table));
            }
        }
        self.tables_seen = tables.len();
        let Some(workload) = &mut self.workload else {
            return;
        };
        for statement in statements.iter().skip(self.statements_seen) {
            if statement.table == workload.table.id {
                self.places
                    .insert(statement.id, small(workload.statements.len()));
                workload.statements.push(statement.clone());
            }
        }
        self.statements_seen = statements.len();
    }

    /// Takes in a transaction.
    pub(crate) fn add(&mut self, txn: &trace::Txn) {
        let Some(workload) = &mut self.workload else {
            self.others += 1;
            return;
        };
        let first = small(workload.ops.len());
        for op in &txn.ops {
            let Some(place) = self.places.get(&op.statement).copied() else {
                continue;
            };
            let Some(kind) = workload.statements.get(at(place)).map(|one| one.kind) else {
                continue;
            };
            let shape = shape_of(op, kind);
            let next = small(workload.shapes.len());
            let number = *self.shapes.entry(shape).or_insert_with_key(|shape| {
                workload.shapes.push(shape.clone());
                next
            });
            let made = workload.take_op(op, (place, number, kind), &mut self.scratch);
            workload.usage.add(op, &made, kind, txn.weight);
            self.fit.add(&made, txn.weight);
            workload.ops.push(made);
        }
        let ops = first..small(workload.ops.len());
        if ops.is_empty() {
            self.others += 1;
            return;
        }
        workload.txns.push(Txn {
            at_us: txn.at_us,
            weight: txn.weight,
            ops,
        });
    }

    /// All of it; `None` if the table was not in the trace.
    pub(crate) fn finish(self, header: &trace::Header, tables: &[Table]) -> Option<Workload> {
        let mut workload = self.workload?;
        // What was spent is known in the end.
        let own = tables.iter().find(|table| table.id == workload.table.id);
        workload.table.spent = own.and_then(|table| table.spent);
        workload.values.seal();
        workload.from_us = header.from_us;
        workload.txns.sort_by_key(|txn| txn.at_us);
        let times = workload.txns.iter().map(|txn| (txn.at_us, txn.weight));
        let recorded_us = header.to_us.saturating_sub(header.from_us);
        workload.timeline = Timeline::new(&times.collect::<Vec<_>>(), recorded_us);
        for txn in &mut workload.txns {
            txn.at_us = workload.timeline.at(txn.at_us);
        }
        workload.rates = self.fit.rates();
        Some(workload)
    }
}

impl Op {
    /// How many rows it went over, if anything tells.
    pub(crate) fn went_over(&self) -> Option<f64> {
        let found = (!self.uncounted).then_some(self.found);
        self.rows_read.or(found).map(f64::from)
    }
}

impl Workload {
    fn new(table: Table) -> Self {
        let kept = kept_columns(&table);
        let values = Values::new(table.columns.len(), &kept);
        Self {
            rows: Rows {
                width: values.width(),
                ..Rows::default()
            },
            usage: Usage {
                columns: vec![ColumnUsage::default(); table.columns.len()],
                ..Usage::default()
            },
            values,
            table,
            statements: Vec::new(),
            shapes: Vec::new(),
            txns: Vec::new(),
            ops: Vec::new(),
            cells: Vec::new(),
            rates: Rates::default(),
            from_us: 0,
            timeline: Timeline::default(),
        }
    }

    fn take_op(
        &mut self,
        op: &trace::Op,
        (statement, shape, kind): (u32, u32, trace::Kind),
        scratch: &mut Vec<u8>,
    ) -> Op {
        let cells = small(self.cells.len());
        for (column, list) in &op.eq {
            let list = list.iter().take(IN_MAX);
            self.cells.push(small(list.len()));
            for value in list {
                let cell = self.values.intern(*column, value, scratch);
                self.cells.push(cell);
            }
        }
        for (column, value) in op.low.iter().chain(&op.high) {
            let cell = self.values.intern(*column, value, scratch);
            self.cells.push(cell);
        }
        let first = self.rows.len();
        for row in op.rows.iter().take(ROWS_MAX) {
            self.take_row(op, row, kind, scratch);
        }
        let rows = first..self.rows.len();
        let known = rows.len();
        let count =
            |count: Option<u64>| count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Op {
            statement,
            shape,
            cells,
            found: count(op.found).unwrap_or(small(known.max(op.rows.len()))),
            rows,
            rows_read: count(op.rows_read),
            limit: count(op.limit),
            busy_us: op.busy_us.map(|busy_us| busy_us as f32),
            factor: 1.0,
            writes: kind.writes(),
            inserts: matches!(kind, trace::Kind::Insert | trace::Kind::Upsert),
            uncounted: !kind.writes() && op.rows.is_empty() && op.found.is_none(),
        }
    }

    fn take_row(
        &mut self,
        op: &trace::Op,
        row: &trace::Row,
        kind: trace::Kind,
        scratch: &mut Vec<u8>,
    ) {
        let start = self.rows.cells.len();
        self.rows.cells.resize(start + self.values.width(), UNKNOWN);
        // What a condition says about the rows holds for each of them.
        let implied = op
            .eq
            .iter()
            .filter_map(|(column, list)| match list.as_slice() {
                [value] => Some((column, value)),
                _ => None,
            });
        let stated = row.iter().map(|(column, value)| (column, value));
        for (column, value) in implied.chain(stated) {
            self.set(start, *column, value, scratch);
        }
        if kind.writes() {
            for usage in &mut self.usage.columns {
                usage.written += 1;
            }
            for (column, _) in row {
                if let Some(usage) = self.usage.columns.get_mut(usize::from(*column)) {
                    usage.known += 1;
                }
            }
        }
        self.rows
            .inserted
            .push(matches!(kind, trace::Kind::Insert | trace::Kind::Upsert));
    }

    fn set(&mut self, start: usize, column: u16, value: &Value, scratch: &mut Vec<u8>) {
        let cell = self.values.intern(column, value, scratch);
        let place = self.values.place(column);
        let place = place.and_then(|place| self.rows.cells.get_mut(start + place));
        if let Some(place) = place {
            *place = cell;
        }
    }

    /// How many transactions it stands for.
    pub(crate) fn weight(&self) -> f64 {
        self.txns.iter().map(|txn| txn.weight).sum()
    }

    /// Bytes of a row, key included.
    pub(crate) fn row_bytes(&self) -> f64 {
        const ROW_BYTES_USUAL: f64 = 200.0;
        match self.table.rows {
            0 => ROW_BYTES_USUAL,
            rows => self.table.bytes as f64 / rows as f64,
        }
    }

    /// The ops of a transaction.
    pub(crate) fn ops_of(&self, txn: &Txn) -> &[Op] {
        self.ops
            .get(at(txn.ops.start)..at(txn.ops.end))
            .unwrap_or_default()
    }
}

impl Usage {
    fn add(&mut self, op: &trace::Op, made: &Op, kind: trace::Kind, txns: f64) {
        if made.inserts {
            self.inserted += txns * f64::from(made.found);
        }
        if kind == trace::Kind::Insert {
            return;
        }
        self.looks += txns;
        let mut add = |column: u16, one: fn(&mut ColumnUsage) -> &mut f64| {
            if let Some(usage) = self.columns.get_mut(usize::from(column)) {
                *one(usage) += txns;
            }
        };
        for (column, _) in &op.eq {
            add(*column, |usage| &mut usage.eq);
        }
        for (column, _) in &op.low {
            add(*column, |usage| &mut usage.range);
        }
        let lows = |column: u16| op.low.iter().any(|(low, _)| *low == column);
        for (column, _) in op.high.iter().filter(|(column, _)| !lows(*column)) {
            add(*column, |usage| &mut usage.range);
        }
        if let Some(Order { column, .. }) = op.order.first() {
            add(*column, |usage| &mut usage.order);
        }
    }
}

impl ColumnUsage {
    /// Whether the rows that are written nearly always say it.
    pub(crate) fn is_known(&self) -> bool {
        weight(usize::try_from(self.known).unwrap_or(usize::MAX))
            >= 0.99 * weight(usize::try_from(self.written).unwrap_or(usize::MAX))
    }
}

/// The columns that keys may be made of: those of the key first.
fn kept_columns(table: &Table) -> Vec<u16> {
    let mut kept: Vec<u16> = Vec::new();
    let named = table.key.iter().chain(table.unique.iter().flatten());
    let named = named.filter_map(|name| table.column(name));
    let all = 0..u16::try_from(table.columns.len()).unwrap_or(u16::MAX);
    for column in named.chain(all) {
        let kind = table.columns.get(usize::from(column)).map(|one| one.kind);
        let fits = kind.is_some_and(keys::Type::is_key_type);
        if fits && !kept.contains(&column) && kept.len() < COLUMNS_KEPT_MAX {
            kept.push(column);
        }
    }
    kept
}

fn shape_of(op: &trace::Op, kind: trace::Kind) -> Shape {
    let first = |bounds: &[(u16, Value)]| bounds.iter().map(|(column, _)| *column).collect();
    Shape {
        eq: op.eq.iter().map(|(column, _)| *column).collect(),
        low: first(&op.low),
        high: first(&op.high),
        order: op
            .order
            .iter()
            .map(|order| (order.column, order.descending))
            .collect(),
        limited: op.limit.is_some(),
        looks: !matches!(kind, trace::Kind::Insert | trace::Kind::Upsert),
    }
}
