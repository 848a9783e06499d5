//! Histories and cycles as a person reads them.

use std::fmt::Write as _;

use super::graph::{Edge, Kind};
use super::transactions::{Element, History, KeyId, Operation, Version};
use super::versions::Versions;

/// How many elements of a list are printed: the last ones, which tell versions apart.
const LIST_ELEMENTS_MAX: usize = 4;

/// A transaction on one line: which one, when, and what it did.
pub(super) fn transaction(history: &History, index: usize) -> String {
    let Some(transaction) = history.transactions.get(index) else {
        return "a transaction that is not known".to_owned();
    };
    let mut text = format!(
        "{}, {:.6} s to {:.6} s:",
        transaction.name,
        transaction.began.as_secs_f64(),
        transaction.ended.as_secs_f64()
    );
    for operation in &transaction.operations {
        // Writing to a string does not fail.
        let _ = match operation {
            Operation::Append { key, element } => {
                write!(text, " append {} {element};", name(history, *key))
            }
            Operation::Read { key, version } => {
                let version = match version {
                    Version::Absent => "absent".to_owned(),
                    Version::List(list) => shortened(list),
                };
                write!(text, " read {} {version};", name(history, *key))
            }
            Operation::Delete { key, list, .. } => {
                let list = shortened(list);
                write!(text, " delete {} {list};", name(history, *key))
            }
            Operation::RollbackTo(first) => write!(text, " rollback to {first};"),
        };
    }
    text
}

/// The transactions of a cycle, and why each is before the next.
pub(super) fn cycle(history: &History, versions: &Versions<'_>, cycle: &[Edge]) -> String {
    let count = history.transactions.len();
    // Nodes above the transactions are instants: the transactions around them are what is told.
    let mut steps: Vec<Edge> = Vec::new();
    let begin = cycle.iter().position(|edge| edge.from < count);
    let (tail, head) = cycle.split_at(begin.unwrap_or(0));
    for edge in head.iter().chain(tail) {
        match steps.last_mut() {
            Some(last) if edge.from >= count => last.to = edge.to,
            _ => steps.push(*edge),
        }
    }
    let mut text = String::new();
    for edge in &steps {
        let _ = writeln!(
            text,
            "  {} is {}",
            label(&steps, edge.from),
            transaction(history, edge.from)
        );
    }
    for edge in &steps {
        let (from, to) = (label(&steps, edge.from), label(&steps, edge.to));
        let why = why(history, versions, edge, &from, &to);
        let _ = writeln!(text, "  {from} is before {to}: {why}");
    }
    format!("a cycle of {}\n{}", steps.len(), text.trim_end())
}

fn label(steps: &[Edge], node: usize) -> String {
    let place = steps.iter().position(|edge| edge.from == node);
    place.map_or_else(|| "T?".to_owned(), |place| format!("T{}", place + 1))
}

fn why(history: &History, versions: &Versions<'_>, edge: &Edge, from: &str, to: &str) -> String {
    let Some((key, place)) = edge.at else {
        return format!("{from} was acknowledged before {to} began");
    };
    let order = versions.order(key);
    let element = |place: Option<usize>| {
        let element = place.and_then(|place| order.get(place));
        element.map_or_else(|| "nothing".to_owned(), Element::to_string)
    };
    let (name, this) = (name(history, key), element(Some(place)));
    match edge.kind {
        Kind::WriteWrite => {
            let before = element(place.checked_sub(1));
            format!("{to} appended {this} to {name} after {before} of {from}")
        }
        Kind::WriteRead => format!("{to} read {this} in {name}, which {from} wrote"),
        Kind::ReadWrite => format!("{from} read {name} without {this}, which {to} wrote"),
        Kind::RealTime => format!("{from} was acknowledged before {to} began"),
    }
}

fn name(history: &History, key: KeyId) -> &str {
    let key = history.keys.get(key);
    key.map_or("a key that is not known", |key| key.name.as_str())
}

fn shortened(list: &[Element]) -> String {
    let hidden = list.len().saturating_sub(LIST_ELEMENTS_MAX);
    let shown = list.get(hidden..).unwrap_or_default();
    let shown: Vec<String> = shown.iter().map(Element::to_string).collect();
    let before = if hidden > 0 { "… " } else { "" };
    format!("[{before}{}]", shown.join(" "))
}
