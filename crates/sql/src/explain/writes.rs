//! How writes are shown, and how many partitions their commit takes.
//!
//! A commit takes every partition that the statement reads or writes. Each index is a table of its
//! own, so writing to an indexed table takes at least one partition more. What depends on rows that
//! are not read yet may lie in any partition.

use std::collections::BTreeSet;
use std::sync::Arc;

use keys::{Value, format_key};
use syntax::Mode;
use txn::{Bytes, KeyRange, PartitionId, Reader};

use super::tree::{Commit, Fact, Node};
use crate::access::{self, Access, Target};
use crate::index::IndexTable;
use crate::modify::{ChangePlan, InsertPlan};
use crate::scalar::Given;
use crate::{Result, Table};

/// How many keys are told one by one.
const KEYS_SHOWN_MAX: usize = 16;

/// The partitions that a commit takes.
#[derive(Debug, Default)]
struct Footprint {
    certain: BTreeSet<PartitionId>,
    possible: BTreeSet<PartitionId>,
    /// How many besides the certain ones there are at least.
    more: usize,
}

impl Footprint {
    /// All of these.
    fn surely(&mut self, partitions: BTreeSet<PartitionId>) {
        self.possible.extend(partitions.iter().copied());
        self.certain.extend(partitions);
    }

    /// None, some or all of these.
    fn maybe(&mut self, partitions: BTreeSet<PartitionId>) {
        self.possible.extend(partitions);
    }

    /// At least one of these, which are all partitions of a table.
    fn somewhere(&mut self, partitions: BTreeSet<PartitionId>) {
        if partitions.len() == 1 {
            return self.surely(partitions);
        }
        self.more += usize::from(partitions.is_disjoint(&self.certain));
        self.maybe(partitions);
    }

    fn read(&mut self, access: &Access) {
        match access.is_open() {
            true => self.somewhere(access.touched.clone()),
            false => self.surely(access.touched.clone()),
        }
    }

    fn commit(&self) -> Fact {
        let max = self.possible.len();
        let min = (self.certain.len() + self.more).min(max);
        Fact::Commit(Commit { min, max })
    }
}

/// INSERT and the like. `reads` are those of the query that gives the rows.
pub(super) fn insert(
    plan: &InsertPlan,
    reader: &Reader,
    given: Given<'_>,
    reads: &[&Access],
) -> Result<Node> {
    let kind = match plan.mode {
        Mode::Insert => "Insert",
        Mode::Upsert => "Upsert",
        Mode::Replace => "Replace",
        Mode::UpdateOn => "Update On",
        Mode::DeleteOn => "Delete On",
    };
    let table = &plan.table;
    let schema = table.schema();
    let target = Target::table(table);
    let mut node = Node::new(kind, Some(schema.name()));
    let mut footprint = Footprint::default();
    reads.iter().for_each(|access| footprint.read(access));
    let rows = plan.known_rows(given)?;
    let mut keys = Vec::new();
    let mut shown = Vec::new();
    let mut unknown = rows.is_none();
    for row in rows.iter().flatten() {
        match key_of(table, row)? {
            Some((key, called)) => {
                keys.push(key);
                shown.push(called);
            }
            None => unknown = true,
        }
    }
    if let Some(rows) = &rows {
        node.add("Rows", Fact::Number(rows.len() as u64));
    }
    if !keys.is_empty() {
        shown.truncate(KEYS_SHOWN_MAX);
        node.add("Keys", Fact::Keys(shown, keys.len()));
    }
    if let Some(items) = table.collection() {
        let schema = items.schema_range()?;
        footprint.surely(access::touched(reader, table.id(), &[schema])?);
    }
    let ranges: Vec<KeyRange> = keys.iter().map(|key| KeyRange::point(key)).collect();
    let written = access::touched(reader, table.id(), &ranges)?;
    let all = target.partitions(reader)?;
    let known = (!unknown || all.len() == 1).then_some(written.len().max(usize::from(unknown)));
    node.add("Partitions", Fact::Partitions(known, all.len()));
    footprint.surely(written);
    if unknown {
        footprint.somewhere(all);
    }
    let fresh = plan.mode == Mode::Insert && plan.on_conflict().is_none();
    for index in table.indexes() {
        entries(index, rows.as_deref(), fresh, reader, &mut footprint)?;
    }
    if let Some(action) = plan.on_conflict() {
        node.say("On Conflict", action);
    }
    node.say(
        "Reads First",
        match plan.reads_first() {
            true => "the rows with these keys",
            false => "nothing",
        },
    );
    indexes(&mut node, table, |_| true);
    node.add("Commit", footprint.commit());
    Ok(node)
}

