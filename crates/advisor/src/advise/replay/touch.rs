//! [`Touches`]: what one transaction does to which partitions, and what that costs.

use std::ops::Range;

use bytes::Bytes;
use partitions::{Access, AccessKind, Footprint, Random};

use super::super::content::{Content, NONE};
use super::super::heat::HeatMap;
use super::super::key::Part;
use super::super::number::{at, small, weight, whole_u32};
use super::super::plan::{Span, eq_cells};
use super::super::values::UNKNOWN;
use super::super::workload::{Op, Txn};
use super::Replay;

/// The most accesses of one transaction that are told apart; the others only cost.
const TOUCHES_MAX: usize = 4096;
/// The most rows of one read that are looked up one by one behind an index.
const LOOKED_UP_MAX: u32 = 64;

/// The touches of a transaction, reused from one to the next.
#[derive(Debug, Default)]
pub(super) struct Touches {
    bytes: Vec<u8>,
    list: Vec<Touch>,
    groups: Vec<Group>,
    /// The indexes that are read or changed, each of which is a partition more.
    indexes: Vec<usize>,
    /// The partitions of the operation at hand.
    seen: Vec<u32>,
    /// The key of the row at hand.
    key: Vec<u8>,
}

/// One access.
#[derive(Clone, Debug)]
struct Touch {
    partition: u32,
    kind: AccessKind,
    lower: Range<usize>,
    upper: Range<usize>,
    cost_us: f64,
}

/// What a transaction does to one partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) partition: u32,
    pub(super) cost_us: f64,
}

/// How many rows an operation goes over in one range.
#[derive(Clone, Copy, Debug)]
struct Asked {
    rows: f64,
    /// Whether it stops as soon as it has them.
    stops: bool,
    descending: bool,
}

impl Touches {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
        self.groups.clear();
        self.indexes.clear();
    }

    fn push_index(&mut self, index: usize) {
        if !self.indexes.contains(&index) {
            self.indexes.push(index);
        }
    }

    fn push(&mut self, partition: usize, kind: AccessKind, span: Span<'_>, cost_us: f64) {
        let partition = small(partition);
        if !self.seen.contains(&partition) {
            self.seen.push(partition);
        }
        if self.list.len() >= TOUCHES_MAX {
            let last = self.list.iter_mut().rev();
            let mut same = last.filter(|touch| touch.partition == partition);
            if let Some(touch) = same.next() {
                touch.cost_us += cost_us;
                return;
            }
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(span.lower);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(span.upper);
        self.list.push(Touch {
            partition,
            kind,
            lower: start..middle,
            upper: middle..self.bytes.len(),
            cost_us,
        });
    }

    /// Sums up by partition.
    pub(super) fn group(&mut self) {
        for touch in &self.list {
            let mut groups = self.groups.iter_mut();
            match groups.find(|group| group.partition == touch.partition) {
                Some(group) => group.cost_us += touch.cost_us,
                None => self.groups.push(Group {
                    partition: touch.partition,
                    cost_us: touch.cost_us,
                }),
            }
        }
    }

    /// How many it touches, those of indexes among them.
    pub(super) fn partitions(&self) -> usize {
        self.groups.len() + self.indexes.len()
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = Group> + '_ {
        self.groups.iter().copied()
    }

    /// What it did in one partition, as a real one would remember it.
    pub(super) fn footprint(&self, txn: u64, multi_partition: bool, group: Group) -> Footprint {
        let bytes = |range: &Range<usize>| {
            let bytes = self.bytes.get(range.clone());
            Bytes::copy_from_slice(bytes.unwrap_or_default())
        };
        let own = self
            .list
            .iter()
            .filter(|touch| touch.partition == group.partition);
        let access = |touch: &Touch| Access {
            kind: touch.kind,
            key: bytes(&touch.lower),
            upper: (!touch.upper.is_empty()).then(|| bytes(&touch.upper)),
            cost: whole_u32(touch.cost_us).max(1),
        };
        Footprint {
            txn,
            multi_partition,
            accesses: own.map(access).collect(),
        }
    }

    /// Adds it to a picture.
    pub(super) fn draw(&self, content: &Content<'_>, heat: &mut HeatMap, txn: &Txn) {
        for touch in &self.list {
            let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
            let from = content.place(bytes(&touch.lower));
            let to = match touch.kind {
                AccessKind::Scan => content.upper_place(bytes(&touch.upper)),
                AccessKind::Read | AccessKind::Write => from + 1,
            };
            heat.add(
                txn.at_us,
                (from, to, content.len()),
                touch.cost_us * txn.weight,
            );
        }
    }
}

