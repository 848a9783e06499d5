//! [`Plan`]: where under a key the rows of a condition lie, worked out as the database does.
//!
//! ```text
//!   key (hash(userid), userid, ts)      condition userid = 7 AND ts > t
//!        Hash of userid ─ Eq userid ─ Range on ts            one range, nothing else is read
//!
//!   key (ts, userid) in 16 buckets      condition ts > t
//!        Each of 16 ─ Range on ts                            sixteen ranges
//!
//!   key (ts, userid)                    condition userid = 7
//!        nothing is bound                                    the whole table
//! ```
//!
//! Columns are bound from the left: by equality, by a hash whose inputs all are, by trying each of
//! few buckets, and at last by a range. A plan is made once for a key and a shape; the ranges of each
//! operation follow from its cells.

use keys::Type;

use super::key::{Function, Key, Part, append_number};
use super::number::at;
use super::values::Values;
use super::workload::{Op, Shape};

/// The most ranges that one operation is taken apart into.
const RANGES_MAX: usize = 256;

/// How a key answers a shape of conditions.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    steps: Vec<Step>,
    end: End,
    /// Whether the ranges hold the rows that are asked for and no other.
    pub(crate) exact: bool,
    /// Whether a limit ends the reading early.
    pub(crate) ordered: bool,
    /// Whether it is read from the end.
    pub(crate) descending: bool,
    /// For each condition of equality whether a step uses it.
    used: Vec<bool>,
}

#[derive(Clone, Debug)]
enum Step {
    /// A part whose inputs are all bound by equality.
    Bound(Part),
    /// Each bucket.
    Each { count: u32, kind: Type },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Every column is bound.
    Point,
    /// All keys that begin so.
    Prefix,
    /// A range of the next column: the places of its bounds among those of the shape.
    Range {
        low: Option<usize>,
        high: Option<usize>,
    },
}

/// Ranges of keys, reused from operation to operation.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    bytes: Vec<u8>,
    found: Vec<Found>,
    picks: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    start: usize,
    middle: usize,
    end: usize,
    point: bool,
}

/// One range: a key, or the keys from `lower` to `upper`, which is out; empty is without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span<'r> {
    pub(crate) lower: &'r [u8],
    pub(crate) upper: &'r [u8],
    pub(crate) point: bool,
}

impl Ranges {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Span<'_>> {
        self.found.iter().map(|found| Span {
            lower: self
                .bytes
                .get(found.start..found.middle)
                .unwrap_or_default(),
            upper: self.bytes.get(found.middle..found.end).unwrap_or_default(),
            point: found.point,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }
}

impl Plan {
    pub(crate) fn new(key: &Key, shape: &Shape) -> Self {
        let eq_place = |column: &u16| shape.eq.iter().position(|one| one == column);
        let mut plan = Self {
            steps: Vec::new(),
            end: End::Point,
            exact: false,
            ordered: false,
            descending: shape
                .order
                .first()
                .is_some_and(|(_, descending)| *descending),
            used: vec![false; shape.eq.len()],
        };
        let mut range_column = None;
        let mut rest = key.parts.as_slice();
        while let Some((part, after)) = rest.split_first() {
            let places: Option<Vec<usize>> = part.inputs().iter().map(eq_place).collect();
            match (part, places) {
                (Part::Column(_) | Part::Hash { .. } | Part::Bucket { .. }, Some(places)) => {
                    for place in places {
                        if let Some(used) = plan.used.get_mut(place) {
                            *used = true;
                        }
                    }
                    plan.steps.push(Step::Bound(part.clone()));
                }
                (Part::Bucket { count, kind, .. }, None) => plan.steps.push(Step::Each {
                    count: *count,
                    kind: *kind,
                }),
                _ => break,
            }
            rest = after;
        }
        if let Some(part) = rest.first() {
            let bound = |columns: &[u16]| match part {
                Part::Column(column) => columns.iter().position(|one| one == column),
                _ => None,
            };
            let (low, high) = (bound(&shape.low), bound(&shape.high));
            plan.end = match (low, high) {
                (None, None) => End::Prefix,
                _ => End::Range { low, high },
            };
            if let (Part::Column(column), End::Range { .. }) = (part, plan.end) {
                range_column = Some(*column);
            }
        }
        plan.ordered = is_ordered(shape, rest);
        plan.drop_idle_buckets(shape);
        let in_key = |column: &u16| range_column == Some(*column) || shape.eq.contains(column);
        plan.exact =
            plan.used.iter().all(|used| *used) && shape.low.iter().chain(&shape.high).all(in_key);
        plan
    }

    /// Trying each bucket is worth nothing where nothing behind it is bound or ordered.
    fn drop_idle_buckets(&mut self, shape: &Shape) {
        let merges = shape.limited && !shape.order.is_empty() && self.ordered;
        if self.end == End::Prefix && !merges {
            while matches!(self.steps.last(), Some(Step::Each { .. })) {
                self.steps.pop();
            }
        }
    }

    /// How many columns of the key are bound, buckets that are tried one by one not among them.
    pub(crate) fn bound(&self) -> usize {
        let steps = self.steps.iter();
        let steps = steps.filter(|step| matches!(step, Step::Bound(_)));
        steps.count() + usize::from(matches!(self.end, End::Range { .. }))
    }

    /// Whether nothing is bound at all.
    pub(crate) fn is_whole_table(&self) -> bool {
        self.steps.is_empty() && self.end == End::Prefix
    }