/// The key of a row and what it is called, as far as its values are known.
fn key_of(table: &Table, row: &[Option<Value>]) -> Result<Option<(Bytes, String)>> {
    if let Some(items) = table.collection() {
        return Ok(items.known_key(table.schema(), row));
    }
    let schema = table.schema();
    let value = |position: &usize| row.get(*position).cloned().flatten();
    let key: Option<Vec<Value>> = schema.key_positions().iter().map(value).collect();
    let Some(key) = key else {
        return Ok(None);
    };
    let key = schema.encode_key(&key)?;
    let called = format_key(&key);
    Ok(Some((key, called)))
}

/// The partitions of an index that rows touch. Entries are surely written for `fresh` rows; otherwise
/// the row that was there decides.
fn entries(
    index: &IndexTable,
    rows: Option<&[Vec<Option<Value>>]>,
    fresh: bool,
    reader: &Reader,
    footprint: &mut Footprint,
) -> Result<()> {
    let all = access::touched(reader, index.id, &[KeyRange::all()])?;
    if !fresh {
        footprint.maybe(all);
        return Ok(());
    }
    let mut unknown = rows.is_none();
    for row in rows.unwrap_or_default() {
        match index.touches(row)? {
            Some(range) => footprint.surely(access::touched(reader, index.id, &[range])?),
            None => unknown = true,
        }
    }
    if unknown {
        footprint.somewhere(all);
    }
    Ok(())
}

/// UPDATE and DELETE, with what finds the rows.
pub(super) fn change(
    plan: &ChangePlan,
    reader: &Reader,
    reads: &[&Access],
    found: Node,
) -> Result<Node> {
    let table = &plan.table;
    let schema = table.schema();
    let assigned = plan.assigned();
    let kind = match assigned {
        Some(_) => "Update",
        None => "Delete",
    };
    let mut node = Node::new(kind, Some(schema.name()));
    let mut footprint = Footprint::default();
    reads.iter().for_each(|access| footprint.read(access));
    if let Some(assigned) = &assigned {
        let columns = assigned.iter();
        let columns = columns.filter_map(|position| schema.columns().get(*position));
        let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        node.say("Set", names.join(", "));
        let moved = |position: &usize| match table.collection() {
            Some(items) => items.places(*position),
            None => schema.key_positions().contains(position),
        };
        if assigned.iter().any(moved) {
            node.say("Moves Rows", "the primary key is set");
            footprint.maybe(Target::table(table).partitions(reader)?);
        }
    }
    if let Some(items) = table.collection() {
        let schema = items.schema_range()?;
        footprint.surely(access::touched(reader, table.id(), &[schema])?);
    }
    if by_index(plan, reads) {
        footprint.somewhere(Target::table(table).partitions(reader)?);
    }
    let touches = |index: &IndexTable| match &assigned {
        Some(assigned) => assigned.iter().any(|position| index.holds(*position)),
        None => true,
    };
    for index in table.indexes().iter().filter(|index| touches(index)) {
        let all = access::touched(reader, index.id, &[KeyRange::all()])?;
        match assigned {
            Some(_) => footprint.maybe(all),
            None => footprint.somewhere(all),
        }
    }
    indexes(&mut node, table, touches);
    node.add("Commit", footprint.commit());
    node.children.push(found);
    Ok(node)
}

/// Whether rows are found by entries of an index, so that nobody knows where they lie themselves.
fn by_index(plan: &ChangePlan, reads: &[&Access]) -> bool {
    let path = plan.path.as_ref();
    path.is_some_and(|path| path.index.is_some()) && reads.len() == 1
}

/// Names the indexes that are written to.
fn indexes(node: &mut Node, table: &Table, touches: impl Fn(&IndexTable) -> bool) {
    let touched = |index: &&Arc<IndexTable>| touches(index);
    let touched = table.indexes().iter().filter(touched);
    let names = touched.map(|index| match index.unique {
        true => format!("{} (unique)", index.name),
        false => index.name.clone(),
    });
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        node.say("Indexes", names.join(", "));
    }
}