impl Replay<'_, '_> {
    /// What one operation touches.
    pub(super) fn touch(&mut self, op: &Op, txn: &Txn, now_us: u64) {
        self.touches.seen.clear();
        let workload = self.setting.workload;
        let Some(shape) = workload.shapes.get(at(op.shape)) else {
            return;
        };
        let way = self.indexes.way(at(op.shape)).filter(|_| shape.looks);
        let mut rows = 0.0;
        if let Some(index) = way {
            rows = self.look_through(op, index);
        } else if shape.looks {
            rows = self.look_for(op);
        }
        if op.writes {
            self.write(op);
            for index in self.indexes.changed(at(op.statement)) {
                self.touches.push_index(*index);
            }
        }
        if !op.writes && self.is_second_half(now_us) {
            let partitions = weight(self.touches.seen.len() + usize::from(way.is_some()));
            if let Some(reads) = self.outcome.reads.get_mut(at(op.statement)) {
                reads.runs += txn.weight;
                reads.partitions += txn.weight * partitions;
                reads.rows += txn.weight * rows;
            }
        }
    }

    /// Looks for rows; answers how many it went over.
    fn look_for(&mut self, op: &Op) -> f64 {
        let workload = self.setting.workload;
        let shape = workload.shapes.get(at(op.shape));
        let (Some(shape), Some(plan)) = (shape, self.plans.get(at(op.shape))) else {
            return 0.0;
        };
        let cells = (&workload.values, workload.cells.as_slice());
        plan.ranges(op, shape, cells, &mut self.ranges);
        let ranges = std::mem::take(&mut self.ranges);
        let mut rows = 0.0;
        for span in ranges.iter() {
            rows += match span.point {
                true => self.look_at(op, span),
                false => {
                    let asked = self.asked(op, span, ranges.len());
                    self.scan(op, span, asked)
                }
            };
        }
        self.ranges = ranges;
        rows
    }

    /// Looks for rows by an index; answers how many entries it went over. Its rows are those that were
    /// recorded, and where too little is known of them, any.
    fn look_through(&mut self, op: &Op, index: usize) -> f64 {
        self.touches.push_index(index);
        let entries = match (self.setting.is_current, op.rows_read) {
            (true, Some(rows)) => f64::from(rows.max(op.found)),
            _ => f64::from(op.found),
        };
        if self.indexes.covers(at(op.statement), index) || op.found == 0 {
            return entries;
        }
        let workload = self.setting.workload;
        let parts = &self.setting.key.parts;
        let is_known = |row: &u32| {
            let cells = workload.rows.get(*row);
            let mut inputs = parts.iter().flat_map(Part::inputs);
            inputs.all(|column| workload.values.cell(cells, *column) != UNKNOWN)
        };
        let known: Vec<u32> = op.rows.clone().filter(is_known).collect();
        let looked_up = op.found.min(LOOKED_UP_MAX);
        let each = f64::from(op.found) / f64::from(looked_up.max(1));
        let rates = workload.rates;
        let cost_us = (rates.visit_us + rates.row_us) * f64::from(op.factor) * each;
        let mut key = std::mem::take(&mut self.touches.key);
        for number in 0..looked_up {
            key.clear();
            match known.get(at(number)) {
                Some(row) => {
                    let cells = workload.rows.get(*row);
                    self.setting.key.append(&workload.values, cells, &mut key);
                }
                None => {
                    let all = u64::try_from(self.content.len()).unwrap_or(u64::MAX);
                    let place = self.random.below(all.max(1));
                    let place = usize::try_from(place).unwrap_or_default();
                    key.extend_from_slice(self.content.key(place));
                }
            }
            let partition = self.partitions.route(&key);
            let span = Span {
                lower: &key,
                upper: &[],
                point: true,
            };
            self.touches
                .push(partition, AccessKind::Read, span, cost_us);
        }
        self.touches.key = key;
        entries
    }

    fn look_at(&mut self, op: &Op, span: Span<'_>) -> f64 {
        let rates = self.setting.workload.rates;
        let cost_us = (rates.visit_us + rates.row_us) * f64::from(op.factor);
        let partition = self.partitions.route(span.lower);
        self.touches
            .push(partition, AccessKind::Read, span, cost_us);
        1.0
    }