    /// The ranges of an operation.
    pub(crate) fn ranges(
        &self,
        op: &Op,
        shape: &Shape,
        (values, cells): (&Values, &[u32]),
        out: &mut Ranges,
    ) {
        out.bytes.clear();
        out.found.clear();
        let conditions = Conditions::new(op, shape, cells);
        out.picks.clear();
        out.picks.resize(shape.eq.len(), 0);
        let buckets = self.steps.iter().find_map(|step| match step {
            Step::Each { count, .. } => Some(*count),
            Step::Bound(_) => None,
        });
        loop {
            for bucket in 0..buckets.unwrap_or(1) {
                if out.found.len() >= RANGES_MAX {
                    return;
                }
                self.append_range(&conditions, values, bucket, out);
            }
            if !self.next_pick(&conditions, &mut out.picks) {
                return;
            }
        }
    }

    fn append_range(
        &self,
        conditions: &Conditions<'_>,
        values: &Values,
        bucket: u32,
        out: &mut Ranges,
    ) {
        let start = out.bytes.len();
        let picks = &out.picks;
        let cell = |column: u16| conditions.eq(column, picks);
        for step in &self.steps {
            match step {
                Step::Bound(part) => part.append(values, cell, &mut out.bytes),
                Step::Each { kind, .. } => {
                    append_number(&mut out.bytes, u64::from(bucket), *kind);
                }
            }
        }
        let prefix = start..out.bytes.len();
        let (low, high) = match self.end {
            End::Range { low, high } => (
                low.and_then(|place| conditions.low(place)),
                high.and_then(|place| conditions.high(place)),
            ),
            End::Point | End::Prefix => (None, None),
        };
        if let Some((column, cell)) = low {
            out.bytes.extend_from_slice(values.bytes(column, cell));
        }
        let middle = out.bytes.len();
        if self.end != End::Point {
            out.bytes.extend_from_within(prefix.clone());
            if let Some((column, cell)) = high {
                out.bytes.extend_from_slice(values.bytes(column, cell));
            }
            // Above every key that begins so; nothing is above all keys but no bound at all.
            if out.bytes.len() > middle {
                out.bytes.push(0xff);
            }
        }
        out.found.push(Found {
            start,
            middle,
            end: out.bytes.len(),
            point: self.end == End::Point,
        });
    }

    /// Moves on to the next choice of values of the INs that are used.
    fn next_pick(&self, conditions: &Conditions<'_>, picks: &mut [usize]) -> bool {
        let used = picks.iter_mut().zip(&self.used).enumerate();
        for (place, (pick, used)) in used {
            if !used {
                continue;
            }
            *pick += 1;
            if *pick < conditions.count(place) {
                return true;
            }
            *pick = 0;
        }
        false
    }
}

/// Whether the rows of one range come in the order that is asked for.
fn is_ordered(shape: &Shape, rest: &[Part]) -> bool {
    let mut next = rest.iter();
    let descending = shape
        .order
        .first()
        .is_some_and(|(_, descending)| *descending);
    let free = shape
        .order
        .iter()
        .filter(|(column, _)| !shape.eq.contains(column));
    free.into_iter()
        .all(|(column, down)| *down == descending && next.next() == Some(&Part::Column(*column)))
}

/// The conditions of one operation.
struct Conditions<'w> {
    shape: &'w Shape,
    cells: &'w [u32],
    /// Where the bounds begin among the cells.
    bounds: usize,
}

impl<'w> Conditions<'w> {
    fn new(op: &Op, shape: &'w Shape, cells: &'w [u32]) -> Self {
        let cells = cells.get(at(op.cells)..).unwrap_or_default();
        let mut bounds = 0;
        for _ in &shape.eq {
            bounds += 1 + cells.get(bounds).copied().map_or(0, at);
        }
        Self {
            shape,
            cells,
            bounds,
        }
    }

    fn start(&self, place: usize) -> usize {
        let mut start = 0;
        for _ in 0..place {
            start += 1 + self.cells.get(start).copied().map_or(0, at);
        }
        start
    }

    /// How many values a condition of equality has.
    fn count(&self, place: usize) -> usize {
        self.cells.get(self.start(place)).copied().map_or(0, at)
    }

    /// The chosen value of a column.
    fn eq(&self, column: u16, picks: &[usize]) -> u32 {
        let place = self.shape.eq.iter().position(|one| *one == column);
        let cell = place.and_then(|place| {
            let pick = picks.get(place)?;
            self.cells.get(self.start(place) + 1 + pick)
        });
        cell.copied().unwrap_or_default()
    }

    fn low(&self, place: usize) -> Option<(u16, u32)> {
        let column = self.shape.low.get(place)?;
        let cell = self.cells.get(self.bounds + place)?;
        Some((*column, *cell))
    }

    fn high(&self, place: usize) -> Option<(u16, u32)> {
        let column = self.shape.high.get(place)?;
        let cell = self.cells.get(self.bounds + self.shape.low.len() + place)?;
        Some((*column, *cell))
    }
}

/// Which hash suits some columns: that of the documents for one integer, ours for anything else.
pub(crate) fn function_for(kinds: &[Type]) -> Function {
    match kinds {
        [kind] if kind.is_integer() => Function::Numeric,
        _ => Function::Values,
    }
}

/// The values that a condition of equality names, for estimates: the first of each.
pub(crate) fn eq_cells<'w>(
    op: &Op,
    shape: &'w Shape,
    cells: &'w [u32],
) -> impl Iterator<Item = (u16, &'w [u32])> + use<'w> {
    let mut rest = cells.get(at(op.cells)..).unwrap_or_default();
    shape.eq.iter().map(move |column| {
        let (count, after) = rest.split_first().unwrap_or((&0, &[]));
        let (list, after) = after.split_at_checked(at(*count)).unwrap_or_default();
        rest = after;
        (*column, list)
    })
}
