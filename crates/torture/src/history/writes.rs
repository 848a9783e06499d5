//! Who wrote each element, and whether the write stands.

use std::collections::{HashMap, HashSet};

use super::transactions::{Element, History, KeyId, Operation, Outcome, Transaction, Version};

/// An element that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// The place of its transaction in the history.
    pub(super) writer: usize,
    /// Whether it was not taken back by ROLLBACK TO.
    pub(super) kept: bool,
    /// Whether its transaction wrote nothing to the same key after it.
    pub(super) last: bool,
}

/// All writes of a history.
#[derive(Debug)]
pub(super) struct Writes {
    by_element: HashMap<(KeyId, Element), Write>,
    /// Whether each transaction is committed. One whose client was told nothing is, if what it wrote
    /// was seen.
    committed: Vec<bool>,
    /// The list of each key that was deleted, with the element that stands for the deletion.
    deleted: HashMap<KeyId, Vec<Element>>,
}

impl Writes {
    pub(super) fn of(history: &History) -> Self {
        let mut writes = Self {
            by_element: HashMap::new(),
            committed: Vec::new(),
            deleted: HashMap::new(),
        };
        for (writer, transaction) in history.transactions.iter().enumerate() {
            writes.add(writer, transaction);
        }
        writes.committed = committed(history);
        writes.find_deleted(history);
        writes
    }

    fn add(&mut self, writer: usize, transaction: &Transaction) {
        let kept = kept(transaction);
        let mut last: HashMap<KeyId, Element> = HashMap::new();
        for (key, element) in &kept {
            last.insert(*key, *element);
        }
        let kept: HashSet<(KeyId, Element)> = kept.into_iter().collect();
        for (key, element) in transaction.operations.iter().filter_map(written) {
            let write = Write {
                writer,
                kept: kept.contains(&(key, element)),
                last: last.get(&key) == Some(&element),
            };
            self.by_element.insert((key, element), write);
        }
    }

    fn find_deleted(&mut self, history: &History) {
        for (writer, transaction) in history.transactions.iter().enumerate() {
            for operation in &transaction.operations {
                let Operation::Delete { key, list, element } = operation else {
                    continue;
                };
                let stands = self.is_committed(writer)
                    && self.get(*key, *element).is_some_and(|write| write.kept);
                // A deletion that stands explains an absent row better than one that does not.
                if stands || !self.deleted.contains_key(key) {
                    let with_deletion = list.iter().chain([element]).copied().collect();
                    self.deleted.insert(*key, with_deletion);
                }
            }
        }
    }

    pub(super) fn get(&self, key: KeyId, element: Element) -> Option<Write> {
        self.by_element.get(&(key, element)).copied()
    }

    /// The transaction that wrote an element, if the write stands.
    pub(super) fn committed_writer(&self, key: KeyId, element: Element) -> Option<usize> {
        let write = self.get(key, element)?;
        (write.kept && self.is_committed(write.writer)).then_some(write.writer)
    }

    pub(super) fn is_committed(&self, transaction: usize) -> bool {
        self.committed.get(transaction).copied().unwrap_or(false)
    }

    /// Whether its client was told that it is committed, so that its reads count and its time is known.
    pub(super) fn acknowledged(&self, history: &History, transaction: usize) -> bool {
        let transaction = history.transactions.get(transaction);
        transaction.is_some_and(|one| one.outcome == Outcome::Committed)
    }

    /// What an absent row means: the list that was deleted, or nothing if none was.
    pub(super) fn absent(&self, history: &History, key: KeyId) -> Option<&[Element]> {
        match history.keys.get(key) {
            Some(known) if known.deletable => self.deleted.get(&key).map(Vec::as_slice),
            _ => Some(&[]),
        }
    }
}

/// The key and the element of an operation that writes.
fn written(operation: &Operation) -> Option<(KeyId, Element)> {
    match operation {
        Operation::Append { key, element } | Operation::Delete { key, element, .. } => {
            Some((*key, *element))
        }
        Operation::Read { .. } | Operation::RollbackTo(_) => None,
    }
}

/// What a transaction wrote and did not take back, in order.
pub(super) fn kept(transaction: &Transaction) -> Vec<(KeyId, Element)> {
    let mut kept: Vec<(usize, KeyId, Element)> = Vec::new();
    for (place, operation) in transaction.operations.iter().enumerate() {
        if let Operation::RollbackTo(first) = operation {
            kept.retain(|(place, _, _)| place < first);
        }
        if let Some((key, element)) = written(operation) {
            kept.push((place, key, element));
        }
    }
    let kept = kept.into_iter();
    kept.map(|(_, key, element)| (key, element)).collect()
}

fn committed(history: &History) -> Vec<bool> {
    let transactions = &history.transactions;
    let mut seen: HashSet<(KeyId, Element)> = HashSet::new();
    if transactions
        .iter()
        .any(|one| one.outcome == Outcome::Unknown)
    {
        let sure = transactions
            .iter()
            .filter(|one| one.outcome == Outcome::Committed);
        for operation in sure.flat_map(|one| &one.operations) {
            if let Operation::Read { key, version } = operation {
                see(&mut seen, *key, version);
            }
        }
        for (key, version) in history.last.iter().enumerate() {
            see(&mut seen, key, version);
        }
    }
    let stands = |one: &Transaction| match one.outcome {
        Outcome::Committed => true,
        Outcome::Aborted => false,
        Outcome::Unknown => kept(one).iter().any(|write| seen.contains(write)),
    };
    transactions.iter().map(stands).collect()
}

fn see(seen: &mut HashSet<(KeyId, Element)>, key: KeyId, version: &Version) {
    if let Version::List(list) = version {
        seen.extend(list.iter().map(|element| (key, *element)));
    }
}
