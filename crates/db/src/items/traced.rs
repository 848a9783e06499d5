//! What the recorder hears of requests that have their turn: the rows of the container's table.
//!
//! ```text
//!   GetItem                         read    path, slice, sharding and sorting by =
//!   PutItem                         upsert, and delete of the spots where it may have been before
//!   PutItem, UpdateItem that look   update, or insert if it must be new; read of the other spots
//!   GetItems of a sharding key      read    path, slice, sharding by =, sorting from and to
//!   GetItems of all or a segment    read    path by =, slice from and to
//! ```
//!
//! Requests of one function on one table take turns. The partitions of a table are that table: what
//! follows after a part of the path with `=` in it does not count.

use crate::Value;
use advisor::trace::{Kind, Op, Row};
use keys::SLICES;
use keys::item_name::slice;

use super::marker::Marker;
use super::record::{Key, Record, sharding_prefix, sorting_value};
use super::scan::{Ask, Bounds};
use super::scope::{Scope, bound};
use super::write::{Mode, Write};
use super::{Collections, Directory, path};

/// Key columns of a container's table, by place.
const PATH: u16 = 0;
const SLICE: u16 = 1;
const SORTING: u16 = 3;

impl Collections {
    /// Something if this request is to be recorded: then it is to be told what it did.
    pub(super) fn request(
        &self,
        function: &str,
        directory: &Directory,
    ) -> Option<crate::Request<'_>> {
        self.database.request(&name(function, directory))
    }
}

/// What all requests of a function on a table are called.
fn name(function: &str, directory: &Directory) -> String {
    let parts = directory.path.split_inclusive('/');
    let table: String = parts.take_while(|part| !part.contains('=')).collect();
    format!("{function} {}/{table}", directory.container)
}

/// A look for one item at the spots where it may be: it was at the last of them, or at none.
pub(super) fn looked_for(keys: &[&Key], found: bool) -> Vec<(Kind, Op)> {
    let last = keys.len().saturating_sub(1);
    let spots = keys.iter().enumerate();
    let ops = spots.map(|(at, key)| by_key(key, found && at == last));
    ops.map(|op| (Kind::Read, op)).collect()
}

/// A change of one item, whose first spot is where it is written.
pub(super) fn changed(write: &Write, keys: &[&Key]) -> Vec<(Kind, Op)> {
    let (first, others) = match (write.is_blind(), write.mode) {
        (true, _) => (Kind::Upsert, Kind::Delete),
        (false, Mode::CreateOnly) => (Kind::Insert, Kind::Read),
        (false, _) => (Kind::Update, Kind::Read),
    };
    let spots = keys.iter().enumerate();
    let ops = spots.map(|(at, key)| match at {
        0 => (first, by_key(key, true)),
        _ => (others, by_key(key, false)),
    });
    ops.collect()
}

/// A deletion of one item, which was at one of these spots.
pub(super) fn deleted(keys: &[&Key]) -> Vec<(Kind, Op)> {
    let ops = keys.iter().map(|key| (Kind::Delete, by_key(key, true)));
    ops.collect()
}

/// A page of a scan, with the strands that it was made of.
pub(super) struct Scanned<'a> {
    pub(super) path: &'a str,
    pub(super) ask: &'a Ask,
    /// The sharding keys whose rows were read, if not those of all.
    pub(super) shardings: &'a [String],
    pub(super) bounds: Option<&'a Bounds>,
    pub(super) marker: Option<&'a Marker>,
    pub(super) records: &'a [Record],
    pub(super) looked_at: usize,
}

impl Scanned<'_> {
    pub(super) fn ops(&self) -> Vec<(Kind, Op)> {
        let ops = match self.shardings {
            [] => vec![self.of_slices()],
            shardings => shardings.iter().map(|key| self.of_sharding(key)).collect(),
        };
        let count = ops.len().max(1);
        let each = u64::try_from(self.looked_at / count).ok();
        let whole = ops.into_iter().map(|op| Op {
            found: op.rows.is_empty().then_some(0),
            rows_read: each,
            ..op
        });
        whole.map(|op| (Kind::Read, op)).collect()
    }

    fn of_sharding(&self, sharding: &str) -> Op {
        let own = |record: &&Record| record.key.sharding == sharding;
        let after = self.marker.map(|marker| marker.sorting.clone());
        let low = match (after, self.bounds) {
            (Some(after), _) => after,
            (None, bounds) => bounds.map(|(low, _)| low.clone()),
        };
        let high = self.bounds.and_then(|(_, high)| high.clone());
        let bound = |sorting: Option<Vec<u8>>| -> Row {
            let sorting = sorting.map(|sorting| (SORTING, sorting_value(Some(&sorting))));
            sorting.into_iter().collect()
        };
        Op {
            eq: equal(&sharding_prefix(self.path, sharding)),
            low: bound(low),
            high: bound(high),
            limit: self.limit(),
            rows: self.records.iter().filter(own).map(row).collect(),
            ..Op::default()
        }
    }

    fn of_slices(&self) -> Op {
        let path = Value::Utf8(self.path.into());
        let mut op = Op {
            limit: self.limit(),
            rows: self.records.iter().map(row).collect(),
            ..Op::default()
        };
        let (from, to) = match self.ask.scope {
            Scope::Below(_) => {
                op.low = vec![(PATH, path)];
                let above = path::above(self.path);
                op.high = above
                    .map(|above| (PATH, Value::Utf8(above.into())))
                    .into_iter()
                    .collect();
                return op;
            }
            Scope::Segment(segment, total) => (
                bound(segment, total),
                bound(segment.saturating_add(1), total),
            ),
            Scope::Whole | Scope::Sharding { .. } => (0, SLICES),
        };
        let after = self.marker.map(|marker| slice(&marker.sharding));
        op.eq = equal(&[path]);
        op.low = vec![(SLICE, Value::Uint16(after.unwrap_or(from)))];
        op.high = vec![(SLICE, Value::Uint16(to.saturating_sub(1)))];
        op
    }

    /// A limit ends the reading only if every row counts.
    fn limit(&self) -> Option<u64> {
        let limit = self.ask.limit.filter(|_| self.ask.filter.is_none())?;
        u64::try_from(limit).ok()
    }
}

fn by_key(key: &Key, there: bool) -> Op {
    let values = key.values();
    Op {
        eq: equal(&values),
        rows: match there {
            true => vec![(0..).zip(values).collect()],
            false => Vec::new(),
        },
        found: (!there).then_some(0),
        ..Op::default()
    }
}

fn equal(values: &[Value]) -> Vec<(u16, Vec<Value>)> {
    let values = values.iter().map(|value| vec![value.clone()]);
    (0..).zip(values).collect()
}

fn row(record: &Record) -> Row {
    (0..).zip(record.key.values()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_of_a_table_have_its_name() {
        let named = |path: &str| {
            let directory = Directory {
                container: "users".to_owned(),
                path: path.to_owned(),
            };
            name("GetItem", &directory)
        };
        assert_eq!(named(""), "GetItem users/");
        assert_eq!(named("cars/old/"), "GetItem users/cars/old/");
        assert_eq!(named("cars/year=2018/month=1/"), "GetItem users/cars/");
    }
}