    /// How many rows of a range have to be gone over.
    fn asked(&self, op: &Op, span: Span<'_>, ranges: usize) -> Asked {
        let ranges = weight(ranges.max(1));
        let found = f64::from(op.found);
        let Some(plan) = self.plans.get(at(op.shape)) else {
            return Asked {
                rows: found,
                stops: false,
                descending: false,
            };
        };
        let stops = op.limit.is_some() && plan.ordered;
        let asked = |rows: f64| Asked {
            rows,
            stops,
            descending: plan.descending,
        };
        if let (true, Some(rows)) = (self.setting.is_current, op.rows_read) {
            return asked(f64::from(rows) / ranges);
        }
        if plan.exact && op.limit.is_none() && !op.uncounted {
            return asked(found / ranges);
        }
        if plan.exact && stops && ranges <= 1.0 && !op.uncounted {
            return asked(found);
        }
        let from = self.content.place(span.lower);
        let to = self.content.upper_place(span.upper);
        let mut inside = self.content.rows(from, to).max(found / ranges);
        if let (true, Some(rows)) = (plan.exact && op.uncounted, op.rows_read) {
            // It went over those that fit under the present key too, and maybe over others.
            inside = inside.min(f64::from(rows));
        }
        // Several ranges are merged: each gives its part, and shows one row that it would give next.
        let part = |rows: f64| match ranges > 1.0 {
            true => (rows / ranges + 1.0).min(rows),
            false => rows,
        };
        match op.limit.map(f64::from) {
            Some(limit) if stops && plan.exact && op.uncounted => asked(part(limit).min(inside)),
            Some(_) if stops && plan.exact => asked(part(found).min(inside)),
            // Rows that fit come in between others: as many more have to be gone over.
            Some(limit) if stops => {
                let fitting = (self.fitting(op) * inside).max(1.0);
                asked((part(limit) * inside / fitting).min(inside))
            }
            _ => asked(inside),
        }
    }

    /// The share of all rows that fit the conditions of equality.
    fn fitting(&self, op: &Op) -> f64 {
        let workload = self.setting.workload;
        let Some(shape) = workload.shapes.get(at(op.shape)) else {
            return 1.0;
        };
        eq_cells(op, shape, &workload.cells)
            .map(|(column, cells)| self.content.known().share(column, cells))
            .product()
    }

    fn scan(&mut self, op: &Op, span: Span<'_>, asked: Asked) -> f64 {
        let rates = self.setting.workload.rates;
        let factor = f64::from(op.factor);
        let first = self.partitions.route(span.lower);
        let last = self.partitions.route_below(span.upper).max(first);
        let cost = |rows: f64| (rates.visit_us + rates.row_us * rows) * factor;
        if first == last {
            self.touches
                .push(first, AccessKind::Scan, span, cost(asked.rows));
            return asked.rows;
        }
        let from = self.content.place(span.lower);
        let to = self.content.upper_place(span.upper);
        let inside = self.content.rows(from, to);
        let mut left = asked.rows;
        for step in 0..=last - first {
            let index = match asked.descending {
                true => last - step,
                false => first + step,
            };
            let Some(partition) = self.partitions.list.get(index) else {
                continue;
            };
            let (start, end) = partition.places;
            let held = self
                .content
                .rows(start.max(from), end.min(to).max(start.max(from)));
            let rows = match asked.stops {
                true => held.min(left),
                false if inside > 0.0 => asked.rows * held / inside,
                false => asked.rows / weight(last - first + 1),
            };
            let range = &partition.stats.range;
            let upper = range.upper.as_deref().unwrap_or_default();
            let clipped = Span {
                lower: span.lower.max(&range.lower),
                upper: match (span.upper.is_empty(), upper.is_empty()) {
                    (true, _) => upper,
                    (_, true) => span.upper,
                    _ => span.upper.min(upper),
                },
                point: false,
            };
            self.touches
                .push(index, AccessKind::Scan, clipped, cost(rows));
            left -= rows;
            if asked.stops && left <= 0.0 {
                break;
            }
        }
        asked.rows
    }

    fn write(&mut self, op: &Op) {
        let workload = self.setting.workload;
        let rows = op.rows.len();
        if rows == 0 {
            return;
        }
        let all = f64::from(op.found.max(1));
        let rate_us = match op.inserts {
            true => workload.rates.insert_us,
            false => workload.rates.write_us,
        };
        let cost_us = rate_us * f64::from(op.factor) * all / weight(rows);
        let mut key = std::mem::take(&mut self.touches.key);
        for row in op.rows.clone() {
            key.clear();
            let cells = workload.rows.get(row);
            self.setting.key.append(&workload.values, cells, &mut key);
            let partition = self.partitions.route(&key);
            let span = Span {
                lower: &key,
                upper: &[],
                point: true,
            };
            self.touches
                .push(partition, AccessKind::Write, span, cost_us);
            if op.inserts {
                let known = self.content.known().first_seen(row);
                if known != NONE {
                    self.content.insert(known);
                }
            }
        }
        self.touches.key = key;
    }
}
