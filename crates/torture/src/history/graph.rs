//! Strongly connected components and short cycles of a graph whose edges have kinds.

use std::collections::{HashMap, HashSet, VecDeque};

use super::transactions::KeyId;

/// Why one transaction is before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It wrote the version that the other replaced.
    WriteWrite,
    /// It wrote the version that the other read.
    WriteRead,
    /// It read the version that the other replaced.
    ReadWrite,
    /// It was acknowledged before the other began.
    RealTime,
}

/// Adya's dependencies, in the order in which they are looked at: a cycle of the first kinds alone is
/// the worse anomaly.
pub(super) const KINDS: [Kind; 4] = [
    Kind::WriteWrite,
    Kind::WriteRead,
    Kind::ReadWrite,
    Kind::RealTime,
];

/// An edge between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    /// The node that is before.
    pub(super) from: usize,
    /// The node that is after.
    pub(super) to: usize,
    /// Why.
    pub(super) kind: Kind,
    /// The key that tells so, and the place in its list of the element that was written last; nothing
    /// for real time.
    pub(super) at: Option<(KeyId, usize)>,
}

/// How many nodes of a component are tried as the beginning of a short cycle.
const CYCLE_STARTS_MAX: usize = 256;

/// Nodes from 0 up, with their edges sorted by where they begin.
#[derive(Debug)]
pub(super) struct Graph {
    edges: Vec<Edge>,
    /// Where the edges of each node begin, and one more: where those of the last one end.
    begins: Vec<usize>,
}

impl Graph {
    /// The graph of these edges over `nodes` nodes.
    pub(super) fn new(nodes: usize, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.from, edge.to, edge.kind));
        let mut begins = vec![0; nodes + 1];
        for edge in &edges {
            if let Some(count) = begins.get_mut(edge.from + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        Self { edges, begins }
    }

    /// The edges that begin at a node.
    fn out(&self, node: usize) -> &[Edge] {
        let bounds = (self.begins.get(node), self.begins.get(node + 1));
        let (Some(&begin), Some(&end)) = bounds else {
            return &[];
        };
        self.edges.get(begin..end).unwrap_or_default()
    }

    /// Strongly connected components of more than one node, by edges up to a kind: Tarjan's algorithm,
    /// with a stack of its own in place of recursion.
    pub(super) fn components(&self, most: Kind) -> Vec<Vec<usize>> {
        let nodes = self.begins.len().saturating_sub(1);
        let mut search = Search::new(nodes);
        for root in 0..nodes {
            if search.is_new(root) {
                search.from(self, root, most);
            }
        }
        search.found
    }

    /// The shortest cycle among some nodes of a component, by edges up to a kind.
    pub(super) fn cycle(&self, component: &[usize], most: Kind) -> Vec<Edge> {
        let inside: HashSet<usize> = component.iter().copied().collect();
        let mut best: Vec<Edge> = Vec::new();
        for start in component.iter().take(CYCLE_STARTS_MAX) {
            let found = self.cycle_through(*start, &inside, most);
            if !found.is_empty() && (best.is_empty() || found.len() < best.len()) {
                best = found;
            }
            if best.len() == 2 {
                break;
            }
        }
        best
    }

    fn cycle_through(&self, start: usize, inside: &HashSet<usize>, most: Kind) -> Vec<Edge> {
        let mut came_by: HashMap<usize, Edge> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for edge in self.out(node).iter().filter(|edge| edge.kind <= most) {
                if edge.to == start {
                    return path_to(start, *edge, &came_by);
                }
                if inside.contains(&edge.to) && !came_by.contains_key(&edge.to) {
                    came_by.insert(edge.to, *edge);
                    queue.push_back(edge.to);
                }
            }
        }
        Vec::new()
    }
}

/// The edges from `start` to where `last` begins, and `last`.
fn path_to(start: usize, last: Edge, came_by: &HashMap<usize, Edge>) -> Vec<Edge> {
    let mut path = vec![last];
    let mut node = last.from;
    while node != start {
        let Some(edge) = came_by.get(&node) else {
            break;
        };
        path.push(*edge);
        node = edge.from;
    }
    path.reverse();
    path
}

/// What Tarjan's algorithm knows of a node.
#[derive(Clone, Copy)]
struct Mark {
    /// When it was reached; 0 if it was not.
    index: usize,
    /// The earliest node on the stack that is reached from it.
    low: usize,
    on_stack: bool,
}

struct Search {
    marks: Vec<Mark>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search {
    fn new(nodes: usize) -> Self {
        let mark = Mark {
            index: 0,
            low: 0,
            on_stack: false,
        };
        Self {
            marks: vec![mark; nodes],
            stack: Vec::new(),
            next: 1,
            found: Vec::new(),
        }
    }

    fn mark(&self, node: usize) -> Mark {
        *self.marks.get(node).expect("edges lie between nodes")
    }

    fn mark_mut(&mut self, node: usize) -> &mut Mark {
        self.marks.get_mut(node).expect("edges lie between nodes")
    }

    fn is_new(&self, node: usize) -> bool {
        self.mark(node).index == 0
    }

    fn reach(&mut self, node: usize) {
        *self.mark_mut(node) = Mark {
            index: self.next,
            low: self.next,
            on_stack: true,
        };
        self.next += 1;
        self.stack.push(node);
    }

    /// Depth first from `root`; `path` holds the nodes on the way, with the edge that is next.
    fn from(&mut self, graph: &Graph, root: usize, most: Kind) {
        self.reach(root);
        let mut path = vec![(root, 0)];
        while let Some((node, place)) = path.pop() {
            let Some(edge) = graph.out(node).get(place) else {
                self.leave(node);
                if let Some((above, _)) = path.last() {
                    let low = self.mark(node).low.min(self.mark(*above).low);
                    self.mark_mut(*above).low = low;
                }
                continue;
            };
            path.push((node, place + 1));
            if edge.kind > most {
                continue;
            }
            let to = self.mark(edge.to);
            if to.index == 0 {
                self.reach(edge.to);
                path.push((edge.to, 0));
            } else if to.on_stack {
                let low = self.mark(node).low.min(to.index);
                self.mark_mut(node).low = low;
            }
        }
    }

    /// All edges of a node were followed: if nothing before it is reached, it closes a component.
    fn leave(&mut self, node: usize) {
        let mark = self.mark(node);
        if mark.low != mark.index {
            return;
        }
        let mut component = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.mark_mut(member).on_stack = false;
            component.push(member);
            if member == node {
                break;
            }
        }
        if component.len() > 1 {
            component.sort_unstable();
            self.found.push(component);
        }
    }
}
