//! What transactions read and wrote, and whether one order of them explains it all.
//!
//! ```text
//!   wr   T1 wrote what T2 read                  T1 ──► T2
//!   ww   T1 wrote, T2 wrote over it             T1 ──► T2
//!   rw   T1 read, T2 wrote over what it read    T1 ──► T2
//! ```
//!
//! The history is serializable if the graph of these has no cycle. A range read is a read of every
//! place in the range, also of those where nothing was, so a phantom is an rw edge like any other: a
//! simulated table has few enough keys for that.
//!
//! The database promises more: the order is that of the commit timestamps. So what a transaction read
//! must still have been true when it committed, which is checked besides.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Checked, Wrong};
use crate::model::{Model, Number, Spot, Version};

/// One place that was read, and the timestamp of the version that was found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) spot: Spot,
    pub(crate) seen: u64,
}

/// A transaction that committed.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) by: Number,
    /// Its place on the line: a reader's snapshot, a writer's commit.
    pub(crate) at: u64,
    pub(crate) wrote: bool,
    pub(crate) reads: Vec<Read>,
}

/// The transactions of one life of the database.
#[derive(Debug, Default)]
pub(crate) struct History {
    records: Vec<Record>,
}

impl History {
    pub(crate) fn add(&mut self, record: Record) {
        self.records.push(record);
    }

    /// Checks the whole life.
    pub(crate) fn check(&self, model: &Model) -> Checked<()> {
        for record in &self.records {
            check_reads(record, model)?;
        }
        let graph = self.graph(model);
        match leftover(&graph) {
            cycle if cycle.is_empty() => Ok(()),
            cycle => Err(Wrong(format!(
                "the history is not serializable: these depend on each other: {cycle:?}"
            ))),
        }
    }

    fn graph(&self, model: &Model) -> BTreeMap<Number, BTreeSet<Number>> {
        let mut graph: BTreeMap<Number, BTreeSet<Number>> = BTreeMap::new();
        let mut edge = |from: Number, to: Number| {
            if from != to {
                graph.entry(from).or_default().insert(to);
            }
        };
        for versions in model.versions().values() {
            let order: Vec<Number> = versions.values().map(|version| version.by).collect();
            for (before, after) in order.iter().zip(order.iter().skip(1)) {
                edge(*before, *after);
            }
        }
        for record in &self.records {
            for read in &record.reads {
                let Some(versions) = model.versions().get(&read.spot) else {
                    continue;
                };
                let seen = versions.range(..=read.seen).next_back();
                let Some((at, seen)) = seen else { continue };
                edge(seen.by, record.by);
                if let Some(next) = next_change(versions, *at, seen) {
                    edge(record.by, next.by);
                }
            }
        }
        graph
    }
}

/// The version that changed what a reader saw; deleting what was not there changes nothing.
fn next_change<'v>(
    versions: &'v BTreeMap<u64, Version>,
    at: u64,
    seen: &Version,
) -> Option<&'v Version> {
    let mut after = versions.range(at + 1..).map(|(_, version)| version);
    after.find(|version| version.row.is_some() || seen.row.is_some())
}

/// What a transaction read must be what it would have read when it committed.
pub(crate) fn check_reads(record: &Record, model: &Model) -> Checked<()> {
    // A writer's own rows are at its timestamp, and it did not read those.
    let before = record.at - u64::from(record.wrote);
    for Read { spot, seen } in &record.reads {
        let then = model.row(*spot, *seen);
        let now = model.row(*spot, before);
        if then != now {
            let (table, key) = spot;
            return Err(Wrong(format!(
                "T{} committed at @{} though t{table}/{key}, which it read as {then:?} (@{seen}), \
                 had become {now:?}",
                record.by, record.at
            )));
        }
    }
    Ok(())
}

