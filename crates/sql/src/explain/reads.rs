//! How reads are shown: by the fast path, and by DataFusion.

use std::time::Duration;

use txn::Direction;

use super::tree::{Fact, Node};
use crate::access::{Access, AccessKind};
use crate::fast::{Path, ReadPlan};
use crate::query::PlanNode;
use crate::scalar::Scalar;

/// Parts of DataFusion's plans that only hand rows on between its streams, of which there are as many as
/// the machine has processors; shown if all is asked for.
const HAND_ON: [&str; 7] = [
    "CoalesceBatches",
    "CoalescePartitions",
    "Cooperative",
    "Repartition",
    "Buffer",
    "SortPreservingMerge",
    "Turns",
];

/// What DataFusion says of its streams in details.
const OF_STREAMS: [&str; 8] = [
    "mode=Single, ",
    "mode=SinglePartitioned, ",
    "mode=Final, ",
    "mode=FinalPartitioned, ",
    "mode=CollectLeft, ",
    "mode=Partitioned, ",
    ", preserve_partitioning=[false]",
    ", preserve_partitioning=[true]",
];

/// A read of the fast path.
pub(super) fn read(plan: &ReadPlan, access: &Access) -> Node {
    let mut node = path(&plan.path, access);
    let schema = plan.path.table.schema();
    if matches!(access.kind, AccessKind::Ranges | AccessKind::Full) {
        let backwards = plan.direction == Direction::Descending;
        let merged = plan.path.filter.merged_to();
        let order = plan.path.order().iter();
        let order = order.skip(merged.map_or(0, |merged| merged + 1));
        let names = order.filter_map(|position| schema.columns().get(*position));
        let names = names.map(|column| match backwards {
            true => format!("{} DESC", column.name),
            false => column.name.clone(),
        });
        node.say("Order", names.collect::<Vec<_>>().join(", "));
    }
    for (name, count) in [("Limit", &plan.limit), ("Offset", &plan.offset)] {
        if let Some(Scalar::Value(keys::Value::Int64(count))) = count
            && let Ok(count) = u64::try_from(*count)
        {
            node.add(name, Fact::Number(count));
        } else if let Some(count) = count {
            node.say(name, count.shown(schema).to_string());
        }
    }
    node
}

/// Rows found by key or by an index.
pub(super) fn path(path: &Path, access: &Access) -> Node {
    let schema = path.table.schema();
    let mut node = scan(access);
    if access.is_open() {
        let asked = path.filter.shown(schema, path.order());
        let place = node.facts.len().min(1);
        let asked = Fact::Text(asked.join(" AND "));
        node.facts.insert(place, ("Key", asked));
    }
    if let Some(index) = &path.index {
        let rows = match path.covered {
            true => "covering",
            false => "then each row by its key",
        };
        node.say("Index", format!("{} ({rows})", index.name));
    }
    let rest = path.filter.rest_shown(schema);
    if !rest.is_empty() {
        node.say("Filter", rest.join(" AND "));
    }
    node
}

/// What every read has.
fn scan(access: &Access) -> Node {
    let kind = match access.kind {
        AccessKind::Points => "Point Lookup",
        AccessKind::Ranges => "Range Scan",
        AccessKind::Full => "Full Scan",
        AccessKind::Nothing => "Empty Scan",
    };
    let mut node = Node::new(kind, Some(&access.table));
    node.add("Access", Fact::Hidden(access.kind.to_string()));
    if !access.ranges.is_empty() && access.kind != AccessKind::Full {
        let keys = access.ranges.clone();
        node.add("Key Ranges", Fact::Keys(keys, access.ranges_total));
    }
    if !access.derived.is_empty() {
        node.say("Derived", access.derived.join(", "));
    }
    if let Some(buckets) = &access.buckets {
        node.say("Buckets", buckets.clone());
    }
    if let Some(ranges) = access.merged {
        node.say(
            "Merge",
            format!("{ranges} ranges, in the order of the rest of the key"),
        );
    }
    let (read, total) = access.partitions;
    let read = (!access.is_open()).then_some(read);
    node.add("Partitions", Fact::Partitions(read, total));
    if let Some(reason) = &access.reason {
        node.say("Reason", reason.clone());
    } else if access.kind == AccessKind::Nothing {
        node.say("Reason", "no row can qualify");
    }
    node
}

/// A plan of DataFusion's, without the parts that only hand rows on unless `all` are asked for.
pub(super) fn planned(plan: &PlanNode, all: bool) -> Node {
    // A sum over several streams is made of sums over each.
    let partial = plan.name == "Aggregate" && plan.details.starts_with("mode=Partial");
    if !all
        && (partial || HAND_ON.contains(&plan.name.as_str()))
        && let [child] = plan.children.as_slice()
    {
        return planned(child, all);
    }
    let mut node = match &plan.access {
        Some((access, reads)) => {
            let mut node = scan(access);
            node.say("Columns", reads.columns.clone());
            if reads.backwards {
                node.say("Order", "backwards");
            }
            if let Some(limit) = reads.limit {
                node.add("Limit", Fact::Number(limit as u64));
            }
            node
        }
        None => {
            let mut node = Node::new(spaced(&plan.name), None);
            if !plan.details.is_empty() {
                let mut details = plain(&plan.details);
                for words in OF_STREAMS.iter().filter(|_| !all) {
                    details = details.replace(words, "");
                }
                node.say(label(&plan.name), details);
            }
            node
        }
    };
    if let Some(effort) = plan.effort {
        let own = Duration::from_nanos(effort.own_ns as u64);
        node.add("Actual Rows", Fact::Number(effort.rows as u64));
        node.add("Own Time", Fact::Time(own));
    }
    node.children = plan
        .children
        .iter()
        .map(|child| planned(child, all))
        .collect();
    node
}

/// The reads of a plan.
pub(super) fn accesses<'p>(plan: &'p PlanNode, found: &mut Vec<&'p Access>) {
    found.extend(plan.access.iter().map(|(access, _)| access));
    for child in &plan.children {
        accesses(child, found);
    }
}

/// The reads of a plan that go on to the end.
pub(super) fn unlimited(plan: &PlanNode, found: &mut Vec<Access>) {
    if let Some((access, reads)) = &plan.access
        && reads.limit.is_none()
    {
        found.push(access.clone());
    }
    // Who stops after some rows does not read on.
    if plan.details.contains("fetch=") || plan.name.contains("Limit") {
        return;
    }
    for child in &plan.children {
        unlimited(child, found);
    }
}

fn label(name: &str) -> &'static str {
    match name {
        "Filter" => "Filter",
        _ => "Details",
    }
}

/// `HashJoin` as `Hash Join`.
fn spaced(name: &str) -> String {
    let mut out = String::new();
    let mut small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && small {
            out.push(' ');
        }
        small = letter.is_lowercase();
        out.push(letter);
    }
    out
}

/// Without the numbers that DataFusion puts behind the names of columns: `v@2 > 5` as `v > 5`.
fn plain(details: &str) -> String {
    let mut out = String::with_capacity(details.len());
    let mut letters = details.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        quoted ^= letter == '\'';
        let numbered = letter == '@'
            && !quoted
            && out.ends_with(|last: char| !last.is_whitespace())
            && letters.peek().is_some_and(char::is_ascii_digit);
        if !numbered {
            out.push(letter);
            continue;
        }
        while letters.next_if(char::is_ascii_digit).is_some() {}
    }
    out
}
