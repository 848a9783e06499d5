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
use crate::model::{Model, Number, Spot};

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
    /// Rows that had to be there, whatever they held.
    pub(crate) present: Vec<Spot>,
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
                let row = model.row(read.spot, *at);
                let mut after = versions.range(at + 1..);
                // Deleting what was not there changes nothing, and so do some patches.
                let next = after.find(|(at, _)| model.row(read.spot, **at) != row);
                if let Some((_, next)) = next {
                    edge(record.by, next.by);
                }
            }
        }
        graph
    }
}

/// What a transaction read must be what it would have read when it committed, and what it counted on
/// must be there.
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
    for spot in &record.present {
        if model.is_doubtful(*spot) {
            continue;
        }
        // It may have brought the row itself, or taken it away with all that refers to it.
        let there = [before, record.at].map(|at| model.row(*spot, at).is_some());
        if there == [false, false] {
            let (table, key) = spot;
            return Err(Wrong(format!(
                "T{} committed at @{} though t{table}/{key}, which it counted on, was gone",
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
    use crate::edits::{Cells, Edit, Patch, Writes};
    use crate::model::Commit;

    type Rows<'r> = &'r [(u64, Option<&'r str>)];

    fn model(commits: &[(Number, u64, Rows<'_>)]) -> Model {
        let mut model = Model::new((0..4).map(|key| ((0, key), None)).collect());
        for (by, at, rows) in commits {
            let cells = |text: &str| Cells {
                text: text.to_owned(),
                number: 0,
            };
            let writes: Writes = rows
                .iter()
                .map(|(key, row)| ((0, *key), Edit::whole(row.map(cells))))
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
            present: Vec::new(),
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
    fn a_row_that_was_counted_on_must_be_there() {
        let model = model(&[(1, 5, &[(0, Some("a"))]), (2, 7, &[(0, None)])]);
        let mut record = record(3, 6, &[]);
        record.present.push((0, 0));
        assert!(check_reads(&record, &model).is_ok());
        record.at = 9;
        assert!(check_reads(&record, &model).is_err());
    }

    #[test]
    fn a_patch_that_changes_nothing_disturbs_no_reader() {
        let mut model = model(&[(1, 5, &[(0, Some("a"))])]);
        for (by, at, patch) in [(2, 6, Patch::Raise(1)), (3, 7, Patch::Raise(4))] {
            let writes = [0, 1].map(|key| ((0, key), Edit::Patch(vec![patch.clone()])));
            let writes = Writes::from(writes);
            model.apply(&Commit { by, at, writes });
        }
        assert!(check_reads(&record(9, 8, &[(1, 0)]), &model).is_ok());
        assert!(check_reads(&record(9, 8, &[(0, 6)]), &model).is_err());
        assert!(check_reads(&record(9, 7, &[(0, 6)]), &model).is_ok());
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