/// What remains of a graph when everything that nobody left points to is taken away, again and
/// again: the cycles, and what hangs on them.
fn leftover(graph: &BTreeMap<Number, BTreeSet<Number>>) -> Vec<Number> {
    let mut into: BTreeMap<Number, usize> = BTreeMap::new();
    for (from, targets) in graph {
        into.entry(*from).or_insert(0);
        for to in targets {
            *into.entry(*to).or_insert(0) += 1;
        }
    }
    let mut free: Vec<Number> = into
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(node, _)| *node)
        .collect();
    while let Some(node) = free.pop() {
        into.remove(&node);
        for to in graph.get(&node).into_iter().flatten() {
            if let Some(count) = into.get_mut(to) {
                *count -= 1;
                if *count == 0 {
                    free.push(*to);
                }
            }
        }
    }
    into.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Commit, Writes};

    type Rows<'r> = &'r [(u64, Option<&'r str>)];

    fn model(commits: &[(Number, u64, Rows<'_>)]) -> Model {
        let mut model = Model::new((0..4).map(|key| ((0, key), None)).collect());
        for (by, at, rows) in commits {
            let writes: Writes = rows
                .iter()
                .map(|(key, row)| ((0, *key), row.map(str::to_owned)))
                .collect();
            model.apply(&Commit {
                by: *by,
                at: *at,
                writes,
            });
        }
        model
    }

    fn record(by: Number, at: u64, reads: &[(u64, u64)]) -> Record {
        let reads = reads.iter().map(|(key, seen)| Read {
            spot: (0, *key),
            seen: *seen,
        });
        Record {
            by,
            at,
            wrote: true,
            reads: reads.collect(),
        }
    }

    /// The cycle alone, without the stricter rule about timestamps.
    fn cycle(model: &Model, records: Vec<Record>) -> Vec<Number> {
        leftover(&History { records }.graph(model))
    }

    #[test]
    fn write_skew_is_a_cycle() {
        let model = model(&[(1, 5, &[(0, Some("a"))]), (2, 6, &[(1, Some("b"))])]);
        let records = vec![record(1, 5, &[(1, 0)]), record(2, 6, &[(0, 0)])];
        assert_eq!(cycle(&model, records.clone()), [1, 2]);
        let wrong = History { records }.check(&model).unwrap_err();
        assert!(wrong.to_string().contains("T2 committed at @6"), "{wrong}");
    }

    #[test]
    fn a_phantom_is_a_cycle() {
        // Both scan keys 0 to 3, find nothing and insert: 1 at key 2, 2 at key 3.
        let model = model(&[(1, 5, &[(2, Some("a"))]), (2, 6, &[(3, Some("b"))])]);
        let all: Vec<_> = (0..4).map(|key| (key, 0)).collect();
        assert_eq!(
            cycle(&model, vec![record(1, 5, &all), record(2, 6, &all)]),
            [1, 2]
        );
    }

    #[test]
    fn a_lost_update_is_a_cycle() {
        let model = model(&[(1, 5, &[(0, Some("a"))]), (2, 6, &[(0, Some("b"))])]);
        let records = vec![record(1, 5, &[(0, 0)]), record(2, 6, &[(0, 0)])];
        assert_eq!(cycle(&model, records), [1, 2]);
    }

    #[test]
    fn a_long_fork_is_a_cycle() {
        let model = model(&[(1, 5, &[(0, Some("a"))]), (2, 6, &[(1, Some("b"))])]);
        let records = vec![
            record(3, 9, &[(0, 5), (1, 0)]),
            record(4, 9, &[(0, 0), (1, 6)]),
        ];
        assert_eq!(cycle(&model, records), [1, 2, 3, 4]);
    }

    #[test]
    fn one_after_another_is_no_cycle() {
        let model = model(&[
            (1, 5, &[(0, Some("a"))]),
            (2, 6, &[(0, None)]),
            (3, 7, &[(0, None)]),
        ]);
        let records = vec![
            record(1, 5, &[(0, 0)]),
            record(2, 6, &[(0, 5)]),
            record(3, 7, &[(0, 6)]),
            record(4, 8, &[(0, 7)]),
        ];
        assert!(History { records }.check(&model).is_ok());
    }
}
