//! The judge of a history: is there an order of its transactions that explains what they saw?
//!
//! As in Elle (Kingsbury and Alvaro, 2020), lists tell the order of their writers, and a read tells
//! between which writers its transaction stands:
//!
//! ```text
//!   the list of x at the end      [ 3, 7, 9 ]
//!                                   │  │  │
//!   written by                     T1 T2 T4        T1 ─ww─► T2 ─ww─► T4
//!
//!   T3 read x as [ 3, 7 ]                          T2 ─wr─► T3 ─rw─► T4
//! ```
//!
//! Serializable transactions have no cycle in this graph. The server promises more: what was acknowledged
//! is seen by whoever begins later, so that the order of time may not close a cycle either.

use std::fmt;

use super::explain;
use super::graph::{Edge, Graph, KINDS, Kind};
use super::transactions::History;
use super::versions::Versions;
use super::writes::Writes;

/// What is wrong, in Adya's names where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A cycle of writes.
    G0,
    /// A read of a write that was rolled back, with its transaction or to a savepoint.
    G1a,
    /// A read of a write that its transaction replaced later.
    G1b,
    /// A cycle of writes and reads of them.
    G1c,
    /// A cycle with a read of a version that another transaction of it replaced.
    G2,
    /// A cycle with the order of time: a transaction did not see what was acknowledged before it began.
    Stale,
    /// An acknowledged write is not there at the end, or a row is gone that none deleted.
    Lost,
    /// An element is in a list twice.
    Duplicate,
    /// Two reads of a list of which neither is the beginning of the other.
    IncompatibleOrder,
    /// A transaction did not see its own writes as it made them.
    Internal,
    /// An element that none appended.
    Garbage,
    /// A row refers to a row that is not there.
    Orphan,
    /// The same, by a foreign key that is checked at COMMIT.
    DeferredOrphan,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::G0 => "G0",
            Self::G1a => "G1a",
            Self::G1b => "G1b",
            Self::G1c => "G1c",
            Self::G2 => "G2",
            Self::Stale => "stale",
            Self::Lost => "lost",
            Self::Duplicate => "duplicate",
            Self::IncompatibleOrder => "incompatible order",
            Self::Internal => "internal",
            Self::Garbage => "garbage",
            Self::Orphan => "orphan",
            Self::DeferredOrphan => "deferred orphan",
        })
    }
}

/// Something that must not be.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// What kind of thing.
    pub class: Class,
    /// What was seen, over several lines if need be.
    pub text: String,
}

/// All anomalies of a history.
pub fn check(history: &History) -> Vec<Anomaly> {
    let writes = Writes::of(history);
    let (versions, mut anomalies) = Versions::of(history, &writes);
    let mut edges = Vec::new();
    write_edges(&versions, &writes, &mut edges);
    read_edges(&versions, &writes, &mut edges);
    let nodes = time_edges(history, &writes, &mut edges);
    let graph = Graph::new(nodes, edges);
    anomalies.extend(cycles(history, &versions, &graph));
    anomalies
}

/// The edges between the writers of neighbours in a list.
fn write_edges(versions: &Versions<'_>, writes: &Writes, edges: &mut Vec<Edge>) {
    for (key, order) in versions.orders.iter().enumerate() {
        let mut before = None;
        for (place, element) in order.iter().enumerate() {
            let Some(writer) = writes.committed_writer(key, *element) else {
                continue;
            };
            if let Some(from) = before.filter(|from| *from != writer) {
                edges.push(Edge {
                    from,
                    to: writer,
                    kind: Kind::WriteWrite,
                    at: Some((key, place)),
                });
            }
            before = Some(writer);
        }
    }
}

/// The edges from the writer of what was read to the reader, and from the reader to the next writer.
fn read_edges(versions: &Versions<'_>, writes: &Writes, edges: &mut Vec<Edge>) {
    for read in &versions.reads {
        let order = versions.order(read.key);
        let (seen, later) = order.split_at(read.list.len().min(order.len()));
        let writer = |element: &u32| writes.committed_writer(read.key, *element);
        let place = seen.len();
        if let Some(from) = seen.last().and_then(writer)
            && from != read.reader
        {
            edges.push(Edge {
                from,
                to: read.reader,
                kind: Kind::WriteRead,
                at: Some((read.key, place - 1)),
            });
        }
        let next = (place..).zip(later);
        let mut next = next.filter_map(|(place, element)| Some((place, writer(element)?)));
        if let Some((place, to)) = next.next()
            && to != read.reader
        {
            edges.push(Edge {
                from: read.reader,
                to,
                kind: Kind::ReadWrite,
                at: Some((read.key, place)),
            });
        }
    }
}

/// The order of time, by a node for each end of a transaction: the ends are a chain, and whoever began
/// after an end comes after the newest such end. Answers with the number of nodes, these included.
fn time_edges(history: &History, writes: &Writes, edges: &mut Vec<Edge>) -> usize {
    let transactions = &history.transactions;
    let count = transactions.len();
    let committed = |index: &usize| writes.acknowledged(history, *index);
    let mut ends: Vec<usize> = (0..count).filter(committed).collect();
    let ended = |index: &usize| transactions.get(*index).map(|one| one.ended);
    ends.sort_by_key(ended);
    let edge = |from, to| Edge {
        from,
        to,
        kind: Kind::RealTime,
        at: None,
    };
    for (rank, index) in ends.iter().enumerate() {
        edges.push(edge(*index, count + rank));
        if rank > 0 {
            edges.push(edge(count + rank - 1, count + rank));
        }
    }
    for index in &ends {
        let began = transactions.get(*index).map(|one| one.began);
        let earlier = ends.partition_point(|other| ended(other) < began);
        if earlier > 0 {
            edges.push(edge(count + earlier - 1, *index));
        }
    }
    count + ends.len()
}

/// The cycles, one for each component of the graph that has one. What is found by fewer kinds of edges
/// is not told again.
fn cycles(history: &History, versions: &Versions<'_>, graph: &Graph) -> Vec<Anomaly> {
    let mut told = vec![false; history.transactions.len()];
    let mut anomalies = Vec::new();
    for most in KINDS {
        for component in graph.components(most) {
            let is_told = |node: &usize| told.get(*node).copied().unwrap_or(false);
            if component.iter().any(is_told) {
                continue;
            }
            for node in &component {
                if let Some(told) = told.get_mut(*node) {
                    *told = true;
                }
            }
            let class = match most {
                Kind::WriteWrite => Class::G0,
                Kind::WriteRead => Class::G1c,
                Kind::ReadWrite => Class::G2,
                Kind::RealTime => Class::Stale,
            };
            let cycle = graph.cycle(&component, most);
            anomalies.push(Anomaly {
                class,
                text: explain::cycle(history, versions, &cycle),
            });
        }
    }
    anomalies
}
